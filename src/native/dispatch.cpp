// The choice of the instruction set.
#include "sweep.h"

namespace ems {

#if defined(EMS_X86_LEVELS)
namespace v2 {
extern const Level kLevel;
}
namespace v3 {
extern const Level kLevel;
}
namespace v4 {
extern const Level kLevel;
}
#endif
namespace plain {
extern const Level kLevel;
}

static std::vector<const Level*> levels() {
  std::vector<const Level*> found{&plain::kLevel};
#if defined(EMS_X86_LEVELS)
  __builtin_cpu_init();
  const bool has2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool has3 = has2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has4 = has3 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has2) found.push_back(&v2::kLevel);
  if (has3) found.push_back(&v3::kLevel);
  if (has4) found.push_back(&v4::kLevel);
#endif
  return found;
}

std::vector<std::string> level_names() {
  std::vector<std::string> names;
  for (const Level* level : levels()) names.emplace_back(level->name);
  return names;
}

Engine make_engine(int threads, const std::string& level) {
  if (threads < 1) throw std::invalid_argument("threads must be at least 1");
  for (const Level* candidate : levels())
    if (level == candidate->name) return {threads, candidate};
  throw std::invalid_argument("this processor does not run the instruction set " + level);
}

}  // namespace ems
