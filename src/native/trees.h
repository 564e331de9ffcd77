// Interventional Shapley values of a forest for a weighted background, exactly.
//
// A leaf gives its value to the rows that meet every condition on its path: one condition per
// feature that is tested there, bit b of a row's mask for the b-th. With the features of x in a
// coalition and the others of y, the leaf is reached where x meets what the coalition holds and y
// the rest. So only masks count: for X | Y = all, A = X \ Y, B = Y \ X, a = |A|, b = |B|,
//     phi_i = + (a-1)! b! / (a+b)!  for i in A,    - a! (b-1)! / (a+b)!  for i in B
// times the leaf's value. Rows with equal masks are one group, so that a leaf costs what its
// different masks cost, whatever the number of rows.
#pragma once

#include <cstdint>

#include "threads.h"

namespace ems {

constexpr int kMaxPath = 64;  // different features on one path

enum NodeFlag : uint8_t { kNanLeft = 1, kZeroIsNan = 2, kCategories = 4, kOutsideLeft = 8 };

// Trees as arrays over all their nodes. A row goes left where its value is <= threshold or, at a
// node with categories, in the node's set; NaN goes left where kNanLeft says so, a category outside
// the set's range where kOutsideLeft does.
struct Forest {
  int64_t trees, nodes, features, outputs, width, depth;
  const int32_t *feature, *left, *right;  // (nodes,) feature < 0: a leaf
  const double* threshold;                // (nodes,)
  const uint8_t* flags;                   // (nodes,)
  const int32_t *set_begin, *set_words;   // (nodes,) where in `sets` the categories going left are
  const uint64_t* sets;
  const double* value;                    // (nodes, width)
  const int32_t *root, *output;           // (trees,) a tree adds to outputs [output, output + width)
};

// Rows by columns: column j of row i is at data[j * stride + i].
struct Columns {
  const double* data;
  int64_t n, stride;
};

// Adds sum_j w_j phi(x_i; y_j) to out (n, features, outputs). The same bits for any threads.
void forest_contributions(const Forest&, const Columns& x, const Columns& y, const double* w,
                          double* out, int threads, Interrupt&);

// Adds phi(x_i; y_j) to out (n, k, features, outputs).
void forest_pairs(const Forest&, const Columns& x, const Columns& y, double* out, int threads,
                  Interrupt&);

// Adds the trees' values at each row to out (n, outputs).
void forest_margins(const Forest&, const Columns& x, double* out, int threads, Interrupt&);

}  // namespace ems
