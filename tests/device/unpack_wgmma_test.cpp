// unpack_wgmma against float64 on every GPU of sm_90, simplest problems first: a first failure tells which part is
// wrong.
#include <doctest/doctest.h>

#include <array>

#include "device/uneven_mask.hpp"
#include "device/unpack_wgmma_checks.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test::wgmma;
using test::UnpackCase;

namespace {

/// Ones on the diagonal.
sparse::Csr identity(std::int64_t size) {
  sparse::Csr csr{.rows = size, .cols = size};
  for (std::int64_t i = 0; i < size; ++i) {
    csr.column_indices.push_back(static_cast<std::int32_t>(i));
    csr.row_offsets.push_back(i + 1);
    csr.values.push_back(1);
  }
  return csr;
}

constexpr std::array all_columns = {8, 16, 32, 64, 128, 256};

}  // namespace

TEST_CASE("unpack_wgmma: one identity of a block, times B, is B, for every element and tile") {
  for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const int columns : all_columns) {
      if (element == Dtype::f32 && columns == 256) continue;
      const Spmm problem = problem_of(columns, element);
      check(UnpackCase(identity(64), problem, seed), plain(problem, columns));
    }
}

TEST_CASE("unpack_wgmma: an identity times a column-major B, and a prepared one of 16 bits, is B") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const int columns : all_columns) {
      Spmm problem = problem_of(columns, element);
      problem.dense_layout = Layout::column_major;
      check(UnpackCase(identity(64), problem, seed), plain(problem, columns));
      UnpackWgmmaConfig prepared = plain(problem, columns);
      prepared.prepare_dense = true;
      check(UnpackCase(identity(64), problem, seed), prepared);
      problem.dense_layout = Layout::row_major;
      check(UnpackCase(identity(64), problem, seed), prepared);
    }
}

TEST_CASE("unpack_wgmma: one k block of random values, dense and sparse") {
  for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const double sparsity : {0.0, 0.5, 0.95}) {
      const Spmm problem = problem_of(64, element);
      check(UnpackCase(sparse::uniform(64, 64, sparsity, seed), problem, seed), plain(problem, 64));
    }
}

TEST_CASE("unpack_wgmma: more k blocks than stages, in turn and overlapped") {
  for (const Dtype element : {Dtype::f32, Dtype::f16})
    for (const std::int64_t blocks : {2, 3, 4, 5, 11})
      for (const int stages : {2, 3, 4})
        for (const bool overlap : {false, true}) {
          const Spmm problem = problem_of(32, element);
          UnpackWgmmaConfig config = plain(problem, 32);
          config.stages = stages;
          config.overlap = overlap;
          config.stream_strips = blocks == 5;
          check(UnpackCase(sparse::uniform(64, 64 * blocks, 0.7, seed), problem, seed), config);
        }
}

TEST_CASE("unpack_wgmma: groups of warpgroups take a tile's k blocks in turn, with any number left over") {
  for (const Dtype element : {Dtype::f32, Dtype::f16})
    for (const int k_groups : {2, 4})
      for (const int warpgroups : {1, 2})
        for (const bool overlap : {false, true}) {
          if (warpgroups * k_groups > 4) continue;
          const Spmm problem = problem_of(63, element);
          // Four warpgroups have registers for two terms of 16 columns.
          UnpackWgmmaConfig config = plain(problem, warpgroups * k_groups == 4 ? 16 : 32);
          config.prepare_dense = true;
          config.warpgroups = warpgroups;
          config.k_groups = k_groups;
          config.overlap = overlap;
          config.producer_warps = 4;
          config.strip_pairs = element == Dtype::f32 ? 256 : 512;
          config.stages = 2 * k_groups;
          for (const std::int64_t blocks : {k_groups, k_groups + 1, 2 * k_groups + 3, 21})
            check(UnpackCase(sparse::uniform(130, 64 * blocks - 5, 0.6, seed), problem, seed), config);
          if (element == Dtype::f32) continue;
          config.prepare_dense = false;
          config.tile_columns = 64;
          check(UnpackCase(sparse::uniform(130, 64 * 11 - 8, 0.6, seed), problem_of(64, element), seed), config);
        }
}

