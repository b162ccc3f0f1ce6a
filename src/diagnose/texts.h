// Words of clauses: amounts and rates with three digits (base/number_text.h prints the other
// numbers), and the trainer's name.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {

std::string RateText(double bytes_per_s);  ///< "527 MB/s"
std::string AmountText(double bytes);      ///< "144 GB"
std::string OfRateText(double used, double limit);  ///< "527 of its 550 MB/s", one unit for both
std::string SecondsText(double seconds);            ///< "75 s", "4 min"

/// What trains, for a sentence: "GPU", "emulated device", "CPU".
std::string_view TrainerWord(const measure::Measurement& measurement);
/// "the GPU is 28 % busy", "the CPU trains 28 % of the time"; empty when not measured.
std::string TrainerUse(const measure::Measurement& measurement);

}  // namespace pipesim::diagnose
