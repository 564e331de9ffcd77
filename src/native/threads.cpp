#include "threads.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ems {

static int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static uint64_t thread_number() {
  static std::atomic<uint64_t> next{0};
  thread_local const uint64_t mine = ++next;
  return mine;
}

// A waiting caller looks up this often to see whether it is to stop.
constexpr auto kPatience = std::chrono::milliseconds(50);
constexpr int64_t kPollNs = std::chrono::nanoseconds(kPatience).count();

Interrupt::Interrupt(std::function<bool()> ask)
    : ask_(std::move(ask)), next_ns_(now_ns() + kPollNs), caller_(thread_number()) {}

bool Interrupt::poll() {
  if (thread_number() == caller_ && !stopped() && now_ns() >= next_ns_) {
    if (ask_()) stopped_.store(true, std::memory_order_relaxed);
    next_ns_ = now_ns() + kPollNs;
  }
  return stopped();
}

namespace {

struct Job {
  const std::function<void(int)>* body;
  int next_worker;  // number of the next worker to join, less than threads
  int threads;      // as many as may be at work in the process for a worker to join
  std::atomic<int> running{0};
  std::exception_ptr error{};
};

// A thread looks for so long for what it waits for before it sleeps: to be woken takes longer
// than a pass over few rows, and between the passes of a fit there is less.
constexpr int64_t kLookNs = 60'000;

template <class Condition>
void look_out(const Condition& there) {
  const int64_t end = now_ns() + kLookNs;
  while (!there() && now_ns() < end) std::this_thread::yield();
}

// Threads that sleep until a job wants them. A child made by fork() has none of its parent's
// threads, so it starts a pool of its own; pools are never destroyed, so that no thread
// outlives what it waits on.
class Pool {
 public:
  static Pool& of_this_process() {
    static std::atomic<Pool*> current{nullptr};
    Pool* old = current.load(std::memory_order_acquire);
    while (!old || old->process_ != getpid()) {
      Pool* fresh = new Pool;
      if (current.compare_exchange_strong(old, fresh, std::memory_order_acq_rel)) return *fresh;
      delete fresh;
    }
    return *old;
  }

  void run(int threads, Interrupt& interrupt, const std::function<void(int)>& body) {
    Job job{&body, 1, threads, {0}};
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++busy_;
      while (static_cast<int>(started_) < threads - 1) start();
      jobs_.push_back(&job);
      ++posted_;
    }
    for (int i = 1; i < threads; ++i) wake_.notify_one();
    std::exception_ptr error;
    try {
      body(0);
    } catch (...) {
      error = std::current_exception();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    --busy_;
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), &job), jobs_.end());
    if (job.running > 0) {
      lock.unlock();
      look_out([&] { return job.running == 0; });
      lock.lock();
    }
    while (!done_.wait_for(lock, kPatience, [&] { return job.running == 0; })) interrupt.poll();
    if (!error) error = job.error;
    const bool others = !jobs_.empty();
    lock.unlock();
    if (others) wake_.notify_one();
    if (error) std::rethrow_exception(error);
  }

 private:
  Pool() : process_(getpid()) {}

  void start() {
    std::thread([this] { serve(); }).detach();
    ++started_;
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      std::deque<Job*>::iterator open;
      const auto wanted = [&] {
        open = std::find_if(jobs_.begin(), jobs_.end(),
                            [&](const Job* job) { return busy_ < job->threads; });
        return open != jobs_.end();
      };
      if (!wanted()) {
        lock.unlock();
        look_out([&, seen = posted_.load()] { return posted_ != seen; });
        lock.lock();
        wake_.wait(lock, wanted);
      }
      Job& job = **open;
      const int worker = job.next_worker++;
      ++job.running;
      ++busy_;
      if (job.next_worker == job.threads) jobs_.erase(open);
      lock.unlock();
      std::exception_ptr error;
      try {
        (*job.body)(worker);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      --busy_;
      if (error) job.error = error;
      if (--job.running == 0) done_.notify_all();
    }
  }

  const pid_t process_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Job*> jobs_;
  std::atomic<uint64_t> posted_{0};  // jobs so far
  size_t started_ = 0;
  int busy_ = 0;  // callers and workers at work: two callers share the processor, not more
};

}  // namespace

