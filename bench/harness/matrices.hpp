// The current problem's matrix, on the host and as topologies: made once for consecutive problems that share it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <vostok/context.hpp>

#include "bench/harness/problems.hpp"
#include "plan/topology_state.hpp"

#include "bench/peers/peer.hpp"

namespace vostok::bench {

class Matrices {
 public:
  Matrices(Context context, std::filesystem::path data, std::uint64_t seed)
      : context_(std::move(context)), data_(std::move(data)), seed_(seed) {}

  /// Makes this problem's matrix the current one; keeps it if it is the same as before. Errors: those of load_matrix.
  void take(const Problem& problem);
  const std::shared_ptr<const sparse::Csr>& host() const { return host_; }
  /// A copy of the structure in its own memory; copies are made on demand.
  const Topology& topology(std::size_t copy = 0);
  /// The first copy, as the library stores it.
  PeerMatrix for_peers();

 private:
  Context context_;
  std::filesystem::path data_;
  std::uint64_t seed_;
  std::string file_;
  std::shared_ptr<const sparse::Csr> host_;
  std::vector<Topology> topologies_;
};

}  // namespace vostok::bench
