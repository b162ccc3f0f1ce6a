// The text of a comparison: the call and why, what is not alike, the sides, the figures.
#include "report/text_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/compare_report.h"

namespace pipesim::report {
namespace {

struct Words {
  std::string call, text;
};

bool IsPair(View document) {
  const auto comparisons = document.At("comparisons").Items();
  return comparisons.size() == 1 && comparisons[0].At("points").Items().size() == 1 &&
         comparisons[0].At("points").First().At("name").Text().empty();
}

bool HasPoints(View document) {
  const auto comparisons = document.At("comparisons").Items();
  return !comparisons.empty() && !comparisons[0].At("points").Items().empty() &&
         !document.At("sides").Items().empty();
}

std::string ThresholdText(View document) {
  return Count(document.At("rules.threshold").NumberOr(0) * 100) + " %";
}

/// "3.48 x the samples/s of A", "8.0 % fewer samples/s than A".
std::string RateWords(double change) {
  constexpr double kAsFactor = 1;  // from +100 % on
  if (change >= kAsFactor) return Significant(change + 1, 3) + " x the samples/s of A";
  return fmt::format("{} {} samples/s than A", ShareText(std::abs(change)),
                     change < 0 ? "fewer" : "more");
}

std::string VerdictWords(View point) {
  const std::string a = point.At("a.bottleneck").Text(), b = point.At("b.bottleneck").Text();
  if (a.empty() || b.empty()) return "";
  return a == b ? "; both " + a : "; " + a + " became " + b;
}

Words PairWords(View document) {
  const View comparison = document.At("comparisons").First();
  const View point = comparison.At("points").First();
  const std::string call = point.At("call").Text(), b = comparison.At("b").Text();
  const double change = point.At("change").NumberOr(0);
  const bool exact = point.At("exact").IsTrue();
  std::string text;
  if (call == "SAME" && exact)
    text = "A and " + b + " are predicted at the same rate";
  else if (call == "SAME")
    text = fmt::format("{} does {} the samples/s of A, which is noise", b, IntervalText(point));
  else if (call == "UNSURE")
    text = fmt::format("{} does {}, which may be noise", b, RateWords(change));
  else
    text = fmt::format("{} {} {}", b, exact ? "is predicted to do" : "does", RateWords(change));
  return {call, text + VerdictWords(point)};
}

Words ManyWords(View document) {
  const View overall = document.At("overall");
  const auto count = [&](std::string_view name) {
    return overall.At(name).Size();
  };
  std::vector<std::string> parts;
  const View first = document.At("comparisons").First();
  const bool sweeps = !first.At("points").First().At("name").Text().empty();
  const std::string of = fmt::format(" of {} {}", count("points"), sweeps ? "points" : "reports");
  if (document.At("rules.threshold").IsPresent()) {
    parts.push_back(
        fmt::format("{}{} lost more than {}", count("regressions"), of, ThresholdText(document)));
    if (count("missing") > 0) parts.push_back(fmt::format("{} more not measured", count("missing")));
  }
  for (const std::string_view name : {"slower", "faster", "same", "unsure", "failed"}) {
    if (count(name) == 0) continue;
    parts.push_back(parts.empty() ? fmt::format("{}{} {}", count(name), of, name)
                                  : fmt::format("{} {}", count(name), name));
  }
  const std::string call = overall.At("call").Text();
  return {call, base::Join(parts, ", ")};
}

Style StyleOfCall(const std::string& call) {
  if (call == "FASTER" || call == "SAME") return Style::kGood;
  return call == "SLOWER" ? Style::kBad : Style::kAttention;
}

void AddCautions(const Sheet& sheet) {
  std::vector<std::string> shown;
  for (const View comparison : sheet.document.At("comparisons").Items())
    for (const View caution : comparison.At("cautions").Items()) {
      const std::string text = caution.At("text").Text();
      if (std::find(shown.begin(), shown.end(), text) != shown.end()) continue;
      shown.push_back(text);
      sheet.page.Add("Note  " + text, Style::kAttention, "      ");
    }
  for (const std::string& failure : sheet.document.At("failures").Texts())
    sheet.page.Add("Note  " + failure, Style::kBad, "      ");
}

// ---- why

struct Mover {
  std::string name;
  double a_s = 0, b_s = 0;
  double Difference() const { return b_s - a_s; }
};

std::vector<Mover> MoversOf(View moves) {
  std::vector<Mover> movers;
  for (const View move : moves.Items())
    movers.push_back(
        {move.At("name").Text(), move.At("a_s").NumberOr(0), move.At("b_s").NumberOr(0)});
  return movers;
}

/// "starved took 38.3 ms of a step and takes 0.1 now; busy stayed at 15.5."
std::string MovedText(View point) {
  const View where = point.At("where");
  std::vector<Mover> movers = MoversOf(where.At("stages"));
  double total = 0;
  for (const Mover& mover : movers) total += std::max(mover.a_s, mover.b_s);
  std::stable_sort(movers.begin(), movers.end(), [](const Mover& one, const Mover& other) {
    return std::abs(one.Difference()) > std::abs(other.Difference());
  });
  constexpr double kWorthAWord = 0.02;  // of the step
  if (movers.empty() || std::abs(movers[0].Difference()) < kWorthAWord * total) return "";
  const TimeScale scale = TimeScale::For(std::max(movers[0].a_s, movers[0].b_s));
  const auto time = [&](double seconds) { return scale.Text(scale.Ticks(seconds)); };
  const Mover& first = movers[0];
  std::string text =
      fmt::format("{} took {} {} of a {} and takes {} now", first.name, time(first.a_s), scale.unit,
                  where.At("of").Text(), time(first.b_s));
  // The largest of the others says whether the rest stood still.
  const auto rest =
      std::max_element(movers.begin() + 1, movers.end(),
                       [](const Mover& one, const Mover& other) { return one.b_s < other.b_s; });
  if (rest != movers.end() && rest->b_s > 0) {
    const bool still = std::abs(rest->Difference()) < kWorthAWord * std::max(rest->a_s, rest->b_s);
    text += still ? fmt::format("; {} stayed at {}", rest->name, time(rest->b_s))
                  : fmt::format("; {} went from {} to {}", rest->name, time(rest->a_s),
                                time(rest->b_s));
  }
  return Capitalised(text) + ".";
}

/// "prepare takes 228 us a sample, was 200 us (+14 %)."
std::string DemandText(View point) {
  constexpr double kWorthAWord = 0.05;
  const std::vector<Mover> movers = MoversOf(point.At("demands"));
  double most = 0;
  for (const Mover& mover : movers) most = std::max({most, mover.a_s, mover.b_s});
  for (const Mover& mover : movers) {
    const double size = std::abs(mover.Difference());
    if (size < kWorthAWord * mover.a_s || size < kWorthAWord * most || mover.a_s <= 0) continue;
    return fmt::format("{} takes {} a sample, was {} ({}).", Capitalised(mover.name),
                       Seconds(mover.b_s, 3), Seconds(mover.a_s, 3),
                       ChangeText(mover.b_s / mover.a_s - 1));
  }
  return "";
}

std::string PromisedText(View point) {
  const View promised = point.At("promised");
  if (!promised.IsPresent()) return "";
  constexpr double kNoError = 0.0005;  // prints as 0.0 %
  const double error = promised.At("error").NumberOr(0);
  return fmt::format("A had predicted {} samples/s for this change{}.",
                     Significant(promised.At("samples_per_s").NumberOr(0), 3),
                     std::abs(error) < kNoError
                         ? point.At("exact").IsTrue() ? ", as B does" : ", which came true"
                         : fmt::format(" ({} off)", ChangeText(error)));
}

std::string UnsureText(View document, View point) {
  if (point.At("call").Text() != "UNSURE") return "";
  const auto fewest = document.At("rules.fewest").Size();
  // First the side that is known less well.
  const auto half = [&](const char* side) { return point.At(side).At("half_width").NumberOr(0); };
  const bool b_first = half("b") > half("a");
  for (const std::string_view side : {b_first ? "b" : "a", b_first ? "a" : "b"}) {
    const View value = point.At(side);
    const auto count = value.At("count").Size();
    if (value.At("unit").Text() != "none" && count >= fewest) continue;
    const View width = value.At("half_width");
    const std::string known = width.IsPresent() ? " to ±" + ShareText(width.NumberOr(0)) : "";
    return fmt::format("{} is known{} from {} {}; {} or more are needed to call it the same.",
                       side == "a" ? "A" : "B", known, count,
                       value.At("unit").Text() == "blocks" ? "blocks of one run" : "runs", fewest);
  }
  return fmt::format("The interval {} reaches beyond the noise floor of {}.", IntervalText(point),
                     ShareText(point.At("noise_floor").NumberOr(0)));
}

void AddReasons(const Sheet& sheet) {
  std::vector<std::string> sentences;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) sentences.push_back(text);
  };
  if (IsPair(sheet.document)) {
    const View point = sheet.document.At("comparisons").First().At("points").First();
    add(UnsureText(sheet.document, point));
    add(MovedText(point));
    add(DemandText(point));
    add(PromisedText(point));
  }
  if (!sentences.empty())
    sheet.page.Add("Why   " + base::Join(sentences, " "), Style::kPlain, "      ");
}

