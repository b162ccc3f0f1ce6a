// The last answer of a function without side effects, where the same question comes again and again:
// the points of a sweep mostly share model and device.
#pragma once

#include <optional>
#include <utility>

namespace pipesim::base {

/// Not thread-safe: one for each thread.
template <class Question, class Answer>
class LastAnswer {
 public:
  /// find() unless `question`, comparable with Question and convertible to it, was the last one.
  template <class Asked, class Find>
  const Answer& To(const Asked& question, const Find& find) {
    if (!last_ || !(last_->first == question)) last_.emplace(Question(question), find());
    return last_->second;
  }

 private:
  std::optional<std::pair<Question, Answer>> last_;
};

}  // namespace pipesim::base
