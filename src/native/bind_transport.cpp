// The Python bindings of candidate lists.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bind_transport.h"
#include "borrowed.h"
#include "transport_lists.h"

using ems::Borrowed;
using ems::Input;
using ems::length;
using ems::Optional;
using ems::run;

namespace {

// Lists held for the length of a call.
struct HeldLists {
  HeldLists(nb::handle start, nb::handle atom, nb::handle cost, nb::handle mass, int64_t k)
      : s(start, false), a(atom, false), c(cost, false), m(mass, false) {
    const int64_t n = length(mass), entries = length(atom);
    view = {n,
            k,
            s.values<int64_t>(n + 1),
            a.values<int32_t>(entries),
            c.values<double>(entries),
            m.values<double>(n)};
    if (view.start[n] != entries) throw nb::value_error("lists whose parts do not fit together");
  }
  Borrowed s, a, c, m;
  ems::ListsView view{};
};

ems::Candidates candidates(nb::handle X, nb::handle atoms, nb::handle offset, nb::handle center,
                           double reach, int threads, const std::string& level) {
  const Input in(X, nb::none(), atoms, offset, center, 0);
  const ems::Engine engine = ems::make_engine(threads, level);
  ems::Candidates found;
  run(in.x.is_float(), [&](auto type, ems::Interrupt& interrupt) {
    found = ems::sweep_candidates<decltype(type)>(engine, in.request, in.rows, reach, interrupt);
  });
  return found;
}

void fill(const ems::Candidates& found, nb::handle start, nb::handle atom, nb::handle cost) {
  const Borrowed s(start, true), a(atom, true), c(cost, true);
  const int64_t m = found.entries();
  found.fill(s.values<int64_t>(length(start)), a.values<int32_t>(m), c.values<double>(m));
}

std::tuple<double, double, double> list_sums(nb::handle start, nb::handle atom, nb::handle cost,
                                             nb::handle mass, nb::handle h, double eps,
                                             nb::handle N, nb::handle H, int threads) {
  const int64_t k = length(h);
  const HeldLists lists(start, atom, cost, mass, k);
  const Borrowed offset(h, false), n(N, true);
  const Optional<double> products(H, true, k * k);
  ems::ListTotals totals{n.values<double>(k), products.data, 0, 0, 0};
  const double* at = offset.values<double>(k);
  run(false, [&](auto, ems::Interrupt& interrupt) {
    ems::list_sums(threads, lists.view, at, eps, totals, interrupt);
  });
  return {totals.L, totals.L0, totals.cost};
}

std::tuple<double, double> settle(nb::handle start, nb::handle atom, nb::handle cost,
                                  nb::handle mass, nb::handle w, nb::handle h) {
  const int64_t k = length(w);
  const HeldLists lists(start, atom, cost, mass, k);
  const Borrowed weights(w, false), prices(h, true);
  const double* const to = weights.values<double>(k);
  double* const at = prices.values<double>(k);
  ems::Settled out{};
  run(false, [&](auto, ems::Interrupt& interrupt) {
    out = ems::settle(lists.view, to, at, interrupt);
  });
  return {out.cost, out.left};
}

}  // namespace

void bind_transport(nb::module_& m) {
  nb::class_<ems::Candidates>(m, "Candidates", "Lists not yet copied to arrays.")
      .def("entries", &ems::Candidates::entries)
      .def("fill", &fill, nb::arg("start"), nb::arg("atom"), nb::arg("cost"));
  m.def("candidates", &candidates, nb::arg("X"), nb::arg("atoms"), nb::arg("offset"),
        nb::arg("center"), nb::arg("reach"), nb::arg("threads"), nb::arg("level"),
        "The atoms of each row in reach of its best.");
  m.def("list_sums", &list_sums, nb::arg("start"), nb::arg("atom"), nb::arg("cost"),
        nb::arg("mass"), nb::arg("h"), nb::arg("eps"), nb::arg("N"), nb::arg("H").none(),
        nb::arg("threads"), "Fills N and, unless None, H, which must be zero; returns (L, L0, cost).");
  m.def("settle", &settle, nb::arg("start"), nb::arg("atom"), nb::arg("cost"), nb::arg("mass"),
        nb::arg("w"), nb::arg("h"),
        "Moves the prices h to those of the cheapest plan with columns w; returns (cost, left).");
}
