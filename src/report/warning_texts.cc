#include "report/warning_texts.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>

#include "base/text.h"
#include "diagnose/texts.h"
#include "report/format.h"

namespace pipesim::report {
namespace {

namespace warnings = measure::warnings;

/// "1.5 s", "830 ms", "12.3 us": three digits.
std::string Time(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

/// The value of a duration flag: whole seconds, rounded up except for a microsecond.
std::string FlagSeconds(double seconds) {
  return fmt::format("{:.0f}s", std::max(1.0, std::ceil(seconds - 1e-6)));
}

std::string Epochs(const measure::EpochRange& epochs) {
  if (epochs.first == epochs.last) return fmt::format("epoch {}", epochs.first);
  return fmt::format("epochs {} to {}", epochs.first, epochs.last);
}

/// "epoch 0 (0 % hits): 1040 samples/s; epochs 1 to 3 (98 % hits): 5200 samples/s".
std::string Kinds(const std::vector<measure::EpochKind>& kinds) {
  constexpr std::size_t kMostNamed = 4;  // the first ones, and always the last
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const bool named = i + 1 == kinds.size() || i + 1 < kMostNamed;
    if (named) {
      text +=
          fmt::format("{}{} ({:.0f} % hits): {:.0f} samples/s", text.empty() ? "" : "; ",
                      Epochs(kinds[i].epochs), kinds[i].hit_fraction * 100, kinds[i].samples_per_s);
    } else if (i + 1 == kMostNamed) {
      text += "; ...";
    }
  }
  return text;
}

/// One overload a kind of warning.
struct Wording {
  std::string operator()(std::monostate) const { return ""; }

  std::string operator()(const warnings::NothingMeasured& w) const {
    const std::string after =
        w.warmup_s ? fmt::format(" after the warm-up of {}", Time(*w.warmup_s)) : "";
    return fmt::format("Nothing was measured: no step was finished{} in {}.", after, Time(w.ran_s));
  }

  std::string operator()(const warnings::Stock& w) const {
    return fmt::format(
        "Training took {} samples/s meanwhile and {} were loaded: the rest {} stock. The "
        "throughput counts what was loaded, which lasts.",
        Significant(w.delivered_per_s, 3), Significant(w.loaded_per_s, 3),
        w.delivered_per_s > w.loaded_per_s ? "came from" : "went into");
  }

  std::string operator()(const warnings::MaxDuration& w) const {
    return fmt::format("{} passed before the interval was within {}{}.{}", Time(w.max_duration_s),
                       Noise(w.max_noise),
                       w.noise ? fmt::format(" (it is {})", Noise(*w.noise)) : "",
                       w.enough_steps ? fmt::format(" --steps {} ({}) would do.", *w.enough_steps,
                                                    diagnose::SecondsText(w.enough_s))
                                      : "");
  }

  std::string operator()(const warnings::ForeignCpu& w) const {
    return fmt::format(
        "Other programs used {:.1f} of the {:.3g} allowed processors while this ran; figures that "
        "depend on the CPU are worse than they would be alone.",
        w.foreign_cores, w.processors);
  }

  std::string operator()(const warnings::Throttled& w) const {
    return fmt::format(
        "The container's CPU quota stopped threads for {} of the time ({:.3g} cores allowed). "
        "Fewer workers or threads, or a larger quota, help.",
        Noise(w.time_share), w.cores);
  }

  std::string operator()(const warnings::Swap& w) const {
    // A few come back at any time, swapped out long ago and touched again. A thousand take a disk
    // seconds and an SSD a tenth of one.
    constexpr double kPagesThatCount = 1000;
    const std::string came =
        fmt::format("{} memory {} came back from disk or swap while this was measured",
                    WithCommas(std::llround(w.pages)), w.pages == 1 ? "page" : "pages");
    if (w.pages < kPagesThatCount) return came + ", too few to matter.";
    return came + ": memory is short. A smaller --batch, --prefetch or fewer --workers need less.";
  }

  std::string operator()(const warnings::MixedCache& w) const {
    return fmt::format(
        "Epochs found the cache in different states: {}. Only {} {} measured and judged; --epochs "
        "{} measures what came before.",
        Kinds(w.kinds), Epochs(w.judged), w.judged.first == w.judged.last ? "is" : "are",
        w.judged.first);
  }

  std::string operator()(const warnings::ColdCache&) const {
    return "Only the first epoch was measured, in which the cache fills; later ones may hit more. "
           "--set storage.cache.warm=1 begins with a full cache.";
  }

