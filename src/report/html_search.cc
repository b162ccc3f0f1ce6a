// The pages of size and tune: the answer, what was tried, what to take over.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_parts.h"
#include "report/html_svg.h"
#include "report/html_text.h"
#include "report/search_text.h"

namespace pipesim::report {
namespace {

constexpr double kAbove = 20, kTall = 170, kBelow = 36;

/// What size measures its target by.
std::optional<double> Reached(View document, View attempt) {
  return attempt.At(document.At("target.metric").Text()).Number();
}

std::string ReachedText(View document, double value) {
  return document.At("target.metric").Text() == "samples_per_s"
             ? Significant(value, 4) + " samples/s"
             : "AU " + Fixed(value, 3);
}

struct SizePoint {
  double x = 0, reached = 0;
  View attempt;
};

/// Values of a search lie over decades: their logarithms share the axis.
std::vector<SizePoint> TriedValues(View document) {
  std::vector<SizePoint> values;
  const bool whole = document.At("solve.whole").IsTrue();
  const auto add = [&](View attempt) {
    const auto value = attempt.At("value").Number(), reached = Reached(document, attempt);
    if (!value || !reached || *reached < 0 || *value < 0 || (!whole && *value == 0)) return;
    values.push_back({whole ? *value : std::log10(*value), *reached, attempt});
  };
  for (const View attempt : document.At("tried").Items()) add(attempt);
  add(document.At("present"));
  std::stable_sort(values.begin(), values.end(),
                   [](const SizePoint& a, const SizePoint& b) { return a.x < b.x; });
  return values;
}

std::string SizeChart(View document) {
  const std::vector<SizePoint> values = TriedValues(document);
  if (values.size() < 2 || !(values.back().x > values.front().x)) return {};
  const double margin = (values.back().x - values.front().x) * 0.04;
  const Scale scale(values.front().x - margin, values.back().x + margin);
  const double target = std::max(document.At("target.value").NumberOr(0), 0.0);
  double most = target;
  for (const SizePoint& each : values) most = std::max(most, each.reached);
  const double top = RoundedUp(most * 1.02);
  const auto y = [&](double reached) { return kAbove + kTall * (1 - std::clamp(reached / top, 0.0, 1.0)); };
  std::string marks;
  for (const double tick : Ticks(0, top, 5)) {
    marks += HorizontalLine(0, 100, y(tick), tick == 0 ? "axis" : "grid");
    if (tick > 0) marks += Label(0, y(tick) - 3, ReachedText(document, tick));
  }
  marks += HorizontalLine(0, 100, y(target), "target", "target: " + document.At("target.text").Text());
  marks += Label(100, y(target) - 4, "target " + document.At("target.text").Text(), "mark");
  std::vector<LinePoint> line;
  for (const SizePoint& each : values) line.push_back({scale.Share(each.x), each.reached / top});
  marks += PolyLine(line, kAbove, kTall, "line", false);
  const double answer = document.At("answer.value").NumberOr(-1);
  const double present = document.At("present.value").NumberOr(-1);
  for (const SizePoint& each : values) {
    const double value = each.attempt.At("value").NumberOr(0), x = 100 * scale.Share(each.x);
    const std::string setting = Spaced(each.attempt.At("setting").Text());
    const std::string text = setting + ": " + ReachedText(document, each.reached) +
                             (each.attempt.At("meets").IsTrue() ? ", met" : ", missed");
    marks += Dot(x, y(each.reached), 4, "point", text);
    if (value != answer && value != present) continue;
    marks += Dot(x, y(each.reached), 8, "ring", text);
    marks += Label(x, kAbove + kTall + (value == answer ? 15 : 31),
                   (value == answer ? "answer " : "now ") + setting, "mark");
  }
  return Svg("plot", "What each value of " + document.At("solve.name").Text() + " reaches",
             kAbove + kTall + kBelow, marks);
}

std::string SizeTable(View document, bool all) {
  HtmlTable table{"Values and what they reach", {}, {}, {}};
  table.columns = {{""},
                   {document.At("solve.name").Text(), true},
                   {"samples/s", true},
                   {"AU", true},
                   {"target"}};
  for (const SizeRow& row : SizeRows(document, all))
    table.rows.push_back({TextCell(row.what), TextCell(row.setting), TextCell(row.rate),
                          TextCell(row.utilization), TextCell(row.verdict)});
  return ToHtml(table);
}

std::string TuneBar(View step, double most) {
  const auto rate = step.At("samples_per_s").Number();
  const auto predicted = step.At("predicted_samples_per_s").Number();
  if (!(most > 0) || (!rate && !predicted)) return {};
  const Scale scale(0, most * 1.05);
  std::string marks, label;
  if (rate) {
    label = Significant(*rate, 4) + " samples/s";
    marks += ToSvg({0, scale.Percent(*rate), 4, 12, "bar", label});
  }
  if (predicted) {
    const std::string text = "predicted " + Significant(*predicted, 4) + " samples/s";
    marks += Dot(scale.Percent(*predicted), 10, 4.5, "tried", text);
    label += (label.empty() ? "" : ", ") + text;
  }
  return Svg("rate-bar", label, 20, marks);
}

std::string TuneTable(View document) {
  const std::vector<SettingColumn> settings = SettingColumnsOf(document);
  double most = 0;
  for (const View step : document.At("steps").Items())
    for (const char* rate : {"samples_per_s", "predicted_samples_per_s"})
      most = std::max(most, step.At(rate).NumberOr(0));
  HtmlTable table{"The runs, in their order", "rank", {{"run"}}, {}};
  for (const SettingColumn& column : settings)
    table.columns.push_back({std::string(column.title), true});
  table.columns.insert(table.columns.end(), {{"", false, "chart"},
                                             {"predicted", true},
                                             {"samples/s", true},
                                             {"verdict"},
                                             {"why", false, "long"}});
  const auto number = [](View value, const std::string& otherwise) {
    const auto rate = value.Number();
    return TextCell(rate ? Significant(*rate, 4) : otherwise);
  };
  for (const View step : document.At("steps").Items()) {
    std::vector<HtmlCell> row{TextCell(std::to_string(table.rows.size() + 1))};
    for (const SettingColumn& column : settings)
      row.push_back(TextCell(SettingOf(step.At("settings"), column.key)));
    const std::string failure = step.At("failure").Text();
    row.push_back({TuneBar(step, most)});
    row.push_back(number(step.At("predicted_samples_per_s"), "-"));
    row.push_back(number(step.At("samples_per_s"), step.At("status").Text()));
    row.push_back(TextCell(step.At("bottleneck").Text()));
    row.push_back(TextCell(step.At("why").Text() + (failure.empty() ? "" : "; " + failure)));
    table.rows.push_back(std::move(row));
  }
  const std::string html = ToHtml(table);
  return html.empty() ? html
                      : html + "<p class=\"note\">Bars: the rate of the run. Dots: what was predicted "
                               "for it.</p>\n";
}

std::string BlockHtml(View document, void (*add)(const Sheet&)) {
  Page page(false);
  add({document, page, true, true});
  return Paragraphs(page);
}

std::string AnswerBlock(View document, void (*add)(const Sheet&), const std::string& more) {
  Page page(false);
  add({document, page, true, true});
  return "<header>\n" + Answer(page) + more + "</header>\n";
}

}  // namespace

std::string SizeBody(const Sheet& sheet) {
  const View document = sheet.document;
  return AnswerBlock(document, AddSizeAnswer, BlockHtml(document, AddSizeRest)) +
         Section("What each value reaches", SizeChart(document) + SizeTable(document, false) +
                                                Fold("All values that were tried", SizeTable(document, true))) +
         Origins(sheet);
}

std::string TuneBody(const Sheet& sheet) {
  const View document = sheet.document;
  return AnswerBlock(document, AddTuneAnswer, "") +
         Section("The runs, in their order", TuneTable(document)) +
         Section("To take over", BlockHtml(document, AddTuneTakeOver)) + Origins(sheet);
}

}  // namespace pipesim::report
