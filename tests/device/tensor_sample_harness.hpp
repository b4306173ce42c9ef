// Runs configs of tensor_sample, and of families like it, below the planner: a case's operands, and a mask's lists of
// tiles made on the host.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "codegen/fields.hpp"
#include "device/config_walk.hpp"
#include "device/family_run.hpp"
#include "device/uneven_mask.hpp"
#include "ops/families.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/tensor_sample.hpp"
#include "ops/sddmm/wgmma_sample.hpp"
#include "sparse/tile_lists.hpp"
#include "tune/sddmm_case.hpp"

namespace vostok::test {

inline const ops::Family& tensor_sample_family() {
  static const std::unique_ptr<ops::Family> family = ops::make_tensor_sample();
  return *family;
}

/// The same on Hopper's tensor cores.
inline const ops::Family& wgmma_sample_family() {
  static const std::unique_ptr<ops::Family> family = ops::make_wgmma_sample();
  return *family;
}

/// A config, and the family of the two that it is of.
struct SampleConfig {
  const ops::Family* family;
  ops::Config config;
};

/// The devices that tensor_sample runs on.
inline const std::vector<NamedDevice>& tensor_devices() {
  static const std::vector<NamedDevice> list = [] {
    std::vector<NamedDevice> found;
    for (const NamedDevice& on : kernel_devices())
      if (tensor_sample_family().runs_on(on.device->architecture())) found.push_back(on);
    return found;
  }();
  return list;
}

/// A mask's lists, with tiles behind them that hold nothing, as a topology's may have.
class TileForms {
 public:
  TileForms(device::Device& device, const sparse::Csr& mask, const TileShape& shape) {
    sparse::TileListForm form = sparse::tile_lists(mask, shape);
    form.tiles.resize(form.tiles.size() + 3);
    count_ = static_cast<unsigned>(form.tiles.size());
    tiles_ = copy(device, form.tiles);
    row_shifts_ = copy(device, form.row_shifts);
    places_ = copy(device, form.places);
  }
  ops::TopologyPointers pointers() const {
    return {.tile_lists = {.tiles = tiles_.as<const SampleTile>(),
                           .row_shifts = row_shifts_.as<const int>(),
                           .places = places_.as<const unsigned short>(),
                           .tile_count = count_}};
  }

 private:
  template <class T>
  static device::Buffer copy(device::Device& device, const std::vector<T>& values) {
    device::Buffer buffer(device, static_cast<std::int64_t>(values.size() * sizeof(T)));
    if (!values.empty()) device.copy_to_device(buffer.data(), values.data(), buffer.bytes());
    return buffer;
  }
  device::Buffer tiles_;
  device::Buffer row_shifts_;
  device::Buffer places_;
  unsigned count_ = 0;
};

/// Runs a case and compares with float64.
inline tune::Check run_sampled(const NamedDevice& on, const ops::Family& family, tune::SddmmCase& c,
                               const sparse::Csr& mask, const ops::Config& config) {
  const TileForms forms(*on.device, mask, family.needs(c.query(), config).tiles);
  return run_family(*on.device, family, c.query(), config, forms.pointers(), c);
}

/// The same of a new case; returns its output.
inline std::vector<float> check_sampled(const NamedDevice& on, const ops::Family& family, const Sddmm& problem,
                                        const sparse::Csr& mask, std::uint64_t seed,
                                        const ops::Config* config = nullptr) {
  tune::SddmmCase c(*on.device, problem, mask, seed);
  const auto declined = family.declines(c.query());
  REQUIRE_MESSAGE(!declined, declined.value_or(""));
  const ops::Config used = config != nullptr ? *config : family.default_config(c.query());
  INFO(on.name, ": ", mask.rows, " x ", mask.cols, ", ", mask.nonzeros(), " nonzeros, n = ", problem.n, ", ",
       c.query().exact, ", ", to_text(used.to_map()));
  const tune::Check check = run_sampled(on, family, c, mask, used);
  CHECK_MESSAGE(check.wrong.empty(), check.wrong);
  return c.output();
}

inline tune::Check run_tensor_sample(const NamedDevice& on, tune::SddmmCase& c, const sparse::Csr& mask,
                                     const ops::Config& config) {
  return run_sampled(on, tensor_sample_family(), c, mask, config);
}
inline std::vector<float> check_tensor_sample(const NamedDevice& on, const Sddmm& problem, const sparse::Csr& mask,
                                              std::uint64_t seed, const ops::Config* config = nullptr) {
  return check_sampled(on, tensor_sample_family(), problem, mask, seed, config);
}

/// What random walks through the space try.
inline const FieldValues tensor_sample_values = {{"mode", {"f16x1", "bf16x1", "f16x3", "bf16x3"}},
                                                 {"row_warps", {"1", "2", "3", "4"}},
                                                 {"column_warps", {"1", "2", "4"}},
                                                 {"warp_rows", {"16", "32", "48", "64"}},
                                                 {"warp_columns", {"16", "32", "64", "128"}},
                                                 {"stages", {"2", "3", "4"}},
                                                 {"promotion_steps", {"0", "1", "2", "4"}},
                                                 {"low_first", {"false", "true"}},
                                                 {"kept_blocks", {"0", "1", "2", "3"}},
                                                 {"tiles_per_block", {"1", "2", "3", "8"}},
                                                 {"list_room", {"8", "64", "256"}},
                                                 {"n_split", {"1", "2", "4"}},
                                                 {"min_blocks", {"1", "2"}},
                                                 {"stream_output", {"false", "true"}}};

}  // namespace vostok::test
