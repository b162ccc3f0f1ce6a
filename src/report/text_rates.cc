// The rates, the window they were measured in, and which parts of the pipeline were real.
#include <algorithm>

#include "base/text.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

constexpr std::size_t kStepColumn = 28, kShareColumn = 69;

std::string RateText(const Sheet& sheet) {
  const View result = sheet.document.At("result");
  const double rate = result.At("samples_per_s").NumberOr(0);
  std::string text = Significant(rate, 3) + " samples/s";
  const auto low = result.At("samples_per_s_interval.low").Number();
  const auto high = result.At("samples_per_s_interval.high").Number();
  if (low && high && rate > 0)
    text += (sheet.utf8 ? " ±" : " +-") + Noise((*high - *low) / 2 / rate);
  return text;
}

std::string StepText(const Sheet& sheet) {
  const View step = sheet.document.At("result.step_time_s");
  const auto mean = step.At("mean").Number();
  if (!mean) return {};
  const TimeScale scale = StepScale(sheet.document);
  const auto shown = [&](std::string_view name) {
    const auto value = step.At(name).Number();
    return value ? Significant(*value * scale.per_second, 3) : std::string("n/a");
  };
  return shown("mean") + " " + std::string(scale.unit) + " a step (p50 " + shown("p50") + ", p95 " +
         shown("p95") + ")";
}

void AddRateLine(const Sheet& sheet) {
  const RateFigures figures = RateFiguresOf(sheet);
  std::string line = figures.rate;
  if (!figures.step.empty()) line = PadRight(line + "  ", kStepColumn) + figures.step;
  const std::string share = figures.utilization;
  line = PadRight(line + "  ", kShareColumn);
  if (base::DisplayWidth(line) + share.size() > kColumns) {
    sheet.page.Add(line);
    line = std::string(kShareColumn, ' ');
  }
  sheet.page.Add(line + share);
}

void AddAccelerators(const Sheet& sheet) {
  const std::int64_t accelerators = Accelerators(sheet.document);
  if (accelerators == 1) return;
  const auto each = sheet.document.At("result.samples_per_s_each").Number();
  sheet.page.Add(WithCommas(accelerators) + " accelerators" +
                 (each ? ", " + Significant(*each, 3) + " samples/s each" : "") +
                 "; storage and cores shared, " +
                 (Meets(sheet.document) ? "they meet after every step" : "no all-reduce"));
}

/// Only where run.barrier makes all accelerators meet.
void AddMeeting(const Sheet& sheet) {
  const View mlperf = sheet.document.At("result.mlperf");
  const auto au = mlperf.At("au").Number(), rate = mlperf.At("samples_per_s").Number();
  if (!au || !rate) return;
  const std::int64_t epochs = mlperf.At("epochs").Whole();
  sheet.page.Add("as MLPerf Storage counts: AU " + base::Fixed(100 * *au, 1) + " %, " + Significant(*rate, 4) +
                 " samples/s over " + WithCommas(epochs) + (epochs == 1 ? " epoch" : " epochs") +
                 "; first step after " + Seconds(mlperf.At("first_step_s").NumberOr(0), 3));
}

void AddWindow(const Sheet& sheet) {
  const View result = sheet.document.At("result");
  const auto steps = result.At("steps").Whole();
  const auto first = result.At("time_to_first_batch_s").Number();
  const std::string each = Accelerators(sheet.document) > 1 ? " each in " : " in ";
  std::string line = WithCommas(steps) + (steps == 1 ? " step" : " steps") + each +
                     Seconds(result.At("measured_s").NumberOr(0), 3);
  if (sheet.document.At("prediction").IsPresent()) line += " of virtual time";
  const double warmup = result.At("warmup_s").NumberOr(0);
  line += warmup > 0 ? " after " + Seconds(warmup, 2) + " of warm-up" : " without warm-up";
  line += "; first batch after " + (first ? Seconds(*first, 2) : "n/a");
  sheet.page.Add(line);
}

