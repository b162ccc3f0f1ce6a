#include "app/prove.h"

#include <fmt/format.h>

#include "app/process/interrupt.h"
#include "app/process/supervisor.h"
#include "base/standard_streams.h"
#include "measure/paired_gain.h"
#include "report/proof.h"
#include "report/view.h"

namespace pipesim::app {
namespace {

constexpr int kPairs = 3;  // A B A B A B: the fewest with an interval that says something

/// Recommendations that need another device are commands of it.
constexpr std::string_view kPredict = "predict";

/// Samples/s of a run that ended as planned.
std::optional<double> RateOf(const report::Document& document) {
  const report::View view(&document, true);
  if (view.At("result.status").Text() != "ok") return std::nullopt;
  return view.At("result.samples_per_s").Number();
}

/// The run that made the recommendation has shown its progress and tried its probes.
std::vector<std::string> Quietly(std::vector<std::string> words) {
  words.insert(words.end(), {"--quiet", "--set", "run.probes=off"});
  return words;
}

/// nullopt: the run failed, or was stopped.
std::optional<double> RateOfRun(const std::vector<std::string>& words, const base::StopFlag& stop) {
  if (stop.IsSet()) return std::nullopt;
  return RateOf(RunBeside(words, &stop).document);
}

/// Runs the pairs one after another until they are done, one fails, or a stop signal comes.
void RunPairs(const Arguments& arguments, report::Proof& proof) {
  base::StopFlag stop;
  // A stopped run drains and is gone within seconds: a second signal needs no other answer.
  const InterruptHandler interrupt(stop, InterruptHandler::Second::kIsAsTheFirst);
  const bool show = !arguments.Has("quiet");
  const auto typed = Quietly(arguments.typed);
  const auto changed = Quietly({proof.argv.begin() + 1, proof.argv.end()});
  for (int run = 1; run < 2 * kPairs; ++run) {
    const bool is_base = run % 2 == 0;
    if (show)
      base::PrintError(fmt::format("proving: run {} of {}, {}\n", run + 1, 2 * kPairs,
                                   is_base ? "as typed" : "as recommended"));
    const auto rate = RateOfRun(is_base ? typed : changed, stop);
    if (!rate) return;
    (is_base ? proof.base_samples_per_s : proof.changed_samples_per_s).push_back(*rate);
  }
}

void Summarise(report::Proof& proof) {
  std::vector<measure::RatePair> pairs;
  for (std::size_t i = 0; i < proof.changed_samples_per_s.size(); ++i)
    pairs.push_back({proof.base_samples_per_s[i], proof.changed_samples_per_s[i]});
  const auto gain = measure::GainOf(pairs, "pairs of runs");
  if (!gain) return;
  proof.gain = gain->gain;
  proof.gain_interval = gain->interval;
}

}  // namespace

void Prove(const Arguments& arguments, Outcome& outcome) {
  const report::View view(&outcome.document, true);
  std::vector<std::string> argv;
  if (view.At("diagnosis.recommendation").IsPresent())
    argv = outcome.document["diagnosis"]["recommendation"]["argv"].get<std::vector<std::string>>();
  const auto first = RateOf(outcome.document);
  if (argv.size() > 1 && argv[1] == kPredict) {
    outcome.notes.emplace_back("--prove: what is recommended is not here to run, so it is only predicted");
    return;
  }
  const auto promised = view.At("diagnosis.recommendation.gain").Number();
  if (!first || argv.empty() || !promised) {
    const bool interrupted = view.At("result.status").Text() == "interrupted";
    outcome.notes.emplace_back(interrupted ? "--prove: the run was interrupted, so nothing was proved"
                               : first     ? "--prove: no gain is promised, so there is nothing to prove"
                                           : "--prove: the run has no rate to compare with");
    return;
  }
  report::Proof proof{.argv = argv,
                      .promised = promised,
                      .base_samples_per_s = {*first},
                      .pairs_asked = kPairs};
  RunPairs(arguments, proof);
  LeaveOnStopSignalAfter(1);
  Summarise(proof);
  outcome.document["proof"] = report::ProofSection(proof);
}

}  // namespace pipesim::app
