// The part of its owner's context that a worker process needs to load the same code on the same device.
#pragma once

#include <vostok/context.hpp>

namespace vostok::plan {

/// Omits options that are pointers or functions.
FieldMap to_fields(const Options& options, const DeviceInfo& device);
/// The inverse of to_fields, except that code's first run is in this process. Errors: invalid_argument.
Options options_from(const FieldMap& fields);

}  // namespace vostok::plan
