// The Python bindings of the pass, and nothing else. Other parts bind themselves in a
// bind_*.cpp of their own and are called at the end.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "bind_transport.h"
#include "bind_trees.h"
#include "borrowed.h"

using ems::Borrowed;
using ems::Input;
using ems::length;
using ems::Optional;
using ems::run;

namespace {

std::tuple<double, double, double> stats(nb::handle X, nb::handle mass, nb::handle atoms,
                                         nb::handle offset, nb::handle center, double reg,
                                         nb::handle N, nb::handle S, nb::handle Q, nb::handle R,
                                         int threads, const std::string& level) {
  const Input in(X, mass, atoms, offset, center, reg);
  const int64_t k = in.request.k;
  const Optional<double> n(N, true, k), s(S, true, k * in.request.d), q(Q, true, k), r(R, true, k);
  const ems::Engine engine = ems::make_engine(threads, level);
  ems::Totals totals{n.data, s.data, q.data, r.data, 0, 0, 0};
  run(in.x.is_float(), [&](auto type, ems::Interrupt& interrupt) {
    ems::sweep_stats<decltype(type)>(engine, in.request, in.rows, totals, interrupt);
  });
  return {totals.L, totals.L0, totals.mass};
}

void assign(nb::handle X, nb::handle atoms, nb::handle offset, nb::handle center,
            nb::handle labels, nb::handle cost, nb::handle gap, int threads,
            const std::string& level) {
  const Input in(X, nb::none(), atoms, offset, center, 0);
  const Borrowed l(labels, true), c(cost, true), g(gap, true);
  const int64_t n = in.rows.n;
  const ems::Engine engine = ems::make_engine(threads, level);
  int64_t* const to = l.values<int64_t>(n);
  double *const costs = c.values<double>(n), *const gaps = g.values<double>(n);
  run(in.x.is_float(), [&](auto type, ems::Interrupt& interrupt) {
    ems::sweep_assign<decltype(type)>(engine, in.request, in.rows, to, costs, gaps, interrupt);
  });
}

void responsibilities(nb::handle X, nb::handle atoms, nb::handle offset, nb::handle center,
                      double reg, nb::handle out, int threads, const std::string& level) {
  const Input in(X, nb::none(), atoms, offset, center, reg);
  const Borrowed o(out, true);
  const ems::Engine engine = ems::make_engine(threads, level);
  double* const to = o.values<double>(in.rows.n * in.request.k);
  run(in.x.is_float(), [&](auto type, ems::Interrupt& interrupt) {
    ems::sweep_plan<decltype(type)>(engine, in.request, in.rows, to, interrupt);
  });
}

std::vector<int64_t> plusplus(nb::handle X, nb::handle mass, int64_t first, nb::handle uniforms,
                              int64_t steps, int64_t trials, int threads,
                              const std::string& level) {
  const Borrowed x(X, false), u(uniforms, false);
  const Optional<double> a(mass, false, length(X));
  const ems::RowsView rows = x.rows(a.data);
  const double* draws = u.values<double>(steps * trials);
  const ems::Engine engine = ems::make_engine(threads, level);
  std::vector<int64_t> chosen;
  run(x.is_float(), [&](auto type, ems::Interrupt& interrupt) {
    chosen = ems::plusplus<decltype(type)>(engine, rows, x.columns(), first, draws, steps, trials,
                                           interrupt);
  });
  return chosen;
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The compiled kernel of emscoreset.";
  m.def("levels", &ems::level_names, "Instruction sets this build can use here, best last.");
  m.def("stats", &stats, nb::arg("X"), nb::arg("mass").none(), nb::arg("atoms"),
        nb::arg("offset"), nb::arg("center"), nb::arg("reg"), nb::arg("N"), nb::arg("S").none(),
        nb::arg("Q").none(), nb::arg("R").none(), nb::arg("threads"), nb::arg("level"),
        "Fills N and, unless None, S, Q and R, which must be zero; returns (L, L0, mass).");
  m.def("assign", &assign, nb::arg("X"), nb::arg("atoms"), nb::arg("offset"), nb::arg("center"),
        nb::arg("labels"), nb::arg("cost"), nb::arg("gap"), nb::arg("threads"), nb::arg("level"),
        "Fills each row's best atom, its cost and its lead over the second best.");
  m.def("responsibilities", &responsibilities, nb::arg("X"), nb::arg("atoms"), nb::arg("offset"),
        nb::arg("center"), nb::arg("reg"), nb::arg("out"), nb::arg("threads"), nb::arg("level"),
        "Fills the plan's rows.");
  m.def("plusplus", &plusplus, nb::arg("X"), nb::arg("mass").none(), nb::arg("first"),
        nb::arg("uniforms"), nb::arg("steps"), nb::arg("trials"), nb::arg("threads"),
        nb::arg("level"), "The rows that greedy k-means++ chooses.");
  bind_transport(m);
  ems::bind_trees(m);
}
