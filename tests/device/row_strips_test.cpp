// row_strips against float64, on the emulator in several thread orders and on every GPU: every pair of what a problem
// may ask for, configs of the space, edges, and what must not leak.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "config_fields.hpp"
#include "device/pairwise.hpp"
#include "device/row_strips_harness.hpp"
#include "sparse/elements.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20203;

/// What a problem may ask for: how many levels each factor has. problem_of makes the problem of one level for each.
const std::vector<int> levels = {5, 2, 2, 3, 3, 2, 2, 2, 3, 2, 2};

struct Types {
  Dtype element, output;
};
constexpr std::array types = {Types{Dtype::f32, Dtype::f32}, Types{Dtype::f16, Dtype::f16},
                              Types{Dtype::f16, Dtype::f32}, Types{Dtype::bf16, Dtype::bf16},
                              Types{Dtype::bf16, Dtype::f32}};

Sddmm problem_of(const std::vector<int>& c, const sparse::Csr& mask, std::int64_t n) {
  const Types type = types[static_cast<std::size_t>(c[0])];
  Sddmm problem{.n = n,
                .batch = c[6] == 0 ? 1 : 3,
                .element = type.element,
                .output = type.output,
                .index = c[7] == 0 ? IndexType::u16 : IndexType::i32,
                .lhs_layout = static_cast<Layout>(c[1]),
                .rhs_layout = static_cast<Layout>(c[2]),
                .math = c[10] == 0 ? Math::accurate : Math::strict,
                .scale = static_cast<Scale>(c[3]),
                .multiply = c[4] != 0,
                .accumulate = c[5] != 0};
  const int element_bytes = size_of(type.element);
  problem.alignment_bytes = c[8] == 0 ? 16 : c[8] == 1 ? std::max(element_bytes, 8) : element_bytes;
  if (c[9] != 0) {  // padded: leading dimensions and strides that are odd where the alignment is the element's
    const std::int64_t step = c[8] == 0 ? 16 / element_bytes : 1;
    const auto padded = [&](Layout layout, std::int64_t rows) {
      return (layout == Layout::row_major ? n : rows) / step * step + 3 * step;
    };
    problem.lhs_leading = padded(problem.lhs_layout, mask.rows);
    problem.rhs_leading = padded(problem.rhs_layout, mask.cols);
    problem.lhs_stride = ops::stored_matrix(problem.lhs_layout, mask.rows, n, problem.lhs_leading, 0).stride + step;
    problem.rhs_stride = ops::stored_matrix(problem.rhs_layout, mask.cols, n, problem.rhs_leading, 0).stride + step;
    problem.output_stride = mask.nonzeros() + 5;
  }
  if (c[4] == 2) problem.multiplier_stride = mask.nonzeros() + 1;
  return problem;
}

/// The emulator's thread orders take turns, and every GPU has every turn.
std::vector<const NamedDevice*> devices_for(std::size_t turn) {
  std::vector<const NamedDevice*> orders;
  std::vector<const NamedDevice*> list;
  for (const NamedDevice& on : kernel_devices()) (on.is_emulator() ? orders : list).push_back(&on);
  if (!orders.empty()) list.push_back(orders[turn % orders.size()]);
  return list;
}

std::vector<ops::Config> admitted_configs(const ops::SddmmQuery& query) {
  std::vector<ops::Config> admitted;
  for (ops::Config& config : row_strips_family().space(query))
    if (!row_strips_family().forbidden(query, config)) admitted.push_back(std::move(config));
  return admitted;
}

ops::Config random_config(const ops::SddmmQuery& query, sparse::Random& random) {
  const std::vector<ops::Config> admitted = admitted_configs(query);
  return admitted[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(admitted.size())))];
}

ops::SddmmQuery query_of(const Sddmm& problem, const sparse::Csr& mask, const device::Device& device) {
  return *ops::make_query(problem, sparse::statistics(mask.rows, mask.cols, mask.row_offsets, mask.column_indices),
                          {problem.n, problem.n}, &device);
}

