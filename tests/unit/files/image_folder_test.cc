// A folder of JPEGs as a SampleSource: order, labels, sizes, decoded values and bad files. The
// pictures are generated here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "engine/files/jpeg_writer.h"
#include "engine/sample_source.h"
#include "support/test_folder.h"

namespace pipesim::engine {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;
using Pixel = std::array<std::uint8_t, 4>;

/// A picture whose pixel at (x, y) is color(x, y), its first `channels` values.
template <class Color>
Picture Paint(ImageSize size, int channels, Color color) {
  Picture picture{size, channels, {}};
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const Pixel pixel = color(x, y);
      picture.pixels.insert(picture.pixels.end(), pixel.begin(), pixel.begin() + channels);
    }
  }
  return picture;
}

Bytes OneColor(ImageSize size, Pixel pixel, int channels = 3) {
  return EncodeJpeg(Paint(size, channels, [&](int, int) { return pixel; }), 95);
}

class ImageFolderTest : public ::testing::Test {
 protected:
  ImageFolderTest() {
    storage_.kind = spec::StorageKind::kFiles;
    storage_.path = root_;
    dataset_.shape = {3, 8, 8};
    dataset_.classes = 1000;
  }

  void Put(const std::string& name, const Bytes& content) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()),
               static_cast<std::streamsize>(content.size()));
  }
  void PutText(const std::string& name, std::string_view text) {
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    Put(name, {begin, begin + text.size()});
  }
  std::unique_ptr<SampleSource> Open() { return OpenImageFolder(storage_, dataset_); }

  template <class T>
  std::vector<T> Prepared(std::int64_t sample = 0) {
    const auto source = Open();
    Bytes raw, out(static_cast<std::size_t>(spec::PreparedBytes(dataset_).count));
    const auto stored = source->Read(sample, raw);
    source->Prepare(sample, stored, out);
    std::vector<T> values(out.size() / sizeof(T));
    std::memcpy(values.data(), out.data(), out.size());
    return values;
  }
  /// Why a file with `content` is refused; "" if it is read and prepared.
  std::string Refusal(const Bytes& content) {
    Put("a/1.jpg", content);
    try {
      Prepared<std::uint8_t>();
    } catch (const BadSample& error) {
      EXPECT_EQ(error.item, (root_ / "a/1.jpg").string());
      return error.reason;
    }
    return "";
  }

  support::TemporaryFolder temporary_;
  const fs::path root_ = temporary_.path();
  spec::Storage storage_;
  spec::Dataset dataset_;
};

TEST_F(ImageFolderTest, ClassesAndFilesAreSortedByName) {
  const Bytes red = OneColor({8, 8}, {255, 0, 0});
  for (const char* name : {"b/2.jpg", "b/10.JPEG", "a/z.JpG", "c/deeper/x.jpeg", "b/1.jpg"}) {
    Put(name, red);
  }
  PutText("b/notes.txt", "not an image");
  PutText("labels.txt", "nor this");
  fs::create_directories(root_ / "empty");
  fs::create_directories(root_ / "a" / "folder.jpg");

  const auto source = Open();

  ASSERT_EQ(source->size(), 5);
  EXPECT_EQ(source->classes(), 3);  // `empty` has no image, so it is not a class
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 5; ++i) labels.push_back(source->Label(i));
  EXPECT_EQ(labels, (std::vector<std::int64_t>{0, 1, 1, 1, 2}));
  // b/1.jpg < b/10.JPEG < b/2.jpg byte by byte: break the middle one and see which sample names it.
  PutText("b/10.JPEG", "");
  Bytes raw, out(3 * 8 * 8);
  const auto stored = source->Read(2, raw);
  EXPECT_THAT([&] { source->Prepare(2, stored, out); },
              testing::Throws<BadSample>(testing::Field(&BadSample::item, EndsWith("b/10.JPEG"))));
}

TEST_F(ImageFolderTest, SummaryCountsAndAveragesTheSizes) {
  PutText("a/1.jpg", std::string(100, 'x'));
  PutText("a/2.jpg", std::string(300, 'x'));
  PutText("b/1.jpg", std::string(800, 'x'));
  const ImageFolderSummary summary = SummarizeImageFolder(root_);
  EXPECT_EQ(summary.samples, 3);
  EXPECT_EQ(summary.classes, 2);
  EXPECT_EQ(summary.mean_sample_bytes.count, 400);  // (100 + 300 + 800) / 3
}

