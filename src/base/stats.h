// Statistics for measurements: pure functions over plain numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace pipesim::base {

double Mean(std::span<const double> values);
/// Sample standard deviation (n − 1); 0 for fewer than two values.
double Stdev(std::span<const double> values);
/// Linear interpolation between order statistics (type 7); nullopt when empty. q in [0, 1].
std::optional<double> Quantile(std::vector<double> values, double q);

/// The line of least squares through the points (x, y), of which two have different x.
struct Line {
  double at_0 = 0, slope = 0;
  double At(double x) const { return at_0 + slope * x; }
};
Line LineThrough(const std::vector<double>& x, const std::vector<double>& y);

/// Two-sided Student t quantile for `level` (0.95) and `degrees` >= 1.
/// Source: Hill, Algorithm 396, CACM 13 (1970).
double StudentT(double level, std::size_t degrees);

/// Half-width of the interval of the mean at `level`; nullopt for fewer than two values.
std::optional<double> HalfWidth(std::span<const double> values, double level);

/// The interval of the median at 95 %, from order statistics: it asks for no shape of the
/// distribution. nullopt for fewer than six values. Source: Hahn and Meeker, "Statistical Intervals",
/// 1991, chapter 5.
struct MedianInterval {
  double low = 0, high = 0;
};
std::optional<MedianInterval> IntervalOfMedian(std::vector<double> values);

/// MSER-5: how many leading values to discard so that the standard error of the rest is smallest,
/// over means of 5, at most half. Source: White, Cobb, Spratt, "A comparison of five steady-state
/// truncation heuristics for simulation", WSC 2000.
std::size_t Mser5(std::span<const double> values);

/// Lag-1 autocorrelation; 0 for fewer than three values or no variance.
double Autocorrelation1(std::span<const double> values);

}  // namespace pipesim::base
