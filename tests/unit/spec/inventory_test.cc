#include "spec/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pipesim::spec {
namespace {

using testing::ElementsAre;

std::vector<Gpu> TwoGpus() {
  std::vector<Gpu> gpus(2);
  gpus[0].id = DeviceId::Cuda(0);
  gpus[1].id = DeviceId::Cuda(1);
  return gpus;
}

TEST(Inventory, ADeviceThatIsAbsentIsTheCpu) {
  EXPECT_EQ(IfThere(DeviceId::Cuda(1), TwoGpus()), DeviceId::Cuda(1));
  EXPECT_EQ(IfThere(DeviceId::Cuda(2), TwoGpus()), DeviceId::Cpu());
  EXPECT_EQ(IfThere(DeviceId::Cuda(0), {}), DeviceId::Cpu());
}

TEST(Inventory, AllDevicesAreTheGpusOrTheCpu) {
  EXPECT_THAT(AllGpusOrCpu(TwoGpus()), ElementsAre(DeviceId::Cuda(0), DeviceId::Cuda(1)));
  EXPECT_THAT(AllGpusOrCpu({}), ElementsAre(DeviceId::Cpu()));
}

// The usual figures: 4.0, 15.75 and 63.0 GB/s (PCI-SIG, FAQ on PCI Express 3.0 and 5.0).
TEST(Inventory, APcieLinkCarriesItsLanesAfterLineCoding) {
  EXPECT_NEAR(BandwidthOf({1, 16})->per_s, 4.0e9, 1e6);
  EXPECT_NEAR(BandwidthOf({3, 16})->per_s, 15.75e9, 1e7);
  EXPECT_NEAR(BandwidthOf({5, 16})->per_s, 63.0e9, 1e8);
  EXPECT_EQ(BandwidthOf({9, 16}), std::nullopt);
}

}  // namespace
}  // namespace pipesim::spec
