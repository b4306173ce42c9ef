// The candidates of a query: what rules and limits admit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/family.hpp"
#include "tune/tuner.hpp"

namespace vostok::plan {

/// Why no config of a family is a candidate: the query asks for another family, or the family declines it. Nothing where it may serve.
std::optional<std::string> declined(const ops::Family& family, const ops::Query& query);

/// Why a config of a family that may serve is no candidate: the family's rules, another format than the query asks for, or more workspace than the
/// options allow. Nothing where it is one.
std::optional<std::string> forbidden(const ops::Family& family, const ops::Query& query, const FieldMap& config, std::int64_t max_workspace_bytes);

/// What effort quick races: the families' short lists, each with its default, as far as the rules admit them; cheapest prediction first.
std::vector<tune::Candidate> short_list(const ops::Query& query, std::int64_t max_workspace_bytes);

/// Every config that the rules admit: the short list, then the others of all families, cheapest prediction first.
std::vector<tune::Candidate> all_candidates(const ops::Query& query, std::int64_t max_workspace_bytes);

/// What an effort of at least quick races.
std::vector<tune::Candidate> candidates_of(const ops::Query& query, Effort effort, std::int64_t max_workspace_bytes);

/// What the cost model prefers.
struct Predicted {
  const ops::Family* family = nullptr;
  FieldMap config = {};
  double us = 0;  ///< as predicted
};

/// Of every family's default (or the first of its short list, where the rules forbid that) the one with the cheapest prediction. Nothing where no
/// family serves the query; `reasons` says why each that does not cannot.
std::optional<Predicted> cheapest(const ops::Query& query, std::int64_t max_workspace_bytes, std::string& reasons);

}  // namespace vostok::plan
