#include "cost/hand_over.h"

#include <algorithm>

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

/// Varies as much as the figure did: workers with the very same costs would stay in step for ever.
base::Drawn<Duration> Varying(Duration time, Duration stdev) {
  if (stdev <= Duration::zero()) return Always(time);
  return {{.kind = base::DistributionKind::kLognormal,
           .mean = static_cast<double>(time.count()),
           .stdev = static_cast<double>(stdev.count())}};
}

Duration SpreadOf(const spec::MaybeFigure<Duration>& figure) {
  return figure ? base::FromSeconds(base::ToSeconds(figure->value) * figure->spread.value_or(0))
                : Duration::zero();
}

/// What a batch of `tensors` tensors costs at one end.
base::Drawn<Duration> OfTensors(const spec::MaybeFigure<Duration>& batch,
                                const spec::MaybeFigure<Duration>& tensor, std::int64_t tensors) {
  return Varying(DurationOf(batch) + tensors * DurationOf(tensor),
                 SpreadOf(batch) + tensors * SpreadOf(tensor));
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

/// The data set looks its samples up; else `prepare` states the CPU time of making their tensors.
bool LooksUp(const spec::Prepare& prepare) {
  return prepare.kind == spec::PrepareKind::kNone || prepare.kind == spec::PrepareKind::kWait;
}

bool Waits(const spec::Prepare& prepare) {
  return prepare.kind == spec::PrepareKind::kWait || !prepare.wait.IsZero();
}

/// Times that the thread of a worker that serves memory waits for the trainer, and then for the lock, to
/// hand over one tensor: a connection and four messages (multiprocessing/connection.py, deliver_challenge
/// and answer_challenge; resource_sharer.py).
constexpr int kLocksOfTensor = 5;

/// Both ends of the usual hand-over, as many times as long as with two workers.
spec::HandOverOf Times(const HandOver& usual, double worker, double trainer, int workers) {
  const auto mean = [](const base::Drawn<Duration>& time) { return base::ToSeconds(time.Mean()); };
  const double serve_s = mean(usual.serve.batch);
  const double taken_s = mean(usual.receive.batch) + mean(usual.receive_latency);
  // Serving is a part of both.
  const double taking = taken_s > 0 ? std::max(0.0, trainer * (serve_s + taken_s) - worker * serve_s) / taken_s : 1;
  return {.workers = workers,
          .share = base::FromSeconds(worker * mean(usual.share.batch)),
          .send = base::FromSeconds(worker * mean(usual.send.batch)),
          .serve = base::FromSeconds(worker * serve_s),
          .receive = base::FromSeconds(taking * mean(usual.receive.batch)),
          .receive_latency = base::FromSeconds(taking * mean(usual.receive_latency))};
}

/// Who states a part of it has measured with the workers that there are.
bool StatesHandOver(const spec::Loader& loader) {
  return loader.share || loader.send || loader.serve || loader.receive || loader.receive_latency;
}

void SetOtherNumbers(const spec::MachineFigures& figures, HandOver& hand_over) {
  if (figures.process_worker_of_one && figures.process_trainer_of_one)
    hand_over.of_one = Times(hand_over, figures.process_worker_of_one->value, figures.process_trainer_of_one->value, 1);
  const auto &worker = figures.process_worker_of_many, &trainer = figures.process_trainer_of_many;
  const int many = static_cast<int>(ValueOf(figures.process_many_workers).value_or(0));
  if (many > spec::kUsualWorkers && worker && trainer)
    hand_over.of_many = Times(hand_over, worker->value, trainer->value, many);
}

void SetHandOver(const spec::MachineFigures& figures, const spec::Experiment& experiment,
                 HandOver& hand_over) {
  const spec::Loader& loader = experiment.loader;
  const std::int64_t tensors = experiment.dataset.tensors;
  // Who states what sending takes has measured all of it.
  if (!loader.share && !loader.send)
    hand_over.share = {.batch = OfTensors(figures.process_share_batch,
                                          figures.process_share_tensor, tensors),
                       .bandwidth = ValueOf(figures.process_share_bandwidth)};
  if (!loader.send)
    hand_over.send = {.batch = OfTensors(figures.process_send_batch,
                                         figures.process_send_tensor, tensors),
                      .bandwidth = ValueOf(figures.process_send_bandwidth)};
  // Who states what sending or receiving takes without these has measured them with it.
  if (!loader.serve && !loader.send)
    hand_over.serve = {.batch = OfTensors(figures.process_serve_batch,
                                          figures.process_serve_tensor, tensors),
                       .bandwidth = {}};
  if (!loader.receive_latency && !loader.receive)
    hand_over.receive_latency =
        OfTensors(figures.process_latency_batch, figures.process_latency_tensor, tensors);
  if (!loader.receive)
    hand_over.receive = {.batch = OfTensors(figures.process_receive_batch,
                                            figures.process_receive_tensor, tensors),
                         .bandwidth = ValueOf(figures.process_receive_bandwidth)};
  if (!StatesHandOver(loader)) SetOtherNumbers(figures, hand_over);
  if (!loader.receive_wait && LooksUp(experiment.prepare))
    hand_over.receive_wait = Always(kLocksOfTensor * tensors * DurationOf(figures.process_lock_wait));
  if (!loader.worker_launch) hand_over.launch = DurationOf(figures.process_launch);
  if (!loader.worker_startup)
    hand_over.startup = Always(StartupOf(figures, loader.start_method));
  if (!loader.worker_memory && figures.process_memory)
    hand_over.worker_memory = figures.process_memory->value;
}

/// Python calls the data set for each sample, which makes its tensors or waits, and stacks the samples of each
/// tensor of a batch.
void SetPython(const spec::MachineFigures& figures, const spec::Experiment& experiment,
               Pipeline& pipeline) {
  const std::int64_t tensors = experiment.dataset.tensors;
  const bool looks_up = LooksUp(experiment.prepare);
  if (!experiment.loader.python_sample) {
    const std::int64_t made = looks_up ? tensors - experiment.dataset.numbers : 0;
    pipeline.prepare.python =
        DurationOf(figures.python_sample) + made * DurationOf(figures.python_tensor);
    if (Waits(experiment.prepare)) {
      pipeline.prepare.python += DurationOf(figures.python_wait_cpu);
      pipeline.prepare.late = DurationOf(figures.python_wait);
    }
  }
  if (experiment.collate.IsStated()) return;
  pipeline.collate = {.batch = DurationOf(figures.python_collate_batch) +
                               tensors * DurationOf(figures.python_collate_tensor),
                      .sample = tensors * DurationOf(figures.python_collate_sample),
                      .bandwidth = ValueOf(figures.python_collate_bandwidth),
                      .fault_bandwidth = {}};
  // A data set that makes its samples leaves their memory to the batch.
  if (looks_up) pipeline.collate.own_fault_bandwidth = ValueOf(figures.python_fault_bandwidth);
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

namespace {
/// The share `way` of the way from `usual` to `other`; drawn as the usual one.
base::Drawn<Duration> Between(const base::Drawn<Duration>& usual, Duration other, double way) {
  const double from_s = base::ToSeconds(usual.Mean());
  const double mean_s = from_s + way * (base::ToSeconds(other) - from_s);
  return from_s > 0 ? usual.Scaled(mean_s / from_s) : Always(base::FromSeconds(mean_s));
}
}  // namespace

HandOver HandOver::With(int workers) const {
  const spec::HandOverOf& other = workers < spec::kUsualWorkers ? of_one : of_many;
  if (other.workers == 0 || workers == spec::kUsualWorkers) return *this;
  const double way = std::min(1.0, static_cast<double>(workers - spec::kUsualWorkers) /
                                       (other.workers - spec::kUsualWorkers));
  HandOver with = *this;
  with.share.batch = Between(share.batch, other.share, way);
  with.send.batch = Between(send.batch, other.send, way);
  with.serve.batch = Between(serve.batch, other.serve, way);
  with.receive.batch = Between(receive.batch, other.receive, way);
  with.receive_latency = Between(receive_latency, other.receive_latency, way);
  with.of_one = with.of_many = {};
  return with;
}

void HandOver::ScaleSending(double factor) {
  share = share.Scaled(factor);
  send = send.Scaled(factor);
  for (spec::HandOverOf* of : {&of_one, &of_many}) {
    Scale(of->share, factor);
    Scale(of->send, factor);
  }
}

void HandOver::ScaleReceiving(double factor) {
  serve = serve.Scaled(factor);
  receive = receive.Scaled(factor);
  receive_latency = receive_latency.Scaled(factor);
  receive_wait = receive_wait.Scaled(factor);
  for (spec::HandOverOf* of : {&of_one, &of_many}) {
    Scale(of->serve, factor);
    Scale(of->receive, factor);
    Scale(of->receive_latency, factor);
  }
}

HandOver StatedHandOver(const spec::Loader& loader) {
  HandOver hand_over;
  if (loader.worker_startup) hand_over.startup = *loader.worker_startup;
  if (loader.kind != spec::LoaderKind::kProcess) return hand_over;
  hand_over.processes = true;
  if (loader.worker_launch) hand_over.launch = *loader.worker_launch;
  if (loader.share) hand_over.share.batch = *loader.share;
  if (loader.send) hand_over.send.batch = *loader.send;
  if (loader.receive) hand_over.receive.batch = *loader.receive;
  if (loader.serve) hand_over.serve.batch = *loader.serve;
  if (loader.receive_latency) hand_over.receive_latency = *loader.receive_latency;
  if (loader.receive_wait) hand_over.receive_wait = *loader.receive_wait;
  if (loader.worker_memory) hand_over.worker_memory = *loader.worker_memory;
  hand_over.of_one = loader.of_one;
  hand_over.of_many = loader.of_many;
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
