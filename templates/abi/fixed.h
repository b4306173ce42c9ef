// The specialisation of a kernel is one type: `kernel<Fixed<Traits{...}, Config{...}>>`.
//
// Constants outside classes are consteval functions: NVRTC makes a device variable of every constexpr variable of a
// program, used or not, and the driver takes 5 us for each when it loads the kernel
// (bench/notes/planning.md#constants-that-are-loaded).
#pragma once

namespace vostok {

/// `Traits` come from the problem, `Config` holds the tunables. Both are structural aggregates with
/// default member initialisers, so that a misspelt field is a compile error.
template <auto Traits, auto Config>
struct Fixed {
  static constexpr auto traits = Traits;
  static constexpr auto config = Config;
};

}  // namespace vostok
