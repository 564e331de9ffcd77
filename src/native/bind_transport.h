// Registers the bindings of candidate lists with the module.
#pragma once

#include <nanobind/nanobind.h>

void bind_transport(nanobind::module_& m);
