#include "sweep.h"

#include <algorithm>
#include <memory>

#include "packed.h"

namespace ems {

// Rows of a chunk: a function of n alone, so that sums do not depend on the threads. Short
// enough for float32 sums and for balance, long enough that merging costs nothing.
static int64_t chunk_rows(int64_t n) {
  const int64_t blocks = n / (64 * kBlock);
  return kBlock * std::clamp<int64_t>(blocks, 8, 168);
}

Stop stop_by(Interrupt& interrupt, const Request& request) {
  const auto poll = [](void* context) { return static_cast<Interrupt*>(context)->poll(); };
  const int64_t blocks = (int64_t(1) << 22) / (kBlock * request.k * (request.d + 1));
  return {poll, &interrupt, kBlock * std::clamp<int64_t>(blocks, 1, 32)};
}

// Each worker's memory, made when the worker first needs it.
template <class T>
class Workspaces {
 public:
  Workspaces(const Engine& engine, const Plan<T>& p, bool tile)
      : ops_(ops_of<T>(engine)), p_(p), tile_(tile), of_(static_cast<size_t>(engine.threads)) {}
  Scratch<T>& of(int worker) {
    auto& own = of_[static_cast<size_t>(worker)];
    if (!own) own = std::make_unique<Workspace<T>>(ops_, p_, tile_);
    return own->scratch;
  }

 private:
  const Ops<T>& ops_;
  const Plan<T>& p_;
  const bool tile_;
  std::vector<std::unique_ptr<Workspace<T>>> of_;
};

namespace {

// The sums of all chunks in double, one array for each of the two layouts.
template <class T>
class Merged {
 public:
  Merged(const Ops<T>& ops, const Plan<T>& p)
      : p_(p),
        lanes_(ops.lanes),
        dense_size_(p.nvec * ops.lanes * p.cols),
        sparse_size_(p.k * p.lds) {}

  int64_t chunk_size() const { return std::max(dense_size_, sparse_size_); }

  void add(const ChunkSums<T>& chunk, Totals& totals) {
    const int64_t n = chunk.dense ? dense_size_ : sparse_size_;
    Array<double>& sums = chunk.dense ? dense_ : sparse_;
    if (!sums.get()) sums = Array<double>(n);
    double* to = sums.get();
    for (int64_t i = 0; i < n; ++i) to[i] += double(chunk.sums[i]);
    for (int64_t j = 0; j < p_.k && chunk.R; ++j) totals.R[j] += chunk.R[j];
    totals.L += chunk.L;
    totals.L0 += chunk.L0;
    totals.mass += chunk.mass;
  }

  // N, S and Q from the columns x - center, |x - center|^2, 1.
  void finish(Totals& totals) const {
    if (sparse_.get()) {
      for (int64_t j = 0; j < p_.k; ++j)
        for (int64_t c = 0; c < p_.cols; ++c) put(totals, j, c, sparse_[j * p_.lds + c]);
    }
    if (!dense_.get()) return;
    for (int panel = 0; panel < p_.npanel; ++panel) {
      const int64_t v0 = p_.panel_first[panel];
      const int64_t width = (p_.panel_first[panel + 1] - v0) * lanes_;
      const double* from = dense_.get() + panel_offset(p_.panel_first, panel, lanes_, p_.cols);
      for (int64_t c = 0; c < p_.cols; ++c)
        for (int64_t i = 0; i < width && v0 * lanes_ + i < p_.k; ++i)
          put(totals, v0 * lanes_ + i, c, from[c * width + i]);
    }
  }

 private:
  void put(Totals& totals, int64_t j, int64_t c, double value) const {
    if (c == p_.cols - 1) {
      totals.N[j] += value;
    } else if (c == p_.d) {
      totals.Q[j] += value;
    } else {
      totals.S[j * p_.d + c] += value;
    }
  }

