// Keeps LibTorch's exception types inside this library: callers see OutOfMemory, base's errors or
// std::runtime_error with one line of text. Likewise its warnings.
#pragma once

#include <functional>
#include <string>

#include "base/units.h"
#include "engine/torch/warnings.h"

namespace pipesim::engine {

/// The amount in the largest binary unit that keeps it above 1: "1.50 GiB".
std::string MemoryText(base::Bytes amount);

/// The machine's available memory (MemAvailable): "3.10 GiB free".
std::string FreeHostMemory();

/// Call inside a catch block. `free_memory` returns the device's free memory as text.
[[noreturn]] void RethrowTranslated(const std::string& device,
                                    const std::function<std::string()>& free_memory);

/// Runs `work`, translates LibTorch's exceptions and keeps its warnings.
template <class Work>
auto Translated(const std::string& device, const std::function<std::string()>& free_memory,
                Work&& work) {
  const KeepWarnings keep;
  try {
    return work();
  } catch (...) {
    RethrowTranslated(device, free_memory);
  }
}

}  // namespace pipesim::engine
