// The peers' calls, made to host functions that follow the libraries' documentation: layouts, types, sizes and order
// are right when the result is, as the benchmarks judge it.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "bench/harness/contest.hpp"
#include "bench/peers/column_major.hpp"
#include "bench/peers/cublas.hpp"
#include "bench/peers/cusparse.hpp"
#include "bench/peers/split_numbers.hpp"
#include "sparse/generate.hpp"
#include "tune/sddmm_case.hpp"
#include "tune/spmm_case.hpp"
#include "unit/bench/host_cublas.hpp"
#include "unit/bench/host_cusparse.hpp"
#include "unit/fakes/fake_device.hpp"

namespace vostok::bench {
namespace {

constexpr std::int64_t m = 37, k = 23, n = 19;
constexpr std::uint64_t seed = 5;
constexpr int rounds = 7;
constexpr Dtype types[] = {Dtype::f32, Dtype::f16, Dtype::bf16};

/// Its kernels are the one that splits numbers.
class SplittingDevice : public test::FakeDevice {
 public:
  void launch(Stream, const device::Kernel&, const device::LaunchShape&, const void* arguments,
              std::size_t) const override {
    struct Split {
      const float* source;
      std::uint16_t* target;
      long long count;
    };
    const Split& split = *static_cast<const Split*>(arguments);
    for (long long i = 0; i < split.count; ++i) {
      const float hi = sparse::round_to(Dtype::f16, split.source[i]);
      host::write(split.target, Dtype::f16, i, hi);
      host::write(split.target, Dtype::f16, split.count + i, split.source[i] - hi);
      host::write(split.target, Dtype::f16, 2 * split.count + i, hi);
    }
  }
};

/// A small matrix in "device" memory, which is the host's, and the peers' ways to use it.
struct Small {
  SplittingDevice device;
  sparse::Csr matrix = sparse::uniform(m, k, 0.7, seed);
  std::vector<std::int32_t> offsets{matrix.row_offsets.begin(), matrix.row_offsets.end()};
  int period = 0;  ///< of the first way of the last SpMM

  PeerMatrix on_device() const {
    return {.host = &matrix, .row_offsets = offsets.data(), .column_indices = matrix.column_indices.data()};
  }

  std::vector<Measured> spmm(Peer& peer, Dtype element, bool transposed, std::int64_t columns = n,
                             std::int64_t rotated_bytes = 0) {
    tune::SpmmCase operands(device, {.n = columns, .element = element, .sparse_transposed = transposed}, matrix, seed);
    const auto& call = *static_cast<const SpmmArguments*>(operands.arguments());
    const auto runs = peer.prepare(SpmmOperands{.matrix = on_device(),
                                                .n = columns,
                                                .element = element,
                                                .transposed = transposed,
                                                .values = call.values,
                                                .dense = call.dense,
                                                .output = call.output,
                                                .rotated_bytes = rotated_bytes});
    period = runs.front().period;
    return hold_contest(device, operands, runs, rounds);
  }

