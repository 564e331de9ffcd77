// A walk over one tree with all rows at once, in groups of rows that meet the same conditions.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "trees.h"

namespace ems {

inline bool goes_left(const Forest& forest, int64_t node, double v) {
  const uint8_t flags = forest.flags[node];
  const bool nan_left = flags & kNanLeft;
  if (flags & kCategories) {
    const double size = 64.0 * forest.set_words[node];
    if (std::isnan(v)) return nan_left;
    if (!(v >= 0 && v < size)) return flags & kOutsideLeft;
    const int64_t category = static_cast<int64_t>(v);
    return forest.sets[forest.set_begin[node] + (category >> 6)] >> (category & 63) & 1;
  }
  if (std::isnan(v) || ((flags & kZeroIsNan) && std::fabs(v) <= 1e-35)) return nan_left;
  return v <= forest.threshold[node];
}

// Rows [begin, end) of a list that have this mask.
struct Group {
  uint64_t mask;
  int32_t begin, end;
};

// The rows of one side, explained or background, at a node.
struct Side {
  std::vector<Group> groups;
  std::vector<int32_t> rows;

  void start(int64_t n) {
    groups.assign(n > 0, {0, 0, static_cast<int32_t>(n)});
    rows.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) rows[static_cast<size_t>(i)] = static_cast<int32_t>(i);
  }
};

// Calls leaf(node, path, m, x, y) at every leaf that some pair (x, y) reaches: path holds its m
// features in the order of the masks' bits, x and y the groups that have a partner.
class Walk {
 public:
  Walk(const Forest& forest, const Columns& x, const Columns& y)
      : forest_(forest),
        sides_{x, y},
        bit_of_(static_cast<size_t>(forest.features), -1),
        levels_(static_cast<size_t>(forest.depth) + 1) {}

  template <class Leaf>
  void tree(int64_t root, const Leaf& leaf) {
    for (int s = 0; s < 2; ++s) levels_[0].side[s].start(sides_[s].n);
    visit(root, 0, 0, leaf);
  }

 private:
  struct Level {
    Side side[2];
    std::vector<uint8_t> left[2];  // by row: whether the node's test sends it left
  };

  template <class Leaf>
  void visit(int64_t node, size_t depth, int m, const Leaf& leaf) {
    Level& here = levels_[depth];
    const int32_t feature = forest_.feature[node];
    if (feature < 0) {
      leaf(node, path_, m, here.side[0], here.side[1]);
      return;
    }
    int8_t& known = bit_of_[static_cast<size_t>(feature)];
    const bool fresh = known < 0;
    if (fresh) {
      known = static_cast<int8_t>(m);
      path_[m++] = feature;
    }
    const uint64_t bit = uint64_t(1) << known;
    const uint64_t full = ~uint64_t(0) >> (64 - m);
    for (int s = 0; s < 2; ++s) decide(node, sides_[s], here.side[s], fresh ? 0 : bit, here.left[s]);
    Level& below = levels_[depth + 1];
    for (const bool left : {true, false}) {
      for (int s = 0; s < 2; ++s) {
        if (fresh) {
          part(here.side[s], here.left[s], left, bit, below.side[s]);
        } else {
          part_again(here.side[s], here.left[s], left, bit, below.side[s]);
        }
      }
      keep_partnered(below.side[0].groups, below.side[1].groups, full);
      keep_partnered(below.side[1].groups, below.side[0].groups, full);
      if (!below.side[0].groups.empty())
        visit(left ? forest_.left[node] : forest_.right[node], depth + 1, m, leaf);
    }
    if (fresh) bit_of_[static_cast<size_t>(feature)] = -1;
  }

