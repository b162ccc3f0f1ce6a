// Counts what training holds on a device, part by part, at the moment when it is most. Nothing is
// really allocated.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace pipesim::cost {

/// CUDACachingAllocator hands out and counts multiples of 512 bytes (kMinBlockSize, PyTorch 2.11).
constexpr double kBlockBytes = 512;

enum Part { kParameters, kGradients, kState, kActivations, kWorkspaces, kInputs, kParts };

/// Counts live bytes by part and keeps the moment of the largest sum.
class DeviceHeap {
 public:
  using Live = std::array<double, kParts>;

  /// A block with one holder.
  int New(double bytes, Part part) {
    bytes = std::ceil(bytes / kBlockBytes) * kBlockBytes;
    blocks_.push_back({bytes, part, 1});
    live_[part] += bytes;
    total_ += bytes;
    if (total_ > peak_total_) peak_total_ = total_, peak_ = live_;
    return static_cast<int>(blocks_.size()) - 1;
  }
  int Hold(int block) {
    ++blocks_[static_cast<std::size_t>(block)].holders;
    return block;
  }
  void Release(int block) {
    Block& given = blocks_[static_cast<std::size_t>(block)];
    if (--given.holders > 0) return;
    live_[given.part] -= given.bytes;
    total_ -= given.bytes;
  }
  /// Allocated and given back at once.
  void Touch(double bytes, Part part) {
    if (bytes > 0) Release(New(bytes, part));
  }
  const Live& peak() const { return peak_; }

 private:
  struct Block {
    double bytes;
    Part part;
    int holders;
  };
  std::vector<Block> blocks_;
  Live live_{}, peak_{};
  double total_ = 0, peak_total_ = 0;
};

}  // namespace pipesim::cost
