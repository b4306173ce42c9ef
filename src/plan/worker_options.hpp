// What a worker process must know of its owner's context to load the same code on the same device.
#pragma once

#include <vostok/context.hpp>

namespace vostok::plan {

/// Options that are pointers or functions stay behind.
FieldMap to_fields(const Options& options, const DeviceInfo& device);
/// What to_fields says; the first code runs in that process. Errors: invalid_argument.
Options options_from(const FieldMap& fields);

}  // namespace vostok::plan