TEST_F(ImageFolderTest, MeanSizeOfManyFilesUsesAThousandSpreadEvenly) {
  // 3,000 files, every third of 300 bytes and the others empty: every third is sampled.
  for (int i = 0; i < 3000; ++i) {
    PutText(fmt::format("a/{:04}.jpg", i), i % 3 == 0 ? std::string(300, 'x') : "");
  }
  const ImageFolderSummary summary = SummarizeImageFolder(root_);
  EXPECT_EQ(summary.samples, 3000);
  EXPECT_EQ(summary.mean_sample_bytes.count, 300);
}

TEST_F(ImageFolderTest, ReportsWhatIsWrongWithAFolder) {
  const auto error = [&](const fs::path& path) -> std::string {
    try {
      SummarizeImageFolder(path);
    } catch (const base::EnvironmentError& failure) {
      return failure.what();
    }
    return "";
  };
  EXPECT_THAT(error(root_ / "nowhere"), AllOf(HasSubstr("nowhere"), HasSubstr("No such file")));
  EXPECT_THAT(error(root_), AllOf(HasSubstr("no subfolder"), HasSubstr("tools/make_dataset")));
  PutText("1.jpg", "x");
  EXPECT_THAT(error(root_), HasSubstr("holds 1 JPEG files but none in a subfolder"));
  EXPECT_THAT(error(root_ / "1.jpg"), HasSubstr("Not a directory"));
}

TEST_F(ImageFolderTest, RefusesSamplesThatImagesCannotProduce) {
  Put("a/1.jpg", OneColor({8, 8}, {0, 0, 0}));
  Put("b/1.jpg", OneColor({8, 8}, {0, 0, 0}));
  dataset_.classes = 1;
  EXPECT_THROW(Open(), base::EnvironmentError);  // labels 0 and 1 would not fit
  dataset_.classes = 2;
  EXPECT_NO_THROW(Open());
  dataset_.dtype = spec::DType::kInt64;
  EXPECT_THROW(Open(), base::EnvironmentError);
  dataset_.dtype = spec::DType::kUint8;
  for (const spec::Shape& shape : {spec::Shape{784}, spec::Shape{2, 8, 8}, spec::Shape{3, 0, 8}}) {
    dataset_.shape = shape;
    EXPECT_THROW(Open(), base::EnvironmentError) << spec::ToText(shape);
  }
}

TEST_F(ImageFolderTest, OneColourStaysThatColourInEachPlane) {
  Put("a/1.jpg", OneColor({100, 60}, {200, 120, 40}));
  const auto values = Prepared<std::uint8_t>();
  for (int c = 0; c < 3; ++c) {
    const int expected = std::array{200, 120, 40}[static_cast<std::size_t>(c)];
    for (int i = 0; i < 64; ++i) {
      ASSERT_NEAR(values[static_cast<std::size_t>(c * 64 + i)], expected, 3);  // JPEG's own loss
    }
  }
}

TEST_F(ImageFolderTest, FloatsAreNormalisedByImageNetsMeanAndDeviation) {
  Put("a/1.jpg", OneColor({32, 32}, {255, 0, 128}));
  dataset_.dtype = spec::DType::kFloat32;
  const auto values = Prepared<float>();
  EXPECT_NEAR(values[0], (1 - 0.485) / 0.229, 0.06);              // red 255; 0.06 = 3/255/0.229
  EXPECT_NEAR(values[64], (0 - 0.456) / 0.224, 0.06);             // green 0
  EXPECT_NEAR(values[128], (128 / 255.0 - 0.406) / 0.225, 0.06);  // blue 128
}

TEST_F(ImageFolderTest, KeepsTheMiddleOfAWidePicture) {
  // Three squares side by side: red, green, blue. The shorter side is one square, so green stays.
  Put("a/1.jpg",
      EncodeJpeg(
          Paint({192, 64}, 3,
                [](int x, int) {
                  return x < 64 ? Pixel{255, 0, 0} : x < 128 ? Pixel{0, 255, 0} : Pixel{0, 0, 255};
                }),
          95));
  const auto values = Prepared<std::uint8_t>();
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 1; x < 7; ++x) {  // the outermost columns touch the neighbours
      EXPECT_LT(values[y * 8 + x], 60);
      EXPECT_GT(values[64 + y * 8 + x], 195);
      EXPECT_LT(values[128 + y * 8 + x], 60);
    }
  }
}

