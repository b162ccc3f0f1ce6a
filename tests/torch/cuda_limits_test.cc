// How near the trainer comes to what the hardware can do: copies, their overlap, the cost of measuring.
#include <cuda_runtime_api.h>

#include <c10/cuda/CUDAException.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "base/stats.h"
#include "engine/bench_loop.h"
#include "support.h"

namespace pipesim::engine {
namespace {

using spec::Layer;

/// A batch in page-locked memory. Its bytes differ as pictures' do: a GPU draws less power for constant ones.
class PinnedBatch {
 public:
  explicit PinnedBatch(const spec::Experiment& experiment)
      : memory_(Plugin().make_pinned_memory()),
        bytes_{experiment.loader.batch_size * spec::PreparedBytes(experiment.dataset).count},
        data_(memory_->Allocate(bytes_)),
        labels_(static_cast<std::size_t>(experiment.loader.batch_size), 0) {
    // The high byte of multiples of Knuth's constant.
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(bytes_.count); ++i)
      data_[i] = static_cast<std::byte>(i * 2654435761U >> 24);
    batch_.samples = static_cast<std::int32_t>(experiment.loader.batch_size);
    batch_.data = {data_, static_cast<std::size_t>(bytes_.count)};
    batch_.labels = labels_;
  }
  ~PinnedBatch() { memory_->Free(data_, bytes_); }
  PinnedBatch(const PinnedBatch&) = delete;
  PinnedBatch& operator=(const PinnedBatch&) = delete;

  const Batch& batch() const { return batch_; }
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_.count; }

 private:
  std::unique_ptr<BatchMemory> memory_;
  base::Bytes bytes_;
  std::byte* data_;
  std::vector<std::int64_t> labels_;
  Batch batch_;
};

spec::Experiment Photos(std::int64_t batch, std::vector<Layer> layers) {
  auto experiment = SmallExperiment(std::move(layers));
  experiment.device.kind = spec::DeviceKind::kCuda;
  experiment.dataset.shape = {3, 224, 224};
  experiment.loader.batch_size = batch;
  return experiment;
}

struct Trained {
  double cycle_s = 0;  ///< wall time of a step in a row of many
  double copy_s = 0;   ///< median of the copies, by the device's clock
  double alone_s = 0;  ///< the captured step, replayed
};

/// Trains `steps` steps on one batch as the consumer does: at most in_flight steps are submitted. The first fifth warms up.
Trained Train(const spec::Experiment& experiment, const Batch& batch, std::int64_t steps) {
  Consumer consumer(experiment);
  const base::StopFlag stop;
  const std::int64_t in_flight = experiment.device.in_flight, warm = steps / 5;
  std::vector<double> copies;
  base::Instant begin;
  for (std::int64_t step = 0; step < warm + steps + in_flight; ++step) {
    if (step >= in_flight) {
      const StepDone done = consumer.trainer().WaitDone(step - in_flight, consumer.timer, stop).value();
      copies.push_back(base::ToSeconds(*done.transfer_end - *done.transfer_begin));
      if (step - in_flight == warm - 1) begin = consumer.clock().Now();
    }
    if (step < warm + steps) consumer.trainer().Submit(batch, step, /*read_back=*/false, consumer.timer);
  }
  Trained trained;
  trained.cycle_s = base::ToSeconds(consumer.clock().Now() - begin) / static_cast<double>(steps);
  trained.copy_s = *base::Quantile(copies, 0.5);
  if (const auto alone = consumer.trainer().MeasureStepAlone()) trained.alone_s = base::ToSeconds(*alone->time);
  return trained;
}

/// Copies as plain CUDA makes them, one after the other on a stream: seconds of each, the median of some rows.
double RawCopySeconds(const void* from, std::int64_t bytes) {
  constexpr int kRows = 7, kCopies = 20;
  cudaStream_t stream = nullptr;
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* to = nullptr;
  C10_CUDA_CHECK(cudaMalloc(&to, static_cast<std::size_t>(bytes)));
  cudaEvent_t begin = nullptr, end = nullptr;
  C10_CUDA_CHECK(cudaEventCreate(&begin));
  C10_CUDA_CHECK(cudaEventCreate(&end));
  std::vector<double> each;
  for (int row = 0; row < kRows; ++row) {
    C10_CUDA_CHECK(cudaEventRecord(begin, stream));
    for (int i = 0; i < kCopies; ++i)
      C10_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream));
    C10_CUDA_CHECK(cudaEventRecord(end, stream));
    C10_CUDA_CHECK(cudaEventSynchronize(end));
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    each.push_back(milliseconds * 1e-3 / kCopies);
  }
  C10_CUDA_CHECK(cudaEventDestroy(begin));
  C10_CUDA_CHECK(cudaEventDestroy(end));
  C10_CUDA_CHECK(cudaFree(to));
  C10_CUDA_CHECK(cudaStreamDestroy(stream));
  return *base::Quantile(each, 0.5);
}

/// What other programs of the host take makes a turn longer, never shorter: the shortest of some turns counts.
constexpr int kTurns = 3;