void AddNextOfCompare(const Sheet& sheet) {
  const View next = sheet.document.At("next");
  const std::vector<std::string> argv = next.At("argv").Texts();
  if (argv.empty()) return;
  sheet.page.Add("Next  " + next.At("text").Text() + ":", Style::kPlain, "      ");
  sheet.page.AddCommand(base::ShellJoin(argv));
}

// ---- the sides

std::string SettingsText(View document, const std::string& letter) {
  // What does not differ from A is as in A.
  std::vector<std::string> names;
  std::map<std::string, std::string> values;
  for (const View comparison : document.At("comparisons").Items()) {
    const bool own = comparison.At("b").Text() == letter;
    for (const View change : comparison.At("changed").Items()) {
      const std::string name = change.At("name").Text();
      const bool known = values.contains(name);
      if (!known) names.push_back(name);
      if (own || !known) values[name] = change.At(own ? "b" : "a").Text();
    }
  }
  std::vector<std::string> parts;
  for (const std::string& name : names)
    parts.push_back(name + " " + (values[name].empty() ? "-" : values[name]));
  constexpr std::size_t kShown = 4;
  if (parts.size() > kShown) {
    const std::size_t more = parts.size() - kShown;
    parts.resize(kShown);
    parts.push_back(fmt::format("{} more", more));
  }
  return base::Join(parts, ", ");
}

