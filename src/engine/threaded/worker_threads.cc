#include "engine/threaded/worker_threads.h"

#include <chrono>
#include <utility>

#include "engine/threaded/worker.h"

namespace pipesim::engine::threaded {

WorkerThreads::WorkerThreads(std::shared_ptr<RunState> run) : run_(std::move(run)) {
  EndingOnFailure(*run_, "starting the workers", [&] {
    StartUpTo(run_->experiment.loader.workers);
    if (run_->pin && workers_ > 0) Start(kPinThread);
  });
}

void WorkerThreads::StartUpTo(int workers) {
  for (; workers_ < workers; ++workers_) Start(workers_);
}

void WorkerThreads::Start(int worker) {
  auto post = std::make_shared<Post>();
  post->run = run_;
  post->worker = worker;
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
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    Post& post = *posts_[i];
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
      left_behind.push_back(post.worker);
      threads_[i].detach();
    } else {
      threads_[i].join();
    }
  }
  threads_.clear();
  posts_.clear();
  return left_behind;
}

}  // namespace pipesim::engine::threaded
