// What bindings share: arrays borrowed from Python, and a call that lets go of the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "sweep.h"

namespace nb = nanobind;

namespace ems {

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

  RowsView rows(const double* mass) const {
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

inline int64_t length(nb::handle array) { return static_cast<int64_t>(nb::len(array)); }

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
  RowsView rows;
  Request request{};
};

// Runs the sweep without the GIL; a signal such as Ctrl-C ends it and is raised.
template <class Sweep>
void run(bool is_float, const Sweep& sweep) {
  Interrupt interrupt([] {
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

}  // namespace ems
