#include "plan/packed_file.hpp"

#include <unistd.h>  // getpid

#include <cerrno>
#include <fstream>

#include "base/boundary.hpp"
#include "base/text.hpp"
#include "plan/packed_description.hpp"
#include "plan/topology_state.hpp"

namespace vostok {

namespace plan {

namespace {

std::vector<std::byte> values_of(const PackedState& packed) {
  std::vector<std::byte> values(static_cast<std::size_t>(packed.bytes()));
  if (!values.empty()) packed.session->device().copy_to_host(values.data(), packed.memory(), packed.bytes());
  return values;
}

std::vector<std::byte> head_of(const PackedState& packed, std::span<const std::byte> values) {
  const sparse::CodedStructure& structure =
      packed.topology.state()->coded_structure();  // must come first: it also computes the digest
  return write_head(describe_packed(packed.topology, packed.kind), structure, values);
}

}  // namespace

std::vector<std::byte> save_packed(const PackedState& packed) {
  const std::vector<std::byte> values = values_of(packed);
  std::vector<std::byte> bytes = head_of(packed, values);
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

std::vector<std::byte> save_packed_head(const PackedState& packed) { return head_of(packed, values_of(packed)); }

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::filesystem::path part = path;
  part += fmt::format(".{}.part", getpid());
  std::ofstream file(part, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code failure;
  if (file) std::filesystem::rename(part, path, failure);
  else failure = std::error_code(errno, std::generic_category());
  if (!failure) return;
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  fail(ErrorCode::io_failure, "cannot write {}: {}", path.string(), failure.message());
}

namespace {

/// Runs `save` for a handle that is not empty and belongs to this process.
std::vector<std::byte> saved_by(const std::shared_ptr<const PackedState>& state,
                                std::vector<std::byte> (*save)(const PackedState&)) {
  if (!state) fail(ErrorCode::invalid_argument, "cannot save packed values: the handle is empty");
  state->session->device().require_here("save packed values");
  return at_boundary("save", "packed values", [&] { return save(*state); });
}

}  // namespace

}  // namespace plan

std::vector<std::byte> PackedValues::save() const { return plan::saved_by(state_, plan::save_packed); }

std::vector<std::byte> PackedValues::save_head() const { return plan::saved_by(state_, plan::save_packed_head); }

void PackedValues::save(const std::filesystem::path& path) const {
  at_boundary("save", "packed values", [&] { plan::write_file(path, save()); });
}

}  // namespace vostok
