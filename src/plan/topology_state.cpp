#include "plan/topology_state.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "base/boundary.hpp"
#include "base/checked.hpp"
#include "base/digest.hpp"
#include "base/text.hpp"
#include "ops/topology/primitives.hpp"
#include "plan/index_arrays.hpp"
#include "sparse/transpose.hpp"

namespace vostok {

namespace {

constexpr std::int64_t most_narrow = std::numeric_limits<std::int32_t>::max();

void require_sizes(const CsrView& csr) {
  if (csr.rows < 0) fail(ErrorCode::invalid_topology, "cannot make topology: rows = {} is negative", csr.rows);
  if (csr.cols < 0) fail(ErrorCode::invalid_topology, "cannot make topology: cols = {} is negative", csr.cols);
  if (csr.rows >= most_narrow)
    fail(ErrorCode::unsupported, "cannot make topology: rows = {} is past 2^31 - 2", csr.rows);
  if (csr.cols > most_narrow)
    fail(ErrorCode::unsupported, "cannot make topology: cols = {} is past 2^31 - 1", csr.cols);
  if (csr.row_offsets.data() == nullptr) fail(ErrorCode::invalid_argument, "cannot make topology: row_offsets is null");
}

void require_columns(const CsrView& csr, std::int64_t nonzeros) {
  // No machine has the memory for so many indices, and sizes in bytes still fit in 64 bits.
  constexpr std::int64_t most_nonzeros = std::int64_t{1} << 47;
  if (nonzeros > most_nonzeros)
    fail(ErrorCode::invalid_topology,
         "cannot make topology: row_offsets promises {} nonzeros, more than any memory holds", nonzeros);
  if (nonzeros > 0 && csr.column_indices.data() == nullptr)
    fail(ErrorCode::invalid_argument,
         "cannot make topology: column_indices is null, and row_offsets promises {} nonzeros", nonzeros);
}

/// Whether to count columns while the matrix is made. That costs memory and time in proportion to the columns, so only
/// if these are not many more than the nonzeros.
bool counts_columns_early(std::int64_t cols, std::int64_t nonzeros) {
  constexpr std::int64_t always = 1 << 20;
  return cols <= std::max(always, 4 * nonzeros) && nonzeros <= most_narrow;
}

/// The measures and, after them, the column counts, zeroed by one fill.
struct Measuring {
  Measuring(const ops::Queue& queue, std::int64_t cols)
      : memory(queue, ops::QueuedMemory::bytes_of<CsrMeasures>(2) + ops::QueuedMemory::bytes_of<std::uint32_t>(cols)),
        measures(memory.take<CsrMeasures>(2)),
        column_counts(memory.take<std::uint32_t>(cols)) {
    queue.fill_zero(memory.data(), memory.bytes());
  }
  /// The measures of the structure and of its transpose. Waits.
  std::array<CsrMeasures, 2> read(const ops::Queue& queue) const {
    std::array<CsrMeasures, 2> values{};
    queue.device().copy_to_host(values.data(), measures, sizeof(values));
    return values;
  }

