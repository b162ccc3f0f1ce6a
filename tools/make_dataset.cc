// make_dataset DIR: writes a folder of generated JPEGs, one subfolder per class. Each class has its
// own colour and stripe pattern under noise, so that a model can learn it and its loss falls.
// tools/make_dataset builds and runs this.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numbers>
#include <thread>

#define CXXOPTS_NO_REGEX  // <regex> takes four seconds to compile
// A folder's name may hold a comma.
#define CXXOPTS_VECTOR_DELIMITER '\0'
#include <cxxopts.hpp>

#include "base/random.h"
#include "engine/files/jpeg_writer.h"

namespace {

namespace fs = std::filesystem;
using pipesim::base::KeyedStream;
using pipesim::engine::ImageSize;
using pipesim::engine::Picture;

struct Plan {
  fs::path folder;
  int classes = 10;
  int per_class = 100;
  ImageSize size{256, 256};
  std::uint64_t seed = 1;
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class T>
T ReadNumber(std::string_view text, std::string_view flag, T low, T high) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
    throw UsageError(
        fmt::format("--{} takes a whole number from {} to {}, not '{}'", flag, low, high, text));
  }
  return value;
}

ImageSize ReadSize(const std::string& text) {
  constexpr int kLargestSide = 65500;  // JPEG_MAX_DIMENSION of libjpeg
  const std::size_t x = text.find('x');
  if (x == std::string::npos) {
    throw UsageError(fmt::format("--size takes WIDTHxHEIGHT, as in 256x256, not '{}'", text));
  }
  return {ReadNumber(text.substr(0, x), "size", 1, kLargestSide),
          ReadNumber(text.substr(x + 1), "size", 1, kLargestSide)};
}

constexpr double kTurn = 2 * std::numbers::pi;

/// The look of a class.
struct Look {
  std::array<double, 3> colour;  ///< mean R, G, B, 0..255
  double stripes_x, stripes_y;   ///< stripes across the picture's width and height
};

Look LookOf(int index, int classes) {
  const double turn = static_cast<double>(index) / classes;
  Look look{};
  for (std::size_t c = 0; c < 3; ++c) {
    look.colour[c] = 128 + 60 * std::cos(kTurn * (turn - static_cast<double>(c) / 3));
  }
  // Classes of similar colour get different stripes: the golden ratio spreads the angles.
  const double angle = std::numbers::pi * std::fmod(index * std::numbers::phi, 1.0);
  const double stripes = 4 + 4 * (index % 3);
  look.stripes_x = stripes * std::cos(angle);
  look.stripes_y = stripes * std::sin(angle);
  return look;
}

Picture Draw(const Plan& plan, int index, int number) {
  const Look look = LookOf(index, plan.classes);
  KeyedStream random(plan.seed, pipesim::base::Stage::kSampleBytes,
                     static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(number));
  const double phase = random.NextUnit(), light = 40 * (random.NextUnit() - 0.5);
  Picture picture{plan.size, 3, {}};
  picture.pixels.reserve(static_cast<std::size_t>(plan.size.width) *
                         static_cast<std::size_t>(plan.size.height) * 3);
  for (int y = 0; y < plan.size.height; ++y) {
    for (int x = 0; x < plan.size.width; ++x) {
      const double wave = std::sin(kTurn * (phase + look.stripes_x * x / plan.size.width +
                                            look.stripes_y * y / plan.size.height));
      const std::uint64_t noise = random.Next();  // one byte per channel
      for (std::size_t c = 0; c < 3; ++c) {
        const double speck = static_cast<double>((noise >> (8 * c)) & 0xFF) / 255 - 0.5;
        const double value = look.colour[c] + light + 40 * wave + 60 * speck;
        picture.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)));
      }
    }
  }
  return picture;
}

std::string ClassName(const Plan& plan, int index) {
  const std::size_t digits = fmt::formatted_size("{}", plan.classes - 1);
  return fmt::format("class{:0{}}", index, digits);
}

