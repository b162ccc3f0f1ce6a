// The completion scripts, in a real bash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "support/command.h"

namespace pipesim {
namespace {

using support::RunPipesim;
using support::TestFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// What bash offers for the last of `words` ("pipesim" among them), which may be begun only.
std::string Completed(const std::string& words) {
  static const std::string kScript = RunPipesim({"completion", "bash"}).out;
  const auto file = TestFolder() / "completion.bash";
  std::ofstream(file) << kScript << "COMP_WORDS=(" << words
                      << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_pipesim\necho \"${COMPREPLY[*]}\"\n";
  std::string offered;
  FILE* pipe = popen(("bash '" + file.string() + "' 2>&1").c_str(), "r");
  if (pipe == nullptr) return "no bash";
  for (char block[256]; fgets(block, sizeof block, pipe) != nullptr;) offered += block;
  EXPECT_EQ(pclose(pipe), 0) << offered;
  return offered;
}

TEST(Completion, OffersCommandsFlagsAndNames) {
  EXPECT_EQ(Completed("pipesim pre"), "predict\n");
  EXPECT_EQ(Completed("pipesim predict --pref"), "--prefetch\n");
  EXPECT_THAT(Completed("pipesim predict --workers 4 --model res"), HasSubstr("resnet18"));
  EXPECT_THAT(Completed("pipesim --storage ''"), AllOf(HasSubstr("hdd"), HasSubstr("nvme")));
  EXPECT_THAT(Completed("pipesim --device rtx"), HasSubstr("rtx-4060"));
  EXPECT_EQ(Completed("pipesim explain io"), "io-bound\n");
  EXPECT_THAT(Completed("pipesim devices --"), Not(HasSubstr("--workers")));
}

TEST(Completion, KnowsThreeShells) {
  EXPECT_THAT(RunPipesim({"completion", "zsh"}).out, HasSubstr("bashcompinit"));
  EXPECT_THAT(RunPipesim({"completion", "fish"}).out,
              HasSubstr("complete -c pipesim -n '__fish_seen_subcommand_from predict' -l workers -r -d "));
  const auto other = RunPipesim({"completion", "tcsh"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("'tcsh' is not bash, zsh or fish"));
}

}  // namespace
}  // namespace pipesim
