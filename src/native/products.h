// The two products of a pass, as register tiles whose lanes are atoms: nothing is transposed
// and d needs no padding.
#pragma once

#include "plan.h"
#include "simd.h"

namespace ems {
namespace EMS_LEVEL {

// What is kept of the scores. Each level costs the epilogue a few operations per vector.
enum class Keep {
  Label,   // the greatest of each lane and its atom
  Lanes,   // the two greatest of each lane, the atom of the first
  Scores,  // the greatest of each lane; the scores
  Both,    // the two greatest of each lane, the atom of the first; the scores
};

// Calls body(width, v0) for each panel, with the first of its vectors and, as a type, how many
// it has.
template <int N>
struct Width {
  static constexpr int vectors = N;
};
template <class T, class Body>
EMS_INLINE void each_panel(const Plan<T>& p, const Body& body) {
  for (int panel = 0; panel < p.npanel; ++panel) {
    const int v0 = p.panel_first[panel], nv = p.panel_first[panel + 1] - v0;
    if (nv == 1) body(Width<1>(), v0);
    if (nv == 2) body(Width<2>(), v0);
    if (nv == 3) body(Width<3>(), v0);
    if constexpr (kMaxPanel == 4) {
      if (nv == 4) body(Width<4>(), v0);
    }
  }
}

// Rows x vectors of a tile: as many accumulators as registers allow. Divides kBlock.
template <int NV>
constexpr int tile_rows() {
  return kAccumulators / NV;
}

// Scores 2 x.y + (h - |y|^2) of M rows against the NV vectors of a panel, and the lanes'
// greatest so far. `v0` is the panel's first vector.
template <class T, int M, int NV, Keep keep>
EMS_INLINE void score_tile(const T* x, int64_t ldx, int64_t d, const T* packed, const T* bias,
                           int v0, T* tile, T* best, T* second, IVec<T>* where) {
  constexpr int W = Simd<T>::W;
  constexpr bool two = keep == Keep::Lanes || keep == Keep::Both, atoms = keep != Keep::Scores;
  constexpr bool scores = keep == Keep::Scores || keep == Keep::Both;
  Vec<T> acc[M][NV];
#pragma GCC unroll 32
  for (int v = 0; v < NV; ++v) {
    const Vec<T> b = load(bias + v * W);
#pragma GCC unroll 32
    for (int r = 0; r < M; ++r) acc[r][v] = b;
  }
  for (int64_t c = 0; c < d; ++c) {
    Vec<T> y[NV];
#pragma GCC unroll 32
    for (int v = 0; v < NV; ++v) y[v] = load(packed + (c * NV + v) * W);
#pragma GCC unroll 32
    for (int r = 0; r < M; ++r) {
      const T xc = x[r * ldx + c];
#pragma GCC unroll 32
      for (int v = 0; v < NV; ++v) acc[r][v] += xc * y[v];
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < M; ++r) {
    Vec<T> top = load(best + r * W);
    Vec<T> next = two ? load(second + r * W) : Vec<T>{};
    IVec<T> at = atoms ? where[r] : IVec<T>{};
#pragma GCC unroll 32
    for (int v = 0; v < NV; ++v) {
      const Vec<T> s = acc[r][v];
      if constexpr (two) next = vmax(next, vmin(s, top));
      if constexpr (atoms) {
        const auto first = static_cast<typename Simd<T>::Int>((v0 + v) * W);
        at = s > top ? lane_numbers<T>() + first : at;
      }
      top = vmax(s, top);
      if constexpr (scores) store(tile + (r * NV + v) * W, s);
    }
    store(best + r * W, top);
    if constexpr (two) store(second + r * W, next);
    if constexpr (atoms) where[r] = at;
  }
}

// One panel against the rows of the block (a multiple of every tile height).
template <class T, int NV, Keep keep>
EMS_INLINE void score_panel(const Plan<T>& p, int v0, int rows, Scratch<T>& s) {
  constexpr int W = Simd<T>::W, M = tile_rows<NV>();
  constexpr int kLine = 64;
  IVec<T>* where = static_cast<IVec<T>*>(s.where);
  const T* packed = p.packed + int64_t(v0) * W * p.d;
  T* tile = s.tile + int64_t(v0) * W * kBlock;
  for (int r = 0; r < rows; r += M) {
    for (int64_t l = 0; l < s.ahead_lines; ++l, s.ahead += kLine) __builtin_prefetch(s.ahead);
    score_tile<T, M, NV, keep>(s.x + r * p.ldx, p.ldx, p.d, packed, p.bias + v0 * W, v0,
                               tile + r * NV * W, s.best + r * W, s.second + r * W, where + r);
  }
}

template <class T, Keep keep>
static void score_block(const Plan<T>& p, int rows, Scratch<T>& s) {
  constexpr int W = Simd<T>::W;
  const Vec<T> lowest = splat(Simd<T>::lowest);
  IVec<T>* where = static_cast<IVec<T>*>(s.where);
  for (int r = 0; r < rows; ++r) {
    store(s.best + r * W, lowest);
    store(s.second + r * W, lowest);
    where[r] = IVec<T>{};
  }
  each_panel(p, [&](auto width, int v0) { score_panel<T, width.vectors, keep>(p, v0, rows, s); });
}

// The scores of one row of which only the lanes' greatest were kept.
template <class T>
static void rescore_row(const Plan<T>& p, int r, Scratch<T>& s) {
  constexpr int W = Simd<T>::W;
  each_panel(p, [&](auto width, int v0) {
    score_tile<T, 1, width.vectors, Keep::Scores>(
        s.x + r * p.ldx, p.ldx, p.d, p.packed + int64_t(v0) * W * p.d, p.bias + v0 * W, v0,
        s.tile + (int64_t(v0) * kBlock + r * width.vectors) * W, s.best + r * W, nullptr, nullptr);
  });
}

// sums[c][v] += sum over rows of x[row][c] * tile[row][v], for CT columns and NV vectors.
template <class T, int CT, int NV>
EMS_INLINE void sum_tile(const T* x, int64_t ldx, int rows, const T* tile, T* sums) {
  constexpr int W = Simd<T>::W;
  Vec<T> acc[CT][NV];
#pragma GCC unroll 32
  for (int c = 0; c < CT; ++c) {
#pragma GCC unroll 32
    for (int v = 0; v < NV; ++v) acc[c][v] = load(sums + (c * NV + v) * W);
  }
  for (int r = 0; r < rows; ++r) {
    Vec<T> t[NV];
#pragma GCC unroll 32
    for (int v = 0; v < NV; ++v) t[v] = load(tile + (int64_t(r) * NV + v) * W);
#pragma GCC unroll 32
    for (int c = 0; c < CT; ++c) {
      const T xc = x[r * ldx + c];
#pragma GCC unroll 32
      for (int v = 0; v < NV; ++v) acc[c][v] += xc * t[v];
    }
  }
#pragma GCC unroll 32
  for (int c = 0; c < CT; ++c) {
#pragma GCC unroll 32
    for (int v = 0; v < NV; ++v) store(sums + (c * NV + v) * W, acc[c][v]);
  }
}

template <class T, int CT, int NV>
EMS_INLINE void sum_columns(const Plan<T>& p, int64_t first, int64_t last, int rows, const T* x,
                            const T* tile, T* sums) {
  int64_t c = first;
  for (; c + CT <= last; c += CT)
    sum_tile<T, CT, NV>(x + c, p.ldx, rows, tile, sums + c * NV * Simd<T>::W);
  if constexpr (CT > 1)
    if (c < last) sum_columns<T, (CT > 4 ? CT / 2 : CT - 1), NV>(p, c, last, rows, x, tile, sums);
}

template <class T, int NV>
EMS_INLINE void sum_panel(const Plan<T>& p, int v0, int rows, const Scratch<T>& s, T* sums) {
  constexpr int W = Simd<T>::W;
  sum_columns<T, tile_rows<NV>(), NV>(p, 0, p.cols, rows, s.x + (p.d + 2 - p.cols),
                                      s.tile + int64_t(v0) * W * kBlock,
                                      sums + int64_t(v0) * W * p.cols);
}

// sums += X' T over the block, in the packed layout.
template <class T>
static void sum_block(const Plan<T>& p, int rows, const Scratch<T>& s, T* sums) {
  each_panel(p, [&](auto width, int v0) { sum_panel<T, width.vectors>(p, v0, rows, s, sums); });
}

}  // namespace EMS_LEVEL
}  // namespace ems
