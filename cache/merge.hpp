// Merges the findings of many machines into one file: pure and commutative, so that the order of files does not matter.
#pragma once

#include "cache/tuning_content.hpp"

namespace vostok::cache {

/// Every row of either. If both have a row of one name, the better one stays:
///   trials   (one candidate, one machine code): a failure - wrong, faulted, hung - outweighs a success; then
/// more rounds, smaller median
///   winners  newer library, more rounds, smaller median
///   errata   the later one
/// and the digest of the row breaks remaining ties.
TuningContent merged(const TuningContent& a, const TuningContent& b);

/// Puts the kernels of two code.db into an empty third, ordered by key. For one key the newer compiler's kernel stays,
/// then the digest decides; the later last use is kept. Damaged rows are omitted. Errors: io_failure.
void merge_code(Connection& a, Connection& b, Connection& out);

}  // namespace vostok::cache