/// Only where model.sync_every reads the loss back.
void AddLoss(const Sheet& sheet) {
  const View loss = sheet.document.At("result.loss");
  const auto first = loss.At("first").Number(), last = loss.At("last").Number();
  if (!first || !last) return;
  const auto step = [&](std::string_view name) {
    return WithCommas(loss.At(name).Whole() + 1);
  };
  sheet.page.Add("loss " + Significant(*first, 3) + " at step " + step("first_step") + ", " +
                 Significant(*last, 3) + " at step " + step("last_step"));
}

/// The parts of the pipeline, grouped by real, emulated and predicted.
struct Parts {
  std::vector<std::string> real, emulated, predicted;

  void Add(const std::string& reality, std::string part) {
    if (part.empty()) return;
    auto& list = reality == "real" ? real : reality == "emulated" ? emulated : predicted;
    list.push_back(std::move(part));
  }
};

std::string PreparePart(const std::string& kind) {
  if (kind == "decode") return "JPEG decoding";
  if (kind == "wait") return "prepare (waits)";
  return kind == "burn" ? "CPU work" : "";
}

std::string StoragePart(View effective) {
  const std::string kind = effective.At("storage.kind").Text();
  const std::string name = effective.At("storage.name").Text();
  if (kind == "none") return "storage (none, data in memory)";
  if (kind == "files") return "files";
  return "storage (" + (name.empty() ? "custom" : name) + ")";
}

/// The source of the cost of a step that was not run.
std::string HowCosted(View effective) {
  const std::string cost = effective.At("device_cost").Text();
  if (cost == "roofline") return " (estimated by its roofline)";
  if (cost == "table") return " (from measured steps)";
  return cost == "measured" ? " (as measured)" : "";
}

std::string DevicePart(View document) {
  const View effective = document.At("effective");
  const spec::DeviceId device = DeviceOf(document);
  if (device.IsCuda()) return "GPU step" + HowCosted(effective);
  if (device.IsEmulated()) {
    const std::string name = effective.At("device_name").Text();
    const bool estimated = effective.At("device_cost").Text() == "roofline";
    if (name.empty() || name == "emulated") return "device";
    return "device (" + name + (estimated ? ", estimated by its roofline)" : ")");
  }
  const auto threads = effective.At("compute_threads").Number();
  if (!threads) return "training";
  return "training on " + Count(*threads) + (*threads == 1 ? " thread" : " threads") +
         HowCosted(effective);
}

Parts PartsOf(View document) {
  const View effective = document.At("effective"), reality = document.At("reality");
  const std::string engine = reality.At("engine").Text(), device = reality.At("device").Text();
  const bool workers = effective.At("workers").NumberOr(0) > 0;
  Parts parts;
  parts.Add(engine, workers ? "workers" : "");
  parts.Add(reality.At("prepare").Text(), PreparePart(effective.At("prepare").Text()));
  parts.Add(engine, workers ? "queue" : "");
  if (effective.At("device_asynchronous").IsTrue()) parts.Add(device, "copies");
  parts.Add(device, DevicePart(document));
  parts.Add(reality.At("storage").Text(), StoragePart(effective));
  return parts;
}

void AddReality(const Sheet& sheet) {
  const Parts parts = PartsOf(sheet.document);
  std::string line;
  const auto add = [&](std::string_view label, const std::vector<std::string>& list) {
    if (list.empty()) return;
    if (!line.empty()) line += "  ";
    line += std::string(label) + ": " + base::Join(list, ", ") + ".";
  };
  add("Real", parts.real);
  add("Emulated", parts.emulated);
  add("Predicted", parts.predicted);
  if (!line.empty()) sheet.page.Add(line);
}

