#include "compare/comparison.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace pipesim::compare {
namespace {

const Partition* PartitionOn(const Point& point, const std::string& clock) {
  for (const Partition& partition : point.partitions)
    if (partition.clock == clock) return &partition;
  return nullptr;
}

double TimeOf(const std::vector<Stage>& stages, const std::string& name) {
  for (const Stage& stage : stages)
    if (stage.name == name) return stage.seconds;
  return 0;
}

/// All names of both lists, in a's order, then b's.
std::vector<Move> MovesOf(const std::vector<Stage>& a, double per_a, const std::vector<Stage>& b,
                          double per_b) {
  std::vector<Move> moves;
  for (const Stage& stage : a)
    moves.push_back({stage.name, stage.seconds / per_a, TimeOf(b, stage.name) / per_b});
  for (const Stage& stage : b) {
    const bool known = std::any_of(a.begin(), a.end(),
                                   [&](const Stage& other) { return other.name == stage.name; });
    if (!known) moves.push_back({stage.name, 0, stage.seconds / per_b});
  }
  return moves;
}

/// On the first clock of a that b has too: a device's own clock comes before the consumer's.
std::optional<StepMoves> StepMovesOf(const Point& a, const Point& b, bool same_batch) {
  for (const Partition& of_a : a.partitions) {
    const Partition* of_b = PartitionOn(b, of_a.clock);
    if (of_b == nullptr) continue;
    const double per_a = same_batch ? of_a.steps : of_a.samples;
    const double per_b = same_batch ? of_b->steps : of_b->samples;
    if (!(per_a > 0) || !(per_b > 0)) continue;
    StepMoves step{of_a.clock, !same_batch, MovesOf(of_a.total, per_a, of_b->total, per_b)};
    std::erase_if(step.moves, [](const Move& move) { return move.a_s == 0 && move.b_s == 0; });
    return step;
  }
  return std::nullopt;
}

/// Empty where a side does not know them.
std::vector<Move> DemandMoves(const Point& a, const Point& b) {
  if (a.demands.empty() || b.demands.empty()) return {};
  std::vector<Move> moves = MovesOf(a.demands, 1, b.demands, 1);
  std::erase_if(moves, [](const Move& move) { return move.a_s == 0 && move.b_s == 0; });
  std::stable_sort(moves.begin(), moves.end(), [](const Move& one, const Move& other) {
    return std::abs(one.b_s - one.a_s) > std::abs(other.b_s - other.a_s);
  });
  return moves;
}

std::optional<Regression> RegressionOfPoint(const PointComparison& point, const Point& a,
                                            const Point& b, const Rules& rules) {
  if (!rules.threshold) return std::nullopt;
  // What ran before and fails now is the worst regression.
  if (!point.difference) return a.rate && !b.rate ? Regression::kYes : Regression::kNo;
  return RegressionOf(*point.difference, *rules.threshold);
}

PointComparison ComparePoints(const Side& a, const Point& of_a, const Side& b, const Point& of_b,
                              bool same_batch, const Rules& rules) {
  PointComparison result;
  if (of_a.rate && of_b.rate) {
    result.difference = Compare(*of_a.rate, *of_b.rate);
    result.call = Judge(*result.difference, rules.threshold);
    if (const Promise* promise = PromiseOf(a, of_a, b, of_b))
      result.promised =
          Promised{promise->samples_per_s, promise->samples_per_s / of_b.rate->rate - 1};
  }
  result.regression = RegressionOfPoint(result, of_a, of_b, rules);
  result.verdict_changed = of_a.bottleneck != of_b.bottleneck;
  result.step = StepMovesOf(of_a, of_b, same_batch);
  result.demands = DemandMoves(of_a, of_b);
  return result;
}

struct CircumstanceWords {
  const char *name, *title, *after;
};
constexpr CircumstanceWords kCircumstances[] = {
    {"machine", "Different machines", "part of the difference may be theirs."},
    {"engine", "A prediction against a run", "the difference holds the error of the prediction."},
    {"profile", "Different machine profiles", "the predictions are of different machines."},
    {"device", "Different devices", ""},
    {"version", "Different versions of pipesim", "they may measure differently."},
};

/// Settings that change what is trained, so that samples/s are not the same work.
struct WorkWords {
  const char *prefix, *code, *title;
};
constexpr WorkWords kWork[] = {{"dataset.", "data", "Different data"},
                               {"model.", "model", "Different models"},
                               {"loader.batch_size", "batch", "Different batch sizes"}};

std::string Absent(const std::string& value) { return value.empty() ? "nothing" : value; }

void AddCircumstances(const std::vector<Side>& sides, std::size_t side, std::vector<Caution>& out) {
  for (const CircumstanceWords& each : kCircumstances) {
    const auto of_a = sides[0].circumstances.find(each.name);
    const auto of_b = sides[side].circumstances.find(each.name);
    const bool known =
        of_a != sides[0].circumstances.end() && of_b != sides[side].circumstances.end();
    if (!known || of_a->second == of_b->second) continue;
    std::string text = std::string(each.title) + ": A " + of_a->second + ", " + LetterOf(side) +
                       " " + of_b->second;
    text += *each.after == '\0' ? "." : std::string("; ") + each.after;
    out.push_back({each.name, text});
  }
}

void AddWork(const Comparison& comparison, std::vector<Caution>& out) {
  for (const WorkWords& work : kWork) {
    std::vector<std::string> parts;
    for (const ChangedSetting& change : comparison.changed)
      if (change.key.starts_with(work.prefix))
        parts.push_back(change.key + " " + Absent(change.a) + " in A, " + Absent(change.b) +
                        " in " + LetterOf(comparison.side));
    if (!parts.empty())
      out.push_back({work.code, std::string(work.title) + ": " + base::Join(parts, "; ") + "."});
  }
}

void AddDisturbances(const std::vector<Side>& sides, std::size_t side, std::vector<Caution>& out) {
  for (const std::size_t each : {std::size_t{0}, side})
    for (const std::string& text : sides[each].disturbances)
      out.push_back({"disturbed", LetterOf(each) + " was disturbed: " + text});
}

std::size_t RatedPoints(const Side& side) {
  return static_cast<std::size_t>(
      std::count_if(side.points.begin(), side.points.end(),
                    [](const Point& point) { return point.rate.has_value(); }));
}

/// Pairs whose point of `a` has a rate.
std::size_t RatedPairs(const Side& a, const Match& match) {
  return static_cast<std::size_t>(
      std::count_if(match.pairs.begin(), match.pairs.end(),
                    [&](const auto& pair) { return a.points[pair.first].rate.has_value(); }));
}

bool SameBatch(const std::vector<ChangedSetting>& changed) {
  return std::none_of(changed.begin(), changed.end(), [](const ChangedSetting& change) {
    return change.key == "loader.batch_size";
  });
}

}  // namespace

