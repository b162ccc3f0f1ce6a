// What happened, the verdict, why, and what to do next: the block that `--brief` prints alone.
#include "base/text.h"
#include "diagnose/verdicts.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

constexpr std::string_view kHanging = "      ";  // below "Why   " and "Next  "

bool EndsSentence(const std::string& text) {
  return !text.empty() && std::string_view(".?!:").find(text.back()) != std::string_view::npos;
}

/// Joins clauses into sentences. A clause with a full stop of its own ends its sentence.
/// `after_label`: the text follows a colon, so the first clause is not capitalised.
std::string Sentences(const std::vector<std::string>& clauses, bool after_label) {
  std::string text;
  for (const std::string& clause : clauses) {
    if (clause.empty()) continue;
    const bool begins = text.empty() || EndsSentence(text);
    if (!text.empty()) text += begins ? " " : "; ";
    text += begins && !(after_label && text.empty()) ? Capitalised(clause) : clause;
  }
  if (!text.empty() && !EndsSentence(text)) text += '.';
  return text;
}

std::vector<std::string> EvidenceTexts(View document) {
  std::vector<std::string> texts;
  for (const View item : document.At("diagnosis.evidence").Items())
    texts.push_back(item.At("text").Text());
  return texts;
}

std::string ObservedText(const std::string& name, double value) {
  if (name == "gpu") return "a device " + Percent(value) + " busy";
  if (name == "cpu") return "a CPU " + Percent(value) + " busy";
  if (name == "step_s") return Seconds(value, 3) + " a step";
  return Significant(value, 3) + " samples/s";
}

Style StyleOf(const std::string& bottleneck) {
  const diagnose::VerdictRow* row = diagnose::FindVerdict(bottleneck);
  return row && row->good_news ? Style::kGood : Style::kAttention;
}

std::string VerdictLine(View document) {
  const View diagnosis = document.At("diagnosis");
  const std::string bottleneck = diagnosis.At("bottleneck").Text();
  const std::string confidence = diagnosis.At("confidence").Text();
  const std::string headline = diagnosis.At("headline").Text();
  std::string line = bottleneck.empty() ? "no verdict" : bottleneck;
  if (!IsOpen(document) && (confidence == "high" || confidence == "low"))
    line += " (confidence " + confidence + ")";
  if (!headline.empty()) line += ": " + headline;
  return line;
}

void AddWhy(const Sheet& sheet) {
  const View diagnosis = sheet.document.At("diagnosis");
  const bool undecided = IsOpen(sheet.document);
  const std::string evidence = Sentences(EvidenceTexts(sheet.document), undecided);
  if (!undecided) {
    if (!evidence.empty()) sheet.page.Add("Why   " + evidence, Style::kPlain, kHanging);
    return;
  }
  std::string label = "Why   ";
  if (!evidence.empty()) {
    sheet.page.Add(label + "Certain: " + evidence, Style::kPlain, kHanging);
    label = kHanging;
  }
  std::vector<std::string> open = diagnosis.At("candidates").Texts();
  if (open.size() > 1) open[0] += " (leads)";
  const std::vector<std::string> out = diagnosis.At("ruled_out").Texts();
  std::string line = open.empty() ? "" : "Open: " + base::Join(open, ", ") + ".";
  if (!out.empty())
    line += (line.empty() ? "" : " ") + ("Ruled out: " + base::Join(out, ", ")) + ".";
  if (!line.empty()) sheet.page.Add(label + line, Style::kPlain, kHanging);
}

void AddNext(const Sheet& sheet) {
  const View next = sheet.document.At("diagnosis.recommendation");
  if (!next.IsPresent()) return;
  std::string text = next.At("text").Text();
  const auto rate = next.At("samples_per_s").Number(), gain = next.At("gain").Number();
  const auto now = sheet.document.At("result.samples_per_s").Number();
  if (rate && gain && !EndsSentence(text))
    text += (text.empty() ? "" : "; ") + (PromiseWord(next) + Significant(*rate, 4)) +
            " samples/s (" + Gain(*gain) + (now ? "), now " + Significant(*now, 4) : ")");
  const std::vector<std::string> argv = next.At("argv").Texts();
  if (!EndsSentence(text)) text += argv.empty() ? "." : ":";
  sheet.page.Add("Next  " + text, Style::kPlain, kHanging);
  if (!argv.empty()) sheet.page.AddCommand(base::ShellJoin(argv));
}

