#include "engine/torch/errors.h"

#include <torch/torch.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <new>
#include <regex>
#include <stdexcept>
#include <string_view>

#include "engine/trainer.h"

// No fmt in this folder: LibTorch's headers include another version of fmt than the one we link.

namespace pipesim::engine {
namespace {

std::string FirstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// Only LibTorch's CUDA allocator reports exhausted memory by exception type; its CPU allocator,
/// the CUDA runtime and the CUDA libraries do so by text.
bool TellsOfMemory(const std::string& text) {
  constexpr std::array<std::string_view, 4> kTexts = {"DefaultCPUAllocator: ", "out of memory",
                                                      "CUBLAS_STATUS_ALLOC_FAILED",
                                                      "CUDNN_STATUS_ALLOC_FAILED"};
  for (const std::string_view part : kTexts)
    if (text.find(part) != std::string::npos) return true;
  return false;
}

/// "asked for 1.00 GiB, " out of "... tried to allocate 1.00 GiB. ..." or "... 123 bytes. ...".
std::string Asked(const std::string& text) {
  static const std::regex kAsked("ried to allocate ([0-9.]+) (bytes|[KMG]iB)");
  std::smatch match;
  if (!std::regex_search(text, match, kAsked)) return "";
  if (match[2] != "bytes") return "asked for " + match[1].str() + " " + match[2].str() + ", ";
  return "asked for " + MemoryText({std::stoll(match[1].str())}) + ", ";
}

}  // namespace

std::string MemoryText(base::Bytes amount) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(amount.count);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.2f %s", value, kUnits[unit]);
  return text.data();
}

std::string FreeHostMemory() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  for (std::int64_t kib = 0; meminfo >> key >> kib; std::getline(meminfo, unit))
    if (key == "MemAvailable:") return MemoryText({kib * 1024}) + " free";
  return "free memory unknown";
}

void RethrowTranslated(const std::string& device, const std::function<std::string()>& free_memory) {
  const auto out_of_memory = [&](const std::string& text) {
    return OutOfMemory("out of memory on " + device + ": " + Asked(text) + free_memory());
  };
  try {
    throw;
  } catch (const c10::Error& error) {
    const std::string text = FirstLine(error.what_without_backtrace());
    if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr || TellsOfMemory(text))
      throw out_of_memory(text);
    throw std::runtime_error(device + ": " + text);
  } catch (const std::bad_alloc&) {
    throw out_of_memory("");
  } catch (const std::logic_error&) {
    throw;
  } catch (const std::runtime_error&) {
    throw;
  } catch (const std::exception& error) {  // e.g. oneDNN's own
    throw std::runtime_error(device + ": " + FirstLine(error.what()));
  }
}

}  // namespace pipesim::engine
