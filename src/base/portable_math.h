// Logarithm, exponential and normal quantile computed with IEEE + - * / and sqrt alone, which are
// correctly rounded on every machine, so that keyed draws do not depend on the machine's libm.
// Accurate to a few units in the last place: enough for random draws, no replacement for <cmath>.
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
