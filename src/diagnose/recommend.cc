#include "diagnose/recommend.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "diagnose/evidence.h"
#include "diagnose/texts.h"
#include "diagnose/what_if.h"
#include "spec/units_text.h"

namespace pipesim::diagnose {
namespace {

/// A text with the row's settings and gain; without the row, the text alone.
Recommendation FromRow(std::string text, const std::vector<WhatIf>& rows, std::string_view row) {
  Recommendation r{.text = std::move(text)};
  const auto at = FindRow(rows, row);
  if (!at) return r;
  r.set = rows[*at].set;
  r.samples_per_s = rows[*at].samples_per_s;
  r.gain = rows[*at].gain;
  return r;
}

Recommendation FromSetting(std::string text, const Question& q, const Decision& d) {
  Recommendation r{.text = std::move(text)};
  if (!d.setting) return r;
  r.set = d.setting->setting.set;
  if (std::isfinite(d.gain)) {
    r.gain = d.gain;
    if (const auto now = q.measurement.result.samples_per_s) r.samples_per_s = *now * (1 + d.gain);
  }
  const Scenario after = d.setting->setting.change(q.scenario);
  spec::Loader loader = q.experiment.loader;
  loader.workers = after.workers;
  loader.prefetch_factor = after.prefetch_factor;
  loader.in_order = after.in_order;
  loader.persistent_workers = after.persistent_workers;
  r.pytorch = DataLoaderText(loader, q.scenario.accelerators);
  return r;
}

/// How fast storage can get before something else limits.
Recommendation FasterStorage(const Question& q, const std::vector<WhatIf>& rows) {
  const double rate = q.predict(Free(q.scenario, Demand::kStorage));
  const auto& d = q.scenario.demands;
  std::string text = "faster storage";
  if (std::isfinite(rate) && d.bytes > 0 && d.batch_samples > 0) {
    const double useful = rate / static_cast<double>(d.batch_samples) * d.bytes;
    const auto& now = q.scenario.storage_bytes_per_s;
    text += fmt::format(" (useful up to {}{})", RateText(useful),
                        now ? ", now " + RateText(*now) : std::string());
  }
  text += " or the data in memory";
  if (FindRow(rows, kStorageX2)) text += "; with twice the speed";
  return FromRow(std::move(text), rows, kStorageX2);
}

Recommendation CheaperPrepare(const Question& q, const std::vector<WhatIf>& rows) {
  std::string text = fmt::format(
      "cheaper prepare (decode ahead of time, smaller images, augment on the device) or more cores "
      "({:.3g} allowed here)",
      q.scenario.cores);
  if (FindRow(rows, kPrepareHalf)) text += "; with half the cost";
  return FromRow(std::move(text), rows, kPrepareHalf);
}

Recommendation FasterCopies(const Question& q, const std::vector<WhatIf>& rows) {
  const auto& effective = q.measurement.effective;
  if (!effective.device.IsCuda() || effective.pinned) {
    return FromRow("fewer bytes to copy (uint8 samples, cast on the device); free copies", rows,
                   kFreeCopies);
  }
  // How fast pinned copies would be here was not measured: free ones are only a ceiling.
  spec::Loader loader = q.experiment.loader;
  loader.pin_memory = true;
  return {.text = "pinned memory: copies from it are faster and run beside the step",
          .set = {{"loader.pin_memory", "true"}},
          .pytorch = DataLoaderText(loader, q.scenario.accelerators)};
}

Recommendation FewerLaunches(const Question& q) {
  Recommendation r{.text =
                       "fewer, larger launches: fuse layers (torch.compile), capture the step in a "
                       "CUDA graph, or a larger batch, which changes training"};
  const spec::Training& training = q.experiment.training;
  if (!training.cuda_graph && training.optimizer != spec::Optimizer::kAdam) {
    r.set = {{"model.cuda_graph", "true"}};
  }
  return r;
}

Recommendation ForCompute(const Question& q) {
  if (IsHealthy(q)) return {.text = "nothing to fix in the input pipeline"};
  return {.text = "a faster device, a smaller model or lower precision"};
}

/// Runs until the steps are there: other limits of the run that would end it earlier give way.
Recommendation MoreSteps(const Question& q) {
  const auto& result = q.measurement.result;
  const std::int64_t steps = StepsToSettle(q);
  std::string seconds;
  if (result.step_time) {
    const double s = static_cast<double>(steps) * result.step_time->mean_s;
    seconds = fmt::format(" ({})", SecondsText(s));
  }
  const auto half_width = RelativeHalfWidth(q.measurement);
  const bool wide = half_width && *half_width > q.thresholds.rank_interval;
  Recommendation r;
  r.text = fmt::format("about {} steps{} {}", steps, seconds,
                       wide ? fmt::format("would bring ±{} to ±{}", ShareText(*half_width),
                                          ShareText(q.thresholds.rank_interval))
                            : "would be enough to decide");
  r.set = {{"run.steps", std::to_string(steps)}};
  if (q.experiment.run.duration) r.set.emplace_back("run.duration", "auto");
  const auto per_epoch = spec::BatchesPerEpoch(q.experiment);
  if (q.experiment.run.epochs && per_epoch > 0 && *q.experiment.run.epochs * per_epoch < steps) {
    r.set.emplace_back("run.epochs", std::to_string((steps + per_epoch - 1) / per_epoch));
  }
  return r;
}

Recommendation ForInconclusive(const Question& q, const Doubt& doubt) {
  if (doubt.needs_steps) return MoreSteps(q);
  return {.text = "a longer run does not settle this; see what is missing, and the warnings"};
}

}  // namespace

std::int64_t StepsToSettle(const Question& q) {
  const auto& result = q.measurement.result;
  double steps = static_cast<double>(q.thresholds.min_steps);
  if (const auto half_width = RelativeHalfWidth(q.measurement)) {
    const double ratio = *half_width / q.thresholds.rank_interval;
    steps = std::max(steps, static_cast<double>(result.steps) * ratio * ratio);
  }
  steps += static_cast<double>(result.warmup_steps);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(steps)) - 1));
  return static_cast<std::int64_t>(std::min(std::ceil(steps / unit) * unit, 1e15));
}

