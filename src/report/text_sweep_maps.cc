// Maps of a sweep: verdicts, gains and rates over its first two axes.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "base/text.h"
#include "report/sweep_text.h"

namespace pipesim::report {

std::optional<Plane> PlaneOf(const SweepTable& table) {
  if (table.rows.empty() || !table.rows.front().ok) return std::nullopt;
  const SweepRow& best = table.rows.front();
  std::vector<std::size_t> wide;
  for (std::size_t axis = 0; axis < table.axes.size(); ++axis)
    if (table.axes[axis].labels.size() > 1) wide.push_back(axis);
  if (wide.empty()) return std::nullopt;
  Plane plane;
  plane.down = wide[0];
  if (wide.size() > 1) plane.across = wide[1];
  for (std::size_t i = 2; i < wide.size(); ++i) {
    const SweepAxisText& axis = table.axes[wide[i]];
    plane.elsewhere += (i > 2 ? ", " : "") + axis.name + " " + axis.labels[best.position[wide[i]]];
  }
  for (const SweepRow& row : table.rows) {
    const bool inside = std::all_of(wide.begin(), wide.end(), [&](std::size_t axis) {
      return axis == plane.down || axis == plane.across ||
             row.position[axis] == best.position[axis];
    });
    if (inside)
      plane.rows[{row.position[plane.down], plane.across ? row.position[*plane.across] : 0}] = &row;
  }
  return plane;
}

// A healthy pipeline stands out.
std::string VerdictWord(const SweepRow* row) {
  if (row == nullptr) return "-";
  if (!row->ok) return row->main.At("status").Text();
  std::string word = row->main.At("bottleneck").Text();
  if (word == "compute-bound") return "COMPUTE";
  if (word == "cpu-contention") return "contention";
  if (word == "inconclusive") return "open";
  if (word.ends_with("-bound")) word.resize(word.size() - 6);
  return word.empty() ? "-" : word;
}

namespace {

using Block = std::vector<std::string>;  ///< lines of a map

Block Grid(const SweepGrid& grid) {
  std::size_t label = grid.down_name.size();
  for (const std::string& text : grid.down_labels) label = std::max(label, text.size());
  std::vector<std::size_t> widths;
  for (std::size_t x = 0; x < grid.across_labels.size(); ++x) {
    widths.push_back(grid.across_labels[x].size());
    for (const Block& row : grid.cells) widths[x] = std::max(widths[x], row[x].size());
  }
  const auto line = [&](const std::string& head, const Block& texts) {
    std::string text = "  " + PadLeft(head, label);
    for (std::size_t x = 0; x < texts.size(); ++x) text += "  " + PadRight(texts[x], widths[x]);
    return text.substr(0, text.find_last_not_of(' ') + 1);
  };
  Block block{grid.title};
  if (!grid.across_name.empty())
    block.push_back("  " + std::string(label, ' ') + "  " + grid.across_name);
  block.push_back(line(grid.down_name, grid.across_labels));
  for (std::size_t y = 0; y < grid.cells.size(); ++y)
    block.push_back(line(grid.down_labels[y], grid.cells[y]));
  return block;
}

std::size_t WidthOfBlock(const Block& block) {
  std::size_t width = 0;
  for (const std::string& line : block) width = std::max(width, base::DisplayWidth(line));
  return width;
}

/// A letter for each word, so that many columns fit.
struct Letters {
  std::map<std::string, char> of;
  char For(const std::string& word) {
    const auto known = of.find(word);
    if (known != of.end()) return known->second;
    const auto is_free = [this](char c) {
      return std::none_of(of.begin(), of.end(), [c](const auto& each) { return each.second == c; });
    };
    for (const char c : word + "abcdefghijklmnopqrstuvwxyz")
      if (std::isalpha(static_cast<unsigned char>(c)) && is_free(c)) return of[word] = c;
    return of[word] = '?';
  }
  std::string Legend() const {
    std::vector<std::string> parts;
    for (const auto& [word, letter] : of) parts.push_back(std::string(1, letter) + " " + word);
    return base::Join(parts, ", ");
  }
};

std::string AcrossCaption(const SweepTable& table, const Plane& plane) {
  const SweepAxisText& axis = table.axes[*plane.across];
  return axis.name + " " + axis.labels.front() + " to " + axis.labels.back();
}

/// Rows of single characters, for wide maps. Columns beyond the page are left out.
Block CharacterMap(const std::string& title, const SweepTable& table, const Plane& plane,
                   const std::string& legend, const std::vector<std::string>& rows) {
  const Block& labels = table.axes[plane.down].labels;
  const std::string& name = table.axes[plane.down].name;
  std::size_t label = base::DisplayWidth(name);
  for (const std::string& text : labels) label = std::max(label, base::DisplayWidth(text));
  label = std::min<std::size_t>(label, 24);
  const std::size_t room = kColumns - label - 4;
  Block block{title, "  " + PadLeft(name, label) + "  " + AcrossCaption(table, plane)};
  for (std::size_t y = 0; y < rows.size(); ++y)
    block.push_back("  " + PadLeft(FirstColumns(labels[y], label), label) + "  " +
                    rows[y].substr(0, room));
  block.push_back("  " + legend);
  if (!rows.empty() && rows.front().size() > room)
    block.push_back("  columns beyond the page are left out; the exports have them");
  return block;
}

Block VerdictLetters(const std::string& title, const SweepTable& table, const Plane& plane) {
  Letters letters;
  std::vector<std::string> rows;
  for (std::size_t y = 0; y < table.axes[plane.down].labels.size(); ++y) {
    std::string row;
    for (std::size_t x = 0; x < table.axes[*plane.across].labels.size(); ++x)
      row += letters.For(VerdictWord(plane.At(y, x)));
    rows.push_back(std::move(row));
  }
  return CharacterMap(title, table, plane, letters.Legend(), rows);
}

Block VerdictMap(const SweepTable& table, const Plane& plane) {
  const SweepAxisText &down = table.axes[plane.down], &across = table.axes[*plane.across];
  std::vector<Block> cells;
  for (std::size_t y = 0; y < down.labels.size(); ++y) {
    Block row;
    for (std::size_t x = 0; x < across.labels.size(); ++x)
      row.push_back(VerdictWord(plane.At(y, x)));
    cells.push_back(std::move(row));
  }
  const std::string title =
      "Where the bottleneck changes" + (plane.elsewhere.empty() ? "" : ", at " + plane.elsewhere);
  Block words = Grid({title, down.name, down.labels, across.name, across.labels, cells});
  return WidthOfBlock(words) <= kColumns ? words : VerdictLetters(title, table, plane);
}

std::string GainCell(const SweepRow* before, const SweepRow* after) {
  return before != nullptr && after != nullptr && before->ok && after->ok
             ? Gain(after->rate / before->rate - 1)
             : "-";
}

Block StepLabels(const SweepAxisText& axis) {
  Block labels;
  for (std::size_t at = 0; at + 1 < axis.labels.size(); ++at)
    labels.push_back(axis.labels[at] + " to " + axis.labels[at + 1]);
  return labels;
}

/// The gains along one axis, for each value of the other.
SweepGrid GainMap(const SweepTable& table, const Plane& plane, bool along_down) {
  const std::size_t along = along_down || !plane.across ? plane.down : *plane.across;
  const SweepAxisText& axis = table.axes[along];
  SweepAxisText other{"", {"gain"}};
  if (plane.across) other = table.axes[along_down ? *plane.across : plane.down];
  std::vector<Block> cells;
  for (std::size_t at = 0; at + 1 < axis.labels.size(); ++at) {
    Block row;
    for (std::size_t x = 0; x < other.labels.size(); ++x)
      row.push_back(along_down ? GainCell(plane.At(at, x), plane.At(at + 1, x))
                               : GainCell(plane.At(x, at), plane.At(x, at + 1)));
    cells.push_back(std::move(row));
  }
  return {"Gain of the next step", axis.name, StepLabels(axis), other.name, other.labels, cells};
}

/// The gains along an axis that the plane does not show, from the best point.
SweepGrid GainsFromBest(View document, const SweepTable& table, std::size_t axis) {
  Block labels;
  std::vector<Block> cells;
  const Block all = StepLabels(table.axes[axis]);
  for (const View step : document.At("steps").Items()) {
    const double from = step.At("from").NumberOr(-1);
    if (step.At("axis").NumberOr(-1) != static_cast<double>(axis) || from < 0 ||
        from >= static_cast<double>(all.size()))
      continue;
    labels.push_back(all[static_cast<std::size_t>(from)]);
    cells.push_back({Gain(step.At("gain").NumberOr(0))});
  }
  if (cells.empty()) return {};
  return {"Gain of the next step at the best", table.axes[axis].name, labels, "", {"gain"}, cells};
}

Block HeatMap(const SweepTable& table, const Plane& plane) {
  constexpr std::string_view kRamp = ".:-=+*#%@";
  const std::size_t columns = table.axes[*plane.across].labels.size();
  const std::size_t wide = columns <= 24 ? 2 : 1;  // two characters are about a square
  const double best = table.rows.front().rate;
  std::vector<std::string> rows;
  for (std::size_t y = 0; y < table.axes[plane.down].labels.size(); ++y) {
    std::string row;
    for (std::size_t x = 0; x < columns; ++x) {
      const SweepRow* cell = plane.At(y, x);
      char shade = ' ';
      if (cell != nullptr && !cell->ok) shade = 'x';
      if (cell != nullptr && cell->ok) {
        const auto level = static_cast<std::size_t>(cell->rate / best * kRamp.size());
        shade = kRamp[std::min(level, kRamp.size() - 1)];
      }
      row.append(wide, shade);
    }
    rows.push_back(std::move(row));
  }
  return CharacterMap("samples/s", table, plane,
                      fmt::format("@ the best; in {} each a ninth of it less; x failed", kRamp),
                      rows);
}

void AddBlock(const Sheet& sheet, const Block& block) {
  if (block.empty()) return;
  sheet.page.AddBlank();
  for (const std::string& line : block) sheet.page.Add(line, Style::kPlain, "      ");
}

/// Side by side where both fit.
void AddBlocks(const Sheet& sheet, const Block& left, const Block& right) {
  constexpr std::size_t kGap = 4;
  const std::size_t width = WidthOfBlock(left) + kGap;
  if (left.empty() || right.empty() || width + WidthOfBlock(right) > kColumns) {
    AddBlock(sheet, left);
    AddBlock(sheet, right);
    return;
  }
  Block both;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string one = i < left.size() ? left[i] : "";
    both.push_back(i < right.size() ? PadRight(one, width) + right[i] : one);
  }
  AddBlock(sheet, both);
}

/// Over the plane where that fits on the page, else from the best point only.
Block FittingGains(View document, const SweepTable& table, const Plane& plane, bool along_down) {
  Block map = Grid(GainMap(table, plane, along_down));
  if (WidthOfBlock(map) <= kColumns) return map;
  const SweepGrid best = GainsFromBest(document, table, along_down ? plane.down : *plane.across);
  return best.cells.empty() ? Block{} : Grid(best);
}

/// The gains along the axes that the plane does not show.
std::vector<SweepGrid> OtherGains(View document, const SweepTable& table, const Plane& plane) {
  std::vector<SweepGrid> grids;
  for (std::size_t axis = 0; axis < table.axes.size(); ++axis) {
    if (axis == plane.down || axis == plane.across) continue;
    SweepGrid grid = GainsFromBest(document, table, axis);
    if (!grid.cells.empty()) grids.push_back(std::move(grid));
  }
  return grids;
}

}  // namespace

