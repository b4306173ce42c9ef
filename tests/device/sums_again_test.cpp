// Sums of an SpMM on tensor cores that NaN or infinities in unnamed rows of B spoil are made again, whatever the
// problem and the config.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>

#include "device/packed_trials.hpp"
#include "device/sparse_tensor_harness.hpp"
#include "device/spoilt_dense.hpp"
#include "device/unpack_harness.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 3411;

/// `check`(device, family, case, config), with the default and with a config of the space in turn.
template <class Case, class Check>
void check_spoilt(const std::string& name, const std::vector<LevelledProblem>& problems, const Check& check) {
  const ops::Family& family = *ops::find_family("spmm", name);
  sparse::Random random(seed);
  int spoilt = 0;
  std::size_t turn = 0;
  for (const LevelledProblem& levelled : problems) {
    Spmm problem = levelled.problem;
    problem.nonfinite = NonFinite::sparse;
    Case c(without_every_fourth_column(levelled.csr), problem, seed + turn);
    const int found = spoil_unnamed(c.host);
    const auto devices = devices_of(family);
    if (devices.empty()) return;
    for (const NamedDevice& on : devices_of_turn(devices, turn++)) {
      const ops::SpmmQuery query = c.query(on.device.get());
      if (family.declines(query)) continue;
      check(on, family, c, turn % 2 == 0 ? family.default_config(query) : space_config(family, query, random));
      spoilt += found > 0 ? 1 : 0;
    }
  }
  std::printf("%s: %d products were spoilt\n", name.c_str(), spoilt);
  CHECK(spoilt > 0);
}

}  // namespace

TEST_CASE(
    "products of every type, layout, batch and epilogue are right with NaN in rows of B that A does not name, by every "
    "tensor-core family") {
  MESSAGE("seed " << seed);
  constexpr std::array<std::int64_t, 7> sizes = {64, 40, 256, 72, 7, 200, 136};
  std::vector<LevelledProblem> problems = paired_tensor_problems(seed, sizes);
  if (thread_sanitized) problems.resize(4);
  std::vector<LevelledProblem> of_16_bits;
  for (const LevelledProblem& levelled : problems) {
    of_16_bits.push_back(levelled);
    if (levelled.problem.element == Dtype::f32)
      of_16_bits.back().problem.element = of_16_bits.size() % 2 == 0 ? Dtype::f16 : Dtype::bf16;
    of_16_bits.back().problem.alignment_bytes = 16;
  }
  for (const std::string family : {"unpack_mma", "unpack_wgmma"}) {
    CAPTURE(family);
    check_spoilt<UnpackCase>(family, problems,
                             [](const auto& on, const auto& of, const UnpackCase& c, const ops::Config& config) {
                               check_unpack(on, of, c, config);
                             });
  }
  for (const std::string family : {"sparse_tensor_mma", "sparse_tensor_wgmma"}) {
    CAPTURE(family);
    check_spoilt<SparseCase>(family, of_16_bits,
                             [](const auto& on, const auto& of, const SparseCase& c, const ops::Config& config) {
                               check_sparse(on, of, c, config);
                             });
  }
}
