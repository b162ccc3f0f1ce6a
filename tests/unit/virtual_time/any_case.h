// Pipelines of constant costs, drawn by RapidCheck.
#pragma once

#include <rapidcheck/gtest.h>

#include <algorithm>

#include "pipeline.h"

namespace pipesim::engine {

struct Case {
  spec::Experiment experiment;
  cost::Pipeline pipeline;
};

inline std::int64_t In(std::int64_t low, std::int64_t high) { return *rc::gen::inRange(low, high + 1); }
inline bool Yes() { return *rc::gen::arbitrary<bool>(); }
inline base::Drawn<Duration> AnyCost(std::int64_t most_us) {
  // Whole microseconds recur sooner than any number of nanoseconds.
  return Fixed(Yes() ? Duration(1us) * In(1, most_us) : Duration(In(1, most_us * 1000)));
}

inline void AnyLoader(spec::Experiment& e) {
  e.loader.shuffle = Yes();
  e.loader.drop_last = Yes();
  e.loader.in_order = Yes();
  e.loader.pin_memory = Yes();
  if (e.loader.workers == 0) return;
  e.loader.prefetch_factor = static_cast<int>(In(1, 4));
  e.loader.dispatch = Yes() ? spec::Dispatch::kShared : spec::Dispatch::kRoundRobin;
  if (Yes()) e.loader.queue_capacity = In(1, e.loader.Window());
  e.loader.persistent_workers = Yes();
  if (Yes()) e.loader.worker_startup = Yes() ? Fixed(3ms) : Exponential(3ms);
  if (Yes()) e.loader.timeout = 20ms * In(5, 20);
}

inline void AnyMachine(spec::Experiment& e, cost::Pipeline& pipeline) {
  cost::Machine& machine = pipeline.machine;
  if (Yes()) machine.cores = static_cast<double>(In(2, 8)) / 2;
  if (Yes()) machine.wake_up = 20us;
  if (Yes()) machine.burn_handover = 40us;
  if (Yes()) machine.worker_startup = 1ms;
  if (Yes()) machine.others = {.wanted = 1, .held = 0.5};
  if (Yes()) pipeline.host.step = 50us;
  if (Yes()) pipeline.host.read_back = 5us;
  if (Yes()) pipeline.collate.batch = 30us;
  if (Yes()) pipeline.collate.bandwidth = base::BytesPerSecond{1e6};
  if (Yes()) pipeline.pin.bandwidth = base::BytesPerSecond{1e6};
  if (Yes()) pipeline.transfer.latency = 10us;
  if (Yes()) pipeline.transfer.bandwidth = base::BytesPerSecond{3e6};
  if (Yes()) {
    pipeline.hand_over = {.processes = true,
                          .share = {.batch = AnyCost(100), .bandwidth = {}},
                          .send = {.batch = AnyCost(200), .bandwidth = {}},
                          .serve = {.batch = AnyCost(100), .bandwidth = {}},
                          .receive = {.batch = AnyCost(200), .bandwidth = base::BytesPerSecond{2e6}},
                          .receive_latency = AnyCost(100),
                          .receive_wait = AnyCost(100),
                          .launch = Yes() ? 0us : 500us,
                          .startup = Fixed(2ms)};
  }
  if (Yes()) pipeline.prepare.wait = AnyCost(300);
  if (Yes()) pipeline.prepare.python = 3us;
  if (Yes()) machine.pool_spin = 300us;
  if (Yes()) machine.barrier_slice = 100us;
  if (Yes()) machine.memory = cost::SharedMemory{.alone = {1e6}, .together = {1.5e6}, .threads = 2};
  if (Yes()) pipeline.prepare.memory_bytes_per_s = 1e6;
  if (Yes()) {
    e.device.kind = spec::DeviceKind::kCpu;
    pipeline.step = CpuStep(0s, static_cast<int>(In(1, 3)));
    std::get<cost::StatedStep>(pipeline.step.cost).per_sample = AnyCost(200);
    if (Yes()) pipeline.step.after_pauses = {{300us, 100us}, {2ms, 250us}};
    if (Yes()) {  // a pool that sleeps at barriers, beside a step on one thread
      e.limits.omp_wait = spec::OmpWait::kPassive;
      pipeline.step.one_thread =
          cost::StepTable(std::vector<spec::StepPoint>{{1, 300us}, {5, Duration(1us) * In(400, 900)}});
    }
  }
}

/// One that holds half the samples, all of them, or twice as many.
inline void AnyCache(spec::Experiment& e) {
  const std::int64_t samples = e.dataset.samples, each = e.dataset.sample_bytes.Mean().count;
  e.storage.cache = {.policy = Yes() ? spec::CachePolicy::kLru : spec::CachePolicy::kRandom,
                     .size = {std::max<std::int64_t>(1, samples * each * In(1, 4) / 2)},
                     .warm = Yes() ? 1.0 : 0.5,
                     .hit_bandwidth = std::nullopt};
  if (Yes()) e.storage.cache.hit_bandwidth = base::BytesPerSecond{5e6};
}

inline Case AnyCase() {
  Case any;
  auto& e = any.experiment = Stages(static_cast<int>(In(0, 5)), 0s, 0s, 0);
  e.dataset.samples = Yes() ? In(1, 60) : In(500, 5000);
  e.loader.batch_size = In(1, std::min<std::int64_t>(5, e.dataset.samples));
  AnyLoader(e);
  e.prepare.kind = Yes() ? spec::PrepareKind::kBurn : spec::PrepareKind::kWait;
  e.prepare.cost = AnyCost(900);
  e.limits.worker_threads = static_cast<int>(In(1, 3));
  if (Yes()) {
    e.storage.kind = spec::StorageKind::kEmulated;
    e.storage.latency = AnyCost(400);
    if (Yes()) e.storage.bandwidth = base::BytesPerSecond{static_cast<double>(In(1, 9)) * 70'000};
    if (Yes()) e.storage.iops_per_s = static_cast<double>(In(1, 9)) * 700;
    if (Yes()) e.storage.queue_depth = static_cast<int>(In(1, 3));
    if (Yes()) AnyCache(e);
  }
  e.device.step_base = AnyCost(700);
  e.device.in_flight = static_cast<int>(In(1, 3));
  e.transfer.overlap = Yes();
  e.transfer.non_blocking = Yes();
  e.training.sync_every = In(0, 3);
  e.run.steps.reset();
  if (Yes()) {
    e.run.epochs = In(1, 40);
  } else {
    e.run.steps = In(1, 4000);
  }
  e.run.seed = static_cast<std::uint64_t>(In(1, 1000));
  any.pipeline = cost::Stated(e);
  AnyMachine(e, any.pipeline);
  return any;
}

}  // namespace pipesim::engine
