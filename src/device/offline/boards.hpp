// GPUs that need not be here: what planning asks of one. Sizes of the H200 are what its driver reports; the others' are the published ones,
// near enough to predict with and to find choices tuned on that model (plan/nearest.hpp allows memory sizes 10 % apart).
#pragma once

#include <string>
#include <vector>

#include "device/device.hpp"

namespace vostok::device::offline {

struct Description {
  DeviceInfo info = {};
  int max_shared_bytes = 0;  ///< per block, opt-in limit
  int shared_bytes_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  int threads_per_multiprocessor = 0;
};

/// The names that `describe` knows.
std::vector<std::string> board_names();

/// A GPU by its driver's name ("NVIDIA H200"), by its architecture ("sm_90": the usual board of it, or of the nearest older one), or by its
/// fields as a tuning.db keeps them ("architecture=sm_90 multiprocessors=78 name=..."; base/field_map.hpp), of which architecture is needed
/// and the rest is that architecture's usual board's where it is not given. Errors: invalid_argument naming what is known.
Description describe(const std::string& what);

}  // namespace vostok::device::offline
