// row_softmax on the host, forward and backward: family in row_softmax.cpp, rules, space and cost model in
// row_softmax_space.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/row_softmax.h>

#include "ops/family.hpp"
#include "ops/softmax/subject.hpp"

namespace vostok::ops {

struct RowSoftmaxDecisions {
  static std::optional<std::string> forbidden(const SoftmaxSubject& subject, const RowSoftmaxConfig& config);
  static RowSoftmaxConfig default_config(const SoftmaxSubject& subject);
  static std::vector<RowSoftmaxConfig> space(const SoftmaxSubject& subject);
  static std::vector<RowSoftmaxConfig> short_list(const SoftmaxSubject& subject);
  static double predict_us(const SoftmaxSubject& subject, const RowSoftmaxConfig& config);
};

}  // namespace vostok::ops
