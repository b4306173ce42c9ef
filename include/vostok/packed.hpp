// Values of a sparse matrix, packed once for many products.
#pragma once

#include <memory>
#include <utility>

namespace vostok {

struct PackedState;

/// Packed values: immutable, bound to the topology that they were packed for and to a format. A handle: cheap to copy, shared,
/// thread-safe. Must outlive queued work and captured graphs that use it; its memory is released behind the work recorded by `execute`.
class PackedValues {
 public:
  PackedValues() = default;  ///< empty: using it is invalid_argument
  PackedValues(std::shared_ptr<const PackedState> state, const void* memory) : state_(std::move(state)), memory_(memory) {}

  explicit operator bool() const { return state_ != nullptr; }

  const std::shared_ptr<const PackedState>& state() const { return state_; }  ///< for the library
  const void* memory() const { return memory_; }                              ///< for the library: in device memory

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