/// What the user sees on the real system, where the description gives something else.
void AddObserved(const Sheet& sheet) {
  const View observed = sheet.document.At("diagnosis.observed");
  if (!observed.At("differs").IsTrue()) return;
  std::vector<std::string> figures;
  for (const View one : observed.At("quantities").Items()) {
    if (!one.At("differs").IsTrue()) continue;
    const std::string name = one.At("name").Text();
    figures.push_back(ObservedText(name, one.At("described").NumberOr(0)) + ", not " +
                      ObservedText(name, one.At("observed").NumberOr(0)));
  }
  const std::vector<std::string> mend = observed.At("mend").Texts();
  sheet.page.Add("The description is not your system: it gives " + base::Join(figures, "; ") + ".",
                 Style::kAttention, kHanging);
  if (!mend.empty())
    sheet.page.Add("Mend  " + Sentences(mend, true), Style::kPlain, kHanging);
}

void AddAgain(const Sheet& sheet, const std::string& what,
              const std::vector<std::string>& more_words = {}) {
  sheet.page.Add("Next  " + what, Style::kPlain, kHanging);
  std::vector<std::string> argv{"pipesim"};
  for (const std::string& word : sheet.document.At("context.argv").Texts()) argv.push_back(word);
  argv.insert(argv.end(), more_words.begin(), more_words.end());
  if (argv.size() > 1) sheet.page.AddCommand(base::ShellJoin(argv));
}

/// A file of the data set ended the run: its failure names one.
bool FailedOnAFile(View document, const std::string& failure) {
  const std::string folder = Setting(document, "storage.path");
  return Setting(document, "storage.on_error") == "fail" && folder.size() > 1 &&
         failure.find(folder) != std::string::npos;
}

/// For a run that failed or was interrupted: what happened, and what to do.
void AddFailure(const Sheet& sheet, const std::string& status) {
  const std::string failure = sheet.document.At("result.failure").Text();
  const std::string because = failure.empty() ? "" : ": " + failure;
  const std::string steps =
      WithCommas(sheet.document.At("result.steps").Whole());
  if (status == "interrupted") {
    sheet.page.Add("interrupted after " + steps + " measured steps" + because, Style::kAttention);
    AddAgain(sheet, "the figures cover the part that ran; to run all of it:");
  } else if (status == "oom") {
    sheet.page.Add("out of memory" + because, Style::kBad);
    const View fits = sheet.document.At("diagnosis.recommendation");
    if (!HasMeasurement(sheet.document) && fits.IsPresent())
      AddNext(sheet);
    else
      AddAgain(sheet,
               "a smaller batch, fewer workers or a lower prefetch factor need less memory; "
               "the command was:");
  } else {
    sheet.page.Add("failed" + because, Style::kBad);
    if (FailedOnAFile(sheet.document, failure))
      AddAgain(sheet, "fix the file above, or leave out files that cannot be used:",
               {"--set", "storage.on_error=skip"});
    else
      AddAgain(sheet, "fix the error above, then run again:");
  }
}

}  // namespace

std::string PromiseWord(View recommendation) {
  return recommendation.At("tried").IsTrue() ? "tried: " : "predicted ";
}

void AddVerdict(const Sheet& sheet) {
  const std::string status = sheet.document.At("result.status").Text();
  const bool ended = status.empty() || status == "ok";
  if (!ended) AddFailure(sheet, status);
  if (!ended && !HasMeasurement(sheet.document)) return;
  const std::string bottleneck = sheet.document.At("diagnosis.bottleneck").Text();
  AddObserved(sheet);
  sheet.page.Add((ended ? "" : "Until then: ") + VerdictLine(sheet.document), StyleOf(bottleneck));
  AddWhy(sheet);
  if (ended) AddNext(sheet);
}

}  // namespace pipesim::report
