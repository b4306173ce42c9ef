// Opening the layers, with what tests answer in the system's place.
#pragma once

#include <functional>
#include <memory>

#include "base/path_probe.hpp"
#include "cache/cache.hpp"

namespace vostok::cache {

/// As `open`, asking `probe` about paths.
Opened open_with(const CacheOptions& options, const std::shared_ptr<Logger>& logger, std::function<void()> count_warning,
                 const std::shared_ptr<const PathProbe>& probe);

}  // namespace vostok::cache
