// The attention mask of the SC20 paper's Transformer, as its statistics tell cost models.
#pragma once

#include <vostok/topology.hpp>

namespace vostok::test {

/// Causal, a band of 256, and 5 % of what is beyond it.
inline const TopologyStatistics sparse_transformer{.rows = 12'288,
                                                   .cols = 12'288,
                                                   .nonzeros = 6'700'000,
                                                   .longest_row = 900,
                                                   .mean_row = 545,
                                                   .row_variation = 0.4,
                                                   .run_share = 0.41,
                                                   .span_share = 0.5};

}  // namespace vostok::test
