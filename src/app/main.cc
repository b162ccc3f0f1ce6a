// The program: the command line in, an exit code out. Everything else has a room of its own:
// arguments -> experiment -> run -> measurement -> diagnosis -> report.
#include <clocale>
#include <string>
#include <vector>

#include "app/program.h"

int main(int argc, char** argv) {
  std::setlocale(LC_CTYPE, "");
  return static_cast<int>(pipesim::app::Main(std::vector<std::string>(argv + 1, argv + argc)));
}
