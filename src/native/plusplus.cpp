// Greedy k-means++, the steps of which are sweeps over all rows.
#include <algorithm>
#include <limits>

#include "packed.h"
#include "sweep.h"

namespace ems {

namespace {

template <class T>
class Seeding {
 public:
  Seeding(const Engine& engine, const RowsView& rows, int64_t d, int64_t trials)
      : ops_(ops_of<T>(engine)),
        threads_(engine.threads),
        rows_(rows),
        d_(d),
        trials_(trials),
        lanes_((std::max<int64_t>(trials, 1) + ops_.lanes - 1) / ops_.lanes * ops_.lanes),
        chunks_((rows.n + kChunk - 1) / kChunk),
        packed_(d * lanes_),
        least_(rows.n * lanes_),
        potential_(chunks_ * lanes_) {
    std::fill(least_.get(), least_.get() + rows.n * lanes_, std::numeric_limits<T>::max());
  }

  // Measures all rows against the proposals and keeps the one that leaves the least.
  int64_t choose(const std::vector<int64_t>& proposals, Interrupt& interrupt) {
    for (size_t t = 0; t < proposals.size(); ++t)
      for (int64_t c = 0; c < d_; ++c)
        packed_[c * lanes_ + static_cast<int64_t>(t)] = value(proposals[t], c);
    for_each(chunks_, threads_, interrupt, [&](int64_t item, int) {
      double* potential = potential_.get() + item * lanes_;
      std::fill(potential, potential + lanes_, 0.0);
      ops_.trials(rows_, d_, item * kChunk, std::min(rows_.n, (item + 1) * kChunk), packed_.get(),
                  lanes_, least_.get(), winner_, potential);
    });
    winner_ = 0;
    for (int64_t t = 0; t < static_cast<int64_t>(proposals.size()); ++t)
      if (left(t) < left(winner_)) winner_ = t;
    return proposals[static_cast<size_t>(winner_)];
  }

  // Mass times squared distance, summed over all rows.
  double left() const { return left(winner_); }

  // The row at which the running sum of mass times squared distance first exceeds `target`;
  // where rounding keeps it from that, the last row that adds to the sum.
  int64_t row_at(double target) const {
    double sum = 0;
    int64_t last = 0;
    for (int64_t item = 0; item < chunks_; ++item) {
      const double part = potential_[item * lanes_ + winner_];
      if (!(part > 0)) continue;
      const bool here = sum + part > target;
      double running = sum;
      for (int64_t i = item * kChunk; i < std::min(rows_.n, (item + 1) * kChunk) && here; ++i) {
        const double step = weight(i);
        running += step;
        if (step > 0) last = i;
        if (running > target) return i;
      }
      if (here) return last;
      sum += part;
    }
    for (int64_t i = rows_.n - 1; i >= 0; --i)
      if (weight(i) > 0) return i;
    return 0;
  }

 private:
  static constexpr int64_t kChunk = 1024;

  T value(int64_t i, int64_t c) const {
    T x;
    __builtin_memcpy(&x, rows_.data + i * rows_.row_bytes + c * int64_t(sizeof(T)), sizeof x);
    return x;
  }
  double weight(int64_t i) const {
    return (rows_.mass ? rows_.mass[i] : 1.0) * double(least_[i * lanes_ + winner_]);
  }
  double left(int64_t t) const {
    double sum = 0;
    for (int64_t item = 0; item < chunks_; ++item) sum += potential_[item * lanes_ + t];
    return sum;
  }

  const Ops<T>& ops_;
  const int threads_;
  const RowsView& rows_;
  const int64_t d_, trials_, lanes_, chunks_;
  int64_t winner_ = 0;
  Array<T> packed_, least_;
  Array<double> potential_;
};

}  // namespace

template <class T>
std::vector<int64_t> plusplus(const Engine& engine, const RowsView& rows, int64_t d, int64_t first,
                              const double* uniforms, int64_t steps, int64_t trials,
                              Interrupt& interrupt) {
  Seeding<T> seeding(engine, rows, d, trials);
  std::vector<int64_t> chosen{seeding.choose({first}, interrupt)};
  std::vector<int64_t> proposals(static_cast<size_t>(trials));
  for (int64_t step = 0; step < steps && !interrupt.poll(); ++step) {
    const double total = seeding.left();
    if (!(total > 0)) break;
    for (int64_t t = 0; t < trials; ++t)
      proposals[static_cast<size_t>(t)] = seeding.row_at(uniforms[step * trials + t] * total);
    chosen.push_back(seeding.choose(proposals, interrupt));
  }
  return chosen;
}

template std::vector<int64_t> plusplus<float>(const Engine&, const RowsView&, int64_t, int64_t,
                                              const double*, int64_t, int64_t, Interrupt&);
template std::vector<int64_t> plusplus<double>(const Engine&, const RowsView&, int64_t, int64_t,
                                               const double*, int64_t, int64_t, Interrupt&);

}  // namespace ems
