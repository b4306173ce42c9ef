// row_softmax on the host, forward and backward: declared here family and decisions, defined in row_softmax.cpp (family),
// row_softmax_space.cpp (rules, space, cost model).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <abi/row_softmax.h>

#include "ops/family.hpp"
#include "ops/softmax/subject.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_row_softmax();
std::unique_ptr<Family> make_row_softmax_backward();

namespace row_softmax {

/// Why the kernel cannot run this config here, or why it cannot be fast; nothing where it can.
std::optional<std::string> forbidden(const SoftmaxSubject& subject, const RowSoftmaxConfig& config);

/// Most rows fit into the registers of the threads that share them.
RowSoftmaxConfig default_config(const SoftmaxSubject& subject);

/// The whole space, default first, without repeats.
std::vector<RowSoftmaxConfig> space(const SoftmaxSubject& subject);

/// More and fewer threads a row than the default's, default first.
std::vector<RowSoftmaxConfig> short_list(const SoftmaxSubject& subject);

/// Predicted microseconds, for ranking.
double predict_us(const SoftmaxSubject& subject, const RowSoftmaxConfig& config);

}  // namespace row_softmax
}  // namespace vostok::ops
