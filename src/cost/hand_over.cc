#include "cost/hand_over.h"

#include "cost/pipeline.h"
#include "cost/profile.h"
#include "cost/rates.h"

namespace pipesim::cost {

using base::Bytes;
using base::Duration;

namespace {

base::Drawn<Duration> Always(Duration time) {
  return {base::Distribution::Fixed(static_cast<double>(time.count()))};
}

Duration StartupOf(const spec::MachineFigures& figures, spec::StartMethod method) {
  switch (method) {
    case spec::StartMethod::kFork:
      return DurationOf(figures.process_startup_fork);
    case spec::StartMethod::kForkserver:
      return DurationOf(figures.process_startup_forkserver);
    case spec::StartMethod::kSpawn:
      return DurationOf(figures.process_startup_spawn);
  }
  return Duration::zero();
}

void SetHandOver(const spec::MachineFigures& figures, const spec::Experiment& experiment,
                 HandOver& hand_over) {
  const spec::Loader& loader = experiment.loader;
  const std::int64_t tensors = experiment.dataset.tensors;
  if (!loader.send)
    hand_over.send = {.batch = Always(DurationOf(figures.process_send_batch) +
                                      tensors * DurationOf(figures.process_send_tensor)),
                      .bandwidth = ValueOf(figures.process_send_bandwidth)};
  if (!loader.receive)
    hand_over.receive = {.batch = Always(DurationOf(figures.process_receive_batch) +
                                         tensors * DurationOf(figures.process_receive_tensor)),
                         .bandwidth = ValueOf(figures.process_receive_bandwidth)};
  hand_over.launch = DurationOf(figures.process_launch);
  if (!loader.worker_startup)
    hand_over.startup = Always(StartupOf(figures, loader.start_method));
  if (!loader.worker_memory && figures.process_memory)
    hand_over.worker_memory = figures.process_memory->value;
}

/// Python calls the data set for each sample, and stacks the samples of each tensor of a batch.
void SetPython(const spec::MachineFigures& figures, const spec::Experiment& experiment,
               Pipeline& pipeline) {
  if (!experiment.loader.python_sample)
    pipeline.prepare.python = DurationOf(figures.python_sample);
  if (experiment.collate.IsStated()) return;
  const std::int64_t tensors = experiment.dataset.tensors;
  pipeline.collate = {.batch = DurationOf(figures.python_collate_batch) +
                               tensors * DurationOf(figures.python_collate_tensor),
                      .sample = tensors * DurationOf(figures.python_collate_sample),
                      .bandwidth = ValueOf(figures.python_collate_bandwidth),
                      .fault_bandwidth = {}};
}

}  // namespace

Duration HandOverEnd::Time(Bytes bytes, Duration batch_time) const {
  return bandwidth ? batch_time + bytes / *bandwidth : batch_time;
}

HandOverEnd HandOverEnd::Scaled(double factor) const {
  HandOverEnd scaled = *this;
  scaled.batch = batch.Scaled(factor);
  Scale(scaled.bandwidth, factor);
  return scaled;
}

HandOver StatedHandOver(const spec::Loader& loader) {
  HandOver hand_over;
  if (loader.worker_startup) hand_over.startup = *loader.worker_startup;
  if (loader.kind != spec::LoaderKind::kProcess) return hand_over;
  hand_over.processes = true;
  if (loader.send) hand_over.send.batch = *loader.send;
  if (loader.receive) hand_over.receive.batch = *loader.receive;
  hand_over.receive_wait = loader.receive_wait;
  if (loader.worker_memory) hand_over.worker_memory = *loader.worker_memory;
  return hand_over;
}

void SetProcesses(const spec::MachineFigures& figures, const spec::Experiment& experiment,
                  Pipeline& pipeline) {
  if (!pipeline.hand_over.processes) return;
  SetHandOver(figures, experiment, pipeline.hand_over);
  SetPython(figures, experiment, pipeline);
  pipeline.machine.worker_startup = {};  // a thread's
}

}  // namespace pipesim::cost
