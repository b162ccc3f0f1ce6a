#include "report/profile_text.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/text.h"
#include "report/format.h"
#include "spec/words.h"

namespace pipesim::report {
namespace {

using base::Duration;

std::string ValueText(Duration value) { return Seconds(base::ToSeconds(value), 3); }
std::string ValueText(base::BytesPerSecond value) {
  return Significant(value.per_s / 1e6, 3) + " MB/s";
}
std::string ValueText(base::Bytes value) { return Amount(static_cast<double>(value.count)); }
std::string ValueText(double value) { return Significant(value, 3); }

std::string SpreadText(std::optional<double> spread) { return spread ? "+-" + Noise(*spread) : ""; }

/// Steps of one training: a row a batch size, a column a number of threads.
struct StepTimesTable {
  std::set<int> threads;
  std::map<std::int64_t, std::map<int, Duration>> rows;
};

std::string NameOf(const spec::ProfileStep& step) {
  return fmt::format("{} {}, {}, {} on {}{}{}", step.model, spec::ToText(step.shape),
                     spec::WordOf(spec::kPrecisions, step.precision),
                     spec::WordOf(spec::kOptimizers, step.optimizer), spec::ToText(step.device),
                     step.omp_wait == spec::OmpWait::kDefault ? "" : ", omp_wait passive",
                     step.after_pause == Duration::zero() ? "" : ", after " + ValueText(step.after_pause));
}

std::string Rendered(const std::string& name, const StepTimesTable& table) {
  std::string text = fmt::format("\nStep of {}\n  {:>6}", name, "batch");
  for (const int threads : table.threads)
    text += fmt::format("{:>14}", fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"));
  text += "\n";
  for (const auto& [batch, times] : table.rows) {
    text += fmt::format("  {:>6}", batch);
    for (const int threads : table.threads) {
      const auto time = times.find(threads);
      text += fmt::format("{:>14}", time == times.end() ? "" : ValueText(time->second));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string ProfileText(const spec::MachineProfile& profile, const std::string& file) {
  const std::string gpu = profile.gpu.empty() ? "" : ", " + base::Printable(profile.gpu);
  std::string text = fmt::format("{}, {} cores{}: written to {}\n\n", base::Printable(profile.cpu),
                                 Count(profile.cores), gpu, base::Printable(file));
  spec::MachineFigures figures = profile.figures;
  spec::ForEachFigure(figures, [&](std::string_view key, const auto& figure) {
    if (!figure) return;
    text += fmt::format("  {:28} {:>12}  {}\n", key, ValueText(figure->value),
                        SpreadText(figure->spread));
  });
  std::map<std::string, StepTimesTable> tables;
  for (const spec::ProfileStep& step : profile.steps) {
    StepTimesTable& table = tables[NameOf(step)];
    table.threads.insert(step.threads);
    table.rows[step.batch][step.threads] = step.time.value;
  }
  for (const auto& [name, table] : tables) text += Rendered(name, table);
  return text + fmt::format("\nNext: pipesim predict --profile {}\n", base::Printable(file));
}

}  // namespace pipesim::report
