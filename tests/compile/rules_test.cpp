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
    {"spmm", "staged_rows", "sm_80", "column_edge", "vostok::ColumnEdge::predicated",
     "column_edge is clamped or unchecked"},
    {"spmm", "unpack_mma", "sm_80", "strip_pairs", "66", "strip_pairs is a multiple of 4"},
    {"spmm", "unpack_wgmma", "sm_90", "strip_pairs", "66", "strip_pairs is a multiple of 4"},
    {"spmm", "sparse_vector", "sm_80", "min_blocks", "33", "min_blocks is 1 to 32"},
    {"spmm", "sparse_tensor_mma", "sm_80", "stages", "9", "stages is 2 to 8"},
    {"spmm", "sparse_tensor_wgmma", "sm_90", "raster_rows", "0", "raster_rows is 1 to 65536"},
    {"sddmm", "row_strips", "sm_80", "n_split", "3", "n_split is a power of two"},
    {"sddmm", "tensor_sample", "sm_80", "list_room", "12", "list_room is a multiple of 8"},
    {"sddmm", "wgmma_sample", "sm_90", "waves", "-1", "waves is 0 to 1024"},
    {"softmax", "row_softmax", "sm_80", "held_vectors", "0", "held_vectors is 1 to 32"},
    {"softmax", "split_softmax", "sm_80", "strip_entries", "0", "strip_entries is 1 to 65536"},
    {"softmax_backward", "row_softmax", "sm_80", "held_vectors", "33", "held_vectors is 1 to 32"},
    {"depthwise", "depthwise_direct", "sm_80", "tile_height", "17", "tile_height 1 to 16"},
    {"bias_activation", "bias_activation", "sm_80", "vectors_per_thread", "17", "a thread takes 1 to 16 vectors"},
    {"im2col", "im2col_gather", "sm_80", "block_threads", "48", "a block has 1 to 32 whole warps"},
};

/// The launch of a default config, with another value in one field.
codegen::KernelRequest broken(const Breach& breach) {
  const ops::Family& family = *ops::find_family(breach.operation, breach.family);
  for (const test::Space& space : test::spaces_of(family, test::sweep_queries().at(breach.operation)())) {
    const ops::Config config = family.default_config(*space.query);
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
