// The entry point: finds the command and calls it. The work is done in the folders beside it:
// arguments -> experiment -> run -> measurement -> diagnosis -> report.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "app/build_info.h"
#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "base/standard_streams.h"
#include "base/text.h"

namespace pipesim::app {
namespace {

using base::ExitCode;

/// Throws base::EnvironmentError where the limits of this process would end it without a word.
void HeedLimits() {
  // Writing beyond ulimit -f becomes an error of that file instead of the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  constexpr rlim_t kLeastStack = 256 << 10;  // 96 KiB suffice for all commands; 64 do not
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kLeastStack) return;
  throw base::EnvironmentError(fmt::format(
      "a stack of {} KiB (ulimit -s) is too small; give it {} KiB or more: ulimit -s 8192",
      stack.rlim_cur >> 10, kLeastStack >> 10));
}

ExitCode Dispatch(const std::vector<std::string>& words) {
  HeedLimits();
  if (words.empty()) return PrintOut(WelcomeText()), ExitCode::kOk;
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help")
    return PrintOut(OverviewText()), ExitCode::kOk;
  if (words[0] == "--version")
    return PrintOut(fmt::format("pipesim {} ({}, {})\n", kVersion, kCommit, kBuild)), ExitCode::kOk;

  const Arguments arguments = ParseArguments(words);
  if (arguments.Has("help")) return PrintOut(HelpText(*arguments.command)), ExitCode::kOk;
  return arguments.command->function(arguments);
}

/// A message may quote file names and flags, which hold any bytes.
ExitCode Fail(ExitCode code, std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string& line : base::Split(text, '\n')) lines.push_back(base::Printable(line));
  base::PrintError(fmt::format("pipesim: {}\n", base::Join(lines, "\n")));
  return code;
}

/// Turns every exception into a message and an exit code.
ExitCode Main(const std::vector<std::string>& words) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("pipesim"));
  spdlog::set_pattern("pipesim: %l: %v");
  try {
    return Dispatch(words);
  } catch (const base::ConfigError& error) {
    base::PrintError(base::FormatProblems(error.problems()));
    return ExitCode::kConfiguration;
  } catch (const base::UsageError& error) {
    return Fail(ExitCode::kUsage, error.what());
  } catch (const base::EnvironmentError& error) {
    return Fail(ExitCode::kConfiguration, error.what());
  } catch (const std::bad_alloc&) {
    return Fail(ExitCode::kRunFailed, "out of memory");
  } catch (const std::exception& error) {
    return Fail(ExitCode::kInternal, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace
}  // namespace pipesim::app

int main(int argc, char** argv) {
  pipesim::base::KeepStandardStreamsOpen();
  std::setlocale(LC_CTYPE, "");
  return static_cast<int>(pipesim::app::Main(std::vector<std::string>(argv + 1, argv + argc)));
}
