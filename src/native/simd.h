// Vectors of the width this unit is compiled for, in GCC's vector extensions.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define EMS_BYTES 64
#elif defined(__AVX2__)
#define EMS_BYTES 32
#else
#define EMS_BYTES 16
#endif

#define EMS_INLINE static inline __attribute__((always_inline))

namespace ems {
namespace EMS_LEVEL {

// Registers bound the tile of a product: 32 with AVX-512 and on ARM, else 16.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kMaxPanel = 4;
constexpr int kAccumulators = 24;
#else
constexpr int kMaxPanel = 3;
constexpr int kAccumulators = 12;
#endif

template <class T>
struct Simd;

template <>
struct Simd<float> {
  typedef float V __attribute__((vector_size(EMS_BYTES)));
  typedef int32_t I __attribute__((vector_size(EMS_BYTES)));
  typedef int32_t Int;
  static constexpr int W = EMS_BYTES / 4;
  static constexpr int mantissa = 23;
  static constexpr float lowest = -3e38f;   // below every score
  static constexpr float absent = -1e37f;   // at or below: the score of no atom
};

template <>
struct Simd<double> {
  typedef double V __attribute__((vector_size(EMS_BYTES)));
  typedef int64_t I __attribute__((vector_size(EMS_BYTES)));
  typedef int64_t Int;
  static constexpr int W = EMS_BYTES / 8;
  static constexpr int mantissa = 52;
  static constexpr double lowest = -1e308;
  static constexpr double absent = -1e300;
};

template <class T>
using Vec = typename Simd<T>::V;
template <class T>
using IVec = typename Simd<T>::I;

template <class V>
EMS_INLINE V load_as(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <class T>
EMS_INLINE Vec<T> load(const T* p) {
  return load_as<Vec<T>>(p);
}

template <class T>
EMS_INLINE void store(T* p, Vec<T> v) {
  __builtin_memcpy(p, &v, sizeof v);
}

template <class T>
EMS_INLINE Vec<T> splat(T x) {
  return x - Vec<T>{};
}

template <class V>
EMS_INLINE V vmax(V a, V b) {
  return a > b ? a : b;
}

template <class V>
EMS_INLINE V vmin(V a, V b) {
  return a < b ? a : b;
}

// The lanes' greatest value, and their sum: halve until one is left.
struct Greatest {
  template <class V>
  EMS_INLINE V join(V a, V b) {
    return vmax(a, b);
  }
};
struct Least {
  template <class V>
  EMS_INLINE V join(V a, V b) {
    return vmin(a, b);
  }
};
struct Sum {
  template <class V>
  EMS_INLINE V join(V a, V b) {
    return a + b;
  }
};

template <class Op, class T, class V>
EMS_INLINE T fold(V v) {
  if constexpr (sizeof(V) == 16 * sizeof(T)) {
    auto a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
    auto b = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    return fold<Op, T>(Op::join(a, b));
  } else if constexpr (sizeof(V) == 8 * sizeof(T)) {
    auto a = __builtin_shufflevector(v, v, 0, 1, 2, 3);
    auto b = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return fold<Op, T>(Op::join(a, b));
  } else if constexpr (sizeof(V) == 4 * sizeof(T)) {
    auto a = Op::join(v, __builtin_shufflevector(v, v, 2, 3, 2, 3));
    auto b = Op::join(a, __builtin_shufflevector(a, a, 1, 1, 1, 1));
    return b[0];
  } else {
    static_assert(sizeof(V) == 2 * sizeof(T), "a vector of 2, 4, 8 or 16 values");
    return Op::join(v, __builtin_shufflevector(v, v, 1, 1))[0];
  }
}

template <class T>
EMS_INLINE T sum(Vec<T> v) {
  return fold<Sum, T>(v);
}

// For a step of fold_each: takes from two vectors, in turns, the blocks of B lanes that come
// first (side 0) or second (side 1) in each pair of blocks.
template <int B, int side, class I>
EMS_INLINE I taking_turns() {
  constexpr int lanes = static_cast<int>(sizeof(I) / sizeof(I{}[0]));
  I from{};
  for (int l = 0; l < lanes; ++l)
    from[l] = (l / B % 2) * lanes + l / (2 * B) * (2 * B) + side * B + l % B;
  return from;
}

// Lane l of the result is what the lanes of v[l] fold to, for as many v as there are lanes; all
// at once, with a third of the work. v is lost.
template <class Op, class T, int B, class V>
EMS_INLINE V fold_each(V* v) {
  if constexpr (B > 0) {
    const IVec<T> first = taking_turns<B, 0, IVec<T>>(), second = taking_turns<B, 1, IVec<T>>();
#pragma GCC unroll 16
    for (int i = 0; i < B; ++i)
      v[i] = Op::join(__builtin_shuffle(v[i], v[i + B], first),
                      __builtin_shuffle(v[i], v[i + B], second));
    return fold_each<Op, T, B / 2>(v);
  } else {
    return v[0];
  }
}

// One bit a lane, set where a >= b.
EMS_INLINE unsigned bits_reaching(Vec<float> a, Vec<float> b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_ps((__m256)(a >= b)));
#elif defined(__x86_64__)
  return static_cast<unsigned>(_mm_movemask_ps((__m128)(a >= b)));
#else
  const IVec<float> mask = a >= b;
  unsigned bits = 0;
  for (int l = 0; l < Simd<float>::W; ++l) bits |= (mask[l] & 1u) << l;
  return bits;
#endif
}

EMS_INLINE unsigned bits_reaching(Vec<double> a, Vec<double> b) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ);
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_pd((__m256d)(a >= b)));
#elif defined(__x86_64__)
  return static_cast<unsigned>(_mm_movemask_pd((__m128d)(a >= b)));
