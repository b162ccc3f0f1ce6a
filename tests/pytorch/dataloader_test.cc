// PyTorch's DataLoader is the reference: what dataloader_reference.py records of it, batch by
// batch, is compared with the Dealer's decisions and with what the threaded engine really does.
// Nothing here depends on time: batches are held until they may end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "engine/dealer.h"
#include "unit/threaded/pipeline.h"

namespace pipesim::engine {
namespace {

using nlohmann::json;
using Deals = std::vector<std::pair<std::int64_t, int>>;  // batch index, worker

struct Reference {
  json record;
  std::string skipped;  ///< why there is none
};

/// One Python process for all tests: importing torch takes seconds.
const Reference& PyTorch() {
  static const Reference reference = [] {
    const std::filesystem::path own = PIPESIM_SOURCE_DIR "/.venv/bin/python3";
    const std::string command = "PYTHONWARNINGS=ignore " +
                                (std::filesystem::exists(own) ? own.string() : "python3") +
                                " " PIPESIM_SOURCE_DIR "/tests/pytorch/dataloader_reference.py";
    Reference result;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return result;
    std::string out;
    std::array<char, 4096> part{};
    while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe)) {
      out.append(part.data(), got);
    }
    const int status = pclose(pipe);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
      result.skipped = "no PyTorch to compare with: " + command + " said why";
    } else if (status == 0) {
      result.record = json::parse(out);
    }
    return result;
  }();
  return reference;
}

class DataLoader : public testing::Test {
 protected:
  void SetUp() override {
    if (!PyTorch().skipped.empty()) GTEST_SKIP() << PyTorch().skipped;
    ASSERT_FALSE(PyTorch().record.is_null()) << "dataloader_reference.py failed, see above";
    ASSERT_FALSE(PyTorch().record["cases"].empty());
  }
};

std::string NameOf(const json& loader) {
  json settings = loader;
  settings.erase("epochs");
  return settings.dump();
}

spec::Experiment ExperimentOf(const json& loader) {
  spec::Experiment experiment = FromSource(Small());
  experiment.dataset.samples = loader["samples"];
  experiment.run.epochs = loader["epochs"].size();
  experiment.loader.workers = loader["workers"];
  experiment.loader.prefetch_factor = loader["prefetch_factor"];
  experiment.loader.batch_size = loader["batch_size"];
  experiment.loader.drop_last = loader["drop_last"];
  experiment.loader.persistent_workers = loader["persistent_workers"];
  experiment.loader.in_order = loader["in_order"];
  experiment.loader.shuffle = false;
  return experiment;
}

TEST_F(DataLoader, AfterEveryBatchTakenTheDealerDealsWhatPyTorchDeals) {
  for (const json& loader : PyTorch().record["cases"]) {
    SCOPED_TRACE(NameOf(loader));
    const spec::Experiment experiment = ExperimentOf(loader);
    Dealer dealer(experiment.loader);
    const auto dealt = [&] {
      Deals deals;
      while (const auto deal = dealer.Next()) deals.emplace_back(deal->index, deal->worker);
      return deals;
    };
    for (const json& epoch : loader["epochs"]) {
      ASSERT_EQ(epoch["taken"].size(), static_cast<std::size_t>(BatchesPerEpoch(experiment)));
      dealer.BeginEpoch(BatchesPerEpoch(experiment));
      ASSERT_EQ(dealt(), epoch["dealt_at_start"].get<Deals>());
      for (const json& taken : epoch["taken"]) {
        dealer.Taken({taken["index"], taken["worker"]});
        ASSERT_EQ(dealt(), taken["dealt"].get<Deals>()) << "after batch " << taken["index"];
      }
    }
  }
}

/// Holds each batch as the reference held it, in every epoch anew. A batch is one call of Begin.
class Gate {
 public:
  explicit Gate(const json& loader) : loader_(loader), in_order_(loader["in_order"]) {
    for (const auto& [index, after] : loader["ends_after"].get<Deals>()) ends_after_[index] = after;
  }

  /// In the worker: returns when the batch may end.
  void Begin(std::int64_t index) {
    std::unique_lock lock(mutex_);
    const int epoch = begun_[index]++;
    changed_.notify_all();
    const bool may_end = changed_.wait_for(lock, kPatience, [&] { return MayEnd(epoch, index); });
    if (!may_end) throw std::runtime_error("batch " + std::to_string(index) + " waits for ever");
    ++made_[index];
    changed_.notify_all();
  }
  void Taken(std::int64_t index) {
    const std::lock_guard lock(mutex_);
    ++taken_[index];
    changed_.notify_all();
  }
  /// How many batches of `epoch` have been begun, once they are `enough`.
  int Begun(int epoch, int enough) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return CountLocked(epoch) >= enough; });
    // Time for a batch too many to be begun.
    changed_.wait_for(lock, 2ms, [&] { return CountLocked(epoch) > enough; });
    return CountLocked(epoch);
  }

 private:
  static constexpr auto kPatience = 20s;

  bool MayEnd(int epoch, std::int64_t index) {
    if (in_order_) {
      return ends_after_.count(index) == 0 || made_[ends_after_[index]] > epoch;
    }
    // Not before the one that PyTorch's consumer took before it.
    std::optional<std::int64_t> before;
    for (const json& taken : loader_["epochs"][static_cast<std::size_t>(epoch)]["taken"]) {
      if (taken["index"] == index) break;
      before = taken["index"];
    }
    return !before || taken_[*before] > epoch;
  }
  int CountLocked(int epoch) {
    int count = 0;
    for (const auto& [index, times] : begun_) count += times > epoch;
    return count;
  }

  const json& loader_;
  const bool in_order_;
  std::map<std::int64_t, std::int64_t> ends_after_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, int> begun_, made_, taken_;  ///< index -> times
};

