// What a context did so far, counted from any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include <vostok/context.hpp>

namespace vostok::plan {

struct AtomicCounters {
  std::atomic<std::int64_t> kernels_compiled = 0;
  std::atomic<std::int64_t> compile_us = 0;
  std::atomic<std::int64_t> code_hits = 0;
  std::atomic<std::int64_t> tuning_hits = 0;
  std::atomic<std::int64_t> tuning_misses = 0;
  std::atomic<std::int64_t> invalid_rows = 0;
  std::atomic<std::int64_t> cache_warnings = 0;
  std::atomic<std::int64_t> memo_hits = 0;
  std::atomic<std::int64_t> trials_measured = 0;

  Counters read() const {
    return {.kernels_compiled = kernels_compiled,
            .compile_us = compile_us,
            .code_hits = code_hits,
            .tuning_hits = tuning_hits,
            .tuning_misses = tuning_misses,
            .invalid_rows = invalid_rows,
            .cache_warnings = cache_warnings,
            .memo_hits = memo_hits,
            .trials_measured = trials_measured};
  }
};

}  // namespace vostok::plan
