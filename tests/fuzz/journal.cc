// Journals of sweeps: files as they are, and records whose checksum is right.
#include "base/text.h"
#include "fuzz.h"
#include "report/sweep_report.h"
#include "sweep/journal.h"

namespace pipesim::fuzz {
namespace {

void ReadRecord(const std::string& record) {
  report::ReadIdentityRecord(record);
  const auto point = report::ReadPointRecord(record);
  if (!point) return;
  const std::string written = report::PointRecord(*point);
  const auto again = report::ReadPointRecord(written);
  Require(again.has_value() && report::PointRecord(*again) == written,
          "a point's record reads back: " + written);
  Require(point->run || point->predicted, "a point has an outcome");
}

}  // namespace

void Try(std::string_view input) {
  Accepted([&] {
    const auto content = sweep::ParseJournal(input, "journal.jsonl");
    Require(content.good_bytes <= input.size(), "whole lines are a part of the file");
    Require(content.torn == (content.good_bytes < input.size()), "only a torn line is dropped");
  });
  std::string journal;
  std::size_t lines = 0;
  for (const std::string& record : base::Split(input, '\n')) {
    ReadRecord(record);
    journal += sweep::JournalLine(record);
    ++lines;
  }
  Require(sweep::ParseJournal(journal, "written.jsonl").records.size() == lines,
          "a written journal reads back");
}

}  // namespace pipesim::fuzz
