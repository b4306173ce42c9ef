// SDDMM problems that differ in everything, made of the levels of factors (pairwise.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <vostok/sddmm.hpp>

#include "device/uneven_mask.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok::test {

struct SddmmTypes {
  Dtype element, output;
};
inline constexpr std::array sddmm_types = {SddmmTypes{Dtype::f32, Dtype::f32}, SddmmTypes{Dtype::f16, Dtype::f16},
                                           SddmmTypes{Dtype::f16, Dtype::f32}, SddmmTypes{Dtype::bf16, Dtype::bf16},
                                           SddmmTypes{Dtype::bf16, Dtype::f32}};

/// What a problem may ask for: how many levels each factor has. sddmm_problem_of makes the problem of one level for
/// each.
inline const std::vector<int> sddmm_levels = {static_cast<int>(sddmm_types.size()), 2, 2, 3, 3, 2, 2, 2, 3, 2, 2, 2};

inline Sddmm sddmm_problem_of(const std::vector<int> &c, const sparse::Csr &mask, std::int64_t n) {
  const SddmmTypes type = sddmm_types[static_cast<std::size_t>(c[0])];
  Sddmm problem{.n = n,
                .batch = c[6] == 0 ? 1 : 3,
                .element = type.element,
                .output = type.output,
                .index = c[7] == 0 ? IndexType::u16 : IndexType::i32,
                .lhs_layout = static_cast<Layout>(c[1]),
                .rhs_layout = static_cast<Layout>(c[2]),
                .math = c[10] == 0 ? Math::accurate : Math::tf32,
                .nonfinite = c[11] == 0 ? NonFinite::sparse : NonFinite::dense,
                .scale = static_cast<Scale>(c[3]),
                .multiply = c[4] != 0,
                .accumulate = c[5] != 0};
  const int element_bytes = size_of(type.element);
  problem.alignment_bytes = c[8] == 0 ? 16 : c[8] == 1 ? std::max(element_bytes, 8) : element_bytes;
  if (c[9] != 0) {  // padded: leading dimensions and strides that are odd where
                    // the alignment is the element's
    const std::int64_t step = c[8] == 0 ? 16 / element_bytes : 1;
    const auto padded = [&](Layout layout, std::int64_t rows) {
      return (layout == Layout::row_major ? n : rows) / step * step + 3 * step;
    };
    problem.lhs_leading = padded(problem.lhs_layout, mask.rows);
    problem.rhs_leading = padded(problem.rhs_layout, mask.cols);
    problem.lhs_stride = ops::stored_matrix(problem.lhs_layout, mask.rows, n, problem.lhs_leading, 0).stride + step;
    problem.rhs_stride = ops::stored_matrix(problem.rhs_layout, mask.cols, n, problem.rhs_leading, 0).stride + step;
    problem.output_stride = mask.nonzeros() + 5;
  }
  if (c[4] == 2) problem.multiplier_stride = mask.nonzeros() + 1;
  return problem;
}

}  // namespace vostok::test
