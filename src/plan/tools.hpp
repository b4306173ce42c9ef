// The tools of <vostok/tools.hpp> that need a context: on its session.
#pragma once

#include <memory>

#include <vostok/tools.hpp>

#include "plan/session.hpp"
#include "sparse/csr.hpp"

namespace vostok::plan {

DeviceArray make_array(const std::shared_ptr<Session>& session, std::int64_t bytes);
void copy_to_device(Session& session, void* device, const void* host, std::int64_t bytes, Stream stream);
void copy_to_host(Session& session, void* host, const void* device, std::int64_t bytes, Stream stream);

SparseMatrix sparse_above(const std::shared_ptr<Session>& session, const DenseView& dense, float threshold,
                          Stream stream);
SparseMatrix sparse_largest(const std::shared_ptr<Session>& session, const DenseView& dense, std::int64_t count,
                            Per per, Stream stream);

Topology make_mask(const std::shared_ptr<Session>& session, const UniformMask& mask, Stream stream);
Topology make_mask(const std::shared_ptr<Session>& session, const BlockMask& mask, Stream stream);
Topology make_mask(const std::shared_ptr<Session>& session, const BandedMask& mask, Stream stream);
Topology make_mask(const std::shared_ptr<Session>& session, const AttentionMask& mask, Stream stream);
/// The same mask made on the host, for programs without a device or with one that only compiles.
sparse::Csr host_mask(const AttentionMask& mask);

}  // namespace vostok::plan
