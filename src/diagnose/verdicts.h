// The table of verdicts. Everything that differs from one verdict to the next is in its row here or
// on its page, verdicts/NAME.cc; nothing else in the program lists verdicts. A new one needs a
// value of Verdict, a page and a row, and its name in docs/verdicts.md and
// docs/schema/run.schema.json (tests compare both with this table).
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::diagnose {

struct Evidence;
struct Findings;
struct Recommendation;

enum class Verdict {
  kLoaderBound,
  kCpuContention,
  kIoBound,
  kCpuBound,
  kH2dBound,
  kLaunchBound,
  kSyncBound,
  kHostBound,
  kComputeBound,
  kBalanced,
  kInconclusive
};

/// The demands that the decision makes free in turn.
enum class Demand {
  kStorage,     ///< waiting for storage, and its limits
  kLoadingCpu,  ///< prepare, collate, the CPU part of reads, sending to the trainer's process
  kTransfer,    ///< pin and copy to the device, and what a pin thread does before
  kLaunch,      ///< host work per step that feeds an asynchronous device
  kSync,        ///< host reads of device results
  kOtherHost,   ///< the training thread's own work where the device is synchronous, and taking
                ///< batches over from worker processes
  kStep,        ///< the step itself
};

enum class Side { kInput, kTransfer, kHost, kCompute };

enum class LadderResource { kTrainer, kCores, kStorage };

/// What a verdict says. Made from constants and stateless functions; has static lifetime.
struct VerdictPage {
  std::string (*headline)(const Findings&);  ///< one clause for readers who do not know pipesim
  /// The two or three numbers that decide, each with its JSON field. For kInconclusive: what is
  /// certain, and why the rest is open.
  std::vector<Evidence> (*evidence)(const Findings&);
  Recommendation (*remedy)(const Findings&);
  // The explanation: `pipesim explain NAME` and docs/verdicts.md.
  std::string_view meaning;                   ///< one or two sentences
  std::string_view decided;                   ///< the rule that names the verdict
  std::initializer_list<std::string_view> signs;    ///< how it shows in a report
  std::initializer_list<std::string_view> flags;    ///< fixes as pipesim flags, the cheapest first
  std::initializer_list<std::string_view> pytorch;  ///< the same in a PyTorch program
};

struct VerdictRow {
  Verdict verdict;
  std::string_view name;  ///< "io-bound"
  const VerdictPage* page;
  /// The demand whose gain names it; nullopt: a setting, or no single part.
  std::optional<Demand> demand = {};
  std::optional<Side> side = {};             ///< the side of the timeline that shows its time
  bool on_every_side = false;                ///< the other sides may show its time, too
  std::optional<LadderResource> fills = {};  ///< what the ladder marks as the limit
  std::string_view part = {};  ///< "no faster PART alone can gain 5 %"; empty: the trainer's name
  bool good_news = false;      ///< the report prints it as such
};

// The pages: verdicts/*.cc.
namespace loader_bound {
extern const VerdictPage kPage;
}
namespace cpu_contention {
extern const VerdictPage kPage;
}
namespace io_bound {
extern const VerdictPage kPage;
}
namespace cpu_bound {
extern const VerdictPage kPage;
}
namespace h2d_bound {
extern const VerdictPage kPage;
}
namespace launch_bound {
extern const VerdictPage kPage;
}
namespace sync_bound {
extern const VerdictPage kPage;
}
namespace host_bound {
extern const VerdictPage kPage;
}
namespace compute_bound {
extern const VerdictPage kPage;
}
namespace balanced {
extern const VerdictPage kPage;
}
namespace inconclusive {
extern const VerdictPage kPage;
}

/// In the order of the decision: settings first, then demands.
inline constexpr auto kVerdicts = std::to_array<VerdictRow>({
    {.verdict = Verdict::kLoaderBound,
     .name = "loader-bound",
     .page = &loader_bound::kPage,
     .side = Side::kInput},
    {.verdict = Verdict::kCpuContention,
     .name = "cpu-contention",
     .page = &cpu_contention::kPage,
     .side = Side::kHost,
     .on_every_side = true,
     .fills = LadderResource::kCores},
    {.verdict = Verdict::kIoBound,
     .name = "io-bound",
     .page = &io_bound::kPage,
     .demand = Demand::kStorage,
     .side = Side::kInput,
     .fills = LadderResource::kStorage,
     .part = "storage"},
    {.verdict = Verdict::kCpuBound,
     .name = "cpu-bound",
     .page = &cpu_bound::kPage,
     .demand = Demand::kLoadingCpu,
     .side = Side::kInput,
     .fills = LadderResource::kCores,
     .part = "prepare"},
    {.verdict = Verdict::kH2dBound,
     .name = "h2d-bound",
     .page = &h2d_bound::kPage,
     .demand = Demand::kTransfer,
     .side = Side::kTransfer,
     .part = "copies"},
    {.verdict = Verdict::kLaunchBound,
     .name = "launch-bound",
     .page = &launch_bound::kPage,
     .demand = Demand::kLaunch,
     .side = Side::kHost,
     .part = "launches"},
    {.verdict = Verdict::kSyncBound,
     .name = "sync-bound",
     .page = &sync_bound::kPage,
     .demand = Demand::kSync,
     .side = Side::kHost,
     .part = "read-backs"},
    {.verdict = Verdict::kHostBound,
     .name = "host-bound",
     .page = &host_bound::kPage,
     .demand = Demand::kOtherHost,
     .side = Side::kHost,
     .part = "training loop"},
    {.verdict = Verdict::kComputeBound,
     .name = "compute-bound",
     .page = &compute_bound::kPage,
     .demand = Demand::kStep,
     .side = Side::kCompute,
     .fills = LadderResource::kTrainer,
     .good_news = true},
    {.verdict = Verdict::kBalanced,
     .name = "balanced",
     .page = &balanced::kPage,
     .good_news = true},
    {.verdict = Verdict::kInconclusive, .name = "inconclusive", .page = &inconclusive::kPage},
});

constexpr bool RowsAreInOrderOfVerdict() {
  for (std::size_t i = 0; i < kVerdicts.size(); ++i) {
    if (static_cast<std::size_t>(kVerdicts[i].verdict) != i) return false;
  }
  return true;
}
static_assert(RowsAreInOrderOfVerdict(), "RowOf takes the verdict as an index");

constexpr const VerdictRow& RowOf(Verdict verdict) {
  return kVerdicts.at(static_cast<std::size_t>(verdict));
}
constexpr const VerdictPage& PageOf(Verdict verdict) { return *RowOf(verdict).page; }
constexpr std::string_view ToText(Verdict verdict) { return RowOf(verdict).name; }

/// nullptr when there is no such verdict.
constexpr const VerdictRow* FindVerdict(std::string_view name) {
  const auto found =
      std::find_if(kVerdicts.begin(), kVerdicts.end(), [&](auto& row) { return row.name == name; });
  return found == kVerdicts.end() ? nullptr : &*found;
}

}  // namespace pipesim::diagnose
