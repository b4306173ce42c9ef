// Other libraries that compute the same, run beside ours in the same context and stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <vostok/enums.hpp>

#include "device/device.hpp"
#include "sparse/csr.hpp"
#include "tune/case.hpp"

namespace vostok::bench {

/// A sparse matrix: its structure on the host and in device memory.
struct PeerMatrix {
  const sparse::Csr* host = nullptr;
  const std::int32_t* row_offsets = nullptr;
  const std::int32_t* column_indices = nullptr;
};

/// One SpMM, C[m,n] = A[m,k] B[k,n], or C[k,n] = A^T B[m,n]: everything of one type, dense operands row-major and
/// packed.
struct SpmmOperands {
  PeerMatrix matrix = {};
  std::int64_t n = 0;
  Dtype element = Dtype::f32;
  bool transposed = false;
  const void* values = nullptr;
  const void* dense = nullptr;
  void* output = nullptr;
  /// Not 0: a way reads another copy of its weights at every call, copies that take more than this together.
  std::int64_t rotated_bytes = 0;
};

/// One SDDMM, D[m,k] = A[m,n] B[k,n]^T at the mask: everything of one type, dense operands row-major and packed.
struct SddmmOperands {
  PeerMatrix mask = {};
  std::int64_t n = 0;
  Dtype element = Dtype::f32;
  const void* lhs = nullptr;
  const void* rhs = nullptr;
  void* output = nullptr;
};

/// One way in which a peer computes the result. `enqueue` owns what it needs.
struct PeerRun {
  std::string peer = {};  ///< ours: empty
  std::string variant = {};
  std::function<void(Stream)> enqueue = {};  ///< empty where `failure` is not
  std::string failure = {};
  /// Where `enqueue` leaves the result elsewhere: for verification, what also brings it to the output.
  std::function<void(Stream)> enqueue_and_deliver = {};
  /// What the peer's arithmetic admits, where that is more than ours is held to; 0: as ours.
  double tolerance = 0;
  int period = 1;  ///< after so many calls `enqueue` reads the same memory again
  /// What it reads and writes, where that is laid out otherwise than ours; empty: as ours.
  std::shared_ptr<tune::Case> operands = {};
};

class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string version() const = 0;
  /// Every way it has, prepared; one that the peer refuses carries its failure. The runs must not outlive the peer.
  virtual std::vector<PeerRun> prepare(const SpmmOperands& operands) = 0;
  virtual std::vector<PeerRun> prepare(const SddmmOperands& operands) = 0;
};

/// A peer, or why it is not here.
struct PeerFinding {
  std::string name = {};
  std::shared_ptr<Peer> peer = {};
  std::string absent = {};
};

/// cuSPARSE and cuBLAS, where this machine has them. The device's context must be current on this thread, now and while
/// the peers are used.
std::vector<PeerFinding> find_peers(device::Device& device);

/// Runs `prepare`; what it throws becomes the run's failure.
PeerRun prepare_run(std::string peer, std::string variant, const std::function<std::function<void(Stream)>()>& prepare);
/// The same with a call for each copy of the weights, to be made in turn.
PeerRun prepare_turns(std::string peer, std::string variant,
                      const std::function<std::vector<std::function<void(Stream)>>()>& prepare);

}  // namespace vostok::bench