  const Plan<T>& p_;
  const int64_t lanes_, dense_size_, sparse_size_;
  Array<double> dense_, sparse_;
};

// The sums a chunk is worked out in.
template <class T>
struct ChunkBuffer {
  Array<T> sums;
  Array<double> R;
  ChunkSums<T> chunk{};
};

}  // namespace

template <class T>
void sweep_stats(const Engine& engine, const Request& request, const RowsView& rows,
                 Totals& totals, Interrupt& interrupt) {
  const Ops<T>& ops = ops_of<T>(engine);
  const PackedAtoms<T> atoms(ops, request, totals.S ? request.d + 2 : 1);
  const Plan<T>& p = atoms.plan;
  const int64_t step = chunk_rows(rows.n), chunks = (rows.n + step - 1) / step;
  const int buffers = static_cast<int>(std::min<int64_t>(chunks, 2 * engine.threads));
  Workspaces<T> workspaces(engine, p, request.reg > 0);
  Merged<T> merged(ops, p);
  std::vector<ChunkBuffer<T>> made(static_cast<size_t>(buffers));

  const auto work = [&](int64_t item, int worker, int b) {
    ChunkBuffer<T>& buffer = made[static_cast<size_t>(b)];
    if (!buffer.sums.get()) buffer.sums = Array<T>(merged.chunk_size());
    if (totals.R) buffer.R = Array<double>(p.nvec * ops.lanes);
    buffer.chunk.sums = buffer.sums.get();
    buffer.chunk.R = buffer.R.get();
    ops.stats(p, rows, item * step, std::min(rows.n, (item + 1) * step), workspaces.of(worker),
              buffer.chunk, stop_by(interrupt, request));
  };
  const auto merge = [&](int64_t, int b) { merged.add(made[static_cast<size_t>(b)].chunk, totals); };
  for_each_in_order(chunks, engine.threads, buffers, interrupt, work, merge);
  if (!interrupt.stopped()) merged.finish(totals);
}

template <class T>
void sweep_assign(const Engine& engine, const Request& request, const RowsView& rows,
                  int64_t* labels, double* cost, double* gap, Interrupt& interrupt) {
  const PackedAtoms<T> atoms(ops_of<T>(engine), request, 1);
  const int64_t step = chunk_rows(rows.n);
  Workspaces<T> workspaces(engine, atoms.plan, true);
  for_each((rows.n + step - 1) / step, engine.threads, interrupt, [&](int64_t item, int worker) {
    ops_of<T>(engine).assign(atoms.plan, rows, item * step, std::min(rows.n, (item + 1) * step),
                             workspaces.of(worker), labels, cost, gap, stop_by(interrupt, request));
  });
}

template <class T>
void sweep_plan(const Engine& engine, const Request& request, const RowsView& rows, double* out,
                Interrupt& interrupt) {
  const PackedAtoms<T> atoms(ops_of<T>(engine), request, 1);
  const int64_t step = chunk_rows(rows.n);
  Workspaces<T> workspaces(engine, atoms.plan, true);
  for_each((rows.n + step - 1) / step, engine.threads, interrupt, [&](int64_t item, int worker) {
    ops_of<T>(engine).plan_rows(atoms.plan, rows, item * step,
                                std::min(rows.n, (item + 1) * step), workspaces.of(worker), out,
                                stop_by(interrupt, request));
  });
}

#define EMS_INSTANTIATE(T)                                                                       \
  template void sweep_stats<T>(const Engine&, const Request&, const RowsView&, Totals&,          \
                               Interrupt&);                                                      \
  template void sweep_assign<T>(const Engine&, const Request&, const RowsView&, int64_t*,        \
                                double*, double*, Interrupt&);                                   \
  template void sweep_plan<T>(const Engine&, const Request&, const RowsView&, double*, Interrupt&);
EMS_INSTANTIATE(float)
EMS_INSTANTIATE(double)
#undef EMS_INSTANTIATE

}  // namespace ems