std::string DataLoaderText(const spec::Loader& loader, int accelerators) {
  std::string text = fmt::format("DataLoader(dataset, batch_size={}", loader.batch_size);
  if (accelerators > 1) {
    text += loader.shuffle ? ", sampler=DistributedSampler(dataset)"
                           : ", sampler=DistributedSampler(dataset, shuffle=False)";
  } else if (loader.shuffle) {
    text += ", shuffle=True";
  }
  if (loader.workers > 0) {
    text +=
        fmt::format(", num_workers={}, prefetch_factor={}", loader.workers, loader.prefetch_factor);
  }
  if (loader.pin_memory) text += ", pin_memory=True";
  if (loader.drop_last) text += ", drop_last=True";
  if (loader.workers > 0 && loader.persistent_workers) text += ", persistent_workers=True";
  if (loader.workers > 0 && !loader.in_order) text += ", in_order=False";
  if (loader.workers > 0 && loader.timeout.count() > 0) {
    text += fmt::format(", timeout={:g}", base::ToSeconds(loader.timeout));
  }
  return text + ")";
}

Recommendation Recommend(Verdict verdict, const Question& q, const Decision& d, const Doubt& doubt,
                         const std::vector<WhatIf>& rows) {
  switch (verdict) {
    case Verdict::kLoaderBound:
      return FromSetting("feed training faster: " + d.setting->setting.text, q, d);
    case Verdict::kCpuContention:
      return FromSetting("leave training its cores: " + d.setting->setting.text, q, d);
    case Verdict::kIoBound:
      return FasterStorage(q, rows);
    case Verdict::kCpuBound:
      return CheaperPrepare(q, rows);
    case Verdict::kH2dBound:
      return FasterCopies(q, rows);
    case Verdict::kLaunchBound:
      return FewerLaunches(q);
    case Verdict::kSyncBound:
      return FromRow("read results back less often", rows, kNoSync);
    case Verdict::kHostBound:
      return {.text = "less work in the training loop between steps"};
    case Verdict::kComputeBound:
      return ForCompute(q);
    case Verdict::kBalanced:
      return {.text = "nothing gains alone; see the largest what-if rows and change two together"};
    case Verdict::kInconclusive:
      return ForInconclusive(q, doubt);
  }
  return {};
}

}  // namespace pipesim::diagnose
