#include <fmt/format.h>

#include <iterator>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "base/text.h"
#include "diagnose/explain.h"
#include "report/page.h"

namespace pipesim::app {
namespace {

using diagnose::Explanation;

std::string Wrapped(std::string_view text, std::string_view first, std::string_view rest) {
  return base::Join(report::Wrap(std::string(first) + std::string(text), 79, rest), "\n") + "\n";
}

std::string List(std::string_view title, std::span<const std::string_view> items) {
  if (items.empty()) return "";
  std::string text = fmt::format("\n{}\n", title);
  for (std::string_view item : items) text += Wrapped(item, "  - ", "    ");
  return text;
}

std::string TextOf(const Explanation& explanation) {
  return fmt::format(
      "{}\n{}\n{}{}{}{}", diagnose::ToText(explanation.verdict),
      Wrapped(explanation.meaning, "  ", "  "), Wrapped(explanation.decided, "Decided  ", "  "),
      List("Signs", explanation.signs), List("What helps, as pipesim flags", explanation.flags),
      List("What helps, in PyTorch", explanation.pytorch));
}

std::string Overview() {
  std::string text;
  for (const Explanation& explanation : diagnose::Explanations()) {
    const std::string name = fmt::format("{:<16}", diagnose::ToText(explanation.verdict));
    text += Wrapped(explanation.meaning, name, std::string(16, ' '));
  }
  return text;
}

}  // namespace

base::ExitCode Explain(const Arguments& arguments) {
  if (arguments.positional.empty()) return PrintOut(Overview()), base::ExitCode::kOk;
  if (arguments.positional.size() > 1)
    throw base::UsageError("`pipesim explain` takes one verdict");
  const std::string& name = arguments.positional[0];
  std::vector<std::string> names;
  for (const Explanation& explanation : diagnose::Explanations()) {
    if (diagnose::ToText(explanation.verdict) == name)
      return PrintOut(TextOf(explanation)), base::ExitCode::kOk;
    names.emplace_back(diagnose::ToText(explanation.verdict));
  }
  const auto near = base::Nearest(name, names);
  throw base::UsageError(fmt::format("there is no verdict '{}'{}; `pipesim explain` lists them",
                                     base::Printable(name),
                                     near ? "; did you mean " + *near + "?" : ""));
}

}  // namespace pipesim::app
