#pragma once

#include <memory>

#include "bench/peers/cublas_api.hpp"
#include "bench/peers/peer.hpp"

namespace vostok::bench {

/// cuBLAS's dense product of the same sizes, the sparse matrix stored with its zeros: for f32 in strict fp32
/// ("cublas_sgemm"), on TF32 tensor cores ("cublas_tf32") and as three f16 products ("cublas_f16x3"), for 16-bit types
/// with fp32 sums ("cublas_f16", "cublas_bf16"). Errors: no_device, device_failure.
std::shared_ptr<Peer> open_cublas(device::Device& device);
/// With a table of functions that is loaded already.
std::shared_ptr<Peer> make_cublas(device::Device& device, const cublas::Api& api);

}  // namespace vostok::bench
