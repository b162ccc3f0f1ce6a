#include "report/html_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace pipesim::report {
namespace {

/// "Why   Workers spend …" has a label: one capitalised word before at least two spaces.
std::size_t LabelLength(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && ((text[length] >= 'a' && text[length] <= 'z') ||
                                  (length == 0 && text[length] >= 'A' && text[length] <= 'Z')))
    ++length;
  const bool label = length > 1 && text[0] <= 'Z' && text.substr(length).starts_with("  ");
  return label ? length : 0;
}

std::string Paragraph(std::string_view text) {
  if (const std::size_t length = LabelLength(text); length > 0)
    return fmt::format("<p class=\"labelled\"><b>{}</b> {}</p>\n", Escaped(text.substr(0, length)),
                       Escaped(base::Trim(text.substr(length))));
  const bool hanging = text.starts_with("  ");
  return fmt::format("<p{}>{}</p>\n", hanging ? " class=\"hanging\"" : "",
                     Escaped(base::Trim(text)));
}

std::string CellTag(std::string_view tag, const HtmlColumn& column, const HtmlCell& cell,
                    std::string_view scope) {
  const bool own = !cell.name.empty();
  std::string classes(own ? cell.name : column.name);
  if (column.number && !own) classes += classes.empty() ? "n" : " n";
  // What the column is, for narrow pages that show a row as a block.
  const std::string label =
      tag == "td" && !own && !column.title.empty() ? " data-label=\"" + Escaped(column.title) + "\"" : "";
  return fmt::format("<{}{}{}{}{}>{}</{}>", tag, scope,
                     classes.empty() ? "" : " class=\"" + classes + "\"", label, cell.attributes,
                     cell.html, tag);
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : base::Printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string EscapedLines(std::string_view text) {
  std::string html;
  for (const std::string& line : base::Split(text, '\n'))
    html += (html.empty() ? "" : "\n") + Escaped(line);
  return html;
}

std::string Command(std::string_view command) {
  return "<pre class=\"command\" tabindex=\"0\"><code>" + EscapedLines(command) + "</code></pre>\n";
}

std::string Paragraphs(const Page& page, std::size_t from) {
  std::string html;
  for (std::size_t i = from; i < page.lines().size(); ++i) {
    const PageLine& line = page.lines()[i];
    if (line.command) {
      // Lines of one file stand together, and are copied together.
      std::string lines = line.text;
      while (i + 1 < page.lines().size() && page.lines()[i + 1].command)
        lines += '\n' + page.lines()[++i].text;
      html += Command(lines);
    } else if (!line.text.empty())
      html += Paragraph(line.text);
  }
  return html;
}

HtmlCell TextCell(std::string_view text) { return {Escaped(text)}; }

std::string ToHtml(const HtmlTable& table) {
  if (table.rows.empty()) return {};
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">"
      "<table{}><caption>{}</caption>\n<thead><tr>",
      Escaped(table.caption), table.name.empty() ? "" : fmt::format(" class=\"{}\"", table.name),
      Escaped(table.caption));
  for (const HtmlColumn& column : table.columns)
    html += CellTag("th", column, column.axis.empty() ? TextCell(column.title) : HtmlCell{column.axis},
                    " scope=\"col\"");
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<HtmlCell>& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i)
      html += i == 0 ? CellTag("th", table.columns[i], row[i], " scope=\"row\"")
                     : CellTag("td", table.columns[i], row[i], "");
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string Section(std::string_view title, const std::string& content, bool folded) {
  if (content.empty()) return {};
  if (folded)
    return fmt::format("<details class=\"section\"><summary><h2>{}</h2></summary>\n{}</details>\n",
                       Escaped(title), content);
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", Escaped(title), content);
}

std::string Fold(std::string_view title, const std::string& content) {
  if (content.empty()) return {};
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", Escaped(title), content);
}

}  // namespace pipesim::report
