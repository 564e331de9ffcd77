// What happens to single rows: packing them before the products, choosing their best atom
// after the first, turning their scores into weights before the second.
#pragma once

#include "maths.h"
#include "plan.h"
#include "products.h"

namespace ems {
namespace EMS_LEVEL {

template <class T>
EMS_INLINE T load_one(const char* p) {
  T x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}

// OUT dst: x - center, |x - center|^2, 1. Returns |x - center|^2. The center is subtracted in
// two parts, so that the difference of nearby numbers is exact.
template <class T>
EMS_INLINE T pack_row(const Plan<T>& p, const char* src, T* dst) {
  constexpr int W = Simd<T>::W;
  Vec<T> squares{};
  int64_t c = 0;
  for (; c + W <= p.d; c += W) {
    const Vec<T> x = (load_as<Vec<T>>(src + c * sizeof(T)) - load(p.center_hi + c)) -
                     load(p.center_lo + c);
    squares += x * x;
    store(dst + c, x);
  }
  if (c < p.d) {
    const Vec<T> x = (load_part<T>(src + c * sizeof(T), p.d - c) - load(p.center_hi + c)) -
                     load(p.center_lo + c);
    squares += x * x;
    store(dst + c, x);
  }
  const T square = sum<T>(squares);
  dst[p.d] = square;
  dst[p.d + 1] = T(1);
  return square;
}

// The same, one by one, for rows of D values: fewer than make a vector worth its while.
template <class T, int D>
EMS_INLINE void pack_short_rows(const Plan<T>& p, const char* src, int64_t row_bytes, int n,
                                Scratch<T>& s) {
  T* dst = s.x;
  for (int r = 0; r < n; ++r, src += row_bytes, dst += p.ldx) {
    T square = 0;
#pragma GCC unroll 4
    for (int c = 0; c < D; ++c) {
      const T x = (load_one<T>(src + c * int(sizeof(T))) - p.center_hi[c]) - p.center_lo[c];
      square += x * x;
      dst[c] = x;
    }
    s.square[r] = dst[D] = square;
    dst[D + 1] = T(1);
  }
}

// Has the first product fetch the block behind row `last`, while it has no use for memory.
template <class T>
static void look_ahead(const Plan<T>& p, const RowsView& rows, int64_t last, int n, Scratch<T>& s) {
  const int64_t tiles = p.nvec * kBlock / kAccumulators;  // or a few more
  const bool dense = rows.row_bytes > 0 && rows.row_bytes <= 2 * p.d * int64_t(sizeof(T));
  const int64_t bytes = dense && last + n <= rows.n ? n * rows.row_bytes : 0;
  s.ahead = rows.data + last * rows.row_bytes;
  s.ahead_lines = (bytes + 64 * tiles - 1) / (64 * tiles);
}

// As many rows as are scored where a block has n: a multiple of every tile height.
EMS_INLINE int padded(int n) { return (n + kAccumulators - 1) / kAccumulators * kAccumulators; }

// Packs rows first..last and fills the block up with zeros.
template <class T>
static void pack_block(const Plan<T>& p, const RowsView& rows, int64_t first, int64_t last,
                       Scratch<T>& s) {
  const int n = static_cast<int>(last - first), tall = padded(n);
  look_ahead(p, rows, last, n, s);
  const char* src = rows.data + first * rows.row_bytes;
  if (p.d == 1) pack_short_rows<T, 1>(p, src, rows.row_bytes, n, s);
  if (p.d == 2) pack_short_rows<T, 2>(p, src, rows.row_bytes, n, s);
  if (p.d == 3) pack_short_rows<T, 3>(p, src, rows.row_bytes, n, s);
  if (p.d == 4) pack_short_rows<T, 4>(p, src, rows.row_bytes, n, s);
  for (int r = 0; r < n && p.d > 4; ++r)
    s.square[r] = pack_row(p, src + r * rows.row_bytes, s.x + r * p.ldx);
  for (int r = n; r < tall; ++r)
    for (int64_t c = 0; c < p.d + 2; ++c) s.x[r * p.ldx + c] = T(0);
  for (int r = 0; r < tall; ++r) s.mass[r] = r >= n ? 0 : rows.mass ? rows.mass[first + r] : 1;
}

// What is found of each row from the lanes' greatest scores.
enum class Find { Top, Label, RunnerUp };

// OUT top; the best atom, the lowest of equals, as label; runner_up: each with those before it.
template <class T, Find find>
static void reduce_block(int rows, Scratch<T>& s) {
  constexpr int W = Simd<T>::W;
  const IVec<T>* where = static_cast<const IVec<T>*>(s.where);
  for (int r0 = 0; r0 < rows; r0 += W) {
    Vec<T> score[W];
    IVec<T> atom[W];
    for (int r = 0; r < W; ++r) score[r] = load(s.best + (r0 + r) * W);
    const Vec<T> top = fold_each<Greatest, T, W / 2>(score);
    store(s.top + r0, top);
    if constexpr (find == Find::Top) continue;
    for (int r = 0; r < W; ++r) {
      const IVec<T> none = IVec<T>{} + INT32_MAX;
      atom[r] = load(s.best + (r0 + r) * W) < s.top[r0 + r] ? none : where[r0 + r];
    }
    const IVec<T> label = fold_each<Least, T, W / 2>(atom);
    for (int r = 0; r < W; ++r) s.label[r0 + r] = static_cast<int32_t>(label[r]);
    if constexpr (find != Find::RunnerUp) continue;
    for (int r = 0; r < W; ++r)
      score[r] = where[r0 + r] == s.label[r0 + r] ? load(s.second + (r0 + r) * W)
                                                  : load(s.best + (r0 + r) * W);
    store(s.runner_up + r0, fold_each<Greatest, T, W / 2>(score));
  }
}

// The scores of the block's n rows and what is found from them.
template <class T, Keep keep, Find find>
static void score(const Plan<T>& p, int n, Scratch<T>& s) {
  score_block<T, keep>(p, padded(n), s);
  reduce_block<T, find>(n, s);
}

// exp((score - top) / reg) of the rows' scores in one panel, added to the lanes' totals.
template <class T, int NV>
EMS_INLINE void soften_panel(const Plan<T>& p, int v0, int rows, Scratch<T>& s) {
  constexpr int W = Simd<T>::W;
  T* tile = s.tile + int64_t(v0) * W * kBlock;
  const Vec<T> scale = splat(p.scale);
  for (int r = 0; r < rows; ++r, tile += NV * W) {
    Vec<T> total = load(s.best + r * W);
    const T top = s.top[r];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
      const Vec<T> e = exp2v((load(tile + v * W) - top) * scale);
      store(tile + v * W, e);
      total += e;
    }
    store(s.best + r * W, total);
  }
}

// Turns the tile's scores into exp((score - top) / reg) and sums them. OUT total; best is lost.
template <class T>
static void soften_block(const Plan<T>& p, int rows, Scratch<T>& s) {
  constexpr int W = Simd<T>::W;
  for (int r = 0; r < rows; ++r) store(s.best + r * W, Vec<T>{});
  each_panel(p, [&](auto width, int v0) { soften_panel<T, width.vectors>(p, v0, rows, s); });
  for (int r0 = 0; r0 < rows; r0 += W) {
    Vec<T> lanes[W];
    for (int r = 0; r < W; ++r) lanes[r] = load(s.best + (r0 + r) * W);
    store(s.total + r0, fold_each<Sum, T, W / 2>(lanes));
  }
}

// Appends a row's atoms whose scores reach `least` to the list of m, its scores less `top`.
// Returns the new length.
template <class T>
EMS_INLINE int list_atoms(const Plan<T>& p, int r, T least, T top, int m, const Scratch<T>& s) {
  constexpr int W = Simd<T>::W;
  T* const weight = s.weight;
  int32_t *const list = s.list, *const owner = s.owner;
  for (int panel = 0; panel < p.npanel; ++panel) {
    const int v0 = p.panel_first[panel], nv = p.panel_first[panel + 1] - v0;
    const T* t = s.tile + (int64_t(v0) * kBlock + r * nv) * W;
    for (int v = 0; v < nv; ++v) {
      const Vec<T> scores = load(t + v * W);
      const unsigned bits = bits_reaching(scores, splat(least));
      const auto first = static_cast<typename Simd<T>::Int>((v0 + v) * W);
      m += append_lanes<T>(scores - top, lane_numbers<T>() + first, bits, r, weight + m, list + m,
                           owner + m);
    }
  }
  return m;
}

// Whether two of the row's scores in one lane reach `least`, so that the lanes' greatest are not
// all that do.
template <class T>
EMS_INLINE bool crowded(const Scratch<T>& s, int r, T least) {
  return bits_reaching(load(s.second + r * Simd<T>::W), splat(least)) != 0;
}

// Non-zero weights of the block's rows: what the choice between the layouts rests on.
template <class T>
static int64_t count_weights(const Plan<T>& p, int rows, const Scratch<T>& s) {
  constexpr int W = Simd<T>::W;
  int64_t count = 0;
  for (int panel = 0; panel < p.npanel; ++panel) {
    const int v0 = p.panel_first[panel], nv = p.panel_first[panel + 1] - v0;
    const T* t = s.tile + int64_t(v0) * kBlock * W;
    for (int i = 0; i < rows * nv; ++i)
      count += __builtin_popcount(
          bits_reaching(load(t + i * W), splat(s.top[i / nv] - T(p.cut))));
  }
  return count;
}

// sums[atom] += f x for the accumulated columns of row r; both end in padding.
template <class T>
EMS_INLINE void add_row(const Plan<T>& p, const T* x, T f, T* sums) {
  constexpr int W = Simd<T>::W;
  if (p.cols == 1) {
    *sums += f;
    return;
  }
  for (int64_t c = 0; c < p.lds; c += W) store(sums + c, load(sums + c) + f * load(x + c));
}

// Adds each row to its best atom's sums.
template <class T>
static void add_hard(const Plan<T>& p, int n, const Scratch<T>& s, T* sums) {
  for (int r = 0; r < n; ++r)
    add_row(p, s.x + r * p.ldx, T(s.mass[r]), sums + s.label[r] * p.lds);
}

// Turns the m listed scores into weights and adds their rows to the atoms' sums. The list is
// worked off in long loops, whatever the number of atoms a row has. OUT total of rows r0..r1.
template <class T>
static void settle(const Plan<T>& p, int r0, int r1, int m, Scratch<T>& s, T* sums) {
  constexpr int W = Simd<T>::W;
  const Vec<T> scale = splat(p.scale);
  store(s.weight + m, splat(Simd<T>::lowest));
  for (int i = 0; i < m; i += W) store(s.weight + i, exp2v(load(s.weight + i) * scale));
  for (int r = r0; r < r1; ++r) s.total[r] = T(0);
  for (int i = 0; i < m; ++i) s.total[s.owner[i]] += s.weight[i];
  for (int i = 0; i < m; ++i) {
    const int r = s.owner[i];
    add_row(p, s.x + r * p.ldx, T(s.mass[r]) * s.weight[i] / s.total[r], sums + s.list[i] * p.lds);
  }
}

// Adds the rows, whose weights are few, to the sparse sums. `scored`: whether their scores were
// kept. OUT total.
template <class T>
static void add_sparse(const Plan<T>& p, int n, bool scored, Scratch<T>& s, T* sums) {
  constexpr int W = Simd<T>::W;
  const IVec<T>* where = static_cast<const IVec<T>*>(s.where);
  int m = 0, r0 = 0;
  for (int r = 0; r < n; ++r) {
    const T top = s.top[r], least = top - T(p.cut);
    if (!crowded(s, r, least)) {
      const Vec<T> best = load(s.best + r * W);
      m += append_lanes<T>(best - top, where[r], bits_reaching(best, splat(least)), r,
                           s.weight + m, s.list + m, s.owner + m);
    } else {
      if (!scored) rescore_row(p, r, s);
      m = list_atoms(p, r, least, top, m, s);
    }
    if (m > kListed) {
      settle(p, r0, r + 1, m, s, sums);
      m = 0;
      r0 = r + 1;
    }
  }
  settle(p, r0, n, m, s, sums);
}

}  // namespace EMS_LEVEL
}  // namespace ems
