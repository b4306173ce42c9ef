// Command lines that people get wrong, and the sentence that each of them gets.
#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

struct Misuse {
  Arguments line;
  std::vector<std::string> says;
};

void check_all(const Tool& tool, const std::vector<Misuse>& table) {
  for (const Misuse& misuse : table) {
    std::string words;
    for (const std::string& word : misuse.line) words += " '" + word + "'";
    INFO("vostok", words);
    check_refused(tool.run(misuse.line), misuse.says);
  }
}

TEST_CASE("a command that there is not is named beside those that there are") {
  check_all(Tool(), {{{}, {"a command is required: run, tune, capture", "Try: vostok --help"}},
                     {{"fly"}, {"'fly' is no command of vostok; there are run, tune, capture"}},
                     {{"run"}, {"a command is required: spmm, sddmm", "Try: vostok run --help"}},
                     {{"run", "fly"}, {"'fly' is no command of run; there are spmm, sddmm", "Try: vostok run --help"}},
                     {{"cache", "fly"}, {"'fly' is no command of cache; there are ls, show"}},
                     {{"cache"}, {"a command is required: ls, show"}},
                     {{"--nosuch"}, {"this argument was not expected: --nosuch"}}});
}

TEST_CASE("arguments that nobody takes are told in their order, and before what is missing") {
  const Tool tool;
  const Arguments spmm = on_emulator("spmm", {"--random", "4x4x0"});
  const std::string problems =
      tool.folder().write("extra.txt", "spmm --random 4x4x0 --n 1 extra words here\n").string();
  check_all(
      tool,
      {{spmm + Arguments{"--n", "4", "one", "two", "three"}, {"these arguments were not expected: one two three"}},
       {spmm + Arguments{"--n", "4", "--unknown", "5"}, {"these arguments were not expected: --unknown 5"}},
       {spmm + Arguments{"--m", "4"}, {"these arguments were not expected: --m 4"}},
       {{"tune", "--problems", problems}, {problems + ":1: these arguments were not expected: extra words here"}},
       {{"doctor", "extra"}, {"this argument was not expected: extra", "Try: vostok doctor --help"}}});
}

TEST_CASE("what is missing is named with what it is") {
  check_all(Tool(), {{{"run", "spmm", "--random", "4x4x0"}, {"--n N is required: Columns of B and C"}},
                     {{"tune"}, {"--problems FILE is required"}},
                     {{"study"}, {"FILES is required: Matrices, or folders of them"}},
                     {{"capture"}, {"COMMAND is required: The program and its arguments"}},
                     {{"cache", "sign"}, {"FILE is required: Cache files"}},
                     {{"cache", "keygen"}, {"NAME is required"}}});
}

TEST_CASE("options given twice, without a value, or with one that they do not take are told so") {
  const Arguments spmm = {"run", "spmm", "--random", "4x4x0", "--n", "4"};
  check_all(Tool(), {{spmm + Arguments{"--n", "5"}, {"--n was given 2 times, and takes one value"}},
                     {spmm + Arguments{"--random", "5x5x0"}, {"--random was given 2 times, and takes one value"}},
                     {{"run", "spmm", "--random", "4x4x0", "--n", ""}, {"--n: '' is not a whole number"}},
                     {spmm + Arguments{"--seed="}, {"--seed needs a value: SEED"}},
                     {spmm + Arguments{"--seed"}, {"--seed needs a value: SEED"}},
                     {spmm + Arguments{"--set"}, {"--set needs a value: FIELD=VALUE"}},
                     {spmm + Arguments{"--explain=maybe"}, {"--explain takes no value, and was given 'maybe'"}},
                     {spmm + Arguments{"--matrix", "a.smtx"}, {"--random", "--matrix"}},
                     {{"doctor", "--device", "emulator"}, {"--device requires --problems"}},
                     {{"cache", "rank", "--policy", "hot"}, {"--policy: 'hot' is not one of warm, cold"}},
                     {{"cache", "regret", "a.db", "--policy", "hot"}, {"--policy: 'hot' is not one of warm, cold"}}});
}

