// Each row's candidates: the atoms in reach of its best, and what they cost in double.
#pragma once

#include "products.h"
#include "rows.h"

namespace ems {
namespace EMS_LEVEL {

// |x - y|^2 by subtraction.
EMS_INLINE double squared_distance(const double* x, const double* y, int64_t d) {
  constexpr int W = Simd<double>::W;
  Vec<double> a{}, b{};
  int64_t c = 0;
  for (; c + 2 * W <= d; c += 2 * W) {
    const Vec<double> u = load(x + c) - load(y + c), v = load(x + c + W) - load(y + c + W);
    a += u * u;
    b += v * v;
  }
  double rest = 0;
  for (; c < d; ++c) rest += (x[c] - y[c]) * (x[c] - y[c]);
  return sum<double>(a + b) + rest;
}

// Scores err by a float's rounding: so much further down an atom may still be in reach.
template <class T>
EMS_INLINE T slack(const Plan<T>& p, T square, T top) {
  const T rounding = sizeof(T) == 4 ? T(1.2e-7) : T(2.3e-16);
  return rounding * T(2 * (4 + __builtin_sqrt(double(p.d)))) * (square + __builtin_fabs(top));
}

template <class T>
static void candidates(const Plan<T>& p, const RowsView& rows, int64_t first, int64_t last,
                       Scratch<T>& s, double reach, const Taker& taker, Stop stop) {
  const T furthest = T(reach < -Simd<T>::absent ? reach : -Simd<T>::absent);
  for (int64_t i = first; i < last && !called_off(stop, i); i += kBlock) {
    const int64_t end = i + kBlock < last ? i + kBlock : last;
    const int n = static_cast<int>(end - i);
    pack_block(p, rows, i, end, s);
    score<T, Keep::Scores, Find::Top>(p, n, s);
    for (int r = 0; r < n; ++r) {
      const T far = s.top[r] - furthest - slack(p, s.x[r * p.ldx + p.d], s.top[r]);
      const T least = far > Simd<T>::absent / 2 ? far : Simd<T>::absent / 2;
      const int m = list_atoms(p, r, least, s.top[r], 0, s);
      const char* x = rows.data + (i + r) * rows.row_bytes;
      for (int64_t c = 0; c < p.d; ++c)
        taker.row[c] = double(load_one<T>(x + c * int64_t(sizeof(T)))) - p.center[c];
      for (int c = 0; c < m; ++c)
        taker.costs[c] = squared_distance(taker.row, p.atoms + s.list[c] * p.d, p.d);
      taker.take(taker.context, s.list, taker.costs, m);
    }
  }
}

}  // namespace EMS_LEVEL
}  // namespace ems
