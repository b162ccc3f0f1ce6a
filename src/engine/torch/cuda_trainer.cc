#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cost/buffers.h"
#include "engine/torch/cuda.h"
#include "engine/torch/cuda_clock.h"
#include "engine/torch/cuda_event.h"
#include "engine/torch/errors.h"
#include "engine/torch/threads.h"
#include "engine/torch/training_step.h"

namespace pipesim::engine {
namespace {

/// Timed replays of the captured step: as many as half a second holds. PyTorch's notes on CUDA graphs require some eager
/// steps before the capture, so that the libraries have allocated their memory.
constexpr int kFewestReplays = 3, kMostReplays = 50;
constexpr double kReplaying_s = 0.5;
constexpr int kPinnedCopies = 5;
constexpr int kEagerSteps = 3;

/// One of the `in_flight` input buffers, and the state of the step that used it last.
struct Slot {
  torch::Tensor data, labels;  ///< on the device, sized for a full batch
  /// Page-locked: a copy of labels from ordinary memory could wait for the stream's earlier work.
  torch::Tensor host_labels;
  CudaEvent copy_begin, copy_end, begin;
  CudaEvent end{cudaEventBlockingSync};  ///< a spinning wait would take a core from the workers
  std::int64_t step = -1;                ///< -1: none, or already waited for
  std::optional<double> loss;
  /// model.cuda_graph: the step on this buffer, captured when the buffer is first used for one.
  std::optional<at::cuda::CUDAGraph> graph;
  torch::Tensor graph_loss;
};

std::string DeviceName(int index) { return spec::ToText(spec::DeviceId::Cuda(index)); }

std::string FreeDeviceMemory(int index) {
  std::size_t free = 0, total = 0;
  const c10::cuda::OptionalCUDAGuard guard(static_cast<c10::DeviceIndex>(index));
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return "free memory unknown";
  const std::string text = MemoryText({static_cast<std::int64_t>(free)}) + " of " +
                           MemoryText({static_cast<std::int64_t>(total)}) + " free";
  namespace allocator = c10::cuda::CUDACachingAllocator;
  if (!allocator::get()->initialized()) return text;
  const auto reserved =
      allocator::getDeviceStats(static_cast<c10::DeviceIndex>(index)).reserved_bytes;
  const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return text + ", " + MemoryText({reserved[all].current}) + " held by this run";
}

/// Makes the device current in the calling thread. Call before allocating anything.
c10::DeviceIndex UseDevice(int index) {
  int count = 0;
  const cudaError_t state = cudaGetDeviceCount(&count);
  if (state != cudaSuccess) {
    (void)cudaGetLastError();
    throw base::EnvironmentError("no CUDA device: " + std::string(cudaGetErrorString(state)));
  }
  if (index >= count)
    throw base::EnvironmentError("there is no " + DeviceName(index) + ": " + std::to_string(count) +
                                 " CUDA device(s) here");
  // The caching allocator needs LibTorch's lazy initialization first.
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(index));
  return static_cast<c10::DeviceIndex>(index);
}

class CudaTrainer final : public Trainer {
 private:
  template <class Work>
  auto Do(Work&& work) const {
    return Translated(
        DeviceName(device_), [this] { return FreeDeviceMemory(device_); },
        std::forward<Work>(work));
  }

 public:
  CudaTrainer(const spec::Experiment& experiment, const base::Clock& clock, int compute_threads)
      : dataset_(experiment.dataset),
        transfer_(experiment.transfer),
        pinned_(cost::CopiesFromPinned(experiment.loader)),
        cuda_graph_(experiment.training.cuda_graph),
        batch_size_(experiment.loader.batch_size),
        device_(UseDevice(experiment.device.cuda_index)),
        threads_(compute_threads),
        compute_(c10::cuda::getStreamFromPool(false, device_)),
        copy_(transfer_.overlap ? c10::cuda::getStreamFromPool(false, device_) : compute_),
        device_clock_(clock) {
    c10::cuda::CUDACachingAllocator::resetPeakStats(device_);
    const c10::cuda::CUDAStreamGuard guard(compute_);
    step_.emplace(experiment, torch::Device(torch::kCUDA, device_));
    for (int i = 0; i < experiment.device.in_flight; ++i) slots_.push_back(MakeSlot());
    compute_.synchronize();
  }

  ~CudaTrainer() override {
    const KeepWarnings keep;
    // The caller may free the batches' memory next: wait for pending copies.
    C10_CUDA_CHECK_WARN(cudaStreamSynchronize(copy_));
    C10_CUDA_CHECK_WARN(cudaStreamSynchronize(compute_));
  }

