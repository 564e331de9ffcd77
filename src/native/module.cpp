// The Python bindings of the native kernel, and nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace nb = nanobind;

// The instruction sets of this processor that a build may use, best last.
static std::vector<std::string> cpu_levels() {
  std::vector<std::string> levels{"plain"};
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v2) levels.emplace_back("x86-64-v2");
  if (v3) levels.emplace_back("x86-64-v3");
  if (v4) levels.emplace_back("x86-64-v4");
#endif
  return levels;
}

NB_MODULE(_native, m) {
  m.doc() = "The compiled kernel of emscoreset.";
  m.def("cpu_levels", &cpu_levels, "Instruction sets of this processor, best last.");
}
