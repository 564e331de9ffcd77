// By how much a row's share of L rises when one atom is taken away: -reg log(1 - T_ij).
// Asked for rarely, so it is written for accuracy, in double, row by row.
#pragma once

#include "rows.h"

namespace ems {
namespace EMS_LEVEL {

// The row's best atom: 1 - T rounds to nothing there, so the rise is counted from the
// runner-up on. `score` finds an atom's score. Infinite without a runner-up.
template <class T>
static double best_rise(const Plan<T>& p, const Scratch<T>& s, int r) {
  constexpr int W = Simd<T>::W;
  if (s.runner_up[r] <= Simd<T>::absent) return __builtin_inf();
  const double second = s.runner_up[r], gap = s.top[r] - second;
  if (p.reg == 0) return gap;
  double tail = 0;  // sum over the other atoms, relative to the runner-up
  for (int panel = 0; panel < p.npanel; ++panel) {
    const int v0 = p.panel_first[panel], nv = p.panel_first[panel + 1] - v0;
    const T* t = s.tile + (int64_t(v0) * kBlock + r * nv) * W;
    for (int i = 0; i < nv * W; ++i) {
      const double below = (t[i] - second) / p.reg;
      if (v0 * W + i != s.label[r] && below > -40) tail += __builtin_exp(below);
    }
  }
  return gap + p.reg * (__builtin_log1p(__builtin_exp(-gap / p.reg) * tail) - __builtin_log(tail));
}

// Before the scores are softened. OUT rise of each row's best atom.
template <class T>
static void best_rises(const Plan<T>& p, int n, const Scratch<T>& s, double* rise) {
  for (int r = 0; r < n; ++r) rise[r] = best_rise(p, s, r);
}

// After it: R += a rise for all atoms.
template <class T>
static void add_removal(const Plan<T>& p, int n, const Scratch<T>& s, const double* rise,
                        double* R) {
  constexpr int W = Simd<T>::W;
  for (int r = 0; r < n; ++r) {
    const double a = s.mass[r];
    if (a > 0) R[s.label[r]] += a * rise[r];
    if (p.reg == 0) continue;
    for (int panel = 0; panel < p.npanel; ++panel) {
      const int v0 = p.panel_first[panel], nv = p.panel_first[panel + 1] - v0;
      const T* t = s.tile + (int64_t(v0) * kBlock + r * nv) * W;
      for (int i = 0; i < nv * W; ++i) {
        if (t[i] == 0 || v0 * W + i == s.label[r]) continue;
        const double share = double(t[i]) / s.total[r];
        const double log_rest =
            share < 1e-5 ? -share * (1 + share / 2) : __builtin_log1p(-share);
        R[v0 * W + i] -= a * p.reg * log_rest;
      }
    }
  }
}

}  // namespace EMS_LEVEL
}  // namespace ems
