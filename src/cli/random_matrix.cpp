#include "cli/random_matrix.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/text.hpp"
#include "sparse/generate.hpp"

namespace vostok::cli {

namespace {

/// Reads one number at the front of `rest`; false where there is none.
template <class Number>
bool take_number(std::string_view& rest, Number& value) {
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

bool take_cross(std::string_view& rest) {
  if (!rest.starts_with('x')) return false;
  rest.remove_prefix(1);
  return true;
}

/// "2048x512x0.9" at the front of `rest`
bool take_shape(std::string_view& rest, std::int64_t& first, std::int64_t& second, double& sparsity) {
  return take_number(rest, first) && take_cross(rest) && take_number(rest, second) && take_cross(rest) && take_number(rest, sparsity);
}

/// "x0.5" at the front of `rest`, or nothing
bool take_variation(std::string_view& rest, double& variation) { return rest.empty() || (take_cross(rest) && take_number(rest, variation)); }

void require_share(const char* what, double sparsity) {
  const bool is_share = sparsity >= 0 && sparsity <= 1;  // false for NaN
  if (!is_share) fail(ErrorCode::invalid_argument, "cannot make a {}: sparsity {} is outside 0 to 1 (it is the share of zeros)", what, sparsity);
}

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

}  // namespace

std::int64_t RandomMatrix::nonzeros() const {
  return static_cast<std::int64_t>(std::llround(static_cast<double>(rows) * static_cast<double>(cols) * (1 - sparsity)));
}

RandomMatrix parse_random_matrix(const std::string& text) {
  RandomMatrix shape;
  std::string_view rest = text;
  if (!take_shape(rest, shape.rows, shape.cols, shape.sparsity) || !take_variation(rest, shape.row_variation) || !rest.empty())
    fail(ErrorCode::invalid_argument, "cannot read --random: '{}' is not ROWSxCOLSxSPARSITY[xCOV], such as 2048x512x0.9 or 2048x512x0.9x0.5", text);
  if (shape.rows < 0 || shape.rows >= most)
    fail(ErrorCode::invalid_argument, "cannot make a random matrix: {} rows are outside 0 to 2^31 - 2", shape.rows);
  if (shape.cols < 0 || shape.cols > most)
    fail(ErrorCode::invalid_argument, "cannot make a random matrix: {} columns are outside 0 to 2^31 - 1", shape.cols);
  require_share("random matrix", shape.sparsity);
  const bool is_variation = shape.row_variation >= 0 && shape.row_variation <= 100;  // false for NaN
  if (!is_variation)
    fail(ErrorCode::invalid_argument, "cannot make a random matrix: {} is no coefficient of variation of row lengths, which is 0 to 100",
         shape.row_variation);
  const double nonzeros = static_cast<double>(shape.rows) * static_cast<double>(shape.cols) * (1 - shape.sparsity);
  if (nonzeros > static_cast<double>(most))
    fail(ErrorCode::unsupported, "cannot make a random matrix: {} has {:.3g} nonzeros, and at most 2^31 - 1 are supported", text, nonzeros);
  return shape;
}

sparse::Csr make_random_matrix(const RandomMatrix& shape, std::uint64_t seed) {
  return sparse::uniform(shape.rows, shape.cols, shape.sparsity, seed, shape.row_variation);
}

AttentionMask parse_band(const std::string& text, std::uint64_t seed) {
  AttentionMask mask{.causal = true, .seed = seed};
  std::string_view rest = text;
  if (!take_shape(rest, mask.rows, mask.width, mask.sparsity) || !rest.empty())
    fail(ErrorCode::invalid_argument, "cannot read --band: '{}' is not ROWSxWIDTHxSPARSITY, such as 4096x256x0.95", text);
  if (mask.rows < 0 || mask.rows >= most) fail(ErrorCode::invalid_argument, "cannot make a band: {} rows are outside 0 to 2^31 - 2", mask.rows);
  require_share("band", mask.sparsity);
  mask.cols = mask.rows;
  return mask;
}

std::int64_t expected_nonzeros(const AttentionMask& mask) {
  const auto rows = static_cast<double>(mask.rows);
  const double band = rows * static_cast<double>(std::clamp<std::int64_t>(mask.width, 0, mask.rows));
  return static_cast<std::int64_t>(std::min(band + rows * rows / 2 * (1 - mask.sparsity), rows * rows));
}

}  // namespace vostok::cli
