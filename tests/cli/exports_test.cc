// --export in every format, of every command: files that the programs they are for read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "support/chrome_trace.h"
#include "support/command.h"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;
using support::CommandResult;
using support::ContentOf;
using support::RunPipesim;
using support::TestFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string kSweep = PIPESIM_SOURCE_DIR "/configs/sweeps/workers_by_batch.yaml";

// Workers wait 2 ms a sample and hold no core; a step takes 8 ms.
const std::vector<std::string> kPipeline = {"--workers", "2",
                                            "--batch",   "16",
                                            "--storage", "none",
                                            "--set",     "prepare={kind: wait, cost: 2ms}",
                                            "--set",     "device={emulated: {base: 8ms}}",
                                            "--steps",   "30",
                                            "--quiet"};

CommandResult Ask(const std::string& command, const std::vector<std::string>& more) {
  std::vector<std::string> words{command};
  words.insert(words.end(), kPipeline.begin(), kPipeline.end());
  words.insert(words.end(), more.begin(), more.end());
  return RunPipesim(words);
}

std::string ExportFile(const std::string& name) { return (TestFolder() / name).string(); }

std::vector<std::string> Exporting(const std::vector<std::string>& formats,
                                   const std::string& name) {
  std::vector<std::string> words;
  for (const std::string& format : formats) {
    words.push_back("--export");
    words.push_back(format + "=" + ExportFile(name + "." + format));
  }
  return words;
}

/// What read_exports.py made of an export; `skipped` says why it read nothing.
struct ReadBack {
  json value;
  std::string skipped;
};

/// PIPESIM_TEST_PYTHON names a Python with the packages, if neither .venv nor python3 has them.
ReadBack ReadBackBy(const std::string& reader, const std::string& file) {
  const fs::path own = PIPESIM_SOURCE_DIR "/.venv/bin/python3";
  const char* chosen = std::getenv("PIPESIM_TEST_PYTHON");
  const std::string python = chosen != nullptr ? chosen
                             : fs::exists(own) ? own.string()
                                               : "python3";
  const std::string command = "TF_CPP_MIN_LOG_LEVEL=3 '" + python +
                              "' '" PIPESIM_SOURCE_DIR "/tests/cli/read_exports.py' " + reader +
                              " '" + file + "' 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {{}, "no shell"};
  std::string out;
  std::array<char, 4096> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe))
    out.append(part.data(), got);
  const int status = pclose(pipe);
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
    return {{}, out.empty() ? "no python3" : out};
  EXPECT_EQ(status, 0) << command << "\n" << out;
  return {json::parse(out, nullptr, false), ""};
}

// ---- the trace

json TraceIn(const std::string& file) { return json::parse(ContentOf(file), nullptr, false); }

std::size_t CountSlices(const json& trace, const std::string& name) {
  std::size_t count = 0;
  for (const json& event : trace["traceEvents"])
    count += event["ph"] == "X" && event["name"] == name;
  return count;
}

TEST(ExportTrace, OfAPredictionHoldsEveryBatchOfEveryThread) {
  const std::string file = ExportFile("predicted.json");
  const CommandResult result = Ask("predict", {"--export", "trace=" + file});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json trace = TraceIn(file);
  EXPECT_THAT(tests::TraceCheck(trace).problems(), IsEmpty());
  EXPECT_EQ(CountSlices(trace, "busy: computes"), 30u);
  EXPECT_EQ(CountSlices(trace, "measured"), 1u);
  EXPECT_THAT(ContentOf(file), AllOf(HasSubstr("\"worker 1\""), HasSubstr("\"queue\"")));
}

