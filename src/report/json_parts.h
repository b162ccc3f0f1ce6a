// The sections of the document, one function each (docs/report.md lists them in order).
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "report/report.h"

namespace pipesim::report {

/// `text` with invalid UTF-8 replaced by U+FFFD.
Document TextValue(std::string_view text);
/// The same; null for an empty text, which means unknown.
Document TextOrNull(std::string_view text);
/// null if the number is unknown or not finite.
Document NumberValue(std::optional<double> number);
Document CountValue(std::optional<std::int64_t> count);
Document TextArray(const std::vector<std::string>& texts);
/// A setting list as an object {path: value}.
Document SettingsValue(const std::vector<std::pair<std::string, std::string>>& set);
Document IntervalValue(const std::optional<measure::Interval>& interval);

/// What every document begins with: the program, the version of the schema, kind, context.
Document HeadOf(const Context& context, std::string_view kind);
Document ExperimentSection(const spec::Experiment& experiment);
/// Settings by their path: value and origin.
Document SettingsSection(const std::map<std::string, spec::Experiment::Setting>& settings);
/// null for what ran.
Document PredictionSection(const std::optional<predict::Notes>& prediction);
Document EffectiveSection(const RunReport& report);
Document ResultSection(const measure::Result& result);
Document ConsumerSection(const measure::Consumer& consumer);
Document DeviceSection(const std::optional<measure::Device>& device);
Document WorkersSection(const measure::Workers& workers);
Document QueueSection(const measure::Queue& queue);
Document PinSection(const std::optional<measure::Pin>& pin);
Document TransferSection(const measure::TransferUse& transfer);
Document MemorySection(const measure::Memory& memory);
Document ResourcesSection(const measure::Resources& resources);
Document DemandsSection(const measure::Demands& demands);
Document LadderSection(const diagnose::Diagnosis& diagnosis);
Document DiagnosisSection(const diagnose::Diagnosis& diagnosis,
                          const std::vector<std::string>& next_argv);

}  // namespace pipesim::report
