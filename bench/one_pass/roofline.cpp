// What the processor can do at most: multiply-adds from registers, and a read of memory.
#include <cstdint>

typedef float V __attribute__((vector_size(BYTES)));

extern "C" {

// Runs `rounds` times 24 independent multiply-adds; returns their number of operations.
double fma_rounds(int64_t rounds, float* out) {
  V acc[CHAINS], a = {}, b = {};
  a += out[0];
  b += out[1];
  for (int c = 0; c < CHAINS; ++c) acc[c] = a + float(c);  // equal ones would become one
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 32
    for (int c = 0; c < CHAINS; ++c) acc[c] = acc[c] * a + b;
  }
  V sum{};
  for (int c = 0; c < CHAINS; ++c) sum += acc[c];
  out[2] = sum[0];
  return 2.0 * CHAINS * double(rounds) * (BYTES / 4);
}

// Adds up n floats, n a multiple of 8 vectors.
void read_all(const float* x, int64_t n, float* out) {
  constexpr int W = BYTES / 4;
  V acc[8] = {};
  for (int64_t i = 0; i + 8 * W <= n; i += 8 * W)
#pragma GCC unroll 8
    for (int c = 0; c < 8; ++c) {
      V v;
      __builtin_memcpy(&v, x + i + c * W, sizeof v);
      acc[c] += v;
    }
  V sum{};
  for (int c = 0; c < 8; ++c) sum += acc[c];
  out[0] = sum[0];
}
}
