#include "plan/spmm_subject.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text.hpp"

namespace vostok::plan {

SpmmSubject::SpmmSubject(Session& session, Kernels& kernels, const ops::SpmmQuery& query, TopologyState& topology, std::uint64_t seed)
    : session_(session), kernels_(kernels), query_(query), topology_(topology), case_(session.device(), query.problem, topology.host_copy(), seed) {}

tune::Compiled SpmmSubject::compile(const tune::Candidate& candidate) {
  const ops::SpmmFamily* family = ops::find_spmm_family(candidate.family);
  auto launch = std::make_shared<ops::SpmmLaunch>(family->launch(query_, candidate.config));
  const auto ready = kernels_.get(family->kernel(query_, candidate.config), launch->shape.shared_bytes);
  launch->kernel = ready->kernel;
  launch->topology = topology_.pointers(family->needs_row_order(candidate.config));
  return {.code_digest = ready->code_digest,
          .registers = ready->registers,
          .spill_bytes = ready->spill_bytes,
          .shared_bytes = launch->shape.shared_bytes,
          .screened = candidate.is_default ? std::string() : screen(*ready, *launch),
          .enqueue = [this, launch](Stream stream) {
            alignas(16) std::array<unsigned char, ops::max_argument_bytes> packed;
            device::LaunchShape shape = launch->shape;
            shape.grid = launch->bind(*launch, case_.arguments(), query_.n.most, packed.data());
            session_.device().launch(stream, *launch->kernel, shape, packed.data(), launch->argument_bytes);
          }};
}

std::string SpmmSubject::screen(const ReadyKernel& kernel, const ops::SpmmLaunch& launch) const {
  if (kernel.spill_bytes > 0) return fmt::format("spills {} bytes of registers", kernel.spill_bytes);
  if (!kernel.warnings.empty()) return kernel.warnings.front();
  const auto threads = static_cast<int>(launch.shape.block.x * launch.shape.block.y * launch.shape.block.z);
  if (session_.device().occupancy(*kernel.kernel, threads, launch.shape.shared_bytes) < 1) return "does not fit on a multiprocessor";
  return {};
}

std::optional<std::string> SpmmSubject::verify(const tune::Compiled& compiled) {
  const tune::Check check = case_.verify(compiled.enqueue);
  if (check.wrong.empty()) return std::nullopt;
  return check.wrong;
}

std::vector<tune::Candidate> spmm_short_list(const ops::SpmmQuery& query) {
  std::vector<tune::Candidate> candidates;
  for (const auto& family : ops::spmm_families()) {
    if (family->declines(query)) continue;
    const FieldMap standard = family->default_config(query);
    for (FieldMap& config : family->short_list(query)) {
      if (family->forbidden(query, config)) continue;
      const bool is_default = config == standard;
      candidates.push_back({.family = std::string(family->name()), .config = std::move(config), .is_default = is_default});
    }
  }
  return candidates;
}

std::vector<tune::Candidate> spmm_candidates(const ops::SpmmQuery& query) {
  std::vector<tune::Candidate> candidates = spmm_short_list(query);
  std::set<std::pair<std::string, FieldMap>> listed;
  for (const tune::Candidate& candidate : candidates) listed.insert({candidate.family, candidate.config});
  std::vector<std::pair<double, tune::Candidate>> ranked;
  for (const auto& family : ops::spmm_families()) {
    if (family->declines(query)) continue;
    for (FieldMap& config : family->space(query)) {
      const std::string name(family->name());
      if (family->forbidden(query, config) || listed.contains({name, config})) continue;
      const double predicted_us = family->predict_us(query, config);
      ranked.push_back({predicted_us, {.family = name, .config = std::move(config)}});
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [predicted_us, candidate] : ranked) candidates.push_back(std::move(candidate));
  return candidates;
}

}  // namespace vostok::plan
