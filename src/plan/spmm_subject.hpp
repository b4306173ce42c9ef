// SpMM candidates as the tuner sees them: compiled by Kernels, run on a SpmmCase.
#pragma once

#include <string>

#include "ops/spmm/family.hpp"
#include "plan/kernels.hpp"
#include "plan/topology_state.hpp"
#include "tune/spmm_case.hpp"
#include "tune/tuner.hpp"

namespace vostok::plan {

class SpmmSubject : public tune::Subject {
 public:
  SpmmSubject(Session& session, Kernels& kernels, const ops::SpmmQuery& query, TopologyState& topology, std::uint64_t seed);
  tune::Compiled compile(const tune::Candidate& candidate) override;
  std::optional<std::string> verify(const tune::Compiled& compiled) override;

 private:
  std::string screen(const ReadyKernel& kernel, const ops::SpmmLaunch& launch) const;

  Session& session_;
  Kernels& kernels_;
  const ops::SpmmQuery& query_;
  TopologyState& topology_;
  tune::SpmmCase case_;
};

/// What effort quick races: the families' short lists, each with its default, as far as the rules admit them.
std::vector<tune::Candidate> spmm_short_list(const ops::SpmmQuery& query);

/// Every config that the rules admit: the short list, then the others of all families, cheapest prediction first.
std::vector<tune::Candidate> spmm_candidates(const ops::SpmmQuery& query);

}  // namespace vostok::plan
