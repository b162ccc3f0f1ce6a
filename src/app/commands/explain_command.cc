#include <fmt/format.h>

#include <iterator>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/verdict_names.h"
#include "base/text.h"
#include "diagnose/verdicts.h"
#include "report/page.h"

namespace pipesim::app {
namespace {

std::string Wrapped(std::string_view text, std::string_view first, std::string_view rest) {
  return base::Join(report::Wrap(std::string(first) + std::string(text), 79, rest), "\n") + "\n";
}

std::string List(std::string_view title, std::initializer_list<std::string_view> items) {
  if (items.size() == 0) return "";
  std::string text = fmt::format("\n{}\n", title);
  for (std::string_view item : items) text += Wrapped(item, "  - ", "    ");
  return text;
}

std::string TextOf(const diagnose::VerdictRow& row) {
  const diagnose::VerdictPage& page = *row.page;
  return fmt::format("{}\n{}\n{}{}{}{}", row.name, Wrapped(page.meaning, "  ", "  "),
                     Wrapped(page.decided, "Decided  ", "  "), List("Signs", page.signs),
                     List("What helps, as pipesim flags", page.flags),
                     List("What helps, in PyTorch", page.pytorch));
}

std::string Overview() {
  std::string text;
  for (const diagnose::VerdictRow& row : diagnose::kVerdicts)
    text += Wrapped(row.page->meaning, fmt::format("{:<16}", row.name), std::string(16, ' '));
  return text;
}

}  // namespace

base::ExitCode Explain(const Arguments& arguments) {
  if (arguments.positional.empty()) return PrintOut(Overview()), base::ExitCode::kOk;
  if (arguments.positional.size() > 1)
    throw base::UsageError("`pipesim explain` takes one verdict");
  const std::string& name = arguments.positional[0];
  if (const auto* row = FindVerdictAsTyped(name))
    return PrintOut(TextOf(*row)), base::ExitCode::kOk;
  const std::string meant = VerdictMeant(name);
  throw base::UsageError(fmt::format("there is no verdict '{}'{}\n`pipesim explain` lists them",
                                     base::Printable(name), meant.empty() ? "" : "; " + meant));
}

}  // namespace pipesim::app
