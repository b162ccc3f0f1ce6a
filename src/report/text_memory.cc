// The text of a report of `memory`: whether it fits, the largest that does, the parts.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/memory_report.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

/// "resnet50 at batch 64", "a product of 30,000 x 30,000".
std::string QuestionText(View document) {
  const View question = document.At("question");
  const std::string size = WithCommas(question.At("size").Whole());
  if (question.At("what").Text() == "matmul") return fmt::format("a product of {} x {}", size, size);
  const std::string model = question.At("model").Text();
  return (model.empty() ? "the model" : model) + " at batch " + size;
}

void AddMemoryAnswer(const Sheet& sheet) {
  const View document = sheet.document;
  const bool fits = document.At("fits").IsTrue();
  const std::string holds = BinaryAmount(document.At("total_bytes").NumberOr(0));
  const std::string free = BinaryAmount(document.At("free_bytes").NumberOr(0));
  sheet.page.Add(fmt::format("{}: {} {} {}, and {} has {}{}",
                             fits ? "fits" : "does not fit", QuestionText(document),
                             fits ? "holds" : "needs", holds, document.At("device.name").Text(), free,
                             document.At("device.described_by").Text() == "a preset" ? "" : " free"),
                 fits ? Style::kGood : Style::kBad);
  const std::string unit = document.At("question.what").Text() == "matmul" ? "size" : "batch";
  const auto largest = document.At("largest").Number();
  sheet.page.Add(largest ? fmt::format("The largest {} that fits is {}.", unit, Count(*largest))
                         : "No " + unit + " fits.");
}

void AddMemoryParts(const Sheet& sheet) {
  const View document = sheet.document;
  const double total = document.At("total_bytes").NumberOr(0);
  sheet.page.AddBlank();
  for (const View part : document.At("parts").Items()) {
    const double bytes = part.At("bytes").NumberOr(0);
    const double share = total > 0 ? bytes / total : 0;
    sheet.page.Add(fmt::format("  {:<22}{:>14}  {:>5}  {}", part.At("what").Text(), BinaryAmount(bytes),
                               Percent(share), Bar(share)));
  }
  sheet.page.Add(fmt::format("  {:<22}{:>14}", "total", BinaryAmount(total)));
  sheet.page.AddBlank();
  const std::vector<std::string> left_out = document.At("left_out").Texts();
  if (!left_out.empty()) sheet.page.Add("Not counted: " + base::Join(left_out, "; ") + ".");
  const std::string name = document.At("device.device_name").Text();
  sheet.page.Add(fmt::format("{}{}: {} in all, described by {}.", document.At("device.name").Text(),
                             name.empty() ? "" : " (" + name + ")",
                             BinaryAmount(document.At("device.memory_bytes").NumberOr(0)),
                             document.At("device.described_by").Text()));
}

}  // namespace

std::string MemoryText(const Document& document, const TextOptions& options) {
  Page page(options.colour);
  const Sheet sheet{View(&document, options.utf8), page, options.utf8,
                    options.detail == Detail::kFull};
  AddMemoryAnswer(sheet);
  if (options.detail != Detail::kBrief) AddMemoryParts(sheet);
  return page.Take();
}

}  // namespace pipesim::report
