// A and B of an SDDMM into 16-bit terms (abi/sample_operands.h), in one launch.
//
// A block makes an octet of rows, of one part of n. Where rows have scales it reads them twice: once for their largest
// magnitudes, once to split them. A thread has eight neighbouring elements of a row at a time, a chunk. The first of
// them stays in registers, and short rows are no longer than that; the next ones stay in shared memory (kept_chunks.h),
// and what is longer comes out of the caches.
#pragma once

#include "abi/fixed.h"
#include "abi/sample_operands.h"
#include "parts/dependent_launch.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/logarithm.h"
#include "parts/shared.h"
#include "parts/split_number.h"
#include "parts/warp.h"
#include "sddmm/kept_chunks.h"

namespace vostok {

struct alignas(16) SampleOperandsShared {
  unsigned combined[sample_octet_rows()];  ///< of each row's threads

  /// Behind it lie kept chunks, as many as the launch has room for.
  __device__ float* kept() { return reinterpret_cast<float*>(this + 1); }
};

/// What a block makes of a matrix.
struct OperandPart : BlocksOfN {
  unsigned line;  ///< among the parts of all matrices of the batch
  unsigned matrix;
  long long n;  ///< how many

  template <class F>
  static __device__ OperandPart of(const SampleOperandsArgs& args, unsigned line) {
    if constexpr (!F::traits.in_parts) return {{0, args.n_blocks}, line, line, args.n};
    const BlocksOfN blocks = BlocksOfN::of(line % args.parts, args.part_blocks, args.n_blocks);
    return {blocks, line, line / args.parts, blocks.length_of(args.n)};
  }
};

/// An octet of one operand.
template <class F, Layout layout, int alignment>
class OperandOctet {
  static constexpr auto traits = F::traits;
  static constexpr PackedMode mode = traits.mode;
  static constexpr bool row_major = layout == Layout::row_major;
  static constexpr unsigned row_threads = F::config.threads / sample_octet_rows();
  static constexpr bool as_it_is = traits.element != Dtype::f32;
  static_assert(F::config.threads % 64 == 0 && row_threads <= 32, "a block has 64, 128 or 256 threads");
  static_assert(!traits.marked || sample_scales_rows(mode, traits.element), "rows without scales are not marked");
  static_assert(!as_it_is || mode == (traits.element == Dtype::f16 ? PackedMode::f16x1 : PackedMode::bf16x1),
                "16-bit elements stay what they are");
  using Type = Element<traits.element>;
  using Stored = typename Type::Storage;
  using Chunk = Vector<Stored, sample_chunk()>;
  static constexpr bool keeps = traits.keeps;
  static_assert(!keeps || (sample_scales_rows(mode, traits.element) && row_threads == 32),
                "a warp keeps a row's chunks");
  using Kept = KeptChunks<layout, F::config.threads, alignment>;

 public:
  /// Threads of a row lie side by side where the row does, and rows side by side where columns are lines.
  __device__ OperandOctet(const SampleOperandsArgs& args, const SampleOperand& operand, unsigned octet,
                          const OperandPart& part)
      : n_(part.n),
        n_blocks_(part.block_count),
        leading_(operand.leading),
        row_(row_major ? threadIdx.x / row_threads : threadIdx.x % sample_octet_rows()),
        first_chunk_(row_major ? threadIdx.x % row_threads : threadIdx.x / sample_octet_rows()) {
    const long long row = static_cast<long long>(octet) * sample_octet_rows() + row_;
    exists_ = row < operand.rows;
    from_ = static_cast<const Stored*>(operand.matrix) + part.matrix * operand.stride +
            (row_major ? row * leading_ + part.first() : row + part.first() * leading_);
    const long long block = static_cast<long long>(part.matrix) * args.n_blocks + part.first_block;
    const long long first = block * operand.octet_count + octet;
    to_ = operand.octets + first * sample_octet_bytes(mode) + row_ * 128;
    block_bytes_ = static_cast<long long>(operand.octet_count) * sample_octet_bytes(mode);
    const long long number = static_cast<long long>(part.line) * operand.octet_count * sample_octet_rows() + row;
    exponent_ = operand.exponents + number;
    mark_ = operand.marks + number;
    if constexpr (keeps) kept_count_ = args.kept_chunks;
  }

  __device__ void make() const {
    if constexpr (keeps)
      for (unsigned place = 0; place < kept_count_; ++place)
        kept().ask(place, from_, row_major ? 1 : leading_, exists_ ? n_ : 0);
    const Chunk first = load(first_chunk_);
    if constexpr (!sample_scales_rows(mode, traits.element)) {
      store_row(first, 1.0F);
    } else {
      const int exponent = packed_scale_exponent(largest_of_row(first));
      const Loss loss = store_row(first, __builtin_bit_cast(float, packed_power_bits(exponent)));
      if constexpr (traits.marked) mark_row(loss);
      if (first_chunk_ == 0) *exponent_ = static_cast<signed char>(-exponent);
    }
  }

