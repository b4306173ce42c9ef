// The problems of a benchmark: matrices and the N to multiply them with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sparse/csr.hpp"

namespace vostok::bench {

/// A generated matrix: its columns are uniform in each row.
struct Generated {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  double sparsity = 0;
  double row_variation = 0;
};

/// A generated graph-like matrix: sparse::power_law.
struct PowerLaw {
  std::int64_t vertices = 0;  ///< rows, and columns
  std::int64_t nonzeros = 0;
  double exponent = 0;
};

struct Problem {
  std::string file = {};  ///< relative to the data folder; a name if the matrix is generated
  std::int64_t n = 0;     ///< 0: the operation has none
  std::optional<Generated> generated = {};
  std::optional<PowerLaw> power_law = {};
};

/// The problems to take from a list: those whose "file n=N" contains `filter`, without the first `skip`, at most
/// `most`.
struct Selection {
  std::string filter = {};
  std::int64_t skip = 0;
  std::int64_t most = 0;    ///< 0: all
  std::int64_t shrink = 1;  ///< divides rows and columns of generated matrices, and n, to try a set that is too large
};

/// Reads or makes the problem's matrix. Errors: those of sparse::read.
sparse::Csr load_matrix(const std::filesystem::path& data, const Problem& problem, std::uint64_t seed);

/// "transformer/a.smtx n=256"; the file alone where n is 0
std::string label(const Problem& problem);

/// The first folder of the problem's file, e.g. "transformer"; "all" if it has none.
std::string group(const Problem& problem);

/// Parses lines of "file N...": one problem for each N. Blank lines and those that start with # are skipped. Errors:
/// invalid_argument naming the line.
std::vector<Problem> parse_problems(std::string_view text);

/// Graphs of a million nonzeros, from few vertices to many and from mild to extreme skew, each with N = 32 and 128.
std::vector<Problem> power_law_problems();

/// The problems that the selection takes. `source`: their origin, for messages. Errors: invalid_argument (none is
/// left).
std::vector<Problem> select(std::vector<Problem> problems, const Selection& selection, const std::string& source);

/// Errors: io_failure (cannot read), invalid_argument (a malformed line; nothing is left of the selection).
std::vector<Problem> read_problems(const std::filesystem::path& list, const Selection& selection);

/// A whole text file. Errors: io_failure.
std::string read_text(const std::filesystem::path& path);

}  // namespace vostok::bench
