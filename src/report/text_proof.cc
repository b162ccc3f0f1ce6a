// What --prove measured, below the recommendation that it tried.
#include <fmt/format.h>

#include "report/text_parts.h"

namespace pipesim::report {

void AddProof(const Sheet& sheet) {
  const View proof = sheet.document.At("proof");
  if (!proof.IsPresent()) return;
  const auto promised = proof.At("promised").Number(), gain = proof.At("gain").Number();
  const auto low = proof.At("gain_interval.low").Number();
  const auto high = proof.At("gain_interval.high").Number();
  const std::size_t pairs = proof.At("changed_samples_per_s").Items().size();
  const auto asked = proof.At("pairs_asked").Size();
  std::string text = promised ? "promised " + Gain(*promised) + "; " : "";
  if (gain) {
    text += "measured " + Gain(*gain);
    if (low && high) text += " (" + Gain(*low) + " to " + Gain(*high) + ")";
    text += fmt::format(" over {} pair{} of runs", pairs, pairs == 1 ? "" : "s");
  } else {
    text += "no pair of runs was finished";
  }
  if (pairs < asked) text += fmt::format(", of {} that were asked for", asked);
  sheet.page.Add("Proof " + text + ".", Style::kPlain, "      ");
}

}  // namespace pipesim::report
