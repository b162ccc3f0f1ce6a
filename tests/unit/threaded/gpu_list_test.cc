#include "engine/gpu_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace pipesim::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A fake driver of two GPUs and a fake NVML. Their plain functions can only use static state.
struct FakeMachine {
  int init = 0;      ///< what cuInit returns
  int gpus = 2;
  int nvlink = 0;    ///< what the NvLink query returns
  int sessions = 0;  ///< of NVML
};
FakeMachine machine;

int CopyText(char* to, int size, const std::string& text) {
  std::strncpy(to, text.c_str(), static_cast<std::size_t>(size));
  return 0;
}

CudaDriver FakeDriver() {
  return {.init = [](unsigned int) { return machine.init; },
          .version = [](int* version) { return *version = 12080, 0; },
          .error_text = [](int, const char** text) { return *text = "no CUDA-capable device", 0; },
          .count = [](int* count) { return *count = machine.gpus, 0; },
          .get = [](int* device, int ordinal) { return *device = ordinal + 40, 0; },
          .name = [](char* name, int size, int) { return CopyText(name, size, "NVIDIA H200"); },
          .memory = [](std::size_t* bytes, int) { return *bytes = 140'000'000'000, 0; },
          .attribute =
              [](int* value, int which, int) {
                *value = which == 75 ? 9 : which == 76 ? 0 : 132;
                return 0;
              },
          .bus_id =
              [](char* id, int size, int device) {
                return CopyText(id, size, "0000:0" + std::to_string(device - 40) + ":00.0");
              }};
}

NvmlQueries FakeQueries() {
  NvmlQueries nvml;
  nvml.init = [] { return ++machine.sessions, 0; };
  nvml.shutdown = [] { return --machine.sessions, 0; };
  // NVML numbers the devices the other way round.
  nvml.device_by_pci = [](const char* bus_id, void** device) {
    static int handles[2];
    *device = &handles[bus_id[6] == '0' ? 1 : 0];
    return 0;
  };
  nvml.memory = [](void*, NvmlQueries::Memory* memory) {
    return memory->free = 139'000'000'000, 0;
  };
  nvml.generation = [](void*, unsigned int* value) { return *value = 1, 0; };
  nvml.lanes = nvml.lanes_most = [](void*, unsigned int* value) { return *value = 16, 0; };
  nvml.generation_most = [](void*, unsigned int* value) { return *value = 5, 0; };
  nvml.nvlink = [](void*, unsigned int link, unsigned int* active) {
    *active = link < 4 ? 1 : 0;
    return machine.nvlink;
  };
  nvml.peer = [](void*, void*, int capability, int* status) {
    *status = capability == 2 ? 0 : 5;
    return 0;
  };
  return nvml;
}

class Gpus : public testing::Test {
 protected:
  void SetUp() override { machine = {}; }
  void TearDown() override { EXPECT_EQ(machine.sessions, 0); }
};

TEST_F(Gpus, HaveCudasNumberAndNvmlsLinks) {
  const GpuList list = ListGpus(FakeDriver(), FakeQueries());
  ASSERT_EQ(list.gpus.size(), 2U);
  EXPECT_EQ(list.cuda_version, "12.8");
  const spec::Gpu& second = list.gpus[1];
  EXPECT_EQ(second.id, spec::DeviceId::Cuda(1));
  EXPECT_EQ(second.name, "NVIDIA H200");
  EXPECT_EQ(second.pci_bus_id, "0000:01:00.0");
  EXPECT_EQ(second.ComputeCapability(), 9.0);
  EXPECT_EQ(second.multiprocessors, 132);
  EXPECT_EQ(second.memory_free, base::Bytes{139'000'000'000});
  EXPECT_EQ(second.link, (spec::PcieLink{1, 16}));
  EXPECT_EQ(second.link_most, (spec::PcieLink{5, 16}));
  EXPECT_EQ(second.nvlinks, 4);
  EXPECT_THAT(second.nvlink_peers, ElementsAre(spec::DeviceId::Cuda(0)));
}

TEST_F(Gpus, WithoutNvmlTheirLinksAreUnknown) {
  const GpuList list = ListGpus(FakeDriver(), std::nullopt);
  ASSERT_EQ(list.gpus.size(), 2U);
  EXPECT_EQ(list.gpus[0].memory, base::Bytes{140'000'000'000});
  EXPECT_EQ(list.gpus[0].memory_free, std::nullopt);
  EXPECT_EQ(list.gpus[0].link, std::nullopt);
  EXPECT_EQ(list.gpus[0].nvlinks, std::nullopt);
  EXPECT_THAT(list.gpus[0].nvlink_peers, IsEmpty());
}

TEST_F(Gpus, AnOldNvmlLeavesOutWhatItLacks) {
  NvmlQueries old = FakeQueries();
  old.peer = nullptr;
  old.nvlink = nullptr;
  old.generation_most = nullptr;
  const GpuList list = ListGpus(FakeDriver(), old);
  EXPECT_EQ(list.gpus[0].link_most, std::nullopt);
  EXPECT_EQ(list.gpus[0].nvlinks, std::nullopt);
}

TEST_F(Gpus, OfADriverWithoutDevicesAreNoneAndTheReasonIsTheDrivers) {
  machine.init = 100;  // CUDA_ERROR_NO_DEVICE
  const GpuList list = ListGpus(FakeDriver(), FakeQueries());
  EXPECT_THAT(list.gpus, IsEmpty());
  EXPECT_THAT(list.why_none, HasSubstr("no CUDA-capable device"));
}

TEST_F(Gpus, WithoutADriverAreNoneAndTheLibraryIsNamed) {
  EXPECT_THAT(ListGpus(std::nullopt, std::nullopt).why_none, HasSubstr("libcuda.so.1"));
}

TEST_F(Gpus, HiddenOnesAreNone) {
  machine.gpus = 0;  // CUDA_VISIBLE_DEVICES=""
  EXPECT_THAT(ListGpus(FakeDriver(), FakeQueries()).why_none, HasSubstr("shows no device"));
}

}  // namespace
}  // namespace pipesim::engine
