// Candidate lists: making them, and sums over them.
#pragma once

#include <memory>

#include "sweep.h"

namespace ems {

// The candidates of rows, chunk by chunk, until they are copied to where they are wanted.
class Candidates {
 public:
  int64_t entries() const;
  void fill(int64_t* start, int32_t* atom, double* cost) const;

  struct Chunk {
    std::vector<int64_t> lengths;
    std::vector<int32_t> atom;
    std::vector<double> cost;
  };
  std::vector<Chunk> chunks;
};

template <class T>
Candidates sweep_candidates(const Engine&, const Request&, const RowsView&, double reach,
                            Interrupt&);

// Lists as they lie in memory: row i has the entries start[i] .. start[i + 1] - 1.
struct ListsView {
  int64_t n, k;
  const int64_t* start;
  const int32_t* atom;  // ascending in each row
  const double* cost;
  const double* mass;
};

// OUT. N (k,) and, unless null, H (k, k), both zero before.
struct ListTotals {
  double* N;
  double* H;
  double L, L0, cost;
};

void list_sums(int threads, const ListsView&, const double* h, double eps, ListTotals&,
               Interrupt&);

// The cheapest plan in the lists whose columns are w. IN and OUT h (k,): prices that prove it.
struct Settled {
  double cost, left;
};
Settled settle(const ListsView&, const double* w, double* h, Interrupt&);

}  // namespace ems
