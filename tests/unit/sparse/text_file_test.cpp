#include "sparse/text_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <clocale>
#include <csignal>
#include <locale>
#include <thread>

#include "sparse/generate.hpp"
#include "sparse/read.hpp"
#include "sparse/write.hpp"
#include "unit/sparse/files.hpp"

using namespace vostok;
using namespace vostok::sparse;

namespace {

/// A named pipe and somebody who writes to it until all is written or nobody reads.
class Pipe {
 public:
  explicit Pipe(std::string text, const std::string& name = "pipe") : path_(folder_ / name) {
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    writer_ = std::thread([this, text = std::move(text)] {
      sigset_t broken_pipe;  // an error is enough
      sigemptyset(&broken_pipe);
      sigaddset(&broken_pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
      std::ofstream(path_, std::ios::binary) << text;
    });
  }
  ~Pipe() { writer_.join(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_;
  std::thread writer_;
};

/// Commas for points, and points between thousands, wherever a stream writes numbers.
struct CommaNumbers : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

TEST_CASE("a pipe is read to its end, by its name's extension or by its first bytes") {
  std::string text(300'000, ' ');
  CHECK(read_bytes(Pipe(text).path()) == text);
  const std::string pattern = "3, 4, 4\n0 2 2 4\n1 3 0 2\n";
  const std::string entries = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5\n";
  CHECK(read(Pipe(pattern, "a.smtx").path()).nonzeros() == 4);
  CHECK(read(Pipe(pattern, "63").path()).nonzeros() == 4);
  CHECK(read(Pipe(entries, "63").path()).values == std::vector<double>{5});
  testing::check_refused(ErrorCode::invalid_topology, {"a.mtx", "found '3,'"},
                         [&] { read(Pipe(pattern, "a.mtx").path()); });
}

TEST_CASE("an endless pipe is refused when it takes too much memory") {
  constexpr std::int64_t memory_bytes = 1'000'000;
  const Pipe pipe(std::string(4'000'000, 'x'));
  testing::check_refused(ErrorCode::out_of_memory, {pipe.path().string(), "has not ended", "1000000 bytes of memory"},
                         [&] { read_bytes(pipe.path(), memory_bytes); });
}

TEST_CASE("a pipe that nobody writes to is refused, not waited for without end") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "a.mtx").c_str(), 0600) == 0);
  testing::check_refused(ErrorCode::io_failure, {"a.mtx", "a pipe that nobody has written to"},
                         [&] { read(folder / "a.mtx"); });
}

TEST_CASE("folders, devices and files that are not there are refused by name, at once") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a.npy");
  testing::check_refused(ErrorCode::io_failure, {"a.npy", "directory"}, [&] { read(folder / "a.npy"); });
  testing::check_refused(ErrorCode::io_failure, {"cannot read /dev/zero", "a device"}, [] { read("/dev/zero"); });
  testing::check_refused(ErrorCode::io_failure, {"cannot read /dev/full", "a device"}, [] { read_bytes("/dev/full"); });
  std::filesystem::create_symlink("/dev/zero", folder / "zeros.smtx");
  testing::check_refused(ErrorCode::io_failure, {"zeros.smtx", "a device"}, [&] { read(folder / "zeros.smtx"); });
  testing::check_refused(ErrorCode::io_failure, {"absent", "No such file"}, [&] { read(folder / "absent"); });
  testing::check_refused(ErrorCode::io_failure, {"absent.npy", "No such file"},
                         [&] { read_array(folder / "absent.npy"); });
  testing::check_refused(ErrorCode::io_failure, {"a.npy/b.npz", "No such file"}, [&] { read(folder / "a.npy/b.npz"); });
}

TEST_CASE("a file larger than the memory that is free is refused before it is read") {
  const TemporaryFolder folder;
  const auto file = folder.write("huge.mtx", "%");
  std::filesystem::resize_file(file, std::uintmax_t{1} << 36);  // a hole
  testing::check_refused(ErrorCode::out_of_memory,
                         {"huge.mtx", "it has 68719476736 bytes", "1000000 bytes of memory are free"},
                         [&] { read_bytes(file, 1'000'000); });
}

TEST_CASE("memory that runs out while a file is understood is an error that names the file") {
  const Source source = {.bytes = "four", .name = "weights\x1b[2J.npy", .memory_bytes = 1'000'000};
  const auto refused = [&](const auto& work) {
    testing::check_refused(ErrorCode::out_of_memory, {R"(weights\x1b[2J.npy)", "4 bytes hold does not fit in memory"},
                           [&] { read_named(source, work); });
  };
  refused([]() -> int { throw std::bad_alloc(); });
  refused([] { return std::vector<int>().max_size() + std::string(static_cast<std::size_t>(-1), 'x').size(); });
  CHECK(read_named(source, [] { return 7; }) == 7);
}

TEST_CASE("a file of no told length is read to its end") {
  CHECK(read_bytes("/proc/self/status").find("Pid:") != std::string::npos);
}

TEST_CASE("nothing unprintable of a file's name gets into a message") {
  const TemporaryFolder folder;
  const std::string name = "a\x1b[2J\n\xff.mtx";
  const auto file = folder.write(name, "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 2 5\n");
  const auto check = [](ErrorCode code, const auto& work) {
    testing::check_refused(code, {R"(a\x1b[2J\n\xff)"}, work);
  };
  check(ErrorCode::invalid_topology, [&] { read(file); });
  check(ErrorCode::io_failure, [&] { read(folder / ("no " + name)); });
  check(ErrorCode::invalid_argument, [&] { read(folder.write(name + ".txt", "")); });
  check(ErrorCode::out_of_memory, [&] { read_bytes(file, 1); });
  for (const char* extension : {".smtx", ".npy", ".mtx"})
    check(ErrorCode::invalid_topology, [&] { read(folder.write(name + extension, "2, 2, 2\n0 1 2\n0 9\n")); });
  check(ErrorCode::io_failure, [&] { write_smtx(folder / "absent" / name, Csr{}); });
}

TEST_CASE("reading and writing do not depend on the locale") {
  const TemporaryFolder folder;
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaNumbers));
  const std::string c_before = std::setlocale(LC_ALL, nullptr);
  bool found = false;
  for (const char* name : {"de_DE.UTF-8", "tr_TR.UTF-8", "fr_FR.UTF-8"})
    found = found || std::setlocale(LC_ALL, name) != nullptr;
  if (!found) MESSAGE("skipped: the part with a C locale, of which none with a decimal comma is installed");

  const Csr csr = uniform(3, 2'000'000, 0.999, 1);
  write_smtx(folder / "wide.smtx", csr);
  const std::string written = read_bytes(folder / "wide.smtx");
  const Csr again = read(folder / "wide.smtx");
  const Csr real =
      read(folder.write("a.mtx", "%%MATRIXMARKET MATRIX COORDINATE REAL GENERAL\n1 1234567 1\n1 1234567 1.5e-3\n"));
  std::setlocale(LC_ALL, c_before.c_str());
  std::locale::global(before);

  CHECK(written.starts_with("3, 2000000, "));
  CHECK(again.column_indices == csr.column_indices);
  CHECK(real.values == std::vector<double>{1.5e-3});
}
