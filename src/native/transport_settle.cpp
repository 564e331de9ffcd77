// The exact plan: rows start at their best atoms, and mass moves on along shortest paths.
// kernels/settling.py is the same in NumPy, and explains it.
#include <algorithm>
#include <cmath>

#include "transport_lists.h"

namespace ems {

namespace {

constexpr double kTiny = 1e-14;    // mass below this is rounding
constexpr double kCrumb = 1e-12;   // a share of a row not worth moving, nor leaving behind
constexpr double kNever = INFINITY;
constexpr int kSweeps = 40;

// An edge of a path: entries of one atom that are tied, and the entries they go to.
struct Moves {
  std::vector<int64_t> from, to;
  double mass = 0;
};

class Settler {
 public:
  Settler(const ListsView& v, const double* w, double* h)
      : v_(v), w_(w), h_(h), f_(size(v.start[v.n])), row_(size(v.start[v.n])), N_(size(v.k)),
        held_(size(v.k)), edge_(size(v.k * v.k)), distance_(size(v.k)), before_(size(v.k)),
        settled_(size(v.k)) {
    double dearest = 0;
    for (int64_t i = 0; i < v.n; ++i)
      for (int64_t e = v.start[i]; e < v.start[i + 1]; ++e) {
        row_[size(e)] = i;
        dearest = std::max(dearest, v.cost[e]);
      }
    const auto [low, high] = std::minmax_element(h, h + v.k);
    const double middle = 0.5 * (*low + *high);  // of the prices only differences count, which
    for (int64_t j = 0; j < v.k; ++j) h[j] -= middle;  // far from 0 would be rounded away
    close_ = 1e-14 * (*high - *low + dearest);
    place_rows();
    for (int64_t j = 0; j < v.k; ++j) measure(j);
  }

  bool done() const {
    for (int64_t j = 0; j < v_.k; ++j)
      if (N_[size(j)] - w_[j] > kTiny) return false;
    return true;
  }

  // Mass moves along the shortest paths to the nearest atoms that lack it, along each as long as
  // those before have left its edges as short as they were.
  bool advance() {
    const std::vector<int64_t> ends = shortest_paths();
    for (const int64_t end : ends) {
      std::vector<int64_t> path{end};
      while (before_[size(path.back())] >= 0) path.push_back(before_[size(path.back())]);
      std::reverse(path.begin(), path.end());
      if (end == ends.front() || is_open(path)) push(path);
    }
    return !ends.empty();
  }

  // Into the middle of the prices that prove the plan: each atom as far from drawing a row as
  // from losing one, as far as a few sweeps get.
  void centre() {
    const int64_t k = v_.k;
    std::vector<double> in(edge_.size());  // the edges into an atom, side by side
    for (int64_t j = 0; j < k; ++j)
      for (int64_t l = 0; l < k; ++l) in[size(j * k + l)] = edge_[size(l * k + j)];
    for (int sweep = 0; sweep < kSweeps; ++sweep)
      for (int64_t j = 0; j < k; ++j) {
        const double low = -least(edge_.data() + j * k, h_, -1.0, k);
        const double high = least(in.data() + j * k, h_, 1.0, k);
        if (low < high && std::isfinite(high - low)) h_[j] = 0.5 * (low + high);
      }
  }

  Settled result() const {
    Settled out{0, 0};
    for (size_t e = 0; e < f_.size(); ++e) out.cost += f_[e] * v_.cost[e];
    for (int64_t j = 0; j < v_.k; ++j) out.left += std::max(N_[size(j)] - w_[j], 0.0);
    if (out.left <= kCrumb) out.left = 0;  // the masses' own rounding
    return out;
  }

 private:
  // min of a[l] + sign b[l]; several at a time, which compilers make vectors of.
  static double least(const double* a, const double* b, double sign, int64_t n) {
    constexpr int64_t kLanes = 8;
    double lanes[kLanes];
    std::fill(lanes, lanes + kLanes, kNever);
    int64_t l = 0;
    for (; l + kLanes <= n; l += kLanes)
      for (int64_t u = 0; u < kLanes; ++u) {
        const double x = a[l + u] + sign * b[l + u];
        lanes[u] = x < lanes[u] ? x : lanes[u];
      }
    for (; l < n; ++l) lanes[0] = std::min(lanes[0], a[l] + sign * b[l]);
    return *std::min_element(lanes, lanes + kLanes);
  }

