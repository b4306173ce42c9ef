// A kernel compiles for no config that breaks a rule of it, and the compiler's message shows which. NVRTC alone.
#include <doctest/doctest.h>

#include <string>

#include "compile/nvrtc.hpp"
#include "compile/sweep_jobs.hpp"
#include "contains.hpp"

using namespace vostok;

namespace {

struct Breach {
  const char* operation;
  const char* family;
  const char* architecture;
  const char* field;
  const char* value;
  const char* sentence;
};

constexpr Breach breaches[] = {
    {"spmm", "row_tile", "sm_80", "loads_in_flight", "3", "loads_in_flight and residue_unroll are powers of two"},
    {"spmm", "nonzero_split", "sm_80", "chunk_items", "0", "chunk_items is 1 to 4096"},
    {"spmm", "staged_rows", "sm_80", "column_edge", "vostok::ColumnEdge::predicated", "column_edge is clamped or unchecked"},
};

/// The launch of a default config, with another value in one field.
codegen::KernelRequest broken(const Breach& breach) {
  const ops::Family& family = *ops::find_family(breach.operation, breach.family);
  for (const test::Space& space : test::spaces_of(family, test::sweep_queries().at(breach.operation)())) {
    const FieldMap config = family.default_config(*space.query);
    for (const ops::Launch& launch : family.launches(*space.query, config, {})) {
      codegen::KernelRequest request = launch.request();
      const std::string field = "." + std::string(breach.field) + " = ";
      const std::size_t place = request.expression.rfind(field);
      if (place == std::string::npos) continue;
      const std::size_t begin = place + field.size();
      request.expression.replace(begin, request.expression.find_first_of(",}", begin) - begin, breach.value);
      return request;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("a config that breaks a rule does not compile, and the message shows the rule") {
  const auto nvrtc = test::nvrtc_for("breaking rules");
  if (!nvrtc) return;
  for (const Breach& breach : breaches) {
    INFO(breach.family);
    std::string message;
    try {
      nvrtc->compile(codegen::make_source(broken(breach), breach.architecture));
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK_MESSAGE(test::contains(message, breach.sentence), message);
  }
}
