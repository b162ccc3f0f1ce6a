// Reads a page of HTML strictly: every tag closed, every attribute quoted. Header only.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipesim::tests {

struct Markup {
  std::vector<std::string> tags;  ///< as written, without brackets, in order
  std::string text;               ///< between the tags, references resolved, one space for each gap
  std::string error;              ///< the first thing that is wrong; empty: nothing
};

inline std::string Resolved(std::string text) {
  static const std::pair<std::string_view, std::string_view> kReferences[] = {
      {"&lt;", "<"},         {"&gt;", ">"},     {"&quot;", "\""}, {"&#39;", "'"}, {"&nbsp;", " "},
      {"&#9473;", "-"}, {"&#9549;", "-"}, {"&#8250;", ">"}, {"&amp;", "&"}};
  for (const auto& [reference, character] : kReferences)
    for (std::size_t at = text.find(reference); at != std::string::npos;
         at = text.find(reference, at + 1))
      text.replace(at, reference.size(), character);
  return text;
}

/// Whether `tag` is a name and attributes such as name="value".
inline bool IsProperTag(std::string_view tag) {
  std::size_t at = 0;
  const auto name = [&] {
    const std::size_t from = at;
    while (at < tag.size() && (std::isalnum(static_cast<unsigned char>(tag[at])) || tag[at] == '-'))
      ++at;
    return at > from;
  };
  if (!name()) return false;
  while (at < tag.size() && tag[at] == ' ') {
    ++at;
    if (!name()) return false;
    if (tag.substr(at, 2) != "=\"") return false;
    at = tag.find('"', at + 2);
    if (at == std::string_view::npos) return false;
    ++at;
  }
  return at == tag.size() || tag.substr(at) == "/";
}

inline Markup ReadMarkup(std::string_view page) {
  static const std::set<std::string> kVoid = {"meta", "link", "br"};
  Markup markup;
  std::vector<std::string> open;
  std::size_t at = page.find("<html");
  if (!page.starts_with("<!DOCTYPE html>") || at == std::string_view::npos) {
    markup.error = "not a page";
    return markup;
  }
  while (at < page.size() && markup.error.empty()) {
    const std::size_t from = page.find('<', at);
    std::string between(page.substr(at, from - at));
    if (between.find('>') != std::string::npos && (open.empty() || open.back() != "style"))
      markup.error = "a stray > in: " + between;
    if (!open.empty() && open.back() != "style") markup.text += Resolved(between) + " ";
    if (from == std::string_view::npos) break;
    // A quoted value may hold a bracket only as a reference.
    const std::size_t end = page.find('>', from);
    if (end == std::string_view::npos) {
      markup.error = "a tag without an end";
      break;
    }
    const std::string tag(page.substr(from + 1, end - from - 1));
    at = end + 1;
    if (tag.starts_with("/")) {
      if (open.empty() || "/" + open.back() != tag)
        markup.error = "<" + tag + "> closes " + (open.empty() ? "nothing" : open.back());
      else
        open.pop_back();
      continue;
    }
    markup.tags.push_back(tag);
    if (!IsProperTag(tag)) markup.error = "an odd tag: <" + tag + ">";
    const std::string name = tag.substr(0, tag.find_first_of(" /"));
    if (!tag.ends_with("/") && !kVoid.contains(name)) open.push_back(name);
  }
  if (markup.error.empty() && !open.empty()) markup.error = open.back() + " is not closed";
  return markup;
}

inline testing::AssertionResult IsWellFormed(const std::string& page) {
  const Markup markup = ReadMarkup(page);
  if (markup.error.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << markup.error;
}

}  // namespace pipesim::tests
