#include "diagnose/timeline.h"

#include <array>

namespace pipesim::diagnose {

double Timeline::Share(Side side) const {
  if (!(wall_s > 0)) return 0;
  double seconds = 0;
  for (const auto& part : parts) {
    if (part.side == side) seconds += part.seconds;
  }
  return seconds / wall_s;
}

Timeline TimelineOf(const measure::Measurement& measurement) {
  if (const auto& d = measurement.device) {
    Timeline timeline{d->wall_s,
                      {{Side::kInput, "device.starved_s", d->starved_s},
                       {Side::kTransfer, "device.transfer_s", d->transfer_s},
                       {Side::kHost, "device.sync_s", d->sync_s}}};
    if (d->launch_s) {
      timeline.parts.push_back({Side::kHost, "device.launch_s", *d->launch_s});
      timeline.parts.push_back({Side::kCompute, "device.busy_s", d->busy_s});
    }  // else busy includes both and is evidence for neither
    return timeline;
  }
  const auto& c = measurement.consumer;
  return {c.wall_s,
          {{Side::kInput, "consumer.starved_s", c.starved_s},
           {Side::kTransfer, "consumer.h2d_s", c.h2d_s},
           {Side::kHost, "consumer.host_s", c.host_s},
           {Side::kHost, "consumer.sync_s", c.sync_s},
           {Side::kCompute, "consumer.compute_s", c.compute_s}}};
}

std::optional<Side> CertainSide(const Timeline& timeline, double share) {
  for (const Side side : {Side::kInput, Side::kTransfer, Side::kHost, Side::kCompute}) {
    if (timeline.Share(side) > share) return side;
  }
  return std::nullopt;
}

bool MayBeOn(Verdict verdict, Side side) {
  const VerdictRow& row = RowOf(verdict);
  return row.on_every_side || row.side == side;
}

std::vector<Verdict> VerdictsOf(Side side) {
  std::vector<Verdict> verdicts;
  for (const VerdictRow& row : kVerdicts) {
    if (row.side == side && !row.on_every_side) verdicts.push_back(row.verdict);
  }
  return verdicts;
}

std::string_view ToText(Side side) {
  static constexpr std::array<std::string_view, 4> kTexts = {"input", "transfer", "host",
                                                             "compute"};
  return kTexts.at(static_cast<std::size_t>(side));
}

}  // namespace pipesim::diagnose
