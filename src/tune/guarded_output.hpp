// An output in device memory that shows what a kernel wrote, and whether it wrote anything else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <vostok/enums.hpp>

#include "device/device.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok::tune {

/// A batch of matrices between two guard bands of poison: bytes of 0xff, a NaN that no kernel computes. Gaps between
/// lines and matrices are poisoned too. The matrices may interleave: a line of each, then the next line of each.
class GuardedOutput {
 public:
  /// The output after a kernel has run.
  struct Contents {
    std::vector<float> values = {};  ///< as stored, from the first matrix's first element on; NaN between lines
    std::string wrong = {};          ///< which element was not written, or what else was written; empty: nothing wrong
    bool holds_nan = false;          ///< an element of a line is NaN
  };

  GuardedOutput() = default;
  /// The first element lies `shift_bytes` after a multiple of 256.
  GuardedOutput(device::Device& device, Dtype type, const ops::StoredMatrix& shape, std::int64_t batch,
                std::int64_t shift_bytes = 0);

  void* data() const;
  /// From the first element on, gaps between lines included.
  std::int64_t bytes() const { return element_count() * size_of(type_); }
  /// Poisons everything; then, if `initial` is not empty, sets the elements of each line from it. Its layout is that of
  /// `values`.
  void reset(Stream stream, std::span<const float> initial = {}) const;
  Contents read() const;

 private:
  /// Elements from the first matrix's first to past the last one's last.
  std::int64_t element_count() const;
  /// visit(begin, end, is_line) for every run of bytes in the buffer, in order: fences, lines and what lies between
  /// them.
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
