#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "diagnose/clauses.h"
#include "diagnose/contention.h"
#include "diagnose/recommend.h"

namespace pipesim::diagnose::cpu_contention {
namespace {

/// Loading in the training loop, where no process hands batches over.
bool WithoutWorkers(const Findings& found) {
  const auto& setting = found.decision.setting;
  return setting && setting->setting.set == std::vector{std::pair<std::string, std::string>("loader.workers", "0")};
}

/// Training hardly waits for a core, but a step is slower on its threads than on fewer.
bool SlowByItself(const Findings& found) {
  constexpr double kHardly = 0.01;
  const auto& setting = found.decision.setting;
  return setting && SetsPath(setting->setting.set, "limits.compute_threads") &&
         TrainerContendedShare(found.question.measurement) < kHardly;
}

std::string Headline(const Findings& found) {
  const Question& q = found.question;
  if (SlowByItself(found))
    return fmt::format("{} is slower on {} threads than on fewer", Training(q), q.now.ComputeThreads());
  if (WithoutWorkers(found))
    return "worker processes cost training more than they load: the training loop alone is faster";
  return fmt::format("too many threads share the cores; {} loses {} of its time to that",
                     Training(q), base::Percent(TrainerContendedShare(q.measurement)));
}

/// The effect of shared cores on the CPU's steps: the measurement that shows more of it.
void AddStepBesideWorkers(Clauses& clauses, const measure::Measurement& m) {
  if (m.effective.device_asynchronous) return;
  const auto& alone_s = m.demands.step_s;
  const auto& waits = m.resources.trainer_contended_fraction;
  const double beside_s =
      m.result.steps > 0 ? m.consumer.compute_s / static_cast<double>(m.result.steps) : 0;
  const double longer =
      StepIsKnownAlone(m) && alone_s && beside_s > 0 ? 1 - *alone_s / beside_s : 0;
  if (longer > waits.value_or(0)) {
    const bool long_step = beside_s >= 1;
    clauses.push_back({fmt::format("a step takes {:.3g} {unit} beside the workers, {:.3g} {unit} alone",
                                   beside_s * (long_step ? 1 : 1e3), *alone_s * (long_step ? 1 : 1e3),
                                   fmt::arg("unit", long_step ? "s" : "ms")),
                       "consumer.compute_s",
                       beside_s,
                       {}});
    return;
  }
  if (!waits) return;
  clauses.push_back(
      {fmt::format("the trainer's threads wait for a core {} of the time they want one",
                   base::Percent(*waits)),
       "resources.trainer_contended_fraction",
       *waits,
       {}});
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const Question& q = found.question;
  const auto& c = q.measurement.consumer;
  if (WithoutWorkers(found)) {
    AddReceiving(clauses, c);
    AddSettingGain(clauses, found);
    return clauses;
  }
  AddShare(clauses, "consumer.contended_s", c.contended_s, c.wall_s,
           "the training thread waits for a core", "of the time, between steps");
  if (!SlowByItself(found)) AddStepBesideWorkers(clauses, q.measurement);
  clauses.push_back(
      {fmt::format("{} threads share {:.3g} core{}", RunnableThreads(q.now), q.now.cores(),
                   q.now.cores() == 1 ? "" : "s"),
       "resources.cores",
       q.now.cores(),
       {}});
  AddSettingGain(clauses, found);
  return clauses;
}

Recommendation Remedy(const Findings& found) {
  if (WithoutWorkers(found))
    return FromSetting("load in the training loop: " + found.decision.setting->setting.text, found);
  const std::string text = SlowByItself(found) ? "train on fewer threads: " : "leave training its cores: ";
  const Setting& decided = found.decision.setting->setting;
  const bool fewer_threads = SetsPath(decided.set, "limits.compute_threads");
  return fewer_threads ? FromDecided(text, found) : FromSetting(text + decided.text, found);
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning =
        "Too many threads share too few cores, and training waits for a core: the run's own, or "
        "other programs', or more than a quota allows. With fewer threads, or ones that do not "
        "spin, the same work would fit.",
    .decided =
        "Fewer threads alone (workers, of processes down to none, compute_threads), or threads that sleep at barriers "
        "(omp_wait), gain 5 % or more, and more than any loader setting, when the pipeline runs "
        "again in virtual time. There threads share the cores, other programs hold those that they "
        "had, a quota stops all threads alike, and a training pool that spins gets on only while "
        "each of its threads has a core. Fewer readers that gain by a storage they share do not count.",
    .signs =
        {
            "the training thread waits for a core (contended) while more threads than cores can "
            "run",
            "on the CPU, LibTorch's threads wait inside the step "
            "(resources.trainer_contended_fraction)",
            "step times are longer and more uneven than with fewer workers",
        },
    .flags =
        {
            "--workers N, so that N and the training threads fit the cores",
            "--threads N (limits.compute_threads), to leave cores to the workers",
            "--set limits.omp_wait=passive, so that threads sleep at a barrier instead of spinning",
            "--cpus LIST, processors that no other program uses",
        },
    .pytorch =
        {
            "DataLoader(..., num_workers=N) with a smaller N",
            "torch.set_num_threads(N) in the training process; OMP_WAIT_POLICY=PASSIVE in its "
            "environment",
        },
};

}  // namespace pipesim::diagnose::cpu_contention
