// Where the nonzeros are.
#pragma once

#include <cstdint>
#include <memory>

#include <vostok/enums.hpp>

struct CUstream_st;

namespace vostok {

/// A CUDA stream (CUstream and cudaStream_t are this type). To `execute`, nullptr is the legacy default stream. To
/// calls that read operands behind a stream (Context::topology, pack, the tools), nullptr says that the operands are
/// complete: they wait for nothing.
using Stream = CUstream_st*;

/// The legacy default stream by its handle (CU_STREAM_LEGACY), where calls are to wait for the work queued on it.
/// Bindings of frameworks whose default stream is 0 (PyTorch) pass this for it, to `execute` as well. While a blocking
/// stream is captured, the driver lets nobody use the legacy stream: calls that would wait for it are capture_active,
/// and the capture goes on.
inline const Stream legacy_stream = reinterpret_cast<Stream>(std::uintptr_t{1});  // NOLINT: the driver's own handle

/// The calling thread's default stream (CU_STREAM_PER_THREAD), in every call that takes a stream.
inline const Stream per_thread_stream = reinterpret_cast<Stream>(std::uintptr_t{2});  // NOLINT: the driver's own handle

/// A typed array of indices in host or device memory (the library finds out which).
class IndexArray {
 public:
  constexpr IndexArray() = default;
  /// Holds numbers up to 65,535: offsets of at most that many nonzeros, or columns of a matrix of at most 65,536. Wider
  /// matrices may use it if no column past the first 65,536 has a nonzero.
  constexpr IndexArray(const std::uint16_t* data) : data_(data), bytes_(2) {}  // NOLINT: meant to convert
  constexpr IndexArray(const std::int32_t* data) : data_(data), bytes_(4) {}   // NOLINT
  constexpr IndexArray(const std::int64_t* data) : data_(data), bytes_(8) {}   // NOLINT
  constexpr const void* data() const { return data_; }
  constexpr int element_bytes() const { return bytes_; }

 private:
  const void* data_ = nullptr;
  int bytes_ = 4;
};

/// A sparse matrix's structure in compressed sparse rows. Copied by Context::topology.
struct CsrView {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  IndexArray row_offsets = {};     ///< rows + 1 values, starting at 0 and never decreasing
  IndexArray column_indices = {};  ///< row_offsets[rows] values in [0, cols); any order within a row, repeats add up
  std::int64_t nonzeros =
      -1;  ///< row_offsets[rows] where known: saves offsets in device memory a read-back. Checked; -1: not known
};

/// What the planner looks at. Row length: nonzeros of a row.
struct TopologyStatistics {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nonzeros = 0;
  std::int64_t longest_row = 0;
  std::int64_t empty_rows = 0;
  double mean_row = 0;  ///< nonzeros / rows
  double row_variation =
      0;  ///< coefficient of variation: standard deviation of the row lengths / their mean (paper, II)
  /// Share of the nonzeros that end a run of 32 neighbouring columns in their row: near 0 if nonzeros lie at random,
  /// near 1 in wide bands and blocks. A transpose has its matrix's value.
  double run_share = 0;
  /// Share of the columns from a row's first entry to its last, the mean of rows that have any: near 1 where nonzeros
  /// lie at random, 1/2 of a causal mask, small in a band. 0: not known. A transpose has its matrix's value.
  double span_share = 0;
  bool sorted = true;       ///< columns ascend within every row
  bool duplicates = false;  ///< a row names a column twice

  double sparsity() const;  ///< share of zeros, 0 to 1 (1 for an empty matrix)
};

/// What a topology keeps in device memory.
enum class Keep : unsigned char {
  everything,  ///< the CSR arrays too: every plan can be made of it
  packing,     ///< packed forms: plans that read packed values are made, and values packed and loaded
               ///< (Topology::release_source)
  execution    ///< what executing such plans reads (Topology::release_packing)
};

constexpr const char* name(Keep value) {
  switch (value) {
    case Keep::everything: return "everything";
    case Keep::packing: return "packing";
    case Keep::execution: return "execution";
  }
  return nullptr;
}

struct TopologyState;

/// A handle: cheap to copy, shared, thread-safe. Must outlive queued work and captured graphs that use it, and be
/// outlived by the streams that it was used on: its device memory is released behind the work that `execute` put there.
class Topology {
 public:
  Topology() = default;  ///< empty: using it is invalid_argument
  explicit Topology(std::shared_ptr<TopologyState> state) : state_(std::move(state)) {}

  explicit operator bool() const { return state_ != nullptr; }
  std::int64_t rows() const { return statistics().rows; }
  std::int64_t cols() const { return statistics().cols; }
  std::int64_t nonzeros() const { return statistics().nonzeros; }
  const TopologyStatistics& statistics() const;
  std::int64_t device_bytes() const;  ///< device memory held, derived forms included
  /// Frees the CSR arrays and everything derived from them except packed forms, for programs that execute only plans of
  /// packed values. Planning, packing and loading still work with the existing packed forms; whatever needs CSR fails
  /// with invalid_argument. Errors: invalid_argument while a plan that reads CSR is alive, or if there is no packed
  /// form yet.
  void release_source() const;
  /// As release_source, and also frees what only packing reads: at least two bytes a nonzero. Plans that read packed
  /// values are made and executed as before; packing, loading and plans that pack values at every call fail with
  /// invalid_argument. Errors: as release_source, and invalid_argument while a plan that packs values at every call is
  /// alive.
  void release_packing() const;

  const std::shared_ptr<TopologyState>& state() const { return state_; }  ///< for the library

 private:
  std::shared_ptr<TopologyState> state_;
};

}  // namespace vostok
