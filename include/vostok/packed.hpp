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

  /// Everything that Context::load_packed needs to have them again without the values they were made of. Waits for the device.
  std::vector<std::byte> save() const;
  /// The same, into a file that is there whole or not at all. Errors: io_failure.
  void save(const std::filesystem::path& path) const;

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