static void run_workers(int64_t threads, Interrupt& interrupt,
                        const std::function<void(int)>& body) {
  if (threads <= 1) {
    body(0);
  } else {
    Pool::of_this_process().run(static_cast<int>(threads), interrupt, body);
  }
}

void for_each(int64_t n, int threads, Interrupt& interrupt,
              const std::function<void(int64_t, int)>& work) {
  std::atomic<int64_t> next{0};
  run_workers(std::min<int64_t>(threads, n), interrupt, [&](int worker) {
    for (int64_t i = next++; i < n && !interrupt.poll(); i = next++) work(i, worker);
  });
}

namespace {

// Hands out items with a free buffer each, and merges finished ones in order. Whoever
// finishes the item that is due merges it and all that wait behind it; nobody else waits,
// unless every buffer is taken.
class Queue {
 public:
  Queue(int64_t n, int buffers, Interrupt& interrupt, const std::function<void(int64_t, int)>& merge)
      : n_(n), ready_(static_cast<size_t>(buffers), kFree), interrupt_(interrupt), merge_(merge) {}

  // The next item and a buffer for it; false when there are no more.
  bool take(int64_t* item, int* buffer) {
    std::unique_lock<std::mutex> lock(mutex_);
    auto found = ready_.end();
    const auto over = [&] { return next_ >= n_ || failed_ || interrupt_.poll(); };
    const auto settled = [&] {
      found = std::find(ready_.begin(), ready_.end(), kFree);
      return found != ready_.end() || over();
    };
    while (!freed_.wait_for(lock, kPatience, settled)) {
    }
    if (over()) return false;
    *item = next_++;
    *found = kTaken;
    *buffer = static_cast<int>(found - ready_.begin());
    return true;
  }

  void finish(int64_t item, int buffer) {
    std::unique_lock<std::mutex> lock(mutex_);
    ready_[static_cast<size_t>(buffer)] = item;
    if (merging_) return;
    merging_ = true;
    for (auto due = find_due(); due != ready_.end(); due = find_due()) {
      lock.unlock();
      merge_(due_, static_cast<int>(due - ready_.begin()));
      lock.lock();
      *due = kFree;
      ++due_;
      freed_.notify_one();
    }
    merging_ = false;
  }

  // A worker is gone: nobody may wait for what it would have finished.
  void fail() {
    std::lock_guard<std::mutex> lock(mutex_);
    failed_ = true;
    freed_.notify_all();
  }

 private:
  static constexpr int64_t kFree = -1, kTaken = -2;

  std::vector<int64_t>::iterator find_due() {
    return std::find(ready_.begin(), ready_.end(), due_);
  }

  const int64_t n_;
  int64_t next_ = 0, due_ = 0;
  std::vector<int64_t> ready_;  // by buffer: kFree, kTaken or the finished item it holds
  bool merging_ = false, failed_ = false;
  std::mutex mutex_;
  std::condition_variable freed_;
  Interrupt& interrupt_;
  const std::function<void(int64_t, int)>& merge_;
};

}  // namespace

void for_each_in_order(int64_t n, int threads, int buffers, Interrupt& interrupt,
                       const std::function<void(int64_t, int, int)>& work,
                       const std::function<void(int64_t, int)>& merge) {
  Queue queue(n, buffers, interrupt, merge);
  run_workers(std::min<int64_t>(threads, n), interrupt, [&](int worker) {
    int64_t item = 0;
    int buffer = 0;
    try {
      while (queue.take(&item, &buffer)) {
        work(item, worker, buffer);
        queue.finish(item, buffer);
      }
    } catch (...) {
      queue.fail();
      throw;
    }
  });
}

}  // namespace ems
