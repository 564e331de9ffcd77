// Registered by module.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace ems {

void bind_transport(nanobind::module_& m);

}  // namespace ems
