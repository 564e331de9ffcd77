// The Python bindings of trees.h.
#include "bind_trees.h"

#include "borrowed.h"
#include "trees.h"

using ems::Borrowed;
using ems::Columns;
using ems::Forest;
using ems::length;

namespace {

// A forest's arrays, held for the length of a call.
struct HeldForest {
  explicit HeldForest(nb::tuple arrays)
      : feature(arrays[0], false),
        left(arrays[1], false),
        right(arrays[2], false),
        threshold(arrays[3], false),
        flags(arrays[4], false),
        set_begin(arrays[5], false),
        set_words(arrays[6], false),
        sets(arrays[7], false),
        value(arrays[8], false),
        root(arrays[9], false),
        output(arrays[10], false) {
    const int64_t nodes = length(arrays[0]), trees = length(arrays[9]);
    forest = {trees,
              nodes,
              nb::cast<int64_t>(arrays[11]),
              nb::cast<int64_t>(arrays[12]),
              value.columns(),
              nb::cast<int64_t>(arrays[13]),
              feature.values<int32_t>(nodes),
              left.values<int32_t>(nodes),
              right.values<int32_t>(nodes),
              threshold.values<double>(nodes),
              flags.values<uint8_t>(nodes),
              set_begin.values<int32_t>(nodes),
              set_words.values<int32_t>(nodes),
              sets.values<uint64_t>(length(arrays[7])),
              value.values<double>(nodes * value.columns()),
              root.values<int32_t>(trees),
              output.values<int32_t>(trees)};
  }
  Borrowed feature, left, right, threshold, flags, set_begin, set_words, sets, value, root, output;
  Forest forest{};
};

// Rows given by columns: an array (features, n).
struct HeldColumns {
  HeldColumns(nb::handle array, const Forest& forest) : held(array, false) {
    const int64_t n = held.columns();
    columns = {held.values<double>(forest.features * n), n, n};
  }
  Borrowed held;
  Columns columns{};
};

template <class Work>
void without_gil(const Work& work) {
  ems::run(false, [&](auto, ems::Interrupt& interrupt) { work(interrupt); });
}

void contributions(nb::tuple forest, nb::handle x, nb::handle y, nb::handle w, nb::handle out,
                   int threads) {
  const HeldForest held(forest);
  const HeldColumns xs(x, held.forest), ys(y, held.forest);
  const Borrowed weights(w, false), to(out, true);
  const int64_t size = xs.columns.n * held.forest.features * held.forest.outputs;
  const double* const mass = weights.values<double>(ys.columns.n);
  double* const phi = to.values<double>(size);
  without_gil([&](ems::Interrupt& interrupt) {
    ems::forest_contributions(held.forest, xs.columns, ys.columns, mass, phi, threads, interrupt);
  });
}

void pairs(nb::tuple forest, nb::handle x, nb::handle y, nb::handle out, int threads) {
  const HeldForest held(forest);
  const HeldColumns xs(x, held.forest), ys(y, held.forest);
  const Borrowed to(out, true);
  const int64_t each = held.forest.features * held.forest.outputs;
  double* const phi = to.values<double>(xs.columns.n * ys.columns.n * each);
  without_gil([&](ems::Interrupt& interrupt) {
    ems::forest_pairs(held.forest, xs.columns, ys.columns, phi, threads, interrupt);
  });
}

void margins(nb::tuple forest, nb::handle x, nb::handle out, int threads) {
  const HeldForest held(forest);
  const HeldColumns xs(x, held.forest);
  const Borrowed to(out, true);
  double* const sums = to.values<double>(xs.columns.n * held.forest.outputs);
  without_gil([&](ems::Interrupt& interrupt) {
    ems::forest_margins(held.forest, xs.columns, sums, threads, interrupt);
  });
}

}  // namespace

namespace ems {

void bind_trees(nb::module_& m) {
  m.def("forest_contributions", &contributions, nb::arg("forest"), nb::arg("x"), nb::arg("y"),
        nb::arg("w"), nb::arg("out"), nb::arg("threads"),
        "Adds sum_j w_j phi(x_i; y_j) to out (n, features, outputs); x and y by columns.");
  m.def("forest_pairs", &pairs, nb::arg("forest"), nb::arg("x"), nb::arg("y"), nb::arg("out"),
        nb::arg("threads"), "Adds phi(x_i; y_j) to out (n, k, features, outputs).");
  m.def("forest_margins", &margins, nb::arg("forest"), nb::arg("x"), nb::arg("out"),
        nb::arg("threads"), "Adds the trees' values at each row to out (n, outputs).");
}

}  // namespace ems