 private:
  /// Zeros where the matrix ends.
  __device__ Chunk load(unsigned chunk) const {
    Chunk values = {};
    const long long first = static_cast<long long>(chunk) * sample_chunk();
    if (!exists_) return values;
    if (row_major && first + sample_chunk() <= n_) {
      constexpr int width = (alignment < 16 ? alignment : 16) / static_cast<int>(sizeof(Stored));
      using Piece = Vector<Stored, width>;
#pragma unroll
      for (int i = 0; i < sample_chunk(); i += width) {
        const Piece piece = load_global(reinterpret_cast<const Piece*>(from_ + first + i));
#pragma unroll
        for (int j = 0; j < width; ++j) values.at[i + j] = piece.at[j];
      }
    } else {
#pragma unroll
      for (int i = 0; i < sample_chunk(); ++i)
        if (first + i < n_) values.at[i] = load_global(from_ + (row_major ? first + i : (first + i) * leading_));
    }
    return values;
  }

  __device__ Kept kept() const { return {dynamic_shared<SampleOperandsShared>().kept(), row_, first_chunk_}; }

  /// A chunk of the row that is this thread's, and not its first.
  __device__ Chunk read(unsigned chunk) const {
    if constexpr (keeps) {
      const unsigned place = chunk / row_threads - 1;
      if (place < kept_count_) return kept().read(place);
    }
    return load(chunk);
  }

  /// Of the row's finite elements, bits of a magnitude, which order as the numbers do. Every thread of the block comes
  /// here.
  __device__ unsigned largest_of_row(const Chunk& first) const {
    constexpr int chunks_at_once = row_major ? 2 : 1;
    unsigned largest = largest_of_chunk(first);
    if constexpr (keeps) Kept::wait();
#pragma unroll chunks_at_once
    for (unsigned chunk = first_chunk_ + row_threads; chunk * static_cast<long long>(sample_chunk()) < n_;
         chunk += row_threads) {
      const unsigned other = largest_of_chunk(read(chunk));
      largest = other > largest ? other : largest;
    }
    return over_row(
        largest, [](unsigned a, unsigned b) { return a > b ? a : b; },
        [](unsigned* shared, unsigned value) { atomicMax(shared, value); });
  }

  /// Combines what the row's threads have, in any order: combine(a, b), and add(&shared, value) with what is there.
  /// Every thread of the block comes here.
  template <class Combine, class Add>
  __device__ unsigned over_row(unsigned value, Combine combine, Add add) const {
    // Lanes of a row side by side, or eight apart.
    constexpr int least = row_major ? 1 : sample_octet_rows();
    constexpr int most = row_major ? static_cast<int>(row_threads) : 32;
#pragma unroll
    for (int distance = least; distance < most; distance *= 2) value = combine(value, shuffle_xor(value, distance));
    if constexpr (row_major) return value;
    return over_warps(value, add);
  }

  static __device__ unsigned largest_of_chunk(const Chunk& values) {
    unsigned largest = 0;
#pragma unroll
    for (const Stored value : values.at) {
      const unsigned magnitude = __builtin_bit_cast(unsigned, Type::to_float(value)) & 0x7fffffffU;
      if (magnitude < 0x7f800000U && magnitude > largest) largest = magnitude;
    }
    return largest;
  }

  /// Of the row over all warps, each of which has a part of every row.
  template <class Add>
  __device__ unsigned over_warps(unsigned value, Add add) const {
    auto& shared = dynamic_shared<SampleOperandsShared>();
    if constexpr (traits.marked) __syncthreads();  // what was combined before has been read
    if (threadIdx.x < sample_octet_rows()) shared.combined[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % 32 < sample_octet_rows()) add(&shared.combined[row_], value);
    __syncthreads();
    return shared.combined[row_];
  }

  /// Of some elements of the row.
  struct Loss {
    unsigned count = 0;  ///< of those that lose more than their rounding
    float sum = 0;       ///< of magnitudes
  };

