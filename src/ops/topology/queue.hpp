// The queue of a device operation's steps, and the memory that they use. Unlike the launches of a plan, steps are
// short, untuned and bound once: their operands are known when they are queued.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>
#include <utility>

#include <vostok/topology.hpp>

#include <abi/topology.h>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "codegen/source.hpp"
#include "device/device.hpp"

namespace vostok::ops {

/// The element type of a user's index array.
inline IntegerType integer_type(const IndexArray& array) {
  return array.element_bytes() == 2   ? IntegerType::u16
         : array.element_bytes() == 4 ? IntegerType::i32
                                      : IntegerType::i64;
}

/// A kernel of templates/topology/, specialised.
template <class Traits>
struct Step {
  const char* header;
  const char* kernel;
  const char* traits_type;
  Traits traits = {};
  std::int64_t shared_bytes = 0;

  codegen::KernelRequest request() const {
    return {.family = kernel,
            .header = header,
            .expression = codegen::name_expression(kernel, traits_type, traits, "StepConfig", StepConfig{})};
  }
};

/// The loaded kernels of the steps, found without generating their source text.
class StepKernels {
 public:
  using Loader = std::function<std::shared_ptr<const device::Kernel>(const codegen::KernelRequest& request,
                                                                     std::int64_t shared_bytes)>;
  explicit StepKernels(Loader load) : load_(std::move(load)) {}

  /// Thread-safe. The result is valid as long as this object. Errors: the loader's.
  template <class Traits>
  const device::Kernel& get(const Step<Traits>& step) {
    const Key key{step.header, step.kernel, packed(step.traits)};
    {
      const std::lock_guard lock(mutex_);
      if (const auto position = loaded_.find(key); position != loaded_.end()) return *position->second;
    }
    auto kernel = load_(step.request(), step.shared_bytes);
    const std::lock_guard lock(mutex_);
    return *loaded_.emplace(key, std::move(kernel)).first->second;
  }

 private:
  /// The header is part of the key: kernels of two headers may share a name.
  using Key = std::tuple<std::string_view, std::string_view, std::uint64_t>;

  /// Packs traits into a number, a byte for each: enumerators, flags and numbers that are as small.
  template <class Traits>
  static std::uint64_t packed(const Traits& traits) {
    static_assert(codegen::lists_every_field<Traits>(), "fields(Traits) must name every member");
    static_assert(codegen::field_count<Traits>() <= static_cast<int>(sizeof(std::uint64_t)));
    std::uint64_t bits = 0;
    fields(traits, [&](const char*, const auto& value) { bits = bits << 8 | static_cast<std::uint8_t>(value); });
    return bits;
  }

  Loader load_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const device::Kernel>> loaded_;
};

class Queue {
 public:
  Queue(device::Device& device, StepKernels& kernels, Stream stream)
      : device_(device), kernels_(kernels), stream_(stream) {}

  device::Device& device() const { return device_; }
  Stream stream() const { return stream_; }

  /// Queues a step; nothing if the grid has no blocks.
  template <class Traits, class Args>
  void launch(const Step<Traits>& step, std::int64_t blocks, const Args& args) const {
    if (blocks == 0) return;
    const device::Kernel& kernel = kernels_.get(step);
    if (device_.only_compiles()) return;  // the kernel is compiled, for a machine that has the device
    const device::LaunchShape shape{
        .grid = {static_cast<unsigned>(blocks)}, .block = {StepConfig{}.threads}, .shared_bytes = step.shared_bytes};
    device_.launch(stream_, kernel, shape, &args, sizeof(Args));
  }

  /// Queues one step of a program that has several, with blocks for this many threads.
  template <class Traits, class Args>
  void take(const Step<Traits>& program, Args& args, decltype(Args::step) step, std::int64_t threads) const {
    args.step = step;
    launch(program, blocks_for(threads), args);
  }

  void fill_zero(void* memory, std::int64_t bytes) const {
    if (bytes > 0) device_.fill(stream_, memory, 0, bytes);
  }

  /// Enough blocks for `count` elements, one or more a thread, to fill the device.
  std::int64_t blocks_for(std::int64_t count) const {
    constexpr std::int64_t blocks_per_multiprocessor = 16;
    return std::min<std::int64_t>(ceil_div(count, StepConfig{}.threads),
                                  blocks_per_multiprocessor * device_.info().multiprocessors);
  }

 private:
  device::Device& device_;
  StepKernels& kernels_;
  Stream stream_;
};

/// Device memory for work queued on one stream, after which it is released. Divided into arrays that start
/// at multiples of 256 bytes.
class QueuedMemory {
 public:
  QueuedMemory() = default;
  /// For 0 bytes: no memory, and null pointers.
  QueuedMemory(const Queue& queue, std::int64_t bytes) : device_(&queue.device()), stream_(queue.stream()) {
    if (bytes > 0) buffer_ = device::Buffer(queue.device(), bytes);
  }
  QueuedMemory(QueuedMemory&&) noexcept = default;
  QueuedMemory& operator=(QueuedMemory&& other) noexcept {
    release();
    device_ = other.device_;
    stream_ = other.stream_;
    buffer_ = std::move(other.buffer_);
    taken_bytes_ = other.taken_bytes_;
    return *this;
  }
  ~QueuedMemory() { release(); }

  template <class T>
  static std::int64_t bytes_of(std::int64_t count) {
    return round_up(checked_multiply(count, sizeof(T), "bytes of device memory"), 256);
  }
  /// The next `count` elements; the memory must have been made large enough for all of them.
  template <class T>
  T* take(std::int64_t count) {
    T* const array = reinterpret_cast<T*>(buffer_.as<char>() + taken_bytes_);
    taken_bytes_ += bytes_of<T>(count);
    return array;
  }

  void* data() const { return buffer_.data(); }
  template <class T>
  T* as() const {
    return buffer_.as<T>();
  }
  std::int64_t bytes() const { return buffer_.bytes(); }
  explicit operator bool() const { return static_cast<bool>(buffer_); }
  /// Gives the memory to an owner who knows which work uses it.
  void* give_away() { return buffer_.release(); }

 private:
  void release() noexcept {
    if (buffer_) device_->release_behind(buffer_.release(), {stream_});
  }

  device::Device* device_ = nullptr;
  Stream stream_ = nullptr;
  device::Buffer buffer_;
  std::int64_t taken_bytes_ = 0;
};

}  // namespace vostok::ops
