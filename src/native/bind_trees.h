// Registers the bindings of trees.h with the module.
#pragma once

#include <nanobind/nanobind.h>

namespace ems {

void bind_trees(nanobind::module_& m);

}  // namespace ems
