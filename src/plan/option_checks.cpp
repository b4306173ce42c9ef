#include "plan/option_checks.hpp"

#include "base/text.hpp"

namespace vostok::plan {

namespace {

/// `last`: the enumeration's last enumerator.
template <class Enum>
void require_enumerator(const char* verb, const char* field, Enum value, Enum last) {
  if (static_cast<int>(value) < 0 || value > last)
    fail(ErrorCode::invalid_argument, "cannot {}: {} = {} is no enumerator", verb, field, static_cast<int>(value));
}

void require_not_negative(const char* verb, const char* field, std::int64_t value) {
  if (value < 0) fail(ErrorCode::invalid_argument, "cannot {}: {} = {} is negative", verb, field, value);
}

}  // namespace

void validate(const Options& options) {
  constexpr const char* verb = "open context";
  require_not_negative(verb, "Options::max_workspace_bytes", options.max_workspace_bytes);
  require_not_negative(verb, "Options::compile_threads", options.compile_threads);
  require_not_negative(verb, "CacheOptions::max_code_bytes", options.cache.max_code_bytes);
  require_not_negative(verb, "CacheOptions::lock_timeout_ms", options.cache.lock_timeout_ms);
  require_enumerator(verb, "Options::compile", options.compile, CompilePolicy::never);
  require_enumerator(verb, "WorkerOptions::first_run", options.worker.first_run, FirstRun::this_process);
  // Without any time every candidate would count as hung.
  if (!(options.worker.timeout_seconds > 0))
    fail(ErrorCode::invalid_argument, "cannot {}: WorkerOptions::timeout_seconds = {} is no time", verb,
         options.worker.timeout_seconds);
}

void validate(const PlanOptions& options) {
  constexpr const char* verb = "plan";
  require_enumerator(verb, "PlanOptions::effort", options.effort, Effort::full);
  require_enumerator(verb, "PlanOptions::policy", options.policy, Policy::cold);
  if (!(options.budget_seconds >= 0))
    fail(ErrorCode::invalid_argument, "cannot {}: PlanOptions::budget_seconds = {} is no time", verb,
         options.budget_seconds);
}

void validate(const LoadOptions& options, const std::string& what) {
  require_enumerator(what.c_str(), "LoadOptions::keep", options.keep, Keep::execution);
}

}  // namespace vostok::plan
