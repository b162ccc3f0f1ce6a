// --export html and --open, as a user types them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/command.h"
#include "support/markup.h"

namespace pipesim {
namespace {

using support::CommandResult;
using support::RunPipesim;
using support::TestFolder;
using testing::AllOf;
using testing::HasSubstr;
using tests::IsWellFormed;

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A prediction without a file: storage limits it.
const std::vector<std::string> kSlowDisk = {
    "predict", "--storage", "hdd", "--workers", "2", "--set", "device={emulated: {base: 10ms}}",
    "--set",   "limits.cpus=4"};

std::vector<std::string> With(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(HtmlExport, EveryCommandThatReportsWritesAPage) {
  const std::vector<std::vector<std::string>> commands = {
      kSlowDisk,
      {"run", "--workers", "1", "--prepare", "1ms", "--batch", "4", "--steps", "40", "--quiet",
       "--set", "run.probes=off", "--set", "device={emulated: {base: 1ms}}"},
      {"sweep", "--axis", "workers=0,1,2", "--axis", "batch=8,16", "--engine", "predict",
       "--prepare", "1ms", "--device", "rtx-4060", "--cpus", "4", "--quiet"},
      {"size", "--prepare", "2ms", "--workers", "8", "--device", "rtx-4060", "--target", "samples_per_s>=900",
       "--solve", "limits.cpus"},
      {"tune", "--prepare", "1ms", "--device", "rtx-4060", "--cpus", "4", "--engine", "predict"}};
  for (const auto& words : commands) {
    SCOPED_TRACE(words[0]);
    const std::filesystem::path file = TestFolder() / (words[0] + ".html");
    const CommandResult result = RunPipesim(With(words, {"--export", "html=" + file.string()}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::string page = ReadAll(file);
    EXPECT_TRUE(IsWellFormed(page));
    EXPECT_LT(page.size(), 300'000u);
    // The answer is the page's heading: the first words of the text on the terminal.
    const std::string first = result.out.substr(0, result.out.find_first_of(" :\n"));
    EXPECT_THAT(page, HasSubstr("<b>" + first));
  }
}

TEST(HtmlExport, ASavedReportRendersAsAfterTheRun) {
  const auto report = TestFolder() / "a.json", now = TestFolder() / "now.html",
             later = TestFolder() / "later.html";
  ASSERT_EQ(RunPipesim(With(kSlowDisk, {"--export", "json=" + report.string(), "--export",
                                        "html=" + now.string()}))
                .exit_code,
            0);
  ASSERT_EQ(RunPipesim({"report", report.string(), "--export", "html=" + later.string()}).exit_code, 0);
  EXPECT_EQ(ReadAll(now), ReadAll(later));
  EXPECT_THAT(ReadAll(now), HasSubstr("over time: "));
}

TEST(Open, StartsTheBrowserWithThePage) {
  const auto seen = TestFolder() / "seen", browser = TestFolder() / "browser";
  std::ofstream(browser) << "#!/bin/sh\necho \"$1\" > '" << seen.string() << "'\n";
  std::filesystem::permissions(browser, std::filesystem::perms::owner_all);
  const auto page = TestFolder() / "page.html";
  const CommandResult result =
      RunPipesim(With(kSlowDisk, {"--open", "--export", "html=" + page.string()}),
                 {.environment = {"BROWSER=" + browser.string()}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("shown in the browser: " + page.string()));
  EXPECT_EQ(ReadAll(seen), page.string() + "\n");
}

TEST(Open, TakesTheNextBrowserOfTheListAndKeepsAPageOfItsOwn) {
  const auto seen = TestFolder() / "seen", browser = TestFolder() / "browser";
  std::ofstream(browser) << "#!/bin/sh\necho \"$2\" > '" << seen.string() << "'\n";
  std::filesystem::permissions(browser, std::filesystem::perms::owner_all);
  const CommandResult result =
      RunPipesim(With(kSlowDisk, {"--open"}),
                 {.environment = {"BROWSER=/nowhere/firefox:false:" + browser.string() + " --new %s"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::string page = ReadAll(seen);
  ASSERT_THAT(page, HasSubstr("/pages/"));
  page.pop_back();
  EXPECT_TRUE(IsWellFormed(ReadAll(page)));
}

TEST(Open, WithoutADisplaySaysWhereThePageIs) {
  const CommandResult result = RunPipesim(
      With(kSlowDisk, {"--open"}), {.environment = {"BROWSER=", "DISPLAY=", "WAYLAND_DISPLAY="}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("--open: there is no display here, and BROWSER is not set; "
                                    "the page is /"));
  EXPECT_THAT(result.out, HasSubstr("io-bound"));
}

TEST(Open, ShowsSavedReportsAndSweepsToo) {
  const auto report = TestFolder() / "a.json";
  ASSERT_EQ(RunPipesim(With(kSlowDisk, {"--export", "json=" + report.string()})).exit_code, 0);
  const std::vector<std::vector<std::string>> commands = {
      {"report", report.string(), "--open"},
      {"sweep", "--axis", "workers=0,1", "--engine", "predict", "--prepare", "1ms", "--device",
       "rtx-4060", "--cpus", "4", "--quiet", "--open"}};
  for (const auto& words : commands) {
    const CommandResult result = RunPipesim(words, {.environment = {"BROWSER=true"}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("shown in the browser: /"));
  }
}

TEST(Open, IsNotPartOfTheNextCommand) {
  const CommandResult result =
      RunPipesim(With(kSlowDisk, {"--open"}), {.environment = {"BROWSER=true"}});
  EXPECT_THAT(result.out, testing::Not(HasSubstr("--open")));
}

}  // namespace
}  // namespace pipesim