TEST_CASE("unpack_wgmma: several warpgroups, and registers that they exchange") {
  for (const Dtype element : {Dtype::f32, Dtype::f16})
    for (const int warpgroups : {2, 4})
      for (const int columns : {8, 32, 64, 128}) {
        const Spmm problem = problem_of(columns, element);
        UnpackWgmmaConfig config = plain(problem, columns);
        if (element == Dtype::f32 && warpgroups == 4 && columns >= 64) continue;  // too few registers: a rule
        if (element == Dtype::f16 && warpgroups == 4 && columns == 128) config.prepare_dense = true;
        config.warpgroups = warpgroups;
        config.producer_warps = 4;
        check(UnpackCase(sparse::uniform(std::int64_t{64} * warpgroups, 320, 0.7, seed), problem, seed), config);
      }
}

TEST_CASE("unpack_wgmma: the tiles of a large product, their order, and slices of k") {
  for (const Dtype element : {Dtype::f32, Dtype::f16})
    for (const int k_split : {1, 2, 3})
      for (const int raster_rows : {1, 2, 8}) {
        const Spmm problem = problem_of(200, element);
        UnpackWgmmaConfig config = plain(problem, raster_rows == 1 ? 32 : 64);
        config.k_split = k_split;
        config.raster_rows = raster_rows;
        config.overlap = true;
        config.stages = 3;
        check(UnpackCase(sparse::uniform(1000, 448, 0.8, seed), problem, seed), config);
      }
}

TEST_CASE(
    "unpack_wgmma: slices of k whose blocks are a cluster, more than a tile has octets among them, and groups in "
    "each") {
  for (const Dtype element : {Dtype::f32, Dtype::f16})
    for (const int k_split : {2, 3, 8})
      for (const int k_groups : {1, 2})
        for (const int columns : {16, 64}) {
          Spmm problem = problem_of(72, element);
          problem.batch = k_split == 3 ? 3 : 1;
          problem.epilogue = {
              .bias = Bias::per_row, .residual = true, .activation = Activation::relu, .accumulate = true};
          UnpackWgmmaConfig config = plain(problem, columns);
          config.prepare_dense = true;
          config.k_groups = k_groups;
          config.producer_warps = 4;
          config.stages = 2 * k_groups;
          config.k_split = k_split;
          config.cluster_sums = true;
          // Tiles lie past the last row and column, and the last slice is shorter than the others.
          check(UnpackCase(sparse::uniform(200, 64 * (4 * k_split - 1) - 9, 0.7, seed), problem, seed), config);
        }
}

TEST_CASE("unpack_wgmma: a cluster of blocks that split B, or copy it by a map, and exchange registers") {
  for (const Dtype element : {Dtype::f32, Dtype::f16})
    for (const int k_split : {2, 4}) {
      const Spmm problem = problem_of(192, element);
      UnpackWgmmaConfig config = plain(problem, 64);
      config.prepare_dense = false;
      config.tensor_copies = element == Dtype::f16;
      config.warpgroups = 2;
      config.producer_warps = 4;
      config.stages = 4;
      config.overlap = true;
      config.k_split = k_split;
      config.cluster_sums = true;
      check(UnpackCase(sparse::uniform(700, 1024, 0.8, seed), problem, seed), config);
    }
}

