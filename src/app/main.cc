// The entry point. The work is done in the folders beside it:
// arguments -> experiment -> run -> measurement -> diagnosis -> report.
#include <clocale>
#include <string>
#include <vector>

#include "app/program.h"

int main(int argc, char** argv) {
  std::setlocale(LC_CTYPE, "");
  return static_cast<int>(pipesim::app::Main(std::vector<std::string>(argv + 1, argv + argc)));
}
