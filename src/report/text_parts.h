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
void AddRates(const Sheet& sheet);     ///< samples/s, step time, AU; window; what was real
void AddSteps(const Sheet& sheet);     ///< where a step goes
void AddHostSide(const Sheet& sheet);  ///< the consumer's time, if the step table shows a device
void AddLadder(const Sheet& sheet);
void AddWorkers(const Sheet& sheet);  ///< where a worker's time goes
void AddEachWorker(const Sheet& sheet);
void AddWhatIf(const Sheet& sheet);
void AddEnough(const Sheet& sheet);   ///< enough workers, PyTorch settings
void AddNotes(const Sheet& sheet);    ///< missing evidence, warnings, bad samples
void AddDetails(const Sheet& sheet);  ///< queue, memory, epochs, settings, program and machine

void AddMore(const Sheet& sheet);  ///< commands for more detail

/// "GPU", or "device" when it is an emulated one.
std::string DeviceWord(View document);
/// The device that trained; IsChosen() is false if the document has none.
spec::DeviceId DeviceOf(View document);
/// The verdict is inconclusive.
bool IsOpen(View document);
/// The number of equal trainers in the document; 1 when it has none.
std::int64_t Accelerators(View document);
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
/// A title with the total, then rows in descending order ("other" last). Printed rows add up to the
/// total, and per cents to 100.
void AddTimeTable(const Sheet& sheet, const std::string& title, std::vector<TimeRow> rows,
                  const TimeScale& scale, std::string_view tail);

}  // namespace pipesim::report