/// The default, in a shape that goes with every value of the other fields.
ops::Config usual_config(const ops::SddmmQuery& query) {
  return with_fields(
      row_strips_family(), row_strips_family().default_config(query),
      {{"threads_per_strip", "8"}, {"strips_per_block", "16"}, {"step_vectors", "1"}, {"overlap_batches", "false"}});
}

}  // namespace

TEST_CASE(
    "every pair of type, layout, scale, multiplier, accumulation, batch, index, alignment, padding and math is right") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed + 1);
  const std::vector<std::vector<int>> list = pairwise(levels, seed);
  const std::size_t count = thread_sanitized ? 3 : list.size();
  for (std::size_t i = 0; i < count; ++i) {
    const sparse::Csr mask = uneven_mask(1 + random.below(40), 1 + random.below(120), seed + i);
    // Sizes of every divisibility: those that vectors divide are as frequent as odd ones.
    const std::int64_t n = random.below(2) == 0 ? 8 * (1 + random.below(20)) : 1 + random.below(150);
    const Sddmm problem = problem_of(list[i], mask, n);
    const ops::Config config = random_config(query_of(problem, mask, *kernel_devices().front().device), random);
    for (const NamedDevice* on : devices_for(i))
      check_row_strips(*on, problem, mask, seed + i, i % 3 == 0 ? nullptr : &config);
  }
}

TEST_CASE("configs of the space are right where strips are full, where they are not, and where n ends inside a step") {
  MESSAGE("seed " << seed);
  sparse::Random random(seed + 2);
  const sparse::Csr mask = uneven_mask(30, 200, seed);
  for (const Sddmm& problem :
       {Sddmm{.n = 300}, Sddmm{.n = 264, .element = Dtype::f16}, Sddmm{.n = 77, .alignment_bytes = 4}})
    for (int i = 0; i < (thread_sanitized ? 1 : 6); ++i) {
      const ops::Config config = random_config(query_of(problem, mask, *kernel_devices().front().device), random);
      for (const NamedDevice* on : devices_for(i)) check_row_strips(*on, problem, mask, seed, &config);
    }
}

TEST_CASE("every value of every config field is right") {
  const std::map<std::string, std::vector<std::string>> values = {
      {"strip_entries", {"4", "8", "16", "32", "64", "128"}},
      {"threads_per_strip", {"1", "2", "4", "8", "16", "32"}},
      {"strips_per_block", {"4", "32", "64"}},
      {"dense_vector", {"1", "2", "4"}},
      {"step_vectors", {"1", "2", "4"}},
      {"loads_in_flight", {"1", "2", "4", "8"}},
      {"overlap_batches", {"false", "true"}},
      {"column_path", {"shared", "shuffle"}},
      {"column_bands", {"false", "true"}},
      {"n_split", {"1", "2", "4"}},
      {"min_blocks", {"1", "2"}},
      {"stream_output", {"false", "true"}}};
  const sparse::Csr mask = uneven_mask(20, 200, seed);
  const Sddmm problem{.n = 228, .accumulate = true};
  std::size_t turn = 0;
  FieldMap usual = usual_config(query_of(problem, mask, *kernel_devices().front().device)).to_map();
  usual["strip_entries"] = "32";
  CHECK(usual.size() == values.size());
  for (const auto& [field, tried] : values)
    for (const std::string& value : tried) {
      FieldMap fields = usual;
      fields["min_blocks"] = fields["n_split"] = "1";
      fields["loads_in_flight"] = "4";
      fields[field] = value;
      if (field == "threads_per_strip") fields["strips_per_block"] = std::to_string(128 / std::stoi(value));
      const ops::Config config = row_strips_family().read(fields).value();
      if (thread_sanitized && turn % 8 != 0) continue;
      for (const NamedDevice* on : devices_for(turn++)) {
        const auto reason = row_strips_family().forbidden(query_of(problem, mask, *on->device), config);
        CHECK_MESSAGE(!reason, field, " = ", value, ": ", reason.value_or(""));
        if (!reason) check_row_strips(*on, problem, mask, seed, &config);
      }
    }
}

