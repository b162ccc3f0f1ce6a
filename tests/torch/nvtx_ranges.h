// Runs pipesim with --nvtx under nvtx_recorder.cc and reads back the ranges of each thread.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/command.h"

namespace pipesim::support {

struct NvtxRanges {
  CommandResult run;
  std::map<std::string, std::set<int>> threads;  ///< that opened a range, by its name
  std::map<std::string, std::set<std::int64_t>> batches;  ///< by name, of ranges with a payload
  std::set<std::string> domains;
  int count = 0, unpaired = 0, nested = 0;
};

inline NvtxRanges ReadNvtxLog(const std::filesystem::path& file) {
  NvtxRanges ranges;
  std::map<int, int> open;
  std::ifstream log(file);
  for (std::string line; std::getline(log, line);) {
    std::istringstream words(line);
    std::string what, domain, name;
    int thread = 0;
    std::int64_t batch = -1;
    words >> what >> thread;
    if (what == "pop") {
      if (--open[thread] < 0) ++ranges.unpaired;
      continue;
    }
    words >> batch >> domain;
    std::getline(words >> std::ws, name);
    ++ranges.count;
    if (++open[thread] > 1) ++ranges.nested;
    ranges.threads[name].insert(thread);
    if (batch >= 0) ranges.batches[name].insert(batch);
    ranges.domains.insert(domain);
  }
  for (const auto& [thread, depth] : open) ranges.unpaired += depth;
  return ranges;
}

inline NvtxRanges RunWithNvtx(std::vector<std::string> words) {
  const std::filesystem::path log = TestFolder() / "nvtx.log";
  std::filesystem::remove(log);
  words.insert(words.end(), {"--nvtx", "--quiet", "--no-save"});
  CommandOptions options;
  options.environment = {"NVTX_INJECTION64_PATH=" PIPESIM_NVTX_RECORDER,
                         "PIPESIM_NVTX_LOG=" + log.string()};
  const CommandResult run = RunPipesim(words, options);
  NvtxRanges ranges = ReadNvtxLog(log);
  ranges.run = run;
  return ranges;
}

}  // namespace pipesim::support
