// The query of a problem, once the problem's defaults are filled in.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "ops/family.hpp"
#include "ops/problem_fields.hpp"

namespace vostok::ops {

template <class XQuery, class Problem>
std::shared_ptr<XQuery> resolved_query(std::string_view operation, Problem resolved,
                                       const TopologyStatistics& statistics, const SizeRange& n,
                                       const device::Device* device) {
  auto query = std::make_shared<XQuery>();
  query->operation = operation;
  query->exact = exact_key(resolved);
  query->plain = plain_key(resolved);
  query->identity = identity_of(resolved);
  query->statistics = statistics;
  query->n = n;
  if (const IndexType* index = index_field(resolved)) query->index = *index;
  query->device = device;
  query->problem = std::move(resolved);
  return query;
}

}  // namespace vostok::ops
