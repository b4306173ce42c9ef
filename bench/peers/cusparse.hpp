#pragma once

#include <memory>

#include "bench/peers/cusparse_api.hpp"
#include "bench/peers/peer.hpp"

namespace vostok::bench {

/// cuSPARSE's generic SpMM and SDDMM, preprocessed; sums in fp32. Errors: no_device, device_failure.
std::shared_ptr<Peer> open_cusparse(device::Device& device);
/// With a table of functions that is loaded already.
std::shared_ptr<Peer> make_cusparse(device::Device& device, const cusparse::Api& api);

}  // namespace vostok::bench