/// "5 repeats", "one run (24 blocks)", "predicted", "12 points".
std::string EvidenceText(View document, View side) {
  const std::string letter = side.At("letter").Text();
  if (side.At("kind").Text() == "sweep")
    return fmt::format("{} points{}", Count(side.At("points").NumberOr(0)),
                       side.At("predicted").IsTrue() ? ", predicted" : "");
  if (side.At("predicted").IsTrue()) return "predicted";
  for (const View comparison : document.At("comparisons").Items()) {
    const bool is_b = comparison.At("b").Text() == letter;
    if (!is_b && letter != "A") continue;
    const auto points = comparison.At("points").Items();
    if (points.empty()) continue;
    const View value = points[0].At(is_b ? "b" : "a");
    const std::string count = Count(value.At("count").NumberOr(0));
    if (value.At("unit").Text() == "repeats") return count + " repeats";
    if (value.At("unit").Text() == "blocks") return "one run, " + count + " blocks";
  }
  return "one run";
}

/// "same machine, same version, same model, data and batch": what no caution is about.
std::string AlikeText(View document) {
  std::vector<std::string> codes;
  for (const View comparison : document.At("comparisons").Items())
    for (const View caution : comparison.At("cautions").Items())
      codes.push_back(caution.At("code").Text());
  const auto differs = [&](std::string_view code) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  const bool predicted = document.At("sides").First().At("predicted").IsTrue();
  std::vector<std::string> same;
  for (const std::string_view code :
       {predicted ? std::string_view("profile") : "machine", std::string_view("version"),
        std::string_view("model"), std::string_view("data"), std::string_view("batch")})
    if (!differs(code) && !differs("engine")) same.emplace_back(code);
  if (same.empty()) return "";
  const std::string last = same.back();
  same.pop_back();
  return "same " + (same.empty() ? last : base::Join(same, ", ") + " and " + last);
}