TEST(ExportTrace, OfARunComesFromItsProcess) {
  const std::string file = ExportFile("run.json");
  const CommandResult result = Ask("run", {"--export", "trace=" + file, "--repeats", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json trace = TraceIn(file);
  EXPECT_THAT(tests::TraceCheck(trace).problems(), IsEmpty());
  EXPECT_EQ(trace["otherData"]["shows"], "repeat 1 of 2");
  EXPECT_GE(CountSlices(trace, "busy: computes"), 25u);
  EXPECT_GE(CountSlices(trace, "prepare"), 30u * 16u / 2u);
}

/// A run that would go on for a minute; its process gets the signal after a second.
CommandResult RunUntil(int signal, const std::string& trace) {
  support::CommandOptions options;
  options.while_running = [signal](int pid) {
    const int run = support::RunProcessOf(pid);
    support::UntilItHandles(run, SIGTERM);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    kill(run, signal);
  };
  return RunPipesim({"--workers", "0", "--batch", "8", "--prepare", "100us", "--set",
                     "device={emulated: {base: 5ms}}", "--duration", "60s", "--quiet", "--export",
                     "trace=" + trace},
                    options);
}

TEST(ExportTrace, OfAnInterruptedRunHoldsWhatRan) {
  const std::string file = ExportFile("interrupted.json");
  EXPECT_EQ(RunUntil(SIGTERM, file).exit_code, 130);
  const json trace = TraceIn(file);
  EXPECT_THAT(tests::TraceCheck(trace).problems(), IsEmpty());
  EXPECT_GE(CountSlices(trace, "busy: computes"), 5u);
}

TEST(ExportTrace, OfAKilledRunIsNotWrittenAndSaysSo) {
  const std::string file = ExportFile("killed.json");
  const CommandResult result = RunUntil(SIGKILL, file);
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("no trace is written: the run ended without its spans"));
  EXPECT_FALSE(fs::exists(file));
}

TEST(ExportTrace, GoesToStandardOutput) {
  const CommandResult result = Ask("predict", {"--export", "trace=-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(tests::TraceCheck(json::parse(result.out, nullptr, false)).problems(), IsEmpty());
}

TEST(ExportTrace, OfALongPredictionSaysWhatItLeavesOut) {
  const std::string file = ExportFile("long.json");
  const CommandResult result = Ask("predict", {"--steps", "5000", "--export", "trace=" + file});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the spans of batches 2000 to "));
  const json trace = TraceIn(file);
  EXPECT_THAT(tests::TraceCheck(trace).problems(), IsEmpty());
  EXPECT_LE(CountSlices(trace, "busy: computes"), 4000u);
}

TEST(ExportTrace, IsNotOfASavedReport) {
  ASSERT_EQ(Ask("predict", {}).exit_code, 0);
  const CommandResult result = RunPipesim({"report", "last", "--export", "trace=" + ExportFile("x")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("a saved report holds no spans"),
                                HasSubstr("json, text, html, markdown, csv")));
  EXPECT_FALSE(fs::exists(ExportFile("x")));
}

TEST(ExportTrace, IsReadByPerfetto) {
  const std::string file = ExportFile("perfetto.json");
  ASSERT_EQ(Ask("predict", {"--export", "trace=" + file}).exit_code, 0);
  const ReadBack read = ReadBackBy("perfetto", file);
  if (!read.skipped.empty()) GTEST_SKIP() << read.skipped;
  EXPECT_THAT(read.value["errors"], IsEmpty());
  EXPECT_GE(read.value["flows"][0]["count"].get<int>(), 28);
  EXPECT_THAT(read.value["slices"].dump(), HasSubstr("worker 1"));
}

// ---- CSV

TEST(ExportCsv, OfASweepLoadsInPandasWithItsTypes) {
  const std::string file = ExportFile("sweep.csv");
  const CommandResult result =
      RunPipesim({"sweep", kSweep, "--engine", "predict", "--quiet", "--export", "csv=" + file});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const ReadBack read = ReadBackBy("pandas", file);
  if (!read.skipped.empty()) GTEST_SKIP() << read.skipped;
  EXPECT_EQ(read.value["rows"], 15);
  const json& types = read.value["types"];
  EXPECT_EQ(types["loader.workers"], "int64");
  EXPECT_EQ(types["samples_per_s"], "float64");
  EXPECT_EQ(types["pareto"], "bool");
  EXPECT_THAT(types["bottleneck"].get<std::string>(), testing::AnyOf("object", "str"));
  EXPECT_EQ(read.value["columns"]["loader.workers"].back(), 8);
}

std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

std::vector<std::string> CsvColumn(const std::string& csv, const std::string& name) {
  std::istringstream lines(csv);
  std::vector<std::string> column;
  std::optional<std::size_t> at;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> row = CellsOf(line);
    if (at)
      column.push_back(row.at(*at));
    else
      at = static_cast<std::size_t>(std::find(row.begin(), row.end(), name) - row.begin());
  }
  return column;
}

TEST(ExportCsv, OfASweepEveryPointHasTheSettingsThatItsAxisBrings) {
  const fs::path folder = TestFolder();
  fs::remove(folder / "storages.jsonl");
  const std::vector<std::string> words = {
      "--model", "mlp", "--engine", "predict", "--steps", "100", "--axis", "storage=hdd,nfs-1gbit", "--axis",
      "workers=1,2", "--journal", "storages.jsonl", "--export", "json=storages.json", "--export"};
  const auto swept = [&](const std::string& format, const std::string& more) {
    std::vector<std::string> all = words;
    all.push_back(format);
    if (!more.empty()) all.push_back(more);
    all.insert(all.begin(), "sweep");
    return RunPipesim(all, {.folder = folder});
  };
  const CommandResult result = swept("csv=-", "");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(CsvColumn(result.out, "storage.preset"), ElementsAre("hdd", "hdd", "nfs-1gbit", "nfs-1gbit"));
  const auto latencies = CsvColumn(result.out, "storage.latency");
  EXPECT_NE(latencies[0], latencies[2]);
  // A report of it, its journal, and the sweep that goes on from there say the same.
  for (const char* file : {"storages.json", "storages.jsonl"})
    EXPECT_EQ(CsvColumn(RunPipesim({"report", file, "--export", "csv=-"}, {.folder = folder}).out, "storage.latency"),
              latencies);
  EXPECT_EQ(CsvColumn(swept("csv=-", "--resume").out, "storage.latency"), latencies);
}

TEST(ExportCsv, OfARunHasTheNumbersOfTheDocument) {
  const CommandResult result = Ask("predict", Exporting({"json", "csv"}, "numbers"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const ReadBack read = ReadBackBy("pandas", ExportFile("numbers.csv"));
  if (!read.skipped.empty()) GTEST_SKIP() << read.skipped;
  const json document = json::parse(ContentOf(ExportFile("numbers.json")));
  const json& columns = read.value["columns"];
  EXPECT_EQ(columns["samples_per_s"][0], document["result"]["samples_per_s"]);
  EXPECT_EQ(columns["device_busy_s"][0], document["device"]["busy_s"]);
  EXPECT_EQ(columns["bottleneck"][0], document["diagnosis"]["bottleneck"]);
  EXPECT_EQ(columns["loader.batch_size"][0], 16);
}

// ---- TensorBoard

TEST(ExportTensorBoard, OfARunIsReadBackWithTheSameNumbers) {
  const CommandResult result = Ask("predict", Exporting({"json", "tensorboard"}, "board"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const ReadBack read = ReadBackBy("tensorboard", ExportFile("board.tensorboard"));
  if (!read.skipped.empty()) GTEST_SKIP() << read.skipped;
  const json document = json::parse(ContentOf(ExportFile("board.json")));
  const json& scalars = read.value["."]["scalars"];
  const auto as_float = [](const json& number) { return static_cast<float>(number.get<double>()); };
  const json& rate = scalars["result/samples_per_s"];
  ASSERT_EQ(rate.size(), 1u);
  EXPECT_EQ(rate[0][0], document["result"]["steps"]);
  EXPECT_EQ(as_float(rate[0][1]), as_float(document["result"]["samples_per_s"]));
  const json& times = document["samples"]["step_time_s"];
  ASSERT_EQ(scalars["steps/step_time_s"].size(), times.size());
  for (std::size_t i = 0; i < times.size(); ++i)
    EXPECT_EQ(as_float(scalars["steps/step_time_s"][i][1]), as_float(times[i]));
  EXPECT_THAT(read.value["."]["texts"].dump(), HasSubstr("**Next**"));
}

TEST(ExportTensorBoard, OfASweepHasASubRunForEachSeries) {
  const std::string folder = ExportFile("sweep.board");
  const CommandResult result = RunPipesim(
      {"sweep", kSweep, "--engine", "predict", "--quiet", "--export", "tensorboard=" + folder});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const ReadBack read = ReadBackBy("tensorboard", folder);
  if (!read.skipped.empty()) GTEST_SKIP() << read.skipped;
  ASSERT_EQ(read.value.size(), 4u) << "three batch sizes, and the text";
  const json& rates = read.value["batch=16,predicted"]["scalars"]["samples_per_s"];
  std::vector<int> workers;
  for (const json& point : rates) workers.push_back(point[0]);
  EXPECT_THAT(workers, ElementsAre(0, 1, 2, 4, 8));
}

TEST(ExportTensorBoard, RefusesAFolderOfOthersBeforeTheRun) {
  const fs::path folder = TestFolder() / "mine";
  fs::create_directories(folder);
  std::ofstream(folder / "notes.txt") << "x";
  const CommandResult result = Ask("predict", {"--export", "tensorboard=" + folder.string()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("holds other files (notes.txt)"));
  EXPECT_THAT(result.out, IsEmpty());
}

// ---- which command has which format

TEST(Export, RefusesAFormatAndNamesThoseOfTheCommand) {
  const CommandResult result =
      RunPipesim({"sweep", kSweep, "--engine", "predict", "--export", "trace=" + ExportFile("t")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("kind 'sweep' has no format 'trace'"),
                                HasSubstr("it has: json, text, html, markdown, csv")));
  const CommandResult unknown = Ask("predict", {"--export", "xlsx=a.xlsx"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("the formats are: json, text, html, markdown, csv"));
}

TEST(Export, HelpListsTheFormatsOfTheCommand) {
  EXPECT_THAT(RunPipesim({"predict", "--help"}).out, HasSubstr("\n  trace  "));
  EXPECT_THAT(RunPipesim({"sweep", "--help"}).out,
              AllOf(HasSubstr("\n  tensorboard  "), Not(HasSubstr("\n  trace  "))));
  EXPECT_THAT(RunPipesim({"size", "--help"}).out,
              AllOf(HasSubstr("\n  csv  "), Not(HasSubstr("\n  tensorboard  "))));
  EXPECT_THAT(RunPipesim({"validate", "--help"}).out, Not(HasSubstr("Formats of --export")));
}

TEST(Export, OfTuneAndSizeAreTablesToo) {
  const CommandResult tuned =
      RunPipesim({"tune", "--prepare", "2ms", "--device", "rtx-4060", "--cpus", "8", "--engine",
                  "predict", "--quiet", "--export", "csv=" + ExportFile("tune.csv")});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_THAT(ContentOf(ExportFile("tune.csv")),
              AllOf(StartsWith("name,date,"), HasSubstr(",run,phase,status,samples_per_s,")));
  const CommandResult sized = RunPipesim({"size", "--prepare", "2ms", "--device", "rtx-4060",
                                          "--target", "samples_per_s>=900", "--solve",
                                          "limits.cpus", "--quiet", "--export", "markdown=-"});
  EXPECT_THAT(sized.out, AllOf(StartsWith("### pipesim size"), HasSubstr("| reached? |")));
}

// ---- report

TEST(Report, RendersASavedReportInEachFormatAsTheCommandDid) {
  const CommandResult result =
      Ask("predict", Exporting({"json", "csv", "markdown", "text"}, "first"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<std::string> words = Exporting({"json", "csv", "markdown", "text"}, "again");
  words.insert(words.begin(), {"report", ExportFile("first.json")});
  const CommandResult again = RunPipesim(words);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  for (const char* format : {"json", "csv", "markdown", "text"})
    EXPECT_EQ(ContentOf(ExportFile(std::string("first.") + format)),
              ContentOf(ExportFile(std::string("again.") + format)))
        << format;
}

TEST(Report, RendersTheLastSweep) {
  ASSERT_EQ(RunPipesim({"sweep", kSweep, "--engine", "predict", "--quiet"}).exit_code, 0);
  const CommandResult result = RunPipesim({"report", "last", "--export", "csv=-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("name,"), HasSubstr("\r\nworkers_by_batch,")));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 16);
}

TEST(Report, SaysWhyAnOlderReportCannotBeRead) {
  ASSERT_EQ(Ask("predict", Exporting({"json"}, "older")).exit_code, 0);
  ordered_json document = ordered_json::parse(ContentOf(ExportFile("older.json")));
  document["result"].erase("accelerators");  // written before there were any
  std::ofstream(ExportFile("older.json")) << document.dump(2);
  const CommandResult result = RunPipesim({"report", ExportFile("older.json")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("written by another version of pipesim"), HasSubstr("accelerators")));
  document["schema_version"] = 2;
  std::ofstream(ExportFile("older.json")) << document.dump(2);
  EXPECT_THAT(RunPipesim({"report", ExportFile("older.json")}).err, HasSubstr("another report format"));
}

// ---- writes that fail

TEST(Export, KeepsTheOthersWhereOneCannotBeWritten) {
  for (const char* command : {"run", "predict"}) {
    const CommandResult result =
        Ask(command, {"--export", "trace=/dev/full", "--export", "csv=" + ExportFile("kept.csv")});
    EXPECT_EQ(result.exit_code, 3) << command;
    EXPECT_THAT(result.err, HasSubstr("cannot write /dev/full: No space left on device"));
    EXPECT_THAT(result.out, Not(IsEmpty())) << "the text is still printed";
    EXPECT_THAT(ContentOf(ExportFile("kept.csv")), StartsWith("name,"));
    fs::remove(ExportFile("kept.csv"));
  }
  const CommandResult sized = RunPipesim({"size", "--prepare", "2ms", "--device", "rtx-4060",
                                          "--target", "samples_per_s>=900", "--solve",
                                          "limits.cpus", "--quiet", "--export", "json=/dev/full"});
  EXPECT_EQ(sized.exit_code, 3);
  EXPECT_THAT(sized.out, Not(IsEmpty()));
}

TEST(Export, FindsABadPathBeforeTheRun) {
  const CommandResult result = Ask("run", {"--export", "csv=" + ExportFile("none/x.csv")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, IsEmpty());
}

}  // namespace
}  // namespace pipesim