TEST_CASE(
    "empty masks, full rows, one column, rows of every length, unsorted and repeated columns, and n from 0 are right") {
  std::vector<sparse::Csr> masks;
  masks.push_back({.rows = 0, .cols = 5, .row_offsets = {0}});
  masks.push_back({.rows = 5, .cols = 0, .row_offsets = {0, 0, 0, 0, 0, 0}});
  masks.push_back({.rows = 3, .cols = 1, .row_offsets = {0, 1, 1, 2}, .column_indices = {0, 0}});
  masks.push_back({.rows = 2, .cols = 4, .row_offsets = {0, 5, 7}, .column_indices = {3, 1, 3, 3, 0, 2, 2}});
  sparse::Csr one_row{.rows = 1, .cols = 500};
  for (std::int32_t k = 0; k < 500; ++k) one_row.column_indices.push_back(k);
  one_row.row_offsets.push_back(500);
  masks.push_back(one_row);
  sparse::Csr stairs{.rows = 70, .cols = 70};
  for (std::int32_t r = 0; r < 70; ++r) {
    for (std::int32_t k = 0; k < r; ++k) stairs.column_indices.push_back(k);
    stairs.row_offsets.push_back(stairs.nonzeros());
  }
  masks.push_back(stairs);
  for (const NamedDevice& on : kernel_devices())
    for (const sparse::Csr& mask : masks)
      for (const std::int64_t n : {0, 1, 5, 36}) check_row_strips(on, {.n = n, .multiply = true}, mask, seed);
}

TEST_CASE("sums of many products are right at every boundary of their blocks") {
  const sparse::Csr mask = uneven_mask(6, 20, seed);
  for (const std::int64_t n : {255, 256, 257, 1023, 1024, 1025, 4100}) {
    const NamedDevice& on = *devices_for(static_cast<std::size_t>(n)).front();
    for (const Math math : {Math::accurate, Math::strict})
      for (const char* lanes : {"1", "4"}) {
        const Sddmm problem{.n = n, .math = math};
        const ops::Config config =
            with_fields(row_strips_family(), row_strips_family().default_config(query_of(problem, mask, *on.device)),
                        {{"threads_per_strip", lanes}, {"strips_per_block", "32"}, {"n_split", "1"}});
        check_row_strips(on, problem, mask, seed, &config);
      }
  }
}

TEST_CASE("blocked sums keep the error of many products of one sign below that of plain ones") {
  const std::int64_t n = 1 << 16;
  const sparse::Csr mask{.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}};
  const NamedDevice& on = kernel_devices().front();
  const std::vector<float> same(static_cast<std::size_t>(n), 0.7F);
  const double exact = static_cast<double>(n) * static_cast<double>(0.7F) * static_cast<double>(0.7F);
  const auto error = [&](Math math) {
    tune::SddmmCase c(*on.device, {.n = n, .math = math}, mask, seed);
    for (const void* operand : {c.call().lhs, c.call().rhs})
      on.device->copy_to_device(const_cast<void*>(operand), same.data(), n * 4);
    const ops::Config config = with_fields(row_strips_family(), default_row_strips(c),
                                           {{"threads_per_strip", "1"}, {"n_split", "1"}, {"strips_per_block", "32"}});
    LoadedRowStrips(*on.device, c, mask, config, c.query()).verify();
    return std::fabs(c.output().front() - exact) / exact;
  };
  const double blocked = error(Math::accurate);
  INFO("blocked ", blocked, ", plain ", error(Math::strict));
  CHECK(blocked < 1e-5);
  CHECK(blocked * 4 < error(Math::strict));
}

