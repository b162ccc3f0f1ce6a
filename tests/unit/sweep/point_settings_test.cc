// The settings of a sweep's points: what they share, and the sets in which they differ.
#include "sweep/point_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pipesim::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;

SettingMap Settings(const std::map<std::string, std::string>& texts) {
  SettingMap settings;
  for (const auto& [key, text] : texts) settings[key] = {text, spec::Origin::kPreset};
  return settings;
}

TEST(PointSettings, HoldEachDifferentSetOnce) {
  SettingsCollector collector({"loader.workers"});
  for (const char* workers : {"1", "2"})
    for (const char* latency : {"11ms", "45us"})
      collector.Add(Settings({{"loader.workers", workers}, {"storage.latency", latency}, {"run.seed", "1"}}));
  const PointSettings settings = collector.Take();
  EXPECT_THAT(settings.shared, ElementsAre(Key("run.seed")));
  ASSERT_EQ(settings.sets.size(), 2u);
  EXPECT_EQ(settings.sets[0], Settings({{"storage.latency", "11ms"}}));
  EXPECT_EQ(settings.sets[1], Settings({{"storage.latency", "45us"}}));
  EXPECT_THAT(settings.of_point, ElementsAre(0, 1, 0, 1));
}

TEST(PointSettings, ThatSomePointsLackAreInTheSetsOfTheOthers) {
  SettingsCollector collector({"storage"});
  collector.Add(Settings({{"storage.preset", "hdd"}}));
  collector.Add(Settings({}));
  collector.Add(Settings({{"storage.path", "photos"}}));
  const PointSettings settings = collector.Take();
  EXPECT_THAT(settings.shared, IsEmpty());
  EXPECT_THAT(settings.sets,
              ElementsAre(Settings({{"storage.preset", "hdd"}}), Settings({}), Settings({{"storage.path", "photos"}})));
}

TEST(PointSettings, WithoutADifferenceThereAreNoSets) {
  SettingsCollector collector({"loader.workers"});
  for (const char* workers : {"1", "2"}) collector.Add(Settings({{"loader.workers", workers}, {"run.seed", "1"}}));
  const PointSettings settings = collector.Take();
  EXPECT_EQ(settings.shared, Settings({{"run.seed", "1"}}));
  EXPECT_THAT(settings.sets, IsEmpty());
  EXPECT_THAT(settings.of_point, IsEmpty());
}

}  // namespace
}  // namespace pipesim::sweep
