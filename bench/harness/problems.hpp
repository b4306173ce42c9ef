// What a benchmark runs: matrices and the N to multiply them with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace vostok::bench {

struct Problem {
  std::string file = {};  ///< relative to the data folder
  std::int64_t n = 0;
};

/// Which problems of a list to take: those whose "file n=N" holds `filter`, without the first `skip`, at most `most`.
struct Selection {
  std::string filter = {};
  std::int64_t skip = 0;
  std::int64_t most = 0;  ///< 0: all
};

/// "transformer/a.smtx n=256"
std::string label(const Problem& problem);

/// The first folder of the problem's file, e.g. "transformer"; "all" where it has none.
std::string group(const Problem& problem);

/// Lines of "file N...": one problem per N. Blank lines and those that start with # are left out.
/// Errors: invalid_argument naming the line.
std::vector<Problem> parse_problems(std::string_view text);

/// Errors: io_failure (cannot read), invalid_argument (a malformed line; nothing is left of the selection).
std::vector<Problem> read_problems(const std::filesystem::path& list, const Selection& selection);

/// A whole text file. Errors: io_failure.
std::string read_text(const std::filesystem::path& path);

}  // namespace vostok::bench
