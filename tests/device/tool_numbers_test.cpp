// Numbers at the ends of their types, in what tools and topologies take: a right result, or an error that names the
// field.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <vostok/tools.hpp>

#include "contains.hpp"
#include "device/devices.hpp"

using namespace vostok;
using test::code_of;
using test::contains;
using test::on_every_device;

namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t large = std::int64_t{1} << 62;

/// The error's sentence.
template <class Call>
std::string refused(const Call& call) {
  std::string message;
  const ErrorCode code = code_of(call, &message);
  CHECK((code == ErrorCode::invalid_argument || code == ErrorCode::invalid_topology || code == ErrorCode::unsupported));
  return message;
}

}  // namespace

TEST_CASE("leading dimensions past 64 bits of bytes are refused by tools, before anything is read or written") {
  on_every_device([](const Context& context) {
    const Topology topology = context.topology(sparse::uniform(4, 4, 0.5, 1).view());
    const test::Floats memory(test::device_of(context), std::vector<float>(64, 7));
    const test::Floats values(test::device_of(context), std::vector<float>(16, 1));
    for (const std::int64_t leading : {std::int64_t{-1}, least, most, large, most - 3, most / 4, most / 4 + 1}) {
      CAPTURE(leading);
      const std::string named = fmt::format("dense.leading = {}", leading);
      CHECK(contains(refused([&] { to_dense(topology, values.data(), {.data = memory.data(), .leading = leading}); }),
                     named));
      const DenseView dense{.data = memory.data(), .rows = 4, .cols = 4, .leading = leading};
      CHECK(contains(refused([&] { sparse_above(context, dense, 0); }), named));
      CHECK(contains(refused([&] { sparse_largest(context, dense, 1, Per::row); }), named));
    }
    CHECK(memory.read() == std::vector<float>(64, 7));
  });
}

TEST_CASE("sizes, counts and enumerators that make no sense are refused by tools, by name") {
  on_every_device([](const Context& context) {
    const test::Floats memory(test::device_of(context), std::vector<float>(64, 7));
    for (const std::int64_t size : {std::int64_t{-1}, least, most, large}) {
      CAPTURE(size);
      CHECK(contains(refused([&] { sparse_above(context, {.data = memory.data(), .rows = size, .cols = 1}, 0); }),
                     fmt::format("rows = {}", size)));
      CHECK(contains(refused([&] { sparse_above(context, {.data = memory.data(), .rows = 1, .cols = size}, 0); }),
                     fmt::format("cols = {}", size)));
      for (const Per per : {Per::matrix, Per::row})
        CHECK(contains(
            refused([&] { sparse_largest(context, {.data = memory.data(), .rows = 2, .cols = 2}, size, per); }),
            fmt::format("count = {}", size)));
      CHECK(contains(refused([&] { make_mask(context, UniformMask{.rows = size, .cols = 4}); }),
                     fmt::format("rows = {}", size)));
      CHECK(contains(refused([&] { make_mask(context, AttentionMask{.rows = 4, .cols = size}); }),
                     fmt::format("cols = {}", size)));
    }
    for (const double share : {-1.0, 1.5, double{NAN}, double{INFINITY}, -double{INFINITY}}) {
      CHECK(contains(refused([&] { make_mask(context, UniformMask{.rows = 4, .cols = 4, .sparsity = share}); }),
                     "sparsity"));
      CHECK(contains(refused([&] { make_mask(context, BlockMask{.rows = 4, .cols = 4, .sparsity = share}); }),
                     "sparsity"));
      CHECK(contains(refused([&] { make_mask(context, AttentionMask{.rows = 4, .cols = 4, .sparsity = share}); }),
                     "sparsity"));
    }
    CHECK(contains(refused([&] { sparse_above(context, {.data = memory.data(), .rows = 1, .cols = 1}, NAN); }), "NaN"));
    const auto type = static_cast<Dtype>(9);
    const auto per = static_cast<Per>(7);
    const DenseView no_type{.data = memory.data(), .rows = 1, .cols = 1, .element = type};
    CHECK(contains(refused([&] { sparse_above(context, no_type, 0); }), "element = 9"));
    CHECK(contains(refused([&] { sparse_largest(context, {.data = memory.data(), .rows = 1, .cols = 1}, 1, per); }),
                   "per = 7"));
  });
}

