// A folder is replaced as a whole, or left as it was.
#include "base/output_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/error.h"
#include "support/test_folder.h"

namespace pipesim::base {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class OutputFolderTest : public testing::Test {
  support::TemporaryFolder temporary_;

 protected:
  fs::path folder_ = temporary_.path() / "out";

  std::set<std::string> Files() const {
    std::set<std::string> files;
    if (!fs::exists(folder_)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), folder_).string());
    return files;
  }
  void Write(const std::vector<FolderFile>& files) const {
    OutputFolder(folder_, ".own").Commit(files);
  }
};

TEST_F(OutputFolderTest, IsCreatedOnlyWhenItIsWritten) {
  OutputFolder out(folder_ / "deeper", ".own");
  EXPECT_FALSE(fs::exists(folder_));
  out.Commit({{"a.own", "1"}, {"sub/b.own", "2"}});
  EXPECT_THAT(Files(), ElementsAre("deeper/a.own", "deeper/sub/b.own"));
}

TEST_F(OutputFolderTest, ReplacesAnEarlierExport) {
  Write({{"a.own", "1"}, {"sub/b.own", "2"}});
  Write({{"a.own", "3"}, {"c.own", "4"}});
  EXPECT_THAT(Files(), ElementsAre("a.own", "c.own"));
  EXPECT_FALSE(fs::exists(folder_ / "sub"));
  EXPECT_EQ(ReadFile(folder_ / "a.own"), "3");
}

TEST_F(OutputFolderTest, RefusesAFolderWithOtherFiles) {
  fs::create_directories(folder_ / "sub");
  std::ofstream(folder_ / "sub" / "thesis.txt") << "x";
  EXPECT_THAT([&] { OutputFolder(folder_, ".own"); },
              ThrowsMessage<EnvironmentError>(HasSubstr("other files (sub/thesis.txt)")));
}

TEST_F(OutputFolderTest, RefusesAFileAndAPathBelowAFile) {
  std::ofstream(folder_) << "x";
  EXPECT_THAT([&] { OutputFolder(folder_, ".own"); },
              ThrowsMessage<EnvironmentError>(HasSubstr("it is a file")));
  EXPECT_THAT([&] { OutputFolder(folder_ / "x", ".own"); },
              ThrowsMessage<EnvironmentError>(HasSubstr("is not a folder")));
}

TEST_F(OutputFolderTest, KeepsTheEarlierFilesWhereAWriteFails) {
  Write({{"a.own", "1"}});
  fs::create_directories(folder_ / "taken");  // empty, where a file should go
  EXPECT_THROW(Write({{"b.own", "2"}, {"taken", "3"}}), EnvironmentError);
  EXPECT_THAT(Files(), ElementsAre("a.own"));
  EXPECT_EQ(ReadFile(folder_ / "a.own"), "1");
}

TEST_F(OutputFolderTest, StreamsAFile) {
  fs::create_directories(folder_);
  OutputFile file(folder_ / "big.txt");
  file.Commit([](const TextSink& sink) {
    sink("one ");
    sink("two");
  });
  EXPECT_EQ(ReadFile(folder_ / "big.txt"), "one two");
  OutputFile kept(folder_ / "big.txt");
  EXPECT_THROW(kept.Commit([](const TextSink& sink) {
    sink("half");
    throw EnvironmentError("stopped");
  }),
               EnvironmentError);
  EXPECT_EQ(ReadFile(folder_ / "big.txt"), "one two");
}

}  // namespace
}  // namespace pipesim::base
