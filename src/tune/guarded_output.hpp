// An output in device memory that shows what a kernel wrote, and what it should not have written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <vostok/enums.hpp>

#include "device/device.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok::tune {

/// A batch of matrices between two fences of poison. Poison is bytes of 0xff: a NaN that no kernel computes. It also lies
/// between lines and between matrices. The matrices may interleave: a line of each, then the next line of each.
class GuardedOutput {
 public:
  /// What a kernel left.
  struct Contents {
    std::vector<float> values = {};  ///< as stored, from the first matrix's first element on; NaN between lines
    std::string wrong = {};          ///< which element was not written, or what else was; empty: neither
    bool holds_nan = false;          ///< an element of a line is NaN
  };

  GuardedOutput() = default;
  /// The first element lies `shift_bytes` behind a multiple of 256.
  GuardedOutput(device::Device& device, Dtype type, const ops::StoredMatrix& shape, std::int64_t batch, std::int64_t shift_bytes = 0);

  void* data() const;
  /// From the first element on, gaps between lines included.
  std::int64_t bytes() const { return element_count() * size_of(type_); }
  /// Poison everywhere; then, where `initial` is not empty, the elements of each line from there. It is laid out as `values` is.
  void reset(Stream stream, std::span<const float> initial = {}) const;
  Contents read() const;

 private:
  /// Elements from the first matrix's first to past the last one's last.
  std::int64_t element_count() const;
  /// visit(begin, end, is_line) for every run of bytes in the buffer, in order: fences, lines and what lies between them.
  template <class Visit>
  void visit_runs(Visit&& visit) const;

  device::Device* device_ = nullptr;
  Dtype type_ = Dtype::f32;
  ops::StoredMatrix shape_;
  std::int64_t batch_ = 0;
  std::int64_t front_bytes_ = 0;
  device::Buffer buffer_;
};

}  // namespace vostok::tune