  std::vector<Measured> sddmm(Peer& peer, Dtype element) {
    tune::SddmmCase operands(device, {.n = n, .element = element}, matrix, seed);
    const auto& call = *static_cast<const SddmmArguments*>(operands.arguments());
    const auto runs = peer.prepare(SddmmOperands{
        .mask = on_device(), .n = n, .element = element, .lhs = call.lhs, .rhs = call.rhs, .output = call.output});
    return hold_contest(device, operands, runs, rounds);
  }
};

void check_right(const Measured& measured) {
  CAPTURE(measured.peer);
  CAPTURE(measured.variant);
  CHECK(measured.timed.failure.empty());
  CHECK(measured.check.wrong.empty());
  CHECK(measured.counts());
}

TEST_CASE(
    "cuBLAS is given the sparse matrix stored dense, in an order that makes the row-major product, in every type, and "
    "transposed") {
  Small small;
  {
    const auto peer = make_cublas(small.device, host_cublas::table());
    CHECK(peer->version() == "13.1.0");
    for (const Dtype type : types) {
      for (const bool transposed : {false, true}) {
        CAPTURE(name(type));
        CAPTURE(transposed);
        const auto measured = small.spmm(*peer, type, transposed);
        REQUIRE(measured.size() == (type != Dtype::f32 ? 1 : transposed ? 2 : 4));
        for (const Measured& way : measured) check_right(way);
      }
    }
  }
  CHECK(small.device.allocations_alive == 0);
}

TEST_CASE("TF32 is held to its own tolerance, and that is above what fp32 is held to") {
  Small small;
  const auto peer = make_cublas(small.device, host_cublas::table());
  const auto measured = small.spmm(*peer, Dtype::f32, false);
  REQUIRE(measured.size() == 4);
  CHECK(measured[0].peer == "cublas_sgemm");
  CHECK(measured[1].peer == "cublas_tf32");
  CHECK(measured[0].check.error < 1e-6);
  CHECK(measured[1].check.error > measured[0].check.tolerance);
  CHECK(measured[1].counts());
}

TEST_CASE("three f16 products, added up or as one, are nearly as right as fp32, and more so than TF32") {
  Small small;
  const auto peer = make_cublas(small.device, host_cublas::table());
  const auto measured = small.spmm(*peer, Dtype::f32, false);
  REQUIRE(measured.size() == 4);
  for (const std::size_t way : {2, 3}) {
    CAPTURE(measured[way].variant);
    check_right(measured[way]);
    CHECK(measured[way].peer == "cublas_f16x3");
    CHECK(measured[way].check.error < 1e-6);
    CHECK(measured[way].check.error > 0);
    CHECK(measured[way].check.tolerance > measured[0].check.tolerance);
  }
}

TEST_CASE("few columns are multiplied in two ways, and both are right, also by the transpose") {
  Small small;
  const auto peer = make_cublas(small.device, host_cublas::table());
  for (const bool transposed : {false, true}) {
    for (const std::int64_t columns : {1, 2, 16}) {
      const auto measured = small.spmm(*peer, Dtype::f16, transposed, columns);
      REQUIRE(measured.size() == 2);
      CHECK(measured[1].variant == "column-major");
      for (const Measured& way : measured) check_right(way);
    }
  }
  CHECK(small.spmm(*peer, Dtype::f16, false, few_columns + 1).size() == 1);
}

TEST_CASE("weights that rotate are right in every way of every peer, and as many copies of them as are asked for") {
  Small small;
  constexpr std::int64_t rotated_bytes = 20'000;
  {
    const auto cublas = make_cublas(small.device, host_cublas::table());
    for (const Measured& way : small.spmm(*cublas, Dtype::f32, false, n, rotated_bytes)) check_right(way);
    CHECK(small.period == rotated_bytes / (m * k * 4) + 1);
    const auto cusparse = make_cusparse(small.device, host_cusparse::table());
    const auto measured = small.spmm(*cusparse, Dtype::f16, false, n, rotated_bytes);
    CHECK(small.period == rotated_bytes / (small.matrix.nonzeros() * 6 + (m + 1) * 4) + 1);
    check_right(measured[0]);
    check_right(measured[1]);
  }
  CHECK(small.device.allocations_alive == 0);
}

TEST_CASE("numbers are split into two f16 on the device, one at a time or four") {
  const auto device = device::open_emulator({});
  const NumberSplitter splitter(*device);
  for (const std::int64_t count : {252, 253}) {
    const std::vector<float> numbers = sparse::normal_values(count, seed);
    const device::Buffer source(*device, count * 4), target(*device, count * 6);
    device->copy_to_device(source.data(), numbers.data(), source.bytes());
    splitter.enqueue(device->own_stream(), source.as<float>(), count, target.as<std::uint16_t>());
    std::vector<std::byte> found(static_cast<std::size_t>(target.bytes()));
    device->copy_to_host(found.data(), target.data(), target.bytes(), device->own_stream());
    const std::vector<float> terms = sparse::from_storage(Dtype::f16, found);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float hi = sparse::round_to(Dtype::f16, numbers[i]);
      REQUIRE(terms[i] == hi);
      REQUIRE(terms[numbers.size() + i] == sparse::round_to(Dtype::f16, numbers[i] - hi));
      REQUIRE(terms[2 * numbers.size() + i] == hi);
    }
  }
}

TEST_CASE("the kernel that splits numbers compiles for GPUs without spills") {
  std::shared_ptr<const device::Compiler> nvrtc;
  try {
    nvrtc = device::open_nvrtc(std::nullopt);
  } catch (const Error& error) {
    MESSAGE("skipped: there is no NVRTC here: " << error.what());
    return;
  }
  for (const char* architecture : {"sm_80", "sm_90"})
    for (const int numbers : {1, 4})
      CHECK(nvrtc->compile(NumberSplitter::source(architecture, numbers)).spill_bytes == 0);
}

TEST_CASE("cuBLAS's whole product is sampled at the mask for verification, in every type") {
  Small small;
  {
    const auto peer = make_cublas(small.device, host_cublas::table());
    for (const Dtype type : types) {
      CAPTURE(name(type));
      for (const Measured& way : small.sddmm(*peer, type)) check_right(way);
    }
  }
  CHECK(small.device.allocations_alive == 0);
}

TEST_CASE(
    "cuSPARSE's SpMM runs each algorithm with its own preparation, in every type, and one that it refuses fails "
    "alone") {
  Small small;
  {
    const auto peer = make_cusparse(small.device, host_cusparse::table());
    CHECK(peer->version() == "12.6.3");
    for (const Dtype type : types) {
      for (const bool transposed : {false, true}) {
        CAPTURE(name(type));
        CAPTURE(transposed);
        const auto measured = small.spmm(*peer, type, transposed);
        REQUIRE(measured.size() == 3);
        check_right(measured[0]);
        check_right(measured[1]);
        CHECK(measured[2].timed.failure.find("cusparseSpMM_preprocess returned 3 (host)") != std::string::npos);
      }
    }
  }
  CHECK(small.device.allocations_alive == 0);
}

TEST_CASE(
    "cuSPARSE's SDDMM is right in f32 and f16, also where it reads an output that is scaled by zero, and bf16 says "
    "that it is not there") {
  Small small;
  {
    const auto peer = make_cusparse(small.device, host_cusparse::table());
    for (const Dtype type : {Dtype::f32, Dtype::f16}) {
      CAPTURE(name(type));
      const auto measured = small.sddmm(*peer, type);
      REQUIRE(measured.size() == 1);
      check_right(measured.front());
    }
    const auto measured = small.sddmm(*peer, Dtype::bf16);
    REQUIRE(measured.size() == 1);
    CHECK(measured.front().timed.failure.find("no bf16") != std::string::npos);
    CHECK_FALSE(measured.front().counts());
  }
  CHECK(small.device.allocations_alive == 0);
}

}  // namespace
}  // namespace vostok::bench