/// As printf: fmt's library is not linked beside LibTorch's own.
template <class... Values>
std::string Text(const char* format, Values... values) {
  char text[400];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

class CudaLimits : public testing::Test {
 protected:
  void SetUp() override {
    if (Plugin().devices().empty()) GTEST_SKIP() << "no CUDA device on this machine";
  }
  /// Into the test's XML and its output: tools/gpu_tests collects these lines.
  static void Print(const std::string& figures) {
    std::printf("figure: %s\n", figures.c_str());
    RecordProperty("figure", figures);
  }
};

TEST_F(CudaLimits, PinnedBatchesMoveAtLeast95PercentAsFastAsPlainCopies) {
  // 38.5 MB, a batch of 256 photographs.
  auto experiment = Photos(256, {Flatten(), Linear(4)});
  experiment.transfer.overlap = false;  // nothing else uses the device's memory meanwhile
  const PinnedBatch batch(experiment);
  double plain_s = std::numeric_limits<double>::infinity(), copy_s = plain_s;
  for (int turn = 0; turn < kTurns; ++turn) {
    plain_s = std::min(plain_s, RawCopySeconds(batch.data(), batch.bytes()));
    copy_s = std::min(copy_s, Train(experiment, batch.batch(), 100).copy_s);
  }
  const double bytes = static_cast<double>(batch.bytes());
  Print(Text("pinned transfer %.2f GB/s, a plain cudaMemcpyAsync loop %.2f GB/s: %.1f %%", bytes / copy_s * 1e-9,
             bytes / plain_s * 1e-9, 100 * plain_s / copy_s));
  EXPECT_GE(plain_s / copy_s, 0.95);
}

/// What overlapping hides of the shorter of copy and compute, and how long that is.
struct Hidden {
  double share = 0, shorter_s = 0;
};
Hidden HiddenByOverlap(spec::Experiment experiment, std::int64_t steps, std::string& figures) {
  const PinnedBatch batch(experiment);
  const auto shortest = [&](bool overlap, std::int64_t of) {
    experiment.transfer.overlap = overlap;
    Trained best = Train(experiment, batch.batch(), of);
    for (int turn = 1; turn < kTurns; ++turn) {
      const Trained next = Train(experiment, batch.batch(), of);
      if (next.cycle_s < best.cycle_s) best = next;
    }
    return best;
  };
  const Trained turns = shortest(false, steps / 4), both = shortest(true, steps);
  // In turns the cycle is copy and compute, the gaps between its launches included.
  const double compute_s = turns.cycle_s - turns.copy_s, shorter_s = std::min(turns.copy_s, compute_s);
  const double share = (turns.cycle_s - both.cycle_s) / shorter_s;
  figures = Text(
      "copy %.2f ms, compute %.2f ms (replayed %.2f), in turns %.2f ms, overlapped %.2f ms over %d steps: %.1f %% of "
      "the shorter is hidden",
      1e3 * turns.copy_s, 1e3 * compute_s, 1e3 * turns.alone_s, 1e3 * turns.cycle_s, 1e3 * both.cycle_s, static_cast<int>(steps), 100 * share);
  return {share, shorter_s};
}

TEST_F(CudaLimits, OverlapHides95PercentOfTheShorterOfCopyAndCompute) {
  constexpr double kLeast_s = 5e-3;
  // 301 and 602 MB a batch; the wider the first layer, the longer its products: once compute is longer, once the copy.
  for (const auto& [samples, width] : {std::pair<std::int64_t, std::int64_t>{2000, 512}, {4000, 64}}) {
    std::string figures;
    try {
      const Hidden hidden = HiddenByOverlap(Photos(samples, {Flatten(), Linear(width), Relu(), Linear(4)}), 200, figures);
      // A faster link or device than this test was written for has shorter ones.
      if (hidden.shorter_s >= kLeast_s) {
        EXPECT_GE(hidden.share, 0.95) << samples << " samples, width " << width;
      }
    } catch (const OutOfMemory& error) {
      figures = Text("%d samples left out: %s", static_cast<int>(samples), error.what());
    }
    Print(figures);
  }
}

TEST_F(CudaLimits, MeasuringStepsOfAMillisecondCostsAtMostOnePercent) {
  // The bench runs the same step in a row, with no events, states, copies or waits.
  constexpr std::int64_t kSteps = 300;
  for (const std::int64_t width : {16, 1024, 2048}) {
    auto experiment = Photos(64, {Flatten(), Linear(width), Relu(), Linear(4)});
    const PinnedBatch batch(experiment);
    const auto plain = Plugin().make_bench_loop({.operation = cost::Operation::kStep,
                                                 .size = experiment.loader.batch_size,
                                                 .device = spec::DeviceId::Cuda(0),
                                                 .experiment = experiment});
    plain->Run(kSteps / 5);
    // Turns, so that a change of the device's clock meets both.
    std::vector<double> plain_s, trained_s;
    for (int turn = 0; turn < kTurns; ++turn) {
      plain_s.push_back(plain->Run(kSteps).done_s / kSteps);
      trained_s.push_back(Train(experiment, batch.batch(), kSteps).cycle_s);
    }
    const double plain_step_s = *std::min_element(plain_s.begin(), plain_s.end()),
                 step_s = *std::min_element(trained_s.begin(), trained_s.end());
    Print(Text("a plain step %.4f ms, measured %.4f ms: %+.2f %%", 1e3 * plain_step_s, 1e3 * step_s,
                   100 * (step_s / plain_step_s - 1)));
    if (plain_step_s < 1e-3) continue;  // printed only: the aim is for steps of a millisecond
    EXPECT_LE(step_s, 1.01 * plain_step_s) << "width " << width;
  }
}

}  // namespace
}  // namespace pipesim::engine
