#include <doctest/doctest.h>

#include <array>
#include <regex>
#include <set>

#include <vostok/vostok.hpp>

#include "cli/enum_option.hpp"
#include "cli/environment_variables.hpp"
#include "cli/exit_status.hpp"
#include "cli/host_memory.hpp"
#include "cli/random_matrix.hpp"
#include "error_code.hpp"
#include "sparse/text_file.hpp"
#include "unit/cli/tool_process.hpp"

namespace vostok::cli {
namespace {

using testing::contains;

ErrorCode code_of(const std::string& random) {
  return vostok::test::code_of([&] { parse_random_matrix(random); });
}

TEST_CASE("a random matrix is ROWSxCOLSxSPARSITY, with a row variation or without, and nothing else") {
  const RandomMatrix shape = parse_random_matrix("2048x512x0.9");
  CHECK(shape.rows == 2048);
  CHECK(shape.cols == 512);
  CHECK(shape.sparsity == 0.9);
  CHECK(shape.nonzeros() == 104858);
  CHECK(parse_random_matrix("0x5x0.5").nonzeros() == 0);
  CHECK(parse_random_matrix("3x5x1").nonzeros() == 0);
  CHECK(parse_random_matrix("3x5x0").nonzeros() == 15);
  for (const char* text : {"",
                           "5",
                           "5x5",
                           "5x5x",
                           "x5x0.5",
                           "5x5x0.5x",
                           "5x5x0.5 ",
                           "5 x5x0.5",
                           "5,5,0.5",
                           "-1x5x0.5",
                           "5x5x1.5",
                           "5x5x-0.5",
                           "5x5xnan",
                           "5.5x5x0.5",
                           "99999999999999999999x5x0.5",
                           "2147483647x5x0.9",
                           "5x2147483648x0.9",
                           "5x5x0.5x-1",
                           "5x5x0.5xnan",
                           "5x5x0.5x101",
                           "5x5x0.5x0.5x",
                           "5x5x0.5x0.5x1"}) {
    CAPTURE(std::string(text));
    CHECK(code_of(text) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a band is ROWSxWIDTHxSPARSITY, square and causal, and its size is known beforehand") {
  const AttentionMask mask = parse_band("4096x256x0.95", 7);
  CHECK(mask.rows == 4096);
  CHECK(mask.cols == 4096);
  CHECK(mask.width == 256);
  CHECK(mask.sparsity == 0.95);
  CHECK(mask.causal);
  CHECK(mask.seed == 7);
  CHECK(expected_nonzeros(mask) == 4096 * 256 + 419'430);
  CHECK(expected_nonzeros(parse_band("10x99x0", 1)) == 100);
  for (const char* text :
       {"", "4096", "4096x256", "4096x256x", "4096x256x2", "4096x256xnan", "-1x2x0.5", "2147483647x2x0.5"}) {
    CAPTURE(std::string(text));
    CHECK(vostok::test::code_of([&] { parse_band(text, 1); }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("each part of a random matrix or a band is refused by what it is, with its limit, however long it is") {
  const auto says = [](const std::string& text, const auto& parse) {
    try {
      parse(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto random = [&](const char* text) { return says(text, parse_random_matrix); };
  const auto band = [&](const char* text) {
    return says(text, [](const std::string& given) { parse_band(given, 1); });
  };
  CHECK(contains(random("99999999999999999999x4x0"), "99999999999999999999 rows are outside 0 to 2147483646"));
  CHECK(contains(random("4x99999999999999999999x0"), "99999999999999999999 columns are outside 0 to 2147483647"));
  CHECK(contains(random("-4x4x0"), "-4 rows are outside 0 to 2147483646"));
  CHECK(contains(random("4x4xinf"), "sparsity inf is outside 0 to 1"));
  CHECK(contains(random("4x4x0x1e9"), "1e9 is no coefficient of variation"));
  for (const char* text : {"0x10x4x0x0", "+4x4x0", " 4x4x0", "4x4x0,5", "4x4x1e999", "4X4X0", "1e3x4x0"})
    CHECK(contains(random(text), "cannot read --random: '"));
  CHECK(contains(band("99999999999999999999x4x0"), "99999999999999999999 rows are outside"));
  CHECK(
      contains(band("8x99999999999999999999x0"), "99999999999999999999 columns of width are outside 0 to 2147483647"));
  CHECK(contains(band("8x-1x0"), "-1 columns of width are outside"));
  CHECK(parse_random_matrix("010x4x1e-400").rows == 10);
  CHECK(parse_random_matrix("010x4x1e-400").sparsity == 0);
}

TEST_CASE("a random matrix of 2^31 nonzeros is refused before anything is allocated") {
  CHECK(code_of("100000x100000x0.5") == ErrorCode::unsupported);
  CHECK(code_of("2147483646x2147483647x0.5") == ErrorCode::unsupported);
}

TEST_CASE("the matrix that is made has the promised nonzeros and depends on the seed") {
  const RandomMatrix shape = parse_random_matrix("37x53x0.83");
  const sparse::Csr one = make_random_matrix(shape, 1);
  CHECK(one.nonzeros() == shape.nonzeros());
  CHECK(one.column_indices == make_random_matrix(shape, 1).column_indices);
  CHECK(one.column_indices != make_random_matrix(shape, 2).column_indices);
}

TEST_CASE("a random matrix has the row variation that was asked for, and none otherwise") {
  const auto variation = [](const char* text) {
    const sparse::Csr made = make_random_matrix(parse_random_matrix(text), 1);
    return sparse::statistics(made.rows, made.cols, made.row_offsets, made.column_indices).row_variation;
  };
  CHECK(variation("500x800x0.9") == doctest::Approx(0));
  CHECK(variation("500x800x0.9x0.7") == doctest::Approx(0.7).epsilon(0.05));
}

TEST_CASE("enumerations are listed and parsed by the names of the API") {
  CHECK(enum_names<Effort>() == std::vector<std::string>{"heuristic", "cached", "quick", "full"});
  CHECK(enum_names<Bias>() == std::vector<std::string>{"none", "per_row", "per_column"});
  Math math = Math::accurate;
  CHECK(parse_enum("strict", math));
  CHECK(math == Math::strict);
  CHECK_FALSE(parse_enum("Strict", math));
  CHECK(math == Math::strict);
}

TEST_CASE("what a user can mend exits with 2, what a machine lacks with 3") {
  CHECK(exit_status_of(ErrorCode::invalid_argument) == 2);
  CHECK(exit_status_of(ErrorCode::invalid_topology) == 2);
  CHECK(exit_status_of(ErrorCode::unsupported) == 2);
  CHECK(exit_status_of(ErrorCode::io_failure) == 2);
  CHECK(exit_status_of(ErrorCode::no_device) == 3);
  CHECK(exit_status_of(ErrorCode::no_compiler) == 3);
  CHECK(exit_status_of(ErrorCode::out_of_memory) == 3);
}

TEST_CASE("work that no machine has the memory for is refused with its size") {
  CHECK_NOTHROW(require_host_memory("spmm", {.rows = 64, .nonzeros = 400, .inputs = 512, .outputs = 512}));
  try {
    require_host_memory("spmm", {.rows = 2e9, .nonzeros = 10, .inputs = 2e15, .outputs = 2e15});
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_memory);
    CHECK(contains(error.what(), "cannot run spmm"));
    CHECK(contains(error.what(), "GiB"));
  }
}

/// Names of the variables that the library's own sources read.
std::set<std::string> variables_in_sources() {
  const std::regex read("(?:environment|absolute_variable)\\(\"([A-Z0-9_]+)\"|\"(VOSTOK_[A-Z0-9_]+)\"");
  const std::regex listed("variable : \\{([^}]*)\\}");
  const std::regex quoted("\"([A-Z0-9_]+)\"");
  std::set<std::string> names;
  const auto collect = [&](const std::string& text, const std::regex& pattern) {
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
      names.insert((*match)[1].matched ? (*match)[1].str() : (*match)[2].str());
  };
  for (const char* folder : {"/src", "/cache"}) {
    for (const auto& file : sparse::testing::files_below(VOSTOK_SOURCE_FOLDER + std::string(folder), ".cpp")) {
      if (file.parent_path().filename() == "cli") continue;
      const std::string text = sparse::read_bytes(file);
      collect(text, read);
      for (std::sregex_iterator match(text.begin(), text.end(), listed), end; match != end; ++match)
        collect((*match)[1].str(), quoted);
    }
  }
  return names;
}

TEST_CASE("the variables that doctor lists are exactly those that the sources read, and the tool's page names each") {
  const std::string page = sparse::read_bytes(VOSTOK_SOURCE_FOLDER "/src/cli/README.md");
  std::set<std::string> listed;
  for (const EnvironmentVariable& variable : environment_variables()) {
    CAPTURE(std::string(variable.name));
    CHECK(contains(page, fmt::format("`{}`", variable.name)));
    listed.insert(variable.name);
  }
  CHECK(listed == variables_in_sources());
}

}  // namespace
}  // namespace vostok::cli
