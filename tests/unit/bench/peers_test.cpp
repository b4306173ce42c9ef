#include <doctest/doctest.h>

#include <string>

#include "bench/peers/cublas.hpp"
#include "bench/peers/cublas_api.hpp"
#include "bench/peers/cusparse_api.hpp"
#include "bench/peers/library.hpp"
#include "bench/peers/peer.hpp"

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

TEST_CASE("every function of cuBLAS that is used is exported by the library that is here") { CHECK(loads_or_is_absent("cuBLAS", cublas::load_api)); }

TEST_CASE("what a preparation throws becomes the run's failure") {
  const PeerRun run = prepare_run("peer", "way", []() -> std::function<void(Stream)> { fail(ErrorCode::unsupported, "cannot do it: {}", 7); });
  CHECK(run.failure == "cannot do it: 7");
  CHECK_FALSE(run.enqueue);
  CHECK(prepare_run("peer", "way", [] { return [](Stream) {}; }).enqueue);
}

TEST_CASE("a dense copy of a sparse matrix adds repeated entries up and keeps its zeros") {
  const sparse::Csr matrix{.rows = 3, .cols = 2, .row_offsets = {0, 3, 3, 4}, .column_indices = {1, 0, 1, 0}};
  CHECK(to_dense(matrix, {1, 2, 4, 8}) == std::vector<float>{2, 5, 0, 0, 8, 0});
}

}  // namespace
}  // namespace vostok::bench
