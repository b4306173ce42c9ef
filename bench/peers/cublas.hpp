#pragma once

#include <memory>
#include <vector>

#include "bench/peers/cublas_api.hpp"
#include "bench/peers/peer.hpp"

namespace vostok::bench {

/// cuBLAS SGEMM in strict fp32 ("pedantic") on the same matrix stored dense. Errors: no_device, device_failure.
std::shared_ptr<Peer> open_cublas(device::Device& device);
/// With a table of functions that is loaded already.
std::shared_ptr<Peer> make_cublas(device::Device& device, const cublas::Api& api);

/// The matrix with its zeros, row-major; entries of one place add up. `values` in CSR order.
std::vector<float> to_dense(const sparse::Csr& matrix, const std::vector<float>& values);

}  // namespace vostok::bench
