#include "diagnose/recommend.h"

#include <fmt/core.h>

#include <cmath>

#include "diagnose/what_if.h"

namespace pipesim::diagnose {

Recommendation FromRow(std::string text, const std::vector<WhatIf>& rows, std::string_view change) {
  Recommendation r{.text = std::move(text)};
  const auto at = FindRow(rows, change);
  if (!at) return r;
  r.set = rows[*at].set;
  r.samples_per_s = rows[*at].samples_per_s;
  r.gain = rows[*at].gain;
  return r;
}

Recommendation FromSetting(std::string text, const Findings& found) {
  const Question& q = found.question;
  const Decision& d = found.decision;
  Recommendation r{.text = std::move(text)};
  if (!d.setting) return r;
  r.set = d.setting->setting.set;
  if (std::isfinite(d.gain)) {
    r.gain = d.gain;
    if (const auto now = q.measurement.result.samples_per_s) r.samples_per_s = *now * (1 + d.gain);
  }
  const Settings after = d.setting->setting.change(q.now).settings;
  r.pytorch = DataLoaderText(after.loader, after.accelerators);
  return r;
}

std::string DataLoaderText(const spec::Loader& loader, int accelerators) {
  std::string text = fmt::format("DataLoader(dataset, batch_size={}", loader.batch_size);
  if (accelerators > 1) {
    text += loader.shuffle ? ", sampler=DistributedSampler(dataset)"
                           : ", sampler=DistributedSampler(dataset, shuffle=False)";
  } else if (loader.shuffle) {
    text += ", shuffle=True";
  }
  if (loader.workers > 0) {
    text +=
        fmt::format(", num_workers={}, prefetch_factor={}", loader.workers, loader.prefetch_factor);
  }
  if (loader.pin_memory) text += ", pin_memory=True";
  if (loader.drop_last) text += ", drop_last=True";
  if (loader.workers > 0 && loader.persistent_workers) text += ", persistent_workers=True";
  if (loader.workers > 0 && !loader.in_order) text += ", in_order=False";
  if (loader.workers > 0 && loader.timeout.count() > 0) {
    text += fmt::format(", timeout={:g}", base::ToSeconds(loader.timeout));
  }
  return text + ")";
}

}  // namespace pipesim::diagnose
