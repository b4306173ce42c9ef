// A few neighbouring elements that one instruction loads or stores (two where they exceed 16 bytes).
#pragma once

namespace vostok {

template <class T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) Vector {
  T at[count];
};

}  // namespace vostok