/// Returns the file's size in bytes.
std::size_t WritePicture(const Plan& plan, int index, int number) {
  constexpr int kQuality = 90;  // common for photographs
  const auto bytes = pipesim::engine::EncodeJpeg(Draw(plan, index, number), kQuality);
  const fs::path path = plan.folder / ClassName(plan, index) / fmt::format("{:06}.jpg", number);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file)
    throw std::runtime_error(fmt::format("cannot write {}: is the disk full?", path.string()));
  return bytes.size();
}

/// Returns the sum of the files' sizes in bytes.
std::size_t WriteAll(const Plan& plan) {
  const std::int64_t total = static_cast<std::int64_t>(plan.classes) * plan.per_class;
  std::atomic<std::int64_t> next{0};
  std::atomic<std::size_t> written{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::int64_t i = next++; i < total; i = next++) {
        written += WritePicture(plan, static_cast<int>(i / plan.per_class),
                                static_cast<int>(i % plan.per_class));
      }
    } catch (...) {
      next = total;  // stops the other threads
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return written;
}

void MakeFolders(const Plan& plan) {
  if (fs::exists(plan.folder) && !(fs::is_directory(plan.folder) && fs::is_empty(plan.folder))) {
    throw std::runtime_error(fmt::format(
        "{} exists and is not an empty folder; choose another name", plan.folder.string()));
  }
  for (int i = 0; i < plan.classes; ++i) fs::create_directories(plan.folder / ClassName(plan, i));
}

int Run(int argc, char** argv) {
  cxxopts::Options options(
      "tools/make_dataset",
      "Writes a folder of JPEGs that a model can learn, one subfolder per class.\n");
  options.custom_help("DIR [flags]").positional_help("");
  options.add_options()("classes", "subfolders",
                        cxxopts::value<std::string>()->default_value("10"))(
      "per-class", "files per subfolder", cxxopts::value<std::string>()->default_value("100"))(
      "size", "WIDTHxHEIGHT", cxxopts::value<std::string>()->default_value("256x256"))(
      "seed", "the same seed gives the same pictures",
      cxxopts::value<std::string>()->default_value("1"))("help", "show this help")(
      "dir", "", cxxopts::value<std::vector<std::string>>());
  options.parse_positional({"dir"});
  const auto typed = options.parse(argc, argv);
  if (typed.count("help") > 0) {
    fmt::print("{}\n", options.help());
    return 0;
  }
  const auto folders = typed.count("dir") > 0 ? typed["dir"].as<std::vector<std::string>>()
                                              : std::vector<std::string>{};
  if (folders.size() != 1) throw UsageError("name one folder to write: tools/make_dataset DIR");
  constexpr int kMost = 1'000'000;  // file names have six digits
  Plan plan{
      .folder = folders[0],
      .classes = ReadNumber(typed["classes"].as<std::string>(), "classes", 1, 100'000),
      .per_class = ReadNumber(typed["per-class"].as<std::string>(), "per-class", 1, kMost),
      .size = ReadSize(typed["size"].as<std::string>()),
      .seed = ReadNumber<std::uint64_t>(typed["seed"].as<std::string>(), "seed", 0, UINT64_MAX)};
  MakeFolders(plan);
  const std::size_t bytes = WriteAll(plan);
  fmt::print("{} JPEGs of {}x{} in {} classes, {:.1f} MB, in {}\n",
             static_cast<std::int64_t>(plan.classes) * plan.per_class, plan.size.width,
             plan.size.height, plan.classes, static_cast<double>(bytes) / 1e6,
             plan.folder.string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const UsageError& error) {
    fmt::print(stderr, "make_dataset: {}\n", error.what());
    return 2;
  } catch (const cxxopts::exceptions::exception& error) {
    fmt::print(stderr, "make_dataset: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "make_dataset: {}\n", error.what());
    return 3;
  }
}
