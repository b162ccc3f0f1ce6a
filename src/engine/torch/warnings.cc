#include "engine/torch/warnings.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace pipesim::engine {
namespace {

constexpr std::size_t kMostTexts = 20;  // a step may warn each time

class Keeper final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    std::string text = warning.msg().substr(0, warning.msg().find('\n'));
    const std::lock_guard lock(mutex_);
    if (texts_.size() < kMostTexts && std::find(texts_.begin(), texts_.end(), text) == texts_.end())
      texts_.push_back(std::move(text));
  }
  std::vector<std::string> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(texts_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

class Dropper final : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

/// Never destroyed: a thread may still warn when main has returned.
Keeper& TheKeeper() {
  static auto* const keeper = new Keeper;
  return *keeper;
}

/// The handler that the calling thread had before.
c10::WarningHandler* Use(c10::WarningHandler& handler) {
  c10::WarningHandler* const before = c10::WarningUtils::get_warning_handler();
  c10::WarningUtils::set_warning_handler(&handler);
  return before;
}

}  // namespace

KeepWarnings::KeepWarnings() : before_(Use(TheKeeper())) {}
KeepWarnings::~KeepWarnings() { c10::WarningUtils::set_warning_handler(before_); }

DropWarnings::DropWarnings() {
  static auto* const dropper = new Dropper;
  before_ = Use(*dropper);
}
DropWarnings::~DropWarnings() { c10::WarningUtils::set_warning_handler(before_); }

std::vector<std::string> TakeWarnings() { return TheKeeper().Take(); }

}  // namespace pipesim::engine
