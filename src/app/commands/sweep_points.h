// The points of a sweep: their experiments, real runs and predictions. Prints nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/prediction_input.h"
#include "base/clock.h"
#include "spec/sweep.h"
#include "sweep/outcome.h"
#include "sweep/point_settings.h"

namespace pipesim::app {

class SweepPoints {
 public:
  /// Reads the axes and checks every point. `arguments` must outlive it. Throws base::UsageError
  /// without an axis, base::ConfigError with the problems of all points, each once.
  SweepPoints(const Arguments& arguments, predict::Basis basis, bool for_run);

  const spec::Sweep& sweep() const { return sweep_; }
  const predict::Basis& basis() const { return basis_; }
  /// At the first point.
  const spec::Experiment& first() const { return reader_->asked(); }
  int repeats() const { return first().run.repeats; }

  /// Of an axis: "workers" rather than "loader.workers".
  std::string AxisName(const spec::SweepAxis& axis) const;
  /// "workers 4, batch 256".
  std::string NameOf(std::size_t point) const;
  Changes ChangesAt(std::size_t point) const;
  spec::Experiment At(std::size_t point) const;
  /// Of all points; reads those again that are not kept.
  sweep::PointSettings Settings() const;
  /// A longer run of the point is ended.
  base::Duration LimitAt(std::size_t point) const;

  /// Runs the point in a process of its own. nullopt: interrupted.
  std::optional<sweep::Outcome> Run(std::size_t point, const base::StopFlag& stop) const;
  /// Predicts the points on all cores. `done` is called by one thread at a time, not for points
  /// that `stop` cut short.
  void Predict(const std::vector<std::size_t>& points, const base::StopFlag& stop,
               const std::function<void(std::size_t, const sweep::Outcome&)>& done) const;
  /// Adds to a predicted point what Predict leaves out: which workers are enough there.
  void FindEnough(std::size_t point, sweep::Outcome& predicted) const;

 private:
  std::vector<spec::Override> OverridesAt(std::size_t point) const;
  void ReadAll(const spec::Request& request);

  const Arguments& arguments_;
  predict::Basis basis_;
  spec::DataFolders folders_;  ///< every file is opened once for all points
  spec::Sweep sweep_;
  std::optional<ExperimentReader> reader_;
  std::vector<spec::Experiment> experiments_;  ///< of the first points, some 18 kB each
};

}  // namespace pipesim::app
