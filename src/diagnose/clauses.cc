#include "diagnose/clauses.h"

#include <fmt/core.h>

#include "base/number_text.h"
#include "diagnose/texts.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose {
namespace {

/// A clause about the gain of a row.
void AddGainText(Clauses& clauses, const std::vector<WhatIf>& rows, std::size_t row, std::string text) {
  clauses.push_back({std::move(text), fmt::format("diagnosis.what_if[{}].gain", row), rows[row].gain, {}});
}

}  // namespace

std::string Training(const Question& q) {
  const int accelerators = q.now.settings.accelerators;
  return accelerators > 1 ? fmt::format("training on {} accelerators", accelerators) : "training";
}

std::string Limits(std::string_view what, const Question& q) {
  const std::string use = TrainerUse(q.measurement);
  return fmt::format("{} {}{}{}", what, Training(q), use.empty() ? "" : "; ", use);
}

void AddShare(Clauses& clauses, std::string field, double seconds, double wall_s,
              std::string_view before, std::string_view after) {
  if (!(wall_s > 0) || !(seconds > 0)) return;
  clauses.push_back({fmt::format("{} {} {}", before, base::Percent(seconds / wall_s), after),
                     std::move(field), seconds, wall_s});
}

void AddStarved(Clauses& clauses, const measure::Measurement& m) {
  if (m.device) {
    AddShare(clauses, "device.starved_s", m.device->starved_s, m.device->wall_s,
             fmt::format("the {} is starved", TrainerWord(m)), "of the time");
  } else {
    AddShare(clauses, "consumer.starved_s", m.consumer.starved_s, m.consumer.wall_s,
             "training waits for data", "of the time");
  }
}

void AddLoadingPart(Clauses& clauses, const measure::Measurement& m, std::string field,
                    double seconds, std::string_view what) {
  if (m.workers.count == 0) {
    AddShare(clauses, std::move(field), seconds, m.consumer.wall_s, "the training loop spends",
             fmt::format("of its time in {}", what));
  } else {
    AddShare(clauses, std::move(field), seconds, m.workers.wall_s, "workers spend",
             fmt::format("of their time in {}", what));
  }
}

void AddGain(Clauses& clauses, const std::vector<WhatIf>& rows, std::optional<std::size_t> row,
             std::string_view before) {
  if (row) AddGainText(clauses, rows, *row, fmt::format("{} {}", before, base::Gain(rows[*row].gain)));
}

void AddLittleGain(Clauses& clauses, const std::vector<WhatIf>& rows, std::optional<std::size_t> row,
                   std::string_view before) {
  if (!row) return;
  const std::string gain = base::Gain(rows[*row].gain);
  AddGainText(clauses, rows, *row, fmt::format("{} {}", before, gain == base::Gain(0) ? "nothing" : "only " + gain));
}

void AddSettingGain(Clauses& clauses, const Findings& found) {
  if (!found.decision.setting) return;
  const auto& text = found.decision.setting->setting.text;
  const std::optional<std::size_t> row = FindRow(found.what_if, text);
  if (!row || !found.what_if[*row].tried) {
    AddGain(clauses, found.what_if, row, text + " gives");
    return;
  }
  const double gain = found.what_if[*row].tried->gain;
  clauses.push_back({fmt::format("{}, tried in this run, gave {}", text, base::Gain(gain)),
                     fmt::format("diagnosis.what_if[{}].tried.gain", *row),
                     gain,
                     {}});
}

void AddReceiving(Clauses& clauses, const measure::Consumer& consumer) {
  AddShare(clauses, "consumer.receive_s", consumer.receive_s.value_or(0), consumer.wall_s,
           "taking batches over takes", "of each step");
}

void AddHostWork(Clauses& clauses, const measure::Measurement& m) {
  AddShare(clauses, "consumer.host_s", m.consumer.host_s, m.consumer.wall_s,
           "the host's own work takes", "of each step");
}

}  // namespace pipesim::diagnose