  TrainerInfo info() const override {
    return Do([&] {
      cudaDeviceProp properties{};
      C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, device_));
      TrainerInfo info;
      info.device = spec::DeviceId::Cuda(device_);
      info.device_name = properties.name;
      info.asynchronous = true;
      info.compute_threads = threads_.effective();
      info.parameters = step_->parameters();
      info.device_memory = base::Bytes{static_cast<std::int64_t>(properties.totalGlobalMem)};
      return info;
    });
  }

  void Submit(const Batch& batch, std::int64_t step, bool read_back, StateTimer& timer) override {
    Do([&] {
      const c10::cuda::CUDAStreamGuard guard(compute_);
      Slot& slot = SlotOf(step);
      if (slot.step >= 0)
        throw std::logic_error("step " + std::to_string(slot.step) + " was not waited for");
      timer.Enter(trace::State::kTransfer);
      threads_.Apply();
      Copy(batch, slot);
      timer.Enter(trace::State::kHost);
      slot.copy_end.Block(compute_);
      slot.begin.Record(compute_);
      const torch::Tensor loss = LaunchStep(slot, step, batch.samples);
      slot.end.Record(compute_);
      slot.step = step;
      slot.loss.reset();
      if (!read_back) return;
      timer.Enter(trace::State::kSync);
      slot.loss = loss.item<double>();
    });
  }

  std::optional<StepDone> WaitDone(std::int64_t step, StateTimer&,
                                   const base::StopFlag& stop) override {
    return Do([&]() -> std::optional<StepDone> {
      const c10::cuda::CUDAGuard guard(device_);
      Slot& slot = SlotOf(step);
      if (slot.step != step)
        throw std::logic_error("step " + std::to_string(step) + " is not in flight");
      // A submitted step always ends; the stop flag only prevents new waits.
      if (!slot.end.IsDone()) {
        if (stop.IsSet()) return std::nullopt;
        slot.end.Synchronize();
      }
      slot.step = -1;
      const StepDone done = Times(slot);
      device_clock_.AnchorIfDue();
      return done;
    });
  }

  /// Trains on the current content of the first buffer; used after the run.
  std::optional<StepAlone> MeasureStepAlone() override {
    const KeepWarnings keep;
    try {
      const c10::cuda::CUDAStreamGuard guard(compute_);
      for (int i = 0; i < kEagerSteps; ++i) Launch(*slots_.front(), batch_size_);
      compute_.synchronize();
      at::cuda::CUDAGraph graph;
      if (!Capture(graph, *slots_.front())) return std::nullopt;
      return StepAlone{.time = TimeReplays(graph),
                       .cpu = std::nullopt,
                       .on_one_thread = std::nullopt,
                       .pinned_copy = pinned_ ? std::nullopt : TimePinnedCopy()};
    } catch (const c10::Error&) {
      return std::nullopt;
    }
  }

  std::optional<base::Bytes> DeviceMemoryPeak() const override {
    return Do([&] {
      using c10::CachingAllocator::StatType;
      const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device_);
      const auto& allocated = stats.allocated_bytes[static_cast<std::size_t>(StatType::AGGREGATE)];
      return std::optional(base::Bytes{allocated.peak});
    });
  }

 private:
  Slot& SlotOf(std::int64_t step) {
    return *slots_[static_cast<std::size_t>(step) % slots_.size()];
  }

  std::unique_ptr<Slot> MakeSlot() const {
    const auto on_device = torch::TensorOptions().device(torch::kCUDA, device_);
    auto slot = std::make_unique<Slot>();
    slot->data =
        torch::zeros(BatchShape(dataset_, batch_size_), on_device.dtype(TorchType(dataset_.dtype)));
    slot->labels = torch::zeros({batch_size_}, on_device.dtype(torch::kLong));
    slot->host_labels =
        torch::zeros({batch_size_}, torch::TensorOptions(torch::kLong).pinned_memory(true));
    return slot;
  }

  void Copy(const Batch& batch, Slot& slot) {
    const std::size_t bytes = static_cast<std::size_t>(batch.samples) *
                              static_cast<std::size_t>(spec::PreparedBytes(dataset_).count);
    const std::size_t label_bytes =
        batch.labels.first(static_cast<std::size_t>(batch.samples)).size_bytes();
    std::memcpy(slot.host_labels.data_ptr(), batch.labels.data(), label_bytes);
    slot.copy_begin.Record(copy_);
    C10_CUDA_CHECK(cudaMemcpyAsync(slot.data.data_ptr(), batch.data.data(), bytes,
                                   cudaMemcpyHostToDevice, copy_));
    C10_CUDA_CHECK(cudaMemcpyAsync(slot.labels.data_ptr(), slot.host_labels.data_ptr(), label_bytes,
                                   cudaMemcpyHostToDevice, copy_));
    slot.copy_end.Record(copy_);
    if (!transfer_.non_blocking) copy_.synchronize();
  }

  torch::Tensor Launch(Slot& slot, std::int64_t samples) {
    const torch::Tensor loss =
        step_->Forward(slot.data.narrow(0, 0, samples), slot.labels.narrow(0, 0, samples));
    step_->Backward(loss);
    step_->Update();
    return loss.detach();
  }

  /// Replays a captured step if model.cuda_graph is set; partial batches run eagerly.
  torch::Tensor LaunchStep(Slot& slot, std::int64_t step, std::int64_t samples) {
    if (!cuda_graph_ || step < kEagerSteps || samples != batch_size_) return Launch(slot, samples);
    if (!slot.graph) {
      slot.graph.emplace();
      slot.graph_loss = Capture(*slot.graph, slot).value_or(torch::Tensor());
      if (!slot.graph_loss.defined()) {
        throw std::runtime_error(
            "this step cannot be captured as a CUDA graph; leave "
            "model.cuda_graph false");
      }
    }
    slot.graph->replay();
    return slot.graph_loss;
  }

  /// Times from two anchors may differ by their widths, but the order of steps is certain.
  StepDone Times(const Slot& slot) {
    StepDone done;
    done.transfer_begin = device_clock_.At(slot.copy_begin);
    done.transfer_end = device_clock_.At(slot.copy_end);
    done.begin = std::max(device_clock_.At(slot.begin), last_end_);
    done.end = std::max(device_clock_.At(slot.end), done.begin);
    done.loss = slot.loss;
    last_end_ = done.end;
    return done;
  }

  /// The loss tensor that replays write; nullopt, with no other effect, when the step cannot be
  /// captured. Other threads may allocate CUDA memory meanwhile.
  std::optional<torch::Tensor> Capture(at::cuda::CUDAGraph& graph, Slot& slot) {
    try {
      graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      const torch::Tensor loss = Launch(slot, batch_size_);
      graph.capture_end();
      return loss;
    } catch (const c10::Error&) {
      // Ending the failed capture releases stream and allocator. It warns where nothing was captured.
      const DropWarnings drop;
      try {
        graph.capture_end();
      } catch (const c10::Error&) {
      }
      (void)cudaGetLastError();
      return std::nullopt;
    }
  }

  base::Duration TimeReplays(at::cuda::CUDAGraph& graph) {
    graph.replay();  // the first one uploads the graph
    const double one_s = SecondsOfReplays(graph, 1);
    const double fitting = kReplaying_s / std::max(one_s, 1e-9);
    const int count = static_cast<int>(std::clamp<double>(fitting, kFewestReplays, kMostReplays));
    return base::FromSeconds(SecondsOfReplays(graph, count) / count);
  }

  /// Of the data of a full batch; nullopt where so much memory cannot be locked.
  std::optional<base::Duration> TimePinnedCopy() {
    torch::Tensor& target = slots_.front()->data;
    torch::Tensor source;
    try {
      source = torch::empty(target.sizes(), target.options().device(torch::kCPU).pinned_memory(true));
    } catch (const c10::Error&) {
      return std::nullopt;
    }
    const auto copy = [&](int times) {
      CudaEvent begin, end;
      begin.Record(compute_);
      for (int i = 0; i < times; ++i)
        C10_CUDA_CHECK(cudaMemcpyAsync(target.data_ptr(), source.data_ptr(), source.nbytes(),
                                       cudaMemcpyHostToDevice, compute_));
      end.Record(compute_);
      end.Synchronize();
      return base::FromSeconds(begin.MillisecondsTo(end) * 1e-3 / times);
    };
    (void)copy(1);  // the first one touches the memory
    return copy(kPinnedCopies);
  }

  double SecondsOfReplays(at::cuda::CUDAGraph& graph, int count) {
    CudaEvent begin, end;
    begin.Record(compute_);
    for (int i = 0; i < count; ++i) graph.replay();
    end.Record(compute_);
    end.Synchronize();
    return begin.MillisecondsTo(end) * 1e-3;
  }

  spec::Dataset dataset_;
  spec::Transfer transfer_;
  bool pinned_;  ///< batches are in page-locked memory already
  bool cuda_graph_;
  std::int64_t batch_size_;
  c10::DeviceIndex device_;
  ComputeThreads threads_;
  c10::cuda::CUDAStream compute_, copy_;
  CudaClock device_clock_;
  std::optional<TrainingStep> step_;
  std::vector<std::unique_ptr<Slot>> slots_;
  base::Instant last_end_;
};

}  // namespace

std::unique_ptr<Trainer> MakeCudaTrainer(const spec::Experiment& experiment,
                                         const base::Clock& clock, int compute_threads) {
  const int index = experiment.device.cuda_index;
  return Translated(
      DeviceName(index), [index] { return FreeDeviceMemory(index); },
      [&] {
        return std::unique_ptr<Trainer>(
            std::make_unique<CudaTrainer>(experiment, clock, compute_threads));
      });
}

}  // namespace pipesim::engine
