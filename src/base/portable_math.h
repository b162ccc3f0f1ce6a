// Logarithm, exponential and the normal quantile from IEEE + - * / and sqrt alone, which are
// correctly rounded everywhere: keyed draws must not depend on the machine's libm. Accurate to a
// few units in the last place, which is all a draw needs; not a replacement for <cmath> elsewhere.
// Needs -ffp-contract=off.
#pragma once

namespace pipesim::base {

/// Natural logarithm of a finite x > 0.
double PortableLog(double x);

/// e^x; 0 below -708 and infinity above 709.
double PortableExp(double x);

/// The standard normal's quantile at p in (0, 1), to about 1e-16 relative.
/// Source: Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37(3), 1988.
double NormalQuantile(double p);

}  // namespace pipesim::base
