// Opens the layers, with a probe that tests can replace.
#pragma once

#include <functional>
#include <memory>

#include "base/path_probe.hpp"
#include "cache/cache.hpp"

namespace vostok::cache {

/// As `open`, with `probe` for questions about paths.
Opened open_with(const CacheOptions& options, const std::shared_ptr<Logger>& logger,
                 std::function<void()> count_warning, const std::shared_ptr<const PathProbe>& probe);

}  // namespace vostok::cache
