// What is here to train on: GPUs, processors, and what cannot be measured.
#include <fmt/format.h>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/delivery.h"
#include "app/commands/inventory.h"
#include "app/session.h"
#include "base/error.h"
#include "base/text.h"
#include "report/devices_report.h"

namespace pipesim::app {
namespace {

/// `pipesim devices cuda:1`; nullopt: none was named.
std::optional<spec::DeviceId> AskedDevice(const Arguments& arguments) {
  if (arguments.positional.empty()) return std::nullopt;
  const std::string& word = arguments.positional.front();
  const auto device = spec::ParseDevice(word);
  if (arguments.positional.size() > 1 || !device || !(device->IsCuda() || device->IsCpu()))
    throw base::UsageError(fmt::format("`pipesim devices` takes one device, cuda:N or cpu, not '{}'",
                                       base::Printable(base::Join(arguments.positional, " "))));
  return device;
}

}  // namespace

base::ExitCode Devices(const Arguments& arguments) {
  report::DevicesReport report;
  report.asked = AskedDevice(arguments);
  if (arguments.Has("needs-libtorch")) return PrintOut("no\n"), base::ExitCode::kOk;
  Exports exports(arguments);
  report.context = ReadContext();
  report.context.argv = arguments.typed;
  report.inventory = ReadInventory();
  ExportAndPrint(arguments, exports, report::ToJson(report));
  return base::ExitCode::kOk;
}

}  // namespace pipesim::app