TEST_CASE("unpack_wgmma: persistent blocks go through more tiles than fill the device, few k blocks and many") {
  for (const Dtype element : {Dtype::f16, Dtype::f32, Dtype::bf16})
    for (const std::int64_t cols : {64, 200, 520})
      for (const Layout layout : {Layout::row_major, Layout::column_major}) {
        Spmm problem = problem_of(element == Dtype::f32 ? 1900 : 1000, element);
        problem.dense_layout = layout;
        problem.batch = cols == 200 ? 2 : 1;
        problem.epilogue = {.bias = Bias::per_row, .residual = true, .accumulate = cols == 64};
        const UnpackCase c(sparse::uniform(700, cols, 0.8, seed), problem, seed);
        const bool prepared = element == Dtype::f32 || cols == 520;
        UnpackWgmmaConfig config = plain(problem, prepared ? 32 : 64);
        config.persistent = true;
        config.overlap = cols != 64;
        config.stages = 4;
        config.producer_warps = 1;
        config.prepare_dense = prepared;
        config.tensor_copies = !prepared;
        check_one(c, config);
      }
}

TEST_CASE("unpack_wgmma: strips that do not fit their stage are unpacked from global memory") {
  for (const Dtype element : {Dtype::f32, Dtype::f16})
    for (const int pairs : {16, 100, 256})
      for (const bool overlap : {false, true}) {
        const Spmm problem = problem_of(64, element);
        UnpackWgmmaConfig config = plain(problem, 64);
        config.strip_pairs = pairs;
        config.overlap = overlap;
        check(UnpackCase(test::uneven_mask(150, 500, seed), problem, seed), config);
      }
}

TEST_CASE("unpack_wgmma: sizes that are multiples of nothing") {
  sparse::Random random(seed);
  for (int i = 0; i < 24; ++i) {
    const std::int64_t n = i % 8 < 4 ? 1 + random.below(150) : 8 * (1 + random.below(20));
    const auto element = static_cast<Dtype>(i % 3);
    Spmm problem = problem_of(n, element);
    const auto vector = std::int64_t{16 / size_of(element)};
    problem.dense_layout = i % 2 == 0 ? Layout::row_major : Layout::column_major;
    const std::int64_t rows = 1 + random.below(300);
    const std::int64_t cols = 1 + random.below(400);
    // Lines that start aligned; 16-bit elements are copied as they lie where lines end aligned, too.
    const std::int64_t length = problem.dense_layout == Layout::row_major ? n : cols;
    problem.dense_leading = (length + vector - 1) / vector * vector;
    UnpackWgmmaConfig config = plain(problem, n >= 64 ? 64 : n > 16 ? 32 : 8);
    if (length % vector != 0) config.prepare_dense = true;
    config.overlap = i % 4 < 2;
    check(UnpackCase(sparse::uniform(rows, cols, 0.6, random.bits()), problem, random.bits()), config);
  }
}

TEST_CASE(
    "unpack_wgmma: a B of a batch as it lies, behind one another or side by side, with lines further apart than long") {
  for (const Layout layout : {Layout::row_major, Layout::column_major})
    for (const int columns : {64, 128, 256})
      for (const bool side_by_side : {false, true}) {
        constexpr std::int64_t cols = 328;
        Spmm problem = problem_of(200, Dtype::f16);
        lay_apart(problem, layout, cols, side_by_side);
        check(UnpackCase(sparse::uniform(150, cols, 0.7, seed), problem, seed), plain(problem, columns));
      }
}

TEST_CASE("unpack_wgmma: every epilogue, layout and type of C") {
  sparse::Random random(seed + 1);
  for (int i = 0; i < 48; ++i) {
    const auto element = static_cast<Dtype>(i % 3);
    Spmm problem = problem_of(1 + random.below(100), element);
    problem.output = static_cast<Dtype>(i / 3 % 3);
    problem.output_layout = i % 2 == 0 ? Layout::row_major : Layout::column_major;
    problem.batch = 1 + random.below(3);
    problem.values_per_batch = random.below(2) == 0;
    problem.sparse_transposed = random.below(2) == 0;
    problem.value_lifetime = random.below(2) == 0 ? ValueLifetime::persistent : ValueLifetime::per_call;
    problem.alignment_bytes = i % 4 == 0 ? 4 : 16;
    problem.epilogue = {.bias = static_cast<Bias>(random.below(3)),
                        .residual = random.below(2) == 0,
                        .activation = static_cast<Activation>(random.below(5)),
                        .scale = static_cast<Scale>(random.below(3)),
                        .accumulate = random.below(2) == 0};
    if (random.below(2) == 0) problem.epilogue.bias_element = element;
    const UnpackCase c(sparse::uniform(1 + random.below(200), 200, 0.7, random.bits()), problem, random.bits());
    UnpackWgmmaConfig config = plain(problem, problem.n > 32 ? 64 : problem.n > 8 ? 16 : 8);
    config.prepare_dense = true;
    config.k_split = c.host.walked.cols > 64 ? 1 + static_cast<int>(random.below(2)) : 1;
    config.cluster_sums = config.k_split > 1 && random.below(2) == 0;
    check(c, config);
  }
}

