// What users type and write into files by mistake: each is answered with its place, what is wrong
// and what to write instead, and nothing wrong is accepted in silence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command.h"
#include "support/test_folder.h"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using support::CommandOptions;
using support::CommandResult;
using support::RunPipesim;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Inputs : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) const {
    const fs::path path = folder_.path() / name;
    std::ofstream(path) << content;
    return path.string();
  }
  std::string ReportOf(const std::vector<std::string>& flags) const {
    const std::string file = (folder_.path() / "report.json").string();
    std::vector<std::string> words{"predict",   "--device", "emulated",
                                   "--no-save", "--export", "json=" + file};
    words.insert(words.end(), flags.begin(), flags.end());
    EXPECT_EQ(RunPipesim(words).exit_code, 0);
    return file;
  }
  static json Load(const std::string& file) {
    std::ifstream text(file);
    return json::parse(text);
  }

  support::TemporaryFolder folder_;
};

}  // namespace
}  // namespace pipesim