  /// Sums are added as integers: the order of threads must not show. Rarely is anything lost, and then no count is
  /// added up.
  __device__ void mark_row(const Loss& loss) const {
    const auto sum = [&](unsigned value) {
      return over_row(
          value, [](unsigned a, unsigned b) { return a + b; },
          [](unsigned* shared, unsigned other) { atomicAdd(shared, other); });
    };
    // Elements that are not finite count as the largest: their sums are made again in any case.
    constexpr float largest = 1 << packed_largest_exponent();
    const float parts = __builtin_bit_cast(float, packed_power_bits(ceil_log2(SampleMark::parts) - floor_log2(n_)));
    const auto own_parts = static_cast<unsigned>(fminf(loss.sum * parts, 2 * largest * SampleMark::parts));
    const unsigned mean_parts = sum(own_parts + (loss.sum == 0 ? 0 : 1));
    unsigned count = 0;
    if (row_major ? __any_sync(0xffffffffU, loss.count > 0) : __syncthreads_or(loss.count > 0)) count = sum(loss.count);
    if (first_chunk_ == 0) *mark_ = SampleMark::of(count, mean_parts).byte();
  }

  __device__ Loss store_row(const Chunk& first, float scale) const {
    const unsigned chunks = n_blocks_ * (sample_block() / sample_chunk());
    Loss loss;
    if (first_chunk_ < chunks) store(first_chunk_, first, scale, loss);
    for (unsigned chunk = first_chunk_ + row_threads; chunk < chunks; chunk += row_threads)
      store(chunk, read(chunk), scale, loss);
    return loss;
  }

  /// Of a chunk's scaled elements.
  static __device__ void note_losses(const float (&values)[sample_chunk()], Loss& loss) {
#pragma unroll
    for (const float value : values) loss.sum += fabsf(value);
    const auto visit = [&](auto use) {
#pragma unroll
      for (const float value : values) use(value);
    };
    if (any_may_lose<mode>(visit)) visit([&](float value) { loss.count += loses<mode>(value) ? 1 : 0; });
  }

  __device__ void store(unsigned chunk, const Chunk& values, float scale, [[maybe_unused]] Loss& loss) const {
    using Terms = Vector<unsigned short, sample_chunk()>;
    constexpr unsigned chunks = sample_block() / sample_chunk();
    unsigned char* const to = to_ + chunk / chunks * block_bytes_ + 16 * (chunk % chunks ^ row_);
    Terms high;
    Terms low;
    if constexpr (as_it_is) {
      high = values;
    } else {
      float scaled[sample_chunk()];
#pragma unroll
      for (int i = 0; i < sample_chunk(); ++i) {
        scaled[i] = values.at[i] * scale;
        const SplitParts parts = split_number<mode>(scaled[i]);
        high.at[i] = parts.high;
        low.at[i] = parts.low;
      }
      if constexpr (traits.marked) note_losses(scaled, loss);
    }
    store_global<false>(reinterpret_cast<Terms*>(to), high);
    if constexpr (sample_terms(mode) == 2) store_global<false>(reinterpret_cast<Terms*>(to + sample_term_bytes()), low);
  }

  long long n_;        ///< of the part
  unsigned n_blocks_;  ///< the same
  long long leading_;
  unsigned row_;  ///< of the octet
  unsigned first_chunk_;
  bool exists_;
  const Stored* from_;  ///< the row's first element
  unsigned char* to_;   ///< the row's line in the first block
  long long block_bytes_;
  signed char* exponent_;
  unsigned char* mark_;
  unsigned kept_count_ = 0;  ///< of the thread's chunks
};

/// Octet `octet` of A, or of B where A has no such. One code serves both where they lie alike: each new line of code is
/// waited for.
template <class F>
__device__ inline void make_octet(const SampleOperandsArgs& args, unsigned octet, const OperandPart& part) {
  constexpr auto traits = F::traits;
  using Lhs = OperandOctet<F, traits.lhs_layout, traits.lhs_alignment>;
  using Rhs = OperandOctet<F, traits.rhs_layout, traits.rhs_alignment>;
  const bool is_lhs = octet < args.lhs.octet_count;
  const unsigned own = is_lhs ? octet : octet - args.lhs.octet_count;
  if constexpr (traits.lhs_layout == traits.rhs_layout && traits.lhs_alignment == traits.rhs_alignment)
    Lhs(args, is_lhs ? args.lhs : args.rhs, own, part).make();
  else if (is_lhs) Lhs(args, args.lhs, own, part).make();
  else Rhs(args, args.rhs, own, part).make();
}

/// Octets of A, then of B, lie on the grid's x, parts of the matrices of the batch on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads) sample_operands(const __grid_constant__ SampleOperandsArgs args) {
  const unsigned line = blockIdx.z * gridDim.y + blockIdx.y;
  if (line >= args.lines) return;
  follow_previous_launch();
  make_octet<F>(args, blockIdx.x, OperandPart::of<F>(args, line));
}

}  // namespace vostok