  static size_t size(int64_t i) { return static_cast<size_t>(i); }

  void put(int64_t e, double mass) {
    if (!(mass > 0)) return;
    if (f_[size(e)] == 0) held_[size(v_.atom[e])].push_back(e);
    f_[size(e)] += mass;
    N_[size(v_.atom[e])] += mass;
  }

  double score(int64_t e) const { return h_[v_.atom[e]] - v_.cost[e]; }

  // Each row on its best atom; tied rows, after the others, where mass is lacking still.
  void place_rows() {
    std::vector<int64_t> ties;
    for (int64_t i = 0; i < v_.n; ++i) {
      int64_t best = v_.start[i];
      double top = score(best), next = -kNever;
      for (int64_t e = best + 1; e < v_.start[i + 1]; ++e) {
        const double here = score(e);
        if (here > top) {
          next = top;
          top = here;
          best = e;
        } else if (here > next) {
          next = here;
        }
      }
      if (next < top - close_) {
        put(best, v_.mass[i]);
      } else {
        ties.push_back(i);
      }
    }
    for (const int64_t i : ties) place_tied(i);
  }

  void place_tied(int64_t i) {
    double top = -kNever, left = v_.mass[i];
    for (int64_t e = v_.start[i]; e < v_.start[i + 1]; ++e) top = std::max(top, score(e));
    int64_t first = -1;
    for (int64_t e = v_.start[i]; e < v_.start[i + 1]; ++e) {
      if (score(e) < top - close_) continue;
      if (first < 0) first = e;
      const int64_t j = v_.atom[e];
      double mass = std::min(left, w_[j] - N_[size(j)]);
      if (left - mass < kCrumb * v_.mass[i]) mass = left;
      if (mass < kCrumb * v_.mass[i]) continue;
      put(e, mass);
      left -= mass;
    }
    put(first, left);
  }

  bool is_crumb(int64_t e) const { return f_[size(e)] <= kCrumb * v_.mass[row_[size(e)]]; }

  // The shortest edges out of an atom; entries that hold nothing any more are forgotten.
  void measure(int64_t j) {
    double* edge = edge_.data() + j * v_.k;
    std::fill(edge, edge + v_.k, kNever);
    std::vector<int64_t>& held = held_[size(j)];
    held.erase(std::remove_if(held.begin(), held.end(),
                              [&](int64_t e) { return f_[size(e)] == 0; }),
               held.end());
    for (const int64_t e : held) {
      if (is_crumb(e)) continue;
      const int64_t i = row_[size(e)];
      for (int64_t q = v_.start[i]; q < v_.start[i + 1]; ++q) {
        double& least = edge[v_.atom[q]];
        least = std::min(least, v_.cost[q] - v_.cost[e]);
      }
    }
    edge[j] = kNever;
  }

  // Dijkstra from all atoms of excess to as many that lack mass, as there are, the nearest first;
  // moves the prices.
  std::vector<int64_t> shortest_paths() {
    const int64_t k = v_.k;
    size_t sources = 0;
    for (int64_t j = 0; j < k; ++j) {
      const bool over = N_[size(j)] - w_[j] > kTiny;
      distance_[size(j)] = over ? 0 : kNever;
      before_[size(j)] = -1;
      settled_[size(j)] = 0;
      sources += over;
    }
    std::vector<int64_t> ends;
    double furthest = 0;
    int64_t j = nearest();
    while (j >= 0) {
      settled_[size(j)] = 1;
      furthest = distance_[size(j)];
      if (N_[size(j)] - w_[j] < -kTiny) ends.push_back(j);
      if (ends.size() == sources) break;
      j = relax(j);
    }
    if (!ends.empty())
      for (int64_t l = 0; l < k; ++l) h_[l] += std::min(distance_[size(l)], furthest);
    return ends;
  }

