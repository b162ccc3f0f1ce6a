#include "app/process/handover.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

namespace pipesim::app {
namespace {

[[noreturn]] void Fail(const char* what) {
  throw base::EnvironmentError(fmt::format("{} the run's own memory file: {}; is memory exhausted?",
                                           what, std::strerror(errno)));
}

/// The limit on file sizes holds for memory files, too. A run that could not hand over its report
/// would be lost, so it is not begun. Reports have tens to hundreds of KB; two are handed over.
void CheckFileSizeLimit() {
  constexpr rlim_t kRoom = 8 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= kRoom) return;
  throw base::EnvironmentError(fmt::format(
      "files may not be larger than {} KiB here (ulimit -f), and a run's report may be; "
      "raise the limit to {} KiB, or use `pipesim predict`",
      limit.rlim_cur >> 10, kRoom >> 10));
}

}  // namespace

Handover Handover::Create() {
  CheckFileSizeLimit();
  Handover made(memfd_create("pipesim-handover", 0));  // inherited by the run
  if (made.fd_ < 0) Fail("cannot create");
  made.WriteHeader({});
  return made;
}

Handover::Handover(Handover&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Handover::~Handover() {
  if (fd_ >= 0) close(fd_);
}

Handover::Header Handover::Read() const {
  static_assert(std::is_trivially_copyable_v<Header>);
  Header header;
  if (pread(fd_, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) return {};
  return header;
}

void Handover::WriteHeader(const Header& header) {
  if (pwrite(fd_, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header))
    Fail("cannot write");
}

Handover::Place Handover::Append(const report::Document& document) {
  Place place = AtEnd();
  AppendTo(place, document.dump(-1, ' ', false, report::Document::error_handler_t::replace));
  return place;
}

Handover::Place Handover::AtEnd() const {
  struct stat status {};
  if (fstat(fd_, &status) != 0) Fail("cannot read");
  return {.at = status.st_size, .size = 0};
}

void Handover::AppendTo(Place& place, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = pwrite(fd_, text.data(), text.size(), place.at + place.size);
    if (size < 0 && errno != EINTR) Fail("cannot write");
    if (size <= 0) continue;
    place.size += size;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

std::optional<report::Document> Handover::ReadAt(const Place& place) const {
  if (place.size == 0) return std::nullopt;
  std::string text(static_cast<std::size_t>(place.size), '\0');
  if (pread(fd_, text.data(), text.size(), place.at) != place.size) return std::nullopt;
  report::Document document = report::Document::parse(text, nullptr, false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

// The text is written before the header that points to it, so a crash in between keeps the earlier
// state.
void Handover::Begin(const report::Document& nothing_measured) {
  Header header = Read();
  header.begun = Append(nothing_measured);
  WriteHeader(header);
}

void Handover::ReportProgress(const engine::Progress& progress) {
  Header header = Read();
  header.last_progress = {progress.elapsed, progress.steps, progress.samples,
                          progress.samples_per_s};
  WriteHeader(header);
}

void Handover::Finish(const Outcome& outcome) {
  Header header = Read();
  header.finished = Append({{"document", outcome.document},
                            {"notes", outcome.notes},
                            {"code", static_cast<int>(outcome.code)}});
  WriteHeader(header);
}

void Handover::Attach(const std::function<void(const base::TextSink&)>& write) {
  Place place = AtEnd();
  write([&](std::string_view text) { AppendTo(place, text); });
  Header header = Read();
  header.attachment = place;
  WriteHeader(header);
}

bool Handover::has_attachment() const { return Read().attachment.size > 0; }

void Handover::ReadAttachment(const base::TextSink& sink) const {
  const Place place = Read().attachment;
  std::string block(std::size_t{1} << 16, '\0');
  for (std::int64_t done = 0; done < place.size;) {
    const auto wanted = std::min(static_cast<std::int64_t>(block.size()), place.size - done);
    const ssize_t size =
        pread(fd_, block.data(), static_cast<std::size_t>(wanted), place.at + done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) Fail("cannot read");
    sink(std::string_view(block).substr(0, static_cast<std::size_t>(size)));
    done += size;
  }
}

std::optional<report::Document> Handover::begun() const { return ReadAt(Read().begun); }

std::optional<LastProgress> Handover::last_progress() const {
  const LastProgress last_progress = Read().last_progress;
  if (last_progress.elapsed == base::Duration::zero()) return std::nullopt;
  return last_progress;
}

std::optional<Outcome> Handover::finished() const {
  const auto wrapped = ReadAt(Read().finished);
  if (!wrapped) return std::nullopt;
  return Outcome{wrapped->at("document"), wrapped->at("notes").get<std::vector<std::string>>(),
                 static_cast<base::ExitCode>(wrapped->at("code").get<int>())};
}

}  // namespace pipesim::app
