// Mathematical functions, conversions by bits, integer intrinsics and cached loads.
#pragma once

extern "C" {
float sqrtf(float) noexcept;
float expf(float) noexcept;
float exp2f(float) noexcept;
float logf(float) noexcept;
float log2f(float) noexcept;
float tanhf(float) noexcept;
float erff(float) noexcept;
float erfcf(float) noexcept;
float sinf(float) noexcept;
float cosf(float) noexcept;
float fabsf(float) noexcept;
float floorf(float) noexcept;
float ceilf(float) noexcept;
float rintf(float) noexcept;
float truncf(float) noexcept;
float powf(float, float) noexcept;
float fminf(float, float) noexcept;
float fmaxf(float, float) noexcept;
float copysignf(float, float) noexcept;
float fmaf(float, float, float) noexcept;
double sqrt(double) noexcept;
double exp(double) noexcept;
double log(double) noexcept;
double fabs(double) noexcept;
double fma(double, double, double) noexcept;
int printf(const char*, ...);
}

inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }

// The fast variants of a GPU are less exact; here they are the exact ones.
inline float __expf(float x) { return __builtin_expf(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// Never contracted into a fused multiply-add, on a GPU or here: the sum goes through a register the optimiser cannot
// see into.
inline float __fmul_rn(float a, float b) {
  float product = a * b;
  __asm__("" : "+m"(product));
  return product;
}
inline float __fadd_rn(float a, float b) {
  __asm__("" : "+m"(a), "+m"(b));
  return a + b;
}

template <class To, class From>
inline To vostok_bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline unsigned __float_as_uint(float x) { return vostok_bits<unsigned>(x); }
inline int __float_as_int(float x) { return vostok_bits<int>(x); }
inline float __uint_as_float(unsigned x) { return vostok_bits<float>(x); }
inline float __int_as_float(int x) { return vostok_bits<float>(x); }
inline long long __double_as_longlong(double x) { return vostok_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return vostok_bits<double>(x); }

#define VOSTOK_MIN_MAX(type)                                   \
  constexpr type min(type a, type b) { return b < a ? b : a; } \
  constexpr type max(type a, type b) { return a < b ? b : a; }
VOSTOK_MIN_MAX(int)
VOSTOK_MIN_MAX(unsigned)
VOSTOK_MIN_MAX(long)
VOSTOK_MIN_MAX(unsigned long)
VOSTOK_MIN_MAX(long long)
VOSTOK_MIN_MAX(unsigned long long)
#undef VOSTOK_MIN_MAX
inline float min(float a, float b) { return __builtin_fminf(a, b); }
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline double min(double a, double b) { return __builtin_fmin(a, b); }
inline double max(double a, double b) { return __builtin_fmax(a, b); }
constexpr int abs(int x) { return x < 0 ? -x : x; }
inline float abs(float x) { return __builtin_fabsf(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}

template <class T>
inline T __ldg(const T* address) {
  return *address;
}
template <class T>
inline T __ldcs(const T* address) {
  return *address;
}
template <class T>
inline T __ldcg(const T* address) {
  return *address;
}
template <class T>
inline void __stcs(T* address, T value) {
  *address = value;
}
