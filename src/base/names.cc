#include "base/names.h"

#include <algorithm>

namespace pipesim::base {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::optional<std::size_t> FindName(std::string_view word, std::span<const std::string> names) {
  const auto index = [&](auto at) { return static_cast<std::size_t>(at - names.begin()); };
  if (const auto exact = std::find(names.begin(), names.end(), word); exact != names.end())
    return index(exact);
  const std::string lower = LowerCase(word);
  const auto same = [&](const std::string& name) { return LowerCase(name) == lower; };
  const auto found = std::find_if(names.begin(), names.end(), same);
  if (found == names.end() || std::find_if(found + 1, names.end(), same) != names.end())
    return std::nullopt;
  return index(found);
}

}  // namespace pipesim::base