TEST_CASE("n in parts gives the same as n in one piece, whatever is done to the sums and wherever the parts end") {
  const sparse::Csr mask = uneven_mask(12, 40, seed);
  const std::vector<Sddmm> problems = {
      {.n = 2000},
      {.n = 999, .alignment_bytes = 4},
      {.n = 1000,
       .batch = 3,
       .element = Dtype::f16,
       .rhs_layout = Layout::column_major,
       .output_stride = mask.nonzeros() + 3,
       .multiplier_stride = mask.nonzeros(),
       .scale = Scale::host,
       .multiply = true,
       .accumulate = true},
      {.n = 968, .batch = 2, .element = Dtype::bf16, .output = Dtype::f32, .scale = Scale::device}};
  std::size_t turn = 0;
  for (const Sddmm& problem : problems)
    for (const char* parts : {"2", "8"})
      for (const NamedDevice* on : devices_for(turn++)) {
        const ops::Config config =
            with_fields(row_strips_family(), usual_config(query_of(problem, mask, *on->device)), {{"n_split", parts}});
        const auto reason = row_strips_family().forbidden(query_of(problem, mask, *on->device), config);
        CHECK_MESSAGE(!reason, reason.value_or(""));
        if (!reason) check_row_strips(*on, problem, mask, seed, &config);
      }
}

TEST_CASE("64-bit offsets into B give the same bits as 32-bit ones") {
  const sparse::Csr mask = uneven_mask(33, 200, seed);
  for (const NamedDevice& on : kernel_devices())
    for (const char* path : {"shared", "shuffle"}) {
      tune::SddmmCase c(*on.device, {.n = 32}, mask, seed);
      const ops::Config config = with_fields(row_strips_family(), default_row_strips(c), {{"column_path", path}});
      CHECK(LoadedRowStrips(*on.device, c, mask, config, c.query()).verify().wrong.empty());
      const std::vector<float> narrow = c.output();
      // Compiled for a B of more than 2^31 bytes, run with the small one.
      ops::SddmmQuery large = c.query();
      large.statistics.cols = std::int64_t{1} << 25;
      CHECK(LoadedRowStrips(*on.device, c, mask, config, large).verify().wrong.empty());
      CHECK(c.output() == narrow);
    }
}

TEST_CASE("what is not finite in A reaches its row of D alone, what is not finite in B its column alone") {
  const std::int64_t n = 24;
  sparse::Random random(seed + 3);
  for (const NamedDevice& on : kernel_devices())
    for (const Dtype element : {Dtype::f32, Dtype::bf16}) {
      const sparse::Csr mask = uneven_mask(40, 90, seed + 7);
      tune::SddmmCase c(*on.device, {.n = n, .element = element}, mask, seed);
      const ops::Config config = random_config(c.query(), random);
      INFO(on.name, ", ", to_text(config.to_map()));
      LoadedRowStrips loaded(*on.device, c, mask, config, c.query());
      CHECK(loaded.verify().wrong.empty());
      const std::vector<float> before = c.output();
      const auto spoil = [&](const void* operand, std::int64_t row, float value) {
        const std::vector<std::byte> bits = sparse::to_storage(element, std::array{value});
        auto* const memory =
            static_cast<std::byte*>(const_cast<void*>(operand)) + (row * n + row % n) * size_of(element);
        on.device->copy_to_device(memory, bits.data(), size_of(element));
      };
      for (std::int64_t row = 3; row < mask.rows; row += 7)
        spoil(c.call().lhs, row, std::numeric_limits<float>::infinity());
      for (std::int64_t row = 2; row < mask.cols; row += 5)
        spoil(c.call().rhs, row, std::numeric_limits<float>::quiet_NaN());
      loaded.verify();
      for (std::int64_t row = 0; row < mask.rows; ++row)
        for (std::int64_t i = mask.row_offsets[static_cast<std::size_t>(row)];
             i < mask.row_offsets[static_cast<std::size_t>(row) + 1]; ++i) {
          const auto at = static_cast<std::size_t>(i);
          if (row % 7 == 3 || mask.column_indices[at] % 5 == 2) REQUIRE(!std::isfinite(c.output()[at]));
          else REQUIRE(c.output()[at] == before[at]);
        }
    }
}

