// Reads a file as a stream, unpacked where it is gzip. Holds two pieces of it at a time.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <streambuf>
#include <vector>

struct z_stream_s;

namespace pipesim::interop {

class PackedFile final : public std::streambuf {
 public:
  /// Throws base::EnvironmentError when the file cannot be read.
  explicit PackedFile(const std::filesystem::path& path);
  ~PackedFile() override;

  bool packed() const { return stream_ != nullptr; }
  /// A packed file that ends in the middle, or whose packing is damaged; what came before was read.
  bool broken() const { return broken_; }

 protected:
  int_type underflow() override;

 private:
  std::size_t Fill();
  std::size_t Unpack();

  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unique_ptr<z_stream_s> stream_;  ///< nullptr: the file is not packed
  std::vector<char> packed_, text_;
  bool broken_ = false, ended_ = false;
};

}  // namespace pipesim::interop