#else
  const IVec<double> mask = a >= b;
  unsigned bits = 0;
  for (int l = 0; l < Simd<double>::W; ++l) bits |= (mask[l] & 1u) << l;
  return bits;
#endif
}

// Lane numbers 0, 1, 2, ...
template <class T>
EMS_INLINE IVec<T> lane_numbers() {
  IVec<T> v{};
  for (int l = 0; l < Simd<T>::W; ++l) v[l] = l;
  return v;
}

// The m < W values at p, then zeros; nothing behind them is read.
template <class T>
EMS_INLINE Vec<T> load_part(const void* p, int64_t m) {
#if defined(__AVX512F__)
  const unsigned mask = (1u << m) - 1;
  if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), p);
  if constexpr (sizeof(T) == 8) return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), p);
#elif defined(__AVX2__)
  const __m256i mask = (__m256i)(lane_numbers<T>() < static_cast<typename Simd<T>::Int>(m));
  if constexpr (sizeof(T) == 4) return _mm256_maskload_ps(static_cast<const float*>(p), mask);
  if constexpr (sizeof(T) == 8) return _mm256_maskload_pd(static_cast<const double*>(p), mask);
#else
  T values[Simd<T>::W] = {};
  __builtin_memcpy(values, p, static_cast<size_t>(m) * sizeof(T));
  return load(values);
#endif
}

template <class T, class V>
EMS_INLINE void store_first_four(T* p, V v) {
  const auto four = __builtin_shufflevector(v, v, 0, 1, 2, 3);
  __builtin_memcpy(p, &four, sizeof four);
}

// Appends the lanes of v whose bits are set to `values`, the same lanes of `number` to
// `numbers`, and `mark` as often to `marks`; returns how many. Behind them as much as a vector
// holds is overwritten.
template <class T>
EMS_INLINE int append_lanes(Vec<T> v, IVec<T> number, unsigned bits, int32_t mark, T* values,
                            int32_t* numbers, int32_t* marks) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    const __mmask16 m = static_cast<__mmask16>(bits);
    const Vec<T> chosen = _mm512_maskz_compress_ps(m, v);
    const IVec<T> of = (IVec<T>)_mm512_maskz_compress_epi32(m, (__m512i)number);
    const IVec<T> to = IVec<T>{} + mark;
    const int n = __builtin_popcount(bits);
    if (n <= 4) {  // whole vectors would nearly always straddle two cache lines
      store_first_four(values, chosen);
      store_first_four(numbers, of);
      store_first_four(marks, to);
    } else {
      store<T>(values, chosen);
      __builtin_memcpy(numbers, &of, sizeof of);
      __builtin_memcpy(marks, &to, sizeof to);
    }
    return n;
  } else {
    const __mmask8 m = static_cast<__mmask8>(bits);
    const __m256i lanes = _mm512_maskz_cvtepi64_epi32(0xff, (__m512i)number);
    store<T>(values, _mm512_maskz_compress_pd(m, v));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(numbers), _mm256_maskz_compress_epi32(m, lanes));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(marks), _mm256_set1_epi32(mark));
    return __builtin_popcount(bits);
  }
#else
  int n = 0;
  for (; bits; bits &= bits - 1, ++n) {
    const int lane = __builtin_ctz(bits);
    values[n] = v[lane];
    numbers[n] = static_cast<int32_t>(number[lane]);
    marks[n] = mark;
  }
  return n;
#endif
}

// As many T as a vector holds doubles, as doubles.
template <class T>
EMS_INLINE Vec<double> load_doubles(const T* p) {
  typedef T Part __attribute__((vector_size(Simd<double>::W * sizeof(T))));
  return __builtin_convertvector(load_as<Part>(p), Vec<double>);
}

}  // namespace EMS_LEVEL
}  // namespace ems
