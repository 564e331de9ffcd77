#include "trees.h"

#include <array>
#include <vector>

#include "trees_walk.h"

namespace ems {

namespace {

int count(uint64_t bits) { return __builtin_popcountll(bits); }
int lowest(uint64_t bits) { return __builtin_ctzll(bits); }

// share(a, b) = (a-1)! b! / (a+b)!: what each of a features gets, of one sign, where b have the
// other. 1 / (a C(a+b, a)), by share(a, b) = share(a, b-1) b / (a+b).
class Shares {
 public:
  Shares() {
    for (int a = 1; a <= kMaxPath; ++a) {
      at(a, 0) = 1.0 / a;
      for (int b = 1; a + b <= kMaxPath; ++b) at(a, b) = at(a, b - 1) * b / (a + b);
    }
  }
  double operator()(int a, int b) const { return values_[index(a, b)]; }

 private:
  static size_t index(int a, int b) { return static_cast<size_t>(a * (kMaxPath + 1) + b); }
  double& at(int a, int b) { return values_[index(a, b)]; }
  std::array<double, (kMaxPath + 1) * (kMaxPath + 1)> values_{};
};

const Shares kShare;

// What a leaf of value 1 gives the features on its path, for rows of mask X against groups Y.
// OUT gain (m,), zero where no partner of X differs from it.
void gains(uint64_t X, const std::vector<Group>& Y, const std::vector<double>& mass, int m,
           double* gain) {
  const uint64_t full = m ? ~uint64_t(0) >> (64 - m) : 0;
  const uint64_t missed = full & ~X;
  const int b = count(missed);
  double loss = 0;  // the same for every feature that x misses
  std::fill(gain, gain + m, 0.0);
  for (size_t g = 0; g < Y.size(); ++g) {
    if ((X | Y[g].mask) != full) continue;
    uint64_t A = X & ~Y[g].mask;
    const int a = count(A);
    if (b) loss += mass[g] * kShare(b, a);
    if (!A) continue;
    const double each = mass[g] * kShare(a, b);
    for (; A; A &= A - 1) gain[lowest(A)] += each;
  }
  for (uint64_t left = missed; left; left &= left - 1) gain[lowest(left)] = -loss;
}

// Adds one leaf's share of sum_j w_j phi(x_i; y_j) for the rows of x.
class Weighted {
 public:
  Weighted(const Forest& forest, const double* w, double* out)
      : forest_(forest), w_(w), out_(out) {}

  void operator()(int64_t tree, int64_t leaf, const int32_t* path, int m, const Side& x,
                  const Side& y) {
    mass_.clear();
    for (const Group& g : y.groups) {
      double sum = 0;
      for (int32_t at = g.begin; at < g.end; ++at) sum += w_[y.rows[static_cast<size_t>(at)]];
      mass_.push_back(sum);
    }
    for (const Group& g : x.groups) {
      gains(g.mask, y.groups, mass_, m, gain_);
      for (int64_t q = 0; q < forest_.width; ++q)
        add(x, g, path, m, forest_.output[tree] + q, forest_.value[leaf * forest_.width + q]);
    }
  }

 private:
  void add(const Side& x, const Group& g, const int32_t* path, int m, int64_t output,
           double value) {
    int64_t place[kMaxPath];
    double what[kMaxPath];
    int used = 0;
    for (int b = 0; b < m; ++b) {
      if (gain_[b] == 0.0) continue;
      place[used] = path[b] * forest_.outputs + output;
      what[used++] = gain_[b] * value;
    }
    const int64_t row_size = forest_.features * forest_.outputs;
    for (int32_t at = g.begin; at < g.end; ++at) {
      double* const row = out_ + x.rows[static_cast<size_t>(at)] * row_size;
      for (int u = 0; u < used; ++u) row[place[u]] += what[u];
    }
  }

  const Forest& forest_;
  const double* w_;
  double* out_;
  std::vector<double> mass_;
  double gain_[kMaxPath];
};

// Adds one leaf's share of phi(x_i; y_j) for all its pairs; rows of out lie `row` values apart.
class Pairwise {
 public:
  Pairwise(const Forest& forest, double* out, int64_t row) : forest_(forest), out_(out), row_(row) {}

  void operator()(int64_t tree, int64_t leaf, const int32_t* path, int m, const Side& x,
                  const Side& y) {
    const uint64_t full = m ? ~uint64_t(0) >> (64 - m) : 0;
    for (const Group& g : x.groups)
      for (const Group& h : y.groups)
        if ((g.mask | h.mask) == full && g.mask != h.mask)
          add(tree, leaf, path, x, g, y, h);
  }

