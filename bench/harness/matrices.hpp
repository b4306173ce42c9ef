// The matrix of the current problem, on the host and as topologies: made once for the problems that follow one another with it.
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
  Matrices(Context context, std::filesystem::path data, std::uint64_t seed) : context_(std::move(context)), data_(std::move(data)), seed_(seed) {}

  /// Forgets the matrix before where this problem has another. Errors: those of load_matrix.
  void take(const Problem& problem);
  const std::shared_ptr<const sparse::Csr>& host() const { return host_; }
  /// Copies of the same structure, each in memory of its own: as many as are asked for.
  const Topology& topology(std::size_t copy = 0);
  /// The first copy as the library keeps it.
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
