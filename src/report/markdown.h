// The report as GitHub-flavoured Markdown, to paste into an issue or a pull request.
#pragma once

#include <string>
#include <string_view>

#include "report/report.h"

namespace pipesim::report {

/// Of a document of any kind. Never throws; what is missing is n/a.
std::string RenderMarkdown(const Document& report);

/// `text` on one line that Markdown shows as it is: no markup, no HTML, no cell of a table, no
/// mention of a user or an issue.
std::string MarkdownText(std::string_view text);

/// `text` as a block that nothing in it can end.
std::string MarkdownBlock(std::string_view text, std::string_view language);

}  // namespace pipesim::report
