#include "plan/index_arrays.hpp"

#include <cstring>

#include "base/checked.hpp"
#include "sparse/csr.hpp"

namespace vostok::plan {

namespace {

const char* element(const IndexArray& array, std::int64_t index) {
  return static_cast<const char*>(array.data()) + index * array.element_bytes();
}

std::int64_t bytes_of(const IndexArray& array, std::int64_t count) {
  return checked_multiply(count, array.element_bytes(), "the bytes of an index array");
}

template <class T>
std::vector<std::int64_t> widen_as(const char* raw, std::int64_t count) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value{};  // a user's array need not be aligned
    std::memcpy(&value, raw + i * sizeof(T), sizeof(T));
    values[i] = value;
  }
  return values;
}

std::vector<std::int64_t> widen_raw(const char* raw, int element_bytes, std::int64_t count) {
  if (element_bytes == 2) return widen_as<std::uint16_t>(raw, count);
  if (element_bytes == 4) return widen_as<std::int32_t>(raw, count);
  return widen_as<std::int64_t>(raw, count);
}

}  // namespace

IndexArray array_of(const void* data, IntegerType type) {
  switch (type) {
    case IntegerType::u16: return static_cast<const std::uint16_t*>(data);
    case IntegerType::i32: return static_cast<const std::int32_t*>(data);
    case IntegerType::i64: break;
  }
  return static_cast<const std::int64_t*>(data);
}

std::vector<std::int64_t> widen(const IndexArray& array, std::int64_t first, std::int64_t count) {
  return widen_raw(element(array, first), array.element_bytes(), count);
}

std::vector<std::int64_t> read_indices(device::Device& device, const IndexArray& array, std::int64_t first,
                                       std::int64_t count) {
  std::vector<char> raw(static_cast<std::size_t>(bytes_of(array, count)));
  if (count > 0) device.copy_to_host(raw.data(), element(array, first), static_cast<std::int64_t>(raw.size()));
  return widen_raw(raw.data(), array.element_bytes(), count);
}

ops::QueuedMemory upload_indices(const ops::Queue& queue, IndexArray& array, std::int64_t count) {
  ops::QueuedMemory memory(queue, bytes_of(array, count));
  queue.device().copy_to_device(memory.data(), array.data(), memory.bytes());
  array = array_of(memory.data(), ops::integer_type(array));
  return memory;
}

std::vector<std::int32_t> checked_columns(const IndexArray& array, const std::vector<std::int64_t>& row_offsets,
                                          std::int64_t cols) {
  const std::vector<std::int64_t> columns = widen(array, 0, row_offsets.back());
  std::vector<std::int32_t> narrow(columns.size());
  for (std::size_t row = 0; row + 1 < row_offsets.size(); ++row) {
    for (auto i = static_cast<std::size_t>(row_offsets[row]); std::cmp_less(i, row_offsets[row + 1]); ++i) {
      if (columns[i] < 0 || columns[i] >= cols)
        sparse::validate_column(static_cast<std::int64_t>(row), columns[i], cols, "topology");
      narrow[i] = static_cast<std::int32_t>(columns[i]);
    }
  }
  return narrow;
}

}  // namespace vostok::plan
