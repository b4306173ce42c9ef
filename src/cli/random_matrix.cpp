#include "cli/random_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "cli/number_option.hpp"
#include "sparse/generate.hpp"

namespace vostok::cli {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

/// An option value of numbers separated by crosses.
struct Crossed {
  const char* option;
  const char* form;    ///< "ROWSxCOLSxSPARSITY[xCOV], such as 2048x512x0.9 or 2048x512x0.9x0.5"
  const char* object;  ///< "random matrix"
  std::string text;

  [[noreturn]] void refuse() const {
    fail(ErrorCode::invalid_argument, "cannot read {}: '{}' is not {}", option, text, form);
  }

  std::vector<std::string_view> parts() const {
    std::vector<std::string_view> found;
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t cross = std::min(text.find('x', start), text.size());
      found.push_back(std::string_view(text).substr(start, cross - start));
      start = cross + 1;
    }
    return found;
  }

  /// A size from 0 to `largest`, with any number of digits.
  std::int64_t size(std::string_view part, const char* what, std::int64_t largest) const {
    if (!is_whole(part)) refuse();
    const std::optional<std::int64_t> value = parse_number<std::int64_t>(part);
    if (!value || *value < 0 || *value > largest)
      fail(ErrorCode::invalid_argument, "cannot make a {}: {} {} are outside 0 to {}", object, part, what, largest);
    return *value;
  }

  double real(std::string_view part) const {
    const std::optional<double> value = parse_number<double>(part);
    if (!value) refuse();
    return *value;
  }

  double share_of_zeros(std::string_view part) const {
    const double share = real(part);
    const bool is_share = share >= 0 && share <= 1;  // false for NaN
    if (!is_share)
      fail(ErrorCode::invalid_argument, "cannot make a {}: sparsity {} is outside 0 to 1 (it is the share of zeros)",
           object, part);
    return share;
  }
};

}  // namespace

std::int64_t RandomMatrix::nonzeros() const {
  return static_cast<std::int64_t>(
      std::llround(static_cast<double>(rows) * static_cast<double>(cols) * (1 - sparsity)));
}

RandomMatrix parse_random_matrix(const std::string& text) {
  const Crossed given{.option = "--random",
                      .form = "ROWSxCOLSxSPARSITY[xCOV], such as 2048x512x0.9 or 2048x512x0.9x0.5",
                      .object = "random matrix",
                      .text = text};
  const std::vector<std::string_view> parts = given.parts();
  if (parts.size() != 3 && parts.size() != 4) given.refuse();
  RandomMatrix shape;
  shape.rows = given.size(parts[0], "rows", most - 1);
  shape.cols = given.size(parts[1], "columns", most);
  shape.sparsity = given.share_of_zeros(parts[2]);
  if (parts.size() == 4) shape.row_variation = given.real(parts[3]);
  const bool is_variation = shape.row_variation >= 0 && shape.row_variation <= 100;  // false for NaN
  if (!is_variation)
    fail(ErrorCode::invalid_argument,
         "cannot make a random matrix: {} is no coefficient of variation of row lengths, which is 0 to 100", parts[3]);
  const double nonzeros = static_cast<double>(shape.rows) * static_cast<double>(shape.cols) * (1 - shape.sparsity);
  if (nonzeros > static_cast<double>(most))
    fail(ErrorCode::unsupported,
         "cannot make a random matrix: {} has {:.3g} nonzeros, and at most 2^31 - 1 are supported", text, nonzeros);
  return shape;
}

sparse::Csr make_random_matrix(const RandomMatrix& shape, std::uint64_t seed) {
  return sparse::uniform(shape.rows, shape.cols, shape.sparsity, seed, shape.row_variation);
}

AttentionMask parse_band(const std::string& text, std::uint64_t seed) {
  const Crossed given{
      .option = "--band", .form = "ROWSxWIDTHxSPARSITY, such as 4096x256x0.95", .object = "band", .text = text};
  const std::vector<std::string_view> parts = given.parts();
  if (parts.size() != 3) given.refuse();
  AttentionMask mask{.causal = true, .seed = seed};
  mask.rows = mask.cols = given.size(parts[0], "rows", most - 1);
  mask.width = given.size(parts[1], "columns of width", most);
  mask.sparsity = given.share_of_zeros(parts[2]);
  return mask;
}

std::int64_t expected_nonzeros(const AttentionMask& mask) {
  const auto rows = static_cast<double>(mask.rows);
  const double band = rows * static_cast<double>(std::clamp<std::int64_t>(mask.width, 0, mask.rows));
  return static_cast<std::int64_t>(std::min(band + rows * rows / 2 * (1 - mask.sparsity), rows * rows));
}

}  // namespace vostok::cli
