// Distances from rows to the few rows that k-means++ proposes, lanes being proposals.
#pragma once

#include "plan.h"
#include "rows.h"

namespace ems {
namespace EMS_LEVEL {

// Distances are summed as (x - y)^2: equal rows are exactly 0 apart.
template <class T, int M>
EMS_INLINE void trial_tile(const char* x, int64_t row_bytes, int64_t d, const T* packed,
                           int64_t ldp, Vec<T> (&acc)[M]) {
#pragma GCC unroll 32
  for (int r = 0; r < M; ++r) acc[r] = Vec<T>{};
  for (int64_t c = 0; c < d; ++c) {
    const Vec<T> y = load(packed + c * ldp);
#pragma GCC unroll 32
    for (int r = 0; r < M; ++r) {
      const Vec<T> e = load_one<T>(x + r * row_bytes + c * int64_t(sizeof(T))) - y;
      acc[r] += e * e;
    }
  }
}

// M rows from row i on. The previous step's winner is read before it is written over.
template <class T, int M>
EMS_INLINE void trial_rows(const RowsView& rows, int64_t d, int64_t i, const T* packed,
                           int64_t lanes, T* least, int64_t winner, double* potential) {
  constexpr int W = Simd<T>::W;
  T nearest[M];
  for (int r = 0; r < M; ++r) nearest[r] = least[(i + r) * lanes + winner];
  for (int64_t g = 0; g < lanes; g += W) {
    Vec<T> acc[M], part{};
    trial_tile<T, M>(rows.data + i * rows.row_bytes, rows.row_bytes, d, packed + g, lanes, acc);
#pragma GCC unroll 32
    for (int r = 0; r < M; ++r) {
      const Vec<T> now = vmin(acc[r], splat(nearest[r]));
      store(least + (i + r) * lanes + g, now);
      part += T(rows.mass ? rows.mass[i + r] : 1.0) * now;
    }
    for (int l = 0; l < W; ++l) potential[g + l] += double(part[l]);
  }
}

template <class T>
static void trials(const RowsView& rows, int64_t d, int64_t first, int64_t last, const T* packed,
                   int64_t lanes, T* least, int64_t winner, double* potential) {
  constexpr int M = 8;
  int64_t i = first;
  for (; i + M <= last; i += M)
    trial_rows<T, M>(rows, d, i, packed, lanes, least, winner, potential);
  for (; i < last; ++i) trial_rows<T, 1>(rows, d, i, packed, lanes, least, winner, potential);
}

}  // namespace EMS_LEVEL
}  // namespace ems
