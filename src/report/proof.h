// The proof of a recommendation: its command run for real, in turn with the run that made it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/interval.h"
#include "report/report.h"

namespace pipesim::report {

struct Proof {
  std::vector<std::string> argv = {};  ///< the recommended command, "pipesim" first
  std::optional<double> promised = {};
  std::optional<double> gain = {};  ///< measured; nullopt: no pair of runs was finished
  std::optional<measure::Interval> gain_interval = {};  ///< nullopt: fewer than two pairs
  std::vector<double> base_samples_per_s = {}, changed_samples_per_s = {};
  int pairs_asked = 0;
};

/// The section "proof" of a run's document.
Document ProofSection(const Proof& proof);

}  // namespace pipesim::report