TEST_CASE("files and folders that do not fit are refused by their name") {
  const Tool tool;
  const auto write = [&](const char* name, const std::string& content) {
    return tool.folder().write(name, content).string();
  };
  const std::string folder = tool.folder().path().string();
  const std::string empty = write("empty.txt", "");
  const std::string comments = write("comments.txt", "# nothing\n\n");
  const std::string text = write("text.txt", "not a dump\n");
  const std::string absent = (tool.folder() / "absent").string();
  check_all(
      tool,
      {{{"run", "spmm", "--matrix", absent + ".smtx", "--n", "4"}, {absent + ".smtx", "o such file"}},
       {{"tune", "--problems", absent, "--device", "emulator"}, {absent, "o such file"}},
       {{"tune", "--problems", folder, "--device", "emulator"}, {folder, "irectory"}},
       {{"tune", "--problems", empty, "--device", "emulator"}, {"cannot tune: " + empty + " holds no problem"}},
       {{"tune", "--problems", comments, "--device", "emulator"}, {"cannot tune: " + comments + " holds no problem"}},
       {{"study", absent}, {absent}},
       {{"capture", "--out", folder, "--", "true"}, {"cannot capture to " + folder + ": it is a folder"}},
       {{"capture", "--out", absent + "/x.txt", "--", "true"},
        {"cannot capture to " + absent + "/x.txt", "o such file"}},
       {{"capture", "--out", (tool.folder() / "p.txt").string(), "--", "nosuchprogram"}, {"cannot run nosuchprogram"}},
       {{"cache", "load", empty}, {"cannot load " + empty + ": it is empty"}},
       {{"cache", "load", text, "--into", absent}, {text, "line 1"}},
       {{"cache", "load", folder}, {folder, "irectory"}},
       {{"cache", "keygen", ""}, {"cannot make keys: '' names no file"}},
       {{"cache", "keygen", folder + "/"}, {"names no file"}}});
}

TEST_CASE("a family that does not serve the problem gives its own reason, and no other family's") {
  const Tool tool;
  const Arguments spmm = on_emulator("spmm", {"--random", "16x16x0.5", "--n", "8"});
  const Outcome outcome = tool.run(spmm + Arguments{"--family", "sparse_tensor_mma"});
  check_refused(outcome, {"the kernel family that was asked for does not serve this problem. sparse_tensor_mma: "});
  for (const char* other : {"row_tile", "nonzero_split", "staged_rows", "unpack_mma", "PlanOptions::family"}) {
    CAPTURE(std::string(other));
    CHECK_FALSE(contains(outcome.errors, other));
  }
  check_refused(tool.run(spmm + Arguments{"--family", "nosuch"}), {"nosuch", "row_tile, nonzero_split"});
}

TEST_CASE("nothing that a terminal would obey reaches it, from a name, an argument or a file") {
  const Tool tool;
  const std::string evil = "\x1b[2J\x1b]0;title\x07\r\xc2\x9b\x31m\x7f\x08";
  const std::string shown = "\\x1b[2J\\x1b]0;title\\x07\\x0d\\xc2\\x9b1m\\x7f\\x08";
  const std::string matrix = tool.folder().write((evil + ".smtx").c_str(), evil).string();
  const std::string good = tool.folder().write((evil + "good.smtx").c_str(), "2, 2, 2\n0 1 2\n0 1\n").string();
  const std::string problems = tool.folder().write("problems.txt", "spmm --random 4x4x0 --n " + evil + "\n").string();
  const std::string dump = tool.folder().write("dump.txt", evil).string();
  const Arguments spmm = on_emulator("spmm", {"--random", "4x4x0", "--n", "1"});
  const auto check_plain = [&](const Arguments& line, bool is_told = true) {
    std::string words;
    for (const std::string& word : line) words += " " + word;
    CAPTURE(words);
    const Outcome outcome = tool.run(line);
    for (const std::string& text : {outcome.output, outcome.errors})
      for (const char* bad : {"\x1b", "\x07", "\r", "\xc2\x9b", "\x7f", "\x08"}) CHECK_FALSE(contains(text, bad));
    if (is_told) CHECK(contains(outcome.output + outcome.errors, shown.substr(0, 8)));
  };
  check_plain({evil});
  check_plain({"run", evil});
  check_plain(spmm + Arguments{evil});
  check_plain(spmm + Arguments{"--effort", evil});
  check_plain(spmm + Arguments{"--family", evil});
  check_plain(spmm + Arguments{"--set", evil});
  check_plain({"run", "spmm", "--random", "4x4x0", "--n", "1", "--device", evil});
  check_plain({"run", "spmm", "--random", evil, "--n", "1"});
  check_plain({"run", "spmm", "--random", "4x4x0", "--n", evil});
  check_plain(on_emulator("spmm", {"--matrix", matrix, "--n", "1"}));
  check_plain(on_emulator("softmax", {"--matrix", good}));
  check_plain({"study", good, matrix, "--out", (tool.folder() / "study").string()});
  check_plain({"tune", "--problems", problems, "--device", "emulator"});
  check_plain({"cache", "load", dump, "--into", (tool.folder() / "x.db").string()});
  check_plain({"cache", "ls", matrix});
  check_plain({"cache", "verify", matrix});
  check_plain({"capture", "--", evil});
  check_plain(on_emulator("softmax", {"--matrix", good, "--json"}), false);
}

}  // namespace
}  // namespace vostok::cli::testing