  ops::QueuedMemory memory;
  CsrMeasures* measures;
  std::uint32_t* column_counts;
};

/// The transpose's offsets, from the column counts; also measures its rows.
ops::QueuedMemory scan_columns(const ops::Queue& queue, const Measuring& measuring, std::int64_t cols,
                               std::int64_t nonzeros) {
  ops::QueuedMemory offsets(queue, (cols + 1) * std::int64_t{sizeof(std::int32_t)});
  ops::exclusive_scan(queue, measuring.column_counts, cols, offsets.data(), false);
  ops::measure_rows(queue, offsets.data(), false, cols, nonzeros, measuring.measures + 1);
  return offsets;
}

/// Checks an invalid structure again on the host, where the usual check names what is wrong.
[[noreturn]] void fail_invalid(device::Device& device, const CsrView& csr, std::int64_t nonzeros,
                               const CsrMeasures& measures) {
  const std::vector<std::int64_t> offsets = plan::read_indices(device, csr.row_offsets, 0, csr.rows + 1);
  sparse::validate_offsets(csr.rows, offsets, nonzeros, "topology");
  const std::int64_t position = first_noted(measures.bad_column_inverted);
  const std::int64_t column = plan::read_indices(device, csr.column_indices, position, 1).front();
  const auto row = std::upper_bound(offsets.begin(), offsets.end(), position) - offsets.begin() - 1;
  sparse::validate_column(row, column, csr.cols, "topology");
  fail(ErrorCode::invalid_topology, "cannot use topology: its arrays changed while they were copied");
}

}  // namespace

TopologyState::TopologyState(std::shared_ptr<plan::Session> session, const CsrView& csr, Stream stream)
    : session_(std::move(session)) {
  require_sizes(csr);
  const device::Device& device = session_->device();
  if (device.is_device_pointer(csr.row_offsets.data()) || device.is_device_pointer(csr.column_indices.data()))
    build_on_device(csr, stream);
  else build_on_host(csr);
}

TopologyState::~TopologyState() {
  if (unsettled_) used_.note(session_->device().own_stream());
  own_.release(*session_, used_);
  transposed_.release(*session_, used_);
}

ops::Queue TopologyState::queue() const {
  return {session_->device(), session_->step_kernels(), session_->device().own_stream()};
}

void TopologyState::build_on_host(const CsrView& csr) {
  own_.host_offsets = plan::widen(csr.row_offsets, 0, csr.rows + 1);
  const std::int64_t nonzeros = csr.nonzeros >= 0 ? csr.nonzeros : own_.host_offsets.back();
  sparse::validate_offsets(csr.rows, own_.host_offsets, nonzeros, "topology");
  require_columns(csr, nonzeros);
  const std::vector<std::int32_t> columns = plan::checked_columns(csr.column_indices, own_.host_offsets, csr.cols);
  own_.statistics = sparse::statistics(csr.rows, csr.cols, own_.host_offsets, columns);
  own_.wide_offsets = nonzeros > most_narrow;

  const ops::Queue queue = this->queue();
  if (own_.wide_offsets) own_.row_offsets = plan::upload(queue, own_.host_offsets);
  else
    own_.row_offsets =
        plan::upload(queue, std::vector<std::int32_t>(own_.host_offsets.begin(), own_.host_offsets.end()));
  if (own_.stored_index() == IndexType::i32) own_.column_indices = plan::upload(queue, columns);
  else own_.column_indices = plan::upload(queue, std::vector<std::uint16_t>(columns.begin(), columns.end()));
  if (session_->device().only_compiles()) rehearse(columns);
}

/// On a device that only compiles: rehearses the kernels that a structure in device memory would have needed so far.
/// Every form is then derived as from such a structure, so that its kernels are compiled too; what kernels would have
/// measured is measured on the host. If compiling is forbidden, missing kernels are noted for a survey to report.
void TopologyState::rehearse(const std::vector<std::int32_t>& columns) {
  const std::int64_t rows = own_.statistics.rows, cols = own_.statistics.cols, nonzeros = own_.statistics.nonzeros;
  if (!own_.wide_offsets) {
    const sparse::Csr structure{
        .rows = rows, .cols = cols, .row_offsets = std::move(own_.host_offsets), .column_indices = columns};
    const sparse::Csr transpose = sparse::transpose(structure).csr;
    known_transpose_ =
        sparse::statistics(transpose.rows, transpose.cols, transpose.row_offsets, transpose.column_indices);
  }
  own_.host_offsets.clear();
  const Measuring measuring(queue(), cols);
  const ops::CsrArrays stored = own_.arrays();
  const void* const source = measuring.measures;
  const auto attempt = [&](const auto& step) {
    try {
      step();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::missing_kernel) throw;
      missing_steps_.emplace_back(error.what());
    }
  };
  for (const IntegerType offsets : {IntegerType::i32, IntegerType::i64})
    for (const IntegerType indices : {IntegerType::u16, IntegerType::i32, IntegerType::i64})
      for (const bool counted : {false, true})
        attempt([&] {
          ops::copy_and_check(queue(),
                              {.rows = rows,
                               .cols = cols,
                               .row_offsets = plan::array_of(source, offsets),
                               .column_indices = plan::array_of(source, indices)},
                              stored, {.column_counts = counted ? measuring.column_counts : nullptr},
                              measuring.measures);
        });
  if (counts_columns_early(cols, nonzeros)) attempt([&] { scan_columns(queue(), measuring, cols, nonzeros); });
  if (own_.statistics.sorted) return;
  const bool duplicates = own_.statistics.duplicates;
  attempt([&] { find_duplicates(); });
  own_.statistics.duplicates = transposed_.statistics.duplicates = duplicates;
}

