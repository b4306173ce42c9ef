// Operands of f32 attention as 16-bit terms (abi/attention_terms.h): where they lie in the workspace, and the launch
// that makes them.
#pragma once

#include <cstdint>

#include <abi/attention_terms.h>

#include "ops/attention/problem.hpp"
#include "ops/launch.hpp"

namespace vostok::ops::fused_attention {

/// Terms of each f32; 0 of other elements, which are multiplied as they are.
int terms_of(const SparseAttention& attention);

/// One operand, by offsets in the workspace.
struct TermsPlace {
  std::int64_t terms_at = 0;
  std::int64_t exponents_at = 0;
  std::int64_t rows = 0;   ///< of a head
  std::int64_t count = 0;  ///< of all heads
  int part = 0;            ///< elements of a part of a line
};

struct TermsPlaces {
  TermsPlace query, key, value;
  TermsPlace output_gradient;  ///< of gradients
  std::int64_t bytes = 0;      ///< a multiple of 256; 0: there are none

  AttentionTerms at(void* workspace) const;
  TermLines output_gradient_at(void* workspace) const;
};

/// `value_part`: elements of a part of a value's line, as kernels want it. Errors: invalid_argument if the bytes exceed
/// 64 bits.
TermsPlaces terms_places(const AttentionQuery& query, int value_part);
/// Of the gradients, behind `first` bytes of the workspace, which `bytes` has, too.
TermsPlaces terms_places(const AttentionBackwardQuery& query, std::int64_t first);

Launch split_terms_launch(const AttentionQuery& query, const TermsPlaces& places);
Launch split_terms_launch(const AttentionBackwardQuery& query, const TermsPlaces& places);

}  // namespace vostok::ops::fused_attention
