// Tools for device memory and sparse matrices in it: arrays, copies, dense to sparse and back, transposes, sorted
// columns, index arrays, masks.
//
// Tools read and write device memory in the order of `stream`; nullptr: operands must be complete; legacy_stream:
// behind the legacy stream's work. What they return is ready for any stream; to_dense and linear_indices are queued on
// `stream` itself. They may allocate and compile. Errors of all: capture_active where `stream` is being captured,
// invalid_argument naming the field and its value, out_of_memory, no_compiler, missing_kernel; of those that make a
// topology also no_device where the context was opened to compile only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <vostok/context.hpp>
#include <vostok/topology.hpp>

namespace vostok {

/// Device memory with an owner. A handle: cheap to copy, shared. Queued work that uses it must have finished before the
/// last copy goes.
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(std::shared_ptr<void> memory, std::int64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  void* data() const { return memory_.get(); }
  std::int64_t bytes() const { return memory_ ? bytes_ : 0; }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  std::shared_ptr<void> memory_;
  std::int64_t bytes_ = 0;
};

/// Device memory for programs without a memory manager of their own: 256-byte aligned, uninitialised. An empty handle
/// for 0 bytes.
DeviceArray make_array(const Context& context, std::int64_t bytes);

/// Copies between host and device memory, complete on return. On the emulator both are host memory. Errors:
/// invalid_argument (a null pointer, a negative number of bytes), no_device where the context was opened to compile
/// only.
void copy_to_device(const Context& context, void* device, const void* host, std::int64_t bytes,
                    Stream stream = nullptr);
void copy_to_host(const Context& context, void* host, const void* device, std::int64_t bytes, Stream stream = nullptr);

/// A row-major dense matrix in device memory.
struct DenseView {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t leading = 0;  ///< elements between rows; 0: packed
  Dtype element = Dtype::f32;
};

struct SparseMatrix {
  Topology topology;
  DeviceArray values;  ///< [nonzeros], of the dense matrix's element type, in CSR order
};

/// Whether a number of elements counts for the whole matrix or for each row.
enum class Per { matrix, row };

/// The elements whose magnitude is above `threshold`, columns ascending. A NaN is above every threshold, so that none
/// is lost unseen; a negative threshold keeps all elements. Errors: invalid_argument for a threshold that is NaN.
SparseMatrix sparse_above(const Context& context, const DenseView& dense, float threshold, Stream stream = nullptr);

/// Exactly `count` elements, of the matrix or of each row: those of largest magnitude, columns ascending. Equal
/// magnitudes go to the element that comes first in row-major order; a NaN is larger than infinity. Zeros are kept
/// where there are too few others.
SparseMatrix sparse_largest(const Context& context, const DenseView& dense, std::int64_t count, Per per,
                            Stream stream = nullptr);

/// A row-major dense matrix that is written.
struct DenseOutput {
  void* data = nullptr;
  std::int64_t leading = 0;  ///< elements between rows; 0: packed
  Dtype element = Dtype::f32;
};

/// Writes every element of the dense matrix: zeros, and the values (of the same type, in CSR order) where the topology
/// has them. Columns that repeat in a row add up, in CSR order, each sum rounded to the element type. What lies between
/// rows stays as it is. The matrix shares no element with the values.
void to_dense(const Topology& topology, const void* values, const DenseOutput& dense, Stream stream = nullptr);

struct PermutedTopology {
  Topology topology;
  DeviceArray positions;  ///< int32 [nonzeros]: where each nonzero's value lies in the CSR order of the source
};

/// The transpose; columns ascend in each row, and repeats keep their order. Errors: unsupported (2^31 nonzeros and
/// more).
PermutedTopology transpose(const Topology& topology, Stream stream = nullptr);

/// The same matrix with ascending columns in each row; repeats keep their order. Errors: unsupported (2^31 nonzeros and
/// more).
PermutedTopology sort_columns(const Topology& topology, Stream stream = nullptr);

/// row * cols + column of every nonzero (the paper's index format). Errors: invalid_argument where int32 cannot hold
/// rows * cols - 1.
void linear_indices(const Topology& topology, std::int32_t* indices, Stream stream = nullptr);
void linear_indices(const Topology& topology, std::int64_t* indices, Stream stream = nullptr);

/// Writes the CSR arrays into device memory: row offsets [rows + 1] and column indices [nonzeros]. Errors:
/// invalid_argument where int32 cannot hold the number of nonzeros, or where the source was released.
void read_csr(const Topology& topology, std::int32_t* row_offsets, std::int32_t* column_indices,
              Stream stream = nullptr);
void read_csr(const Topology& topology, std::int64_t* row_offsets, std::int64_t* column_indices,
              Stream stream = nullptr);

// Masks. Columns ascend; the same seed gives the same mask on every machine.

/// round(rows * cols * (1 - sparsity)) nonzeros, spread over the rows as equally as possible; columns at random.
struct UniformMask {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  double sparsity = 0;  ///< share of zeros, 0 to 1
  std::uint64_t seed = 1;
};

/// As UniformMask, in square blocks; the matrix's edges cut the last ones.
struct BlockMask {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t block_size = 1;
  double sparsity = 0;  ///< share of blocks that are zero
  std::uint64_t seed = 1;
};

/// `width` elements of each row: centred on the diagonal (one more on its left if even) or, if causal, ending at it.
struct BandedMask {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t width = 1;
  bool causal = false;
};

/// The attention mask of the paper (SC20, VII-C): a dense band of `width` as of BandedMask, and beyond it elements at
/// random with a probability inversely proportional to the distance from the diagonal.
struct AttentionMask {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t width = 256;
  double sparsity = 0.95;  ///< expected share of zeros beyond the band (left of the diagonal, where causal)
  bool causal = false;
  std::uint64_t seed = 1;
};

Topology make_mask(const Context& context, const UniformMask& mask, Stream stream = nullptr);
Topology make_mask(const Context& context, const BlockMask& mask, Stream stream = nullptr);
Topology make_mask(const Context& context, const BandedMask& mask, Stream stream = nullptr);
Topology make_mask(const Context& context, const AttentionMask& mask, Stream stream = nullptr);

}  // namespace vostok
