#include "plan/race_subject.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "tune/wide_operands.hpp"

namespace vostok::plan {

namespace {

constexpr int poison_byte = 0xff;

/// The least bytes that a call moves: it omits the structure, which each format stores in its own way.
std::int64_t least_moved_bytes(const tune::Case& operands) {
  std::int64_t bytes = 0;
  for (const tune::CaseOperand& operand : operands.operands()) bytes += operand.bytes;
  return bytes;
}

}  // namespace

RaceSubject::RaceSubject(Session& session, const Task& task, std::int64_t workspace_bytes)
    : session_(session), task_(task), case_(task.make_case()), workspace_(session.device(), workspace_bytes) {
  case_->set_workspace(workspace_.data());
  copies_.push_back({.topology = task.topology});
  if (task.query->policy == Policy::cold) add_copies();
}

void RaceSubject::add_copies() {
  constexpr std::int64_t most = 50;  // launches of one timed sequence
  constexpr std::int64_t on_the_emulator = 2;
  const DeviceInfo& device = session_.device().info();
  const std::int64_t enough =
      device.gpu ? tune::copies_past(tune::cold_bytes(device), least_moved_bytes(*case_)) : on_the_emulator;
  const sparse::Csr csr = task_.topology ? task_.topology.state()->host_copy() : sparse::Csr{};
  try {
    while (std::ssize(copies_) < std::min(enough, most)) add_copy(csr.view());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    copies_.erase(copies_.begin() + 1, copies_.end());
  }
  if (std::ssize(copies_) < enough) flush_ = tune::record_flush(session_.device());
}

void RaceSubject::add_copy(const CsrView& csr) {
  Copy copy;
  if (task_.topology)
    copy.topology = Topology(std::make_shared<TopologyState>(task_.topology.state()->session(), csr, nullptr));
  copy.operands.emplace(session_.device(), *case_);
  copies_.push_back(std::move(copy));
}

std::function<void(Stream)> RaceSubject::enqueue_on(Copy& copy, const ops::Family& family, const ops::Config& config,
                                                    const std::vector<std::shared_ptr<const ReadyKernel>>& kernels,
                                                    const PackedValues& packed) {
  const ops::Query& query = *task_.query;
  ops::TopologyPointers pointers;
  if (copy.topology) pointers = copy.topology.state()->pointers(family.needs(query, config));
  auto launches = std::make_shared<std::vector<ops::Launch>>(family.launches(query, config, pointers));
  for (std::size_t i = 0; i < kernels.size(); ++i) (*launches)[i].set_kernel(kernels[i]->kernel);
  const auto words = (case_->argument_bytes() + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
  const tune::OperandCopy* const moved = copy.operands ? &*copy.operands : nullptr;
  return [this, launches, packed, moved, call = std::vector<std::max_align_t>(words)](Stream stream) mutable {
    if (packed) case_->set_packed(packed);
    std::memcpy(call.data(), case_->launch_arguments(), case_->argument_bytes());
    if (moved != nullptr) moved->redirect(reinterpret_cast<std::byte*>(call.data()));
    for (const ops::Launch& launch : *launches) launch.enqueue(session_.device(), stream, call.data());
  };
}

tune::Compiled RaceSubject::compile(const tune::Candidate& candidate) {
  const ops::Query& query = *task_.query;
  const ops::Family& family = *ops::find_family(query.operation, candidate.family);
  const std::vector<ops::Launch> launches = family.launches(query, candidate.config, {});
  const auto kernels = ready_kernels(session_.kernels(), launches);
  tune::Compiled compiled{.code_digest = code_digest_of(kernels),
                          .screened = candidate.must_run() ? std::string() : screen(kernels, launches)};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    compiled.registers = std::max(compiled.registers, kernels[i]->registers);
    compiled.spill_bytes += kernels[i]->spill_bytes;
    compiled.shared_bytes = std::max(compiled.shared_bytes, launches[i].shared_bytes());
  }
  if (!compiled.screened.empty()) return compiled;
  std::vector<std::function<void(Stream)>> calls;
  calls.reserve(copies_.size());
  const std::string format = family.packed_format(query, candidate.config);
  for (Copy& copy : copies_)
    calls.push_back(enqueue_on(copy, family, candidate.config, kernels,
                               task_.packing ? packed_values(*task_.packing, copy, format) : PackedValues()));
  compiled.enqueue = calls.front();
  compiled.renewed = [this, &family, kernels, format, config = candidate.config] {
    Copy& first = copies_.front();
    return enqueue_on(first, family, config, kernels,
                      task_.packing ? task_.packing->pack(first.topology, format, case_->values()) : PackedValues());
  };
  if (flush_ || copies_.size() > 1) compiled.timed = tune::in_turn(std::move(calls));
  return compiled;
}

PackedValues RaceSubject::packed_values(const TaskPacking& packing, Copy& copy, const std::string& format) {
  const std::lock_guard lock(mutex_);
  PackedValues& packed = copy.packed[format];
  if (!packed) packed = packing.pack(copy.topology, format, case_->values());
  return packed;
}

std::string RaceSubject::screen(const std::vector<std::shared_ptr<const ReadyKernel>>& kernels,
                                const std::vector<ops::Launch>& launches) const {
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const ReadyKernel& kernel = *kernels[i];
    if (kernel.spill_bytes > 0) return fmt::format("spills {} bytes of registers", kernel.spill_bytes);
    if (!kernel.warnings.empty()) return kernel.warnings.front();
    if (session_.device().occupancy(*kernel.kernel, launches[i].threads(), launches[i].shared_bytes()) < 1)
      return "does not fit on a multiprocessor";
  }
  return {};
}

std::optional<std::string> RaceSubject::verify(const tune::Compiled& compiled) {
  const device::Device& device = session_.device();
  const Stream stream = device.own_stream();
  // Poison shows whether a candidate reads workspace that it has not written.
  if (workspace_) device.fill(stream, workspace_.data(), poison_byte, workspace_.bytes());
  const tune::Check check = case_->verify(compiled.enqueue);
  if (!check.wrong.empty()) return check.wrong;
  return verify_wide(compiled);
}

bool RaceSubject::with_wide_operands(const std::function<void()>& use) {
  const std::lock_guard lock(mutex_);  // meanwhile nobody packs these values
  if (!case_->widen(true)) return false;
  try {
    use();
  } catch (...) {
    case_->widen(false);
    throw;
  }
  case_->widen(false);
  return true;
}

std::optional<std::string> RaceSubject::verify_wide(const tune::Compiled& compiled) {
  tune::Check check;
  with_wide_operands([&] { check = case_->verify(compiled.renewed()); });
  if (check.wrong.empty() || (check.imprecise && check.error <= tune::wide_tolerance)) return std::nullopt;
  return "with operands of many decades " + check.wrong;
}

}  // namespace vostok::plan
