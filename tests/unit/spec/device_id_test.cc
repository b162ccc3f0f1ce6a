#include "spec/device_id.h"

#include <gtest/gtest.h>

namespace pipesim::spec {
namespace {

TEST(DeviceId, ReadsWhatItWrites) {
  for (const DeviceId device :
       {DeviceId{}, DeviceId::Cpu(), DeviceId::Emulated(), DeviceId::Cuda(0), DeviceId::Cuda(12)})
    EXPECT_EQ(ParseDevice(ToText(device)), device) << ToText(device);
  EXPECT_EQ(ToText(DeviceId::Cuda(1)), "cuda:1");
}

TEST(DeviceId, CudaAloneIsItsFirstDevice) { EXPECT_EQ(ParseDevice("cuda"), DeviceId::Cuda(0)); }

TEST(DeviceId, NothingElseIsADevice) {
  for (const char* text : {"", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:1024", "rtx-4060"})
    EXPECT_EQ(ParseDevice(text), std::nullopt) << text;
}

}  // namespace
}  // namespace pipesim::spec
