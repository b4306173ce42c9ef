// `--random MxKxSPARSITY`.
#pragma once

#include <cstdint>
#include <string>

#include "sparse/csr.hpp"

namespace vostok::cli {

struct RandomMatrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  double sparsity = 0;  ///< share of zeros, 0 to 1

  std::int64_t nonzeros() const;
};

/// "2048x512x0.9". Errors: invalid_argument naming the text; unsupported for 2^31 nonzeros or more.
RandomMatrix parse_random_matrix(const std::string& text);

/// Columns uniform, rows as equal as possible.
sparse::Csr make_random_matrix(const RandomMatrix& shape, std::uint64_t seed);

}  // namespace vostok::cli
