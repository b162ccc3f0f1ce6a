// An interval of an estimate.
#pragma once

#include <string>

namespace pipesim::measure {

struct Interval {
  double low = 0, high = 0;
  double level = 0.95;
  std::string method;  ///< "batch means (20)", "repeats (5)"
};

}  // namespace pipesim::measure
