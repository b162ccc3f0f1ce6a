#include "base/portable_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace pipesim::base {
namespace {

// ln 2 in two parts: the first has 21 trailing zero bits, so that k × kLn2High is exact for every
// exponent k (fdlibm, e_exp.c).
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kLog2E = 1.44269504088896338700e+00;
constexpr double kSqrtHalf = 0.70710678118654752440;

constexpr std::uint64_t kFractionMask = (std::uint64_t{1} << 52) - 1;
constexpr int kExponentBias = 1023;

// Evaluates even and odd powers in parallel: half the latency of Horner's scheme.
template <int N>
constexpr double Polynomial(const double (&coefficients)[N], double x) {
  static_assert(N % 2 == 0);
  const double x2 = x * x;
  double even = coefficients[N - 2], odd = coefficients[N - 1];
  for (int i = N - 4; i >= 0; i -= 2) {
    even = even * x2 + coefficients[i];
    odd = odd * x2 + coefficients[i + 1];
  }
  return even + x * odd;
}

// 1 / (2i + 3): log((1 + s) / (1 - s)) = 2s (1 + s² / 3 + s⁴ / 5 + …).
constexpr double kAtanhSeries[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                   1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};

// 1 / i!, enough for |r| <= ln 2 / 2: the first term left out is below 1e-17.
constexpr double kExpSeries[] = {1.0,
                                 1.0,
                                 1.0 / 2,
                                 1.0 / 6,
                                 1.0 / 24,
                                 1.0 / 120,
                                 1.0 / 720,
                                 1.0 / 5040,
                                 1.0 / 40320,
                                 1.0 / 362880,
                                 1.0 / 3628800,
                                 1.0 / 39916800,
                                 1.0 / 479001600,
                                 1.0 / 6227020800};

// AS 241: |p - 1/2| <= 0.425.
constexpr double kCentreTop[] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                 1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                 3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr double kCentreBottom[] = {1.0,
                                    4.2313330701600911252e+1,
                                    6.8718700749205790830e+2,
                                    5.3941960214247511077e+3,
                                    2.1213794301586595867e+4,
                                    3.9307895800092710610e+4,
                                    2.8729085735721942674e+4,
                                    5.2264952788528545610e+3};
// sqrt(-log(tail)) <= 5.
constexpr double kMiddleTop[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                 5.76949722146069140550e0,  3.64784832476320460504e0,
                                 1.27045825245236838258e0,  2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double kMiddleBottom[] = {1.0,
                                    2.05319162663775882187e0,
                                    1.67638483018380384940e0,
                                    6.89767334985100004550e-1,
                                    1.48103976427480074590e-1,
                                    1.51986665636164571966e-2,
                                    5.47593808499534494600e-4,
                                    1.05075007164441684324e-9};
// AS 241: farther out.
constexpr double kFarTop[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                              1.78482653991729133580e0,  2.96560571828504891230e-1,
                              2.65321895265761230930e-2, 1.24266094738807843860e-3,
                              2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double kFarBottom[] = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};

}  // namespace

double PortableLog(double x) {
  std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  int exponent = 0;
  if (bits >> 52 == 0) {  // subnormal: bring it into range first
    bits = std::bit_cast<std::uint64_t>(x * 0x1p54);
    exponent = -54;
  }
  exponent += static_cast<int>(bits >> 52) - kExponentBias;
  // x = m × 2^exponent with m in [sqrt(1/2), sqrt(2))
  double m = std::bit_cast<double>((bits & kFractionMask) | (std::uint64_t{kExponentBias} << 52));
  if (m > 2 * kSqrtHalf) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  const double log_m = 2 * s + 2 * s * s2 * Polynomial(kAtanhSeries, s2);
  return exponent * kLn2High + (log_m + exponent * kLn2Low);
}

double PortableExp(double x) {
  if (x < -708) return 0;
  if (x > 709) return std::numeric_limits<double>::infinity();
  // Rounds to the nearest integer: adding 1.5 × 2^52 drops all fraction bits.
  constexpr double kRounder = 0x1.8p52;
  const double k = (x * kLog2E + kRounder) - kRounder;
  const double r = (x - k * kLn2High) - k * kLn2Low;
  // 2^k as two factors: k may reach 1024 and -1022.
  const int whole = static_cast<int>(k);
  const auto power = [](int e) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(e + kExponentBias) << 52);
  };
  return Polynomial(kExpSeries, r) * power(whole / 2) * power(whole - whole / 2);
}

double NormalQuantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Polynomial(kCentreTop, r) / Polynomial(kCentreBottom, r);
  }
  const double tail = q < 0 ? p : 1 - p;
  const double r = std::sqrt(-PortableLog(tail));
  const double z = r <= 5 ? Polynomial(kMiddleTop, r - 1.6) / Polynomial(kMiddleBottom, r - 1.6)
                          : Polynomial(kFarTop, r - 5) / Polynomial(kFarBottom, r - 5);
  return q < 0 ? -z : z;
}

}  // namespace pipesim::base
