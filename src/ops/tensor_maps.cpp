#include "ops/tensor_maps.hpp"

#include <algorithm>
#include <limits>

#include "device/device.hpp"

namespace vostok::ops {

TensorBoxes MappedMatrices::of(const void* first) const {
  const long long line_bytes = stored.leading * size_of(element);
  // A single matrix has no next one, and its size need not be a legal stride.
  const long long matrix_bytes = batch > 1 ? stored.stride * size_of(element) : line_bytes;
  return {.address = first,
          .sizes = {stored.length, stored.lines, batch},
          .stride_bytes = {line_bytes, matrix_bytes},
          .box = {box_length, box_lines},
          .element = element};
}

bool lacks_tensor_maps(const device::Device* device) { return device != nullptr && !device->has_tensor_maps(); }

bool is_past_tensor_maps(const StoredMatrix& stored, std::int64_t batch, Dtype element) {
  constexpr std::int64_t longest_box = 256;  // places past the matrix count, too
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - longest_box;
  constexpr std::int64_t most_stride_bytes = (std::int64_t{1} << 40) - 1;
  const std::int64_t most_stride = most_stride_bytes / size_of(element);
  return std::max({stored.length, stored.lines, batch}) > most || stored.leading > most_stride ||
         (batch > 1 && stored.stride > most_stride);
}

}  // namespace vostok::ops
