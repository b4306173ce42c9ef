// Numbers on the command line: decimal, whole, within limits; everything else is refused by the option's name.
#include "cli/number_option.hpp"

#include "cli/random_matrix.hpp"
#include "error_code.hpp"
#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

template <class Number>
std::string refusal(const std::string& text, const Limits<Number>& limits) {
  try {
    number_value<Number>("--n", text, limits);
  } catch (const CLI::ValidationError& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("a whole number is decimal, whatever it begins with, and up to its type's largest") {
  CHECK(number_value<std::int64_t>("--n", "010", {}) == 10);
  CHECK(number_value<std::int64_t>("--n", "-7", {}) == -7);
  CHECK(number_value<std::int64_t>("--n", "9223372036854775807", {}) == std::numeric_limits<std::int64_t>::max());
  CHECK(number_value<std::uint64_t>("--n", "18446744073709551615", {}) == std::numeric_limits<std::uint64_t>::max());
  CHECK(number_value<int>("--n", "0", {.least = 0, .most = 0}) == 0);
  for (const char* text :
       {"", " ", " 5", "5 ", "+5", "-", "--5", "0x10", "1e3", "1.0", "5n", "1,000", "nan", "inf", "\xd9\xa3"}) {
    CAPTURE(std::string(text));
    CHECK(contains(refusal<std::int64_t>(text, {.unit = "bytes"}), "is not a whole number of bytes"));
  }
}

TEST_CASE("a number outside its limits is refused with the option, the number, the limit and the unit") {
  CHECK(refusal<std::int64_t>("11", {.least = 0, .most = 10}) == "--n: 11 is more than 10");
  CHECK(refusal<std::int64_t>("-1", {.least = 0, .most = 10, .unit = "bytes"}) == "--n: -1 is less than 0 bytes");
  CHECK(refusal<std::int64_t>("9223372036854775808", {}) ==
        "--n: 9223372036854775808 is more than 9223372036854775807");
  CHECK(refusal<std::int64_t>("-99999999999999999999", {}) ==
        "--n: -99999999999999999999 is less than -9223372036854775808");
  CHECK(refusal<std::uint64_t>("-1", {}) == "--n: -1 is less than 0");
  CHECK(refusal<std::uint64_t>("18446744073709551616", {}) ==
        "--n: 18446744073709551616 is more than 18446744073709551615");
  CHECK(refusal<double>("-0.5", second_limits()) == "--n: -0.5 is less than 0 seconds");
  CHECK(contains(refusal<double>("1e10", second_limits()), "1e10 is more than 1000000000 seconds"));
  for (const char* text : {"", "nan", "-nan", "inf", "-inf", "1e999", "0x10", "1,5", "1.5s", " 1"}) {
    CAPTURE(std::string(text));
    CHECK(contains(refusal<double>(text, second_limits()), "is not a finite number of seconds"));
  }
  CHECK(number_value<double>("--n", "2.5e-1", second_limits()) == 0.25);
}

TEST_CASE("sums of the largest sizes of the command line do not overflow") {
  const std::int64_t most = size_limits().most;
  CHECK(most == 140'737'488'355'327);
  CHECK(most + most > most);
}

/// A command line that ends with the option and a bad value of it, and what the refusal must say beside the option.
struct Refused {
  Arguments before;
  const char* option;
  const char* value;
  const char* says;
};

TEST_CASE("every numeric option refuses what is no number of its kind, by its name, with its limit and its unit") {
  const Tool tool;
  const Arguments spmm = on_emulator("spmm", {"--random", "4x4x0"});
  const Arguments spmm_n = spmm + Arguments{"--n", "4"};
  const Arguments attention = on_emulator("attention", {"--random", "8x8x0.5"});
  const Arguments sddmm = on_emulator("sddmm", {"--random", "8x8x0.5", "--n", "4"});
  const Arguments depthwise = on_emulator("depthwise", {"--channels", "2"});
  const Arguments layer = depthwise + Arguments{"--height", "8"};
  const char* const most_size = "is more than 140737488355327";
  const std::vector<Refused> table = {
      {spmm, "--n", "x", "'x' is not a whole number"},
      {spmm, "--n", " ", "' ' is not a whole number"},
      {spmm, "--n", "0x10", "'0x10' is not a whole number"},
      {spmm, "--n", "1e3", "'1e3' is not a whole number"},
      {spmm, "--n", "-1", "-1 is less than 0"},
      {spmm, "--n", "9223372036854775807", most_size},
      {spmm, "--n", "99999999999999999999999", most_size},
      {spmm_n, "--leading", "9223372036854775807", most_size},
      {spmm_n, "--output-leading", "9223372036854775808", most_size},
      {spmm_n, "--batch", "9223372036854775807", most_size},
      {spmm_n, "--alignment", "99999999999", "is more than 2147483647 bytes"},
      {spmm_n, "--alignment", "4.0", "is not a whole number of bytes"},
      {spmm_n, "--seed", "-1", "-1 is less than 0"},
      {spmm_n, "--seed", "18446744073709551616", "is more than 18446744073709551615"},
      {spmm_n, "--budget", "nan", "'nan' is not a finite number of seconds"},
      {spmm_n, "--budget", "inf", "'inf' is not a finite number of seconds"},
      {spmm_n, "--budget", "-1", "-1 is less than 0 seconds"},
      {spmm_n, "--budget", "0x10", "'0x10' is not a finite number of seconds"},
      {attention, "--n", "9223372036854775807", most_size},
      {attention + Arguments{"--n", "4"}, "--value-size", "9223372036854775807", most_size},
      {attention + Arguments{"--n", "4"}, "--value-size", "-1", "-1 is less than 0"},
      {sddmm, "--lhs-leading", "9223372036854775807", most_size},
      {sddmm, "--rhs-leading", "-2", "-2 is less than 0"},
      {sddmm, "--scale", "nan", "'nan' is not a finite number"},
      {sddmm, "--device-scale", "1e99", "'1e99' is not a finite number"},
      {depthwise, "--height", "9223372036854775807", most_size},
      {layer, "--width", "1.5", "'1.5' is not a whole number"},
      {layer, "--kernel", "99999999999", "is more than 2147483647"},
      {layer, "--stride", "-1", "-1 is less than 0 pixels"},
      {layer, "--padding", "1,x,1,1", "'x' is not a whole number"},
      {layer, "--padding", "1,", "'' is not a whole number"},
      {layer, "--padding", "9223372036854775807", most_size},
      {{"run", "bias", "--columns", "4"}, "--rows", "9223372036854775807", most_size},
      {{"run", "im2col", "--channels", "2", "--height", "8"}, "--width", "-8", "-8 is less than 0"},
      {{"tune", "--problems", "p.txt"}, "--time-limit", "nan", "'nan' is not a finite number of seconds"},
      {{"tune", "--problems", "p.txt"}, "--time-limit", "0", "0 is less than 0.001 seconds"},
      {{"tune", "--problems", "p.txt"}, "--time-limit", "1e300", "is more than 1000000000 seconds"},
      {{"pack", "--out", "p.db"}, "--candidates", "-1", "-1 is less than 0"},
      {{"pack", "--out", "p.db"}, "--candidates", "1e3", "'1e3' is not a whole number"},
      {{"cache", "prune"}, "--older-than", "nan", "'nan' is not a finite number of days"},
      {{"cache", "prune"}, "--older-than", "-1", "-1 is less than 0 days"},
      {{"cache", "prune"}, "--older-than", "1e300", "is more than 1000000 days"},
      {{"cache", "prune"}, "--max-bytes", "99999999999999999999", "is more than 9223372036854775807 bytes"},
      {{"cache", "prune"}, "--max-bytes", "-1", "-1 is less than 0 bytes"},
      {{"cache", "rank"}, "--tie", "nan", "'nan' is not a finite number"},
      {{"cache", "rank"}, "--tie", "1.5", "1.5 is more than 1"}};
  for (const Refused& refused : table) {
    INFO(refused.option, "=", refused.value);
    const Outcome outcome = tool.run(refused.before + Arguments{refused.option + std::string("=") + refused.value});
    check_refused(outcome, {refused.option + std::string(": "), refused.says, "--help"});
  }
}

TEST_CASE("--n 010 is ten columns, and --padding 010 ten pixels") {
  const Tool tool;
  CHECK(json_of(tool.run(on_emulator("spmm", {"--random", "4x4x0", "--n", "010", "--json"})))["n"] == 10);
  const Outcome outcome = tool.run(on_emulator("depthwise", {"--channels", "1", "--height", "4", "--padding", "010"}));
  CHECK(contains(outcome.output, "padding 10,10,10,10"));
}

TEST_CASE("operands that no memory holds are refused with their size, also for a leading dimension or a stride") {
  const Tool tool;
  const Arguments spmm = on_emulator("spmm", {"--random", "4x4x0", "--n", "4", "--batch", "2"});
  for (const Arguments& line :
       {spmm + Arguments{"--leading", "100000000000000"}, spmm + Arguments{"--output-leading", "100000000000000"},
        spmm + Arguments{"--set", "dense_stride=100000000000000"},
        spmm + Arguments{"--set", "output_stride=100000000000000"},
        on_emulator("sddmm", {"--random", "4x4x0", "--n", "4", "--rhs-leading", "100000000000000"}),
        on_emulator("softmax", {"--random", "4x4x0", "--batch", "2", "--set", "value_stride=100000000000000"}),
        on_emulator("attention", {"--random", "4x4x0", "--n", "4", "--set", "key_leading=100000000000000"}),
        on_emulator("bias", {"--rows", "100000000000000", "--columns", "1"})}) {
    CAPTURE(line.back());
    const Outcome outcome = tool.run(line);
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 3);
    CHECK(contains(outcome.errors, "GiB of host memory"));
  }
}

}  // namespace
}  // namespace vostok::cli::testing
