#include <nvtx3/nvToolsExt.h>

#include <array>
#include <string>

#include "engine/torch/cuda.h"
#include "trace/state_names.h"

namespace pipesim::engine {
namespace {

/// Names registered once: a push then hands over a pointer, and the profiler stores each name once.
struct Registry {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("pipesim");
  std::array<nvtxStringHandle_t, trace::kStateCount> names{};

  Registry() {
    for (int i = 0; i < trace::kStateCount; ++i) {
      const std::string name(trace::NameOf(static_cast<trace::State>(i), true));
      names[static_cast<std::size_t>(i)] = nvtxDomainRegisterStringA(domain, name.c_str());
    }
  }
};

/// Never destroyed: a worker that hangs in a read may end its range after main has.
const Registry& Registered() {
  static const Registry* const registry = new Registry;
  return *registry;
}

void Push(trace::State state, std::int64_t batch) {
  const Registry& registry = Registered();
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registry.names[static_cast<std::size_t>(state)];
  if (batch >= 0) {
    attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    attributes.payload.llValue = batch;
  }
  nvtxDomainRangePushEx(registry.domain, &attributes);
}

void Pop() { nvtxDomainRangePop(Registered().domain); }

}  // namespace

const StageMarks* NvtxMarks() {
  static const StageMarks marks{.begin = Push, .end = Pop};
  Registered();
  return &marks;
}

}  // namespace pipesim::engine
