#include <cmath>

#include "report/json_parts.h"

namespace pipesim::report {

Document TextValue(std::string_view text) {
  // The library checks UTF-8 when it writes, not when it stores. Writing once here replaces bad
  // bytes, so later writers cannot fail.
  const auto replace = Document::error_handler_t::replace;
  return Document::parse(Document(std::string(text)).dump(-1, ' ', false, replace));
}

Document TextOrNull(std::string_view text) {
  return text.empty() ? Document(nullptr) : TextValue(text);
}

Document NumberValue(std::optional<double> number) {
  if (!number || !std::isfinite(*number)) return nullptr;
  return *number;
}

Document CountValue(std::optional<std::int64_t> count) {
  if (!count) return nullptr;
  return *count;
}

Document TextArray(const std::vector<std::string>& texts) {
  Document array = Document::array();
  for (const std::string& text : texts) array.push_back(TextValue(text));
  return array;
}

Document SettingsValue(const std::vector<std::pair<std::string, std::string>>& set) {
  Document object = Document::object();
  for (const auto& [path, value] : set)
    object[TextValue(path).get<std::string>()] = TextValue(value);
  return object;
}

Document IntervalValue(const std::optional<measure::Interval>& interval) {
  if (!interval || !std::isfinite(interval->low) || !std::isfinite(interval->high)) return nullptr;
  return {{"low", interval->low},
          {"high", interval->high},
          {"level", NumberValue(interval->level)},
          {"method", TextValue(interval->method)}};
}

}  // namespace pipesim::report
