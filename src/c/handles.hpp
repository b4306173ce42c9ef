// What the opaque handles point at: an object of C++ and the number of its owners.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <vostok/vostok.h>
#include <vostok/vostok.hpp>

#include "c/status.hpp"

namespace vostok::c {

template <class Value>
struct Handle {
  explicit Handle(Value made) : value(std::move(made)) {}

  std::atomic<std::int64_t> owners = 1;
  const Value value;
};

template <class H>
H* retain(H* handle) {
  if (handle != nullptr) handle->owners.fetch_add(1, std::memory_order_relaxed);
  return handle;
}

template <class H>
void release(H* handle) {
  if (handle != nullptr && handle->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete handle;
}

/// Sets `*out` to a handle for what `make()` returns, or to null where it fails.
template <class H, class Make>
vostok_status make_handle(H** out, const char* argument, Make&& make) {
  if (out != nullptr) *out = nullptr;
  return guarded([&] {
    H*& place = required(out, argument);
    place = new H(std::forward<Make>(make)());
  });
}

template <class>
struct PlansOf;
template <class... Problems>
struct PlansOf<std::variant<Problems...>> {
  using Type = std::variant<Plan<Problems>...>;
};

/// The plan of any operation; its index is the operation's number.
using AnyOperation = PlansOf<AnyProblem>::Type;

inline Stream stream_of(void* stream) { return static_cast<Stream>(stream); }

}  // namespace vostok::c

// NOLINTBEGIN(readability-identifier-naming): the header's names
struct vostok_context : vostok::c::Handle<vostok::Context> {
  using Handle::Handle;
};
struct vostok_topology : vostok::c::Handle<vostok::Topology> {
  using Handle::Handle;
};
struct vostok_plan : vostok::c::Handle<vostok::c::AnyOperation> {
  using Handle::Handle;
};
struct vostok_packed : vostok::c::Handle<vostok::PackedValues> {
  using Handle::Handle;
};
struct vostok_array : vostok::c::Handle<vostok::DeviceArray> {
  using Handle::Handle;
};
struct vostok_bytes : vostok::c::Handle<std::vector<std::byte>> {
  using Handle::Handle;
};
// NOLINTEND(readability-identifier-naming)

namespace vostok::c {

inline const Context& context_of(const vostok_context* context) { return required(context, "context").value; }
inline const Topology& topology_of(const vostok_topology* topology, const char* argument = "topology") {
  return required(topology, argument).value;
}

/// Bytes that a caller gives.
inline std::span<const std::byte> span_of(const void* data, std::size_t size) {
  if (size > 0) static_cast<void>(required(static_cast<const char*>(data), "data"));
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace vostok::c
