// The cost models' choice for a problem that is known only by its key, to compare it with measurements.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ops/family.hpp"
#include "plan/stores.hpp"

namespace vostok::plan {

/// The query that a key was made of, as far as the key tells. Rows are assumed sorted, without duplicates, and not
/// empty. Nothing if the key names an operation, a field or a value that this version does not know.
std::shared_ptr<ops::Query> query_of(const ProblemKey& key, const device::Device& device);

/// Family and config of Effort::heuristic; nothing where there is no query, or no family serves it.
std::optional<std::pair<std::string, FieldMap>> predicted_choice(const ProblemKey& key, const device::Device& device);

}  // namespace vostok::plan