  // The node's test of all rows in groups that have the bits `need`.
  void decide(int64_t node, const Columns& columns, const Side& side, uint64_t need,
              std::vector<uint8_t>& left) const {
    left.resize(static_cast<size_t>(columns.n));
    const double* const column = columns.data + forest_.feature[node] * columns.stride;
    const double threshold = forest_.threshold[node];
    const bool plain = !(forest_.flags[node] & (kZeroIsNan | kCategories));
    const bool nan_left = forest_.flags[node] & kNanLeft;
    for (const Group& g : side.groups) {
      if ((g.mask & need) != need) continue;
      for (int32_t at = g.begin; at < g.end; ++at) {
        const auto row = static_cast<size_t>(side.rows[static_cast<size_t>(at)]);
        const double v = column[row];
        left[row] = plain ? (v <= threshold) | (nan_left & (v != v)) : goes_left(forest_, node, v);
      }
    }
  }

  // A child's groups where its condition is the first on a feature: those who meet it gain the
  // bit. Rows keep their places in the list, those who meet it first.
  static void part(const Side& from, const std::vector<uint8_t>& left, bool side, uint64_t bit,
                   Side& to) {
    to.groups.clear();
    to.rows.resize(from.rows.size());
    for (const Group& g : from.groups) {
      const int32_t middle = divide(from, g, left, side, to.rows);
      if (middle > g.begin) to.groups.push_back({g.mask | bit, g.begin, middle});
      if (middle < g.end) to.groups.push_back({g.mask, middle, g.end});
    }
  }

  // The same where the path has tested the feature before: those who now fail lose the bit, and
  // join the group that has their new mask.
  void part_again(const Side& from, const std::vector<uint8_t>& left, bool side, uint64_t bit,
                  Side& to) {
    scratch_.resize(from.rows.size());
    pieces_.clear();
    for (const Group& g : from.groups) {
      int32_t middle = g.end;
      if (g.mask & bit) {
        middle = divide(from, g, left, side, scratch_);
        if (middle < g.end) pieces_.push_back({g.mask & ~bit, middle, g.end});
      } else {
        std::copy(from.rows.begin() + g.begin, from.rows.begin() + g.end,
                  scratch_.begin() + g.begin);
      }
      if (middle > g.begin) pieces_.push_back({g.mask, g.begin, middle});
    }
    std::sort(pieces_.begin(), pieces_.end(), [](const Group& a, const Group& b) {
      return a.mask != b.mask ? a.mask < b.mask : a.begin < b.begin;
    });
    to.groups.clear();
    to.rows.resize(from.rows.size());
    int32_t at = 0;
    for (const Group& piece : pieces_) {
      if (to.groups.empty() || to.groups.back().mask != piece.mask)
        to.groups.push_back({piece.mask, at, at});
      std::copy(scratch_.begin() + piece.begin, scratch_.begin() + piece.end,
                to.rows.begin() + at);
      at += piece.end - piece.begin;
      to.groups.back().end = at;
    }
  }

  // Copies a group's rows, those whose test went to `side` first; returns where the others begin.
  static int32_t divide(const Side& from, const Group& g, const std::vector<uint8_t>& left,
                        bool side, std::vector<int32_t>& to) {
    int32_t front = g.begin, back = g.end - 1;
    for (int32_t at = g.begin; at < g.end; ++at) {
      const int32_t row = from.rows[static_cast<size_t>(at)];
      const bool meets = (left[static_cast<size_t>(row)] != 0) == side;
      to[static_cast<size_t>(meets ? front : back)] = row;
      front += meets;
      back -= !meets;
    }
    return front;
  }

  // Drops groups without any partner: they reach no leaf below, for masks only lose bits.
  static void keep_partnered(std::vector<Group>& groups, const std::vector<Group>& partners,
                             uint64_t full) {
    const auto alone = [&](const Group& g) {
      for (const Group& p : partners)
        if ((g.mask | p.mask) == full) return false;
      return true;
    };
    groups.erase(std::remove_if(groups.begin(), groups.end(), alone), groups.end());
  }

  const Forest& forest_;
  const Columns sides_[2];
  std::vector<int8_t> bit_of_;  // by feature: its bit on the path, -1 where it is not on it
  int32_t path_[kMaxPath];
  std::vector<Level> levels_;
  std::vector<int32_t> scratch_;
  std::vector<Group> pieces_;
};

}  // namespace ems
