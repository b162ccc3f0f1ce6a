// Failures and external stops: the run always ends.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <random>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

spec::Experiment WithWorkers(int workers, spec::Experiment experiment = FromSource(Small())) {
  experiment.loader.workers = workers;
  experiment.loader.shuffle = false;
  return experiment;
}

TEST(Faults, AWorkerThatThrowsEndsTheRunWithItsName) {
  const NumberedSource source(24, [](std::int64_t sample) {
    if (sample == 13) throw std::runtime_error("the lens is dirty");
  });
  RecordingTrainer trainer;
  const auto trace = RunWith(WithWorkers(2), trainer, &source);
  EXPECT_EQ(trace.end_reason, EndReason::kFailed);
  EXPECT_EQ(trace.failure, "worker 1: the lens is dirty");  // batch 3, worker 3 mod 2
  EXPECT_EQ(trace.steps, static_cast<std::int64_t>(trainer.seen.size()));
}

TEST(Faults, AWorkerThatThrowsANonExceptionEndsTheRunToo) {
  for (const int workers : {0, 2}) {
    const NumberedSource source(24, [](std::int64_t sample) {
      if (sample == 13) throw 13;
    });
    RecordingTrainer trainer;
    const auto trace = RunWith(WithWorkers(workers), trainer, &source);
    EXPECT_EQ(trace.end_reason, EndReason::kFailed);
    EXPECT_THAT(trace.failure, HasSubstr("an exception of unknown kind"));
  }
}

TEST(Faults, AFailedThreadCreationEndsTheRunWithAMessage) {
  // In a process that may have no thread beside its first: the limit does not hold for root.
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{1, 1};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(65534) != 0)) _exit(77);
    RecordingTrainer trainer;
    const auto trace = RunWith(WithWorkers(2, Small()), trainer);
    _exit(trace.end_reason == EndReason::kFailed &&
                  trace.failure.find("starting the run's threads") != std::string::npos
              ? 0
              : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this process may not give up its rights";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Faults, ABadSampleIsSkippedCountedAndNamed) {
  for (const int workers : {0, 2}) {
    const NumberedSource source(24, [](std::int64_t sample) {
      if (sample == 5 || sample == 6) throw BadSample("cat5.jpg", "truncated");
    });
    auto experiment = WithWorkers(workers);
    experiment.storage.on_bad_file = spec::OnBadFile::kSkip;
    RecordingTrainer trainer;
    const auto trace = RunWith(experiment, trainer, &source);
    EXPECT_EQ(trace.end_reason, EndReason::kEpochs);
    EXPECT_EQ(trace.bad_sample_count, 2);
    ASSERT_EQ(trace.bad_samples.size(), 2u);
    EXPECT_EQ(trace.bad_samples[0].item, "cat5.jpg");
    EXPECT_EQ(trace.bad_samples[0].reason, "truncated");
    EXPECT_EQ(trace.samples, 22);
    EXPECT_EQ(trainer.seen[1].labels, (std::vector<std::int64_t>{4, 7}));
  }
}

TEST(Faults, ABatchOfOnlyBadSamplesIsNotTrainedOn) {
  const NumberedSource source(24, [](std::int64_t sample) {
    if (sample >= 4 && sample < 8) throw BadSample("x.jpg", "foreign");
  });
  auto experiment = WithWorkers(2);
  experiment.storage.on_bad_file = spec::OnBadFile::kSkip;
  RecordingTrainer trainer;
  const auto trace = RunWith(experiment, trainer, &source);
  EXPECT_EQ(trace.end_reason, EndReason::kEpochs);
  EXPECT_EQ(trace.steps, 5);
  EXPECT_EQ(trainer.seen[1].index, 2);
}

TEST(Faults, ADataSetOfOnlyBadSamplesFails) {
  const NumberedSource source(24, [](std::int64_t) { throw BadSample("x.jpg", "foreign"); });
  auto experiment = WithWorkers(2);
  experiment.storage.on_bad_file = spec::OnBadFile::kSkip;
  experiment.run.epochs.reset();
  experiment.run.steps = 10;
  RecordingTrainer trainer;
  const auto trace = RunWith(experiment, trainer, &source);
  EXPECT_EQ(trace.end_reason, EndReason::kFailed);
  EXPECT_EQ(trace.failure, "a whole epoch had no usable sample");
}

TEST(Faults, AFatalBadSampleNamesTheFile) {
  for (const int workers : {0, 2}) {
    const NumberedSource source(24, [](std::int64_t sample) {
      if (sample == 5) throw BadSample("cat5.jpg", "truncated");
    });
    RecordingTrainer trainer;
    const auto trace = RunWith(WithWorkers(workers), trainer, &source);
    EXPECT_EQ(trace.end_reason, EndReason::kFailed);
    EXPECT_EQ(trace.failure,
              workers == 0 ? "loading: cat5.jpg: truncated" : "worker 1: cat5.jpg: truncated");
  }
}