Comparison CompareSides(const std::vector<Side>& sides, std::size_t side, const Rules& rules) {
  const Side &a = sides[0], &b = sides[side];
  Comparison comparison;
  comparison.side = side;
  Match match = MatchPoints(a, b);
  comparison.changed = ChangedSettings(a, b, match);
  AddCircumstances(sides, side, comparison.cautions);
  AddWork(comparison, comparison.cautions);
  AddDisturbances(sides, side, comparison.cautions);
  const bool same_batch = SameBatch(comparison.changed);
  for (const auto& [at_a, at_b] : match.pairs) {
    comparison.points.push_back(
        ComparePoints(a, a.points[at_a], b, b.points[at_b], same_batch, rules));
    comparison.points.back().a = at_a;
    comparison.points.back().b = at_b;
  }
  comparison.missing = b.is_sweep ? RatedPoints(a) - RatedPairs(a, match) : 0;
  comparison.only_a = std::move(match.only_a);
  comparison.only_b = std::move(match.only_b);
  return comparison;
}

std::string LetterOf(std::size_t side) {
  if (side >= 26) return std::to_string(side + 1);
  return {static_cast<char>('A' + side)};
}

Call Tally::Overall() const {
  if (slower > 0) return Call::kSlower;
  if (faster > 0) return Call::kFaster;
  return unsure > 0 || same == 0 ? Call::kUnsure : Call::kSame;
}

Tally TallyOf(const std::vector<Comparison>& comparisons) {
  Tally tally;
  for (const Comparison& comparison : comparisons) {
    tally.missing += comparison.missing;
    for (const PointComparison& point : comparison.points) {
      ++tally.points;
      if (point.regression == Regression::kYes) ++tally.regressions;
      if (point.regression == Regression::kOpen) ++tally.open;
      if (!point.call) {
        ++tally.failed;
        continue;
      }
      std::size_t& count = *point.call == Call::kFaster   ? tally.faster
                           : *point.call == Call::kSlower ? tally.slower
                           : *point.call == Call::kSame   ? tally.same
                                                          : tally.unsure;
      ++count;
    }
  }
  return tally;
}

}  // namespace pipesim::compare
