// Generated matrices: `--random ROWSxCOLSxSPARSITY[xCOV]` and `--band ROWSxWIDTHxSPARSITY`.
#pragma once

#include <cstdint>
#include <string>

#include <vostok/tools.hpp>

#include "sparse/csr.hpp"

namespace vostok::cli {

struct RandomMatrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  double sparsity = 0;       ///< share of zeros, 0 to 1
  double row_variation = 0;  ///< wanted coefficient of variation of the row lengths

  std::int64_t nonzeros() const;
};

/// "2048x512x0.9", "2048x512x0.9x0.5". Errors: invalid_argument naming the text; unsupported for 2^31 nonzeros or more.
RandomMatrix parse_random_matrix(const std::string& text);

/// sparse::uniform: uniform columns, and row lengths as equal or unequal as requested.
sparse::Csr make_random_matrix(const RandomMatrix& shape, std::uint64_t seed);

/// "4096x256x0.95": the attention mask of the paper, causal, [4096, 4096]. Errors: invalid_argument naming the text.
AttentionMask parse_band(const std::string& text, std::uint64_t seed);

/// Approximate, of a causal mask.
std::int64_t expected_nonzeros(const AttentionMask& mask);

}  // namespace vostok::cli
