// What the emulator's tests share: orders to try, and kernels written as text.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/error.hpp>

#include "contains.hpp"
#include "device/device.hpp"
#include "device/emulator/emulator.hpp"
#include "unit/child_outcome.hpp"

namespace emulator_test {

using vostok::device::emulator::Order;
using vostok::test::ChildOutcome;
using vostok::test::contains;
using vostok::test::has_address_sanitizer;
using vostok::test::has_thread_sanitizer;
using vostok::test::in_child;

inline constexpr std::array<Order, 5> orders = {
    Order{.kind = Order::Kind::forward},
    Order{.kind = Order::Kind::reverse},
    Order{.kind = Order::Kind::seeded, .seed = 1},
    Order{.kind = Order::Kind::seeded, .seed = 2},
    Order{.kind = Order::Kind::seeded, .seed = 0x123456789abcdef},
};

inline std::string describe(Order order) {
  if (order.kind == Order::Kind::forward) return "forward";
  if (order.kind == Order::Kind::reverse) return "reverse";
  return "seed " + std::to_string(order.seed);
}

inline std::string read_template(std::string_view name) {
  std::ifstream file(std::string(VOSTOK_TEMPLATES_FOLDER) + "/" + std::string(name));
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  REQUIRE_MESSAGE(!text.empty(), "templates/" << name << " cannot be read");
  return text;
}

/// One kernel called `kernel`, with the templates that it uses in dependency order.
struct TestKernel {
  std::string text;
  std::vector<std::string> templates = {};
  std::string expression = "kernel";
  std::int64_t shared_bytes = 0;
};

inline vostok::device::Image compile(const vostok::device::Compiler& compiler, const TestKernel& kernel) {
  std::vector<std::string> texts;
  for (const std::string& name : kernel.templates) texts.push_back(read_template(name));
  vostok::device::Source source{.family = "test.h",
                                .text = kernel.text,
                                .expression = kernel.expression,
                                .headers = {},
                                .architecture = "emulator"};
  for (std::size_t i = 0; i < texts.size(); ++i) source.headers.push_back({kernel.templates[i], texts[i]});
  return compiler.compile(source);
}

/// An emulator and the kernel loaded on it.
class Bench {
 public:
  explicit Bench(const TestKernel& kernel, const vostok::device::emulator::Settings& settings = {})
      : device_(vostok::device::emulator::open_emulator({}, settings)), shared_bytes_(kernel.shared_bytes) {
    kernel_ = device_->load(compile(device_->compiler(), kernel), shared_bytes_);
  }
  /// A kernel compiled before.
  Bench(const vostok::device::Image& image, std::int64_t shared_bytes,
        const vostok::device::emulator::Settings& settings)
      : device_(vostok::device::emulator::open_emulator({}, settings)),
        kernel_(device_->load(image, shared_bytes)),
        shared_bytes_(shared_bytes) {}

  vostok::device::Device& device() { return *device_; }
  const vostok::device::Kernel& kernel() const { return *kernel_; }

  template <class Args>
  void launch(vostok::device::Dim3 grid, vostok::device::Dim3 block, const Args& args) {
    device_->launch(nullptr, *kernel_, {.grid = grid, .block = block, .shared_bytes = shared_bytes_}, &args,
                    sizeof args);
  }

  /// The device_failure that a launch of one block ends with; empty where it succeeds.
  template <class Args>
  std::string failure(unsigned threads, const Args& args) {
    try {
      launch({}, {threads}, args);
    } catch (const vostok::Error& error) {
      CHECK(error.code() == vostok::ErrorCode::device_failure);
      return error.what();
    }
    return "";
  }

 private:
  std::shared_ptr<vostok::device::Device> device_;
  std::shared_ptr<const vostok::device::Kernel> kernel_;
  std::int64_t shared_bytes_;
};

}  // namespace emulator_test
