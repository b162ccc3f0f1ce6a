// Predictions that start from the measured rate.
#pragma once

#include <optional>

#include "diagnose/variant.h"

namespace pipesim::diagnose {

/// Where several threads of the CPU train, the virtual engine knows least how they get on beside
/// others. A change that leaves them as they are keeps that error, so its rate is `predict`'s times
/// measured / predicted of `now`. One that takes it away (fewer threads, ones that sleep, another
/// device, no other programs where these share its cores) gains by it, too: its rate is `predict`'s.
/// Everywhere else both are the same to what a gain is, and `predict` is returned as it is.
Predictor Anchored(const Predictor& predict, const Variant& now, std::optional<double> measured);

}  // namespace pipesim::diagnose
