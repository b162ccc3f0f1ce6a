// The bytes of a JPEG file, decoded to several sizes and types.
#include <fstream>

#include "engine/sample_source.h"
#include "fuzz.h"

namespace pipesim::fuzz {
namespace {

struct Target {
  std::unique_ptr<engine::SampleSource> source;
  std::size_t bytes;
};

/// A source needs a folder with a file only to be made.
Target Decoding(const spec::Shape& shape, spec::DType dtype) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "class");
  std::ofstream(folder.path() / "class" / "fuzzed.jpg") << "x";
  spec::Storage storage;
  storage.kind = spec::StorageKind::kFiles;
  storage.path = folder.path();
  spec::Dataset dataset;
  dataset.shape = shape;
  dataset.dtype = dtype;
  dataset.classes = 1;
  return {engine::OpenImageFolder(storage, dataset),
          static_cast<std::size_t>(spec::Elements(shape) * spec::SizeOf(dtype))};
}

void Decode(const Target& target, std::string_view input) {
  // As large as promised, so that a byte more is found.
  std::vector<std::byte> out(target.bytes);
  const auto* data = reinterpret_cast<const std::byte*>(input.data());
  try {
    target.source->Prepare(0, {data, input.size()}, out);
  } catch (const engine::BadSample& error) {
    Require(!error.reason.empty(), "a bad file has a reason");
    RequirePrintable(error.reason);
  }
}

}  // namespace

void Try(std::string_view input) {
  static const Target kTargets[] = {Decoding({3, 16, 24}, spec::DType::kUint8),
                                    Decoding({1, 9, 7}, spec::DType::kFloat32),
                                    Decoding({3, 40, 1}, spec::DType::kFloat32)};
  for (const Target& target : kTargets) Decode(target, input);
}

}  // namespace pipesim::fuzz
