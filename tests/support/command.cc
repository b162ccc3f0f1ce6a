#include "support/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "support/test_folder.h"

namespace pipesim::support {
namespace {

namespace fs = std::filesystem;

/// Waits for the child; kills it after `most`.
int Wait(pid_t pid, std::chrono::seconds most) {
  const auto limit = std::chrono::steady_clock::now() + most;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > limit) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string ContentOf(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

fs::path TestFolder() {
  static const TemporaryFolder folder;
  return folder.path();
}

CommandResult RunPipesim(const std::vector<std::string>& words, const CommandOptions& options) {
  const fs::path folder = TestFolder();
  const fs::path out = folder / "stdout.txt", err = folder / "stderr.txt";
  const std::string program = std::string(PIPESIM_BINARY_DIR) + "/bin/pipesim";
  std::vector<std::string> words_with_program{program};
  words_with_program.insert(words_with_program.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : words_with_program) argv.push_back(word.data());
  argv.push_back(nullptr);

  // If a name occurs twice, the first one wins.
  std::vector<std::string> environment = options.environment;
  environment.push_back("XDG_STATE_HOME=" + (folder / "state").string());
  for (char** at = environ; *at != nullptr; ++at) environment.emplace_back(*at);
  std::vector<char*> envp;
  for (std::string& entry : environment) envp.push_back(entry.data());
  envp.push_back(nullptr);

  fs::remove(out);  // output of an earlier command
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(
        open((options.out.empty() ? out : options.out).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
        STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(126);
    if (options.before) options.before();
    execve(program.c_str(), argv.data(), envp.data());
    _exit(127);
  }
  if (options.while_running) options.while_running(pid);
  CommandResult result;
  result.exit_code = Wait(pid, options.limit);
  result.out = ContentOf(out);
  result.err = ContentOf(err);
  return result;
}

void UntilItHandles(int pid, int signal) {
  const std::string status = "/proc/" + std::to_string(pid) + "/status";
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < limit) {
    const std::string text = ContentOf(status);
    const auto at = text.find("SigCgt:");
    if (at == std::string::npos) return;  // it ended
    if ((std::stoull(text.substr(at + 7), nullptr, 16) >> (signal - 1) & 1) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw std::runtime_error("pipesim installed no handler for signal " + std::to_string(signal));
}

int RunProcessOf(int pid, int last) {
  const fs::path children = fs::path("/proc") / std::to_string(pid) / "task" / std::to_string(pid);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(50);
  while (std::chrono::steady_clock::now() < limit) {
    std::istringstream list(ContentOf(children / "children"));
    if (int child = 0; list >> child && child != last) return child;
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw std::runtime_error("pipesim started no run");
}

}  // namespace pipesim::support
