// Writes pictures of several sizes and colours for the fuzzer `jpeg`: jpeg_seeds FOLDER
#include <fstream>
#include <iostream>
#include <string>

#include "engine/files/jpeg_writer.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "jpeg_seeds takes one folder\n", 2;
  using pipesim::engine::ImageSize;
  for (const ImageSize size : {ImageSize{16, 16}, {1, 1}, {9, 70}, {120, 33}})
    for (const int channels : {1, 3, 4})
      for (const int quality : {5, 95}) {
        pipesim::engine::Picture picture{size, channels, {}};
        picture.pixels.resize(static_cast<std::size_t>(size.width * size.height * channels));
        for (std::size_t i = 0; i < picture.pixels.size(); ++i)
          picture.pixels[i] = static_cast<std::uint8_t>(i * i / 7 + i * 13);
        const auto bytes = pipesim::engine::EncodeJpeg(picture, quality);
        const std::string name = std::to_string(size.width) + "x" + std::to_string(size.height) +
                                 "-" + std::to_string(channels) + "-" + std::to_string(quality);
        std::ofstream(std::string(argv[1]) + "/" + name + ".jpg", std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
      }
}
