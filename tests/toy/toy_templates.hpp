// The templates of the toy family, embedded in the test as the library's are in the library.
#pragma once

#include <vector>

#include "device/device.hpp"

namespace vostok::test {

const std::vector<device::Header>& toy_templates();

}  // namespace vostok::test