TEST_CASE("a dense matrix is not written over the values that it is made of, and may lie beside and around them") {
  on_every_device([](const Context& context) {
    const Topology topology = context.topology(sparse::uniform(4, 4, 0.5, 1).view());
    REQUIRE(topology.nonzeros() == 8);
    const test::Floats memory(test::device_of(context), std::vector<float>(64, 7));
    auto* const begin = memory.data();
    const auto write = [&](std::int64_t values, std::int64_t dense, std::int64_t leading) {
      to_dense(topology, begin + values, {.data = begin + dense, .leading = leading});
    };
    for (const std::int64_t dense : {0, 1, 7}) {
      CAPTURE(dense);
      CHECK(contains(refused([&] { write(0, dense, 0); }), "shares elements with values"));
    }
    CHECK(contains(refused([&] { write(9, 0, 16); }),
                   "shares elements with values"));  // the ninth value would be of line 1
    CHECK(memory.read() == std::vector<float>(64, 7));
    write(0, 8, 0);
    write(4, 0, 16);  // between lines 0 and 1
    test::device_of(context).synchronize(nullptr);
    const std::vector<float> written = memory.read();
    CHECK(std::count(written.begin(), written.begin() + 4, 0.0F) == 4 - topology.statistics().longest_row);
  });
}

TEST_CASE("widths and blocks larger than the matrix are the whole matrix") {
  on_every_device([](const Context& context) {
    for (const std::int64_t size : {std::int64_t{1} << 31, large, most}) {
      CAPTURE(size);
      CHECK(make_mask(context, BandedMask{.rows = 6, .cols = 9, .width = size}).nonzeros() == 54);
      CHECK(make_mask(context, BandedMask{.rows = 6, .cols = 6, .width = size, .causal = true}).nonzeros() == 21);
      CHECK(make_mask(context, BlockMask{.rows = 6, .cols = 9, .block_size = size}).nonzeros() == 54);
      CHECK(make_mask(context, AttentionMask{.rows = 6, .cols = 9, .width = size}).nonzeros() == 54);
      CHECK(make_mask(context, AttentionMask{.rows = 6, .cols = 6, .width = size, .causal = true}).nonzeros() == 21);
    }
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-1}, least}) {
      CHECK(contains(refused([&] { make_mask(context, BlockMask{.rows = 6, .cols = 9, .block_size = size}); }),
                     "block_size"));
      CHECK(
          contains(refused([&] { make_mask(context, AttentionMask{.rows = 6, .cols = 9, .width = size}); }), "width"));
    }
    CHECK(contains(refused([&] { make_mask(context, BandedMask{.rows = 6, .cols = 9, .width = least}); }), "width"));
  });
}

TEST_CASE("offsets and sizes of a structure that promise more than memory holds are refused, wherever they lie") {
  on_every_device([](const Context& context) {
    const std::int32_t columns[4] = {};
    for (const std::int64_t end : {most, large, (std::int64_t{1} << 47) + 1}) {
      CAPTURE(end);
      const std::int64_t offsets[2] = {0, end};
      for (const std::int64_t nonzeros : {std::int64_t{-1}, end})
        CHECK(contains(
            refused([&] {
              context.topology(
                  {.rows = 1, .cols = 4, .row_offsets = offsets, .column_indices = columns, .nonzeros = nonzeros});
            }),
            std::to_string(end)));
      device::Device& device = test::device_of(context);
      device::Buffer on_device(device, sizeof(offsets));
      device.copy_to_device(on_device.data(), offsets, sizeof(offsets));
      for (const std::int64_t nonzeros : {std::int64_t{-1}, end})
        CHECK(contains(refused([&] {
                         context.topology({.rows = 1,
                                           .cols = 4,
                                           .row_offsets = on_device.as<const std::int64_t>(),
                                           .column_indices = columns,
                                           .nonzeros = nonzeros});
                       }),
                       std::to_string(end)));
    }
    const std::int64_t offsets[2] = {0, 1};
    for (const std::int64_t size : {std::int64_t{-1}, least, most, large}) {
      CHECK(contains(refused([&] {
                       context.topology({.rows = size, .cols = 4, .row_offsets = offsets, .column_indices = columns});
                     }),
                     "rows"));
      CHECK(contains(refused([&] {
                       context.topology({.rows = 1, .cols = size, .row_offsets = offsets, .column_indices = columns});
                     }),
                     "cols"));
    }
    for (const std::int64_t nonzeros : {std::int64_t{0}, std::int64_t{2}, most, large})
      refused([&] {
        context.topology(
            {.rows = 1, .cols = 4, .row_offsets = offsets, .column_indices = columns, .nonzeros = nonzeros});
      });
  });
}
