// Whether a kernel streams its output past L2, which would not keep it for the next one.
#pragma once

#include <cstdint>

#include "ops/limits.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/spmm/problem.hpp"

namespace vostok::ops {

/// The longest output that L2 keeps: a quarter of it. `otherwise`: its bytes if no device tells.
inline std::int64_t kept_elements(const device::Device* device, Dtype output, std::int64_t otherwise) {
  const bool known = device != nullptr && device->info().l2_bytes > 0;
  return (known ? device->info().l2_bytes : otherwise) / 4 / size_of(output);
}

/// Of C, one product of a batch.
inline bool streams_output(const SpmmQuery& query, std::int64_t otherwise = usual_l2_bytes) {
  const Dtype output = query.problem.output.value_or(query.problem.element);
  return query.statistics.rows * query.n.most > kept_elements(query.device, output, otherwise);
}

/// Of the values of D, all of a batch.
inline bool streams_output(const SddmmQuery& query) {
  const Dtype output = query.problem.output.value_or(query.problem.element);
  return query.statistics.nonzeros > kept_elements(query.device, output, usual_l2_bytes) / query.problem.batch;
}

}  // namespace vostok::ops
