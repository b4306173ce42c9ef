// What a topology keeps: its CSR arrays and what packing reads, until they are released, and the structure's identity
// afterwards.
#include <utility>

#include "base/boundary.hpp"
#include "base/digest.hpp"
#include "base/text.hpp"
#include "plan/index_arrays.hpp"
#include "plan/topology_state.hpp"

namespace vostok {

namespace {

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

[[noreturn]] void fail_release(const char* what, const std::string& why) {
  fail(ErrorCode::invalid_argument, "cannot release the {} of a topology: {}", what, why);
}

void require_unread(const char* what, const std::shared_ptr<const char>& held) {
  if (const long readers = held.use_count() - 1; readers > 0)
    fail_release(what, fmt::format("{} choices of plans that are alive read it", readers));
}

}  // namespace

std::string plan::digest_of_structure(const sparse::Csr& csr) {
  return Digest().add(csr.rows).add(csr.cols).add(bytes_of(csr.row_offsets)).add(bytes_of(csr.column_indices)).hex();
}

ops::CsrArrays TopologyState::arrays() const {
  require_source();
  return own_.arrays();
}

void TopologyState::require_source() const {
  if (released_)
    fail(ErrorCode::invalid_argument, "cannot read the CSR arrays of a topology: release_source gave them back");
}

void TopologyState::require_packing() const {
  if (packing_released_)
    fail(ErrorCode::invalid_argument, "cannot pack values of a topology: release_packing gave back what that reads");
}

bool TopologyState::serves(const ops::TopologyNeeds& needs) const {
  const std::lock_guard lock(mutex_);
  if (needs.packing && packing_released_) return false;
  return !released_ || (needs.transposed ? transposed_ : own_).has_packed(needs);
}

std::shared_ptr<const void> TopologyState::hold(const ops::TopologyNeeds& needs) const {
  const std::lock_guard lock(mutex_);
  if (needs.packed() && !needs.packing) return nullptr;
  if (needs.packed()) require_packing();
  else require_source();
  return needs.packed() ? packing_ : source_;
}

void TopologyState::release_source() {
  const std::lock_guard lock(mutex_);
  give_source_back();
}

void TopologyState::release_packing() {
  const std::lock_guard lock(mutex_);
  if (packing_released_) return;
  require_unread("packing", packing_);
  give_source_back();
  packing_released_ = true;
  own_.release_packing(*session_, used_);
  transposed_.release_packing(*session_, used_);
}

/// Makes the structure's identity known first: it cannot be computed afterwards.
void TopologyState::give_source_back() {
  if (released_) return;
  require_unread("source", source_);
  if (!own_.has_any_packed() && !transposed_.has_any_packed()) fail_release("source", "no packed form was made of it");
  know_structure();
  transpose_measured_ = static_cast<bool>(transposed_.row_offsets);
  settle();
  released_ = true;
  own_.release_source(*session_, used_);
  transposed_.release_source(*session_, used_);
}

std::string TopologyState::structure_digest() {
  const std::lock_guard lock(mutex_);
  if (digest_.empty()) digest_ = plan::digest_of_structure(host_copy());
  return digest_;
}

const sparse::CodedStructure& TopologyState::coded_structure() {
  const std::lock_guard lock(mutex_);
  know_structure();
  return coded_;
}

/// Computes the digest and the code from one host copy. Once known they do not change, since others may be reading
/// them.
void TopologyState::know_structure() {
  if (!digest_.empty() && !coded_.coding.empty()) return;
  const sparse::Csr structure = host_copy();
  if (digest_.empty()) digest_ = plan::digest_of_structure(structure);
  if (coded_.coding.empty()) coded_ = sparse::code_structure(structure);
}

void TopologyState::note_structure(std::string digest, sparse::CodedStructure coded) {
  digest_ = std::move(digest);
  coded_ = std::move(coded);
}

sparse::Csr TopologyState::host_copy() const {
  device::Device& device = session_->device();
  const ops::CsrArrays arrays = this->arrays();
  sparse::Csr csr;
  csr.rows = arrays.rows;
  csr.cols = arrays.cols;
  csr.row_offsets = own_.host_offsets;
  if (csr.row_offsets.empty())
    csr.row_offsets = plan::read_indices(
        device, plan::array_of(arrays.row_offsets, ops::offset_type(arrays.wide_offsets)), 0, arrays.rows + 1);
  const std::vector<std::int64_t> columns = plan::read_indices(
      device, plan::array_of(arrays.column_indices, ops::integer_type(arrays.index)), 0, arrays.nonzeros);
  csr.column_indices.assign(columns.begin(), columns.end());
  return csr;
}

void Topology::release_source() const {
  if (!state_) fail(ErrorCode::invalid_argument, "cannot release the source of a topology: the handle is empty");
  state_->session()->device().require_here("release the source of a topology");
  at_boundary("release", "the source of a topology", [&] { state_->release_source(); });
}

void Topology::release_packing() const {
  if (!state_) fail(ErrorCode::invalid_argument, "cannot release the packing of a topology: the handle is empty");
  state_->session()->device().require_here("release the packing of a topology");
  at_boundary("release", "the packing of a topology", [&] { state_->release_packing(); });
}

}  // namespace vostok
