// Gradients by central differences of float64 losses, and how far others are from them.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace vostok::test {

/// ||a - b|| / ||b||
template <class Real>
double distance(const std::vector<Real>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

/// d loss / d parameter for each parameter, by central differences of float64 losses.
inline std::vector<double> finite_differences(std::vector<float>& parameters, const std::function<double()>& loss) {
  constexpr float step =
      1.0F / 1024;  // exact in f32, so that the difference of two parameters is exactly twice the step
  std::vector<double> gradient;
  for (float& parameter : parameters) {
    const float kept = parameter;
    parameter = kept + step;
    const double up_at = static_cast<double>(parameter);
    const double up = loss();
    parameter = kept - step;
    const double down_at = static_cast<double>(parameter);
    const double down = loss();
    parameter = kept;
    gradient.push_back((up - down) / (up_at - down_at));
  }
  return gradient;
}

}  // namespace vostok::test
