// Files of packed values whose bytes were changed: whatever they are, only values of the topology's elements may
// differ.
#include <doctest/doctest.h>
#include <cmath>

#include <cstring>
#include <map>
#include <set>

#include "base/digest.hpp"
#include "device/devices.hpp"
#include "ops/topology/packed_format.hpp"
#include "ops/topology/packed_runs.hpp"
#include "ops/topology/packed_strips.hpp"
#include "ops/topology/sparse_strips.hpp"
#include "plan/packed.hpp"
#include "plan/packed_file.hpp"
#include "sparse/elements.hpp"
#include "sparse/packed_runs.hpp"
#include "sparse/packed_strips.hpp"
#include "sparse/sparse_strips.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 71;
constexpr std::size_t prefix_bytes = 88, description_size_at = 12, value_size_at = 16, digest_at = 24;

/// Rows and columns of nonzeros, three and four of four neighbours among them, and no row or column without.
sparse::Csr mask() { return sparse::uniform(40, 140, 0.55, seed); }

std::size_t values_at(const std::vector<std::byte>& file) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, file.data() + value_size_at, sizeof(bytes));
  return file.size() - bytes;
}

/// The digest says that the file is whole.
void sign(std::vector<std::byte>& file) {
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  const std::size_t values = values_at(file);
  std::uint32_t description = 0;
  std::memcpy(&description, file.data() + description_size_at, sizeof(description));
  const std::size_t structure = prefix_bytes + description;
  const std::string digest = Digest()
                                 .add(std::int64_t{2})
                                 .add(all.substr(prefix_bytes, description))
                                 .add(all.substr(structure, values - structure))
                                 .add(all.substr(values))
                                 .hex();
  std::memcpy(file.data() + digest_at, digest.data(), digest.size());
}

template <class T>
std::vector<T> read_as(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// Which elements of [rows, cols] the host reads as not zero in a set of packed values, whose structure is what the set
/// itself says.
std::vector<bool> named_by(const std::string& format, const sparse::Csr& csr, std::span<const std::byte> set) {
  std::vector<bool> named;
  const auto note = [&](const auto& dense) {
    for (const auto value : dense) named.push_back(value != 0);
  };
  if (const auto kind = ops::find_strip_kind(format)) {
    const sparse::PackedForm form = sparse::packed_form(csr, {}, kind->grain);
    sparse::PackedMatrix packed{.mode = kind->mode};
    const std::size_t scale_bytes =
        packed_scales_rows(kind->mode) ? static_cast<std::size_t>(form.row_strips) * 16 * 4 : 0;
    const std::size_t data_at = scale_bytes * (kind->marked ? 2 : 1);  // where exact values begin comes between
    const std::size_t data_bytes = std::size_t{form.unit_offsets(packed_pair_words(kind->mode)).back()} * 16;
    packed.row_scales = read_as<float>(set.first(scale_bytes));
    packed.data = read_as<std::uint32_t>(set.subspan(data_at, data_bytes));
    packed.left_over =
        read_as<LeftEntry>(set.subspan(data_at + data_bytes, form.left_places.size() * sizeof(LeftEntry)));
    note(sparse::unpack(form, packed));
  } else if (ops::sparse_format_element(format)) {
    const sparse::SparseForm form = sparse::sparse_form(csr);
    note(sparse::unpack(form, read_as<std::uint32_t>(set.first(std::size_t{form.unit_offsets.back()} * 16))));
  } else {
    const int gap_bits = format.find("gap4") != std::string::npos ? 4 : 8;
    for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16})
      if (ops::runs_format(gap_bits, element) == format)
        note(sparse::unpack(sparse::packed_runs(csr, gap_bits), csr.cols, element, set));
  }
  return named;
}

std::vector<bool> named_by(const sparse::Csr& csr) {
  std::vector<bool> named(static_cast<std::size_t>(csr.rows * csr.cols));
  for (std::int64_t row = 0; row < csr.rows; ++row)
    for (auto i = static_cast<std::size_t>(csr.row_offsets[static_cast<std::size_t>(row)]);
         std::cmp_less(i, csr.row_offsets[static_cast<std::size_t>(row) + 1]); ++i)
      named[static_cast<std::size_t>(row * csr.cols + csr.column_indices[i])] = true;
  return named;
}

/// No element that the topology lacks.
bool within(const std::vector<bool>& named, const std::vector<bool>& allowed) {
  REQUIRE(named.size() == allowed.size());
  for (std::size_t i = 0; i < named.size(); ++i)
    if (named[i] && !allowed[i]) return false;
  return true;
}

/// Two sets of values of a format, packed on the device.
PackedValues packed_as(const Context& context, const Topology& topology, const ops::PackedFormat& format,
                       int decades = 0) {
  const plan::PackedKind kind{.packing = &format, .sets = 2};
  const Dtype element = format.value_types().front();
  std::vector<float> numbers = sparse::normal_values(2 * topology.nonzeros(), seed + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] *=
        decades == 0 ? 1 : std::pow(10.0F, static_cast<float>(i * 37 % 100) * 0.01F * static_cast<float>(decades));
  const std::vector<std::byte> stored = sparse::to_storage(element, numbers);
  const device::Buffer values(test::device_of(context), static_cast<std::int64_t>(stored.size()));
  test::device_of(context).copy_to_device(values.data(), stored.data(), values.bytes());
  return plan::pack(topology, kind, {.values = values.data(), .element = element, .stride = topology.nonzeros()},
                    nullptr);
}

