// Calls of cuSPARSE that throw, and descriptors that clean up after themselves.
#pragma once

#include <memory>

#include "bench/peers/cusparse_api.hpp"
#include "bench/peers/peer.hpp"

namespace vostok::bench::cusparse {

/// Errors: device_failure naming the function, unless `status` is success.
void check(const Api& api, const char* function, Status status);

// What products are scaled by, and what becomes of the output that was there: passed by address.
inline constexpr float one = 1.0F;
inline constexpr float zero = 0.0F;

/// Calls a function and throws unless it succeeds.
template <class... Parameters, class... Arguments>
void require(const Api& api, const PeerFunction<Status, Parameters...>& function, Arguments... arguments) {
  check(api, function.name, function(arguments...));
}

DataType data_type(Dtype element);

/// Destroys what it describes; the table of functions must outlive it.
using Descriptor = std::shared_ptr<void>;
Descriptor describe_sparse(const Api& api, const PeerMatrix& matrix, const void* values, Dtype element);
/// Row-major and packed.
Descriptor describe_dense(const Api& api, std::int64_t rows, std::int64_t cols, const void* values, Dtype element);

/// Scratch memory of `bytes`, one byte at least: functions refuse a null pointer.
device::Buffer make_scratch(device::Device& device, std::size_t bytes);

}  // namespace vostok::bench::cusparse
