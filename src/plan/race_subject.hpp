// Candidates of any operation as the tuner sees them: compiled by the session's Kernels, run on a Case.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plan/planner.hpp"
#include "tune/case.hpp"
#include "tune/rotation.hpp"
#include "tune/tuner.hpp"

namespace vostok::plan {

class RaceSubject : public tune::Subject {
 public:
  /// Makes the operands, and a workspace that all candidates share. If the policy is cold, calls cycle through so many
  /// copies of the operands that the cache cannot hold them, one after another as a model's layers do. If that takes
  /// too many copies or too much memory, the cache is flushed. Errors: out_of_memory.
  RaceSubject(Session& session, const Task& task, std::int64_t workspace_bytes);
  tune::Compiled compile(const tune::Candidate& candidate) override;
  std::optional<std::string> verify(const tune::Compiled& compiled) override;
  /// Calls use() while the operands have scales over many decades (tune/wide_operands.hpp). False: they cannot take
  /// them. Candidates that see them are Compiled::renewed.
  bool with_wide_operands(const std::function<void()>& use);
  tune::Rotation rotation() override { return {.copies = static_cast<int>(copies_.size()), .flush = flush_}; }

 private:
  /// One set of operands; the first is the case's own.
  struct Copy {
    Topology topology = {};
    std::optional<tune::OperandCopy> operands = {};
    std::map<std::string, PackedValues> packed =
        {};  ///< the case's values by format: packed once, kept until the race ends
  };

  void add_copies();
  void add_copy(const CsrView& csr);
  PackedValues packed_values(const TaskPacking& packing, Copy& copy, const std::string& format);
  /// `packed`: the values, where the task packs them.
  std::function<void(Stream)> enqueue_on(Copy& copy, const ops::Family& family, const ops::Config& config,
                                         const std::vector<std::shared_ptr<const ReadyKernel>>& kernels,
                                         const PackedValues& packed);
  /// Why the result is wrong for operands of many decades, or nothing.
  std::optional<std::string> verify_wide(const tune::Compiled& compiled);
  std::string screen(const std::vector<std::shared_ptr<const ReadyKernel>>& kernels,
                     const std::vector<ops::Launch>& launches) const;

  Session& session_;
  const Task& task_;
  std::unique_ptr<tune::Case> case_;
  device::Buffer workspace_;
  std::mutex mutex_;  ///< guards the packed values, and the values that they are made of: several threads compile
                      ///< candidates ahead
  std::vector<Copy> copies_;
  std::shared_ptr<device::TimedSequence> flush_;  ///< absent if the policy is warm, or there are enough copies
};

}  // namespace vostok::plan
