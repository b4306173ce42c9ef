#include "plan/capture.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <vostok/vostok.hpp>

#include "base/temporary_folder.hpp"
#include "sparse/generate.hpp"
#include "sparse/read.hpp"
#include "sparse/text_file.hpp"

using namespace vostok;

namespace {

struct Capturing {
  TemporaryFolder folder;
  std::filesystem::path file = folder / "my problems.txt";
  std::vector<std::string> warnings;
  std::shared_ptr<Logger> logger =
      std::make_shared<Logger>([this](LogLevel, std::string_view line) { warnings.emplace_back(line); });
  Context context =
      Context(Options{.device = "emulator", .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}});

  Topology topology(std::int64_t rows, double sparsity, std::uint64_t seed) const {
    return context.topology(sparse::uniform(rows, 16, sparsity, seed).view());
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> found;
    std::ifstream text(file);
    for (std::string line; std::getline(text, line);) found.push_back(line);
    return found;
  }
};

}  // namespace

TEST_CASE("a capture writes a problem once for masks of one bucket, with the structure beside it") {
  Capturing capturing;  // NOLINT(misc-const-correctness): its logger changes it
  plan::Capture capture(capturing.file, capturing.logger);
  capture.add("spmm --n 8", "", capturing.topology(32, 0.5, 1));
  capture.add("spmm --n 8", "", capturing.topology(32, 0.5, 2));  // other columns, the same bucket
  REQUIRE(capturing.lines().size() == 1);
  const std::string line = capturing.lines().front();
  const std::string before = "spmm --n 8 --matrix \"my problems.txt.matrices/";
  REQUIRE(line.starts_with(before));
  const auto matrix = capturing.folder / line.substr(line.find('"') + 1, line.size() - line.find('"') - 2);
  const sparse::Csr saved = sparse::read(matrix);
  const sparse::Csr given = sparse::uniform(32, 16, 0.5, 1);
  CHECK(saved.row_offsets == given.row_offsets);
  CHECK(saved.column_indices == given.column_indices);

  capture.add("spmm --n 8", "row_tile", capturing.topology(32, 0.5, 1));
  capture.add("spmm --n 8", "", capturing.topology(32, 0.9, 1));
  capture.add("depthwise --channels 4", "", {});
  CHECK(capturing.lines().size() == 4);
  CHECK(capturing.lines().back() == "depthwise --channels 4");

  plan::Capture another(capturing.file, capturing.logger);  // as of a second process
  another.add("spmm --n 8", "", capturing.topology(32, 0.5, 1));
  another.add("spmm --n 16", "", capturing.topology(32, 0.5, 1));
  CHECK(capturing.lines().size() == 5);
  CHECK(capturing.warnings.empty());
}

TEST_CASE("a captured problem begins a line of its own, also in a file that ends within a line") {
  Capturing capturing;  // NOLINT(misc-const-correctness): its logger changes it
  capturing.folder.write("my problems.txt", "# mine\nspmm --random 64x64x0.5 --n 8");
  plan::Capture capture(capturing.file, capturing.logger);
  capture.add("depthwise --channels 4", "", {});
  capture.add("depthwise --channels 5", "", {});
  CHECK(capturing.lines() == std::vector<std::string>{"# mine", "spmm --random 64x64x0.5 --n 8",
                                                      "depthwise --channels 4", "depthwise --channels 5"});
  CHECK(capturing.warnings.empty());
}

TEST_CASE("a capture into a pipe or a device is one warning, and waits for nobody") {
  Capturing capturing;
  REQUIRE(::mkfifo(capturing.file.c_str(), 0600) == 0);
  for (const std::filesystem::path& file : {capturing.file, std::filesystem::path("/dev/zero")}) {
    capturing.warnings.clear();
    const auto logger =
        std::make_shared<Logger>([&](LogLevel, std::string_view line) { capturing.warnings.emplace_back(line); });
    plan::Capture capture(file, logger);
    capture.add("depthwise --channels 4", "", {});
    capture.add("depthwise --channels 5", "", {});
    REQUIRE(capturing.warnings.size() == 1);
    CHECK(capturing.warnings.front().find("it is no regular file") != std::string::npos);
  }
}

TEST_CASE("a matrix that cannot be saved leaves no part of it behind") {
  Capturing capturing;
  std::filesystem::create_directory(capturing.file.string() + ".matrices");
  plan::Capture capture(capturing.file, capturing.logger);
  const Topology topology = capturing.topology(4000, 0.5, 1);
  struct rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small = {.rlim_cur = 10'000, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);  // as a full disk
  capture.add("spmm --n 8", "", topology);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  REQUIRE(capturing.warnings.size() == 1);
  CHECK(capturing.warnings.front().find("cannot write") != std::string::npos);
  CHECK(std::filesystem::is_empty(capturing.file.string() + ".matrices"));
  CHECK(capturing.lines().empty());
}

TEST_CASE("a capture that cannot be written is one warning, and stops nobody") {
  Capturing capturing;
  std::filesystem::create_directory(capturing.file);  // a folder of that name
  plan::Capture capture(capturing.file, capturing.logger);
  capture.add("depthwise --channels 4", "", {});
  capture.add("depthwise --channels 5", "", {});
  REQUIRE(capturing.warnings.size() == 1);
  CHECK(capturing.warnings.front().find("VOSTOK_CAPTURE") != std::string::npos);
}
