// Problems that the compile sweep plans, for each operation: together they differ in everything that kernels take from
// a problem. Without a device: limits of every GPU since sm_75.
#pragma once

#include <memory>
#include <vector>

#include "ops/family.hpp"

namespace vostok::test {

using SweepQueries = std::vector<std::shared_ptr<const ops::Query>>;

/// The mask of most problems of attention.
inline constexpr TopologyStatistics attention_mask = {.rows = 4096,
                                                      .cols = 4096,
                                                      .nonzeros = std::int64_t{4096} * 400,
                                                      .longest_row = 900,
                                                      .mean_row = 400,
                                                      .row_variation = 0.4};

// One function an operation, in a file of its own (spmm_queries.cpp), and a line in sweep_test.cpp's table.
SweepQueries spmm_queries();
SweepQueries sddmm_queries();
SweepQueries softmax_queries();
SweepQueries softmax_backward_queries();
SweepQueries attention_queries();
SweepQueries attention_backward_queries();
SweepQueries depthwise_queries();
SweepQueries bias_activation_queries();
SweepQueries im2col_queries();

}  // namespace vostok::test