TEST(Faults, ATimeoutNamesTheMissingBatchAndItsWorker) {
  for (const auto queue :
       {spec::QueueKind::kTbb, spec::QueueKind::kLockfree, spec::QueueKind::kMutex}) {
    std::atomic<bool> go_on{false};
    const NumberedSource source(24, [&](std::int64_t sample) {
      while (sample == 8 && !go_on) std::this_thread::sleep_for(1ms);
    });
    auto experiment = WithWorkers(2);
    experiment.loader.queue = queue;
    experiment.loader.timeout = 100ms;
    RecordingTrainer trainer;
    RunControl control;
    // Let the worker go as soon as the timeout has struck, so that it can leave.
    std::jthread release([&] {
      std::this_thread::sleep_for(400ms);
      go_on = true;
    });
    const auto trace = RunWith(experiment, trainer, &source, control);
    EXPECT_EQ(trace.end_reason, EndReason::kFailed);
    EXPECT_THAT(trace.failure, AllOf(HasSubstr("loader.timeout (0.1 s)"),
                                     HasSubstr("batch 2 of epoch 0 is missing, worker 0 has it")));
    EXPECT_EQ(trace.steps, 2);
  }
}

TEST(Faults, AWorkerThatHangsInAReadIsAbandoned) {
  // Outlives the run, as the hanging call does.
  struct Hang {
    std::atomic<bool> go_on{false}, came_back{false};
  };
  const auto hang = std::make_shared<Hang>();
  const NumberedSource source(24, [hang](std::int64_t sample) {
    if (sample != 8) return;
    while (!hang->go_on) std::this_thread::sleep_for(1ms);
    hang->came_back = true;
  });
  auto experiment = WithWorkers(2);
  experiment.loader.timeout = 100ms;
  RecordingTrainer trainer;
  const auto trace = RunWith(experiment, trainer, &source);
  EXPECT_EQ(trace.end_reason, EndReason::kFailed);
  EXPECT_THAT(trace.failure, AllOf(HasSubstr("batch 2 of epoch 0 is missing"),
                                   HasSubstr("worker 0 hangs in a read and was left behind")));
  hang->go_on = true;
  while (!hang->came_back) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);  // it leaves without touching what is gone
}

TEST(Faults, OutOfMemoryHasItsOwnEndReason) {
  struct NoMemory final : BatchMemory {
    std::byte* Allocate(Bytes) override { throw std::bad_alloc(); }
    void Free(std::byte*, Bytes) noexcept override {}
    bool pinned() const override { return false; }
  } memory;
  const base::SystemClock clock;
  for (const int workers : {0, 2}) {
    RecordingTrainer trainer;
    const auto executor =
        MakeThreadedExecutor({.clock = &clock, .trainer = &trainer, .memory = &memory});
    const spec::Experiment experiment = WithWorkers(workers, Small());
    const auto trace = executor->Run(experiment, cost::Stated(experiment), {});
    EXPECT_EQ(trace.end_reason, EndReason::kOutOfMemory);
    EXPECT_THAT(trace.failure, HasSubstr("not enough memory for a batch of 4 samples (32 bytes)"));
  }
}

TEST(Faults, ATrainerThatFailsEndsTheRunWithItsMessage) {
  RecordingTrainer out_of_memory([](std::int64_t step) {
    if (step == 3) throw OutOfMemory("asked for 1 GiB, 10 MiB were free");
  });
  const auto first = RunWith(WithWorkers(2, Small()), out_of_memory);
  EXPECT_EQ(first.end_reason, EndReason::kOutOfMemory);
  EXPECT_EQ(first.failure, "training: asked for 1 GiB, 10 MiB were free");
  EXPECT_EQ(first.steps, 3);
  RecordingTrainer broken([](std::int64_t) { throw std::runtime_error("fell off the bus"); });
  const auto second = RunWith(WithWorkers(2, Small()), broken);
  EXPECT_EQ(second.end_reason, EndReason::kFailed);
  EXPECT_EQ(second.failure, "training: fell off the bus");
}

TEST(Ends, EnoughEndsItWithItsReason) {
  auto experiment = WithWorkers(2, Small());
  experiment.run.epochs.reset();
  experiment.device.step_base = Fixed(1ms);
  RunControl control;
  control.enough = [](const trace::RunTrace& trace, Instant) -> std::optional<EndReason> {
    if (trace.steps >= 20) return EndReason::kDuration;
    return std::nullopt;
  };
  const auto trace = RunEmulated(experiment, control);
  EXPECT_EQ(trace.end_reason, EndReason::kDuration);
  EXPECT_GE(trace.steps, 20);
}

