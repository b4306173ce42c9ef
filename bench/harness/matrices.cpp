#include "bench/harness/matrices.hpp"

namespace vostok::bench {

void Matrices::take(const Problem& problem) {
  if (host_ && problem.file == file_) return;
  topologies_.clear();
  host_.reset();
  host_ = std::make_shared<const sparse::Csr>(load_matrix(data_, problem, seed_));
  file_ = problem.file;
}

const Topology& Matrices::topology(std::size_t copy) {
  while (topologies_.size() <= copy) topologies_.push_back(context_.topology(host_->view()));
  return topologies_[copy];
}

PeerMatrix Matrices::for_peers() {
  const ops::TopologyPointers pointers = topology().state()->pointers({});
  return {.host = host_.get(),
          .row_offsets = static_cast<const std::int32_t*>(pointers.row_offsets),
          .column_indices = static_cast<const std::int32_t*>(pointers.column_indices)};
}

}  // namespace vostok::bench
