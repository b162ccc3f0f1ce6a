// The words of the experiment file and their enum values, one table for reading and writing.
#pragma once

#include <array>
#include <span>
#include <string>

#include "spec/experiment.h"
#include "spec/map_reader.h"

namespace pipesim::spec {

inline constexpr std::array<Named<DType>, 5> kDTypes{{{"uint8", DType::kUint8},
                                                      {"float32", DType::kFloat32},
                                                      {"float16", DType::kFloat16},
                                                      {"bfloat16", DType::kBfloat16},
                                                      {"int64", DType::kInt64}}};
inline constexpr std::array<Named<CachePolicy>, 3> kCachePolicies{
    {{"none", CachePolicy::kNone}, {"lru", CachePolicy::kLru}, {"random", CachePolicy::kRandom}}};
inline constexpr std::array<Named<StorageKind>, 3> kStorageKinds{
    {{"none", StorageKind::kNone},
     {"emulated", StorageKind::kEmulated},
     {"files", StorageKind::kFiles}}};
inline constexpr std::array<Named<StorageSharing>, 2> kStorageSharings{
    {{"fifo", StorageSharing::kFifo}, {"fair", StorageSharing::kFair}}};
inline constexpr std::array<Named<FileCacheState>, 3> kFileCacheStates{
    {{"as_is", FileCacheState::kAsIs},
     {"cold", FileCacheState::kCold},
     {"warm", FileCacheState::kWarm}}};
inline constexpr std::array<Named<OnBadFile>, 2> kOnBadFile{
    {{"fail", OnBadFile::kFail}, {"skip", OnBadFile::kSkip}}};
inline constexpr std::array<Named<PrepareKind>, 4> kPrepareKinds{
    {{"none", PrepareKind::kNone},
     {"burn", PrepareKind::kBurn},
     {"wait", PrepareKind::kWait},
     {"decode", PrepareKind::kDecode}}};
inline constexpr std::array<Named<LoaderKind>, 2> kLoaderKinds{
    {{"thread", LoaderKind::kThread}, {"process", LoaderKind::kProcess}}};
inline constexpr std::array<Named<StartMethod>, 3> kStartMethods{
    {{"fork", StartMethod::kFork},
     {"forkserver", StartMethod::kForkserver},
     {"spawn", StartMethod::kSpawn}}};
inline constexpr std::array<Named<Dispatch>, 2> kDispatches{
    {{"round_robin", Dispatch::kRoundRobin}, {"shared", Dispatch::kShared}}};
inline constexpr std::array<Named<QueueKind>, 3> kQueueKinds{
    {{"tbb", QueueKind::kTbb}, {"lockfree", QueueKind::kLockfree}, {"mutex", QueueKind::kMutex}}};
inline constexpr std::array<Named<Buffers>, 2> kBuffers{
    {{"recycled", Buffers::kRecycled}, {"fresh", Buffers::kFresh}}};
inline constexpr std::array<Named<CollateInto>, 2> kCollateInto{
    {{"pageable", CollateInto::kPageable}, {"pinned", CollateInto::kPinned}}};
inline constexpr std::array<Named<OmpWait>, 2> kOmpWaits{
    {{"default", OmpWait::kDefault}, {"passive", OmpWait::kPassive}}};
inline constexpr std::array<Named<Probes>, 2> kProbes{
    {{"auto", Probes::kAuto}, {"off", Probes::kOff}}};
inline constexpr std::array<Named<Precision>, 3> kPrecisions{
    {{"fp32", Precision::kFp32}, {"tf32", Precision::kTf32}, {"bf16", Precision::kBf16}}};
inline constexpr std::array<Named<Optimizer>, 3> kOptimizers{
    {{"sgd", Optimizer::kSgd}, {"momentum", Optimizer::kMomentum}, {"adam", Optimizer::kAdam}}};

template <class T, std::size_t kSize>
std::string WordOf(const std::array<Named<T>, kSize>& words, T value) {
  for (const auto& word : words) {
    if (word.value == value) return std::string(word.name);
  }
  return {};
}

template <class T, std::size_t kSize>
bool ReadWord(MapReader& reader, std::string_view key, const std::array<Named<T>, kSize>& words,
              T& out) {
  return reader.Choice(key, std::span<const Named<T>>(words), out);
}

}  // namespace pipesim::spec
