// The what-if table: remedies and ceilings, each predicted. Never classifies.
#pragma once

#include <vector>

#include "diagnose/decide.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

/// Largest gain first. Empty when the run has no throughput to compare with. samples_per_s is the
/// measured rate × (1 + gain), so that the model's error on this run cancels out.
std::vector<WhatIf> WhatIfs(const Question& question, const Decision& decision);

/// The row of this text, and its place in the table; nullopt when there is none.
std::optional<std::size_t> FindRow(const std::vector<WhatIf>& rows, std::string_view change);

// Texts of the rows that evidence points to.
inline constexpr std::string_view kFreeData = "free data (ceiling)";
inline constexpr std::string_view kFreeTraining = "free training";
inline constexpr std::string_view kStorageX2 = "storage x2";
inline constexpr std::string_view kPrepareHalf = "prepare x1/2";
inline constexpr std::string_view kNoSync = "no sync";
inline constexpr std::string_view kFreeCopies = "free copies";

}  // namespace pipesim::diagnose
