// The header's constants are the library's, and none is left out.
#include <doctest/doctest.h>

#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <vostok/vostok.h>
#include <vostok/error.hpp>

#include "c/constants.hpp"
#include "sparse/text_file.hpp"

using namespace vostok;

namespace {

std::string upper(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

/// VOSTOK_NAME = number, of the header's enumerations.
std::map<std::string, int> header_constants() {
  const std::string header = sparse::read_bytes(VOSTOK_SOURCE_FOLDER "/include/vostok/vostok.h");
  const std::regex pattern(R"((VOSTOK_[A-Z0-9_]+) = (-?[0-9]+))");
  std::map<std::string, int> found;
  for (auto match = std::sregex_iterator(header.begin(), header.end(), pattern); match != std::sregex_iterator();
       ++match)
    found[(*match)[1]] = std::stoi((*match)[2]);
  return found;
}

}  // namespace

TEST_CASE(
    "every constant of the header is a status, an enumerator by the name of its enumeration, or the default type") {
  std::map<std::string, int> constants = header_constants();
  REQUIRE(constants.size() > 70);
  CHECK(constants.extract("VOSTOK_DTYPE_DEFAULT").mapped() == -1);
  CHECK(constants.extract("VOSTOK_OK").mapped() == 0);
  for (int code = 0; name(static_cast<ErrorCode>(code)) != nullptr; ++code) {
    const std::string status = upper(std::string("VOSTOK_") + name(static_cast<ErrorCode>(code)));
    CAPTURE(status);
    REQUIRE(constants.contains(status));
    CHECK(constants.extract(status).mapped() == code + 1);
    CHECK(upper(std::string("VOSTOK_") + vostok_status_name(code + 1)) == status);
  }
  for (const c::Constant& one : c::constants()) {
    const std::string spelt = upper("VOSTOK_" + std::string(one.enumeration) + "_" + one.name);
    CAPTURE(spelt);
    REQUIRE(constants.contains(spelt));
    CHECK(constants.extract(spelt).mapped() == one.value);
    CHECK(vostok_enum_name(std::string(one.enumeration).c_str(), one.value) == std::string(one.name));
  }
  for (const auto& [left, value] : constants) CHECK_MESSAGE(false, left);
}

TEST_CASE("each enumeration's values follow one another from 0, and there is no name behind the last") {
  std::set<std::string> enumerations;
  for (const c::Constant& one : c::constants()) enumerations.emplace(one.enumeration);
  CHECK(enumerations.size() == 21);
  for (const std::string& one : enumerations) {
    CAPTURE(one);
    std::ptrdiff_t count = 0;
    for (const c::Constant& constant : c::constants()) count += constant.enumeration == one;
    for (std::ptrdiff_t value = 0; value < count; ++value)
      CHECK(vostok_enum_name(one.c_str(), static_cast<std::int32_t>(value)) != nullptr);
    CHECK(vostok_enum_name(one.c_str(), static_cast<std::int32_t>(count)) == nullptr);
    CHECK(vostok_enum_name(one.c_str(), -1) == nullptr);
  }
  CHECK(vostok_enum_name("nothing", 0) == nullptr);
  CHECK(vostok_enum_name(nullptr, 0) == nullptr);
  CHECK(vostok_status_name(VOSTOK_AFTER_FORK + 1) == nullptr);
  CHECK(vostok_status_name(-1) == nullptr);
  CHECK(vostok_status_name(VOSTOK_OK) == std::string("ok"));
}

TEST_CASE("efforts, policies and provenances have the names that C++ gives them") {
  const auto same = [](auto first) {
    using E = decltype(first);
    std::int32_t value = 0;
    for (; name(static_cast<E>(value)) != nullptr; ++value)
      CHECK(vostok_enum_name(std::string(c::enumeration(first)).c_str(), value) ==
            std::string(name(static_cast<E>(value))));
    CHECK(vostok_enum_name(std::string(c::enumeration(first)).c_str(), value) == nullptr);
  };
  same(Effort{});
  same(Policy{});
  same(Provenance{});
}

TEST_CASE("the default streams' handles are those of C++") {
  CHECK(VOSTOK_STREAM_LEGACY == static_cast<void*>(legacy_stream));
  CHECK(VOSTOK_STREAM_PER_THREAD == static_cast<void*>(per_thread_stream));
}
