// Operands of f32 attention as tensor cores multiply them, and the kernel that makes them: what host and kernels share.
//
// A line, of a query, a key, a value or an output's gradient, becomes the f16 terms of its elements: the first of all,
// then the second where there are two. Each part is as long as kernels want it, and ends in zeros. An element v becomes
// hi = rounded(s v) and lo = rounded(s v - hi), 0 where hi is not finite; s is a power of two that brings the line's
// largest finite |s v| into [2^13, 2^14). What is 2^-25 of a scaled element and less is lost, however small it is.
#pragma once

#include "abi/fields.h"
#include "abi/packed_strips.h"

namespace vostok {

/// The lines of one operand, head by head.
struct TermLines {
  unsigned short* terms;
  int* exponents;  ///< of each line: term_exponent, or the bits of its power
};

struct AttentionTerms {
  TermLines query;
  TermLines key;
  TermLines value;
};

/// -log2 of a line's scale and this, or 0 of a line of zeros.
consteval int term_exponent_bias() { return 256; }
constexpr int term_exponent(unsigned largest_bits) {
  return largest_bits == 0 ? 0 : term_exponent_bias() - packed_scale_exponent(largest_bits);
}

/// Gradients have the exponents of lines as f32, 2^(-log2 of the scale + this), infinity beyond; 0 of a line of zeros.
consteval int term_power_shift() { return 16; }
constexpr unsigned term_power_bits(unsigned largest_bits) {
  const int field = term_power_shift() - packed_scale_exponent(largest_bits) + 127;
  return largest_bits == 0 ? 0 : static_cast<unsigned>(field < 255 ? field : 255) << 23;
}

constexpr PackedMode terms_mode(int terms) { return terms == 2 ? PackedMode::f16x3 : PackedMode::f16_scaled; }

/// What the problem fixes.
struct SplitTermsTraits {
  int terms = 2;
  int longest = 64;     ///< elements of the longest part
  bool powers = false;  ///< in place of exponents
};

struct SplitTermsConfig {
  int threads = 256;
};

/// One operand.
struct SplitLines {
  const float* lines;  ///< [heads, rows, size]
  TermLines to;
  long long leading;  ///< elements between two lines, and so on
  long long stride;
  long long rows;   ///< of a head
  long long count;  ///< of all heads
  int size;
  int part;  ///< elements of a part, a multiple of 16
};

struct SplitTermsArgs {
  SplitLines operands[4];  ///< gradients have the output's as the fourth
};

template <FieldsOf<SplitTermsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("terms", traits.terms);
  visit("longest", traits.longest);
  visit("powers", traits.powers);
}

template <FieldsOf<SplitTermsConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("threads", config.threads);
}

/// Elements that a thread has at a time, and threads that share a line.
consteval int split_piece() { return 4; }
constexpr int line_threads(const SplitTermsTraits& traits) {
  int threads = 4;
  while (threads < 32 && threads * split_piece() < traits.longest) threads *= 2;
  return threads;
}

}  // namespace vostok