TEST_F(ImageFolderTest, AGradientSurvivesAnyResize) {
  // Value = 255 × (x + ½) / width, so output column i of 8 reads 255 × (i + ½) / 8.
  for (const ImageSize size : {ImageSize{8, 8}, {64, 64}, {77, 77}, {500, 500}, {5, 5}}) {
    Put("a/1.jpg", EncodeJpeg(Paint(size, 1,
                                    [&](int x, int) {
                                      const auto v =
                                          static_cast<std::uint8_t>(255 * (x + 0.5) / size.width);
                                      return Pixel{v, v, v};
                                    }),
                              100));
    const auto values = Prepared<std::uint8_t>();
    for (std::size_t i = 1; i < 7; ++i) {
      EXPECT_NEAR(values[4 * 8 + i], 255 * (static_cast<double>(i) + 0.5) / 8, 6)
          << size.width << ", column " << i;
    }
  }
}

TEST_F(ImageFolderTest, TallTargetsAreCoveredToo) {
  dataset_.shape = {3, 32, 8};
  Put("a/1.jpg", OneColor({40, 20}, {10, 200, 90}));
  const auto values = Prepared<std::uint8_t>();
  ASSERT_EQ(values.size(), 3u * 32 * 8);
  for (std::size_t i = 0; i < 256; ++i) ASSERT_NEAR(values[256 + i], 200, 3);
}

TEST_F(ImageFolderTest, GreyAndCmykFilesBecomeColourAndColourBecomesGrey) {
  Put("a/1-grey.jpg", OneColor({16, 16}, {77}, 1));
  // Inverted as Adobe stores it: full light of cyan's and yellow's complement at 100/255 of black.
  Put("a/2-cmyk.jpg", OneColor({16, 16}, {255, 128, 0, 100}, 4));
  Put("a/3-colour.jpg", OneColor({16, 16}, {255, 0, 0}));

  const auto grey = Prepared<std::uint8_t>(0);
  for (const std::size_t plane : {0u, 64u, 128u}) EXPECT_NEAR(grey[plane], 77, 3);
  const auto cmyk = Prepared<std::uint8_t>(1);
  EXPECT_NEAR(cmyk[0], 255 * 100 / 255, 3);
  EXPECT_NEAR(cmyk[64], 128 * 100 / 255, 3);
  EXPECT_NEAR(cmyk[128], 0, 3);

  dataset_.shape = {1, 8, 8};
  EXPECT_NEAR(Prepared<std::uint8_t>(0)[0], 77, 3);
  EXPECT_NEAR(Prepared<std::uint8_t>(1)[0], 0.299 * 100 + 0.587 * 50, 3);  // BT.601 luma
  EXPECT_NEAR(Prepared<std::uint8_t>(2)[0], 0.299 * 255, 3);
}

TEST_F(ImageFolderTest, FilesOfOtherFormatsAreNamed) {
  const auto bytes = [](std::string_view text) {
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return Bytes(begin, begin + text.size());
  };
  EXPECT_EQ(Refusal(bytes("\x89PNG\r\n\x1a\n....")), "a PNG file, not a JPEG");
  EXPECT_EQ(Refusal(bytes("GIF89a")), "a GIF file, not a JPEG");
  EXPECT_EQ(Refusal(bytes("RIFF....WEBPVP8 ")), "a WebP file, not a JPEG");
  EXPECT_EQ(Refusal(bytes("RIFF..")), "not a JPEG");  // cut off
  EXPECT_EQ(Refusal(bytes("hello")), "not a JPEG");
  EXPECT_EQ(Refusal({}), "empty");
}

TEST_F(ImageFolderTest, DirectReadingGivesTheSameBytesOrIsRefusedBeforeTheRun) {
  std::vector<std::string> contents;
  for (const std::size_t size : {1u, 511u, 4096u, 4097u, 20'000u}) {
    contents.emplace_back(size, static_cast<char>('a' + contents.size()));
    PutText("a/" + std::to_string(contents.size()) + ".jpg", contents.back());
  }
  storage_.direct = true;
  std::unique_ptr<SampleSource> source;
  try {
    source = Open();
  } catch (const base::EnvironmentError& refusal) {
    EXPECT_THAT(refusal.what(), AllOf(HasSubstr("storage.direct"), HasSubstr(root_.string()),
                                      HasSubstr("Invalid argument")));
    GTEST_SKIP() << "the file system here gives no direct reading";
  }
  Bytes buffer;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto stored = source->Read(static_cast<std::int64_t>(i), buffer);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(stored.data()), stored.size()),
              contents[i]);
  }
}

