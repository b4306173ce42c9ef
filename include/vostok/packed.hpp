// Values of a sparse matrix, packed once for many products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <vostok/topology.hpp>

namespace vostok {

struct PackedState;

/// The caller's device memory in which packed values lie. They do not copy it: while they are in use only
/// Plan::pack_into may write it, which replaces them.
struct PackedMemory {
  void* data = nullptr;    ///< 256-byte aligned
  std::int64_t bytes = 0;  ///< at least as many as are needed
  /// Held until the last handle of the values is gone, then released at once, without waiting for queued work. Empty:
  /// the caller keeps the memory alive that long.
  std::shared_ptr<const void> owner = {};
};

/// How saved packed values are loaded.
struct LoadOptions {
  Topology topology =
      {};  ///< to load them for, of the same structure; empty: one is made of the structure that was saved with them
  /// What a newly made topology keeps; no effect on a given one. Values in CSR order ("csr/f32") need the CSR arrays
  /// beside them, which therefore stay.
  Keep keep = Keep::everything;
  Stream stream = nullptr;  ///< adopted memory is read behind the work queued so far on it, as Context::topology reads
};

/// Packed values: immutable, bound to the topology that they were packed for and to a format. A handle: cheap to copy,
/// shared, thread-safe. Must outlive queued work and captured graphs that use it; its memory is released behind the
/// work recorded by `execute`.
class PackedValues {
 public:
  PackedValues() = default;  ///< empty: using it is invalid_argument
  PackedValues(std::shared_ptr<const PackedState> state, const void* memory)
      : state_(std::move(state)), memory_(memory) {}

  explicit operator bool() const { return state_ != nullptr; }
  /// "strip16x64/pair/f16x3", "strip16x64/four/f16x3"; strips of A^T "strip16x64/pair/f16x3/transposed"; values as CSR
  /// has them "csr/f32".
  std::string format() const;
  std::int64_t bytes() const;  ///< of device memory
  const Topology& topology() const;

  /// Everything that Context::load_packed needs to restore them, without the original values or a topology: a head,
  /// which contains the structure, and the values as they lie in device memory. The structure takes one bit for each
  /// element of the matrix, or about one byte for each nonzero if that is less. Waits for the device. Equal values of
  /// an equal structure give equal bytes.
  std::vector<std::byte> save() const;
  /// Writes the same to a file, which is there whole or not at all. Errors: io_failure.
  void save(const std::filesystem::path& path) const;
  /// The head alone, a multiple of 256 bytes; the values are the `bytes()` bytes behind it. For Context::adopt_packed.
  std::vector<std::byte> save_head() const;

  const std::shared_ptr<const PackedState>& state() const { return state_; }  ///< for the library
  const void* memory() const { return state_ ? memory_ : nullptr; }           ///< for the library: in device memory

 private:
  std::shared_ptr<const PackedState> state_;
  const void* memory_ = nullptr;
};

/// A reference to packed values for `execute`; it owns nothing.
class PackedReference {
 public:
  constexpr PackedReference() = default;
  constexpr PackedReference(const PackedState* state, const void* memory) : state_(state), memory_(memory) {}
  PackedReference(const PackedValues& values)
      : state_(values.state().get()), memory_(values.memory()) {}  // NOLINT: meant to convert

  constexpr const PackedState* state() const { return state_; }
  constexpr const void* memory() const { return memory_; }

 private:
  const PackedState* state_ = nullptr;
  const void* memory_ = nullptr;
};

}  // namespace vostok
