// Encodes tensor maps (abi/tensor_map.h) by the driver, which alone knows their format.
#pragma once

#include <abi/tensor_map.h>

#include "device/cuda/driver_library.hpp"

namespace vostok::device::cuda {

/// Makes the map that `map.boxes` describes, in place. A context must be current. Errors: internal if the driver is
/// older than CUDA 12.0, device_failure naming the request.
void encode_tensor_map(const Driver& driver, TensorMap& map);

}  // namespace vostok::device::cuda
