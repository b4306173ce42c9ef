// Options::check_shipped: a choice of another model of GPU is tried against the default before it is first used.
#pragma once

#include "plan/planner.hpp"

namespace vostok::plan {

/// Races the stored choice against the default, for two milliseconds of the device's time at most. Returns the faster, a tie being the stored one's,
/// and keeps it as this device's choice, to be found by every later plan; of effort cached, so that quick and full still measure everything. Where
/// the time or the memory does not allow a verdict, the stored choice as it is; where its code failed elsewhere, the default without running it.
Decision checked(Session& session, const Task& task, Decision stored, Decision standard);

}  // namespace vostok::plan
