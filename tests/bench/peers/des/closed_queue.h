// What the simulators in C++ share: the command line of closed_queue.py, and its costs.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace closed_queue {

constexpr double kMake_s = 16e-3, kStep_s = 1e-3;

class Costs {
 public:
  explicit Costs(bool drawn) : drawn_(drawn) {}
  double Make_s() { return drawn_ ? draw_(random_) : kMake_s; }

 private:
  bool drawn_;
  std::mt19937_64 random_{1};
  std::exponential_distribution<double> draw_{1 / kMake_s};
};

inline std::vector<int> Numbers(const char* text) {
  std::vector<int> numbers;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) numbers.push_back(std::atoi(word.c_str()));
  return numbers;
}

/// Calls rate(batches, costs, workers, prefetch) for each point, and prints it.
template <class Rate>
void Sweep(char** argv, const Rate& rate) {
  const long batches = std::atol(argv[1]);
  Costs costs(std::string(argv[2]) != "constant");
  for (const int workers : Numbers(argv[3]))
    for (const int prefetch : Numbers(argv[4])) {
      std::printf("%d %d %.9g\n", workers, prefetch, rate(batches, costs, workers, prefetch));
      std::fflush(stdout);  // before the next point forks
    }
}

}  // namespace closed_queue
