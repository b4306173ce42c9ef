// One kernel launch with every decision made; `execute` runs a list of these.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include <abi/tensor_map.h>

#include "base/checked.hpp"
#include "codegen/source.hpp"
#include "device/device.hpp"
#include "ops/limits.hpp"

namespace vostok::ops {

/// Largest argument struct of any kernel: `execute` keeps it on the stack.
inline constexpr std::size_t max_argument_bytes = 512;
/// The strictest alignment of any argument: a tensor map's.
inline constexpr std::size_t argument_alignment = alignof(TensorMap);

/// A kernel with its launch shape, and the function that fills its arguments from a call's.
class Launch {
 public:
  /// `Binding` is a trivially copyable function object, `device::Dim3 operator()(const Call& call, Args& args) const`:
  /// it fills the kernel's arguments from those of `execute` (an operation's ...Arguments, its n set) and returns the
  /// grid. If the arguments contain tensor maps (MappedArgs, PairMappedArgs), it describes them.
  template <class Call, class Args, class Binding>
  static Launch of(codegen::KernelRequest request, const device::LaunchShape& shape, const Binding& binding) {
    static_assert(std::is_trivially_copyable_v<Binding> && sizeof(Binding) <= max_binding_bytes);
    static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) <= max_argument_bytes &&
                  alignof(Args) <= argument_alignment);
    Launch launch;
    launch.request_ = std::move(request);
    launch.shape_ = shape;
    launch.argument_bytes_ = sizeof(Args);
    if constexpr (!std::is_empty_v<Binding>) std::memcpy(launch.binding_.data(), &binding, sizeof(Binding));
    launch.bind_ = [](const void* stored, const void* call, void* arguments) {
      return (*static_cast<const Binding*>(stored))(*static_cast<const Call*>(call), *static_cast<Args*>(arguments));
    };
    if constexpr (requires(Args& args) { args.dense_map; })
      launch.make_maps_ = [](const device::Device& device, void* arguments) {
        device.make_map(static_cast<Args*>(arguments)->dense_map);
      };
    if constexpr (requires(Args& args) { args.lhs_map, args.rhs_map; })
      launch.make_maps_ = [](const device::Device& device, void* arguments) {
        device.make_map(static_cast<Args*>(arguments)->lhs_map);
        device.make_map(static_cast<Args*>(arguments)->rhs_map);
      };
    return launch;
  }

  /// Caps the resident blocks of an SM at an even share of `blocks`, by requesting shared memory that goes unused.
  /// Otherwise blocks that start early pile up on the SMs that are free first.
  Launch& spread(const device::Device* device, std::int64_t blocks) {
    if (device != nullptr && device->info().gpu)
      shape_.shared_bytes = std::max(shape_.shared_bytes, shared_bytes_of_share(*device, blocks));
    return *this;
  }

  /// Prevents an early start while the preceding launch ends.
  Launch& start_after_previous() {
    overlaps_ = false;
    return *this;
  }

  const codegen::KernelRequest& request() const { return request_; }
  std::int64_t shared_bytes() const { return shape_.shared_bytes; }
  int threads() const { return static_cast<int>(shape_.block.x * shape_.block.y * shape_.block.z); }
  const std::shared_ptr<const device::Kernel>& kernel() const { return kernel_; }
  void set_kernel(std::shared_ptr<const device::Kernel> kernel) { kernel_ = std::move(kernel); }

  /// Fills the arguments of one call, aligned to argument_alignment, and returns its shape; a grid without
  /// blocks: nothing to launch.
  device::LaunchShape bind(const void* call, void* arguments) const {
    device::LaunchShape shape = shape_;
    shape.grid = bind_(binding_.data(), call, arguments);
    return shape;
  }
  std::size_t argument_bytes() const { return argument_bytes_; }
  /// Makes the tensor maps that bound arguments describe, in place, before they are launched.
  void make_maps(const device::Device& device, void* arguments) const {
    if (make_maps_ != nullptr) make_maps_(device, arguments);
  }

  /// Queues one call. If it `overlaps` it may start while the preceding launch ends: every kernel of an operation waits
  /// by itself (templates/parts/dependent_launch.h). The hot path: no lock, no allocation.
  void enqueue(const device::Device& device, Stream stream, const void* call, bool overlaps = true) const {
    alignas(argument_alignment) std::array<unsigned char, max_argument_bytes> arguments;
    device::LaunchShape shape = bind(call, arguments.data());
    shape.waits_for_previous = overlaps && overlaps_;
    if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return;
    make_maps(device, arguments.data());
    device.launch(stream, *kernel_, shape, arguments.data(), argument_bytes_);
  }

 private:
  static constexpr std::size_t max_binding_bytes = 704;  // some keep all of TopologyPointers

  /// Dynamic shared memory that limits the resident blocks of an SM to its share; 0 if too few threads fit for that
  /// share.
  std::int64_t shared_bytes_of_share(const device::Device& device, std::int64_t blocks) const {
    constexpr std::int64_t granularity = 128;
    const std::int64_t share = std::max<std::int64_t>(ceil_div(blocks, device.info().multiprocessors), 1);
    if (share * threads() > device.threads_per_multiprocessor()) return 0;
    const std::int64_t room =
        device.shared_bytes_per_multiprocessor() / share / granularity * granularity - reserved_shared_bytes;
    return std::clamp<std::int64_t>(room, 0, device.max_shared_bytes());
  }

  codegen::KernelRequest request_;
  std::shared_ptr<const device::Kernel> kernel_;
  device::LaunchShape shape_;
  std::size_t argument_bytes_ = 0;
  bool overlaps_ = true;
  device::Dim3 (*bind_)(const void* binding, const void* call, void* arguments) = nullptr;
  void (*make_maps_)(const device::Device& device,
                     void* arguments) = nullptr;  ///< set if arguments contain tensor maps
  alignas(16) std::array<unsigned char, max_binding_bytes> binding_ = {};
};

}  // namespace vostok::ops
