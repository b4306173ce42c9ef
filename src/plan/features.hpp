// What keys are made of, from a query.
#pragma once

#include <string>

#include "ops/family.hpp"
#include "plan/stores.hpp"

namespace vostok::plan {

Features features_of(const ops::Query& query);
ProblemKey problem_key(const ops::Query& query);

/// The bucket of a mask's features: masks of one shape in one bucket may share a decision without a look-up. The steps
/// of density and skew are too small to change the tuner's ranking.
std::string feature_bucket(const TopologyStatistics& statistics);

/// "spmm m 64 k 32 n 8 nonzeros 1024 (element=f32 ...)", for messages.
std::string key_words(const ProblemKey& key);
std::string query_words(const ops::Query& query);
/// The fields that Query::plain leaves out (epilogue, scale) in words: "epilogue.bias=per_row".
std::string words_beside(const ops::Query& query);

/// The memo's key: exact problem, exact features, the range of n.
std::string memo_key(const ops::Query& query, Effort effort);

}  // namespace vostok::plan
