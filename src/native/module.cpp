// The Python bindings of the native kernel, and nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sweep.h"

namespace nb = nanobind;

namespace {

// An array borrowed through the buffer protocol: any alignment, read-only or not.
class Borrowed {
 public:
  Borrowed(nb::handle array, bool writable) {
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(array.ptr(), &view_, flags) != 0) throw nb::python_error();
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { PyBuffer_Release(&view_); }

  // Its values, which must number n and lie side by side.
  template <class T>
  T* values(int64_t n) const {
    if (view_.itemsize != sizeof(T) || view_.len != n * int64_t(sizeof(T)) ||
        !PyBuffer_IsContiguous(&view_, 'C'))
      throw nb::value_error("an array of another size or type than the kernel expects");
    return static_cast<T*>(view_.buf);
  }

  ems::RowsView rows(const double* mass) const {
    if (view_.ndim != 2 || (view_.shape[1] > 1 && view_.strides[1] != view_.itemsize))
      throw nb::value_error("rows must be a matrix whose rows are contiguous");
    return {static_cast<const char*>(view_.buf), view_.shape[0], view_.strides[0], mass};
  }
  int64_t columns() const { return view_.shape[1]; }
  bool is_float() const { return view_.itemsize == 4; }

 private:
  Py_buffer view_;
};

// The same, or null for None.
template <class T>
struct Optional {
  Optional(nb::handle array, bool writable, int64_t n) {
    if (!array.is_none()) {
      borrowed.reset(new Borrowed(array, writable));
      data = borrowed->template values<T>(n);
    }
  }
  std::unique_ptr<Borrowed> borrowed;
  T* data = nullptr;
};

int64_t length(nb::handle array) { return static_cast<int64_t>(nb::len(array)); }

// Rows, their masses and the pass asked for, held for the length of a call.
struct Input {
  Input(nb::handle X, nb::handle mass, nb::handle atoms, nb::handle offset, nb::handle center,
        double reg)
      : x(X, false),
        a(mass, false, length(X)),
        y(atoms, false),
        h(offset, false),
        c(center, false),
        rows(x.rows(a.data)) {
    const int64_t d = x.columns(), k = length(offset);
    request = {d, k, y.values<double>(k * d), h.values<double>(k), c.values<double>(d), reg};
  }
  Borrowed x;
  Optional<double> a;
  Borrowed y, h, c;
  ems::RowsView rows;
  ems::Request request{};
};

// Runs the sweep without the GIL; a signal such as Ctrl-C ends it and is raised.
template <class Sweep>
void run(bool is_float, const Sweep& sweep) {
  ems::Interrupt interrupt([] {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
  });
  {
    nb::gil_scoped_release release;
    if (is_float) {
      sweep(float(), interrupt);
    } else {
      sweep(double(), interrupt);
    }
  }
  if (interrupt.stopped()) throw nb::python_error();
}

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
}
