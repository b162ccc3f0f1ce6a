// Changes JSON as JSON: bytes alone seldom stay a document, and seldom reach what reads one. An
// input of several lines (a journal) is changed in one of them.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Json = nlohmann::ordered_json;
using Random = std::minstd_rand;
constexpr int kDeepest = 100;

std::size_t Below(Random& random, std::size_t bound) { return random() % bound; }

Json Parsed(const std::string& text) {
  bool deep = false;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    return !(deep = deep || depth > kDeepest);
  };
  Json json = Json::parse(text, shallow, false);
  return deep ? Json(Json::value_t::discarded) : json;
}

void Collect(Json& node, std::vector<Json*>& all) {
  all.push_back(&node);
  if (node.is_structured())
    for (Json& child : node) Collect(child, all);
}

/// Values at the borders of types.
Json Strange(Random& random) {
  static const std::vector<Json> kValues{
      nullptr, true, false, 0, -1, 1, 0.5, 1e-320, 1e308, -1e308, 9.3e18, -9.3e18, 4.3e9,
      std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
      std::numeric_limits<std::uint64_t>::max(), "", "\x1b[31m\n", "µ\u200f\U0001F600", "<b>|`*",
      std::string(300, 'x'), Json::array(), Json::object(), Json::array({nullptr})};
  return kValues[Below(random, kValues.size())];
}

std::string MutatedText(std::string text, std::size_t room) {
  const std::size_t size = text.size();
  text.resize(size + room);
  auto* const data = reinterpret_cast<std::uint8_t*>(text.data());
  text.resize(LLVMFuzzerMutate(data, size, text.size()));
  return text;
}

/// Removes or doubles a child, or renames a member.
void ChangeChildren(Json& node, Random& random) {
  auto child = node.begin();
  for (std::size_t at = Below(random, node.size()); at > 0; --at) ++child;
  if (node.is_array() && Below(random, 2) == 0) {
    const Json copy = *child;
    node.push_back(copy);
  } else if (node.is_object() && Below(random, 4) == 0) {
    const Json copy = *child;
    node[MutatedText(child.key(), 16)] = copy;
  } else {
    node.erase(child);
  }
}

void Change(Json& document, Random& random) {
  std::vector<Json*> all;
  Collect(document, all);
  Json& node = *all[Below(random, all.size())];
  switch (Below(random, 4)) {
    case 0:
      node = Strange(random);
      return;
    case 1: {
      const Json copy = *all[Below(random, all.size())];
      node = copy;
      return;
    }
    case 2:
      if (node.is_structured() && !node.empty()) return ChangeChildren(node, random);
      [[fallthrough]];
    default:
      if (node.is_string()) {
        node = MutatedText(node.get<std::string>(), 64);
      } else if (node.is_number()) {
        node = node.get<double>() * (Below(random, 2) == 0 ? -1 : std::pow(10, random() % 40));
      } else {
        node = Strange(random);
      }
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  Random random(seed);
  std::string text(reinterpret_cast<const char*>(data), size);
  Json document = Parsed(text);
  std::size_t begin = 0, length = size;
  if (document.is_discarded() && size > 0) {
    begin = text.rfind('\n', Below(random, size));
    begin = begin == std::string::npos ? 0 : begin + 1;
    length = std::min(text.find('\n', begin), size) - begin;
    document = Parsed(text.substr(begin, length));
  }
  if (document.is_discarded() || Below(random, 10) == 0) return LLVMFuzzerMutate(data, size, most);
  for (std::size_t changes = 1 + Below(random, 3); changes > 0; --changes) Change(document, random);
  text.replace(begin, length, document.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
