#include "bench/peers/peer.hpp"

#include <utility>

#include "base/text.hpp"
#include "bench/peers/cublas.hpp"
#include "bench/peers/cusparse.hpp"
#include "bench/peers/rotation.hpp"

namespace vostok::bench {

std::vector<PeerFinding> find_peers(device::Device& device) {
  using Open = std::shared_ptr<Peer> (*)(device::Device&);
  const std::pair<const char*, Open> known[] = {{"cusparse", open_cusparse}, {"cublas", open_cublas}};
  std::vector<PeerFinding> findings;
  for (const auto& [name, open] : known) {
    PeerFinding& finding = findings.emplace_back(PeerFinding{.name = name});
    if (!device.info().gpu) {
      finding.absent = "it runs on GPUs only";
      continue;
    }
    try {
      finding.peer = open(device);
    } catch (const std::exception& error) {
      finding.absent = error.what();
    }
  }
  return findings;
}

PeerRun prepare_run(std::string peer, std::string variant,
                    const std::function<std::function<void(Stream)>()>& prepare) {
  return prepare_turns(std::move(peer), std::move(variant), [&] { return std::vector{prepare()}; });
}

PeerRun prepare_turns(std::string peer, std::string variant,
                      const std::function<std::vector<std::function<void(Stream)>>()>& prepare) {
  PeerRun run{.peer = std::move(peer), .variant = std::move(variant)};
  try {
    std::vector<std::function<void(Stream)>> calls = prepare();
    run.period = static_cast<int>(calls.size());
    run.enqueue = in_turn(std::move(calls));
  } catch (const std::exception& error) {
    run.failure = error.what();
  }
  return run;
}

}  // namespace vostok::bench
