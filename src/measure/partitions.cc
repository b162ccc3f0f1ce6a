#include "measure/partitions.h"

#include <algorithm>

#include "base/stats.h"
#include "measure/rates.h"

namespace pipesim::measure {
namespace {

using trace::Role;
using trace::State;

/// A rest of 0 may come out this far below 0, since interpolated sums are rounded. Anything further
/// below is shown: it means that time was counted twice.
constexpr double kRoundingS = 1e-6;
/// Times are whole nanoseconds; anything smaller comes from adding them up as seconds.
constexpr double kGrainS = 1e-9;

double Rest(double wall_s, double sum_s) {
  const double rest = wall_s - sum_s;
  return rest < kGrainS && rest > -kRoundingS ? 0 : rest;
}

double Seconds(const trace::RunTrace& trace, Role role, State state, const Window& window) {
  return base::ToSeconds(trace::TimeIn(trace, role, state, window.from, window.to));
}

double Wall(const Window& window) { return base::ToSeconds(window.to - window.from); }

Workers OneWorker(const trace::RunTrace& trace, const trace::ThreadTotals& thread,
                  const Window& window) {
  const auto in = [&](State state) {
    return base::ToSeconds(trace::TimeIn(trace, thread, state, window.from, window.to));
  };
  Workers one;
  one.count = 1;
  one.wall_s = Wall(window);
  one.startup_s = in(State::kStartup);
  one.read_s = in(State::kRead);
  one.prepare_s = in(State::kPrepare);
  one.collate_s = in(State::kCollate);
  one.send_s = in(State::kSend);
  one.contended_s = in(State::kContended);
  one.blocked_on_consumer_s = in(State::kBlockedOnConsumer);
  one.blocked_on_order_s = in(State::kBlockedOnOrder);
  one.idle_s = in(State::kIdle);
  return one;
}

double Sum(const Workers& w) {
  return w.startup_s + w.read_s + w.prepare_s + w.collate_s + w.send_s + w.contended_s +
         w.blocked_on_consumer_s + w.blocked_on_order_s + w.idle_s;
}

void Add(Workers& total, const Workers& one) {
  total.startup_s += one.startup_s;
  total.read_s += one.read_s;
  total.prepare_s += one.prepare_s;
  total.collate_s += one.collate_s;
  total.send_s += one.send_s;
  total.contended_s += one.contended_s;
  total.blocked_on_consumer_s += one.blocked_on_consumer_s;
  total.blocked_on_order_s += one.blocked_on_order_s;
  total.idle_s += one.idle_s;
}

/// At 0 workers the consumer loads by itself. Its contended time includes training; the part of
/// loading is only known per batch.
Workers LoadingOfConsumer(const trace::RunTrace& trace, const Window& window) {
  Workers own;
  own.read_s = Seconds(trace, Role::kConsumer, State::kRead, window);
  own.prepare_s = Seconds(trace, Role::kConsumer, State::kPrepare, window);
  own.collate_s = Seconds(trace, Role::kConsumer, State::kCollate, window);
  const std::vector<double> contended_s =
      NumbersIn(trace, trace::Series::kContendedTime, window, 1e-9);
  own.contended_s =
      std::min(base::Mean(contended_s) * static_cast<double>(window.last_step - window.first_step),
               Seconds(trace, Role::kConsumer, State::kContended, window));
  own.wall_s = Sum(own);
  return own;
}

/// Events around a step do not show the gaps between its kernels: the device computes for the
/// undisturbed time of a step and waits for launches during the rest of the bracket.
void SplitBracket(Device& device, double bracket_s, double gaps_s, double steps,
                  std::optional<Duration> undisturbed) {
  if (!undisturbed) {
    device.busy_s = bracket_s + gaps_s;
    return;
  }
  device.busy_s = std::min(bracket_s, steps * base::ToSeconds(*undisturbed));
  device.launch_s = bracket_s - device.busy_s + gaps_s;
}

}  // namespace

Consumer ConsumerTime(const trace::RunTrace& trace, const Window& window,
                      const spec::Experiment& experiment) {
  const auto in = [&](State state) { return Seconds(trace, Role::kConsumer, state, window); };
  const double forward_s = in(State::kForward), backward_s = in(State::kBackward),
               optimizer_s = in(State::kOptimizer);
  Consumer c;
  c.wall_s = Wall(window);
  c.starved_s = in(State::kStarved);
  c.h2d_s = in(State::kTransfer) + in(State::kPin);
  const double receive_s = in(State::kReceive);
  c.host_s = in(State::kHost) + receive_s;
  if (experiment.loader.HasProcesses()) c.receive_s = receive_s;
  c.compute_s = forward_s + backward_s + optimizer_s + in(State::kCompute);
  c.sync_s = in(State::kSync);
  c.contended_s = in(State::kContended);
  if (experiment.loader.workers == 0) {
    c.starved_s += in(State::kRead) + in(State::kPrepare) + in(State::kCollate);
  }
  // A step recorded as one compute has no known parts.
  if (!trace.effective.device_asynchronous && forward_s + backward_s + optimizer_s > 0) {
    c.forward_s = forward_s;
    c.backward_s = backward_s;
    c.optimizer_s = optimizer_s;
  }
  c.other_s =
      Rest(c.wall_s, c.starved_s + c.h2d_s + c.host_s + c.compute_s + c.sync_s + c.contended_s);
  return c;
}

std::optional<Device> DeviceTime(const trace::RunTrace& trace, const Window& window,
                                 const spec::Experiment& experiment) {
  if (!trace.effective.device_asynchronous || !trace::Has(trace, Role::kDevice))
    return std::nullopt;
  const auto in = [&](State state) { return Seconds(trace, Role::kDevice, state, window); };
  const bool emulated = trace.effective.device.IsEmulated();
  Device d;
  d.clock = emulated ? "emulated" : "cuda events";
  d.wall_s = Wall(window);
  if (emulated) {
    d.busy_s = in(State::kBusy);
    d.launch_s = in(State::kDeviceLaunch);
  } else {
    const double full_steps =
        static_cast<double>(window.samples) / static_cast<double>(experiment.loader.batch_size);
    SplitBracket(d, in(State::kBusy), in(State::kDeviceLaunch), full_steps,
                 trace.effective.device_step);
  }
  d.starved_s = in(State::kDeviceStarved);
  d.transfer_s = in(State::kDeviceTransfer);
  d.sync_s = in(State::kDeviceSync);
  d.other_s =
      Rest(d.wall_s, d.busy_s + d.launch_s.value_or(0) + d.starved_s + d.transfer_s + d.sync_s);
  return d;
}

Workers WorkersTime(const trace::RunTrace& trace, const Window& window,
                    const spec::Experiment& experiment) {
  if (experiment.loader.workers == 0) return LoadingOfConsumer(trace, window);
  Workers total;
  for (const trace::ThreadTotals& thread : trace.threads) {
    if (thread.role != Role::kWorker) continue;
    Workers one = OneWorker(trace, thread, window);
    one.other_s = Rest(one.wall_s, Sum(one));
    Add(total, one);
    total.each.push_back(std::move(one));
  }
  total.count = experiment.loader.workers;
  total.wall_s = Wall(window) * total.count;
  total.other_s = Rest(total.wall_s, Sum(total));
  return total;
}

std::optional<Pin> PinTime(const trace::RunTrace& trace, const Window& window) {
  if (!trace::Has(trace, Role::kPin)) return std::nullopt;
  const auto in = [&](State state) { return Seconds(trace, Role::kPin, state, window); };
  Pin pin{.wall_s = Wall(window),
          .pin_s = in(State::kPin),
          .contended_s = in(State::kContended),
          .blocked_s = in(State::kBlockedOnConsumer),
          .idle_s = in(State::kStarved) + in(State::kIdle),
          .receive_s = in(State::kReceive)};
  pin.other_s = Rest(pin.wall_s, pin.pin_s + pin.receive_s + pin.contended_s + pin.blocked_s +
                                     pin.idle_s);
  return pin;
}

std::optional<double> AcceleratorUtilization(const trace::RunTrace& trace, const Consumer& consumer,
                                             const std::optional<Device>& device) {
  if (!trace.effective.device_asynchronous) {
    return consumer.wall_s > 0 ? std::optional(consumer.compute_s / consumer.wall_s) : std::nullopt;
  }
  if (!device || !device->launch_s || device->wall_s <= 0) return std::nullopt;
  return device->busy_s / device->wall_s;
}

}  // namespace pipesim::measure