TEST_F(ImageFolderTest, UnreadableFilesAreReportedWithErrno) {
  Put("a/1.jpg", OneColor({8, 8}, {0, 0, 0}));
  const auto source = Open();
  Bytes raw;
  const auto reason = [&]() -> std::string {
    try {
      source->Read(0, raw);
    } catch (const BadSample& error) {
      EXPECT_EQ(error.item, (root_ / "a/1.jpg").string());
      return error.reason;
    }
    return "";
  };
  fs::remove(root_ / "a/1.jpg");
  EXPECT_THAT(reason(), HasSubstr("No such file"));
  ASSERT_EQ(::mkfifo((root_ / "a/1.jpg").c_str(), 0600), 0);  // must not wait for a writer
  EXPECT_EQ(reason(), "not a regular file");
}

Bytes Noisy(ImageSize size, int channels) {
  std::uint32_t state = 1;
  return EncodeJpeg(Paint(size, channels,
                          [&](int, int) {
                            Pixel pixel;
                            for (auto& value : pixel) {
                              state =
                                  state * 1664525U + 1013904223U;  // Numerical Recipes' generator
                              value = static_cast<std::uint8_t>(state >> 24U);
                            }
                            return pixel;
                          }),
                    90);
}

TEST_F(ImageFolderTest, EveryTruncationIsRefused) {
  const Bytes whole = Noisy({64, 48}, 3);
  ASSERT_EQ(Refusal(whole), "");
  for (std::size_t keep = 2; keep < whole.size(); keep += 1 + whole.size() / 200) {
    const std::string reason = Refusal({whole.begin(), whole.begin() + static_cast<long>(keep)});
    ASSERT_THAT(reason, testing::StartsWith("truncated")) << keep << " of " << whole.size();
  }
}

TEST_F(ImageFolderTest, ATruncationBelowTheCropIsRefusedToo) {
  const Bytes whole = Noisy({32, 320}, 3);  // the crop is the middle tenth
  EXPECT_THAT(Refusal({whole.begin(), whole.end() - 40}), testing::StartsWith("truncated"));
}

/// The header of a progressive picture of `side` x `side` pixels in full colour, 4:2:0.
Bytes ProgressiveHeader(std::uint16_t side) {
  const int high = side >> 8, low = side & 0xFF;
  Bytes header;
  for (const int byte : {0xFF, 0xD8,                                          // start of image
                         0xFF, 0xC2, 0, 17, 8, high, low, high, low,          // progressive frame
                         3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1,               // its components
                         0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 63, 0})                // a scan
    header.push_back(static_cast<std::byte>(byte));
  return header;
}

TEST_F(ImageFolderTest, AProgressivePictureThatTakesGigabytesIsRefused) {
  EXPECT_EQ(Refusal(ProgressiveHeader(43'176)),
            "too large: 43176 x 43176 pixels in several scans take 5.6 GB to decode");
  EXPECT_THAT(Refusal(ProgressiveHeader(16'000)), testing::Not(testing::StartsWith("too large")));
}

RC_GTEST_FIXTURE_PROP(ImageFolderTest, DamagedBytesOnlyEverThrowBadSample, ()) {
  Bytes content = Noisy({24, 16}, *rc::gen::element(1, 3, 4));
  const int flips = *rc::gen::inRange(1, 6);
  for (int i = 0; i < flips; ++i) {
    content[*rc::gen::inRange<std::size_t>(0, content.size())] =
        std::byte{*rc::gen::arbitrary<std::uint8_t>()};
  }
  Refusal(content);  // lets no exception but BadSample pass
}

TEST_F(ImageFolderTest, WorkersMayDecodeConcurrently) {
  for (int i = 0; i < 8; ++i) {
    const auto value = static_cast<std::uint8_t>(30 * i);
    Put(fmt::format("a/{}.jpg", i), OneColor({64, 64}, {value, value, value}));
  }
  const auto source = Open();
  std::vector<std::thread> workers;
  std::vector<int> wrong(4, 0);
  for (std::size_t w = 0; w < wrong.size(); ++w) {
    workers.emplace_back([&, w] {
      Bytes raw, out(3 * 8 * 8);
      for (int n = 0; n < 100; ++n) {
        const std::int64_t sample = (n + static_cast<std::int64_t>(w)) % 8;
        const auto stored = source->Read(sample, raw);
        source->Prepare(sample, stored, out);
        if (std::abs(static_cast<int>(out[0]) - 30 * static_cast<int>(sample)) > 3) ++wrong[w];
      }
    });
  }
  for (auto& worker : workers) worker.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

}  // namespace
}  // namespace pipesim::engine
