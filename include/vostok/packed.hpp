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

/// Device memory that somebody else allocated, for packed values to lie in. Packed values do not copy it: nobody may write it while they are used,
/// but Plan::pack_into, which makes them others.
struct PackedMemory {
  void* data = nullptr;    ///< 256-byte aligned
  std::int64_t bytes = 0;  ///< at least as many as are needed
  /// Kept until the last handle of the values goes, and let go then, not behind queued work. Empty: the caller keeps the memory as long.
  std::shared_ptr<const void> owner = {};
};

/// How packed values are loaded that stand alone.
struct LoadOptions {
  Topology topology = {};  ///< of the same structure, for which they are loaded; empty: one is made of the structure that was saved with them
  /// What a topology that is made keeps; without effect on one that is given. Values in CSR order ("csr/f32") are read beside the CSR arrays,
  /// which therefore stay.
  Keep keep = Keep::everything;
  Stream stream = nullptr;  ///< adopted memory is read behind the work queued so far on it, as Context::topology reads
};

/// Packed values: immutable, bound to the topology that they were packed for and to a format. A handle: cheap to copy, shared,
/// thread-safe. Must outlive queued work and captured graphs that use it; its memory is released behind the work recorded by `execute`.
class PackedValues {
 public:
  PackedValues() = default;  ///< empty: using it is invalid_argument
  PackedValues(std::shared_ptr<const PackedState> state, const void* memory) : state_(std::move(state)), memory_(memory) {}

  explicit operator bool() const { return state_ != nullptr; }
  /// "strip16x64/pair/f16x3", "strip16x64/four/f16x3"; strips of A^T "strip16x64/pair/f16x3/transposed"; values as CSR has them "csr/f32".
  std::string format() const;
  std::int64_t bytes() const;  ///< of device memory
  const Topology& topology() const;

  /// Everything that Context::load_packed needs to have them again, with neither the values that they were made of nor a topology: a head, with the
  /// structure in it, and the values as they lie in device memory. The structure takes a bit for each element of the matrix, or about a
  /// byte for each nonzero where that is less. Waits for the device. Alike for the same values of the same structure.
  std::vector<std::byte> save() const;
  /// The same, into a file that is there whole or not at all. Errors: io_failure.
  void save(const std::filesystem::path& path) const;
  /// The head alone, a multiple of 256 bytes; the values are the `bytes()` bytes behind it. For Context::adopt_packed.
  std::vector<std::byte> save_head() const;

  const std::shared_ptr<const PackedState>& state() const { return state_; }  ///< for the library
  const void* memory() const { return state_ ? memory_ : nullptr; }           ///< for the library: in device memory

 private:
  std::shared_ptr<const PackedState> state_;
  const void* memory_ = nullptr;
};

/// What `execute` takes of packed values: no owner.
class PackedReference {
 public:
  constexpr PackedReference() = default;
  constexpr PackedReference(const PackedState* state, const void* memory) : state_(state), memory_(memory) {}
  PackedReference(const PackedValues& values) : state_(values.state().get()), memory_(values.memory()) {}  // NOLINT: meant to convert

  constexpr const PackedState* state() const { return state_; }
  constexpr const void* memory() const { return memory_; }

 private:
  const PackedState* state_ = nullptr;
  const void* memory_ = nullptr;
};

}  // namespace vostok
