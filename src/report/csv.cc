// CSV by RFC 4180 for notebooks: one row a run, repeat or point, one column a figure with its unit
// in the name, then a column for each setting, named by its path. Unknown is empty.
#include "report/csv.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "report/sweep_settings.h"
#include "report/view.h"

namespace pipesim::report {
namespace {

using CsvCells = std::vector<std::string>;

/// A spreadsheet evaluates a text that begins with one of these as a formula
/// (owasp.org/www-community/attacks/CSV_Injection). A quote in front makes it a text again.
bool LooksLikeFormula(std::string_view text) {
  return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
}

bool IsJsonNumber(std::string_view text) {
  const Document value = Document::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_number();
}

std::string CsvText(std::string_view text) {
  const bool guard = LooksLikeFormula(text) && !IsJsonNumber(text);
  const std::string cell = (guard ? "'" : "") + std::string(text);
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string CsvCell(View value) {
  if (value.Number()) return value.Json();
  if (value.IsBoolean()) return value.IsTrue() ? "true" : "false";
  return CsvText(value.Text());
}

/// Columns with their names, and as many cells in each row.
class CsvTable {
 public:
  void Add(std::string name, std::vector<std::string> cells) {
    if (!names_.insert(name).second) return;  // a setting does not replace a figure
    titles_.push_back(CsvText(name));
    columns_.push_back(std::move(cells));
  }
  template <class CellOf>
  void AddOf(const std::string& name, std::size_t rows, const CellOf& cell_of) {
    CsvCells cells;
    for (std::size_t row = 0; row < rows; ++row) cells.push_back(cell_of(row));
    Add(name, std::move(cells));
  }
  std::size_t Rows() const { return columns_.empty() ? 0 : columns_.front().size(); }
  std::string Text() const {
    std::string text = base::Join(titles_, ",") + "\r\n";
    for (std::size_t row = 0; row < Rows(); ++row)
      for (std::size_t i = 0; i < columns_.size(); ++i)
        text += columns_[i][row] + (i + 1 < columns_.size() ? "," : "\r\n");
    return text;
  }

 private:
  std::set<std::string> names_;
  CsvCells titles_;
  std::vector<CsvCells> columns_;
};

/// A column and where its value stands in the document, or in a part of it.
struct CsvColumn {
  std::string_view name, path;
};

constexpr CsvColumn kContextColumns[] = {{"date", "context.date"},
                                         {"host", "context.host"},
                                         {"version", "pipesim.version"},
                                         {"commit", "pipesim.commit"}};

// Of `result`, and so of every repeat.
constexpr CsvColumn kResultColumns[] = {{"stopped_by", "stopped_by"},
                                        {"samples_per_s", "samples_per_s"},
                                        {"samples_per_s_low", "samples_per_s_interval.low"},
                                        {"samples_per_s_high", "samples_per_s_interval.high"},
                                        {"samples_per_s_each", "samples_per_s_each"},
                                        {"steps_per_s", "steps_per_s"},
                                        {"step_time_mean_s", "step_time_s.mean"},
                                        {"step_time_p50_s", "step_time_s.p50"},
                                        {"step_time_p95_s", "step_time_s.p95"},
                                        {"step_time_p99_s", "step_time_s.p99"},
                                        {"accelerator_utilization", "accelerator_utilization"},
                                        {"time_to_first_batch_s", "time_to_first_batch_s"},
                                        {"warmup_s", "warmup_s"},
                                        {"measured_s", "measured_s"},
                                        {"warmup_steps", "warmup_steps"},
                                        {"steps", "steps"},
                                        {"samples", "samples"},
                                        {"accelerators", "accelerators"}};

// Of the whole report; of several repeats, the median one has them.
constexpr CsvColumn kPartColumns[] = {
    {"bottleneck", "diagnosis.bottleneck"},
    {"confidence", "diagnosis.confidence"},
    {"second", "diagnosis.second"},
    {"recommended_samples_per_s", "diagnosis.recommendation.samples_per_s"},
    {"recommended_gain", "diagnosis.recommendation.gain"},
    {"enough_workers", "diagnosis.enough.workers"},
    {"enough_prefetch_factor", "diagnosis.enough.prefetch_factor"},
    {"consumer_wall_s", "consumer.wall_s"},
    {"consumer_starved_s", "consumer.starved_s"},
    {"consumer_h2d_s", "consumer.h2d_s"},
    {"consumer_host_s", "consumer.host_s"},
    {"consumer_compute_s", "consumer.compute_s"},
    {"consumer_sync_s", "consumer.sync_s"},
    {"consumer_contended_s", "consumer.contended_s"},
    {"consumer_other_s", "consumer.other_s"},
    {"device_wall_s", "device.wall_s"},
    {"device_busy_s", "device.busy_s"},
    {"device_starved_s", "device.starved_s"},
    {"device_transfer_s", "device.transfer_s"},
    {"device_launch_s", "device.launch_s"},
    {"device_sync_s", "device.sync_s"},
    {"device_other_s", "device.other_s"},
    {"workers_wall_s", "workers.wall_s"},
    {"workers_startup_s", "workers.startup_s"},
    {"workers_read_s", "workers.read_s"},
    {"workers_prepare_s", "workers.prepare_s"},
    {"workers_collate_s", "workers.collate_s"},
    {"workers_contended_s", "workers.contended_s"},
    {"workers_blocked_on_consumer_s", "workers.blocked_on_consumer_s"},
    {"workers_blocked_on_order_s", "workers.blocked_on_order_s"},
    {"workers_idle_s", "workers.idle_s"},
    {"workers_other_s", "workers.other_s"},
    {"pin_pin_s", "pin.pin_s"},
    {"pin_blocked_s", "pin.blocked_s"},
    {"pin_idle_s", "pin.idle_s"},
    {"queue_capacity", "queue.capacity"},
    {"queue_occupancy_mean", "queue.occupancy_mean"},
    {"queue_empty_fraction", "queue.empty_fraction"},
    {"queue_full_fraction", "queue.full_fraction"},
    {"transfer_bytes", "transfer.bytes"},
    {"transfer_bytes_per_s", "transfer.bytes_per_s"},
    {"rss_peak_bytes", "memory.rss_peak_bytes"},
    {"device_peak_bytes", "memory.device_peak_bytes"},
    {"queued_bytes", "memory.queued_bytes"},
    {"cores", "resources.cores"},
    {"cores_used", "resources.cores_used"},
    {"cpu_utilization", "resources.cpu_utilization"},
    {"foreign_cores", "resources.foreign_cores"},
    {"trainer_contended_fraction", "resources.trainer_contended_fraction"},
    {"throttled_fraction", "resources.throttled_fraction"},
    {"storage_utilization", "resources.storage_utilization"},
    {"storage_bytes_per_s", "resources.storage_bytes_per_s"},
    {"reads_per_s", "resources.reads_per_s"},
    {"gpu_utilization_nvml", "resources.gpu_utilization_nvml"},
    {"gpu_power_w", "resources.gpu.power_w"},
    {"gpu_sm_clock_mhz", "resources.gpu.sm_clock_mhz"},
    {"gpu_memory_clock_mhz", "resources.gpu.memory_clock_mhz"},
    {"demand_read_s", "demands.read_s"},
    {"demand_prepare_cpu_s", "demands.prepare_cpu_s"},
    {"demand_prepare_wait_s", "demands.prepare_wait_s"},
    {"demand_collate_s", "demands.collate_s"},
    {"demand_pin_s", "demands.pin_s"},
    {"demand_h2d_s", "demands.h2d_s"},
    {"demand_host_s", "demands.host_s"},
    {"demand_step_s", "demands.step_s"},
    {"demand_sync_s", "demands.sync_s"},
    {"device", "effective.device"},
    {"device_name", "effective.device_name"},
    {"compute_threads", "effective.compute_threads"},
    {"failure", "result.failure"}};

// Of a point of a sweep, before and after the figures.
constexpr CsvColumn kPointColumns[] = {{"point", "point"}};
constexpr CsvColumn kJudgementColumns[] = {{"pareto", "pareto"},
                                           {"prediction_error", "prediction_error"}};

// Of a point's run or prediction.
constexpr CsvColumn kOutcomeColumns[] = {{"status", "status"},
                                         {"reason", "reason"},
                                         {"samples_per_s", "samples_per_s"},
                                         {"samples_per_s_low", "samples_per_s_low"},
                                         {"samples_per_s_high", "samples_per_s_high"},
                                         {"step_time_s", "step_time_s"},
                                         {"accelerator_utilization", "accelerator_utilization"},
                                         {"bottleneck", "bottleneck"},
                                         {"confidence", "confidence"},
                                         {"workers", "workers"},
                                         {"queued_bytes", "queued_bytes"},
                                         {"enough_workers", "enough.workers"},
                                         {"enough_prefetch_factor", "enough.prefetch_factor"},
                                         {"enough_share_of_best", "enough.share_of_best"},
                                         {"wall_s", "wall_s"}};

// Of a run of `tune`.
constexpr CsvColumn kTuneColumns[] = {{"phase", "phase"},
                                      {"status", "status"},
                                      {"samples_per_s", "samples_per_s"},
                                      {"predicted_samples_per_s", "predicted_samples_per_s"},
                                      {"bottleneck", "bottleneck"},
                                      {"workers", "settings.workers"},
                                      {"prefetch_factor", "settings.prefetch_factor"},
                                      {"compute_threads", "settings.compute_threads"},
                                      {"dispatch", "settings.dispatch"},
                                      {"batch_size", "settings.batch_size"},
                                      {"persistent_workers", "settings.persistent_workers"},
                                      {"why", "why"},
                                      {"failure", "failure"}};

// Of a value that `size` tried.
constexpr CsvColumn kSizeColumns[] = {{"value", "value"},
                                      {"setting", "setting"},
                                      {"meets", "meets"},
                                      {"samples_per_s", "samples_per_s"},
                                      {"accelerator_utilization", "accelerator_utilization"}};

// Of a GPU, and of the processors as the last row.
constexpr CsvColumn kDeviceColumns[] = {{"memory_bytes", "memory_bytes"},
                                        {"memory_free_bytes", "memory_free_bytes"},
                                        {"compute_capability", "compute_capability"},
                                        {"multiprocessors", "multiprocessors"},
                                        {"pci_bus_id", "pci_bus_id"},
                                        {"pcie_generation", "pcie.generation"},
                                        {"pcie_lanes", "pcie.lanes"},
                                        {"pcie_generation_at_most", "pcie_at_most.generation"},
                                        {"pcie_lanes_at_most", "pcie_at_most.lanes"},
                                        {"nvlinks", "nvlinks"},
                                        {"cores", "cores"},
                                        {"physical_cores", "physical_cores"},
                                        {"quota_cores", "quota_cores"}};

/// A column for each of `columns`, from a part of the document a row.
template <std::size_t kCount>
void AddFigures(CsvTable& table, const CsvColumn (&columns)[kCount], const std::vector<View>& rows,
                const std::string& prefix = "") {
  for (const CsvColumn& column : columns)
    table.AddOf(prefix + std::string(column.name), rows.size(),
                [&](std::size_t row) { return CsvCell(rows[row].At(column.path)); });
}

void AddContextColumns(CsvTable& table, View document, std::size_t rows) {
  const std::vector<View> points = SettingsOfPoints(document);
  table.AddOf("name", rows, [&](std::size_t row) {
    const View own = row < points.size() ? points[row].Member("name") : View(nullptr, true);
    return CsvText(own.IsPresent() ? own.At("value").Text() : Setting(document, "name"));
  });
  for (const CsvColumn& column : kContextColumns)
    table.Add(std::string(column.name), CsvCells(rows, CsvCell(document.At(column.path))));
}

/// By their paths: those of the whole document, and of a sweep those of each point.
void AddSettingColumns(CsvTable& table, View document, std::size_t rows) {
  std::map<std::string, CsvCells> columns;
  for (const auto& [path, setting] : document.At("experiment").Members())
    columns[path] = CsvCells(rows, CsvText(setting.At("value").Text()));
  const std::vector<View> points = SettingsOfPoints(document);
  for (std::size_t row = 0; row < std::min(points.size(), rows); ++row)
    for (const auto& [path, setting] : points[row].Members())
      columns.try_emplace(path, CsvCells(rows)).first->second[row] = CsvText(setting.At("value").Text());
  for (auto& [path, cells] : columns) table.Add(path, std::move(cells));
}

void AddRowNumbers(CsvTable& table, const std::string& name, std::size_t rows) {
  table.AddOf(name, rows, [](std::size_t row) { return std::to_string(row + 1); });
}

/// Which repeat the other parts of the report describe.
std::size_t MedianRepeat(View result, const std::vector<View>& repeats) {
  for (std::size_t i = 0; i < repeats.size(); ++i)
    if (repeats[i].At("samples_per_s").Number() == result.At("samples_per_s").Number()) return i;
  return 0;
}

void AddCsvRun(CsvTable& table, View document) {
  std::vector<View> results = document.At("repeats").Items();
  std::size_t median = MedianRepeat(document.At("result"), results);
  if (results.empty()) results.push_back(document.At("result")), median = 0;
  std::vector<View> wholes(results.size(), View(nullptr, true));
  wholes[median] = document;
  AddContextColumns(table, document, results.size());
  table.Add("engine", CsvCells(results.size(), CsvCell(document.At("reality.engine"))));
  AddRowNumbers(table, "repeat", results.size());
  table.Add("status", CsvCells(results.size(), CsvCell(document.At("result.status"))));
  AddFigures(table, kResultColumns, results);
  AddFigures(table, kPartColumns, wholes);
}

/// The keys of an axis with the values of each point.
void AddAxisColumns(CsvTable& table, View axis, std::size_t number,
                    const std::vector<View>& points) {
  const std::vector<View> values = axis.At("values").Items();
  const std::vector<std::string> keys = axis.At("keys").Texts();
  for (std::size_t key = 0; key < keys.size(); ++key)
    table.AddOf(keys[key], points.size(), [&](std::size_t row) {
      const std::vector<View> position = points[row].At("position").Items();
      const double at = number < position.size() ? position[number].NumberOr(-1) : -1;
      if (at < 0 || at >= static_cast<double>(values.size())) return std::string();
      const std::vector<std::string> texts = values[static_cast<std::size_t>(at)].Texts();
      return key < texts.size() ? CsvText(texts[key]) : std::string();
    });
}

void AddCsvSweep(CsvTable& table, View document) {
  const std::vector<View> points = document.At("points").Items();
  std::vector<View> mains, predictions;
  for (const View point : points) {
    const View run = point.At("run"), predicted = point.At("predicted");
    mains.push_back(run.IsPresent() ? run : predicted);
    predictions.push_back(run.IsPresent() ? predicted : View(nullptr, true));
  }
  AddContextColumns(table, document, points.size());
  table.Add("engine", CsvCells(points.size(), CsvCell(document.At("sweep.engine"))));
  AddFigures(table, kPointColumns, points);
  const std::vector<View> axes = document.At("sweep.axes").Items();
  for (std::size_t i = 0; i < axes.size(); ++i) AddAxisColumns(table, axes[i], i, points);
  AddFigures(table, kOutcomeColumns, mains);
  AddFigures(table, kJudgementColumns, points);
  AddFigures(table, kOutcomeColumns, predictions, "predicted_");
}

void AddCsvTune(CsvTable& table, View document) {
  const std::vector<View> steps = document.At("steps").Items();
  AddContextColumns(table, document, steps.size());
  table.Add("engine", CsvCells(steps.size(), CsvCell(document.At("engine"))));
  AddRowNumbers(table, "run", steps.size());
  AddFigures(table, kTuneColumns, steps);
}

void AddCsvSize(CsvTable& table, View document) {
  const std::vector<View> tried = document.At("tried").Items();
  AddContextColumns(table, document, tried.size());
  table.Add("axis", CsvCells(tried.size(), CsvCell(document.At("solve.name"))));
  table.Add("target", CsvCells(tried.size(), CsvCell(document.At("target.text"))));
  AddFigures(table, kSizeColumns, tried);
}

// Of a size of a bench, on one device.
constexpr CsvColumn kBenchColumns[] = {{"size", "size"},
                                       {"time_s", "time_s"},
                                       {"time_low_s", "time_low_s"},
                                       {"time_high_s", "time_high_s"},
                                       {"enqueued_s", "enqueued_s"},
                                       {"estimated_s", "estimated_s"},
                                       {"repeats", "repeats"},
                                       {"operations", "operations"},
                                       {"flops_per_s", "flops_per_s"},
                                       {"bytes_per_s", "bytes_per_s"},
                                       {"flops_of_peak", "flops_of_peak"},
                                       {"bytes_of_peak", "bytes_of_peak"}};

/// A row for each series and size.
void AddCsvBench(CsvTable& table, View document) {
  std::vector<View> points, owners;
  for (const View series : document.At("series").Items())
    for (const View point : series.At("points").Items()) {
      points.push_back(point);
      owners.push_back(series);
    }
  for (const CsvColumn& column : kContextColumns)
    table.Add(std::string(column.name), CsvCells(points.size(), CsvCell(document.At(column.path))));
  table.Add("bench", CsvCells(points.size(), CsvCell(document.At("bench.name"))));
  table.Add("unit", CsvCells(points.size(), CsvCell(document.At("bench.unit"))));
  for (const char* name : {"name", "device", "predicted"})
    table.AddOf(name == std::string_view("name") ? "series" : name, points.size(),
                [&](std::size_t row) { return CsvCell(owners[row].At(name)); });
  AddFigures(table, kBenchColumns, points);
}

/// A row for each part, and the total.
void AddCsvMemory(CsvTable& table, View document) {
  const std::vector<View> parts = document.At("parts").Items();
  const std::size_t rows = parts.size() + 1;
  for (const CsvColumn& column : kContextColumns)
    table.Add(std::string(column.name), CsvCells(rows, CsvCell(document.At(column.path))));
  table.Add("device", CsvCells(rows, CsvCell(document.At("device.name"))));
  table.AddOf("part", rows, [&](std::size_t row) {
    return row < parts.size() ? CsvCell(parts[row].At("what")) : std::string("total");
  });
  table.AddOf("bytes", rows, [&](std::size_t row) {
    return CsvCell(row < parts.size() ? parts[row].At("bytes") : document.At("total_bytes"));
  });
  for (const char* name : {"free_bytes", "fits", "largest"})
    table.Add(name, CsvCells(rows, CsvCell(document.At(name))));
}

void AddCsvDevices(CsvTable& table, View document) {
  std::vector<View> devices = document.At("gpus").Items();
  const std::size_t gpus = devices.size();
  devices.push_back(document.At("cpu"));
  for (const CsvColumn& column : kContextColumns)
    table.Add(std::string(column.name), CsvCells(devices.size(), CsvCell(document.At(column.path))));
  table.AddOf("device", devices.size(), [&](std::size_t row) {
    return row < gpus ? CsvCell(devices[row].At("device")) : std::string("cpu");
  });
  table.AddOf("device_name", devices.size(),
              [&](std::size_t row) { return CsvCell(devices[row].At("name")); });
  AddFigures(table, kDeviceColumns, devices);
}

}  // namespace

std::string RenderCsv(const Document& report) {
  const View document(&report, true);
  const std::string kind = document.At("kind").Text();
  CsvTable table;
  if (kind == "sweep")
    AddCsvSweep(table, document);
  else if (kind == "tune")
    AddCsvTune(table, document);
  else if (kind == "size")
    AddCsvSize(table, document);
  else if (kind == "bench")
    AddCsvBench(table, document);
  else if (kind == "memory")
    AddCsvMemory(table, document);
  else if (kind == "devices")
    AddCsvDevices(table, document);
  else
    AddCsvRun(table, document);
  AddSettingColumns(table, document, table.Rows());
  return table.Text();
}

}  // namespace pipesim::report