struct EngineRun {
  std::vector<Seen> seen;
  std::map<std::int64_t, int> worker;  ///< batch number -> who made it
  std::vector<int> begun, next_begun;  ///< per step, while its batch was held: of its epoch; of
                                       ///< the epoch after it
  std::string failure;
};

/// `begun_by`: how many batches of its epoch PyTorch's workers had begun during each step.
EngineRun RunEngine(const json& loader, const std::vector<int>& begun_by) {
  Gate gate(loader);
  const std::int64_t batch_size = loader["batch_size"];
  const NumberedSource source(loader["samples"], [&](std::int64_t sample) {
    if (sample % batch_size == 0) gate.Begin(sample / batch_size);
  });
  EngineRun run;
  std::function<void(std::int64_t)> in_step;
  RecordingTrainer trainer([&](std::int64_t step) { in_step(step); });
  in_step = [&](std::int64_t step) {
    const Seen& seen = trainer.seen.back();
    gate.Taken(seen.index);
    const int epoch = static_cast<int>(seen.epoch);
    if (static_cast<std::size_t>(step) < begun_by.size()) {
      run.begun.push_back(gate.Begun(epoch, begun_by[static_cast<std::size_t>(step)]));
    }
    run.next_begun.push_back(gate.Begun(epoch + 1, 0));
  };
  const trace::RunTrace trace = RunWith(ExperimentOf(loader), trainer, &source, WithSpans());
  for (const trace::Span& span : trace.first_spans) {
    if (span.role == Role::kWorker && span.state == State::kCollate) {
      run.worker[span.batch] = span.thread;
    }
  }
  run.seen = std::move(trainer.seen);
  run.failure = trace.failure;
  return run;
}

/// The batches and who made each, in the order taken, epoch after epoch.
Deals TakenBy(const EngineRun& run) {
  Deals taken;
  for (const Seen& seen : run.seen) taken.emplace_back(seen.index, run.worker.at(seen.number));
  return taken;
}
Deals TakenBy(const json& loader) {
  Deals taken;
  for (const json& epoch : loader["epochs"]) {
    for (const json& batch : epoch["taken"]) taken.emplace_back(batch["index"], batch["worker"]);
  }
  return taken;
}

TEST_F(DataLoader, InOrderTheEngineYieldsAssignsAndPrefetchesAsPyTorch) {
  for (const json& loader : PyTorch().record["cases"]) {
    if (!loader["in_order"]) continue;
    SCOPED_TRACE(NameOf(loader));
    std::vector<int> begun_by;
    for (const json& epoch : loader["epochs"]) {
      int begun = static_cast<int>(epoch["dealt_at_start"].size());
      for (const json& taken : epoch["taken"]) {
        begun_by.push_back(begun += static_cast<int>(taken["dealt"].size()));
      }
    }
    const EngineRun run = RunEngine(loader, begun_by);
    ASSERT_EQ(run.failure, "");
    ASSERT_EQ(TakenBy(run), TakenBy(loader));
    ASSERT_EQ(run.begun, begun_by);  // the window: as many as PyTorch, and none more
  }
}

TEST_F(DataLoader, OutOfOrderTheEngineYieldsAndAssignsAsPyTorchForTheSameCompletions) {
  for (const json& loader : PyTorch().record["cases"]) {
    if (loader["in_order"]) continue;
    SCOPED_TRACE(NameOf(loader));
    const EngineRun run = RunEngine(loader, {});
    ASSERT_EQ(run.failure, "");
    ASSERT_EQ(TakenBy(run), TakenBy(loader));
  }
}

TEST_F(DataLoader, NothingIsBegunAcrossAnEpochBorder) {
  for (const json& loader : PyTorch().record["cases"]) {
    SCOPED_TRACE(NameOf(loader));
    for (std::size_t epoch = 0; epoch < loader["epochs"].size(); ++epoch) {
      const int times = static_cast<int>(epoch) + 1;
      EXPECT_THAT(loader["epochs"][epoch]["begun_at_end"].get<std::vector<int>>(),
                  testing::Each(times));
    }
    ASSERT_THAT(RunEngine(loader, {}).next_begun, testing::Each(0));
  }
}

}  // namespace
}  // namespace pipesim::engine
