// What a row of a packed strip names, as the rare path of products reads it (spmm/named_elements.h): of every grain, on
// the emulator, since the kernels that read whole strips and fours need wgmma.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <abi/packed_fours.h>

#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/packed_strips.hpp"
#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;
using namespace vostok;

namespace {

constexpr std::uint64_t seed = 31;

struct Args {
  const std::uint32_t* data;
  const std::uint32_t* offsets;
  float* values;         ///< 64 of each row of a strip
  std::uint64_t* names;  ///< of each, a bit for each column
  long long rows;        ///< of all strips
};

/// A mode of the format, and by which share of itself what it keeps of a value may differ from that.
struct Kept {
  PackedMode mode;
  Dtype element;
  double share;
};

struct Found {
  std::vector<float> values;
  std::vector<std::uint64_t> names;
};

Bench visitor(PackedMode mode, PackedGrain grain, bool marked) {
  const std::string kind = std::string("vostok::StripsKind{vostok::PackedMode::") + name(mode) +
                           ", vostok::PackedGrain::" + name(grain) + ", false, " + (marked ? "true" : "false") + "}";
  return Bench({.text = "struct Args { const unsigned char* data; const unsigned* offsets; float* values; "
                        "unsigned long long* names; long long rows; };\n"
                        "__global__ void kernel(const __grid_constant__ Args args) {\n"
                        "  for (long long i = threadIdx.x; i < args.rows; i += 256) {\n"
                        "    unsigned long long named = 0;\n"
                        "    vostok::visit_named<" +
                        kind +
                        ">(args.data + 16LL * args.offsets[i / 16], (int)(i % 16), [&](int column, float value) {\n"
                        "      named |= 1ULL << column;\n"
                        "      args.values[i * 64 + column] += value;\n"
                        "    });\n"
                        "    args.names[i] = named;\n"
                        "  }\n"
                        "}\n",
                .templates = {"abi/enums.h", "abi/fields.h", "abi/packed_strips.h", "abi/sparse_strips.h",
                              "abi/packed_fours.h", "abi/sums_again.h", "parts/vector.h", "parts/half.h",
                              "parts/element.h", "parts/loads.h", "spmm/named_elements.h"}});
}

Found visited(const sparse::PackedForm& form, const sparse::PackedMatrix& packed, bool marked) {
  const std::vector<std::uint32_t> offsets = form.unit_offsets(packed_pair_words(packed.mode));
  const auto rows = static_cast<std::size_t>(form.strips() * packed_strip_rows());
  Found found{.values = std::vector<float>(rows * 64, 0.0F), .names = std::vector<std::uint64_t>(rows, ~0ULL)};
  visitor(packed.mode, form.grain, marked)
      .launch({1}, {256},
              Args{packed.data.data(), offsets.data(), found.values.data(), found.names.data(),
                   static_cast<long long>(rows)});
  return found;
}

/// Where a row's k block is among the rows of all strips.
std::size_t place_of(const sparse::PackedForm& form, std::int64_t row, std::int64_t block) {
  return static_cast<std::size_t>(block * form.row_strips * packed_strip_rows() + row);
}

/// visit(row, column, number) for each nonzero, in CSR order.
template <class Visit>
void for_each_nonzero(const sparse::Csr& csr, Visit visit) {
  for (std::int64_t row = 0; row < csr.rows; ++row)
    for (auto i = static_cast<std::size_t>(csr.row_offsets[static_cast<std::size_t>(row)]);
         std::cmp_less(i, csr.row_offsets[static_cast<std::size_t>(row) + 1]); ++i)
      visit(row, std::int64_t{csr.column_indices[i]}, i);
}

/// The columns that strips hold of each row, a bit each: those that A names, without what fours leave over.
std::vector<std::uint64_t> held(const sparse::Csr& csr, const sparse::PackedForm& form) {
  std::vector<std::uint64_t> names(static_cast<std::size_t>(form.strips() * packed_strip_rows()), 0);
  for_each_nonzero(csr, [&](std::int64_t row, std::int64_t column, std::size_t) {
    names[place_of(form, row, column / 64)] |= std::uint64_t{1} << column % 64;
  });
  if (form.grain == PackedGrain::four)
    for (std::uint64_t& of_row : names) of_row &= ~fours_left(of_row);
  return names;
}

/// A matrix with empty rows and a full one, whose columns end within a k block, and with zeros among what it names.
sparse::Csr sample() {
  sparse::Csr csr = sparse::power_law(70, 200, 700, 1.6, seed);
  sparse::Random random(seed + 1);
  for (std::int64_t i = 0; i < csr.nonzeros(); ++i)
    csr.values.push_back(i % 7 == 3 ? 0.0 : random.normal() * std::pow(2.0, static_cast<double>(i % 5)));
  return csr;
}

}  // namespace

TEST_CASE(
    "a row of a strip names what A names there, zeros too, with values as they are packed: every grain and mode") {
  INFO("seed " << seed);
  const sparse::Csr csr = sample();
  const std::vector<float> values(csr.values.begin(), csr.values.end());
  for (const PackedGrain grain : {PackedGrain::pair, PackedGrain::four, PackedGrain::whole}) {
    const sparse::PackedForm form = sparse::packed_form(csr, {}, grain);
    for (const Kept& kept :
         {Kept{PackedMode::f16x3, Dtype::f32, 0x1p-20}, Kept{PackedMode::f16_scaled, Dtype::f32, 0x1p-10},
          Kept{PackedMode::bf16x3, Dtype::f32, 0x1p-15}, Kept{PackedMode::f16x1, Dtype::f16, 0x1p-10},
          Kept{PackedMode::bf16x1, Dtype::bf16, 0x1p-7}}) {
      INFO(name(grain) << " " << name(kept.mode));
      const sparse::PackedMatrix packed =
          sparse::pack(form, kept.mode, kept.element, sparse::to_storage(kept.element, values));
      const Found found = visited(form, packed, false);
      CHECK(found.names == held(csr, form));
      int wrong = 0;
      for_each_nonzero(csr, [&](std::int64_t row, std::int64_t column, std::size_t i) {
        const std::size_t place = place_of(form, row, column / 64);
        if ((found.names[place] >> column % 64 & 1) == 0) return;  // left over
        const double scale = packed.row_scales.empty() ? 1.0 : packed.row_scales[static_cast<std::size_t>(row)];
        const double value = found.values[place * 64 + static_cast<std::size_t>(column % 64)] * scale;
        if (!(std::abs(value - values[i]) <= kept.share * std::abs(values[i]))) ++wrong;
      });
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("marked strips name the same elements, though their first terms alone are read") {
  INFO("seed " << seed);
  const sparse::Csr csr = sample();
  const std::vector<float> values(csr.values.begin(), csr.values.end());
  for (const PackedGrain grain : {PackedGrain::pair, PackedGrain::four, PackedGrain::whole})
    for (const PackedMode mode : {PackedMode::f16x3, PackedMode::f16_scaled}) {
      INFO(name(grain) << " " << name(mode));
      const sparse::PackedForm form = sparse::packed_form(csr, {}, grain);
      const auto packed = [&](bool marked) {
        return sparse::pack(form, mode, Dtype::f32, sparse::to_storage(Dtype::f32, values), marked);
      };
      CHECK(visited(form, packed(true), true).names == visited(form, packed(false), false).names);
    }
}
