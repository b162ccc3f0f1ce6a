// A CUDA event with a time stamp. Only cuda_*.cc include this.
#pragma once

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

namespace pipesim::engine {

/// Belongs to the device that is current at construction. Throws c10::Error when CUDA fails.
class CudaEvent {
 public:
  /// `flags`: cudaEventDefault waits by spinning, cudaEventBlockingSync sleeps.
  explicit CudaEvent(unsigned int flags = cudaEventDefault) {
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags));
  }
  ~CudaEvent() { C10_CUDA_CHECK_WARN(cudaEventDestroy(event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void Record(const c10::cuda::CUDAStream& stream) {
    C10_CUDA_CHECK(cudaEventRecord(event_, stream));
  }
  /// Later work of `stream` starts after this event.
  void Block(const c10::cuda::CUDAStream& stream) const {
    C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0));
  }
  bool IsDone() const {
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaErrorNotReady) {
      (void)cudaGetLastError();  // "not ready" is an answer, not a failure
      return false;
    }
    C10_CUDA_CHECK(state);
    return true;
  }
  void Synchronize() const { C10_CUDA_CHECK(cudaEventSynchronize(event_)); }
  /// Milliseconds from this event to `later`; both must be done. Negative if `later` came first.
  float MillisecondsTo(const CudaEvent& later) const {
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_, later.event_));
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace pipesim::engine
