// A training step as LibTorch's autograd makes it: which tensors the forward pass keeps, when the
// backward pass gives them back, what is allocated meanwhile.
#pragma once

#include <memory>

#include "cost/device_heap.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// Walks steps of full batches of `experiment` over `heap`; both must outlive it.
class AutogradWalk {
 public:
  /// Puts the parameters on the heap: they exist before the first step. `copies_convolutions`: as
  /// LibraryMemory says. Throws std::invalid_argument when a layer does not fit its input.
  AutogradWalk(const spec::Experiment& experiment, bool copies_convolutions, DeviceHeap& heap);
  ~AutogradWalk();

  /// Forward, backward and update, once.
  void Step();
  /// Whether a step multiplied matrices (cuBLAS).
  bool multiplies() const;

 private:
  class Walker;
  std::unique_ptr<Walker> walker_;
  const spec::Experiment& experiment_;
  DeviceHeap& heap_;
};

}  // namespace pipesim::cost
