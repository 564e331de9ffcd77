// The kernel without Python, against sums written out term by term: for processors that are
// only emulated, and for sanitizers. Prints what it compared; fails on the first difference.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "sweep.h"

using ems::Engine;
using Doubles = std::vector<double>;

namespace {

struct Problem {
  int64_t n, d, k;
  double reg;
  Doubles X, mass, atoms, offset, center;
};

Problem make(int64_t n, int64_t d, int64_t k, double reg) {
  std::mt19937 draw(17);
  std::normal_distribution<double> normal;
  Problem p{n, d, k, reg, Doubles(n * d), Doubles(n), Doubles(k * d), Doubles(k), Doubles(d)};
  for (double& c : p.center) c = 3 + normal(draw);
  for (double& y : p.atoms) y = normal(draw);
  for (double& h : p.offset) h = 0.1 * normal(draw);
  if (k > 2) p.offset[1] = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i) {
    p.mass[i] = 0.5 + double(draw() % 8) / 8;
    for (int64_t c = 0; c < d; ++c)  // exact as float, so that both types see the same rows
      p.X[i * d + c] = float(p.center[c] + p.atoms[(draw() % k) * d + c] + 0.5 * normal(draw));
  }
  return p;
}

struct Sums {
  Doubles N, S, Q, R;
  double L = 0, L0 = 0, mass = 0;
  explicit Sums(const Problem& p) : N(p.k), S(p.k * p.d), Q(p.k), R(p.k) {}
};

double score(const Problem& p, int64_t i, int64_t j) {
  double cost = 0;
  for (int64_t c = 0; c < p.d; ++c) {
    const double e = p.X[i * p.d + c] - p.center[c] - p.atoms[j * p.d + c];
    cost += e * e;
  }
  return p.offset[j] - cost;
}

// The definitions, in double. OUT the row's plan T; returns its logarithm of the sum.
double plan_of(const Problem& p, const Doubles& H, Doubles& T) {
  size_t best = 0;
  for (size_t j = 1; j < H.size(); ++j) best = H[j] > H[best] ? j : best;
  double total = 0;
  for (size_t j = 0; j < H.size(); ++j)
    total += T[j] = p.reg > 0 ? std::exp((H[j] - H[best]) / p.reg) : double(j == best);
  for (double& t : T) t /= total;
  return H[best] + p.reg * std::log(total);
}

Sums written_out(const Problem& p) {
  Sums s(p);
  Doubles H(p.k), T(p.k), rest(p.k - 1), unused(p.k - 1);
  for (int64_t i = 0; i < p.n; ++i) {
    for (int64_t j = 0; j < p.k; ++j) H[j] = score(p, i, j);
    const double level = plan_of(p, H, T), a = p.mass[i];
    double square = 0;
    for (int64_t c = 0; c < p.d; ++c) square += std::pow(p.X[i * p.d + c] - p.center[c], 2);
    for (int64_t j = 0; j < p.k; ++j) {
      s.N[j] += a * T[j];
      s.Q[j] += a * T[j] * square;
      for (int64_t c = 0; c < p.d; ++c)
        s.S[j * p.d + c] += a * T[j] * (p.X[i * p.d + c] - p.center[c]);
      for (int64_t l = 0; l + 1 < p.k; ++l) rest[l] = H[l < j ? l : l + 1];
      s.R[j] += a * (level - plan_of(p, rest, unused));
    }
    double top = H[0];
    for (double h : H) top = h > top ? h : top;
    s.L0 -= a * top;
    s.L -= a * level;
    s.mass += a;
  }
  return s;
}

void agree(const char* what, const double* got, const double* want, size_t n, double tol) {
  double size = 1;
  for (size_t i = 0; i < n; ++i) size = std::max(size, std::fabs(want[i]));
  for (size_t i = 0; i < n; ++i) {
    if (std::fabs(got[i] - want[i]) <= tol * size) continue;
    std::printf("%s[%zu] is %.17g, not %.17g (to %g)\n", what, i, got[i], want[i], tol * size);
    std::exit(1);
  }
}

