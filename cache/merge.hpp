// What a fleet found, as one file: pure and commutative, so that the order in which files arrive decides nothing.
#pragma once

#include "cache/tuning_content.hpp"

namespace vostok::cache {

/// Every row of either. Where both have a row of one name, the better one stays:
///   trials   (one candidate, one machine code): a failure - wrong, faulted, hung - stands against a success; then more rounds, smaller median
///   winners  newer library, more rounds, smaller median
///   errata   the one made later
/// and the digest of the row decides between rows that are equal in that.
TuningContent merged(const TuningContent& a, const TuningContent& b);

/// Puts the kernels of two code.db into an empty third, in the order of their keys. Of one key the newer compiler's stays, then the digest
/// decides; the later last use is kept. Damaged rows are left out. Errors: io_failure.
void merge_code(Connection& a, Connection& b, Connection& out);

}  // namespace vostok::cache
