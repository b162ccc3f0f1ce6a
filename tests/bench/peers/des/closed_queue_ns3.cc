// The sweep of closed queues in ns-3, as closed_queue.py: two events a batch, no trace is kept.
#include <ns3/core-module.h>

#include <vector>

#include "closed_queue.h"

namespace {

class Queue {
 public:
  Queue(long batches, closed_queue::Costs& costs, int workers, int prefetch)
      : batches_(batches),
        costs_(costs),
        window_(static_cast<long>(workers) * prefetch),
        workers_(static_cast<std::size_t>(workers)),
        ready_(static_cast<std::size_t>(window_)) {}

  double BatchesPerSecond() {
    for (long batch = 0; batch < window_; ++batch) Deal(batch);
    ns3::Simulator::Run();
    const double took_s = (ns3::Simulator::Now() - begun_).GetSeconds();
    ns3::Simulator::Destroy();
    return static_cast<double>(batches_ - batches_ / 10) / took_s;
  }

 private:
  struct Worker {
    bool busy = false;
    int waiting = 0;
  };

  Worker& WorkerOf(long batch) {
    return workers_[static_cast<std::size_t>(batch) % workers_.size()];
  }
  void Deal(long batch) {
    Worker& worker = WorkerOf(batch);
    ++worker.waiting;
    if (!worker.busy) Make(batch);
  }
  void Make(long batch) {
    Worker& worker = WorkerOf(batch);
    worker.busy = true;
    --worker.waiting;
    ns3::Simulator::Schedule(ns3::Seconds(costs_.Make_s()), &Queue::Made, this, batch);
  }
  void Made(long batch) {
    Worker& worker = WorkerOf(batch);
    worker.busy = false;
    ready_[static_cast<std::size_t>(batch % window_)] = true;
    if (worker.waiting > 0) Make(batch + static_cast<long>(workers_.size()));
    if (!training_) Take();
  }
  void Take() {
    if (next_ == batches_) return ns3::Simulator::Stop();
    const auto place = static_cast<std::size_t>(next_ % window_);
    if (!ready_[place]) return;
    ready_[place] = false;
    training_ = true;
    Deal(next_ + window_);
    ++next_;
    ns3::Simulator::Schedule(ns3::Seconds(closed_queue::kStep_s), &Queue::Trained, this);
  }
  void Trained() {
    training_ = false;
    if (next_ == batches_ / 10) begun_ = ns3::Simulator::Now();
    Take();
  }

  long batches_;
  closed_queue::Costs& costs_;
  long window_, next_ = 0;
  bool training_ = false;
  ns3::Time begun_;
  std::vector<Worker> workers_;
  std::vector<char> ready_;
};

}  // namespace

int main(int, char** argv) {
  closed_queue::Sweep(argv, [](long batches, closed_queue::Costs& costs, int workers, int prefetch) {
    return Queue(batches, costs, workers, prefetch).BatchesPerSecond();
  });
}
