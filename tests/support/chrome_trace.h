// Checks a Chrome trace as its readers need it: fields, nesting of slices, pairs of flow events,
// names of tracks. Header only, so that any test program can use it.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace pipesim::tests {

/// A row of the trace: process and thread.
using TraceRow = std::pair<int, int>;

class TraceCheck {
 public:
  explicit TraceCheck(const nlohmann::json& trace) {
    if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array()) {
      problems_.push_back("no array traceEvents");
      return;
    }
    for (const nlohmann::json& event : trace["traceEvents"]) Take(event);
    CheckNames();
    CheckNesting();
    CheckFlows();
  }

  /// What is wrong, one line each; empty: nothing.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  /// Whole nanoseconds: three decimals of a microsecond are exact in a double below 2^53 ns.
  static std::int64_t Ns(const nlohmann::json& micros) {
    return std::llround(micros.get<double>() * 1e3);
  }
  struct TraceSlice {
    std::int64_t begin = 0, end = 0;
  };
  struct FlowEnds {
    std::vector<std::pair<TraceRow, std::int64_t>> starts, ends;
  };

  bool HasNumbers(const nlohmann::json& event, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (!event.contains(name) || !event[name].is_number() || event[name].get<double>() < 0) {
        problems_.push_back(std::string("without a number ") + name + ": " + event.dump());
        return false;
      }
    return true;
  }

  void Take(const nlohmann::json& event) {
    if (!event.is_object() || !event.contains("ph") || !event["ph"].is_string() ||
        !event.contains("name") || !event["name"].is_string() || !HasNumbers(event, {"pid"})) {
      problems_.push_back("no event: " + event.dump());
      return;
    }
    const std::string phase = event["ph"];
    const int process = event["pid"];
    if (phase == "M") {
      const std::string name = event["name"];
      if (name == "process_name") processes_.insert(process);
      if (name == "thread_name" && HasNumbers(event, {"tid"}))
        names_.insert({process, event["tid"]});
    } else if (phase == "X") {
      if (!HasNumbers(event, {"tid", "ts", "dur"})) return;
      const std::int64_t begin = Ns(event["ts"]);
      slices_[{process, event["tid"]}].push_back({begin, begin + Ns(event["dur"])});
      processes_used_.insert(process);
    } else if (phase == "C") {
      if (!HasNumbers(event, {"ts"})) return;
      if (!event.contains("args") || !event["args"].is_object() || event["args"].empty() ||
          !std::all_of(event["args"].begin(), event["args"].end(),
                       [](const auto& value) { return value.is_number(); }))
        problems_.push_back("a counter without numbers: " + event.dump());
    } else if (phase == "s" || phase == "f") {
      if (!HasNumbers(event, {"tid", "ts", "id"})) return;
      FlowEnds& flow = flows_[event["id"]];
      (phase == "s" ? flow.starts : flow.ends)
          .emplace_back(TraceRow{process, event["tid"]}, Ns(event["ts"]));
    } else {
      problems_.push_back("an unknown phase: " + event.dump());
    }
  }

  void CheckNames() {
    for (const auto& [row, slices] : slices_)
      if (!names_.contains(row))
        problems_.push_back("a row without a name: " + std::to_string(row.second));
    for (const int process : processes_used_)
      if (!processes_.contains(process))
        problems_.push_back("a process without a name: " + std::to_string(process));
  }

  /// Two slices of a row lie apart or one in the other.
  void CheckNesting() {
    for (auto& [row, slices] : slices_) {
      std::sort(slices.begin(), slices.end(), [](const TraceSlice& a, const TraceSlice& b) {
        return std::tuple(a.begin, -a.end) < std::tuple(b.begin, -b.end);
      });
      std::vector<std::int64_t> open;  // the ends of the slices around the present one
      for (const TraceSlice& slice : slices) {
        while (!open.empty() && open.back() <= slice.begin) open.pop_back();
        if (!open.empty() && slice.end > open.back())
          problems_.push_back("slices of row " + std::to_string(row.second) + " overlap at " +
                              std::to_string(slice.begin) + " ns");
        open.push_back(slice.end);
      }
    }
  }

  bool InASlice(const std::pair<TraceRow, std::int64_t>& point) const {
    const auto row = slices_.find(point.first);
    return row != slices_.end() &&
           std::any_of(row->second.begin(), row->second.end(), [&](const TraceSlice& slice) {
             return slice.begin <= point.second && point.second <= slice.end;
           });
  }

  void CheckFlows() {
    for (const auto& [id, flow] : flows_) {
      const std::string name = "flow " + std::to_string(id);
      if (flow.starts.size() != 1 || flow.ends.size() != 1) {
        problems_.push_back(name + " has not one start and one end");
        continue;
      }
      if (flow.ends[0].second < flow.starts[0].second)
        problems_.push_back(name + " ends before it starts");
      if (!InASlice(flow.starts[0]) || !InASlice(flow.ends[0]))
        problems_.push_back(name + " lies in no slice");
    }
  }

  std::vector<std::string> problems_;
  std::set<int> processes_, processes_used_;
  std::set<TraceRow> names_;
  std::map<TraceRow, std::vector<TraceSlice>> slices_;
  std::map<std::int64_t, FlowEnds> flows_;
};

}  // namespace pipesim::tests