TEST_CASE("unpack_wgmma: configs of the space, and the defaults, on random problems") {
  sparse::Random random(seed + 3);
  for (const test::NamedDevice& on : hoppers())
    for (int i = 0; i < 40; ++i) {
      const auto element = static_cast<Dtype>(i % 3);
      Spmm problem = problem_of(1 + random.below(300), element);
      problem.dense_layout = random.below(3) == 0 ? Layout::column_major : Layout::row_major;
      problem.math = i % 5 == 0 ? Math::tf32 : Math::accurate;
      problem.value_lifetime = i % 2 == 0 ? ValueLifetime::persistent : ValueLifetime::per_call;
      if (random.below(2) == 0) problem.n = (problem.n + 7) / 8 * 8;
      const UnpackCase c(test::uneven_mask(1 + random.below(700), 8 * (1 + random.below(150)), random.bits()), problem,
                         random.bits());
      const ops::SpmmQuery query = c.query(on.device.get());
      if (family().declines(query)) {
        CHECK_MESSAGE(c.host.walked.nonzeros() == 0, *family().declines(query));
        continue;
      }
      test::check_unpack(on, family(), c, family().default_config(query));
      std::vector<ops::Config> admitted;
      for (ops::Config& config : family().space(query))
        if (!family().forbidden(query, config)) admitted.push_back(std::move(config));
      for (int j = 0; j < 4; ++j)
        test::check_unpack(
            on, family(), c,
            admitted[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(admitted.size())))]);
    }
}

TEST_CASE(
    "unpack_wgmma: a thousand executes back to back, on one workspace and with changing operands, give what one "
    "gives") {
  constexpr int rounds = 500;
  for (const test::NamedDevice& on : hoppers())
    for (const ValueLifetime lifetime : {ValueLifetime::persistent, ValueLifetime::per_call})
      for (const Dtype element : {Dtype::f32, Dtype::f16})
        for (const int k_split : {1, 2}) {
          Spmm problem = problem_of(128, element);
          problem.value_lifetime = lifetime;
          const sparse::Csr mask = sparse::uniform(512, 512, 0.8, seed);
          const bool mapped = element == Dtype::f16 && (k_split == 2) == (lifetime == ValueLifetime::per_call);
          UnpackWgmmaConfig config = plain(problem, mapped ? 64 : 32);
          config.tensor_copies = mapped;
          config.k_split = k_split;
          config.cluster_sums = k_split == 2 && lifetime == ValueLifetime::persistent;
          config.overlap = true;
          const ops::Config fields = ops::Config::of(config);
          INFO(to_text(fields.to_map()));
          const test::UnpackRun first(*on.device, family(), UnpackCase(mask, problem, seed), fields);
          test::UnpackRun second(*on.device, family(), UnpackCase(mask, problem, seed + 50), fields);
          second.share_workspace(first);
          std::vector<float> wanted[2];
          first.enqueue();
          wanted[0] = first.output();
          second.enqueue();
          wanted[1] = second.output();
          first.reset();
          second.reset();
          for (int round = 0; round < rounds; ++round) {
            first.enqueue();
            second.enqueue();
          }
          CHECK(first.output() == wanted[0]);
          CHECK(second.output() == wanted[1]);
        }
}
