// The blocks of the text, in the order in which they are printed. A block whose part of the
// document is empty adds nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/format.h"
#include "report/page.h"
#include "report/view.h"

namespace pipesim::report {

/// The input and output of every block.
struct Sheet {
  View document;
  Page& page;
  bool utf8 = true;
  bool full = false;
};

void AddVerdict(const Sheet& sheet);   ///< status, verdict, Why, Next
void AddRate(const Sheet& sheet);      ///< the line of samples/s, step time and AU
void AddProof(const Sheet& sheet);     ///< what --prove measured
void AddRates(const Sheet& sheet);     ///< that line and the conditions
void AddConditions(const Sheet& sheet);  ///< the measured window; what was real; what was assumed
void AddSteps(const Sheet& sheet);     ///< where a step goes
void AddHostSide(const Sheet& sheet);  ///< the consumer's time, if the step table shows a device
void AddLadder(const Sheet& sheet);
void AddWorkers(const Sheet& sheet);  ///< where a worker's time goes
void AddEachWorker(const Sheet& sheet);
void AddWhatIf(const Sheet& sheet);
void AddEnough(const Sheet& sheet);   ///< enough workers, PyTorch settings
void AddNotes(const Sheet& sheet);    ///< missing evidence, warnings, bad samples
void AddStages(const Sheet& sheet);   ///< queue, copies, memory, disk, without a title
void AddProgramAndMachine(const Sheet& sheet);  ///< without a title
void AddDetails(const Sheet& sheet);  ///< queue, memory, epochs, settings, program and machine

void AddMore(const Sheet& sheet);  ///< commands for more detail

/// The three figures of the line of the rate. Empty step: unknown.
struct RateFigures {
  std::string rate, step, utilization;  ///< "4,680 samples/s ±0.7 %", "54.7 ms a step …", "AU 28 %"
};
RateFigures RateFiguresOf(const Sheet& sheet);

/// A row of the ladder.
struct LadderLine {
  std::string resource, text, full;
  /// A second line: GPU power and clocks, the block device below real files; may be empty.
  std::string below;
  bool is_limit = false;
  std::optional<double> share = std::nullopt;  ///< used of the limit
};
std::vector<LadderLine> LadderLines(View document);

/// A change of the what-if table.
struct ShownChange {
  View change;
  bool as_interval = false;  ///< its interval says more than its gain
  bool small = false;        ///< below 1 % or noise: shares a line with others
  bool noise = false;
  std::string takes = {};    ///< "a flag", "memory, not here", "refuted"
};
std::vector<ShownChange> ShownChanges(View document);
/// "prefetch 2 to 4, GPU x2: below 1 % each"; empty where no change is small.
std::string SmallChangesText(const std::vector<ShownChange>& changes);
/// "predicted ", or "tried: " where a probe measured what the recommendation promises.
std::string PromiseWord(View recommendation);
std::string WhatIfTitle(View document, const std::vector<ShownChange>& changes);

/// Shares of each worker's time, in the order read, prepare, collate, contended, blocked, idle,
/// other.
std::vector<std::vector<std::string>> EachWorkerShares(View document);

/// "GPU", or "device" when it is an emulated one.
std::string DeviceWord(View document);
/// The device that trained; IsChosen() is false if the document has none.
spec::DeviceId DeviceOf(View document);
/// The verdict is inconclusive.
bool IsOpen(View document);
/// The number of equal trainers in the document; 1 when it has none.
std::int64_t Accelerators(View document);
/// Whether they meet after every step (run.barrier).
bool Meets(View document);
/// Whether any step was measured.
bool HasMeasurement(View document);
/// The scale of all tables of times, chosen for the mean step.
TimeScale StepScale(View document);
/// Why a signal with this path prefix is missing; empty if the diagnosis does not say.
std::string ReasonMissing(View document, std::string_view signal);
/// Capitalizes the first letter.
std::string Capitalised(std::string text);

/// One line of a table of times.
struct TimeRow {
  std::string name, gloss;
  std::optional<double> seconds;                      ///< nullopt: not measured, see the gloss
  bool always = false;                                ///< shown even if 0
  std::vector<std::pair<std::string, double>> parts;  ///< printed on the line below
};
/// Times of one clock, ready to be shown: rows in descending order ("other" last) that add up to the
/// total as printed, and their per cents to 100.
struct TimeTable {
  struct Row {
    TimeRow time;
    std::string value, percent, parts;
    double share = 0;  ///< of the total, 0..1
  };
  std::string title, total;
  std::string_view unit;
  std::string_view of;  ///< "per batch"; empty: per step
  std::vector<Row> rows;
};
TimeTable TimeTableOf(std::string title, std::vector<TimeRow> rows, const TimeScale& scale,
                      std::string_view of);
/// nullopt where nothing was measured.
std::optional<TimeTable> StepTable(View document);      ///< where a step goes
std::optional<TimeTable> HostSideTable(View document);  ///< the consumer beside a device's clock
std::optional<TimeTable> WorkerTable(View document);    ///< where a worker's time goes

}  // namespace pipesim::report
