// Where the workers' time goes, per batch.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

bool IsUnmeasured(View workers, const std::string& state) {
  const std::vector<std::string> names = workers.At("unmeasured").Texts();
  return std::find(names.begin(), names.end(), state) != names.end();
}

std::vector<TimeRow> WorkerRows(View document, View workers, double steps) {
  const bool loads_itself = document.At("workers.count").NumberOr(0) == 0;
  const bool files = document.At("effective.storage.kind").Text() == "files";
  const auto row = [&](std::string name, std::string gloss, const std::string& state, bool always) {
    TimeRow time{std::move(name), std::move(gloss), 0.0, always, {}};
    if (IsUnmeasured(workers, state)) {
      const std::string reason = ReasonMissing(document, "workers." + state);
      time.gloss =
          "n/a: " + (reason.empty() ? "cannot be read here" : reason) + "; counted under prepare";
      time.seconds = std::nullopt;
    } else {
      time.seconds = steps > 0 ? workers.At(state + "_s").NumberOr(0) / steps : 0;
    }
    return time;
  };
  return {row("read", files ? "reads files" : "waits for storage", "read", true),
          row("prepare", "decodes, transforms", "prepare", true),
          row("collate", "builds the batch", "collate", true),
          row("send", "to the trainer's process", "send", false),
          row("contended", "waits for a core", "contended", false),
          row("blocked", "waits for room in the queue", "blocked_on_consumer", !loads_itself),
          row("blocked", "waits for an earlier batch", "blocked_on_order", false),
          row("startup", "starts", "startup", false),
          row("idle", "the epoch is over", "idle", false),
          row("other", "", "other", false)};
}

double Sum(const std::vector<TimeRow>& rows) {
  double sum = 0;
  for (const TimeRow& row : rows) sum += std::max(row.seconds.value_or(0), 0.0);
  return sum;
}

}  // namespace

std::optional<TimeTable> WorkerTable(View document) {
  const View workers = document.At("workers");
  if (!HasMeasurement(document)) return std::nullopt;
  const auto count = workers.At("count").Whole();
  const auto rows = WorkerRows(document, workers, document.At("result.steps").NumberOr(0));
  const double total = Sum(rows);
  if (total <= 0) return std::nullopt;
  std::string title = count == 0 ? "Where loading time goes (no workers)"
                            : count == 1
                                ? "Where the worker's time goes"
                                : fmt::format("Where a worker's time goes (mean of {})", count);
  return TimeTableOf(std::move(title), rows, StepScale(document).Fitting(total), "per batch");
}

std::vector<std::vector<std::string>> EachWorkerShares(View document) {
  std::vector<std::vector<std::string>> rows;
  if (!HasMeasurement(document)) return rows;
  for (const View worker : document.At("workers.each").Items()) {
    const auto time = [&](const char* name) { return std::max(worker.At(name).NumberOr(0), 0.0); };
    const std::vector<double> parts = {time("read_s"),
                                       time("prepare_s"),
                                       time("collate_s") + time("send_s"),
                                       time("contended_s"),
                                       time("blocked_on_consumer_s") + time("blocked_on_order_s"),
                                       time("idle_s"),
                                       time("startup_s") + time("other_s")};
    std::vector<std::string> shares = WholePercents(parts);
    if (IsUnmeasured(worker, "contended") || IsUnmeasured(document.At("workers"), "contended"))
      shares[3] = "n/a";
    rows.push_back(std::move(shares));
  }
  return rows;
}

void AddEachWorker(const Sheet& sheet) {
  const auto rows = EachWorkerShares(sheet.document);
  if (rows.empty()) return;
  sheet.page.AddBlank();
  sheet.page.Add("Each worker, shares of its time", Style::kStrong);
  sheet.page.Add("  worker   read  prepare  collate  contended  blocked  idle  other");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<std::string>& shares = rows[i];
    sheet.page.Add(fmt::format("  {:>6} {:>6} {:>8} {:>8} {:>10} {:>8} {:>5} {:>6}", i, shares[0],
                               shares[1], shares[2], shares[3], shares[4], shares[5], shares[6]));
  }
}

}  // namespace pipesim::report
