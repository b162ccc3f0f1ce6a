// The sweep of closed queues in SimGrid, as closed_queue.py: an actor a worker, two sleeps a batch, no
// trace is kept. An engine cannot be made twice in a process, so each point is a child of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <simgrid/s4u.hpp>
#include <vector>

#include "closed_queue.h"

namespace {

namespace sg4 = simgrid::s4u;

double BatchesPerSecond(long batches, closed_queue::Costs& costs, int workers, int prefetch) {
  int argc = 1;
  char name[] = "closed_queue", quiet[] = "--log=root.thres:critical";
  char* words[] = {name, quiet, nullptr};
  argc = 2;
  sg4::Engine engine(&argc, words);
  sg4::NetZone* zone = sg4::create_full_zone("zone");
  sg4::Host* host = zone->create_host("host", 1e9);
  zone->seal();
  std::vector<sg4::SemaphorePtr> dealt, made;
  for (int worker = 0; worker < workers; ++worker) {
    dealt.push_back(sg4::Semaphore::create(static_cast<unsigned>(prefetch)));
    made.push_back(sg4::Semaphore::create(0));
    const auto at = static_cast<std::size_t>(worker);
    sg4::Actor::create("worker", host, [&, at] {
      for (;;) {
        dealt[at]->acquire();
        sg4::this_actor::sleep_for(costs.Make_s());
        made[at]->release();
      }
    })->daemonize();
  }
  double begun_s = 0, ended_s = 0;
  sg4::Actor::create("consumer", host, [&] {
    for (long batch = 0; batch < batches; ++batch) {
      const auto at = static_cast<std::size_t>(batch % workers);
      made[at]->acquire();
      dealt[at]->release();
      sg4::this_actor::sleep_for(closed_queue::kStep_s);
      if (batch + 1 == batches / 10) begun_s = sg4::Engine::get_clock();
    }
    ended_s = sg4::Engine::get_clock();
  });
  engine.run();
  return static_cast<double>(batches - batches / 10) / (ended_s - begun_s);
}

}  // namespace

int main(int, char** argv) {
  closed_queue::Sweep(argv, [](long batches, closed_queue::Costs& costs, int workers, int prefetch) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t child = fork();
    if (child == 0) {
      const double rate = BatchesPerSecond(batches, costs, workers, prefetch);
      _exit(write(ends[1], &rate, sizeof rate) == sizeof rate ? 0 : 1);
    }
    double rate = 0;
    const bool read_whole = read(ends[0], &rate, sizeof rate) == sizeof rate;
    close(ends[0]);
    close(ends[1]);
    waitpid(child, nullptr, 0);
    return read_whole ? rate : 0;
  });
}
