#include "engine/threaded/batch_queue.h"

#include <oneapi/tbb/concurrent_queue.h>
#include <semaphore.h>

#include <algorithm>
#include <atomic>
#include <boost/lockfree/queue.hpp>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>

namespace pipesim::engine::threaded {
namespace {

class TbbQueue final : public BatchQueue {
 public:
  explicit TbbQueue(std::int64_t capacity) : capacity_(capacity) { queue_.set_capacity(capacity); }

  bool TryPush(int slot) override { return queue_.try_push(slot); }
  bool Push(int slot) override {
    if (aborted_.load()) return false;
    try {
      queue_.push(slot);
      return true;
    } catch (const tbb::user_abort&) {
      return false;
    }
  }
  bool TryPop(int& slot) override { return queue_.try_pop(slot); }
  bool Pop(int& slot) override {
    if (aborted_.load()) return false;
    try {
      queue_.pop(slot);
      return true;
    } catch (const tbb::user_abort&) {
      return false;
    }
  }
  void Abort() override {
    aborted_.store(true);
    queue_.abort();
  }
  std::int64_t size() const override {
    // size() of oneTBB includes waiting threads: +1 for each that pushes, -1 for one that pops.
    return std::clamp<std::int64_t>(queue_.size(), 0, capacity_);
  }

 private:
  std::int64_t capacity_;
  std::atomic<bool> aborted_{false};
  tbb::concurrent_bounded_queue<int> queue_;
};

// A POSIX semaphore: std::counting_semaphore of libstdc++ 12 can hang.
class Semaphore {
 public:
  explicit Semaphore(std::int64_t count) {
    if (count > SEM_VALUE_MAX || sem_init(&semaphore_, 0, static_cast<unsigned>(count)) != 0) {
      throw std::runtime_error("the queue's capacity is more than a semaphore can count");
    }
  }
  ~Semaphore() { sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  void Post() { sem_post(&semaphore_); }
  bool TryWait() {
    while (sem_trywait(&semaphore_) != 0) {
      if (errno != EINTR) return false;
    }
    return true;
  }
  void Wait() {
    while (sem_wait(&semaphore_) != 0 && errno == EINTR) {
    }
  }
  std::int64_t value() const {
    int value = 0;
    sem_getvalue(&semaphore_, &value);
    return value;
  }

 private:
  mutable sem_t semaphore_{};
};

class LockfreeQueue final : public BatchQueue {
 public:
  explicit LockfreeQueue(std::int64_t capacity)
      : capacity_(capacity), room_(capacity), items_(0), queue_(kPreallocated) {}

  bool TryPush(int slot) override {
    if (!room_.TryWait()) return false;
    Append(slot);
    return true;
  }
  bool Push(int slot) override {
    if (!WaitFor(room_)) return false;
    Append(slot);
    return true;
  }
  bool TryPop(int& slot) override {
    if (!items_.TryWait()) return false;
    if (Remove(slot)) return true;
    items_.Post();  // pass on Abort's post
    return false;
  }
  bool Pop(int& slot) override {
    return WaitFor(items_) && Remove(slot);
  }
  void Abort() override {
    aborted_.store(true);
    room_.Post();
    items_.Post();
  }
  std::int64_t size() const override { return std::min(items_.value(), capacity_); }

 private:
  static constexpr std::size_t kPreallocated = 64;  // nodes; more are made when first needed

  // One post by Abort releases all waits: each thread that wakes passes it on.
  bool WaitFor(Semaphore& semaphore) {
    if (aborted_.load()) return false;
    semaphore.Wait();
    if (!aborted_.load()) return true;
    semaphore.Post();
    return false;
  }
  void Append(int slot) {
    queue_.push(slot);
    items_.Post();
  }
  // A counted item is in the queue, since it is counted after its push; only the post of Abort
  // comes without an item.
  bool Remove(int& slot) {
    if (!queue_.pop(slot)) return false;
    room_.Post();
    return true;
  }

  std::int64_t capacity_;
  std::atomic<bool> aborted_{false};
  Semaphore room_, items_;
  boost::lockfree::queue<int> queue_;
};

class MutexQueue final : public BatchQueue {
 public:
  explicit MutexQueue(std::int64_t capacity) : capacity_(static_cast<std::size_t>(capacity)) {}

  bool TryPush(int slot) override {
    {
      const std::lock_guard lock(mutex_);
      if (slots_.size() >= capacity_) return false;
      slots_.push_back(slot);
    }
    arrived_.notify_one();
    return true;
  }
  bool Push(int slot) override {
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return aborted_ || slots_.size() < capacity_; });
      if (aborted_) return false;
      slots_.push_back(slot);
    }
    arrived_.notify_one();
    return true;
  }
  bool TryPop(int& slot) override {
    {
      const std::lock_guard lock(mutex_);
      if (slots_.empty()) return false;
      Take(slot);
    }
    room_.notify_one();
    return true;
  }
  bool Pop(int& slot) override {
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [&] { return aborted_ || !slots_.empty(); });
      if (aborted_) return false;
      Take(slot);
    }
    room_.notify_one();
    return true;
  }
  void Abort() override {
    {
      const std::lock_guard lock(mutex_);
      aborted_ = true;
    }
    arrived_.notify_all();
    room_.notify_all();
  }
  std::int64_t size() const override {
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(slots_.size());
  }

 private:
  void Take(int& slot) {
    slot = slots_.front();
    slots_.pop_front();
  }

  std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_, room_;
  std::deque<int> slots_;
  bool aborted_ = false;
};

}  // namespace

std::unique_ptr<BatchQueue> MakeBatchQueue(spec::QueueKind kind, std::int64_t capacity) {
  switch (kind) {
    case spec::QueueKind::kTbb:
      return std::make_unique<TbbQueue>(capacity);
    case spec::QueueKind::kLockfree:
      return std::make_unique<LockfreeQueue>(capacity);
    case spec::QueueKind::kMutex:
      return std::make_unique<MutexQueue>(capacity);
  }
  throw std::invalid_argument("no such queue");
}

}  // namespace pipesim::engine::threaded
