// Whole commands that train on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/command.h"

namespace pipesim {
namespace {

using nlohmann::json;
using support::RunPipesim;

/// The row of this change; null: there is none.
json RowOf(const json& report, const std::string& change) {
  for (const json& row : report["diagnosis"]["what_if"])
    if (row["change"] == change) return row;
  return nullptr;
}

TEST(CpuCommand, FewerComputeThreadsAreTriedLive) {
  // Two compute threads and a worker on one core: what one thread gains is tried, whatever is promised.
  support::CommandOptions patient;
  patient.limit = std::chrono::seconds(100);
  const auto result = RunPipesim(
      {"--workers", "1", "--cpus", "1", "--threads", "2", "--model", "mlp", "--device", "cpu",
       "--batch", "64", "--prepare", "20us", "--duration", "6s", "--quiet", "--no-save", "--export",
       "json=-"},
      patient);
  const json report = json::parse(result.out);
  const json row = RowOf(report, "compute threads 2 to 1");
  ASSERT_TRUE(row.is_object()) << report["diagnosis"].dump(1);
  ASSERT_TRUE(row["tried"].is_object()) << report["diagnosis"].dump(1);
  EXPECT_EQ(report["effective"]["compute_threads"], 2);  // put back
  const json& next = report["diagnosis"]["recommendation"];
  if (next.is_object() && next["set"] == row["set"]) {
    EXPECT_GE(next["gain"], row["tried"]["gain_interval"]["low"]);
    EXPECT_LE(next["gain"], row["tried"]["gain_interval"]["high"]);
  }
  // A fifth of the measured time, and the step that was begun.
  EXPECT_LE(report["diagnosis"]["probes_s"].get<double>(),
            0.21 * report["result"]["measured_s"].get<double>() +
                report["result"]["step_time_s"]["p99"].get<double>());
}

}  // namespace
}  // namespace pipesim
