// A pass over all rows: packs the atoms, cuts the rows into chunks, adds up what they yield.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "plan.h"
#include "threads.h"

namespace ems {

// The instruction sets that this build has and this processor runs, best last.
std::vector<std::string> level_names();

// Where and how a pass runs: thread count and instruction set.
struct Engine {
  int threads;
  const Level* level;
};
Engine make_engine(int threads, const std::string& level);

// One sweep over the data, as the caller states it.
struct Request {
  int64_t d, k;
  const double* atoms;   // (k, d), relative to center
  const double* offset;  // (k,) -inf: no atom
  const double* center;  // (d,)
  double reg;
};

// How the blocks of a sweep learn of an interrupt. Looking at the clock takes as long as scoring
// a few rows against few atoms, so some million multiplications lie between two looks.
Stop stop_by(Interrupt&, const Request&);

// OUT. S and Q may be null together, R alone.
struct Totals {
  double* N;  // (k,)
  double* S;  // (k, d)
  double* Q;  // (k,)
  double* R;  // (k,)
  double L, L0, mass;
};

template <class T>
void sweep_stats(const Engine&, const Request&, const RowsView&, Totals&, Interrupt&);

template <class T>
void sweep_assign(const Engine&, const Request&, const RowsView&, int64_t* labels, double* cost,
                  double* gap, Interrupt&);

template <class T>
void sweep_plan(const Engine&, const Request&, const RowsView&, double* out, Interrupt&);

// Greedy k-means++ from row `first`; uniforms (steps, trials). Returns the chosen rows.
template <class T>
std::vector<int64_t> plusplus(const Engine&, const RowsView&, int64_t d, int64_t first,
                              const double* uniforms, int64_t steps, int64_t trials, Interrupt&);

template <class T>
inline const Ops<T>& ops_of(const Engine& engine);
template <>
inline const Ops<float>& ops_of<float>(const Engine& engine) {
  return *engine.level->f32;
}
template <>
inline const Ops<double>& ops_of<double>(const Engine& engine) {
  return *engine.level->f64;
}

}  // namespace ems
