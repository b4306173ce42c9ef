// split_softmax on the host, forward and backward: family in split_softmax.cpp, rules, space and cost model in
// split_softmax_space.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <abi/split_softmax.h>

#include "ops/family.hpp"
#include "ops/softmax/subject.hpp"

namespace vostok::ops {

struct SplitSoftmaxDecisions {
  static std::optional<std::string> forbidden(const SoftmaxSubject& subject, const SplitSoftmaxConfig& config);
  static SplitSoftmaxConfig default_config(const SoftmaxSubject& subject);
  static std::vector<SplitSoftmaxConfig> space(const SoftmaxSubject& subject);
  static std::vector<SplitSoftmaxConfig> short_list(const SoftmaxSubject& subject);
  static double predict_us(const SoftmaxSubject& subject, const SplitSoftmaxConfig& config);
};

}  // namespace vostok::ops
