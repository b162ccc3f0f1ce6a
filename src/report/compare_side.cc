// Reads a side of a comparison from a document.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "report/compare_report.h"
#include "report/sweep_settings.h"
#include "report/view.h"
#include "spec/yaml_tree.h"

namespace pipesim::report {
namespace {

using compare::Estimate;
using compare::Partition;
using compare::Point;
using compare::Side;

/// A sweep's interval does not say from how many blocks it was made: the most there can be, which
/// makes differences the least sure (measure/rates.cc).
constexpr std::size_t kMostBlocks = 30;

[[noreturn]] void RefuseSide(const std::string& name, const std::string& why) {
  throw base::EnvironmentError(base::Printable(name) + ": " + why);
}

struct StageField {
  std::string_view field, name;
};
constexpr std::array<StageField, 6> kDeviceStages = {{{"busy_s", "busy"},
                                                      {"starved_s", "starved"},
                                                      {"launch_s", "launch"},
                                                      {"transfer_s", "transfer"},
                                                      {"sync_s", "sync"},
                                                      {"other_s", "other"}}};
constexpr std::array<StageField, 7> kConsumerStages = {{{"compute_s", "compute"},
                                                        {"starved_s", "starved"},
                                                        {"h2d_s", "transfer"},
                                                        {"host_s", "host"},
                                                        {"sync_s", "sync"},
                                                        {"contended_s", "contended"},
                                                        {"other_s", "other"}}};
constexpr std::array<StageField, 11> kDemandStages = {{{"read_s", "read"},
                                                      {"prepare_cpu_s", "prepare"},
                                                      {"prepare_wait_s", "prepare (waiting)"},
                                                      {"collate_s", "collate"},
                                                      {"send_s", "send"},
                                                      {"receive_s", "receive"},
                                                      {"pin_s", "pin"},
                                                      {"h2d_s", "transfer"},
                                                      {"host_s", "host"},
                                                      {"step_s", "step"},
                                                      {"sync_s", "sync"}}};

template <std::size_t N>
std::vector<compare::Stage> StagesOf(View section, const std::array<StageField, N>& fields,
                                     double over) {
  std::vector<compare::Stage> stages;
  for (const StageField& each : fields)
    if (const auto seconds = section.At(each.field).Number())
      stages.push_back({std::string(each.name), std::max(*seconds, 0.0) / over});
  return stages;
}

std::vector<Partition> PartitionsOf(View document) {
  const double steps = document.At("result.steps").NumberOr(0);
  const double samples = document.At("result.samples").NumberOr(0);
  std::vector<Partition> partitions;
  if (const View device = document.At("device"); device.IsPresent())
    partitions.push_back(
        {device.At("clock").Text(), steps, samples, StagesOf(device, kDeviceStages, 1)});
  partitions.push_back(
      {"consumer", steps, samples, StagesOf(document.At("consumer"), kConsumerStages, 1)});
  return partitions;
}

compare::Settings SetOf(View set) {
  compare::Settings settings;
  for (const auto& [key, value] : set.Members()) settings[key] = value.Text();
  return settings;
}

std::vector<compare::Promise> PromisesOf(View document) {
  std::vector<compare::Promise> promises;
  const auto add = [&](View row) {
    const auto rate = row.At("samples_per_s").Number();
    if (rate && !row.At("set").Members().empty()) promises.push_back({SetOf(row.At("set")), *rate});
  };
  // The recommendation stands first: what was tried corrects it.
  add(document.At("diagnosis.recommendation"));
  for (const View row : document.At("diagnosis.what_if").Items()) add(row);
  return promises;
}

std::optional<Estimate> RateOfRun(View document, bool predicted) {
  const View result = document.At("result");
  const double rate = result.At("samples_per_s").NumberOr(0);
  if (predicted) return compare::FromPrediction(rate);
  std::vector<double> repeats;
  for (const View repeat : document.At("repeats").Items())
    if (const auto one = repeat.At("samples_per_s").Number()) repeats.push_back(*one);
  if (repeats.size() > 1) return compare::FromRepeats(repeats);
  const View interval = result.At("samples_per_s_interval");
  const compare::Method method = compare::ReadMethod(interval.At("method").Text());
  return compare::FromInterval(rate, interval.At("low").NumberOr(0),
                               interval.At("high").NumberOr(0), method.count, method.unit);
}

/// Of a side or a point.
template <class Owner>
void ReadSettings(View settings, Owner& owner) {
  for (const auto& [key, setting] : settings.Members()) {
    owner.settings[key] = setting.At("value").Text();
    owner.origins[key] = setting.At("origin").Text();
  }
}

void ReadCircumstances(View document, Side& side) {
  const View context = document.At("context");
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) side.circumstances[name] = value;
  };
  const std::string commit = document.At("pipesim.commit").Text();
  set("version",
      document.At("pipesim.version").Text() + (commit.empty() ? "" : " (" + commit + ")"));
  set("engine", side.predicted ? "is predicted" : "was run");
  if (side.predicted) {
    const View prediction = document.At("prediction");
    if (prediction.IsPresent())
      set("profile", fmt::format("{} with {:g} cores", prediction.At("profile").Text(),
                                 prediction.At("cores").NumberOr(0)));
    return;
  }
  set("machine", fmt::format("on {} ({})", context.At("host").Text(), context.At("cpu").Text()));
  if (document.At("reality.device").Text() == "real")
    set("device", document.At("effective.device_name").Text());
}

