// From a mask's description for the kernels to a topology, and to the values at its nonzeros.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <vostok/tools.hpp>

#include "ops/topology/mask.hpp"
#include "plan/session.hpp"

namespace vostok::plan {

struct MaskJob {
  MaskTraits traits = {};
  MaskArgs args = {};  ///< what to keep; the output pointers are not set
  bool rules_span_rows = false;
  std::optional<std::int64_t> nonzeros = std::nullopt;  ///< if known beforehand: saves a read-back
};

/// Runs on the library's own stream and waits for it. Values only if the mask is made from a dense matrix.
SparseMatrix run_mask(const std::shared_ptr<Session>& session, const ops::Queue& queue, const MaskJob& job);

}  // namespace vostok::plan