  // Whether mass can still go along a path: others have gone before.
  bool is_open(const std::vector<int64_t>& path) const {
    if (N_[size(path.front())] - w_[path.front()] <= kTiny) return false;
    for (size_t p = 0; p + 1 < path.size(); ++p) {
      const int64_t j = path[p], l = path[p + 1];
      if (edge_[size(j * v_.k + l)] + h_[j] - h_[l] > close_) return false;
    }
    return true;
  }

  // The nearest atom that is not settled and can be reached, or -1.
  int64_t nearest() const {
    int64_t best = -1;
    for (int64_t l = 0; l < v_.k; ++l)
      if (!settled_[size(l)] && distance_[size(l)] < (best < 0 ? kNever : distance_[size(best)]))
        best = l;
    return best;
  }

  // Paths on from a settled atom; then the nearest that is not settled.
  int64_t relax(int64_t j) {
    const double* edge = edge_.data() + j * v_.k;
    const double base = distance_[size(j)] + close_, price = h_[j];
    double least = kNever;
    int64_t best = -1;
    for (int64_t l = 0; l < v_.k; ++l) {
      if (settled_[size(l)]) continue;
      // Of paths that are tied the one of fewest hops is taken, or crumbs would go round.
      const double to = base + std::max(edge[l] + price - h_[l], 0.0);
      double& here = distance_[size(l)];
      if (to < here) {
        here = to;
        before_[size(l)] = j;
      }
      if (here < least) {
        least = here;
        best = l;
      }
    }
    return best;
  }

  // Entries of atom j whose rows lose as little as any by going to atom l.
  Moves tied(int64_t j, int64_t l) const {
    Moves moves;
    const double most = edge_[size(j * v_.k + l)] + close_;
    for (const int64_t e : held_[size(j)]) {
      if (is_crumb(e)) continue;
      const int64_t i = row_[size(e)];
      const int32_t* to = std::lower_bound(v_.atom + v_.start[i], v_.atom + v_.start[i + 1], l);
      if (to == v_.atom + v_.start[i + 1] || *to != l) continue;
      const int64_t q = to - v_.atom;
      if (v_.cost[q] - v_.cost[e] > most) continue;
      moves.from.push_back(e);
      moves.to.push_back(q);
      moves.mass += f_[size(e)];
    }
    return moves;
  }

  // As much mass as the path takes, all rows that are tied on an edge together.
  void push(const std::vector<int64_t>& path) {
    double amount = std::min(N_[size(path.front())] - w_[path.front()],
                             w_[path.back()] - N_[size(path.back())]);
    std::vector<Moves> edges;
    for (size_t p = 0; p + 1 < path.size(); ++p) {
      edges.push_back(tied(path[p], path[p + 1]));
      amount = std::min(amount, edges.back().mass);
    }
    for (const Moves& moves : edges) move(moves, amount);
    for (const int64_t j : path) measure(j);
  }

  void move(const Moves& moves, double amount) {
    for (size_t r = 0; r < moves.from.size() && amount > 0; ++r) {
      const int64_t e = moves.from[r];
      double mass = std::min(f_[size(e)], amount);
      if (f_[size(e)] - mass < kCrumb * v_.mass[row_[size(e)]]) mass = f_[size(e)];
      f_[size(e)] -= mass;
      N_[size(v_.atom[e])] -= mass;
      put(moves.to[r], mass);
      amount -= mass;
    }
  }

  const ListsView& v_;
  const double* w_;
  double* h_;
  std::vector<double> f_;     // mass on each entry
  std::vector<int64_t> row_;  // of each entry
  std::vector<double> N_;
  std::vector<std::vector<int64_t>> held_;  // entries that hold mass on each atom
  std::vector<double> edge_;                // (k, k) least cost[l] - cost[j] of a row of j
  std::vector<double> distance_;
  std::vector<int64_t> before_;
  std::vector<char> settled_;
  double close_ = 0;  // differences of scores below this are ties
};

}  // namespace

Settled settle(const ListsView& v, const double* w, double* h, Interrupt& interrupt) {
  Settler settler(v, w, h);
  while (!settler.done() && !interrupt.poll() && settler.advance()) {
  }
  settler.centre();
  return settler.result();
}

}  // namespace ems