TEST_CASE("the same config gives the same bits in every thread order") {
  const sparse::Csr mask = uneven_mask(40, 300, seed);
  sparse::Random random(seed + 4);
  for (const Sddmm& problem : {Sddmm{.n = 36}, Sddmm{.n = 520, .element = Dtype::f16}}) {
    const ops::Config config = random_config(query_of(problem, mask, *kernel_devices().front().device), random);
    const std::vector<float> first = check_row_strips(kernel_devices()[0], problem, mask, seed, &config);
    for (std::size_t i = 1; i < std::min<std::size_t>(3, kernel_devices().size()); ++i)
      CHECK(check_row_strips(kernel_devices()[i], problem, mask, seed, &config) == first);
  }
}

TEST_CASE("the heads of a batch may lie side by side in A and B, row-major and column-major") {
  const sparse::Csr mask = uneven_mask(21, 34, seed);
  std::size_t turn = 0;
  for (const Layout layout : {Layout::row_major, Layout::column_major})
    for (const std::int64_t n : {16, 5}) {
      const bool row_major = layout == Layout::row_major;
      const std::int64_t lhs = row_major ? n : mask.rows;
      const std::int64_t rhs = row_major ? n : mask.cols;
      const Sddmm problem{.n = n,
                          .batch = 3,
                          .lhs_layout = layout,
                          .rhs_layout = layout,
                          .lhs_leading = 3 * lhs,
                          .rhs_leading = 3 * rhs + 1,
                          .lhs_stride = lhs,
                          .rhs_stride = rhs};
      for (const NamedDevice* on : devices_for(turn++)) check_row_strips(*on, problem, mask, seed);
    }
}

TEST_CASE("an SDDMM's matrices may lie on the grid's second and third dimension, which may hold more than there are") {
  const sparse::Csr mask = uneven_mask(9, 30, seed);
  for (const NamedDevice& on : kernel_devices()) {
    tune::SddmmCase c(*on.device, {.n = 16, .batch = 3}, mask, seed);
    const ops::Config config = default_row_strips(c);
    const MaskForms forms(*on.device, mask, row_strips_family().needs(c.query(), config));
    std::vector<ops::Launch> launches = row_strips_family().launches(c.query(), config, forms.pointers());
    load_kernel(*on.device, launches.front());
    const tune::Check check = c.verify([&](Stream stream) {
      RowStripsArgs args{};
      device::LaunchShape shape = launches.front().bind(c.arguments(), &args);
      CHECK(shape.grid.y == 3);
      shape.grid.y = shape.grid.z = 2;
      on.device->launch(stream, *launches.front().kernel(), shape, &args, sizeof args);
    });
    CHECK_MESSAGE(check.wrong.empty(), check.wrong);
  }
}

TEST_CASE("the output may be the multiplier") {
  const sparse::Csr mask = uneven_mask(30, 60, seed);
  for (const NamedDevice& on : kernel_devices()) {
    tune::SddmmCase c(*on.device, {.n = 16, .multiply = true}, mask, seed);
    const ops::Config config = default_row_strips(c);
    CHECK(LoadedRowStrips(*on.device, c, mask, config, c.query()).verify().wrong.empty());
    const std::vector<float> apart = c.output();

    const MaskForms forms(*on.device, mask, row_strips_family().needs(c.query(), config));
    std::vector<ops::Launch> launches = row_strips_family().launches(c.query(), config, forms.pointers());
    load_kernel(*on.device, launches.front());
    SddmmArguments in_place = c.call();
    in_place.output = const_cast<void*>(c.call().multiplier);
    launches.front().enqueue(*on.device, on.device->own_stream(), &in_place);
    on.device->synchronize(on.device->own_stream());
    std::vector<float> together(apart.size());
    on.device->copy_to_host(together.data(), in_place.output,
                            static_cast<std::int64_t>(together.size() * sizeof(float)));
    CHECK(together == apart);
  }
}
