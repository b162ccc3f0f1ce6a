// Text, tables and folds of the HTML report. Everything that comes from a document passes through
// Escaped, so it is text and never markup.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/page.h"

namespace pipesim::report {

/// For the content of elements and for attributes in double quotes. Control characters, invalid
/// UTF-8 and bidirectional controls become U+FFFD.
std::string Escaped(std::string_view text);

/// The same for text in which line feeds stay.
std::string EscapedLines(std::string_view text);

/// The lines of a page: commands as blocks that one click selects, labels such as "Why" in bold.
/// `from`: leaves out lines before this one.
std::string Paragraphs(const Page& page, std::size_t from = 0);

/// What a click selects, to be copied: a command, or the lines of a file.
std::string Command(std::string_view command);

/// A cell as HTML; the text in it is escaped by whoever makes it.
struct HtmlCell {
  std::string html;
  std::string attributes = {};  ///< " class=\"best\""
  std::string_view name = {};   ///< CSS class in place of its column's
};
HtmlCell TextCell(std::string_view text);

struct HtmlColumn {
  std::string title;
  bool number = false;         ///< aligned right
  std::string_view name = {};  ///< CSS class of its cells
  std::string axis = {};       ///< HTML that stands instead of the title: that of the cells' charts
};

/// A table with a header; the first column heads its rows. Scrolls sideways where it is too wide.
struct HtmlTable {
  std::string caption;  ///< for screen readers; the heading above says the same
  std::string_view name = {};
  std::vector<HtmlColumn> columns;
  std::vector<std::vector<HtmlCell>> rows;
};
std::string ToHtml(const HtmlTable& table);

/// A section with a heading; "" if `content` is empty. Where `folded`, closed until it is clicked.
std::string Section(std::string_view title, const std::string& content, bool folded = false);
/// What a figure was drawn from, folded.
std::string Fold(std::string_view title, const std::string& content);

}  // namespace pipesim::report
