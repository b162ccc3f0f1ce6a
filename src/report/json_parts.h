// The sections of the document, one function each (docs/report.md lists them in order).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "report/report.h"

namespace pipesim::report {

/// `text` with U+FFFD in place of bytes that are no UTF-8.
Document TextValue(std::string_view text);
/// The same, and null for an empty text: what is not known.
Document TextOrNull(std::string_view text);
/// null where the number is unknown or not finite.
Document NumberValue(std::optional<double> number);
Document CountValue(std::optional<std::int64_t> count);
Document TextArray(const std::vector<std::string>& texts);
/// [{path: value}] of a setting list, as an object.
Document SettingsValue(const std::vector<std::pair<std::string, std::string>>& set);
Document IntervalValue(const std::optional<measure::Interval>& interval);

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
