// One pass over a chunk of rows. This unit is compiled once per instruction set, as the
// namespace EMS_LEVEL.
#include "candidates.h"
#include "plan.h"
#include "products.h"
#include "removal.h"
#include "rows.h"
#include "trials.h"

namespace ems {
namespace EMS_LEVEL {

// Whether exponentials and the dense product cost less than adding rows one by one, given the
// weights that are not zero in n rows. In cycles, measured.
template <class T>
static bool dense_is_cheaper(const Plan<T>& p, int64_t weights, int n) {
  const double vectors = double(p.lds) / Simd<T>::W;
  const double dense = p.nvec * (5.5 + 0.5 * double(p.cols));
  return double(weights) * (18 + 2 * vectors) > dense * n;
}

// Whether it costs less to score crowded rows twice than to keep the scores of all n, given how
// many are crowded.
template <class T>
static bool scores_are_dear(const Plan<T>& p, int64_t crowds, int n) {
  return double(crowds) * (4 + 1.2 * double(p.d)) < 3 * n;
}

// Decides from the chunk's first block how its rows are added up, and clears the sums.
template <class T>
static void choose(const Plan<T>& p, int rows, const Scratch<T>& s, ChunkSums<T>& out) {
  out.dense = p.reg > 0 && (out.R || dense_is_cheaper(p, count_weights(p, rows, s), rows));
  int64_t crowds = 0;
  for (int r = 0; r < rows; ++r) crowds += crowded(s, r, s.top[r] - T(p.cut));
  out.scored = out.dense || !scores_are_dear(p, crowds, rows);
  const int64_t n = out.dense ? p.nvec * Simd<T>::W * p.cols : p.k * p.lds;
  __builtin_memset(out.sums, 0, static_cast<size_t>(n) * sizeof(T));
}

// L, L0 and mass of the block's rows, from top and total.
template <class T>
static void add_levels(const Plan<T>& p, int n, const Scratch<T>& s, ChunkSums<T>& out) {
  constexpr int W = Simd<T>::W;
  alignas(64) T logs[kBlock] = {};
  if (p.reg > 0)
    for (int r = 0; r < n; r += W) store(logs + r, log2v<T>(load(s.total + r)));
  Vec<double> L0{}, logarithms{}, mass{};
  for (int r = 0; r < n; r += Simd<double>::W) {
    const Vec<double> a = load(s.mass + r);
    L0 += a * (load_doubles(s.square + r) - load_doubles(s.top + r));
    logarithms += a * load_doubles(logs + r);
    mass += a;
  }
  const double level = sum<double>(L0);
  out.L0 += level;
  out.L += level - p.reg * 0.69314718055994530942 * sum<double>(logarithms);
  out.mass += sum<double>(mass);
}

// Weighs the accumulated columns of the rows by a / total, so that the tile need not be.
template <class T>
static void weigh_rows(const Plan<T>& p, int n, Scratch<T>& s) {
  constexpr int W = Simd<T>::W;
  for (int r = 0; r < n; ++r) s.total[r] = T(s.mass[r]) / s.total[r];
  for (int r = 0; r < n; ++r) {
    T* x = s.x + r * p.ldx;
    if (p.cols == 1) {
      x[p.d + 1] = s.total[r];
    } else {
      for (int64_t c = 0; c < p.lds; c += W) store(x + c, s.total[r] * load(x + c));
    }
  }
}

// The block's sums when the first product is done, with as little kept of it as will do.
template <class T>
static void add_block(const Plan<T>& p, int n, bool opening, Scratch<T>& s, ChunkSums<T>& out) {
  double rise[kBlock];
  const bool scored = opening || out.scored;
  if (p.reg == 0 && !out.R) {
    score<T, Keep::Label, Find::Label>(p, n, s);
  } else if (p.reg == 0) {
    score<T, Keep::Lanes, Find::RunnerUp>(p, n, s);
  } else if (out.R) {
    score<T, Keep::Both, Find::RunnerUp>(p, n, s);
  } else if (!scored) {
    score<T, Keep::Lanes, Find::Top>(p, n, s);
  } else if (opening || !out.dense) {
    score<T, Keep::Both, Find::Top>(p, n, s);
  } else {
    score<T, Keep::Scores, Find::Top>(p, n, s);
  }
  if (opening) choose(p, n, s, out);
  if (out.R) best_rises(p, n, s, rise);
  if (out.dense) soften_block(p, n, s);
  if (out.R) add_removal(p, n, s, rise, out.R);
  if (out.dense) {
    add_levels(p, n, s, out);
    weigh_rows(p, n, s);
    sum_block(p, n, s, out.sums);
    return;
  }
  if (p.reg == 0) add_hard(p, n, s, out.sums);
  if (p.reg > 0) add_sparse(p, n, scored, s, out.sums);
  add_levels(p, n, s, out);
}

template <class T>
static void stats(const Plan<T>& p, const RowsView& rows, int64_t first, int64_t last,
                  Scratch<T>& s, ChunkSums<T>& out, Stop stop) {
  out.L = out.L0 = out.mass = 0;
  out.dense = false;
  for (int64_t i = first; i < last && !called_off(stop, i); i += kBlock) {
    const int64_t end = i + kBlock < last ? i + kBlock : last;
    const int n = static_cast<int>(end - i);
    pack_block(p, rows, i, end, s);
    add_block(p, n, i == first, s, out);
  }
}

// |x - center - y|^2 of row i in double, from the row as given.
template <class T>
static double exact_cost(const Plan<T>& p, const RowsView& rows, int64_t i, int64_t atom) {
  const char* x = rows.data + i * rows.row_bytes;
  const double* y = p.atoms + atom * p.d;
  double part[4] = {};
  for (int64_t c = 0; c < p.d; ++c) {
    const double e = double(load_one<T>(x + c * int64_t(sizeof(T)))) - p.center[c] - y[c];
    part[c & 3] += e * e;
  }
  return (part[0] + part[1]) + (part[2] + part[3]);
}

// Decides row i, the r-th of its block, in double, among the atoms whose scores reach `least`,
// of which there are two at least; they are listed in order. OUT label and gap.
template <class T>
static void decide_row(const Plan<T>& p, const RowsView& rows, int64_t i, int r, T least,
                       Scratch<T>& s, int64_t* label, double* gap) {
  rescore_row(p, r, s);
  const int m = list_atoms(p, r, least, s.top[r], 0, s);
  double best = -__builtin_inf(), second = -__builtin_inf();
  for (int l = 0; l < m; ++l) {
    const double score = p.offset[s.list[l]] - exact_cost(p, rows, i, s.list[l]);
    if (score > best) {
      second = best;
      best = score;
      *label = s.list[l];
    } else if (score > second) {
      second = score;
    }
  }
  *gap = best - second;
}

// Rows whose two best scores differ by no more than float32's rounding are decided in double.
template <class T>
static void assign(const Plan<T>& p, const RowsView& rows, int64_t first, int64_t last,
                   Scratch<T>& s, int64_t* labels, double* cost, double* gap, Stop stop) {
  const double rounding = sizeof(T) == 4 ? 1.2e-7 * (4 + __builtin_sqrt(double(p.d))) : 0;
  for (int64_t i = first; i < last && !called_off(stop, i); i += kBlock) {
    const int64_t end = i + kBlock < last ? i + kBlock : last;
    const int n = static_cast<int>(end - i);
    pack_block(p, rows, i, end, s);
    score<T, Keep::Lanes, Find::RunnerUp>(p, n, s);
    for (int r = 0; r < n; ++r) {
      const double top = s.top[r], next = s.runner_up[r];
      labels[i + r] = s.label[r];
      gap[i + r] = next <= Simd<T>::absent ? __builtin_inf() : top - next;
      const double size = double(s.square[r]) + __builtin_fabs(top);
      const double doubt = rounding * size;
      if (gap[i + r] < doubt)
        decide_row(p, rows, i + r, r, T(top - 2 * doubt), s, &labels[i + r], &gap[i + r]);
      cost[i + r] = exact_cost(p, rows, i + r, labels[i + r]);
    }
  }
}

template <class T>
static void plan_rows(const Plan<T>& p, const RowsView& rows, int64_t first, int64_t last,
                      Scratch<T>& s, double* out, Stop stop) {
  constexpr int W = Simd<T>::W;
  for (int64_t i = first; i < last && !called_off(stop, i); i += kBlock) {
    const int64_t end = i + kBlock < last ? i + kBlock : last;
    const int n = static_cast<int>(end - i);
    pack_block(p, rows, i, end, s);
    score<T, Keep::Both, Find::Label>(p, n, s);
    if (p.reg > 0) soften_block(p, n, s);
    for (int r = 0; r < n; ++r) {
      double* row = out + (i + r) * p.k;
      for (int64_t j = 0; j < p.k && p.reg == 0; ++j) row[j] = j == s.label[r];
      for (int panel = 0; panel < p.npanel && p.reg > 0; ++panel) {
        const int64_t v0 = p.panel_first[panel], nv = p.panel_first[panel + 1] - v0;
        const T* t = s.tile + (v0 * kBlock + r * nv) * W;
        const int64_t left = p.k - v0 * W, m = left < nv * W ? left : nv * W;
        for (int64_t j = 0; j < m; ++j) row[v0 * W + j] = double(t[j]) / double(s.total[r]);
      }
    }
  }
}


static const Ops<float> kOps32 = {Simd<float>::W,    kMaxPanel,         stats<float>,
                                  assign<float>,     plan_rows<float>,  candidates<float>,
                                  trials<float>};
static const Ops<double> kOps64 = {Simd<double>::W,  kMaxPanel,         stats<double>,
                                   assign<double>,   plan_rows<double>, candidates<double>,
                                   trials<double>};

extern const Level kLevel;
const Level kLevel = {EMS_LEVEL_NAME, &kOps32, &kOps64};

}  // namespace EMS_LEVEL
}  // namespace ems
