// Other libraries that compute the same product, run beside ours in the same context and stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "sparse/csr.hpp"

namespace vostok::bench {

/// One SpMM, C[m,n] = A[m,k] B[k,n], row-major and packed, f32. Device pointers, but for the structure on the host.
struct PeerOperands {
  const sparse::Csr* matrix = nullptr;
  std::int64_t n = 0;
  const std::int32_t* row_offsets = nullptr;
  const std::int32_t* column_indices = nullptr;
  const float* values = nullptr;
  const float* dense = nullptr;
  float* output = nullptr;
};

/// One way in which a peer computes the product. `enqueue` owns what it needs.
struct PeerRun {
  std::string peer = {};
  std::string variant = {};
  std::function<void(Stream)> enqueue = {};  ///< empty where `failure` is not
  std::string failure = {};
};

class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// Every way it has, prepared; one that the peer refuses carries its failure. The runs must not outlive the peer.
  virtual std::vector<PeerRun> prepare(const PeerOperands& operands) = 0;
};

/// A peer, or why it is not here.
struct PeerFinding {
  std::string name = {};
  std::shared_ptr<Peer> peer = {};
  std::string absent = {};
};

/// cuSPARSE and cuBLAS, where this machine has them. The device's context must be current on this thread, now and while the peers are used.
std::vector<PeerFinding> find_peers(device::Device& device);

/// Runs `prepare`; what it throws becomes the run's failure.
PeerRun prepare_run(std::string peer, std::string variant, const std::function<std::function<void(Stream)>()>& prepare);

}  // namespace vostok::bench
