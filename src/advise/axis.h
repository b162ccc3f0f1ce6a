// The axes that `pipesim size` solves for: which key each one sets, and which values it may take.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "advise/size.h"
#include "spec/experiment.h"

namespace pipesim::advise {

struct Axis {
  std::string_view name;  ///< as typed after --solve
  std::string_view path;  ///< the experiment key
  bool whole = true;
  bool is_rate = false;  ///< bytes a second
};

std::span<const Axis> Axes();
/// By name, path, or the last word of the path; nullptr if there is none.
const Axis* FindAxis(std::string_view name);

/// The value as the experiment file spells it: "812MB/s", "12".
std::string SettingText(const Axis& axis, double value);

/// The question for this axis of the experiment. Throws
/// base::ConfigError when the experiment has no such limit to vary.
SizeQuestion QuestionOf(const Axis& axis, const spec::Experiment& experiment, Metric metric,
                        double target);

/// The present value; nullopt where the experiment leaves it open (limits.cpus: auto) or unlimited.
std::optional<double> PresentValue(const Axis& axis, const spec::Experiment& experiment);

}  // namespace pipesim::advise
