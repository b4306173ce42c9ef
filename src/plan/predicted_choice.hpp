// What the cost model would choose for a problem that is known by its key alone: for judging it by what was measured.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ops/family.hpp"
#include "plan/stores.hpp"

namespace vostok::plan {

/// The query that such a key was made of, as far as the key tells: rows are
/// taken to be sorted, without duplicates and none of them empty. Nothing where
/// the key names an operation, a field or a value that this version does not know.
std::shared_ptr<ops::Query> query_of(const ProblemKey& key, const device::Device& device);

/// Family and config of Effort::heuristic; nothing where there is no query, or no family serves it.
std::optional<std::pair<std::string, FieldMap>> predicted_choice(const ProblemKey& key, const device::Device& device);

}  // namespace vostok::plan