/// The machine and the sources of a prediction's costs.
void AddBasis(const Sheet& sheet) {
  const View prediction = sheet.document.At("prediction");
  if (!prediction.IsPresent()) return;
  const double cores = prediction.At("cores").NumberOr(0);
  std::string line = "Machine: " + Count(cores) + (cores == 1 ? " core (" : " cores (") +
                     prediction.At("cores_from").Text() + "), profile " +
                     prediction.At("profile").Text();
  const std::string source = prediction.At("profile_source").Text();
  if (!source.empty()) line += " (" + source + ")";
  const std::string from = prediction.At("from").Text();
  if (!from.empty()) line += "; demands as measured in " + from;
  if (const View epochs = prediction.At("shortened_epochs"); epochs.IsPresent())
    line += "; epochs of " + Count(epochs.At("simulated_steps").NumberOr(0)) +
            " steps, their cache in proportion, stand for those of " + Count(epochs.At("steps").NumberOr(0));
  sheet.page.Add(line + ".");
}

/// "[3, 224, 224]" as "3x224x224".
std::string ShapeText(std::string text) {
  std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
  std::replace(text.begin(), text.end(), ',', 'x');
  return text;
}

std::string CountText(const std::string& text) {
  const bool digits = !text.empty() && text.size() < 16 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  return digits ? WithCommas(std::stoll(text)) : text;
}

/// Settings that came from the model's file or are a default that decides much, not from the user.
void AddAssumed(const Sheet& sheet) {
  std::vector<std::string> assumed;
  std::string samples, bytes;
  const bool step_is_stated = !Setting(sheet.document, "device.emulated.base").empty() ||
                              !Setting(sheet.document, "device.step.base").empty();
  const bool reads = Setting(sheet.document, "storage.kind") != "none";
  for (const auto& [path, setting] : sheet.document.At("experiment").Members()) {
    if (setting.At("origin").Text() != "model") continue;
    // Of a stated step nothing depends on the classes, without storage nothing on a sample's stored bytes.
    if (step_is_stated &&
        (path == "dataset.classes" || (path == "dataset.sample_bytes" && !reads)))
      continue;
    const std::string value = setting.At("value").Text();
    if (path == "dataset.samples")
      samples = CountText(value) + " samples";
    else if (path == "dataset.sample_bytes")
      bytes = " of " + Spaced(value);
    else if (path == "dataset.shape")
      assumed.push_back(ShapeText(value));
    else if (path == "dataset.dtype")
      assumed.push_back(value);
    else if (path == "dataset.classes")
      assumed.push_back(CountText(value) + " classes");
    else if (path == "prepare.cost")
      assumed.push_back("prepare " + Spaced(value));
    else if (path == "storage.preset" || path == "storage")
      assumed.push_back("storage " + value);
    else if (path != "prepare.kind" || value == "none")
      assumed.push_back(path + " " + value);
  }
  // It decides how long a step takes, unless that is stated.
  const View precision = sheet.document.At("experiment").Member("model.precision");
  if (precision.At("origin").Text() == "default" && !step_is_stated)
    assumed.push_back(precision.At("value").Text());
  if (samples.empty() && !bytes.empty()) samples = "samples";
  if (!samples.empty()) assumed.insert(assumed.begin(), samples + bytes);
  if (assumed.empty()) return;
  const std::string model = sheet.document.At("effective.model").Text();
  sheet.page.Add("Assumed" + (model.empty() ? "" : " (model " + model + ")") + ": " +
                 base::Join(assumed, ", ") + ".");
}

}  // namespace

RateFigures RateFiguresOf(const Sheet& sheet) {
  const auto au = sheet.document.At("result.accelerator_utilization").Number();
  return {RateText(sheet), StepText(sheet), "AU " + (au ? Percent(*au) : "n/a")};
}

void AddRate(const Sheet& sheet) {
  if (!HasMeasurement(sheet.document)) return;
  sheet.page.AddBlank();
  AddRateLine(sheet);
}

void AddRates(const Sheet& sheet) {
  AddRate(sheet);
  AddConditions(sheet);
}

void AddConditions(const Sheet& sheet) {
  if (HasMeasurement(sheet.document)) {
    AddAccelerators(sheet);
    AddMeeting(sheet);
    AddWindow(sheet);
    AddLoss(sheet);
  } else {
    sheet.page.AddBlank();
    sheet.page.Add("samples/s, step time, AU: n/a, no step was measured");
  }
  AddReality(sheet);
  AddBasis(sheet);
  AddAssumed(sheet);
}

}  // namespace pipesim::report
