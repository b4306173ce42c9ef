#include "ops/product_bound.hpp"

#include "device/architecture.hpp"
#include "ops/machine.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/spmm/problem.hpp"

namespace vostok::ops {

namespace {

constexpr double index_bytes = 2;

double as_double(std::int64_t value) { return static_cast<double>(value); }

/// What cuBLAS reaches on an H200 for 8192 x 8192 x 4096 (bench/README.md).
double dense_flops_per_us(Dtype element, Math math) {
  constexpr double half = 800e6;
  if (element != Dtype::f32) return half;
  switch (math) {
    case Math::strict: return 49e6;
    case Math::tf32: return 430e6;
    case Math::accurate: return half / 3;  // three products for each
  }
  return half;
}

/// `bytes` of all operands; the dense product has m x k x n multiplications.
ProductBound bound_of(const Query& query, double bytes, double multiplications, Dtype element, Math math) {
  const Machine machine = machine_of(query);
  return {.memory_us = bytes / machine.memory_bytes_per_us,
          .dense_us = 2 * multiplications / dense_flops_per_us(element, math) / machine.speed()};
}

ProductBound bound_of(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  const TopologyStatistics& a = query.statistics;
  const double n = as_double(query.n.most), batch = as_double(problem.batch);
  const double element = size_of(problem.element), output = size_of(problem.output.value_or(problem.element));
  const double sets = problem.values_per_batch ? batch : 1;
  const double read_again = (problem.epilogue.residual ? 1 : 0) + (problem.epilogue.accumulate ? 1 : 0);
  const double bytes = as_double(a.nonzeros) * (element * sets + index_bytes) +
                       batch * n * as_double(a.cols) * element +
                       batch * n * as_double(a.rows) * output * (1 + read_again);
  return bound_of(query, bytes, as_double(a.rows) * as_double(a.cols) * n * batch, problem.element, problem.math);
}

ProductBound bound_of(const SddmmQuery& query) {
  const Sddmm& problem = query.problem;
  const TopologyStatistics& d = query.statistics;
  const double n = as_double(problem.n), batch = as_double(problem.batch);
  const double element = size_of(problem.element), output = size_of(problem.output.value_or(problem.element));
  const double bytes =
      as_double(d.nonzeros) * (output * batch + index_bytes) + batch * n * as_double(d.rows + d.cols) * element;
  return bound_of(query, bytes, as_double(d.rows) * as_double(d.cols) * n * batch, problem.element, problem.math);
}

}  // namespace

bool has_product_bounds(const device::Device& device) {
  const auto architecture = device::parse_architecture(device.info().architecture);
  return device.info().gpu && architecture && architecture->capability == 90;
}

std::optional<ProductBound> product_bound(const Query& query) {
  if (query.device == nullptr || !has_product_bounds(*query.device)) return std::nullopt;
  if (query.operation == "spmm") return bound_of(static_cast<const SpmmQuery&>(query));
  if (query.operation == "sddmm") return bound_of(static_cast<const SddmmQuery&>(query));
  return std::nullopt;
}

}  // namespace vostok::ops
