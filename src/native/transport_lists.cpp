#include "transport_lists.h"

#include <algorithm>
#include <cmath>

#include "packed.h"

namespace ems {

int64_t Candidates::entries() const {
  int64_t n = 0;
  for (const Chunk& chunk : chunks) n += static_cast<int64_t>(chunk.atom.size());
  return n;
}

void Candidates::fill(int64_t* start, int32_t* atom, double* cost) const {
  int64_t at = 0;
  for (const Chunk& chunk : chunks) {
    std::copy(chunk.atom.begin(), chunk.atom.end(), atom + at);
    std::copy(chunk.cost.begin(), chunk.cost.end(), cost + at);
    for (const int64_t length : chunk.lengths) {
      *start++ = at;
      at += length;
    }
  }
  *start = at;
}

static void take(void* context, const int32_t* atoms, const double* costs, int n) {
  auto* chunk = static_cast<Candidates::Chunk*>(context);
  chunk->lengths.push_back(n);
  chunk->atom.insert(chunk->atom.end(), atoms, atoms + n);
  chunk->cost.insert(chunk->cost.end(), costs, costs + n);
}

template <class T>
Candidates sweep_candidates(const Engine& engine, const Request& request, const RowsView& rows,
                            double reach, Interrupt& interrupt) {
  const Ops<T>& ops = ops_of<T>(engine);
  const PackedAtoms<T> atoms(ops, request, 1);
  const int64_t step = 16 * kBlock;
  Candidates found;
  found.chunks.resize(static_cast<size_t>((rows.n + step - 1) / step));
  struct Worker {
    std::unique_ptr<Workspace<T>> space;
    std::vector<double> row, costs;
  };
  std::vector<Worker> workers(static_cast<size_t>(engine.threads));
  for_each(static_cast<int64_t>(found.chunks.size()), engine.threads, interrupt,
           [&](int64_t item, int number) {
             Worker& w = workers[static_cast<size_t>(number)];
             if (!w.space) {
               w.space = std::make_unique<Workspace<T>>(ops, atoms.plan, true);
               w.row.resize(static_cast<size_t>(request.d));
               w.costs.resize(static_cast<size_t>(request.k));
             }
             Candidates::Chunk& chunk = found.chunks[static_cast<size_t>(item)];
             const Taker taker{take, &chunk, w.row.data(), w.costs.data()};
             ops.candidates(atoms.plan, rows, item * step, std::min(rows.n, (item + 1) * step),
                            w.space->scratch, reach, taker, stop_by(interrupt, request));
           });
  return found;
}

template Candidates sweep_candidates<float>(const Engine&, const Request&, const RowsView&,
                                            double, Interrupt&);
template Candidates sweep_candidates<double>(const Engine&, const Request&, const RowsView&,
                                             double, Interrupt&);

namespace {

// What one chunk of rows adds up to, and what one row needs.
struct ChunkTotals {
  Array<double> N, H;
  double L, L0, cost;
};
struct RowScratch {
  std::vector<double> weight;
  std::vector<int32_t> atom;
};

// exp((score - top) / eps) of the entries that count, their sum, and sum weight * cost.
struct Row {
  double top = -INFINITY, total = 0, cost = 0;
  int32_t n = 0;  // entries that count
};

constexpr double kLeast = -37;  // exp of less is below a rounding of 1

Row weigh(const ListsView& v, int64_t i, const double* h, double eps, RowScratch& s) {
  const int64_t from = v.start[i], to = v.start[i + 1];
  Row row;
  int64_t best = from;
  for (int64_t e = from; e < to; ++e) {
    const double score = h[v.atom[e]] - v.cost[e];
    s.weight[static_cast<size_t>(e - from)] = score;
    if (score > row.top) {
      row.top = score;
      best = e;
    }
  }
  if (eps == 0) {
    s.atom[0] = v.atom[best];
    s.weight[0] = 1;
    return {row.top, 1, v.cost[best], 1};
  }
  for (int64_t e = from; e < to; ++e) {
    const double x = (s.weight[static_cast<size_t>(e - from)] - row.top) / eps;
    if (!(x > kLeast)) continue;
    const double t = std::exp(x);
    s.weight[static_cast<size_t>(row.n)] = t;
    s.atom[static_cast<size_t>(row.n++)] = v.atom[e];
    row.total += t;
    row.cost += t * v.cost[e];
  }
  return row;
}

// H += f w w' in its upper triangle: atoms ascend.
void add_products(const Row& row, const RowScratch& s, double f, int64_t k, double* H) {
  const double* w = s.weight.data();
  const int32_t* atom = s.atom.data();
  for (int32_t j = 0; j < row.n; ++j) {
    const double fw = f * w[j];
    double* line = H + atom[j] * k;
    if (row.n == k) {
      for (int32_t l = j; l < row.n; ++l) line[l] += fw * w[l];
    } else {
      for (int32_t l = j; l < row.n; ++l) line[atom[l]] += fw * w[l];
    }
  }
}

void sum_chunk(const ListsView& v, const double* h, double eps, int64_t first, int64_t last,
               RowScratch& s, ChunkTotals& out, Interrupt& interrupt) {
  out.L = out.L0 = out.cost = 0;
  for (int64_t i = first; i < last; ++i) {
    if (i % 1024 == 0 && interrupt.poll()) return;
    const Row row = weigh(v, i, h, eps, s);
    const double a = v.mass[i], f = a / row.total;
    for (int32_t j = 0; j < row.n; ++j) out.N[s.atom[static_cast<size_t>(j)]] += f * s.weight[static_cast<size_t>(j)];
    out.cost += f * row.cost;
    out.L0 -= a * row.top;
    out.L -= a * (row.top + eps * std::log(row.total));
    if (out.H.get()) add_products(row, s, f / row.total, v.k, out.H.get());
  }
}

// Chunks depend on the lists alone; few enough that merging k x k numbers costs little.
int64_t chunks_of(const ListsView& v, bool products) {
  const double m = double(v.start[v.n]);
  const double work = products ? m * (m / double(v.n)) / (8.0 * double(v.k * v.k)) : m / 16384;
  return std::clamp<int64_t>(static_cast<int64_t>(work), 1, std::min<int64_t>(v.n, 64));
}

}  // namespace

void list_sums(int threads, const ListsView& v, const double* h, double eps, ListTotals& totals,
               Interrupt& interrupt) {
  const int64_t k = v.k, chunks = chunks_of(v, totals.H != nullptr);
  const int buffers = static_cast<int>(std::min<int64_t>(chunks, 2 * threads));
  int64_t longest = 1;
  for (int64_t i = 0; i < v.n; ++i) longest = std::max(longest, v.start[i + 1] - v.start[i]);
  std::vector<ChunkTotals> made(static_cast<size_t>(buffers));
  std::vector<RowScratch> scratch(static_cast<size_t>(threads));
  totals.L = totals.L0 = totals.cost = 0;

  const auto work = [&](int64_t item, int worker, int b) {
    RowScratch& s = scratch[static_cast<size_t>(worker)];
    s.weight.resize(static_cast<size_t>(longest));
    s.atom.resize(static_cast<size_t>(longest));
    ChunkTotals& out = made[static_cast<size_t>(b)];
    out.N = Array<double>(k);
    if (totals.H) out.H = Array<double>(k * k);
    sum_chunk(v, h, eps, v.n * item / chunks, v.n * (item + 1) / chunks, s, out, interrupt);
  };
  const auto merge = [&](int64_t, int b) {
    const ChunkTotals& part = made[static_cast<size_t>(b)];
    for (int64_t j = 0; j < k; ++j) totals.N[j] += part.N[j];
    for (int64_t j = 0; j < k && totals.H; ++j)
      for (int64_t l = j; l < k; ++l) totals.H[j * k + l] += part.H[j * k + l];
    totals.L += part.L;
    totals.L0 += part.L0;
    totals.cost += part.cost;
  };
  for_each_in_order(chunks, threads, buffers, interrupt, work, merge);
  for (int64_t j = 0; j < k && totals.H; ++j)
    for (int64_t l = j + 1; l < k; ++l) totals.H[l * k + j] = totals.H[j * k + l];
}

}  // namespace ems
