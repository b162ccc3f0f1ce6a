// The journal of a sweep: what a kill leaves behind, damage, the lock.
#include "sweep/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "support/test_folder.h"

namespace pipesim::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class JournalFile : public testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(file_, std::ios::binary) << text; }
  std::string Text() const { return base::ReadFile(file_); }

  support::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "a.sweep.jsonl";
};

const std::string kThree =
    JournalLine("{\"sweep\":{}}") + JournalLine("{\"point\":0}") + JournalLine("{\"point\":1}");

TEST(JournalLine, HasTheChecksumOfItsRecord) {
  // The check value of CRC-32/ISO-HDLC: crc32("123456789") = cbf43926.
  EXPECT_EQ(JournalLine("123456789"), "{\"crc32\":\"cbf43926\",\"record\":123456789}\n");
}

TEST_F(JournalFile, KeepsWhatWasAppended) {
  {
    Journal journal(file_);
    EXPECT_THAT(journal.records(), IsEmpty());
    journal.Append("{\"sweep\":{}}");
    journal.Append("{\"point\":0}");
    journal.Append("{\"point\":1}");
  }
  EXPECT_EQ(Text(), kThree);
  EXPECT_THAT(ReadJournal(file_), ElementsAre("{\"sweep\":{}}", "{\"point\":0}", "{\"point\":1}"));
}

TEST_F(JournalFile, CutAtAnyByteItHoldsTheWholeLinesBefore) {
  for (std::size_t bytes = 0; bytes <= kThree.size(); ++bytes) {
    Write(kThree.substr(0, bytes));
    const std::string before = kThree.substr(0, kThree.rfind('\n', bytes == 0 ? 0 : bytes - 1) + 1);
    const std::string whole = bytes == 0 ? "" : before;
    {
      Journal journal(file_);
      EXPECT_EQ(journal.records().size(),
                static_cast<std::size_t>(std::count(whole.begin(), whole.end(), '\n')))
          << bytes;
      journal.Append("{\"point\":7}");
    }
    EXPECT_EQ(Text(), whole + JournalLine("{\"point\":7}")) << bytes;
  }
}

TEST_F(JournalFile, AnyChangedByteOfTheLastLineDropsIt) {
  const std::size_t begin = kThree.rfind('\n', kThree.size() - 2) + 1;
  for (std::size_t at = begin; at < kThree.size(); ++at) {
    std::string text = kThree;
    text[at] = text[at] == 'x' ? 'y' : 'x';
    const JournalContent content = ParseJournal(text, "a");
    EXPECT_EQ(content.records.size(), 2u) << at;
    EXPECT_EQ(content.good_bytes, begin) << at;
    EXPECT_TRUE(content.torn) << at;
  }
}

TEST_F(JournalFile, DamageBeforeTheLastLineIsRefused) {
  std::string text = kThree;
  text[kThree.find("\"point\":0") + 8] = '5';
  Write(text);
  try {
    Journal journal(file_);
    FAIL();
  } catch (const base::EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("line 2 is damaged (its checksum is wrong); without that line"));
    EXPECT_THAT(error.what(), HasSubstr("sed -i 2d " + file_.string()));
  }
  EXPECT_EQ(Text(), text);  // left as it was found
}

TEST_F(JournalFile, WithoutItsDamagedLineItHoldsTheOthers) {
  std::string text = kThree;
  const std::size_t begin = text.find('\n') + 1;
  text[text.find("\"point\":0") + 8] = '5';
  Write(text.erase(begin, text.find('\n', begin) + 1 - begin));
  EXPECT_THAT(ReadJournal(file_), ElementsAre("{\"sweep\":{}}", "{\"point\":1}"));
}

TEST_F(JournalFile, WithoutItsFirstLineItBelongsToNoSweep) {
  std::string text = kThree;
  text[2] = 'x';
  Write(text);
  try {
    ReadJournal(file_);
    FAIL();
  } catch (const base::EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("line 1 is damaged (its checksum is wrong), so it is not"));
  }
}

TEST_F(JournalFile, IsReadWhileASweepWritesIt) {
  Journal journal(file_);
  journal.Append("{\"sweep\":{}}");
  journal.Append("{\"point\":0}");
  EXPECT_TRUE(IsBeingWritten(file_));
  EXPECT_THAT(ReadJournal(file_), ElementsAre("{\"sweep\":{}}", "{\"point\":0}"));
  std::ofstream(file_, std::ios::app) << "{\"crc32\":\"";  // of a line that is being written
  EXPECT_THAT(ReadJournal(file_), testing::SizeIs(2));
}

TEST_F(JournalFile, BelongsToOneSweepAtATime) {
  Journal first(file_);
  EXPECT_THROW(Journal second(file_), base::EnvironmentError);
  try {
    Journal second(file_);
  } catch (const base::EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("another sweep is writing it"));
  }
}

TEST_F(JournalFile, IsFreeAgainAfterwards) {
  { Journal first(file_); }
  EXPECT_FALSE(IsBeingWritten(file_));
  EXPECT_NO_THROW(Journal second(file_));
}

TEST_F(JournalFile, IsARegularFile) {
  for (const char* device : {"/dev/null", "/dev/zero"}) {
    EXPECT_THROW(Journal{device}, base::EnvironmentError) << device;
    EXPECT_THROW(ReadJournal(device), base::EnvironmentError) << device;
  }
  EXPECT_THROW(Journal{folder_.path()}, base::EnvironmentError);
}

TEST_F(JournalFile, LeavesAnotherFileAlone) {
  Write("notes\n");
  EXPECT_THROW(Journal{file_}, base::EnvironmentError);
  EXPECT_EQ(Text(), "notes\n");
}

TEST_F(JournalFile, AFullDiskLeavesWholeLines) {
  Write(kThree);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  {
    Journal journal(file_);
    const rlimit full{kThree.size() + 10, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    try {
      journal.Append("{\"point\":2,\"too\":\"long for the disk\"}");
      ADD_FAILURE();
    } catch (const base::EnvironmentError& error) {
      EXPECT_THAT(error.what(), HasSubstr("--resume goes on from there"));
    }
    setrlimit(RLIMIT_FSIZE, &before);
  }
  EXPECT_EQ(Text(), kThree);
}

TEST(Differences, NameBothSides) {
  const auto found = Differences({{"a", "1"}, {"b", "2"}}, {{"a", "1"}, {"b", "3"}, {"c", "4"}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "b");
  EXPECT_EQ(found[0].in_journal, "2");
  EXPECT_EQ(found[0].here, "3");
  EXPECT_EQ(found[1].in_journal, "");
}

}  // namespace
}  // namespace pipesim::sweep
