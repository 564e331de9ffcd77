// The atoms of a request laid out for one sweep, and the memory its workers need.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "sweep.h"

namespace ems {

// An array of plain values, zeroed, on a boundary that suits every vector.
template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(int64_t n) {
    const size_t bytes = (static_cast<size_t>(n) * sizeof(T) + kAlign) / kAlign * kAlign;
    data_.reset(static_cast<T*>(std::aligned_alloc(kAlign, bytes)));
    if (!data_) throw std::bad_alloc();
    __builtin_memset(static_cast<void*>(data_.get()), 0, bytes);
  }
  T* get() const { return data_.get(); }
  T& operator[](int64_t i) const { return data_.get()[i]; }

 private:
  static constexpr size_t kAlign = 64;
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T[], Free> data_;
};

// Owns what a Plan points to. `columns`: how many of the rows' d + 2 columns are summed.
template <class T>
class PackedAtoms {
 public:
  PackedAtoms(const Ops<T>& ops, const Request& request, int64_t columns);
  Plan<T> plan{};

 private:
  void pack(const Ops<T>& ops, const Request& request);
  std::vector<int32_t> panel_first_;
  Array<T> packed_, bias_, center_hi_, center_lo_;
};

// Owns what a Scratch points to. Without `tile` the scores cannot be kept.
template <class T>
class Workspace {
 public:
  Workspace(const Ops<T>& ops, const Plan<T>& p, bool tile);
  Scratch<T> scratch{};

 private:
  Array<T> x_, tile_, best_, second_, where_, top_, runner_up_, total_, square_;
  Array<double> mass_;
  Array<T> weight_;
  Array<int32_t> label_, list_, owner_;
};

}  // namespace ems
