// exp2 and log2 on vectors, to the rounding of the float type.
#pragma once

#include "simd.h"

namespace ems {
namespace EMS_LEVEL {

// 2^f = 1 + f q(f) on [-1/2, 1/2]: for float the best fit of degree 5 (relative error 9e-8),
// for double the Taylor series to degree 12 (2e-16).
template <class T>
struct Exp2;
template <>
struct Exp2<float> {
  static constexpr int n = 5;
  static constexpr float q[n] = {0.693146978f, 0.240222421f, 0.0555073374f, 0.00967151276f,
                                 0.00132647273f};
  static constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves no fraction
  static constexpr float low = -126.0f;        // 2^x is a normal number from here on
};
template <>
struct Exp2<double> {
  static constexpr int n = 12;
  static constexpr double q[n] = {
      0.69314718055994529,    0.24022650695910069,    0.055504108664821576,
      0.0096181291076284769,  0.0013333558146428441,  0.00015403530393381606,
      1.5252733804059838e-05, 1.3215486790144305e-06, 1.0178086009239696e-07,
      7.0549116208011209e-09, 4.4455382718708101e-10, 2.5678435993488196e-11};
  static constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double low = -1022.0;
};

template <class T>
EMS_INLINE Vec<T> exp2_fraction(Vec<T> f) {
  Vec<T> p = splat(Exp2<T>::q[Exp2<T>::n - 1]);
#pragma GCC unroll 16
  for (int i = Exp2<T>::n - 2; i >= 0; --i) p = p * f + Exp2<T>::q[i];
  return p * f + T(1);
}

// 2^x for x <= 0; 0 where that is below the normal numbers.
#if defined(__AVX512F__)
EMS_INLINE Vec<float> exp2v(Vec<float> x) {
  const __mmask16 normal = _mm512_cmp_ps_mask(x, splat(Exp2<float>::low), _CMP_GE_OQ);
  const Vec<float> n = _mm512_maskz_roundscale_ps(normal, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return _mm512_maskz_scalef_ps(normal, exp2_fraction<float>(x - n), n);
}
// With x = n + f, n in eighths and |f| <= 1/16: the eighth from a table, 2^f by the best fit of
// degree 7 (6e-18), the whole part of n by scalef.
EMS_INLINE Vec<double> exp2v(Vec<double> x) {
  const __mmask8 normal = _mm512_cmp_pd_mask(x, splat(Exp2<double>::low), _CMP_GE_OQ);
  const Vec<double> eighths = {1.0,
                               1.0905077326652577,
                               1.189207115002721,
                               1.2968395546510096,
                               1.4142135623730951,
                               1.5422108254079407,
                               1.681792830507429,
                               1.8340080864093424};
  constexpr double q[7] = {0.6931471805599453,   0.24022650695910933,   0.055504108664822305,
                           0.009618129089984336, 0.0013333558132170257, 0.00015404433800102733,
                           1.525344367984648e-05};
  const Vec<double> shifted = x + Exp2<double>::round / 8;
  const Vec<double> n = shifted - Exp2<double>::round / 8;
  const Vec<double> f = x - n;
  Vec<double> p = splat(q[6]);
#pragma GCC unroll 8
  for (int i = 5; i >= 0; --i) p = p * f + q[i];
  const Vec<double> eighth = _mm512_maskz_permutexvar_pd(0xff, (__m512i)shifted, eighths);
  return _mm512_maskz_scalef_pd(normal, p * f * eighth + eighth, n);
}
#else
template <class T>
EMS_INLINE Vec<T> exp2_generic(Vec<T> x) {
  const IVec<T> normal = x >= Exp2<T>::low;
  x = vmax(x, splat(Exp2<T>::low));
  const Vec<T> shifted = x + Exp2<T>::round;
  const Vec<T> p = exp2_fraction<T>(x - (shifted - Exp2<T>::round));
  // The integer sits in the low bits of `shifted`; it is added to the exponent of p.
  const IVec<T> e = (IVec<T>)shifted << Simd<T>::mantissa;
  return (Vec<T>)(((IVec<T>)p + e) & normal);
}
EMS_INLINE Vec<float> exp2v(Vec<float> x) { return exp2_generic<float>(x); }
EMS_INLINE Vec<double> exp2v(Vec<double> x) { return exp2_generic<double>(x); }
#endif

// log2 x for normal x > 0: with x = 2^e m, m in [1/sqrt 2, sqrt 2), log2 m is the series
// of atanh in f = (m - 1) / (m + 1).
template <class T>
EMS_INLINE Vec<T> log2v(Vec<T> x) {
  using S = Simd<T>;
  const T root_half = T(0.70710678118654752440);
  typename S::Int low;
  __builtin_memcpy(&low, &root_half, sizeof low);
  const IVec<T> b = (IVec<T>)x;
  const IVec<T> e = (b - low) >> S::mantissa;
  const Vec<T> m = (Vec<T>)(b - (e << S::mantissa));
  const Vec<T> f = (m - T(1)) / (m + T(1));
  const Vec<T> g = f * f;
  constexpr int terms = sizeof(T) == 4 ? 5 : 11;
  Vec<T> p = splat(T(2.0 / 0.69314718055994530942) / T(2 * terms - 1));
#pragma GCC unroll 16
  for (int i = terms - 1; i >= 1; --i) p = p * g + T(2.0 / 0.69314718055994530942) / T(2 * i - 1);
  return p * f + __builtin_convertvector(e, Vec<T>);
}

}  // namespace EMS_LEVEL
}  // namespace ems