void TopologyState::build_on_device(const CsrView& csr, Stream stream) {
  const ops::Queue queue = this->queue();
  device::Device& device = queue.device();
  device.wait_for(stream);
  // If one array is on the host, it is copied to the device.
  CsrView view = csr;
  ops::QueuedMemory offsets, columns;
  if (!device.is_device_pointer(csr.row_offsets.data())) {
    if (view.nonzeros < 0) view.nonzeros = plan::widen(csr.row_offsets, csr.rows, 1).front();
    offsets = plan::upload_indices(queue, view.row_offsets, csr.rows + 1);
  }
  const std::int64_t nonzeros =
      view.nonzeros >= 0 ? view.nonzeros : plan::read_indices(device, view.row_offsets, csr.rows, 1).front();
  if (nonzeros < 0) fail_invalid(device, view, nonzeros, {});
  require_columns(csr, nonzeros);
  if (nonzeros > 0 && !device.is_device_pointer(csr.column_indices.data()))
    columns = plan::upload_indices(queue, view.column_indices, nonzeros);
  copy_from_device(view, nonzeros);
  if (!own_.statistics.sorted && !own_.statistics.duplicates) find_duplicates();
}

void TopologyState::copy_from_device(const CsrView& csr, std::int64_t nonzeros) {
  const ops::Queue queue = this->queue();
  const bool early = counts_columns_early(csr.cols, nonzeros);
  own_.statistics = {.rows = csr.rows, .cols = csr.cols, .nonzeros = nonzeros};
  own_.wide_offsets = nonzeros > most_narrow;
  own_.row_offsets = ops::QueuedMemory(queue, (csr.rows + 1) * size_of(ops::offset_type(own_.wide_offsets)));
  own_.column_indices = ops::QueuedMemory(
      queue, checked_multiply(nonzeros, size_of(ops::integer_type(own_.stored_index())), "bytes of column indices"));
  const Measuring measuring(queue, early ? csr.cols : 0);
  ops::copy_and_check(queue, csr, own_.arrays(),
                      {.row_offsets = own_.row_offsets.data(),
                       .column_indices = own_.column_indices.data(),
                       .column_counts = early ? measuring.column_counts : nullptr},
                      measuring.measures);
  if (early) transposed_.row_offsets = scan_columns(queue, measuring, csr.cols, nonzeros);

  const auto [measures, transposed_measures] = measuring.read(queue);
  if (measures.bad_row_inverted != 0 || measures.bad_column_inverted != 0)
    fail_invalid(queue.device(), csr, nonzeros, measures);
  own_.statistics = plan::statistics_of(measures, csr.rows, csr.cols, nonzeros);
  if (early) transposed_.statistics = plan::statistics_of(transposed_measures, csr.cols, csr.rows, nonzeros);
  share_statistics();
}

/// Copies the statistics that a transpose shares with its matrix: its own columns are not measured.
void TopologyState::share_statistics() {
  transposed_.statistics.duplicates = own_.statistics.duplicates;
  transposed_.statistics.run_share = own_.statistics.run_share;
  transposed_.statistics.span_share = own_.statistics.span_share;
}

