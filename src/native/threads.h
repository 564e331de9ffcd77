// Worker threads: work in any order, results in a fixed one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace ems {

// Whether the caller has asked to stop. `ask` is called on the calling thread alone, at most
// every 50 ms; its answer reaches the workers through `stopped`.
class Interrupt {
 public:
  explicit Interrupt(std::function<bool()> ask);
  bool poll();  // any thread
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  std::function<bool()> ask_;
  std::atomic<bool> stopped_{false};
  int64_t next_ns_;
  uint64_t caller_;
};

// Items are worked on by the calling thread, as worker 0, and by idle threads of the process's
// pool, as 1 .. threads - 1; threads busy with another call are not waited for. An exception
// of any worker is thrown to the caller.

// work(item, worker) for items 0 .. n - 1, in any order.
void for_each(int64_t n, int threads, Interrupt& interrupt,
              const std::function<void(int64_t, int)>& work);

// work(item, worker, buffer) in any order; merge(item, buffer) for one item at a time, in
// order. A buffer is handed out again after its merge. At most `buffers` >= threads exist.
void for_each_in_order(int64_t n, int threads, int buffers, Interrupt& interrupt,
                       const std::function<void(int64_t, int, int)>& work,
                       const std::function<void(int64_t, int)>& merge);

}  // namespace ems