/// The fact, without what it means for the run alone.
std::string FactOf(const std::string& warning) {
  const std::size_t end = std::min({warning.find("; "), warning.find(". "), warning.find(": ")});
  std::string fact = warning.substr(0, end);
  while (fact.ends_with('.')) fact.pop_back();
  if (!fact.empty()) fact[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(fact[0])));
  return fact + ".";
}

void ReadDisturbances(View document, Side& side) {
  constexpr std::string_view kDisturbing[] = {"foreign-cpu", "throttled",    "swap",
                                              "stalled",     "late-wakeups", "drift"};
  for (const View warning : document.At("warnings").Items()) {
    const std::string code = warning.At("code").Text();
    if (std::find(std::begin(kDisturbing), std::end(kDisturbing), code) != std::end(kDisturbing))
      side.disturbances.push_back(FactOf(warning.At("text").Text()));
  }
}

std::string CommandOf(View document) {
  const std::vector<std::string> argv = document.At("context.argv").Texts();
  return argv.empty() ? "" : ": pipesim " + base::ShellJoin(argv);
}

Side SideOfRun(View document, const std::string& name) {
  const std::string status = document.At("result.status").Text();
  if (status != "ok") {
    const std::string failure = document.At("result.failure").Text();
    RefuseSide(name,
               fmt::format("the run did not finish ({}{}{}), so it has no rate to compare; "
                           "run it again{}",
                           status, failure.empty() ? "" : ": ", failure, CommandOf(document)));
  }
  Side side;
  side.name = name;
  side.predicted = document.At("reality.engine").Text() == "predicted";
  ReadSettings(document.At("experiment"), side);
  ReadCircumstances(document, side);
  ReadDisturbances(document, side);
  Point point;
  point.rate = RateOfRun(document, side.predicted);
  if (!point.rate) RefuseSide(name, "the run trained no sample, so it has no rate to compare");
  point.step_time_s = document.At("result.step_time_s.mean").Number();
  point.accelerator_utilization = document.At("result.accelerator_utilization").Number();
  point.bottleneck = document.At("diagnosis.bottleneck").Text();
  point.confidence = document.At("diagnosis.confidence").Text();
  point.partitions = PartitionsOf(document);
  const double batch = document.At("demands.batch_samples").NumberOr(0);
  if (batch > 0) point.demands = StagesOf(document.At("demands"), kDemandStages, batch);
  point.promises = PromisesOf(document);
  side.points.push_back(std::move(point));
  return side;
}

struct AxisOfSweep {
  std::string name;
  std::vector<std::string> keys, labels;
  std::vector<std::vector<std::string>> values;
};

std::vector<AxisOfSweep> AxesOf(View document) {
  std::vector<AxisOfSweep> axes;
  for (const View axis : document.At("sweep.axes").Items()) {
    AxisOfSweep one{axis.At("name").Text(), axis.At("keys").Texts(), axis.At("labels").Texts(), {}};
    for (const View values : axis.At("values").Items()) one.values.push_back(values.Texts());
    axes.push_back(std::move(one));
  }
  return axes;
}

