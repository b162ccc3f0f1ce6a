// The closed queue in ns-3: closed_queue_ns3 BATCHES prints batches simulated a second.
// 64 workers of 64 ms each, two batches dealt to each and not yet taken, a consumer that takes them
// in order for 1 ms each. Two events a batch, as in pipesim and SimPy; no trace is kept.
#include <ns3/core-module.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

constexpr int kWorkers = 64, kPrefetch = 2, kWindow = kWorkers * kPrefetch;
const ns3::Time kMake = ns3::MilliSeconds(64), kStep = ns3::MilliSeconds(1);

class Queue {
 public:
  explicit Queue(long batches) : batches_(batches) {}
  void Begin() {
    for (long batch = 0; batch < kWindow; ++batch) Deal(batch);
  }

 private:
  void Deal(long batch) {
    Worker& worker = workers_[static_cast<std::size_t>(batch % kWorkers)];
    ++worker.waiting;
    if (!worker.busy) Make(batch);
  }
  void Make(long batch) {
    Worker& worker = workers_[static_cast<std::size_t>(batch % kWorkers)];
    worker.busy = true;
    --worker.waiting;
    ns3::Simulator::Schedule(kMake, &Queue::Made, this, batch);
  }
  void Made(long batch) {
    Worker& worker = workers_[static_cast<std::size_t>(batch % kWorkers)];
    worker.busy = false;
    ready_[static_cast<std::size_t>(batch % kWindow)] = true;
    if (worker.waiting > 0) Make(batch + kWorkers);
    if (!training_) Take();
  }
  void Take() {
    if (next_ == batches_) return ns3::Simulator::Stop();
    const auto place = static_cast<std::size_t>(next_ % kWindow);
    if (!ready_[place]) return;
    ready_[place] = false;
    training_ = true;
    Deal(next_ + kWindow);
    ++next_;
    ns3::Simulator::Schedule(kStep, &Queue::Trained, this);
  }
  void Trained() {
    training_ = false;
    Take();
  }

  struct Worker {
    bool busy = false;
    int waiting = 0;
  };
  long batches_, next_ = 0;
  bool training_ = false;
  std::vector<Worker> workers_{kWorkers};
  std::vector<char> ready_ = std::vector<char>(kWindow);
};

}  // namespace

int main(int, char** argv) {
  const long batches = std::atol(argv[1]);
  Queue queue(batches);
  queue.Begin();
  const std::clock_t begin = std::clock();
  ns3::Simulator::Run();
  std::printf("%g\n", static_cast<double>(batches) * CLOCKS_PER_SEC /
                          static_cast<double>(std::clock() - begin));
  ns3::Simulator::Destroy();
}
