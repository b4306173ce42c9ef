#pragma once

#include "bench/peers/cusparse_call.hpp"

namespace vostok::bench::cusparse {

/// CSR_ALG1, 2 and 3, each with its preprocessing done.
std::vector<PeerRun> prepare_spmm(device::Device& device, const Api& api, Handle handle, const SpmmOperands& operands);

}  // namespace vostok::bench::cusparse
