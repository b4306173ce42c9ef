#include "plan/decision.hpp"

#include "base/digest.hpp"

namespace vostok::plan {

double expected_us(const ops::Query& query, const Decision& decision) {
  return decision.median_us ? *decision.median_us : decision.family->predict_us(query, decision.config);
}

Expected expected(const ops::Query& query, const Decision& decision) {
  const double us = expected_us(query, decision);
  return decision.median_us ? Expected{.measured_us = us} : Expected{.predicted_us = us};
}

bool is_tuned(Provenance provenance) {
  switch (provenance) {
    case Provenance::tuned_here:
    case Provenance::tuned_elsewhere:
    case Provenance::shipped: return true;
    case Provenance::nearest_problem:
    case Provenance::nearest_device:
    case Provenance::heuristic: return false;
  }
  return false;
}

std::string Decision::code_digest() const { return code_digest_of(kernels); }

std::vector<std::shared_ptr<const ReadyKernel>> ready_kernels(Kernels& kernels,
                                                              const std::vector<ops::Launch>& launches,
                                                              const std::function<void()>& compiling) {
  std::vector<std::shared_ptr<const ReadyKernel>> ready;
  ready.reserve(launches.size());
  for (const ops::Launch& launch : launches)
    ready.push_back(kernels.get(launch.request(), launch.shared_bytes(), compiling));
  return ready;
}

std::string code_digest_of(const std::vector<std::shared_ptr<const ReadyKernel>>& kernels) {
  if (kernels.size() == 1) return kernels.front()->code->hex();
  Digest digest;
  for (const auto& kernel : kernels) digest.add(kernel->code->hex());
  return digest.hex();
}

}  // namespace vostok::plan
