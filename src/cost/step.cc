#include "cost/step.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/last_answer.h"
#include "base/random.h"
#include "cost/rates.h"

namespace pipesim::cost {

using base::Duration;

namespace {

Duration Times(Duration time, double factor) {
  if (factor == 1) return time;
  Scale(time, factor);
  return time;
}

Step EstimatedStepOf(const spec::Experiment& experiment, const spec::DevicePreset& preset) {
  Step step;
  step.source = Source::kEstimated;
  step.cost = std::make_shared<const Roofline>(experiment.model, experiment.dataset.shape,
                                               experiment.training, preset);
  step.launch = LaunchTime(experiment, preset.step_launch);
  return step;
}

}  // namespace

bool Step::Varies() const {
  const auto* stated = std::get_if<StatedStep>(&cost);
  return stated != nullptr && !(stated->base.IsFixed() && stated->per_sample.IsFixed());
}

Duration Step::Mean(std::int64_t samples) const {
  if (const auto* stated = std::get_if<StatedStep>(&cost))
    return stated->base.Mean() + stated->per_sample.Mean() * samples;
  if (const auto* table = std::get_if<StepTable>(&cost)) return table->At(samples) + gap;
  const StepEstimate step = std::get<std::shared_ptr<const Roofline>>(cost)->Estimate(samples);
  // A CPU launches and computes in turn.
  return Times(on_cpu() ? step.device + step.host : step.device, factor);
}

Duration Step::MeanOn(std::int64_t samples, int on_threads) const {
  const Duration all = Mean(samples);
  if (on_threads >= threads || on_threads <= 0) return all;
  if (on_threads == 1 && one_thread) return one_thread->At(samples);
  for (const StepOnThreads& known : on_fewer)
    if (known.threads == on_threads) return known.step.At(samples);
  Duration fewer = all;
  Scale(fewer, static_cast<double>(threads) / on_threads);
  return one_thread ? std::min(fewer, one_thread->At(samples)) : fewer;
}

Duration Step::LongerAfter(Duration pause) const {
  PausedStep below{};
  for (const PausedStep& above : after_pauses) {
    if (pause < above.pause) {
      Duration more = above.longer - below.longer;
      Scale(more, base::ToSeconds(pause - below.pause) / base::ToSeconds(above.pause - below.pause));
      return below.longer + more;
    }
    below = above;
  }
  return below.longer;
}

Step Step::WithSleepingPool(std::int64_t samples, base::Duration wake_up) const {
  const double step_s = base::ToSeconds(Mean(samples));
  const double wakes_s = threads > 1 ? 2 * barriers * base::ToSeconds(wake_up) : 0;
  if (!(step_s > 0)) return *this;
  Step sleeping = Scaled(1 + wakes_s / step_s);
  sleeping.one_thread = one_thread;
  sleeping.after_pauses = after_pauses;
  return sleeping;
}

Step Step::Scaled(double by) const {
  Step scaled = *this;
  if (auto* stated = std::get_if<StatedStep>(&scaled.cost)) {
    stated->base = stated->base.Scaled(by);
    stated->per_sample = stated->per_sample.Scaled(by);
  } else if (auto* table = std::get_if<StepTable>(&scaled.cost)) {
    *table = table->Scaled(by);
  } else {
    scaled.factor *= by;
  }
  if (scaled.one_thread) scaled.one_thread = scaled.one_thread->Scaled(by);
  for (StepOnThreads& known : scaled.on_fewer) known.step = known.step.Scaled(by);
  for (PausedStep& paused : scaled.after_pauses) Scale(paused.longer, by);
  return scaled;
}

Duration LaunchTime(const spec::Experiment& experiment, Duration each) {
  // The whole graph is launched at once.
  if (experiment.training.cuda_graph) return each;
  return each * LaunchesOfStep(experiment.model, experiment.dataset.shape, experiment.training);
}

Step StatedStepOf(const spec::Experiment& experiment) {
  const spec::Device& device = experiment.device;
  Step step;
  if (device.step_base || !device.preset) {
    step.source = device.step_base ? Source::kStated : Source::kFree;
    step.cost = StatedStep{device.step_base.value_or(base::Drawn<Duration>{}),
                           device.step_per_sample};
  } else {
    using Question = std::tuple<spec::Model, spec::Shape, spec::Training, spec::DevicePreset>;
    thread_local base::LastAnswer<Question, Step> last;
    step = last.To(std::tie(experiment.model, experiment.dataset.shape, experiment.training, *device.preset),
                   [&] { return EstimatedStepOf(experiment, *device.preset); });
  }
  if (device.preset) {
    step.device_name = device.preset->name;
    step.device_memory = device.preset->memory;
  }
  return step;
}

StepServer::StepServer(const Step& step, std::int64_t batch_size, std::uint64_t seed, int rank)
    : step_(step),
      batch_size_(batch_size),
      seed_(seed),
      rank_(static_cast<std::uint64_t>(rank)),
      full_(step_.Mean(batch_size)),
      drawn_(step_.Varies()) {}

Duration StepServer::Time(std::int64_t number, std::int64_t samples) const {
  if (!drawn_) return samples == batch_size_ ? full_ : step_.Mean(samples);
  const auto draw = [&](const base::Drawn<Duration>& cost, std::uint64_t which) {
    return cost.Draw(base::KeyedStream(seed_, base::Stage::kStep,
                                       static_cast<std::uint64_t>(number), which + 2 * rank_));
  };
  const auto& stated = std::get<StatedStep>(step_.cost);
  return draw(stated.base, 0) + draw(stated.per_sample, 1) * samples;
}

}  // namespace pipesim::cost
