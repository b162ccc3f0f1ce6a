// The inputs for the sentences of a verdict's page.
#pragma once

#include <optional>
#include <vector>

#include "diagnose/decide.h"
#include "diagnose/doubt.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

/// Refers to the caller's objects, and lives no longer than they do.
struct Findings {
  const Question& question;
  const Decision& decision;
  const Doubt& doubt;
  const std::vector<WhatIf>& what_if;
  std::optional<Side> side;  ///< certain even when the verdict is not
};

}  // namespace pipesim::diagnose
