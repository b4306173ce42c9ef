#include "plan/topology_state.hpp"

#include <cstring>
#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "sparse/row_order.hpp"

namespace vostok {

namespace {

/// The array as 64-bit values on the host, from wherever it lies.
std::vector<std::int64_t> read_indices(device::Device& device, const IndexArray& array, std::int64_t count, Stream stream) {
  std::vector<char> raw(static_cast<std::size_t>(checked_multiply(count, array.element_bytes(), "the bytes of an index array")));
  if (device.is_device_pointer(array.data())) device.copy_to_host(raw.data(), array.data(), static_cast<std::int64_t>(raw.size()), stream);
  else std::memcpy(raw.data(), array.data(), raw.size());

  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  const auto widen = [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value{};
      std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
      values[i] = value;
    }
  };
  if (array.element_bytes() == 2) widen(std::uint16_t{});
  else if (array.element_bytes() == 4) widen(std::int32_t{});
  else widen(std::int64_t{});
  return values;
}

/// Columns as kernels store them; throws for one that is out of range.
std::vector<std::int32_t> checked_columns(const std::vector<std::int64_t>& columns, const std::vector<std::int64_t>& row_offsets, std::int64_t cols) {
  std::vector<std::int32_t> narrow(columns.size());
  for (std::size_t row = 0; row + 1 < row_offsets.size(); ++row) {
    for (auto i = static_cast<std::size_t>(row_offsets[row]); std::cmp_less(i, row_offsets[row + 1]); ++i) {
      if (columns[i] < 0 || columns[i] >= cols) sparse::validate_column(static_cast<std::int64_t>(row), columns[i], cols, "topology");
      narrow[i] = static_cast<std::int32_t>(columns[i]);
    }
  }
  return narrow;
}

device::Buffer upload(device::Device& device, const std::vector<std::int32_t>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(std::int32_t));
  device::Buffer buffer(device, bytes);
  if (bytes > 0) device.copy_to_device(buffer.data(), values.data(), bytes);
  return buffer;
}

void require_sizes(const CsrView& csr) {
  if (csr.rows < 0) fail(ErrorCode::invalid_topology, "cannot make topology: rows = {} is negative", csr.rows);
  if (csr.cols < 0) fail(ErrorCode::invalid_topology, "cannot make topology: cols = {} is negative", csr.cols);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (csr.rows >= most) fail(ErrorCode::unsupported, "cannot make topology: rows = {} is past 2^31 - 2", csr.rows);
  if (csr.cols > most) fail(ErrorCode::unsupported, "cannot make topology: cols = {} is past 2^31 - 1", csr.cols);
  if (csr.row_offsets.data() == nullptr) fail(ErrorCode::invalid_argument, "cannot make topology: row_offsets is null");
}

}  // namespace

TopologyState::TopologyState(std::shared_ptr<plan::Session> session, const CsrView& csr, Stream stream) : session_(std::move(session)) {
  require_sizes(csr);
  device::Device& device = session_->device();
  row_offsets_ = read_indices(device, csr.row_offsets, csr.rows + 1, stream);
  const std::int64_t nonzeros = row_offsets_.back();
  sparse::validate_offsets(csr.rows, row_offsets_, nonzeros, "topology");
  if (nonzeros > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::unsupported, "cannot make topology: {} nonzeros are past 2^31 - 1", nonzeros);
  if (nonzeros > 0 && csr.column_indices.data() == nullptr)
    fail(ErrorCode::invalid_argument, "cannot make topology: column_indices is null, and row_offsets promises {} nonzeros", nonzeros);

  std::vector<std::int32_t> columns;
  if (nonzeros > 0) columns = checked_columns(read_indices(device, csr.column_indices, nonzeros, stream), row_offsets_, csr.cols);
  statistics_ = sparse::statistics(csr.rows, csr.cols, row_offsets_, columns);
  device_offsets_ = upload(device, {row_offsets_.begin(), row_offsets_.end()});
  device_columns_ = upload(device, columns);
}

TopologyState::~TopologyState() {
  for (device::Buffer* buffer : {&device_offsets_, &device_columns_, &device_order_}) session_->release(buffer->release(), used_);
}

std::int64_t TopologyState::device_bytes() const {
  const std::lock_guard lock(mutex_);
  return device_offsets_.bytes() + device_columns_.bytes() + device_order_.bytes();
}

const TopologyStatistics& TopologyState::statistics(bool transposed) const {
  if (transposed) fail(ErrorCode::unsupported, "cannot transpose topology: this version does not");
  return statistics_;
}

ops::TopologyPointers TopologyState::pointers(const ops::TopologyNeeds& needs) {
  if (needs.transposed || needs.strip_entries > 0 || needs.index != IndexType::i32)
    fail(ErrorCode::unsupported, "cannot derive a form of the topology: this version has row orders only");
  const std::lock_guard lock(mutex_);
  if (needs.row_order && !device_order_ && statistics_.rows > 0) device_order_ = upload(session_->device(), sparse::row_order(row_offsets_));
  return {.row_offsets = device_offsets_.as<const std::int32_t>(),
          .column_indices = device_columns_.as<const std::int32_t>(),
          .row_order = device_order_.as<const std::int32_t>()};
}

sparse::Csr TopologyState::host_copy() const {
  sparse::Csr csr;
  csr.rows = statistics_.rows;
  csr.cols = statistics_.cols;
  csr.row_offsets = row_offsets_;
  csr.column_indices.resize(static_cast<std::size_t>(statistics_.nonzeros));
  if (statistics_.nonzeros > 0) session_->device().copy_to_host(csr.column_indices.data(), device_columns_.data(), device_columns_.bytes());
  return csr;
}

const TopologyStatistics& Topology::statistics() const {
  if (!state_) fail(ErrorCode::invalid_argument, "cannot read topology: the handle is empty");
  return state_->statistics();
}

std::int64_t Topology::device_bytes() const {
  if (!state_) fail(ErrorCode::invalid_argument, "cannot read topology: the handle is empty");
  return state_->device_bytes();
}

}  // namespace vostok
