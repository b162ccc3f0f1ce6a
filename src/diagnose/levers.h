// Everything that may be changed in a pipeline, as the what-if table offers it, before anything is
// predicted. A lever has `set` wherever flags make the change for real.
#pragma once

#include <string_view>
#include <vector>

#include "diagnose/demands.h"
#include "diagnose/question.h"
#include "diagnose/settings.h"

namespace pipesim::diagnose {

/// Which ceiling bounds a lever: free data, free compute, or neither.
enum class Acts { kOnData, kOnCompute, kOnBoth };

struct Lever {
  Setting setting = {};
  Takes takes = Takes::kFlag;
  Acts acts = Acts::kOnBoth;
  std::optional<Demand> eases = {};  ///< the demand that it lowers; nullopt: a setting
  std::optional<Takes> pair_takes = {};  ///< of two at once: what the cheaper one takes
  bool changes_training = false;
  std::optional<bool> feasible_here = {};
  /// It only takes work away, so that nothing is lost where bounds say that nothing is gained.
  bool only_helps = false;
};

using Levers = std::vector<Lever>;

/// Adds two of `candidates`, which differ in speed alone: of those that gain, by the bounds, the
/// slowest one, and the slowest that is enough.
void AddSlowestThatHelp(Levers& levers, Levers candidates, const Question& question);

/// Settings of the loader and its threads, storage, caching, preparing.
std::vector<Lever> LoadingLevers(const Question& question);
/// Copies, launches, read-backs, the step, the device, cores, the batch.
std::vector<Lever> TrainingLevers(const Question& question);
/// Parts that cost nothing: upper bounds, which nobody can buy. Free data and free compute first.
std::vector<Lever> Ceilings(const Question& question);

// Texts of the rows that evidence points to.
inline constexpr std::string_view kFreeData = "free data (upper bound)";
inline constexpr std::string_view kFreeCompute = "free compute (upper bound)";
inline constexpr std::string_view kFreeCopies = "free copies (upper bound)";
inline constexpr std::string_view kFreeLaunch = "free launch (upper bound)";
inline constexpr std::string_view kFreeHost = "free host (upper bound)";
inline constexpr std::string_view kStorageX2 = "storage x2";
inline constexpr std::string_view kPrepareHalf = "prepare x1/2";
inline constexpr std::string_view kPinned = "pinned memory";
inline constexpr std::string_view kCollatePinned = "workers collate into pinned memory";
inline constexpr std::string_view kUint8 = "samples as uint8";
inline constexpr std::string_view kCudaGraph = "CUDA graph";
inline constexpr std::string_view kNoSync = "no sync";

}  // namespace pipesim::diagnose
