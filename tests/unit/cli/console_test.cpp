// What becomes of a report that stdout does not take, and of what a terminal would obey in one.
#include "cli/console.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

#include "sparse/text_file.hpp"
#include "unit/child_outcome.hpp"
#include "unit/cli/run_command.hpp"
#include "unit/device/cuda_fixture.hpp"

namespace vostok::cli::testing {
namespace {

/// A tool with something to print by every command, and the lines that print it.
struct Printing {
  Tool tool;
  std::vector<Arguments> lines;

  Printing() {
    const std::string matrix = tool.folder().write("ok.smtx", "2, 2, 2\n0 1 2\n0 1\n").string();
    const std::string problems = tool.folder().write("problems.txt", "softmax --matrix ok.smtx\n").string();
    const auto path = [&](const char* name) { return (tool.folder() / name).string(); };
    const Arguments run = on_emulator("softmax", {"--matrix", matrix});
    for (const Arguments& first :
         {run, Arguments{"cache", "dump", "--out", path("dump.txt")}, Arguments{"cache", "keygen", path("team")}})
      REQUIRE(tool.run(first).status == 0);
    lines = {{"--help"},
             {"--version"},
             {"run", "spmm", "--help"},
             run,
             run + Arguments{"--json"},
             {"study", matrix, "--out", path("study")},
             {"doctor", "--problems", problems, "--device", "emulator"},
             {"tune", "--problems", problems, "--device", "emulator", "--effort", "quick", "--time-limit", "1"},
             {"pack", "--arch", "sm_90", "--problems", problems, "--out", path("packed.db")},
             {"cache", "dump"},
             {"cache", "ls"},
             {"cache", "show", "--trials"},
             {"cache", "verify"},
             {"cache", "prune", "--stale"},
             {"cache", "rank", "--json"},
             {"cache", "regret", path("dump.txt")},
             {"cache", "merge", path("dump.txt"), path("dump.txt"), "--out", path("merged.db")},
             {"cache", "sign", path("cache/code.db"), "--key", path("team.key")}};
  }
};

std::string words(const Arguments& arguments) {
  std::string text;
  for (const std::string& word : arguments) text += " " + word;
  return text;
}

TEST_CASE("a stdout that fails is a sentence and a status that is not 0, by every command that prints") {
  const Printing printing;
  const std::array targets = {std::pair(Stdout::full_device, "No space left on device"),
                              std::pair(Stdout::closed, "Bad file descriptor"),
                              std::pair(Stdout::pipe_no_signal, "Broken pipe")};
  for (const Arguments& line : printing.lines) {
    for (const auto& [target, reason] : targets) {
      INFO(words(line), " into ", reason);
      const Outcome outcome =
          printing.tool.run_into(target, line, {{"VOSTOK_NVRTC", test::beside_executable("fake_nvrtc.so")}});
      CAPTURE(outcome.errors);
      CHECK(outcome.status >= 2);
      CHECK(outcome.status < 128);
      const std::string sentence = "vostok: cannot write to standard output";
      const std::size_t at = outcome.errors.find(sentence);
      REQUIRE(at != std::string::npos);
      CHECK(outcome.errors.find(sentence, at + 1) == std::string::npos);
      CHECK(contains(outcome.errors.substr(at), reason));
    }
  }
}

TEST_CASE("a long report that stdout does not take fails by its first part") {
  const Tool tool;
  std::string rows =
      "vostok tuning 1\ndevice architecture=sm_90 id=d l2_bytes=1 memory_bytes=1 multiprocessors=1 name=NVIDIA%20H200 "
      "uuid=GPU-1\n";
  for (int i = 0; i < 2000; ++i)
    rows += fmt::format(
        "problem exact=operation=spmm%20{} id=p{} index_type=i32 k=256 longest_row=60 m=512 n=64 nonzeros=13107 "
        "operation=spmm policy=warm "
        "row_variation=0.25\n",
        i, i);
  for (int i = 0; i < 2000; ++i)
    rows += fmt::format(
        "winner code_digest=c config=tile_rows=4 decided_at=1700000000 device=d driver=13.0 effort=full "
        "family=row_tile library_version=0.1.0 "
        "median_us=20 problem=p{} rounds=15\n",
        i);
  const std::string text = tool.folder().write("rows.txt", rows).string();
  const std::string file = (tool.folder() / "rows.db").string();
  const Outcome loaded = tool.run({"cache", "load", text, "--into", file});
  CAPTURE(loaded.errors);
  REQUIRE(loaded.status == 0);
  for (const Arguments& line : {Arguments{"cache", "dump", file}, Arguments{"cache", "show", file}}) {
    const Outcome outcome = tool.run_into(Stdout::full_device, line);
    CHECK(outcome.status == 2);
    CHECK(outcome.errors == "vostok: cannot write to standard output: No space left on device\n");
  }
}

TEST_CASE("a reader that ends early ends the tool as it ends any filter") {
  const Printing printing;
  const Outcome outcome = printing.tool.run_into(Stdout::pipe_of_nobody, {"cache", "ls"});
  CHECK(outcome.status == 128 + SIGPIPE);
  CHECK(outcome.errors.empty());
}

TEST_CASE("a command without a word to print succeeds without a stdout") {
  const Printing printing;
  const std::string dump = (printing.tool.folder() / "dump.txt").string();
  const std::string into = (printing.tool.folder() / "into.db").string();
  for (const Stdout target : {Stdout::full_device, Stdout::closed, Stdout::pipe_no_signal}) {
    const Outcome outcome = printing.tool.run_into(target, {"cache", "load", dump, "--into", into});
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("no file takes the number of a standard stream that is closed, and using one fails as it did") {
  const test::ChildOutcome outcome = test::in_child([] {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
    hold_standard_streams();
    const auto require = [](bool holds, const char* what) {
      if (!holds) throw std::runtime_error(what);
    };
    require(::open("/dev/null", O_RDWR) > STDERR_FILENO, "a file has the number of a standard stream");
    char byte = 0;
    require(::read(STDIN_FILENO, &byte, 1) < 0 && errno == EBADF, "stdin is there");
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
      require(::write(stream, &byte, 1) < 0 && errno == EBADF, "an output is there");
  });
  CHECK_MESSAGE((outcome.finished && !outcome.threw), outcome.log);
}

TEST_CASE("no file takes the number of a stdout that is closed") {
  const Printing printing;
  const auto out = printing.tool.folder() / "with_stdout.txt";
  const auto again = printing.tool.folder() / "without.txt";
  CHECK(printing.tool.run({"cache", "dump", "--out", out.string()}).status == 0);
  CHECK(printing.tool.run_into(Stdout::closed, {"cache", "dump", "--out", again.string()}).status == 0);
  CHECK(sparse::read_bytes(out) == sparse::read_bytes(again));
  CHECK(printing.tool
            .run_into(Stdout::closed, {"study", (printing.tool.folder() / "ok.smtx").string(), "--out",
                                       (printing.tool.folder() / "s").string()})
            .status == 2);
  const std::string csv = sparse::read_bytes(printing.tool.folder() / "s" / "study.csv");
  CHECK_FALSE(contains(csv, "written:"));
}

}  // namespace
}  // namespace vostok::cli::testing
