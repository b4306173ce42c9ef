// What a Context handle points at.
#pragma once

#include <memory>
#include <vector>

#include <vostok/context.hpp>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cache/cache.hpp"
#include "plan/capture.hpp"
#include "plan/counters.hpp"
#include "plan/session.hpp"

namespace vostok {

namespace plan {
class Planner;
}

class ContextState {
 public:
  explicit ContextState(const Options& options);

  std::shared_ptr<Logger> logger;
  std::shared_ptr<plan::AtomicCounters> counters;
  std::vector<cache::LayerState> layers;
  std::shared_ptr<cache::Exchange> exchange;
  std::shared_ptr<plan::Session> session;
  std::shared_ptr<plan::Planner> planner;
  std::unique_ptr<plan::Capture> capture = {};  ///< null: nothing is captured
};

/// The state behind a handle; invalid_argument where it was moved from, saying what cannot be done: "make", "topology".
inline const ContextState& state_of(const Context& context, const char* verb, const char* object) {
  if (!context.state())
    fail(ErrorCode::invalid_argument, "cannot {} {}: the context handle is empty, it was moved from", verb, object);
  return *context.state();
}

}  // namespace vostok
