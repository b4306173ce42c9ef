// The peers' calls, made to host functions that follow the libraries' documentation: layouts, types, sizes and order are right when the
// result is, as the benchmarks judge it.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "bench/harness/contest.hpp"
#include "bench/peers/cublas.hpp"
#include "bench/peers/cusparse.hpp"
#include "sparse/generate.hpp"
#include "tune/sddmm_case.hpp"
#include "tune/spmm_case.hpp"
#include "unit/bench/host_cublas.hpp"
#include "unit/bench/host_cusparse.hpp"
#include "unit/fakes/fake_device.hpp"

namespace vostok::bench {
namespace {

constexpr std::int64_t m = 37, k = 23, n = 11;
constexpr std::uint64_t seed = 5;
constexpr int rounds = 7;
constexpr Dtype types[] = {Dtype::f32, Dtype::f16, Dtype::bf16};

/// A small matrix in "device" memory, which is the host's, and the peers' ways to use it.
struct Small {
  test::FakeDevice device;
  sparse::Csr matrix = sparse::uniform(m, k, 0.7, seed);
  std::vector<std::int32_t> offsets{matrix.row_offsets.begin(), matrix.row_offsets.end()};

  PeerMatrix on_device() const { return {.host = &matrix, .row_offsets = offsets.data(), .column_indices = matrix.column_indices.data()}; }

  std::vector<Measured> spmm(Peer& peer, Dtype element, bool transposed) {
    tune::SpmmCase operands(device, {.n = n, .element = element, .sparse_transposed = transposed}, matrix, seed);
    const auto& call = *static_cast<const SpmmArguments*>(operands.arguments());
    const auto runs = peer.prepare(SpmmOperands{.matrix = on_device(),
                                                .n = n,
                                                .element = element,
                                                .transposed = transposed,
                                                .values = call.values,
                                                .dense = call.dense,
                                                .output = call.output});
    return hold_contest(device, operands, runs, rounds);
  }

  std::vector<Measured> sddmm(Peer& peer, Dtype element) {
    tune::SddmmCase operands(device, {.n = n, .element = element}, matrix, seed);
    const auto& call = *static_cast<const SddmmArguments*>(operands.arguments());
    const auto runs =
        peer.prepare(SddmmOperands{.mask = on_device(), .n = n, .element = element, .lhs = call.lhs, .rhs = call.rhs, .output = call.output});
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

TEST_CASE("cuBLAS is given the sparse matrix stored dense, in an order that makes the row-major product, in every type, and transposed") {
  Small small;
  {
    const auto peer = make_cublas(small.device, host_cublas::table());
    CHECK(peer->version() == "13.1.0");
    for (const Dtype type : types) {
      for (const bool transposed : {false, true}) {
        CAPTURE(name(type));
        CAPTURE(transposed);
        const auto measured = small.spmm(*peer, type, transposed);
        REQUIRE(measured.size() == (type == Dtype::f32 ? 2 : 1));
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
  REQUIRE(measured.size() == 2);
  CHECK(measured[0].peer == "cublas_sgemm");
  CHECK(measured[1].peer == "cublas_tf32");
  CHECK(measured[0].check.error < 1e-6);
  CHECK(measured[1].check.error > measured[0].check.tolerance);
  CHECK(measured[1].counts());
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

TEST_CASE("cuSPARSE's SpMM runs each algorithm with its own preparation, in every type, and one that it refuses fails alone") {
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

TEST_CASE("cuSPARSE's SDDMM is right in f32 and f16, also where it reads an output that is scaled by zero, and bf16 says that it is not there") {
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
