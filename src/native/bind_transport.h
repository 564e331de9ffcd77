// Registered by module.cpp.
#pragma once

#include <nanobind/nanobind.h>

void bind_transport(nanobind::module_& m);
