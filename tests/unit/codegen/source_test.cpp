#include "codegen/source.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

using namespace vostok;
using codegen::KernelRequest;

namespace {

const KernelRequest request{.family = "row_tile", .header = "spmm/row_tile.h", .expression = "vostok::row_tile<int>"};

std::string key_of(const KernelRequest& wanted, std::string_view architecture = "sm_90",
                   std::vector<std::string> options = {"a", "b"}, std::string_view compiler = "") {
  return codegen::code_key(wanted, architecture, std::move(options), compiler);
}

}  // namespace

TEST_CASE("every include of every template is embedded and comes before its user") {
  REQUIRE(!codegen::embedded_templates().empty());
  for (const device::Header& header : codegen::embedded_templates()) {
    std::set<std::string_view> before;
    const auto closure = codegen::include_closure(header.name);
    CHECK(closure.back().name == header.name);
    for (const device::Header& part : closure) {
      CHECK_MESSAGE(before.insert(part.name).second, part.name, " stands twice in the closure of ", header.name);
      std::size_t at = 0;
      while ((at = part.text.find("\n#include \"", at)) != std::string_view::npos) {
        at += 11;
        const std::string_view name = part.text.substr(at, part.text.find('"', at) - at);
        CHECK_MESSAGE(before.count(name) == 1, part.name, " includes ", name, " which does not come before it");
      }
    }
  }
}

TEST_CASE("templates include nothing but templates") {
  for (const device::Header& header : codegen::embedded_templates())
    CHECK_MESSAGE(header.text.find("#include <") == std::string_view::npos, header.name);
}

TEST_CASE(
    "constants of templates are functions: NVRTC makes each variable one of the device's, which takes time to load") {
  for (const device::Header& header : codegen::embedded_templates()) {
    std::istringstream text{std::string(header.text)};
    std::string line, before;
    for (; std::getline(text, line); before = line) {
      if (before.starts_with("template <")) continue;  // made where it is used only
      const bool is_constant = line.starts_with("constexpr ") || line.starts_with("inline constexpr ");
      CHECK_MESSAGE((!is_constant || line.find('(') < line.find(" = ")), header.name, ": ", line);
    }
  }
}

TEST_CASE("an unknown template is named in the error") {
  CHECK_THROWS_WITH_AS(codegen::include_closure("spmm/nothing.h"),
                       "cannot find template \"spmm/nothing.h\": it is not embedded in this library", Error);
}

TEST_CASE(
    "the code key depends on expression, family, architecture, options and compiler, and not on the options' order") {
  const std::string key = key_of(request);
  CHECK(key == key_of(request));
  CHECK(key == key_of(request, "sm_90", {"b", "a"}));
  KernelRequest other = request;
  other.expression = "vostok::row_tile<long>";
  std::set<std::string> keys = {key,
                                key_of(other),
                                key_of(request, "sm_80"),
                                key_of(request, "sm_90", {"a"}),
                                key_of(request, "sm_90", {"ab"}),
                                key_of(request, "sm_90", {"a", "b"}, "g++ 12")};
  other = request;
  other.family = "other";
  keys.insert(key_of(other));
  other = request;
  other.header = "abi/row_tile.h";
  keys.insert(key_of(other));
  CHECK(keys.size() == 8);
}

TEST_CASE("what a kernel's instructions need beyond the architecture is part of its target and of its key") {
  KernelRequest hopper = request;
  hopper.features = "a";
  CHECK(codegen::make_source(hopper, "sm_90").architecture == "sm_90a");
  CHECK(codegen::make_source(request, "sm_90").architecture == "sm_90");
  CHECK(key_of(hopper) != key_of(request));
  CHECK(key_of(hopper) == key_of(request, "sm_90a"));
}

TEST_CASE("different templates have different digests") {
  std::set<std::string> digests;
  for (const device::Header& header : codegen::embedded_templates())
    digests.insert(codegen::closure_digest(header.name));
  CHECK(digests.size() == codegen::embedded_templates().size());
}