void agree(const Sums& got, const Sums& want, double tol) {
  agree("N", got.N.data(), want.N.data(), want.N.size(), tol);
  agree("S", got.S.data(), want.S.data(), want.S.size(), tol);
  agree("Q", got.Q.data(), want.Q.data(), want.Q.size(), tol);
  const double rows = std::sqrt(std::max(1.0, want.mass));  // whose roundings nearly cancel
  agree("L", &got.L, &want.L, 1, tol * rows);
  agree("L0", &got.L0, &want.L0, 1, tol * rows);
  agree("mass", &got.mass, &want.mass, 1, tol);
  const double levels = std::fabs(want.L) + std::fabs(want.L0);
  agree("R", got.R.data(), want.R.data(), want.R.size(), tol * std::max(1.0, levels));
}

template <class T>
void check(const Problem& p, const Sums& want, const std::string& level) {
  const std::vector<T> X(p.X.begin(), p.X.end());
  const ems::RowsView rows{reinterpret_cast<const char*>(X.data()), p.n,
                           p.d * int64_t(sizeof(T)), p.mass.data()};
  const ems::Request request{p.d, p.k, p.atoms.data(), p.offset.data(), p.center.data(), p.reg};
  ems::Interrupt never([] { return false; });

  // What is not asked for is taken from `want`.
  const auto sums = [&](int threads, bool moments, bool removal) {
    Sums s = want;
    std::fill(s.N.begin(), s.N.end(), 0);
    if (moments) s.S.assign(s.S.size(), 0), s.Q.assign(s.Q.size(), 0);
    if (removal) s.R.assign(s.R.size(), 0);
    ems::Totals totals{s.N.data(), moments ? s.S.data() : nullptr, moments ? s.Q.data() : nullptr,
                       removal ? s.R.data() : nullptr, 0, 0, 0};
    ems::sweep_stats<T>(ems::make_engine(threads, level), request, rows, totals, never);
    s.L = totals.L, s.L0 = totals.L0, s.mass = totals.mass;
    return s;
  };
  for (const bool moments : {false, true}) {
    for (const bool removal : {false, true}) {
      const Sums one = sums(1, moments, removal);
      agree(one, want, sizeof(T) == 4 ? (p.reg > 0 ? 2e-6 + 1e-5 / p.reg : 2e-6) : 1e-10);
      agree(sums(3, moments, removal), one, 0);
    }
  }

  const Engine engine = ems::make_engine(2, level);
  std::vector<int64_t> labels(p.n);
  Doubles cost(p.n), gap(p.n), T_all(p.n * p.k), H(p.k), T_row(p.k);
  ems::sweep_assign<T>(engine, request, rows, labels.data(), cost.data(), gap.data(), never);
  ems::sweep_plan<T>(engine, request, rows, T_all.data(), never);
  for (int64_t i = 0; i < p.n; ++i) {
    int64_t best = 0;
    for (int64_t j = 0; j < p.k; ++j) best = score(p, i, j) > score(p, i, best) ? j : best;
    const double found = double(labels[i]), expected = double(best);
    agree("label", &found, &expected, 1, 0);
    for (int64_t j = 0; j < p.k; ++j) H[j] = score(p, i, j);
    plan_of(p, H, T_row);
    if (p.reg > 0 || sizeof(T) == 8)  // a one-hot float32 row may have the other of two near ties
      agree("T", &T_all[i * p.k], T_row.data(), p.k, sizeof(T) == 4 ? 1e-4 / p.reg : 1e-10);
  }

  Doubles uniforms(3 * 5);
  for (size_t i = 0; i < uniforms.size(); ++i) uniforms[i] = double(i * 7 % 15) / 15;
  const auto seeds = [&](int threads) {
    return ems::plusplus<T>(ems::make_engine(threads, level), rows, p.d, 0, uniforms.data(), 5, 3,
                            never);
  };
  if (seeds(1) != seeds(3) || seeds(1).size() != std::min<size_t>(6, p.n)) {
    std::printf("seeding depends on the threads\n");
    std::exit(1);
  }
}

}  // namespace

int main() {
  const int64_t sizes[][3] = {{1, 1, 2},      {97, 2, 3},     {1500, 5, 40},
                              {500, 50, 131}, {403, 101, 16}, {1000, 2, 150}};
  for (const auto& [n, d, k] : sizes) {
    for (const double reg : {0.0, 0.002, 0.05, 1.0, 30.0}) {
      const Problem p = make(n, d, k, reg);
      const Sums want = written_out(p);
      for (const std::string& level : ems::level_names()) {
        check<float>(p, want, level);
        check<double>(p, want, level);
      }
    }
  }
  for (const std::string& level : ems::level_names()) std::printf("%s: as written out\n", level.c_str());
  return 0;
}
