#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "bench/peers/cublas_api.hpp"
#include "bench/peers/cublas_weights.hpp"
#include "bench/peers/cusparse_api.hpp"
#include "bench/peers/library.hpp"
#include "bench/peers/peer.hpp"
#include "bench/peers/rotation.hpp"

namespace vostok::bench {
namespace {

TEST_CASE("a library that is nowhere is an error that names the places tried") {
  try {
    open_peer_library({"libvostok-has-no-such-peer.so.1"}, "libnone.so*");
    FAIL("it was opened");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::no_device);
    CHECK(std::string(error.what()).find("libvostok-has-no-such-peer.so.1") != std::string::npos);
  }
}

TEST_CASE("a function that a library lacks is an error that names both") {
  const device::cuda::SharedObject libc = open_peer_library({"libc.so.6"}, "libnone.so*");
  PeerFunction<int> absent{"vostok_no_such_function"};
  try {
    load(libc, absent);
    FAIL("it was found");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("libc.so.6") != std::string::npos);
    CHECK(std::string(error.what()).find("vostok_no_such_function") != std::string::npos);
  }
}

/// Loads a peer's whole table where its library is here; says that it is not where it is not.
template <class Load>
bool loads_or_is_absent(const char* library, const Load& load_table) {
  try {
    load_table();
    return true;
  } catch (const Error& error) {
    MESSAGE("skipped: " << library << " is not usable here: " << error.what());
    // Absent is the only excuse: a library that opened must have every function.
    return std::string(error.what()).find("it has no function") == std::string::npos;
  }
}

TEST_CASE("every function of cuSPARSE that is used is exported by the library that is here") {
  CHECK(loads_or_is_absent("cuSPARSE", cusparse::load_api));
}

TEST_CASE("every function of cuBLAS that is used is exported by the library that is here") {
  CHECK(loads_or_is_absent("cuBLAS", cublas::load_api));
}

TEST_CASE("what a preparation throws becomes the run's failure") {
  const PeerRun run = prepare_run(
      "peer", "way", []() -> std::function<void(Stream)> { fail(ErrorCode::unsupported, "cannot do it: {}", 7); });
  CHECK(run.failure == "cannot do it: 7");
  CHECK_FALSE(run.enqueue);
  CHECK(prepare_run("peer", "way", [] { return [](Stream) {}; }).enqueue);
}

TEST_CASE("a sparse matrix that is stored dense has repeated entries added up, in any order of a row") {
  const sparse::Csr matrix{.rows = 3, .cols = 2, .row_offsets = {0, 3, 3, 4}, .column_indices = {1, 0, 1, 0}};
  const auto nonzeros = cublas::Weights::added_up(matrix, {1, 2, 4, 8});
  REQUIRE(nonzeros.size() == 3);
  CHECK((nonzeros[0].row == 0 && nonzeros[0].column == 0 && nonzeros[0].value == 2));
  CHECK((nonzeros[1].row == 0 && nonzeros[1].column == 1 && nonzeros[1].value == 5));
  CHECK((nonzeros[2].row == 2 && nonzeros[2].column == 0 && nonzeros[2].value == 8));
}

TEST_CASE("as many copies rotate as together pass what was asked for, and none where nothing was") {
  CHECK(copies_of(0, 1000) == 1);
  CHECK(copies_of(220'000'000, 134'217'728) == 2);
  CHECK(copies_of(220'000'000, 22'000'000) == 11);
  CHECK(copies_of(220'000'000, 500'000'000) == 2);
  CHECK_THROWS_WITH_AS(copies_of(220'000'000, 1000), doctest::Contains("220001 copies"), Error);
  DeviceInfo device;
  device.l2_bytes = 60 << 20;
  CHECK(cold_bytes(device) == 220'000'000);
  device.l2_bytes = 100 << 20;
  CHECK(cold_bytes(device) == 300LL << 20);
}

TEST_CASE("calls are made in turn, and the first again after the last") {
  std::vector<int> made;
  std::vector<std::function<void(Stream)>> calls;
  for (int i = 0; i < 3; ++i) calls.emplace_back([&made, i](Stream) { made.push_back(i); });
  const auto call = in_turn(calls);
  for (int i = 0; i < 5; ++i) call(nullptr);
  CHECK(made == std::vector<int>{0, 1, 2, 0, 1});
}

}  // namespace
}  // namespace vostok::bench