 private:
  void add(int64_t tree, int64_t leaf, const int32_t* path, const Side& x, const Group& g,
           const Side& y, const Group& h) {
    const uint64_t A = g.mask & ~h.mask, B = h.mask & ~g.mask;
    const int a = count(A), b = count(B);
    const double up = a ? kShare(a, b) : 0, down = b ? -kShare(b, a) : 0;
    const int64_t O = forest_.outputs;
    for (uint64_t left = A | B; left; left &= left - 1) {
      const int bit = lowest(left);
      const double share = A >> bit & 1 ? up : down;
      for (int64_t q = 0; q < forest_.width; ++q) {
        const double what = share * forest_.value[leaf * forest_.width + q];
        double* const to = out_ + path[bit] * O + forest_.output[tree] + q;
        for (int32_t i = g.begin; i < g.end; ++i) {
          double* const row = to + x.rows[static_cast<size_t>(i)] * row_;
          for (int32_t j = h.begin; j < h.end; ++j)
            row[y.rows[static_cast<size_t>(j)] * forest_.features * O] += what;
        }
      }
    }
  }

  const Forest& forest_;
  double* out_;
  const int64_t row_;
};

// Rows [first, first + n) of columns.
Columns part(const Columns& all, int64_t first, int64_t n) {
  return {all.data + first, std::min(n, all.n - first), all.stride};
}

int64_t pieces(int64_t n, int64_t size) { return (n + size - 1) / size; }

}  // namespace

void forest_contributions(const Forest& forest, const Columns& x, const Columns& y,
                          const double* w, double* out, int threads, Interrupt& interrupt) {
  constexpr int64_t kItems = 32, kBufferSize = int64_t(1) << 22;
  const int64_t row_size = forest.features * forest.outputs;
  const int64_t block = std::max<int64_t>(256, kBufferSize / std::max<int64_t>(1, row_size));
  const int64_t trees = pieces(forest.trees, kItems);
  std::vector<std::vector<double>> buffers(static_cast<size_t>(threads) + 1);
  for (int64_t first = 0; first < x.n && !interrupt.poll(); first += block) {
    const Columns rows = part(x, first, block);
    const auto size = static_cast<size_t>(rows.n * row_size);
    const auto work = [&](int64_t item, int, int b) {
      auto& buffer = buffers[static_cast<size_t>(b)];
      buffer.assign(size, 0.0);
      Walk walk(forest, rows, y);
      Weighted add(forest, w, buffer.data());
      for (int64_t t = item * trees; t < std::min(forest.trees, (item + 1) * trees); ++t) {
        if (interrupt.poll()) return;
        walk.tree(forest.root[t], [&](auto... leaf) { add(t, leaf...); });
      }
    };
    const auto merge = [&](int64_t, int b) {
      const auto& buffer = buffers[static_cast<size_t>(b)];
      for (size_t i = 0; i < buffer.size(); ++i)
        out[first * row_size + static_cast<int64_t>(i)] += buffer[i];
    };
    for_each_in_order(pieces(forest.trees, trees), threads, threads + 1, interrupt, work, merge);
  }
}

void forest_pairs(const Forest& forest, const Columns& x, const Columns& y, double* out,
                  int threads, Interrupt& interrupt) {
  constexpr int64_t kRows = 16, kBackground = 128;
  const int64_t across = pieces(y.n, kBackground);
  const int64_t pair = forest.features * forest.outputs;
  for_each(pieces(x.n, kRows) * across, threads, interrupt, [&](int64_t item, int) {
    const int64_t i = item / across * kRows, j = item % across * kBackground;
    Walk walk(forest, part(x, i, kRows), part(y, j, kBackground));
    Pairwise add(forest, out + (i * y.n + j) * pair, y.n * pair);
    for (int64_t t = 0; t < forest.trees && !interrupt.poll(); ++t)
      walk.tree(forest.root[t], [&](auto... leaf) { add(t, leaf...); });
  });
}

void forest_margins(const Forest& forest, const Columns& x, double* out, int threads,
                    Interrupt& interrupt) {
  constexpr int64_t kRows = 256;
  for_each(pieces(x.n, kRows), threads, interrupt, [&](int64_t item, int) {
    const Columns rows = part(x, item * kRows, kRows);
    for (int64_t t = 0; t < forest.trees; ++t) {
      for (int64_t i = 0; i < rows.n; ++i) {
        int64_t node = forest.root[t];
        while (forest.feature[node] >= 0) {
          const double v = rows.data[forest.feature[node] * rows.stride + i];
          node = goes_left(forest, node, v) ? forest.left[node] : forest.right[node];
        }
        double* const to = out + (item * kRows + i) * forest.outputs + forest.output[t];
        for (int64_t q = 0; q < forest.width; ++q) to[q] += forest.value[node * forest.width + q];
      }
    }
  });
}

}  // namespace ems
