// An NVTX injection library, as a profiler has one (NVTX_INJECTION64_PATH): writes each push and pop of
// a range to the file PIPESIM_NVTX_LOG, a line each: "push THREAD PAYLOAD DOMAIN NAME", "pop THREAD".
// A line is one write, so that lines of several threads do not mix and none is lost at the end.
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>

namespace {

int log_file = -1;

void Write(const std::string& line) {
  if (write(log_file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

/// Keeps a text for as long as the process lives; its address is a handle.
const std::string* Keep(const char* text) {
  static std::mutex mutex;
  static auto* const texts = new std::deque<std::string>;
  const std::lock_guard lock(mutex);
  return &texts->emplace_back(text);
}

nvtxDomainHandle_t CreateDomain(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(const_cast<std::string*>(Keep(name)));
}

nvtxStringHandle_t RegisterString(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<std::string*>(Keep(text)));
}

int Push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  const bool has_payload = range->payloadType == NVTX_PAYLOAD_TYPE_INT64;
  Write("push " + std::to_string(gettid()) + " " +
        std::to_string(has_payload ? range->payload.llValue : -1) + " " +
        *reinterpret_cast<const std::string*>(domain) + " " +
        *reinterpret_cast<const std::string*>(range->message.registered) + "\n");
  return 0;
}

int Pop(nvtxDomainHandle_t) {
  Write("pop " + std::to_string(gettid()) + "\n");
  return 0;
}

template <class Function>
void Set(NvtxFunctionTable table, int which, Function* function) {
  *table[which] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t tables) {
  const char* path = std::getenv("PIPESIM_NVTX_LOG");
  if (path == nullptr) return 0;
  log_file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (log_file < 0 || callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE2_DomainCreateA)
    return 0;
  Set(table, NVTX_CBID_CORE2_DomainCreateA, CreateDomain);
  Set(table, NVTX_CBID_CORE2_DomainRegisterStringA, RegisterString);
  Set(table, NVTX_CBID_CORE2_DomainRangePushEx, Push);
  Set(table, NVTX_CBID_CORE2_DomainRangePop, Pop);
  return 1;
}
