// GPUs that need not be present, with the properties that planning needs. Sizes of the H200 are from its driver; the
// others are published values, close enough to predict with and to find choices tuned on that model (plan/nearest.hpp
// allows memory sizes 10 % apart).
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

/// The names known to `describe`.
std::vector<std::string> board_names();

/// A GPU by its driver's name ("NVIDIA H200"), by its architecture ("sm_90": its usual board, or that of the nearest
/// older one), or by its fields as a tuning.db keeps them ("architecture=sm_90 multiprocessors=78 name=...";
/// base/field_map.hpp). Of the fields only architecture is required; the others default to those of its usual board.
/// Errors: invalid_argument naming what is known.
Description describe(const std::string& what);

}  // namespace vostok::device::offline