struct Outcome {
  int refused = 0;
  int taken = 0;
};

/// Loads the file with one bit changed: an error with a sentence, or values of the same elements.
void load_flipped(const Context& context, const Topology& topology, const sparse::Csr& csr, std::vector<std::byte> file,
                  std::size_t byte, int bit, Outcome& outcome) {
  file[byte] ^= static_cast<std::byte>(1 << bit);
  sign(file);
  try {
    const PackedValues loaded = context.load_packed(topology, file);
    ++outcome.taken;
    const std::size_t first = values_at(file), set_bytes = (file.size() - first) / 2;
    const std::vector<bool> allowed = named_by(csr);
    for (const std::size_t set : {std::size_t{0}, set_bytes}) {
      const bool right =
          within(named_by(loaded.format(), csr, std::span(file).subspan(first + set, set_bytes)), allowed);
      CHECK_MESSAGE(right, "byte ", byte - first, " bit ", bit, ": an element that the topology lacks has a value");
    }
  } catch (const Error& error) {
    ++outcome.refused;
    CHECK(error.code() == ErrorCode::io_failure);
    CHECK(std::string_view(error.what()).find("places values where the topology has none") != std::string_view::npos);
  }
}

}  // namespace

TEST_CASE(
    "packed values with a bit changed are refused, or differ in values of the topology's elements only, in every "
    "format") {
  INFO("seed " << seed);
  test::on_every_device([](const Context& context) {
    const sparse::Csr csr = mask();
    const Topology topology = context.topology(csr.view());
    sparse::Random random(seed);
    for (const auto& format : ops::packed_formats()) {
      CAPTURE(format->name());
      const std::vector<std::byte> file = packed_as(context, topology, *format).save();
      REQUIRE(context.load_packed(topology, file).save() == file);
      const std::size_t first = values_at(file), bytes = file.size() - first;
      Outcome outcome;
      // Anywhere, and where the first strips' headers, metadata and values lie.
      for (int i = 0; i < 24; ++i) {
        const std::size_t span = i % 2 == 0 ? bytes : std::min<std::size_t>(bytes, 3072);
        load_flipped(context, topology, csr, file,
                     first + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(span))),
                     static_cast<int>(random.below(8)), outcome);
      }
      CHECK(outcome.taken + outcome.refused == 24);
      // Runs keep all but values apart: of those only zeros that fill them up are not free.
      if (!format->name().starts_with("runs")) CHECK(outcome.refused > 0);
      CHECK(outcome.taken > 0);
    }
  });
}

TEST_CASE("values of many decades, and rows of zeros, load as they were saved, in every format") {
  test::on_every_device([](const Context& context) {
    const sparse::Csr csr = mask();
    const Topology topology = context.topology(csr.view());
    for (const auto& format : ops::packed_formats()) {
      CAPTURE(format->name());
      for (const int decades : {4, 12, 30}) {
        const std::vector<std::byte> file = packed_as(context, topology, *format, decades).save();
        CHECK(context.load_packed(topology, file).save() == file);
      }
    }
  });
}

TEST_CASE("a file with a right digest and wrong 2:4 metadata is refused with a sentence") {
  test::on_every_device([](const Context& context) {
    const sparse::Csr csr = mask();
    const Topology topology = context.topology(csr.view());
    const std::string name = ops::sparse_format(Dtype::f16);
    const std::vector<std::byte> file = packed_as(context, topology, *ops::find_packed_format(name)).save();
    const std::size_t first = values_at(file);
    // The first pass of the first strip: its metadata follow the header and its registers.
    const std::size_t metadata = first + static_cast<std::size_t>(sparse_header_bytes() + sparse_metadata_begin());
    Outcome outcome;
    for (int bit = 0; bit < 4 * 8 * sparse_metadata_words(); bit += 7)
      load_flipped(context, topology, csr, file, metadata + static_cast<std::size_t>(bit / 8), bit % 8, outcome);
    CHECK(outcome.taken == 0);
    CHECK(outcome.refused > 50);
  });
}

TEST_CASE("values of A^T in packed strips are checked by the transpose") {
  test::on_every_device([](const Context& context) {
    const Topology topology = context.topology(mask().view());
    const SpmmPlan plan = context.plan(
        Spmm{.n = 16, .element = Dtype::f16, .sparse_transposed = true, .value_lifetime = ValueLifetime::persistent},
        topology, {.family = "unpack_mma"});
    const std::vector<std::byte> stored =
        sparse::to_storage(Dtype::f16, sparse::normal_values(topology.nonzeros(), seed));
    const device::Buffer values(test::device_of(context), static_cast<std::int64_t>(stored.size()));
    test::device_of(context).copy_to_device(values.data(), stored.data(), values.bytes());
    std::vector<std::byte> file = plan.pack(nullptr, values.data()).save();
    REQUIRE(context.load_packed(topology, file).format().ends_with("/transposed"));
    file[values_at(file)] ^= std::byte{1};  // the first lane's mask
    sign(file);
    CHECK(test::code_of([&] { context.load_packed(topology, file); }) == ErrorCode::io_failure);
  });
}
