#include "app/observed.h"

#include <fmt/format.h>

#include "base/text.h"
#include "spec/units_text.h"

namespace pipesim::app {
namespace {

using diagnose::Observed;

const std::vector<std::string> kNames{"gpu", "cpu", "samples_per_s", "step"};
constexpr const char* kExample = "--observed 'gpu=30%,samples_per_s=450,cpu=100%,step=140ms'";

template <class T>
T ValueOf(const spec::Parsed<T>& parsed, const std::string& figure) {
  if (const auto* value = std::get_if<T>(&parsed)) return *value;
  const auto& bad = std::get<spec::BadText>(parsed);
  throw base::UsageError(fmt::format("--observed {}: {}{}", base::Printable(figure), bad.what,
                                     bad.suggestion.empty() ? "" : "; " + bad.suggestion));
}

double Positive(double value, const std::string& figure) {
  if (value > 0) return value;
  throw base::UsageError(fmt::format("--observed {}: must be above 0", base::Printable(figure)));
}

void ReadFigure(const std::string& figure, Observed& out) {
  const std::size_t equals = figure.find('=');
  const std::string name = figure.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : figure.substr(equals + 1);
  if (name == "gpu") {
    out.device_utilization = ValueOf(spec::ParseShare(value), figure);
  } else if (name == "cpu") {
    out.cpu_utilization = ValueOf(spec::ParseShare(value), figure);
  } else if (name == "samples_per_s") {
    out.samples_per_s = Positive(ValueOf(spec::ParsePerSecond(value), figure), figure);
  } else if (name == "step") {
    out.step_s =
        Positive(base::ToSeconds(ValueOf(spec::ParseDuration(value), figure)), figure);
  } else {
    const auto near = base::Nearest(name, kNames);
    throw base::UsageError(fmt::format("--observed has no figure '{}'{}; for example {}",
                                       base::Printable(name),
                                       near ? fmt::format("; did you mean {}?", *near) : "",
                                       kExample));
  }
}

}  // namespace

diagnose::Observed ReadObserved(const Arguments& arguments) {
  Observed observed;
  for (const std::string& figures : arguments.All("observed"))
    for (const std::string& figure : base::Split(figures, ',')) ReadFigure(figure, observed);
  return observed;
}

}  // namespace pipesim::app
