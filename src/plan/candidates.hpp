// The candidates of a query: what rules and limits admit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/family.hpp"
#include "tune/tuner.hpp"

namespace vostok::plan {

/// Why a family cannot serve the query at all: the query names another family, or the family declines it. Nothing if it
/// can.
std::optional<std::string> declined(const ops::Family& family, const ops::Query& query);

/// Why a config is no candidate, of a family that may serve: its rules forbid it, it reads another format than the
/// query wants, or it needs more workspace than the options allow. Nothing if it is a candidate.
std::optional<std::string> forbidden(const ops::Family& family, const ops::Query& query, const ops::Config& config,
                                     std::int64_t max_workspace_bytes);

/// What effort quick races: each family's short list and default, if the rules admit them; cheapest prediction first.
std::vector<tune::Candidate> short_list(const ops::Query& query, std::int64_t max_workspace_bytes);

/// Every config that the rules admit: the short list first, then all others; each group cheapest prediction first.
std::vector<tune::Candidate> all_candidates(const ops::Query& query, std::int64_t max_workspace_bytes);

/// What an effort of at least quick races.
std::vector<tune::Candidate> candidates_of(const ops::Query& query, Effort effort, std::int64_t max_workspace_bytes);

/// The cost models' choice.
struct Predicted {
  const ops::Family* family = nullptr;
  ops::Config config = {};
  double us = 0;  ///< as predicted
};

/// The cheapest prediction among the families' defaults; the rules may forbid a default, and then the first of the
/// family's short list counts. Nothing if no family serves the query; `reasons` then says why not, for each family.
std::optional<Predicted> cheapest(const ops::Query& query, std::int64_t max_workspace_bytes, std::string& reasons);

}  // namespace vostok::plan
