#include "base/boundary.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <vostok/error.hpp>

#include "contains.hpp"
#include "error_code.hpp"

using namespace vostok;
using test::code_of;
using test::contains;

namespace {

template <class Thrown>
ErrorCode code_for(const Thrown& thrown, std::string& message) {
  return code_of([&] { at_boundary("plan", "SpMM", [&] { throw Thrown(thrown); }); }, &message);
}

}  // namespace

TEST_CASE("exceptions of the standard library leave a call as errors that say what cannot be done") {
  std::string message;
  CHECK(code_for(std::bad_alloc(), message) == ErrorCode::out_of_memory);
  CHECK(contains(message, "cannot plan SpMM"));
  CHECK(code_of(
            [] {
              at_boundary("plan", "SpMM", [] {
                return std::vector<int>().max_size() + std::string(static_cast<std::size_t>(-1), 'x').size();
              });
            },
            &message) == ErrorCode::out_of_memory);
  CHECK(
      code_for(std::filesystem::filesystem_error("read", "/some/file", std::make_error_code(std::errc::is_a_directory)),
               message) == ErrorCode::io_failure);
  CHECK(contains(message, "/some/file"));
  CHECK(code_for(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)), message) ==
        ErrorCode::internal);
  CHECK(code_for(std::out_of_range("at"), message) == ErrorCode::internal);
  CHECK(contains(message, "cannot plan SpMM: at"));
}

TEST_CASE("results, errors and exceptions of the user's own leave a call as they are") {
  CHECK(at_boundary("plan", "SpMM", [] { return 7; }) == 7);
  int value = 3;
  CHECK(&at_boundary("plan", "SpMM", [&]() -> int& { return value; }) == &value);
  std::string message;
  CHECK(code_for(Error(ErrorCode::wrong_device, "as it is"), message) == ErrorCode::wrong_device);
  CHECK(message == "as it is");
  struct Mine {};
  CHECK_THROWS_AS(at_boundary("plan", "SpMM", [] { throw Mine(); }), Mine);
}
