#include "diagnose/timeline.h"

#include <array>
#include <stdexcept>

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
    }  // else busy holds both, and is evidence of neither
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

std::optional<Side> SideOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kLoaderBound:
    case Verdict::kIoBound:
    case Verdict::kCpuBound:
      return Side::kInput;
    case Verdict::kH2dBound:
      return Side::kTransfer;
    case Verdict::kCpuContention:
    case Verdict::kLaunchBound:
    case Verdict::kSyncBound:
    case Verdict::kHostBound:
      return Side::kHost;
    case Verdict::kComputeBound:
      return Side::kCompute;
    case Verdict::kBalanced:
    case Verdict::kInconclusive:
      return std::nullopt;
  }
  throw std::logic_error("unknown verdict");
}

std::vector<Verdict> VerdictsOf(Side side) {
  switch (side) {
    case Side::kInput:
      return {Verdict::kLoaderBound, Verdict::kIoBound, Verdict::kCpuBound};
    case Side::kTransfer:
      return {Verdict::kH2dBound};
    case Side::kHost:
      return {Verdict::kLaunchBound, Verdict::kSyncBound, Verdict::kHostBound};
    case Side::kCompute:
      return {Verdict::kComputeBound};
  }
  throw std::logic_error("unknown side");
}

std::string_view ToText(Side side) {
  static constexpr std::array<std::string_view, 4> kTexts = {"input", "transfer", "host",
                                                             "compute"};
  return kTexts.at(static_cast<std::size_t>(side));
}

}  // namespace pipesim::diagnose
