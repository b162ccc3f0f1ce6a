#include "report/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/bench_report.h"
#include "report/search_text.h"
#include "report/sweep_text.h"
#include "report/text_parts.h"
#include "report/view.h"

namespace pipesim::report {
namespace {

using MarkdownRow = std::vector<std::string>;

/// A table whose columns are aligned by `alignment`: 'l' or 'r' each.
std::string MarkdownTable(const std::string& title, std::string_view alignment,
                          const MarkdownRow& head, const std::vector<MarkdownRow>& rows) {
  if (rows.empty()) return {};
  const auto line = [](const MarkdownRow& cells) {
    return "| " + base::Join(cells, " | ") + " |\n";
  };
  std::string text = "**" + title + "**\n\n" + line(head) + "|";
  for (const char each : alignment) text += each == 'r' ? "---:|" : "---|";
  text += "\n";
  for (const MarkdownRow& row : rows) text += line(row);
  return text + "\n";
}

std::string MarkdownRate(View value) {
  const auto rate = value.Number();
  return rate ? Significant(*rate, 4) : "n/a";
}
std::string MarkdownShare(View value) {
  const auto share = value.Number();
  return share ? Percent(*share) : "n/a";
}
std::string MarkdownGain(View value) {
  const auto gain = value.Number();
  return gain ? Gain(*gain) : "n/a";
}
std::string MarkdownSeconds(View value) {
  const auto seconds = value.Number();
  return seconds ? Seconds(*seconds, 3) : "n/a";
}
std::string MarkdownName(const std::string& text) {
  return text.empty() ? "n/a" : MarkdownText(text);
}

/// Half of the interval over the rate.
std::string MarkdownNoise(View low, View high, View rate) {
  if (!low.Number() || !high.Number() || rate.NumberOr(0) <= 0) return "n/a";
  return Noise((*high.Number() - *low.Number()) / 2 / *rate.Number());
}

std::string CommandBlock(View argv) {
  const std::vector<std::string> words = argv.Texts();
  return words.empty() ? "" : MarkdownBlock(base::ShellJoin(words) + "\n", "sh") + "\n";
}

// ---- a run

std::string RunHeadline(View document) {
  const std::string status = document.At("result.status").Text();
  const std::string failure = MarkdownText(document.At("result.failure").Text());
  const std::string bottleneck = document.At("diagnosis.bottleneck").Text();
  const std::string confidence = document.At("diagnosis.confidence").Text();
  std::string verdict =
      "**" + (bottleneck.empty() ? "no verdict" : MarkdownText(bottleneck)) + "**";
  if (confidence == "high" || confidence == "low") verdict += " (confidence " + confidence + ")";
  const std::string headline = document.At("diagnosis.headline").Text();
  if (!headline.empty()) verdict += ": " + MarkdownText(headline);
  if (status.empty() || status == "ok") return "### " + verdict + "\n\n";
  const std::string word = status == "oom" ? "out of memory" : MarkdownText(status);
  std::string text = "### **" + word + "**" + (failure.empty() ? "" : ": " + failure) + "\n\n";
  return HasMeasurement(document) ? text + "Until then: " + verdict + "\n\n" : text;
}

std::string WhyList(View document) {
  const View diagnosis = document.At("diagnosis");
  std::string text;
  for (const View item : diagnosis.At("evidence").Items())
    text += "- " + MarkdownText(Capitalised(item.At("text").Text())) + "\n";
  const std::string open = base::Join(diagnosis.At("candidates").Texts(), ", ");
  const std::string out = base::Join(diagnosis.At("ruled_out").Texts(), ", ");
  if (!open.empty()) text += "- Open: " + MarkdownText(open) + "\n";
  if (!out.empty()) text += "- Ruled out: " + MarkdownText(out) + "\n";
  for (const View missing : diagnosis.At("missing").Items())
    text += "- Missing: " +
            MarkdownText(missing.At("signal").Text() + ": " + missing.At("reason").Text()) + "\n";
  return text.empty() ? "" : "**Why**\n\n" + text + "\n";
}

std::string NextStep(View document) {
  const View next = document.At("diagnosis.recommendation");
  if (!next.IsPresent()) return {};
  std::string text = "**Next** " + MarkdownText(next.At("text").Text());
  if (next.At("samples_per_s").Number())
    text += fmt::format("; {}{} samples/s ({})", PromiseWord(next),
                        MarkdownRate(next.At("samples_per_s")), MarkdownGain(next.At("gain")));
  const std::string pytorch = next.At("pytorch").Text();
  text += "\n\n" + CommandBlock(next.At("argv"));
  return pytorch.empty() ? text : text + MarkdownBlock(pytorch + "\n", "python") + "\n";
}

std::string RateTable(View document) {
  const View result = document.At("result");
  const View rate = result.At("samples_per_s");
  if (!rate.IsPresent()) return {};
  return MarkdownTable("Result", "rrrrrrr",
                       {"samples/s", "±", "step", "p95", "device busy", "steps", "measured"},
                       {{MarkdownRate(rate),
                         MarkdownNoise(result.At("samples_per_s_interval.low"),
                                       result.At("samples_per_s_interval.high"), rate),
                         MarkdownSeconds(result.At("step_time_s.mean")),
                         MarkdownSeconds(result.At("step_time_s.p95")),
                         MarkdownShare(result.At("accelerator_utilization")),
                         WithCommas(result.At("steps").Whole()),
                         MarkdownSeconds(result.At("measured_s"))}});
}

struct StateRow {
  std::string_view member, name;
};
constexpr StateRow kDeviceStateRows[] = {{"busy_s", "busy: computes"},
                                         {"starved_s", "starved: waits for a batch"},
                                         {"transfer_s", "transfer: waits for a copy"},
                                         {"launch_s", "launch: waits for the host"},
                                         {"sync_s", "sync: the host reads a result"},
                                         {"other_s", "other"}};
constexpr StateRow kConsumerStateRows[] = {{"starved_s", "starved: waits for a batch"},
                                           {"h2d_s", "transfer: waits for a copy"},
                                           {"host_s", "host: dispatches work"},
                                           {"compute_s", "compute"},
                                           {"sync_s", "sync: reads a result"},
                                           {"contended_s", "contended: no core"},
                                           {"other_s", "other"}};
constexpr StateRow kWorkerStateRows[] = {{"read_s", "read: waits for storage"},
                                         {"prepare_s", "prepare: decodes, transforms"},
                                         {"collate_s", "collate: builds the batch"},
                                         {"send_s", "send: to the trainer's process"},
                                         {"contended_s", "contended: no core"},
                                         {"blocked_on_consumer_s", "blocked: no room in the queue"},
                                         {"blocked_on_order_s", "blocked: waits for its turn"},
                                         {"startup_s", "startup"},
                                         {"idle_s", "idle: the epoch is over"},
                                         {"other_s", "other"}};

/// The part of the time in each state, largest first, and the time that one of `count` batches
/// takes.
template <std::size_t kCount>
std::string PartitionTable(const std::string& title, const StateRow (&columns)[kCount],
                           View section, double count) {
  const double wall = section.At("wall_s").NumberOr(0);
  if (wall <= 0 || count <= 0) return {};
  std::vector<std::pair<double, std::string_view>> times;
  for (const StateRow& column : columns)
    if (const double time = section.At(column.member).NumberOr(0); time > 0)
      times.emplace_back(time, column.name);
  std::stable_sort(times.begin(), times.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<MarkdownRow> rows;
  for (const auto& [time, name] : times)
    rows.push_back({std::string(name), Seconds(time / count, 3), Percent(time / wall)});
  return MarkdownTable(title + ": " + Seconds(wall / count, 3), "lrr", {"state", "time", "share"},
                       rows);
}

std::string FullTable(View document) {
  std::vector<MarkdownRow> rows;
  for (const View rung : document.At("ladder").Items()) {
    const auto used = rung.At("used").Number(), limit = rung.At("limit").Number();
    const std::string unit = rung.At("unit").Text();
    const bool share = unit == "fraction";
    const auto amount = [&](std::optional<double> value) {
      if (!value) return std::string("n/a");
      return share                       ? Percent(*value)
             : unit.starts_with("bytes") ? Amount(*value) + unit.substr(5)
                                         : Significant(*value, 3) + " " + unit;
    };
    const std::string full = rung.At("full").Text();
    rows.push_back({MarkdownName(rung.At("resource").Text()), MarkdownText(amount(used)),
                    MarkdownText(amount(limit)), full.empty() ? "n/a" : MarkdownText(full)});
  }
  return MarkdownTable("What is full", "lrrl", {"resource", "used", "limit", "full?"}, rows);
}

std::string WhatIfTable(View document) {
  constexpr double kShownAlone = 0.01;
  std::vector<MarkdownRow> rows;
  for (const View change : document.At("diagnosis.what_if").Items()) {
    const bool tried = change.At("tried").IsPresent();
    if (!tried && std::abs(change.At("gain").NumberOr(1)) < kShownAlone) continue;
    const std::string takes = change.At("takes").Text();
    rows.push_back({MarkdownText(change.At("change").Text()),
                    MarkdownRate(change.At("samples_per_s")), MarkdownGain(change.At("gain")),
                    tried ? MarkdownGain(change.At("tried.gain")) : "",
                    MarkdownName(change.At("then").Text()),
                    takes.empty() ? "upper bound" : MarkdownText(takes)});
  }
  return MarkdownTable("What if (changes below 1 % left out)", "lrrrll",
                       {"change", "samples/s", "gain", "tried", "then", "takes"}, rows);
}

std::string RunNotes(View document) {
  std::string text;
  for (const View warning : document.At("warnings").Items())
    text += "> " + MarkdownText(warning.At("text").Text()) + "\n>\n";
  if (!text.empty()) text += "\n";
  std::map<std::string, std::vector<std::string>> parts;  // "emulated": storage, device
  for (const auto& [part, how] : document.At("reality").Members())
    parts[how.Text()].push_back(part);
  for (const auto& [how, which] : parts)
    text += MarkdownText(Capitalised(how) + ": " + base::Join(which, ", ") + ". ");
  return text + (parts.empty() ? "" : "\n\n");
}

std::string RunMarkdown(View document) {
  std::string text = RunHeadline(document) + WhyList(document) + NextStep(document);
  const double steps = document.At("result.steps").NumberOr(0);
  text += RateTable(document);
  text +=
      document.At("device").IsPresent()
          ? PartitionTable("Where a step goes", kDeviceStateRows, document.At("device"), steps)
          : PartitionTable("Where a step goes", kConsumerStateRows, document.At("consumer"), steps);
  text += FullTable(document);
  if (document.At("workers.count").NumberOr(0) > 0)
    text += PartitionTable("Where the workers' time goes, for each batch", kWorkerStateRows,
                           document.At("workers"), steps);
  return text + WhatIfTable(document) + RunNotes(document);
}

// ---- other kinds: their answer as the terminal shows it, then their table

std::string SweepPointsTable(View document) {
  constexpr std::size_t kShown = 50;
  const SweepTable table = TableOf(document);
  MarkdownRow head{""};
  std::string alignment = "l";
  for (const SweepAxisText& axis : table.axes) head.push_back(MarkdownText(axis.name));
  alignment.append(table.axes.size(), 'r');
  for (const char* title : {"samples/s", "±", "step", "device busy"}) head.emplace_back(title);
  head.emplace_back("verdict");
  alignment += "rrrrl";
  std::vector<MarkdownRow> rows;
  for (const SweepRow& row : table.rows) {
    if (rows.size() == kShown) break;
    MarkdownRow cells{row.point.At("pareto").IsTrue() ? "★" : ""};
    for (std::size_t axis = 0; axis < table.axes.size(); ++axis)
      cells.push_back(MarkdownText(table.axes[axis].labels[row.position[axis]]));
    const View main = row.main, rate = main.At("samples_per_s");
    cells.insert(cells.end(),
                 {MarkdownRate(rate),
                  MarkdownNoise(main.At("samples_per_s_low"), main.At("samples_per_s_high"), rate),
                  MarkdownSeconds(main.At("step_time_s")),
                  MarkdownShare(main.At("accelerator_utilization"))});
    const std::string reason = main.At("reason").Text();
    cells.push_back(row.ok ? MarkdownName(main.At("bottleneck").Text())
                           : MarkdownText(main.At("status").Text() + " " + reason));
    rows.push_back(std::move(cells));
  }
  std::string title = "Points, fastest first (★ best for its workers and memory)";
  if (rows.size() < table.rows.size())
    title += fmt::format("; {} of {}", rows.size(), table.rows.size());
  return MarkdownTable(title, alignment, head, rows);
}

std::string TuneRunsTable(View document) {
  const std::vector<SettingColumn> settings = SettingColumnsOf(document);
  MarkdownRow head{"run"};
  for (const SettingColumn& column : settings) head.emplace_back(column.title);
  head.insert(head.end(), {"samples/s", "verdict", "why"});
  std::vector<MarkdownRow> rows;
  for (const View step : document.At("steps").Items()) {
    MarkdownRow cells{std::to_string(rows.size() + 1)};
    for (const SettingColumn& column : settings)
      cells.push_back(MarkdownText(SettingOf(step.At("settings"), column.key)));
    cells.push_back(MarkdownRate(step.At("samples_per_s")));
    cells.push_back(MarkdownName(step.At("bottleneck").Text()));
    cells.push_back(MarkdownText(step.At("why").Text()));
    rows.push_back(std::move(cells));
  }
  return MarkdownTable("Runs", std::string(settings.size() + 2, 'r') + "ll", head, rows);
}

std::string SizeTriesTable(View document) {
  std::vector<MarkdownRow> rows;
  for (const View tried : document.At("tried").Items())
    rows.push_back({MarkdownText(tried.At("setting").Text()),
                    MarkdownRate(tried.At("samples_per_s")),
                    MarkdownShare(tried.At("accelerator_utilization")),
                    tried.At("meets").IsTrue() ? "yes" : "no"});
  const std::string axis = MarkdownText(document.At("solve.key").Text());
  return MarkdownTable("Values tried", "rrrl", {axis, "samples/s", "device busy", "reached?"},
                       rows);
}

std::string BenchTimesTable(View document) {
  const BenchTable table = TableOfBench(document);
  MarkdownRow head;
  for (const std::string& title : table.head) head.push_back(MarkdownText(title));
  std::vector<MarkdownRow> rows;
  for (const auto& row : table.rows) {
    MarkdownRow cells;
    for (const std::string& cell : row) cells.push_back(MarkdownText(cell));
    rows.push_back(std::move(cells));
  }
  return MarkdownTable("Time of one operation", std::string(head.size(), 'r'), head, rows) +
         (table.note.empty() ? "" : MarkdownText(table.note) + "\n");
}

std::string AnswerMarkdown(const Document& report, View document, const std::string& kind) {
  const std::string name = Setting(document, "name");
  std::string text = "### pipesim " + MarkdownText(kind) +
                     (name.empty() ? "" : ": " + MarkdownText(name)) + "\n\n" +
                     MarkdownBlock(ToText(report, {.detail = Detail::kBrief}), "text") + "\n";
  if (kind == "sweep") text += SweepPointsTable(document);
  if (kind == "tune") text += TuneRunsTable(document);
  if (kind == "size") text += SizeTriesTable(document);
  if (kind == "bench") text += BenchTimesTable(document);
  return text;
}

/// Folded: all that the terminal shows, and what made it.
std::string WholeReport(const Document& report, View document) {
  std::vector<std::string> words = document.At("context.argv").Texts();
  words.insert(words.begin(), "pipesim");
  const std::string by =
      fmt::format("pipesim {} on {}, {}", document.At("pipesim.version").Text(),
                  document.At("context.cpu").Text(), document.At("context.date").Text());
  return "<details><summary>The whole report</summary>\n\n" +
         MarkdownBlock(base::ShellJoin(words) + "\n", "sh") + "\n" +
         MarkdownBlock(ToText(report, {.detail = Detail::kFull}), "text") + "\n" +
         MarkdownText(by) + "\n\n</details>\n";
}

}  // namespace

std::string MarkdownText(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '|':
        out += "&#124;";
        break;
      case '\n':
      case '\r':
        out += ' ';
        break;
      case '@':  // an empty comment behind it keeps GitHub from linking users, issues and addresses
      case '#':
      case ':':
        out += c;
        if (c != ':' || text.substr(i + 1).starts_with("//")) out += "<!-- -->";
        break;
      case '.':
        out += text.substr(0, i).ends_with("www") ? "<!-- -->." : ".";
        break;
      default:
        if (std::string_view("\\`*_[]~!$").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
  }
  return out;
}

std::string MarkdownBlock(std::string_view text, std::string_view language) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + std::string(language) + "\n" + std::string(text) + fence + "\n";
}

std::string RenderMarkdown(const Document& report) {
  const View document(&report, true);
  const std::string kind = document.At("kind").Text();
  return (kind == "run" ? RunMarkdown(document) : AnswerMarkdown(report, document, kind)) +
         WholeReport(report, document);
}

}  // namespace pipesim::report