std::vector<SweepGrid> GainGrids(View document, const SweepTable& table, const Plane& plane) {
  std::vector<SweepGrid> grids{GainMap(table, plane, true)};
  if (plane.across) grids.push_back(GainMap(table, plane, false));
  for (SweepGrid& grid : OtherGains(document, table, plane)) grids.push_back(std::move(grid));
  return grids;
}

void AddSweepMaps(const Sheet& sheet, const SweepTable& table) {
  constexpr std::size_t kHelps = 4;  // values on both axes from which a heat map says more
  const auto plane = PlaneOf(table);
  if (!plane) return;
  if (!plane->across) {
    AddBlock(sheet, Grid(GainMap(table, *plane, true)));
    return;
  }
  const auto values = [&](std::size_t axis) { return table.axes[axis].labels.size(); };
  const bool heat = values(plane->down) >= kHelps && values(*plane->across) >= kHelps;
  AddBlocks(sheet, VerdictMap(table, *plane), heat ? HeatMap(table, *plane) : Block{});
  AddBlocks(sheet, FittingGains(sheet.document, table, *plane, true),
            FittingGains(sheet.document, table, *plane, false));
  for (const SweepGrid& grid : OtherGains(sheet.document, table, *plane))
    AddBlock(sheet, Grid(grid));
}

}  // namespace pipesim::report
