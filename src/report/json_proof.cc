#include "report/json_parts.h"
#include "report/proof.h"

namespace pipesim::report {

Document ProofSection(const Proof& proof) {
  return {{"argv", TextArray(proof.argv)},
          {"promised", NumberValue(proof.promised)},
          {"gain", NumberValue(proof.gain)},
          {"gain_interval", IntervalValue(proof.gain_interval)},
          {"base_samples_per_s", proof.base_samples_per_s},
          {"changed_samples_per_s", proof.changed_samples_per_s},
          {"pairs_asked", proof.pairs_asked}};
}

}  // namespace pipesim::report
