// A and B of an SDDMM as tensor cores read them, rows of 16-bit terms, and the kernel that makes them: what host and
// kernels share.
//
// n is cut into blocks of 64, rows into octets of eight; the octet of block b has number b * octets + octet, so that
// the octets of a tile of rows follow one another. An octet is eight lines of 128 bytes, 64 terms of a row each, then
// as many of the low terms where there are two. The 16-byte chunk c of line r lies at place c ^ r: reading one chunk of
// eight lines touches every bank of shared memory once, and it is the 128-byte swizzle of wgmma. n past the matrix and
// rows past it are zeros.
//
// An element v becomes hi = rounded(s v) and, where there are two terms, lo = rounded(s v - hi), 0 where hi is not
// finite. Where f32 becomes f16, s is a power of two for each row and part of n that brings the largest finite |s v|
// there into [2^13, 2^14); else it is 1 (packed_scale_exponent).
//
// f16 has no smaller step than 2^-24: what is far below a row's largest loses more than its relative rounding, up to
// 2^-25. Where rows are marked, a byte of each and part tells how many of its elements do, and how large all are in the
// mean: SampleMark.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_strips.h"

namespace vostok {

consteval int sample_block() { return 64; }  ///< n of a block
consteval int sample_octet_rows() { return 8; }
consteval int sample_chunk() { return 8; }          ///< terms of 16 bytes
consteval int sample_term_bytes() { return 1024; }  ///< of one term of an octet

/// Blocks of n that are summed together; the last of all may end early.
struct BlocksOfN {
  unsigned first_block;
  unsigned block_count;

  /// Part `number` of `n_blocks`, cut in parts of so many.
  static constexpr BlocksOfN of(unsigned number, unsigned part_blocks, unsigned n_blocks) {
    const unsigned first = number * part_blocks, left = n_blocks - first;
    return {first, left < part_blocks ? left : part_blocks};
  }
  constexpr long long first() const { return static_cast<long long>(first_block) * sample_block(); }
  /// How many of n.
  constexpr long long length_of(long long n) const {
    const long long whole = static_cast<long long>(block_count) * sample_block();
    return n - first() < whole ? n - first() : whole;
  }
};

/// Terms that an element is split into.
constexpr int sample_terms(PackedMode mode) { return packed_pair_words(mode); }
constexpr int sample_octet_bytes(PackedMode mode) { return sample_term_bytes() * sample_terms(mode); }
/// Whether each row has a scale.
constexpr bool sample_scales_rows(PackedMode mode, Dtype element) {
  return element == Dtype::f32 && packed_is_f16(mode);
}

/// 0 for 0. The bits of value - 1, without a loop that kernels would wait for.
constexpr int ceil_log2(unsigned value) {
  unsigned left = value > 0 ? value - 1 : 0;
  int bits = 0;
  for (int step = 16; step > 0; step /= 2) {
    if (left >> step == 0) continue;
    left >>= step;
    bits += step;
  }
  return left > 0 ? bits + 1 : bits;
}

/// A row in a byte; both numbers are rounded up, and both are 0 of zeros alone.
struct SampleMark {
  int code;  ///< 0 where no element loses more than its rounding, else 1 + log4 of how many do
  int mean;  ///< log2 of the sum of |s v| over 2^floor(log2 n), at least 1

  static constexpr int most_code = 15;  ///< and whatever is more
  static constexpr unsigned parts = 1024;

  /// `mean_parts`: that ratio in units of 1 / parts, 0 of zeros alone.
  static constexpr SampleMark of(unsigned lossy, unsigned mean_parts) {
    if (mean_parts == 0) return {0, 0};
    const int code = lossy == 0 ? 0 : 1 + (ceil_log2(lossy) + 1) / 2;
    const int mean = ceil_log2(mean_parts) - ceil_log2(parts);
    return {code < most_code ? code : most_code, mean < 1 ? 1 : mean < 15 ? mean : 15};
  }
  static constexpr SampleMark from_byte(unsigned char byte) { return {byte >> 4, byte & 15}; }
  constexpr unsigned char byte() const { return static_cast<unsigned char>(code << 4 | mean); }
  static consteval unsigned char byte_of_zeros() { return 0; }
  /// log2 of the most that those elements take from a sum, whatever they meet.
  constexpr int loss_exponent() const {
    return code < most_code ? 2 * (code - 1) + packed_largest_exponent() + packed_lost_exponent() : 100;
  }
};

/// log2 of the share of itself that a sum may lose by each of its rows: `accurate` is 2^-16 in all, tf32 2^-9.
constexpr int sample_loss_exponent(PackedMode mode) {
  return mode == PackedMode::f16x3 || mode == PackedMode::tf32x3 ? -18 : -10;
}

/// What the problem fixes.
struct SampleOperandsTraits {
  Dtype element = Dtype::f32;
  PackedMode mode = PackedMode::f16x3;
  Layout lhs_layout = Layout::row_major;
  Layout rhs_layout = Layout::row_major;
  int lhs_alignment = 16;  ///< bytes that divide every line start of A
  int rhs_alignment = 16;
  bool marked = false;    ///< rows are, which have scales
  bool in_parts = false;  ///< n is cut in parts, of each of which rows have scales and marks of their own
  bool keeps = false;     ///< chunks are kept between the two readings of a row, which has scales
};

struct SampleOperandsConfig {
  int threads = 256;  ///< of a block, which makes an octet of rows: an eighth of them walks along each row
};

/// One of the two.
struct SampleOperand {
  const void* matrix;
  unsigned char* octets;   ///< of the first matrix of the batch; the others follow
  signed char* exponents;  ///< -log2(s) of each row of each part of n, those past the matrix included; not written
                           ///< where rows have no scales
  unsigned char* marks;    ///< SampleMark::byte() of the same; not written where they are not marked
  long long rows;
  long long leading;  ///< elements between lines
  long long stride;   ///< elements between two matrices of the batch
  unsigned octet_count;
};

struct SampleOperandsArgs {
  SampleOperand lhs;
  SampleOperand rhs;
  long long n;
  unsigned n_blocks;
  unsigned parts;        ///< of n; those of a matrix follow one another
  unsigned part_blocks;  ///< n blocks of each; the last may have fewer
  unsigned lines;        ///< parts of all matrices of the batch
  unsigned kept_chunks;  ///< of a thread, after its first: shared memory has room for them
};

template <FieldsOf<SampleOperandsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("mode", traits.mode);
  visit("lhs_layout", traits.lhs_layout);
  visit("rhs_layout", traits.rhs_layout);
  visit("lhs_alignment", traits.lhs_alignment);
  visit("rhs_alignment", traits.rhs_alignment);
  visit("marked", traits.marked);
  visit("in_parts", traits.in_parts);
  visit("keeps", traits.keeps);
}

template <FieldsOf<SampleOperandsConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("threads", config.threads);
}

consteval int sample_most_kept_chunks() { return 7; }  ///< so that a multiprocessor holds three blocks

/// Dynamic shared memory of a block: its rows' largest magnitudes, and the chunks that its threads keep.
constexpr int shared_bytes(const SampleOperandsTraits&, const SampleOperandsConfig& config, int kept_chunks) {
  return 4 * sample_octet_rows() + kept_chunks * config.threads * sample_chunk() * 4;
}

}  // namespace vostok
