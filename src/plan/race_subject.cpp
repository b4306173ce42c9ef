#include "plan/race_subject.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace vostok::plan {

namespace {

std::int64_t largest_workspace(const ops::Query& query, const std::vector<tune::Candidate>& candidates) {
  std::int64_t bytes = 0;
  for (const tune::Candidate& candidate : candidates)
    bytes = std::max(bytes, ops::find_family(query.operation, candidate.family)->workspace_bytes(query, candidate.config));
  return bytes;
}

}  // namespace

RaceSubject::RaceSubject(Session& session, const Task& task, const std::vector<tune::Candidate>& candidates)
    : session_(session), task_(task), case_(task.make_case()), workspace_(session.device(), largest_workspace(*task.query, candidates)) {
  case_->set_workspace(workspace_.data());
}

tune::Compiled RaceSubject::compile(const tune::Candidate& candidate) {
  const ops::Query& query = *task_.query;
  const ops::Family& family = *ops::find_family(query.operation, candidate.family);
  ops::TopologyPointers pointers;
  if (task_.topology) pointers = task_.topology.state()->pointers(family.needs(query, candidate.config));
  auto launches = std::make_shared<std::vector<ops::Launch>>(family.launches(query, candidate.config, pointers));
  const auto kernels = ready_kernels(session_.kernels(), *launches);
  tune::Compiled compiled{.code_digest = code_digest_of(kernels), .screened = candidate.is_default ? std::string() : screen(kernels, *launches)};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    (*launches)[i].set_kernel(kernels[i]->kernel);
    compiled.registers = std::max(compiled.registers, kernels[i]->registers);
    compiled.spill_bytes += kernels[i]->spill_bytes;
    compiled.shared_bytes = std::max(compiled.shared_bytes, (*launches)[i].shared_bytes());
  }
  const PackedValues packed = task_.packing ? packed_values(family.packed_format(query, candidate.config)) : PackedValues();
  compiled.enqueue = [this, launches, packed](Stream stream) {
    if (packed) case_->set_packed(packed);
    const void* const arguments = case_->launch_arguments();
    for (const ops::Launch& launch : *launches) launch.enqueue(session_.device(), stream, arguments);
  };
  return compiled;
}

PackedValues RaceSubject::packed_values(const std::string& format) {
  const std::lock_guard lock(mutex_);
  PackedValues& packed = packed_[format];
  if (!packed) packed = task_.packing->pack(format, case_->values());
  return packed;
}

std::string RaceSubject::screen(const std::vector<std::shared_ptr<const ReadyKernel>>& kernels, const std::vector<ops::Launch>& launches) const {
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const ReadyKernel& kernel = *kernels[i];
    if (kernel.spill_bytes > 0) return fmt::format("spills {} bytes of registers", kernel.spill_bytes);
    if (!kernel.warnings.empty()) return kernel.warnings.front();
    if (session_.device().occupancy(*kernel.kernel, launches[i].threads(), launches[i].shared_bytes()) < 1) return "does not fit on a multiprocessor";
  }
  return {};
}

std::optional<std::string> RaceSubject::verify(const tune::Compiled& compiled) {
  const tune::Check check = case_->verify(compiled.enqueue);
  if (check.wrong.empty()) return std::nullopt;
  return check.wrong;
}

}  // namespace vostok::plan
