// Axes of sweeps: the section `sweep:` of a file, and --axis on each line.
#include "base/text.h"
#include "fuzz.h"
#include "spec/map_reader.h"
#include "spec/sweep.h"
#include "spec/yaml_tree.h"

namespace pipesim::fuzz {
namespace {

constexpr spec::ShortKey kShort[] = {{"workers", "loader.workers", nullptr},
                                     {"batch", "loader.batch_size", nullptr}};

void CheckSweep(spec::Reading& reading, const spec::Sweep& sweep) {
  spec::CheckAxes(reading, sweep);
  if (reading.HasProblems()) throw base::ConfigError(reading.TakeProblems());
  const std::size_t points = sweep.Points();
  Require(points <= spec::kMostPoints, "a sweep has a bounded number of points");
  if (points == 0) return;
  for (const std::size_t point : {std::size_t{0}, points / 2, points - 1}) {
    Require(sweep.PointAt(sweep.PositionOf(point)) == point, "a point is where its position is");
    spec::OverridesAt(sweep, point);
  }
  for (const spec::SweepAxis& axis : sweep.axes) axis.LabelAt(0);
}

void ReadSection(std::string_view input) {
  std::vector<base::Problem> problems;
  const spec::Node tree = spec::ParseYaml(input, "sweep.yaml", spec::Origin::kFile, problems);
  spec::Reading reading;
  reading.Add(std::move(problems));
  spec::Sweep sweep;
  if (const spec::Node* section = tree.Find("sweep")) spec::ReadSweep(reading, *section, sweep);
  CheckSweep(reading, sweep);
}

void ReadFlags(std::string_view input) {
  spec::Reading reading;
  spec::Sweep sweep;
  spec::ReadAxisFlags(reading, base::Split(input, '\n'), kShort, sweep);
  CheckSweep(reading, sweep);
}

}  // namespace

void Try(std::string_view input) {
  Accepted([&] { ReadSection(input); });
  Accepted([&] { ReadFlags(input); });
}

}  // namespace pipesim::fuzz
