// Which stored choice serves a problem best: the distances between problems and between devices, and the order
// in which candidates are tried. Every store ranks with this, so that a decision does not depend on where rows lie.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "plan/stores.hpp"

namespace vostok::plan {

/// The same physical device: uuid, model and size (a partition of a GPU differs in its multiprocessors).
bool same_device(const DeviceKey& a, const DeviceKey& b);
/// Another device on which the same config runs equally fast: name, architecture, multiprocessors and memory class
/// (sizes within 10 %; drivers report slightly different ones for the same board).
bool same_model(const DeviceKey& a, const DeviceKey& b);
/// Whether two problems are the same: every feature equal.
bool same_problem(const ProblemKey& a, const ProblemKey& b);

/// How much each feature counts. Sizes and density count per factor of two. Round numbers near those with the least
/// regret when 748 problems that were tuned on an H200 are left out in turn (`vostok cache regret`;
/// bench/notes/choices.md#how-its-weights-were-chosen has the table).
struct ProblemWeights {
  static constexpr double m = 0.5;
  static constexpr double k = 0.25;
  static constexpr double n = 0.75;
  static constexpr double density = 0.5;        ///< nonzeros / (m k)
  static constexpr double row_variation = 0.5;  ///< per unit of the coefficient of variation
  static constexpr double imbalance = 0.25;     ///< longest row / mean row, per factor of two
  static constexpr double index = 0.5;          ///< once, where the index types differ
};
/// A neighbour farther than this is not used.
constexpr double farthest_problem = 1.5;
/// Sum of the weighted differences. 0 for equal features; a size of 0 counts as 1.
double problem_distance(const Features& a, const Features& b);

/// The values of a size that a problem within `farthest_problem` can have, given the weight of that size.
struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
Range reach(std::int64_t size, double weight);

/// One per architecture generation between the two (sm_86 and sm_90 are one apart), plus one per factor of two in
/// multiprocessors. Infinite where one of them is no GPU.
double device_distance(const DeviceKey& a, const DeviceKey& b);
constexpr double farthest_device = 2.0;
/// Another model with the same multiprocessors, by architecture and number: an H100 and an H200.
bool same_multiprocessors(const DeviceKey& a, const DeviceKey& b);

/// A winner as a store holds it.
struct StoredWinner {
  WinnerRecord winner;
  DeviceKey device;
  Features features;
  int layer = 0;         ///< position in the order in which layers are asked
  bool shipped = false;  ///< from the layer that came with the library
  bool plain = false;    ///< tuned for ProblemKey::plain
};

/// At most this many neighbours of each kind are returned: each is tried only if all before it are forbidden.
constexpr std::size_t most_neighbours = 4;

/// Candidates for `problem` on `device` among `rows`, which are all of the problem's operation and policy, and of its
/// exact text or the plain one. Best first:
///   1. the same problem on this device, in the order of layers;
///   2. the same problem on another device of this model, in the order of layers;
///   3. and 4. as 1. and 2., for the plain problem;
///   5. the same problem on another model with this one's architecture and multiprocessors;
///   6. the nearest problem on this device or model, within farthest_problem;
///   7. the same problem on the nearest other device, within farthest_device;
///   8. the nearest problem, within farthest_problem, on a model as in 5.
/// In 5. to 8. a plain problem comes behind one with the exact text at the same distance.
std::vector<WinnerMatch> best_first(const std::vector<StoredWinner>& rows, const ProblemKey& problem,
                                    const DeviceKey& device);

/// Only the matches for this very problem, or its plain one, on a device of this model.
std::vector<WinnerMatch> without_neighbours(std::vector<WinnerMatch> matches);

}  // namespace vostok::plan
