// One plan of an SpMM with everything that it reads: values packed once or passed at every call, warm or rotating.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <vostok/context.hpp>

#include "bench/harness/json.hpp"
#include "bench/harness/matrices.hpp"
#include "tune/spmm_case.hpp"

namespace vostok::bench {

struct SpmmWay {
  std::vector<std::function<void(Stream)>> calls = {};  ///< one for each copy, to be called in turn
  Json packing = nullptr;
  Json weights = nullptr;
};

/// If `rotated_bytes` is not 0, copies of the structure, its derived forms and the values rotate: each call reads the
/// next copy. Errors: unsupported (too many copies), those of Plan::pack and Plan::rebind.
SpmmWay make_way(device::Device& device, const SpmmPlan& plan, Matrices& matrices,
                 const std::shared_ptr<tune::SpmmCase>& operands, std::int64_t rotated_bytes);

/// The time of packing with everything ready: microseconds of its launches, replayed, and of a whole Plan::pack on the
/// host.
Json time_packing(device::Device& device, const SpmmPlan& plan, const PackedValues& packed, const void* values);

}  // namespace vostok::bench
