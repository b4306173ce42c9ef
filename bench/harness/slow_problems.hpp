// An alarm for problems that take far longer than memory or the dense product need.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/harness/json.hpp"
#include "ops/product_bound.hpp"

namespace vostok::bench {

class SlowProblems {
 public:
  /// Records a problem whose time exceeds the bound (ProductBound::exceeded_by).
  void note(const std::string& label, double ours_us, const ops::ProductBound& bound);

  Json to_json() const;                       ///< largest ratio to its bound first
  std::string text(std::size_t among) const;  ///< as to_json, out of `among` problems; empty if there is none

 private:
  struct Slow {
    std::string label;
    double ours_us;
    ops::ProductBound bound;
    double times() const { return ours_us / bound.us(); }
  };

  std::vector<Slow> sorted() const;

  std::vector<Slow> all_;
};

}  // namespace vostok::bench