TEST(Ends, ProgressIsReportedWhileItRuns) {
  auto experiment = WithWorkers(2, Small());
  experiment.run.epochs.reset();
  experiment.run.steps = 600;
  experiment.device.step_base = Fixed(1ms);
  std::vector<Progress> heard;
  RunControl control;
  control.on_progress = [&](const Progress& progress) { heard.push_back(progress); };
  RunEmulated(experiment, control);
  ASSERT_GE(heard.size(), 2u);
  EXPECT_GT(heard.back().steps, heard.front().steps);
  EXPECT_GT(heard.back().samples_per_s, 0);
  EXPECT_EQ(heard.back().capacity, 4);
  ASSERT_TRUE(heard.back().device_busy);
  EXPECT_GT(*heard.back().device_busy, 0);
}

TEST(Ends, ACallbackThatThrowsFailsTheRun) {
  auto experiment = WithWorkers(2, Small());
  experiment.run.epochs.reset();
  RunControl control;
  control.enough = [](const trace::RunTrace&, Instant) -> std::optional<EndReason> {
    throw std::runtime_error("no idea");
  };
  const auto trace = RunEmulated(experiment, control);
  EXPECT_EQ(trace.end_reason, EndReason::kFailed);
  EXPECT_THAT(trace.failure, HasSubstr("no idea"));
}

TEST(Ends, AStopAtAnyMomentDrainsAndKeepsTheMeasurement) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    auto experiment = WithWorkers(round % 4, Small());
    experiment.run.epochs.reset();
    experiment.loader.queue = static_cast<spec::QueueKind>(round % 3);
    experiment.loader.in_order = round % 2 == 0;
    experiment.loader.dispatch = static_cast<spec::Dispatch>(round / 2 % 2);
    experiment.loader.queue_capacity = 1 + round % 2;
    experiment.prepare = {.kind = static_cast<spec::PrepareKind>(round % 3), .cost = Fixed(200us)};
    experiment.device.step_base = Fixed(std::chrono::microseconds(100 * (round % 5)));
    base::StopFlag stop;
    RunControl control;
    control.stop = &stop;
    const auto after = std::chrono::microseconds(random() % 60'000);
    std::jthread interrupter([&] {
      std::this_thread::sleep_for(after);
      stop.Set();
    });
    const auto trace = RunEmulated(experiment, control);
    EXPECT_EQ(trace.end_reason, EndReason::kInterrupted);
    EXPECT_EQ(trace.failure, "");
    EXPECT_EQ(trace.samples, trace.steps * 4);
    EXPECT_EQ(trace.series[static_cast<std::size_t>(trace::Series::kOccupancy)].seen, trace.steps);
  }
}

TEST(Ends, ALongStepIsFinishedWhenTheRunEndsAsPlanned) {
  auto experiment = WithWorkers(1, Small());
  experiment.run.epochs.reset();
  experiment.run.steps = 2;
  experiment.device.step_base = Fixed(150ms);
  const auto trace = RunEmulated(experiment);
  EXPECT_EQ(trace.end_reason, EndReason::kSteps);
  EXPECT_EQ(TotalIn(trace, Role::kDevice, State::kBusy), 300ms);
}

RC_GTEST_PROP(Faults, WhateverFailsTheRunEndsAndTellsWho, ()) {
  auto experiment = WithWorkers(*rc::gen::inRange(0, 5));
  experiment.loader.prefetch_factor = *rc::gen::inRange(1, 3);
  experiment.loader.queue_capacity = *rc::gen::inRange<std::int64_t>(1, 4);
  experiment.loader.in_order = *rc::gen::arbitrary<bool>();
  experiment.loader.dispatch =
      *rc::gen::element(spec::Dispatch::kRoundRobin, spec::Dispatch::kShared);
  experiment.loader.queue =
      *rc::gen::element(spec::QueueKind::kTbb, spec::QueueKind::kLockfree, spec::QueueKind::kMutex);
  const auto bad = *rc::gen::inRange<std::int64_t>(0, 24);
  const NumberedSource source(24, [&](std::int64_t sample) {
    if (sample == bad) throw std::runtime_error("broken");
  });
  RecordingTrainer trainer;
  const auto trace = RunWith(experiment, trainer, &source);
  RC_ASSERT(trace.end_reason == EndReason::kFailed);
  RC_ASSERT(trace.failure.ends_with(": broken"));
  RC_ASSERT(trace.steps == static_cast<std::int64_t>(trainer.seen.size()));
}

}  // namespace
}  // namespace pipesim::engine