std::optional<Estimate> RateOfOutcome(View outcome, bool predicted, std::size_t repeats) {
  const double rate = outcome.At("samples_per_s").NumberOr(0);
  if (outcome.At("status").Text() != "ok") return std::nullopt;
  if (predicted) return compare::FromPrediction(rate);
  const auto low = outcome.At("samples_per_s_low").Number();
  const auto high = outcome.At("samples_per_s_high").Number();
  const bool blocks = repeats < 2;
  return compare::FromInterval(rate, low.value_or(0), high.value_or(0),
                               !low || !high ? 1
                               : blocks      ? kMostBlocks
                                             : repeats,
                               blocks ? compare::Unit::kBlocks : compare::Unit::kRepeats);
}

/// A map of words is the settings below its key: `prepare: {kind: wait, cost: 1ms}`.
void SetAt(const std::string& key, const std::string& value, compare::Settings& at) {
  std::vector<base::Problem> problems;
  spec::Node node;
  if (value.starts_with('{')) node = spec::ParseYaml(value, key, spec::Origin::kFile, problems);
  const bool words = node.IsMap() && problems.empty() &&
                     std::ranges::all_of(node.items, [](const spec::Node& item) {
                       return item.kind == spec::NodeKind::kScalar;
                     });
  if (!words) {
    at[key] = value;
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) at[key + "." + node.keys[i].text] = node.items[i].text;
}

Point PointOfSweep(View value, const std::vector<AxisOfSweep>& axes, std::size_t repeats) {
  Point point;
  const std::vector<View> position = value.At("position").Items();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(axes.size(), position.size()); ++i) {
    const auto at = position[i].Size();
    const AxisOfSweep& axis = axes[i];
    if (at >= axis.labels.size() || at >= axis.values.size()) continue;
    names.push_back(axis.name + " " + axis.labels[at]);
    for (std::size_t key = 0; key < std::min(axis.keys.size(), axis.values[at].size()); ++key)
      SetAt(axis.keys[key], axis.values[at][key], point.at);
  }
  point.name = base::Join(names, " ");
  const View run = value.At("run");
  const View outcome = run.IsPresent() ? run : value.At("predicted");
  point.rate = RateOfOutcome(outcome, !run.IsPresent(), repeats);
  point.failure = outcome.At("reason").Text();
  if (!point.rate && point.failure.empty()) point.failure = outcome.At("status").Text();
  point.step_time_s = outcome.At("step_time_s").Number();
  point.accelerator_utilization = outcome.At("accelerator_utilization").Number();
  point.bottleneck = outcome.At("bottleneck").Text();
  point.confidence = outcome.At("confidence").Text();
  return point;
}

std::string WhyPartial(View document) {
  if (document.At("summary.interrupted").IsTrue()) return "was interrupted";
  const std::size_t shards = document.At("sweep.shard.count").Size(1);
  if (shards < 2) return "";
  return fmt::format("is shard {} of {}", document.At("sweep.shard.index").Size(1), shards);
}

Side SideOfSweep(View document, const std::string& name) {
  Side side;
  side.name = name;
  side.is_sweep = true;
  side.predicted = document.At("sweep.engine").Text() == "predict";
  const std::vector<AxisOfSweep> axes = AxesOf(document);
  for (const AxisOfSweep& axis : axes)
    for (const std::string& key : axis.keys)
      side.axes.emplace_back(key, axis.keys.size() == 1 ? axis.name : key);
  ReadSettings(document.At("experiment"), side);
  ReadCircumstances(document, side);
  const auto repeats = document.At("sweep.repeats").Size(1);
  const std::vector<View> settings = SettingsOfPoints(document);
  for (const View point : document.At("points").Items()) {
    side.points.push_back(PointOfSweep(point, axes, repeats));
    ReadSettings(settings[side.points.size() - 1], side.points.back());
  }
  side.why_partial = WhyPartial(document);
  // Where all points failed, that is what is compared.
  if (side.points.empty())
    RefuseSide(name,
               "no point of this sweep finished, so there is nothing to compare; run it again" +
                   CommandOf(document));
  return side;
}

}  // namespace

compare::Side SideOf(const Document& document, const std::string& name) {
  const View view(&document, true);
  const std::string kind = view.At("kind").Text();
  if (kind == "run") return SideOfRun(view, name);
  if (kind == "sweep") return SideOfSweep(view, name);
  RefuseSide(name, fmt::format("a report of `pipesim {}`; compare takes reports of `pipesim run`, "
                               "`predict` and `sweep`",
                               kind));
}

}  // namespace pipesim::report
