#include "packed.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ems {

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Below every score an atom can have, and finite, so that no difference is NaN.
template <class T>
constexpr T kNoAtom = sizeof(T) == 4 ? T(-1e37) : T(-1e300);

template <class T>
PackedAtoms<T>::PackedAtoms(const Ops<T>& ops, const Request& request, int64_t columns)
    : packed_(round_up(request.k, ops.lanes) * request.d),
      bias_(round_up(request.k, ops.lanes)),
      center_hi_(round_up(request.d, ops.lanes)),
      center_lo_(round_up(request.d, ops.lanes)) {
  const int64_t lanes = ops.lanes;
  plan.d = request.d;
  plan.k = request.k;
  plan.nvec = (request.k + lanes - 1) / lanes;
  plan.npanel = static_cast<int>((plan.nvec + ops.max_panel - 1) / ops.max_panel);
  for (int64_t i = 0; i <= plan.npanel; ++i)  // as even as can be: 13 vectors are 4, 3, 3, 3
    panel_first_.push_back(static_cast<int32_t>(
        i * (plan.nvec / plan.npanel) + std::min<int64_t>(i, plan.nvec % plan.npanel)));
  pack(ops, request);
  plan.panel_first = panel_first_.data();
  plan.packed = packed_.get();
  plan.bias = bias_.get();
  plan.center_hi = center_hi_.get();
  plan.center_lo = center_lo_.get();
  plan.atoms = request.atoms;
  plan.offset = request.offset;
  plan.center = request.center;
  plan.reg = request.reg;
  // What is dropped below the cut adds up, over all atoms, to less than a rounding.
  const double bits = std::numeric_limits<T>::digits + 2 + std::log2(double(request.k));
  plan.cut = request.reg * bits * std::log(2.0);
  plan.scale = static_cast<T>(
      std::min(1 / (std::log(2.0) * request.reg), double(std::numeric_limits<T>::max()) / 16));
  plan.cols = columns;
  plan.lds = columns == 1 ? 1 : round_up(request.d + 2, lanes);
  plan.ldx = round_up(request.d + 2, lanes);
  // Rows a power of two apart would share few cache sets.
  if (plan.ldx * int64_t(sizeof(T)) % 1024 == 0) plan.ldx += lanes;
}

template <class T>
void PackedAtoms<T>::pack(const Ops<T>& ops, const Request& q) {
  const int64_t lanes = ops.lanes;
  for (int64_t c = 0; c < q.d; ++c) {
    center_hi_[c] = static_cast<T>(q.center[c]);
    center_lo_[c] = static_cast<T>(q.center[c] - double(center_hi_[c]));
  }
  for (int panel = 0; panel < plan.npanel; ++panel) {
    const int64_t v0 = panel_first_[static_cast<size_t>(panel)];
    const int64_t nv = panel_first_[static_cast<size_t>(panel) + 1] - v0;
    T* out = packed_.get() + v0 * lanes * q.d;
    for (int64_t i = 0; i < nv * lanes; ++i) {
      const int64_t j = v0 * lanes + i;
      const bool present = j < q.k && q.offset[j] != -std::numeric_limits<double>::infinity();
      double square = 0;
      for (int64_t c = 0; c < q.d && present; ++c) {
        const T y = static_cast<T>(q.atoms[j * q.d + c]);
        out[c * nv * lanes + i] = 2 * y;
        square += double(y) * double(y);
      }
      bias_[j] = present ? static_cast<T>(q.offset[j] - square) : kNoAtom<T>;
    }
  }
}

template <class T>
Workspace<T>::Workspace(const Ops<T>& ops, const Plan<T>& p, bool tile)
    : x_(kBlock * p.ldx),
      tile_(tile ? kBlock * p.nvec * ops.lanes : 0),
      best_(kBlock * ops.lanes),
      second_(kBlock * ops.lanes),
      where_(kBlock * ops.lanes),
      top_(kBlock),
      runner_up_(kBlock),
      total_(kBlock),
      square_(kBlock),
      mass_(kBlock),
      weight_(kListed + p.k + 2 * ops.lanes),
      label_(kBlock),
      list_(kListed + p.k + 2 * ops.lanes),
      owner_(kListed + p.k + 2 * ops.lanes) {
  scratch = {x_.get(),   tile_.get(),      best_.get(),  second_.get(), where_.get(), top_.get(),
             runner_up_.get(), total_.get(), square_.get(), mass_.get(), label_.get(), nullptr, 0, list_.get(), owner_.get(), weight_.get()};
  std::fill(total_.get(), total_.get() + kBlock, T(1));
}

template class PackedAtoms<float>;
template class PackedAtoms<double>;
template class Workspace<float>;
template class Workspace<double>;

}  // namespace ems
