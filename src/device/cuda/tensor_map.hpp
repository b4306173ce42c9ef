// Tensor maps (abi/tensor_map.h) by the driver, which alone knows their bytes.
#pragma once

#include <abi/tensor_map.h>

#include "device/cuda/driver_library.hpp"

namespace vostok::device::cuda {

/// Makes the map that `map.boxes` asks for, in its place. A context is current. Errors: internal where the driver is older than CUDA 12.0,
/// device_failure naming what was asked for.
void encode_tensor_map(const Driver& driver, TensorMap& map);

}  // namespace vostok::device::cuda
