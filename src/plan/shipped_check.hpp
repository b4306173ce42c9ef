// Options::check_shipped: a choice tuned on another model of GPU races the default before its first use.
#pragma once

#include "plan/planner.hpp"

namespace vostok::plan {

/// Races the stored choice against the default, for at most two milliseconds of device time. Returns the faster (the
/// stored one on a tie) and keeps it as this device's choice for later plans, with effort cached, so that quick and
/// full still measure everything. If time or memory does not allow a verdict, returns the stored choice as it is. If
/// its code failed elsewhere, returns the default without a race.
Decision checked(Session& session, const Task& task, Decision stored, Decision standard);

}  // namespace vostok::plan
