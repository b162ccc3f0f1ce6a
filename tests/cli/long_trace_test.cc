// A profiler trace of 2 GB is read in bounded memory. Run by `tools/test --full`.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <zlib.h>

#include "support/command.h"

namespace pipesim::support {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kBytes = std::int64_t{2} << 30;

/// Steps of 1 ms: 0.3 ms for a batch, then 40 kernels of 15 us. Returns the bytes unpacked.
std::int64_t WriteTrace(const std::string& file) {
  gzFile out = gzopen(file.c_str(), "wb1");
  std::int64_t size = 0;
  const auto write = [&](const std::string& text) {
    size += static_cast<std::int64_t>(text.size());
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  };
  const auto event = [](const std::string& name, const char* category, std::int64_t begin, int us) {
    return fmt::format(
        R"(,{{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": {}, "args": {{"stream": 7}}}})"
        "\n",
        category, name, begin, us);
  };
  write(R"({"traceEvents": [{"ph": "M"})");
  for (std::int64_t step = 0; size < kBytes; ++step) {
    std::string text = event(fmt::format("ProfilerStep#{}", step), "user_annotation", 1000 * step, 1000) +
                       event("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                             "user_annotation", 1000 * step, 300);
    for (int kernel = 0; kernel < 40; ++kernel)
      text += event("void at::native::vectorized_elementwise_kernel", "kernel", 1000 * step + 300 + 17 * kernel, 15);
    write(text);
  }
  write("]}");
  gzclose(out);
  return size;
}

TEST(LongTrace, TakesBoundedMemory) {
  const std::string file = TestFolder() / "long.json.gz";
  ASSERT_GE(WriteTrace(file), kBytes);
  CommandOptions options;
  options.limit = std::chrono::seconds(1000);
  options.before = [] {
    constexpr rlim_t kMost = 64 << 20;
    const rlimit limit{kMost, kMost};
    setrlimit(RLIMIT_DATA, &limit);
  };
  const CommandResult result = RunPipesim({"import", file}, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("# verdict: input side"));
}

}  // namespace
}  // namespace pipesim::support
