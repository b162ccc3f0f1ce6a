#include "diagnose/enough.h"

#include <vector>

#include "diagnose/settings.h"

namespace pipesim::diagnose {

std::optional<EnoughWorkers> FindEnoughWorkers(const Question& q) {
  std::vector<double> rates;
  double best = 0;
  for (int workers = 0; workers <= MostWorkers(q.now); ++workers) {
    rates.push_back(q.predict(Workers(q.now, workers).change(q.now)));
    best = std::max(best, rates.back());
  }
  if (!(best > 0) || std::isinf(best)) return std::nullopt;
  EnoughWorkers enough;
  while (rates[static_cast<std::size_t>(enough.workers)] < q.thresholds.enough_share * best) {
    ++enough.workers;
  }
  enough.share_of_best = rates[static_cast<std::size_t>(enough.workers)] / best;
  enough.prefetch_factor = q.experiment.loader.prefetch_factor;
  enough.bytes_per_worker = enough.prefetch_factor * q.experiment.loader.batch_size *
                            spec::PreparedBytes(q.experiment.dataset).count;
  return enough;
}

}  // namespace pipesim::diagnose
