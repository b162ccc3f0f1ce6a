// Reads a workload of DLIO, the program behind MLPerf Storage, into plain values. Keys and defaults are
// those of DLIO's utils/config.py (versions of MLPerf Storage 1.0 and 2.0). Knows nothing of
// experiments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "spec/read.h"

namespace pipesim::interop {

/// A time in seconds as DLIO draws it (utils/utility.py, sleep).
struct DlioTime {
  enum class Kind { kFixed, kNormal, kUniform, kGamma, kExponential, kPoisson };
  Kind kind = Kind::kFixed;
  double mean_s = 0;              ///< kFixed, kNormal, kExponential (its scale), kPoisson (lam)
  double stdev_s = 0;             ///< kNormal
  double low_s = 0, high_s = 0;   ///< kUniform
  double shape = 0, scale_s = 0;  ///< kGamma
  bool IsZero() const { return kind == Kind::kFixed && mean_s <= 0; }
};

/// kDali: native_dali, too. kSynthetic: the trainer's own memory, nothing is loaded.
enum class DlioLoader { kTensorflow, kPytorch, kDali, kSynthetic };

struct DlioWorkload {
  std::string name = "default";
  DlioLoader loader = DlioLoader::kTensorflow;
  bool in_memory = false;  ///< format or data loader synthetic: nothing is read
  // dataset
  std::string format = "tfrecord";
  std::int64_t files = 8, samples_per_file = 1;
  double record_bytes = 65'536, record_bytes_stdev = 0;
  /// Sides of the sample that training gets, in bytes; workers hand over this and not the record.
  spec::Shape sample;
  // reader
  std::int64_t batch_size = 1;
  int read_threads = 1;
  std::int64_t prefetch_size = 2;
  bool shuffle = false;
  std::string start_method = "fork";  ///< of PyTorch's worker processes
  DlioTime preprocess;
  // train
  std::int64_t epochs = 1;
  std::int64_t most_steps = -1;  ///< of an epoch; -1: all
  DlioTime computation;
  double au_goal = 0.90;
  bool evaluates = false, checkpoints = false;  ///< which no experiment has
};

/// `overrides`: DLIO's own ("reader.read_threads", "++workload.reader.read_threads"). Throws
/// base::ConfigError with every problem: an unknown key with the nearest known one, a value that
/// cannot be.
DlioWorkload ReadDlio(std::string_view yaml, const std::string& source,
                      std::vector<spec::Override> overrides);

/// The text is one of DLIO: a map with one of its sections. For a clear error on any other YAML.
bool LooksLikeDlio(std::string_view yaml);

}  // namespace pipesim::interop
