// Robust statistics of a handful of timings.
#pragma once

#include <vector>

namespace vostok::tune {

struct Summary {
  double median_us = 0;
  double spread_us = 0;  ///< half the distance between the 10th and the 90th percentile
};

/// `samples` must not be empty.
Summary summarise(std::vector<double> samples);

/// Launches in one timed sequence so that it lasts about a millisecond: 2 to 50.
int launches_for(double single_us);

}  // namespace vostok::tune
