// The specialisation of a kernel is one type: `kernel<Fixed<Traits{...}, Config{...}>>`.
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
