#include "engine/threaded/worker_threads.h"

#include <chrono>

#include "engine/threaded/worker.h"

namespace pipesim::engine::threaded {

WorkerThreads::WorkerThreads(std::shared_ptr<RunState> run) {
  EndingOnFailure(*run, "starting the workers", [&] {
    const int workers = run->experiment.loader.workers;
    for (int worker = 0; worker < workers; ++worker) Start(run, worker);
    if (run->pin && workers > 0) Start(run, kPinThread);
  });
}

void WorkerThreads::Start(const std::shared_ptr<RunState>& run, int worker) {
  auto post = std::make_shared<Post>();
  post->run = run;
  posts_.push_back(post);
  threads_.reserve(posts_.size());
  threads_.emplace_back([post, worker] { Work(post, worker); });
}

WorkerThreads::~WorkerThreads() {
  // Join was not called because of an exception: the threads must not run on destroyed state.
  if (!threads_.empty()) {
    posts_.front()->run->Abort();
    Join(base::Duration::zero());
  }
}

void WorkerThreads::Work(const std::shared_ptr<Post>& post, int worker) {
  try {
    if (worker == kPinThread) {
      RunPinThread(*post->run);
    } else {
      RunWorker(*post->run, worker, post->guard);
    }
  } catch (const LeftBehind&) {
    return;
  }
  const std::lock_guard lock(post->mutex);
  post->left = true;
  post->changed.notify_all();
}

std::vector<int> WorkerThreads::Join(base::Duration grace) {
  std::vector<int> left_behind;
  const auto deadline = std::chrono::steady_clock::now() + grace;
  for (std::size_t worker = 0; worker < threads_.size(); ++worker) {
    Post& post = *posts_[worker];
    bool abandoned = false;
    {
      std::unique_lock lock(post.mutex);
      // Abort releases every wait outside a call, so the thread leaves, but it may first enter
      // one more call.
      auto until = deadline;
      while (!post.changed.wait_until(lock, until, [&] { return post.left; })) {
        abandoned = post.guard.Abandon();
        if (abandoned) break;
        until = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
      }
    }
    if (abandoned) {
      left_behind.push_back(static_cast<int>(worker));
      threads_[worker].detach();
    } else {
      threads_[worker].join();
    }
  }
  threads_.clear();
  posts_.clear();
  return left_behind;
}

}  // namespace pipesim::engine::threaded
