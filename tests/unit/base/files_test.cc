#include "base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "support/test_folder.h"

namespace pipesim::base {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class FilesTest : public testing::Test {
 protected:
  fs::path Write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  int FilesHere() const {
    return static_cast<int>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  support::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

template <class Action>
std::string ErrorOf(Action action) {
  try {
    action();
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(FilesTest, ReadsWhatWasWritten) {
  const std::string content = std::string("a\0b\r\n", 5) + std::string(200'000, 'x');
  OutputFile(folder_ / "out").Commit(content);
  EXPECT_EQ(ReadFile(folder_ / "out"), content);
  EXPECT_EQ(FilesHere(), 1);
}

TEST_F(FilesTest, ANewFileHasNoOtherNameAtAnyTime) {
  const int unnamed = open(folder_.c_str(), O_WRONLY | O_TMPFILE, 0600);
  if (unnamed < 0) GTEST_SKIP() << "this file system has no files without names";
  close(unnamed);
  const int watch = inotify_init1(IN_NONBLOCK);
  ASSERT_GE(inotify_add_watch(watch, folder_.c_str(), IN_CREATE | IN_MOVE | IN_DELETE), 0);
  OutputFile(folder_ / "out").Commit("new");
  alignas(inotify_event) char events[4096];
  const ssize_t size = read(watch, events, sizeof events);
  close(watch);
  ASSERT_GT(size, 0);
  const auto* first = reinterpret_cast<const inotify_event*>(events);
  EXPECT_STREQ(first->name, "out");
  EXPECT_EQ(first->mask, static_cast<std::uint32_t>(IN_CREATE));
  EXPECT_EQ(size, static_cast<ssize_t>(sizeof(inotify_event) + first->len));  // the only event
}

TEST_F(FilesTest, AMissingFileIsNamedWithTheReason) {
  EXPECT_THAT(ErrorOf([&] { ReadFile(folder_ / "none.yaml"); }),
              AllOf(HasSubstr((folder_ / "none.yaml").string()), HasSubstr("No such file")));
  EXPECT_THAT(ErrorOf([&] { ReadFile(folder_); }), HasSubstr("Is a directory"));
}

TEST_F(FilesTest, TheOldFileStaysUntilTheCommit) {
  const fs::path path = Write("report.json", "old");
  {
    OutputFile file(path);
    EXPECT_EQ(ReadFile(path), "old");
    file.Commit("new");
    EXPECT_EQ(ReadFile(path), "new");
  }
  EXPECT_EQ(FilesHere(), 1);
}

TEST_F(FilesTest, WithoutACommitNothingChanges) {
  const fs::path path = Write("report.json", "old");
  { const OutputFile file(path); }
  { const OutputFile file(folder_ / "never.json"); }
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_EQ(FilesHere(), 1);
}

TEST_F(FilesTest, PermissionsOfAnOldFileStay) {
  const fs::path path = Write("report.json", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  OutputFile(path).Commit("new");
  EXPECT_EQ(fs::status(path).permissions(), static_cast<fs::perms>(0640));
}

TEST_F(FilesTest, ANewFileObeysTheUmask) {
  const mode_t before = umask(027);
  OutputFile(folder_ / "new").Commit("x");
  umask(before);
  EXPECT_EQ(fs::status(folder_ / "new").permissions(), static_cast<fs::perms>(0640));
}

TEST_F(FilesTest, ALinkStaysALink) {
  const fs::path path = Write("real.json", "old");
  fs::create_symlink("real.json", folder_ / "link.json");
  OutputFile(folder_ / "link.json").Commit("new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.json"));
  EXPECT_EQ(ReadFile(path), "new");
}

TEST_F(FilesTest, TwoConcurrentWritersDoNotCollide) {
  OutputFile a(folder_ / "a"), b(folder_ / "b");
  b.Commit("b");
  a.Commit("a");
  EXPECT_EQ(ReadFile(folder_ / "a") + ReadFile(folder_ / "b"), "ab");
}

TEST_F(FilesTest, AMovedOutputFileCommitsOnce) {
  OutputFile a(folder_ / "a");
  OutputFile b(std::move(a));
  b.Commit("x");
  EXPECT_EQ(ReadFile(folder_ / "a"), "x");
}

TEST_F(FilesTest, ABadPathFailsBeforeTheRun) {
  EXPECT_THAT(
      ErrorOf([&] { OutputFile(folder_ / "no" / "out.json"); }),
      AllOf(HasSubstr("out.json"), HasSubstr("No such file"), HasSubstr("create the folder")));
  EXPECT_THAT(ErrorOf([&] { const OutputFile file(folder_); }), HasSubstr("Is a directory"));
  EXPECT_THAT(ErrorOf([&] { OutputFile(folder_ / "new" / ""); }), HasSubstr("cannot write"));
  const fs::path file = Write("file", "");
  EXPECT_THAT(ErrorOf([&] { OutputFile(file / "out.json"); }), HasSubstr("Not a directory"));
  EXPECT_EQ(FilesHere(), 1);
}

TEST_F(FilesTest, AWriteProtectedFileIsRefused) {
  const fs::path path = Write("keep", "old");
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  if (access(path.c_str(), W_OK) == 0) GTEST_SKIP() << "root may write everything";
  EXPECT_THAT(ErrorOf([&] { const OutputFile file(path); }), HasSubstr("Permission denied"));
}

TEST_F(FilesTest, AFullDiskIsReportedAndTheTargetKept) {
  // A device that is always full, written in place.
  OutputFile device("/dev/full");
  EXPECT_THAT(
      ErrorOf([&] { device.Commit("x"); }),
      AllOf(HasSubstr("/dev/full"), HasSubstr("No space left"), HasSubstr("free some space")));
  // A file that may not grow.
  const fs::path path = Write("report.json", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = ErrorOf([&] { OutputFile(path).Commit(std::string(100'000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_THAT(error, HasSubstr("File too large"));
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_EQ(FilesHere(), 1);
}

TEST_F(FilesTest, APipeIsWrittenInPlace) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = ReadFile(path); });
  OutputFile(path).Commit("through");
  reader.join();
  EXPECT_EQ(received, "through");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(FilesTest, ARedirectedStreamIsAppendedTo) {
  const fs::path path = Write("log", "before ");
  const int fd = open(path.c_str(), O_RDWR);
  OutputFile("/dev/fd/" + std::to_string(fd)).Commit("after");
  close(fd);
  EXPECT_EQ(ReadFile(path), "before after");
}

}  // namespace
}  // namespace pipesim::base
