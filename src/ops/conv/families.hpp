// The convolution side's families: one for each of its operations.
#pragma once

#include <memory>

#include "ops/family.hpp"

namespace vostok::ops {

std::unique_ptr<Family> make_depthwise_direct();
std::unique_ptr<Family> make_bias_activation();
std::unique_ptr<Family> make_im2col_gather();

}  // namespace vostok::ops
