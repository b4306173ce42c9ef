#pragma once

#include "bench/peers/cusparse_call.hpp"

namespace vostok::bench::cusparse {

/// The one algorithm there is, with its preprocessing done. cuSPARSE has no bf16 here: the run fails and says so.
std::vector<PeerRun> prepare_sddmm(device::Device& device, const Api& api, Handle handle,
                                   const SddmmOperands& operands);

}  // namespace vostok::bench::cusparse