/// Finds columns named twice. If they are not sorted, only the transpose shows it, where they are.
void TopologyState::find_duplicates() {
  bool& found = own_.statistics.duplicates;
  found = true;  // unknown without a transpose: assume duplicates
  if (own_.wide_offsets) return;
  require_transpose();
  const Measuring measuring(queue(), 0);
  ops::measure_columns(queue(), transposed_.arrays(), nullptr, measuring.measures);
  found = measuring.read(queue())[0].duplicates != 0;
  transposed_.statistics.duplicates = found;
}

void TopologyState::require_narrow() const {
  if (own_.wide_offsets)
    fail(ErrorCode::unsupported, "cannot transpose topology: {} nonzeros are past 2^31 - 1", own_.statistics.nonzeros);
}

void TopologyState::require_transposed_offsets() {
  require_narrow();
  if (transposed_.row_offsets) return;
  require_source();
  const auto& [rows, cols, nonzeros] = std::tie(own_.statistics.rows, own_.statistics.cols, own_.statistics.nonzeros);
  const Measuring measuring(queue(), cols);
  ops::measure_columns(queue(), own_.arrays(), measuring.column_counts, measuring.measures);
  ops::QueuedMemory offsets = scan_columns(queue(), measuring, cols, nonzeros);
  transposed_.statistics = plan::statistics_of(measuring.read(queue())[1], cols, rows, nonzeros);
  if (known_transpose_) transposed_.statistics = *known_transpose_;
  share_statistics();
  transposed_.row_offsets = std::move(offsets);
}

void TopologyState::require_transpose() {
  require_transposed_offsets();
  const std::int64_t nonzeros = own_.statistics.nonzeros;
  if (transposed_.value_positions || nonzeros == 0) return;
  ops::QueuedMemory indices(queue(), nonzeros * size_of(ops::integer_type(transposed_.stored_index())));
  ops::QueuedMemory positions(queue(), nonzeros * std::int64_t{sizeof(std::int32_t)});
  ops::transpose(queue(), own_.arrays(), positions.as<std::int32_t>(), indices.data(), transposed_.stored_index());
  transposed_.column_indices = std::move(indices);
  transposed_.value_positions = std::move(positions);
  unsettled_ = true;
}

const TopologyStatistics& TopologyState::statistics(bool transposed) {
  if (!transposed) return own_.statistics;
  const std::lock_guard lock(mutex_);
  if (!released_ || !transpose_measured_) require_transposed_offsets();
  return transposed_.statistics;
}

ops::TopologyPointers TopologyState::pointers(const ops::TopologyNeeds& needs) {
  const std::lock_guard lock(mutex_);
  plan::TopologyForms& forms = needs.transposed ? transposed_ : own_;
  if (needs.packing) require_packing();
  if (released_ && forms.has_packed(needs)) return forms.pointers(needs);
  require_source();
  if (needs.transposed) require_transpose();
  forms.derive(queue(), needs, unsettled_);
  ops::TopologyPointers pointers = forms.pointers(needs);
  if (needs.transposed_key_tiles) {
    require_transpose();
    transposed_.derive(queue(), needs, unsettled_);
    const ops::TopologyPointers other = transposed_.pointers(needs);
    pointers.transposed = {other.row_offsets, other.column_indices, other.key_tiles};
    pointers.value_positions = other.value_positions;
  }
  settle();
  return pointers;
}

/// Waits for the last form built, which makes all of them ready for every stream.
void TopologyState::settle() {
  if (unsettled_) queue().device().synchronize(queue().stream());
  unsettled_ = false;
}

std::int64_t TopologyState::device_bytes() const {
  const std::lock_guard lock(mutex_);
  return own_.bytes() + transposed_.bytes();
}

const TopologyStatistics& Topology::statistics() const {
  if (!state_) fail(ErrorCode::invalid_argument, "cannot read topology: the handle is empty");
  return std::as_const(*state_).statistics();
}

std::int64_t Topology::device_bytes() const {
  if (!state_) fail(ErrorCode::invalid_argument, "cannot read topology: the handle is empty");
  state_->session()->device().require_here("read the size of a topology");
  return state_->device_bytes();
}

}  // namespace vostok
