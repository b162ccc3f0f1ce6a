// Tables of times: where a step goes, on one clock.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

constexpr std::size_t kNameColumn = 2, kGlossColumn = 13, kValueEnd = 48, kPercentEnd = 58,
                      kBarColumn = 60;
constexpr double kLongest = 1e12;  // a foreign file may hold any number

std::string TimeLine(const std::string& label, const std::string& value, std::string_view unit,
                     const std::string& percent, std::string_view tail) {
  // A label that is too long shifts its value; the percentages stay aligned.
  const std::size_t room = kValueEnd - 1 - std::min(kValueEnd - 1, base::DisplayWidth(label));
  std::string line = fmt::format("{} {:>{}} {}", label, value, room, unit);
  const std::size_t left = kPercentEnd - 1 - std::min(kPercentEnd - 1, base::DisplayWidth(line));
  line = fmt::format("{} {:>{}}", line, percent, left);
  if (tail.empty()) return line;
  line = PadRight(line + ' ', kBarColumn);
  // A line that is shifted has a shorter bar.
  return line + std::string(tail.substr(0, kColumns - std::min(kColumns, base::DisplayWidth(line))));
}

/// "forward 0.95, backward 1.55": parts that add up to the printed value above them.
std::string PartsText(const TimeRow& row, std::int64_t ticks, const TimeScale& scale) {
  if (row.parts.empty()) return {};
  std::vector<double> seconds;
  for (const auto& part : row.parts) seconds.push_back(std::max(part.second, 0.0));
  const std::vector<std::int64_t> split = Apportion(ticks, seconds);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < split.size(); ++i)
    texts.push_back(row.parts[i].first + " " + scale.Text(split[i]));
  return base::Join(texts, ", ");
}

double Shown(const TimeRow& row) { return std::clamp(row.seconds.value_or(0), 0.0, kLongest); }

/// A time of the section, divided by the measured steps.
double PerStep(View document, View section, std::string_view name) {
  const double steps = document.At("result.steps").NumberOr(0);
  return steps > 0 ? section.At(name).NumberOr(0) / steps : 0;
}

std::vector<TimeRow> ConsumerRows(View document) {
  const View consumer = document.At("consumer");
  const auto time = [&](std::string_view name) { return PerStep(document, consumer, name); };
  const bool split = consumer.At("forward_s").Number() && consumer.At("backward_s").Number() &&
                     consumer.At("optimizer_s").Number();
  const bool asynchronous = document.At("effective.device_asynchronous").IsTrue();
  const bool meets = Meets(document);
  TimeRow compute{"compute",
                  asynchronous ? "waits for the device" : "forward, backward, optimizer",
                  time("compute_s"),
                  true,
                  {}};
  if (split)
    compute.parts = {{"forward", time("forward_s")},
                     {"backward", time("backward_s")},
                     {"optimizer", time("optimizer_s")}};
  return {compute,
          {"starved", "waits for a batch", time("starved_s"), true, {}},
          {"transfer", "waits for a copy", time("h2d_s"), false, {}},
          {"host", "dispatches the work", time("host_s"), false, {}},
          {"sync", meets ? "meets the other accelerators" : "reads a result back", time("sync_s"), false, {}},
          {"contended", "waits for a core", time("contended_s"), false, {}},
          {"other", "", time("other_s"), false, {}}};
}

std::vector<TimeRow> DeviceRows(View document) {
  const View device = document.At("device");
  const auto time = [&](std::string_view name) { return PerStep(document, device, name); };
  const bool launch_known = device.At("launch_s").Number().has_value();
  return {
      {"busy", launch_known ? "computes" : "computes, launches included", time("busy_s"), true, {}},
      {"starved", "waits for a batch", time("starved_s"), true, {}},
      {"launch", "waits for the host to launch", time("launch_s"), false, {}},
      {"transfer", "waits for a copy", time("transfer_s"), false, {}},
      {"sync", Meets(document) ? "the accelerators meet" : "waits for the host to read", time("sync_s"), false, {}},
      {"other", "", time("other_s"), false, {}}};
}

std::string ConsumerTitle(View document) {
  return DeviceOf(document).IsCpu() ? "Where a step goes (consumer, device cpu)"
                                    : "Where a step goes (host, the consumer)";
}

void AddTimeTable(const Sheet& sheet, const std::optional<TimeTable>& table) {
  if (!table) return;
  sheet.page.AddBlank();
  sheet.page.Add(TimeLine(table->title, table->total, table->unit, "100 %", table->of),
                 Style::kStrong);
  for (const TimeTable::Row& row : table->rows) {
    const std::string name = std::string(kNameColumn, ' ') + row.time.name;
    const std::string label = PadRight(name, kGlossColumn) + row.time.gloss;
    if (!row.time.seconds) {
      sheet.page.Add(label, Style::kPlain, std::string(kGlossColumn, ' '));
      continue;
    }
    sheet.page.Add(TimeLine(label, row.value, table->unit, row.percent, Bar(row.share)));
    if (!row.parts.empty()) sheet.page.Add(std::string(kGlossColumn, ' ') + row.parts);
  }
}

}  // namespace

TimeTable TimeTableOf(std::string title, std::vector<TimeRow> rows, const TimeScale& scale,
                      std::string_view of) {
  std::erase_if(
      rows, [](const TimeRow& row) { return row.seconds && !row.always && !(*row.seconds > 0); });
  std::stable_sort(rows.begin(), rows.end(), [](const TimeRow& a, const TimeRow& b) {
    const bool a_last = a.name == "other", b_last = b.name == "other";
    return a_last != b_last ? b_last : Shown(a) > Shown(b);
  });
  std::vector<double> seconds;
  for (const TimeRow& row : rows) seconds.push_back(Shown(row));
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const std::int64_t total = scale.Ticks(sum);
  const std::vector<std::int64_t> ticks = Apportion(total, seconds);
  const std::vector<std::string> percents = WholePercents(seconds);
  TimeTable table{std::move(title), scale.Text(total), scale.unit, of, {}};
  for (std::size_t i = 0; i < rows.size(); ++i)
    table.rows.push_back({rows[i], scale.Text(ticks[i]), percents[i],
                          PartsText(rows[i], ticks[i], scale), sum > 0 ? seconds[i] / sum : 0});
  return table;
}

std::optional<TimeTable> StepTable(View document) {
  if (!HasMeasurement(document)) return std::nullopt;
  const TimeScale scale = StepScale(document);
  if (!document.At("device").IsPresent())
    return TimeTableOf(ConsumerTitle(document), ConsumerRows(document), scale, "");
  const bool gpu = DeviceWord(document) == "GPU";
  return TimeTableOf(
      gpu ? "Where a step goes (GPU timeline)" : "Where a step goes (emulated device)",
      DeviceRows(document), scale, "");
}

std::optional<TimeTable> HostSideTable(View document) {
  if (!HasMeasurement(document) || !document.At("device").IsPresent()) return std::nullopt;
  return TimeTableOf("The same step on the host (consumer)", ConsumerRows(document),
                     StepScale(document), "");
}

void AddSteps(const Sheet& sheet) { AddTimeTable(sheet, StepTable(sheet.document)); }
void AddHostSide(const Sheet& sheet) { AddTimeTable(sheet, HostSideTable(sheet.document)); }
void AddWorkers(const Sheet& sheet) { AddTimeTable(sheet, WorkerTable(sheet.document)); }

}  // namespace pipesim::report
