// Every kernel family, by operation: who makes it.
#pragma once

#include <memory>

#include "ops/family.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_row_tile();
std::unique_ptr<Family> make_nonzero_split();
std::unique_ptr<Family> make_staged_rows();
std::unique_ptr<Family> make_unpack_mma();
std::unique_ptr<Family> make_unpack_wgmma();
std::unique_ptr<Family> make_sparse_vector();
std::unique_ptr<Family> make_sparse_tensor_mma();
std::unique_ptr<Family> make_sparse_tensor_wgmma();

std::unique_ptr<Family> make_row_strips();
std::unique_ptr<Family> make_tensor_sample();
std::unique_ptr<Family> make_wgmma_sample();

std::unique_ptr<Family> make_row_softmax();
std::unique_ptr<Family> make_split_softmax();
std::unique_ptr<Family> make_row_softmax_backward();
std::unique_ptr<Family> make_split_softmax_backward();

std::unique_ptr<Family> make_fused_mma();
std::unique_ptr<Family> make_fused_wgmma();
std::unique_ptr<Family> make_fused_backward();
std::unique_ptr<Family> make_fused_backward_wgmma();
std::unique_ptr<Family> make_fused_backward_pair();

std::unique_ptr<Family> make_depthwise_direct();
std::unique_ptr<Family> make_bias_activation();
std::unique_ptr<Family> make_im2col_gather();

}  // namespace vostok::ops
