// What the driver hands to the code compiled for one instruction set: plain data alone.
// Nothing here or in the headers of that code may instantiate an inline function shared
// with other units: the linker would keep one copy, of whichever instruction set.
#pragma once

#include <cstdint>

namespace ems {

constexpr int kBlock = 48;  // rows scored at a time: a multiple of every tile height and vector

constexpr int kListed = 1024;  // a list of weights this long is worked off

// Rows as they lie in memory: d values side by side, rows row_bytes apart, any alignment.
struct RowsView {
  const char* data;
  int64_t n;
  int64_t row_bytes;
  const double* mass;  // (n,), or null where each row has mass 1
};

// The atoms, packed for one sweep. A vector holds `lanes` atoms; panels of up to four
// vectors are stored one after the other, coordinate by coordinate.
template <class T>
struct Plan {
  int64_t d, k;
  int64_t nvec;                // vectors that hold the k atoms
  int npanel;
  const int32_t* panel_first;  // (npanel + 1) first vector of each panel
  const T* packed;             // 2 y, panel by panel, (d, vectors of the panel, lanes)
  const T* bias;               // h - |y|^2, (nvec, lanes); very low where no atom is
  const T* center_hi;          // (d,) the center rounded, and what the rounding left
  const T* center_lo;
  const double* atoms;         // (k, d) as given
  const double* offset;        // (k,)
  const double* center;        // (d,)
  double reg;
  double cut;                  // scores this far below the best have no weight left
  T scale;                     // log2(e) / reg
  int64_t ldx;                 // scratch row: d coordinates, |x|^2, 1, padding
  int64_t cols;                // accumulated columns of it: the last 1, or all d + 2
  int64_t lds;                 // stride of an atom's sums in the sparse layout
};

// One worker's working memory.
template <class T>
struct Scratch {
  T* x;          // (kBlock, ldx)
  T* tile;       // scores, then weights: panel by panel, (kBlock, vectors, lanes)
  T* best;       // (kBlock, lanes) greatest score so far in each lane,
  T* second;     // (kBlock, lanes) the runner-up in the same lane,
  void* where;   // (kBlock, lanes) and the atom that has the greatest
  T* top;        // (kBlock) greatest score of the row
  T* runner_up;  // (kBlock)
  T* total;      // (kBlock) sum of exp((score - top) / reg)
  T* square;     // (kBlock) |x - center|^2
  double* mass;  // (kBlock) 0 behind the last row
  int32_t* label;  // (kBlock)
  const char* ahead;    // the rows of the next block, which the first product prefetches:
  int64_t ahead_lines;  // so many cache lines with each tile
  int32_t* list;   // (kListed + k + 2 lanes) the atoms that rows have weight on,
  int32_t* owner;  // the rows
  T* weight;       // and the weights
};

// What one chunk of rows adds up to.
template <class T>
struct ChunkSums {
  T* sums;      // dense: packed like the atoms, over cols; sparse: (k, lds)
  bool dense;   // which of the two
  bool scored;  // whether the scores of all rows are kept until they are added
  double* R;    // (k,), or null where not wanted
  double L, L0, mass;
};

// Called before a block every so many rows; true when the sweep has been called off.
struct Stop {
  bool (*poll)(void*);
  void* context;
  int64_t rows;  // a multiple of kBlock
};
static inline bool called_off(const Stop& stop, int64_t row) {
  return row % stop.rows == 0 && stop.poll(stop.context);
}

// Is given each row's candidates in turn; `row` (d) and `costs` (k) are room to work in.
struct Taker {
  void (*take)(void* context, const int32_t* atoms, const double* costs, int n);
  void* context;
  double* row;
  double* costs;
};

// The functions compiled for one instruction set and float type.
template <class T>
struct Ops {
  int lanes;      // values in a vector
  int max_panel;  // vectors in the widest panel
  void (*stats)(const Plan<T>&, const RowsView&, int64_t first, int64_t last, Scratch<T>&,
                ChunkSums<T>&, Stop);
  void (*assign)(const Plan<T>&, const RowsView&, int64_t first, int64_t last, Scratch<T>&,
                 int64_t* labels, double* cost, double* gap, Stop);
  void (*plan_rows)(const Plan<T>&, const RowsView&, int64_t first, int64_t last, Scratch<T>&,
                    double* out, Stop);
  void (*candidates)(const Plan<T>&, const RowsView&, int64_t first, int64_t last, Scratch<T>&,
                     double reach, const Taker&, Stop);
  // For rows first..last, least (n, lanes) holds the squared distance to the nearest chosen
  // row in column `winner`; each column becomes the lesser of that and the distance to one
  // of the proposals, packed as (d, lanes). Mass times it is added to potential (lanes,).
  void (*trials)(const RowsView&, int64_t d, int64_t first, int64_t last, const T* packed,
                 int64_t lanes, T* least, int64_t winner, double* potential);
};

// Where a panel starts in each of the packed layouts. Static: see above.
static inline int64_t panel_offset(const int32_t* panel_first, int panel, int64_t lanes, int64_t cols) {
  return panel_first[panel] * lanes * cols;
}

struct Level {
  const char* name;
  const Ops<float>* f32;
  const Ops<double>* f64;
};

}  // namespace ems