void AddSides(const Sheet& sheet) {
  const View document = sheet.document;
  std::size_t name_width = 0, settings_width = 0;
  for (const View side : document.At("sides").Items()) {
    name_width = std::max(name_width, base::DisplayWidth(side.At("name").Text()));
    settings_width = std::max(settings_width,
                              base::DisplayWidth(SettingsText(document, side.At("letter").Text())));
  }
  sheet.page.AddBlank();
  for (const View side : document.At("sides").Items()) {
    const std::string letter = side.At("letter").Text();
    std::string line = "  " + PadRight(letter, 3) + PadRight(side.At("name").Text(), name_width);
    if (settings_width > 0)
      line += "   " + PadRight(SettingsText(document, letter), settings_width);
    sheet.page.Add(line + "   " + EvidenceText(document, side), Style::kPlain, "     ");
  }
  if (const std::string alike = AlikeText(document); !alike.empty()) sheet.page.Add("  " + alike);
}

void AddUnmatched(const Sheet& sheet) {
  for (const View comparison : sheet.document.At("comparisons").Items())
    for (const std::string_view side : {"a", "b"}) {
      const std::vector<std::string> only = comparison.At("only_" + std::string(side)).Texts();
      if (only.empty()) continue;
      constexpr std::size_t kShown = 5;
      std::vector<std::string> shown(
          only.begin(), only.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, only.size())));
      if (only.size() > kShown) shown.push_back(fmt::format("{} more", only.size() - kShown));
      sheet.page.Add(
          fmt::format("Only in {}: {}", comparison.At(side).Text(), base::Join(shown, "; ")));
    }
}

void AddEnd(const Sheet& sheet) {
  const View document = sheet.document;
  if (const View runs = document.At("interleaved"); runs.IsPresent()) {
    const double done = runs.At("rounds_done").NumberOr(0),
                 asked = runs.At("rounds_asked").NumberOr(0);
    sheet.page.Add(fmt::format("{} of {} rounds of runs in turn; who begins changes{}.",
                               Count(done), Count(asked),
                               document.At("interrupted").IsTrue() ? ". Interrupted" : ""));
  }
}

}  // namespace

std::string CompareText(const Document& document, const TextOptions& options) {
  Page page(options.colour);
  const Sheet sheet{View(&document, options.utf8), page, options.utf8,
                    options.detail == Detail::kFull};
  if (!HasPoints(sheet.document)) {
    page.Add("nothing was compared");
    return page.Take();
  }
  const bool pair = IsPair(sheet.document);
  const Words words = pair ? PairWords(sheet.document) : ManyWords(sheet.document);
  page.Add(words.call + ": " + words.text, StyleOfCall(words.call));
  AddCautions(sheet);
  AddReasons(sheet);
  AddNextOfCompare(sheet);
  if (options.detail == Detail::kBrief) return page.Take();
  AddSides(sheet);
  if (pair)
    AddPairTable(sheet, sheet.document.At("comparisons").First().At("points").First(),
                 sheet.document.At("comparisons").First().At("b").Text());
  else
    AddPointsTable(sheet);
  if (sheet.full) AddChangedSettings(sheet);
  AddUnmatched(sheet);
  AddEnd(sheet);
  return page.Take();
}

}  // namespace pipesim::report