  std::string operator()(const warnings::PageCache& w) const {
    if (w.asked_cold) {
      return fmt::format(
          "{} of the files' bytes stayed in the page cache though a cold one was asked for: "
          "another program holds them. --set storage.direct=true reads past it.",
          Noise(w.cached_fraction));
    }
    return fmt::format(
        "Only {} of the files' bytes were in the page cache when the run began, though all were "
        "read before: memory has no room for them.",
        Noise(w.cached_fraction));
  }

  std::string operator()(const warnings::Drift& w) const {
    return fmt::format(
        "The rate {} by {} from the first half of the measurement to the second: it had not "
        "settled. A longer warm-up may help: --set run.warmup={}.",
        w.change < 0 ? "fell" : "rose", Noise(std::abs(w.change)), FlagSeconds(w.settled_s));
  }

  std::string operator()(const warnings::Bursts& w) const {
    static constexpr std::array<std::string_view, 9> kWords = {
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
    const auto fast = static_cast<std::size_t>(w.period - 1);
    return fmt::format(
        "Steps come in bursts of {} (one slow, {} fast). Workers finish together; this is "
        "starvation, not noise.",
        w.period, fast <= kWords.size() ? std::string(kWords[fast - 1]) : std::to_string(fast));
  }

  std::string operator()(const warnings::PartialBatch& w) const {
    return fmt::format(
        "The last batch of an epoch holds {} of {} samples; rates count its true size. --set "
        "loader.drop_last=true leaves it out.",
        w.samples, w.batch_size);
  }

  std::string operator()(const warnings::BadSamples& w) const { return BadSamplesText(w, {}); }

  std::string operator()(const warnings::LateWakeups& w) const {
    return fmt::format(
        "Emulated waits ended late by {} of their time ({} in all): the machine is slow to wake "
        "sleeping threads, and waits that follow one another make up for it only in part.",
        Noise(w.share), Time(w.late_s));
  }

  std::string operator()(const warnings::UnseenContention& w) const {
    return fmt::format(
        "The kernel counted {} in which workers waited for a core, the states show {}: part of "
        "their read, prepare and collate is really contention.",
        Time(w.kernel_s), Time(w.seen_s));
  }

  std::string operator()(const warnings::LaunchUnmeasured& w) const {
    return fmt::format(
        "The step could not be replayed alone on {}, so its busy time includes gaps in which it "
        "waits for the host to launch, and utilization is not known.",
        spec::ToText(w.device));
  }

  std::string operator()(const warnings::ProbesLeftOut& w) const {
    return fmt::format("Tried and left out: {}. The run went {} {} beside {} than while it was measured.",
                       base::Join(w.changes, ", "), Noise(std::abs(w.drift)), w.drift < 0 ? "slower" : "faster",
                       w.changes.size() > 1 ? "them" : "it");
  }

  std::string operator()(const warnings::Stalled& w) const {
    return fmt::format(
        "The whole program stood still for {}, from {} after its start on (stopped, or the machine "
        "suspended). The rate counts that time, and what is emulated went on meanwhile: run it "
        "again.",
        Time(w.stalled_s), Time(w.first_s));
  }

  std::string operator()(const warnings::LibraryWarned& w) const {
    return "LibTorch warned: " + w.text;
  }
};

}  // namespace

std::string BadSamplesText(const warnings::BadSamples& w, std::span<const trace::DataFault> met) {
  std::set<std::string_view> items;
  for (const trace::DataFault& fault : met) items.insert(fault.item);
  const auto different = static_cast<std::int64_t>(items.size());
  const bool all_known = static_cast<std::int64_t>(met.size()) == w.count;
  const bool again = different > 0 && different < w.count;
  const std::int64_t samples = again ? different : w.count;
  return fmt::format(
      "{}{} {} could not be used and {} left out{}.{}", again && !all_known ? "At least " : "",
      WithCommas(samples), samples == 1 ? "sample" : "samples", samples == 1 ? "was" : "were",
      again ? fmt::format(", {} times in all epochs", WithCommas(w.count)) : "",
      w.first ? fmt::format(" The first: {} ({}).", w.first->item, w.first->reason) : "");
}

std::string WarningText(const measure::Warning& warning) {
  return warning.text.empty() ? std::visit(Wording{}, warning.facts) : warning.text;
}

}  // namespace pipesim::report
