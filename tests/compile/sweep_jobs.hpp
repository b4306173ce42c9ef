// What the compile sweep compiles, and how: for its test, which takes a share, and for its program, which takes
// everything.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/source.hpp"
#include "compile/sweep_queries.hpp"
#include "device/device.hpp"

namespace vostok::test {

/// The problems of every operation: a new one is a line there.
const std::map<std::string_view, SweepQueries (*)()>& sweep_queries();

/// One kernel for one architecture, and whether a default config needs it.
struct Job {
  codegen::KernelRequest request;
  std::string architecture;
  bool is_default = false;
};

/// A problem with what the family's rules admit of its space.
struct Space {
  std::shared_ptr<const ops::Query> query;
  std::vector<ops::Config> configs;
};

/// Problems that the family declines are left out.
std::vector<Space> spaces_of(const ops::Family& family, const SweepQueries& queries);

/// Each kernel once, however many configs launch it, in the order in which they came.
class Jobs {
 public:
  /// Whether the kernel was not there yet.
  bool add(const codegen::KernelRequest& request, const std::string& architecture, bool is_default);
  void add(const ops::Family& family, const ops::Query& query, const ops::Config& config,
           const std::string& architecture, bool is_default);
  /// Of every `every`-th problem from the `first` on.
  void add_defaults(const ops::Family& family, const std::vector<Space>& spaces, const std::string& architecture,
                    std::size_t every = 1, std::size_t first = 0);
  void add_everything(const ops::Family& family, const std::vector<Space>& spaces, const std::string& architecture);
  /// Of `count` seeded draws.
  void add_sample(const ops::Family& family, const std::vector<Space>& spaces, const std::string& architecture,
                  int count, std::uint64_t seed);

  const std::vector<Job>& list() const { return list_; }

 private:
  std::set<std::pair<std::string, std::string>> seen_;
  std::vector<Job> list_;
};

/// What came of a job: an image, or why there is none.
struct Outcome {
  device::Image image = {};
  std::string failure = {};
  double seconds = 0;  ///< of one thread
};

/// Compiles jobs first to last on `threads` threads (0: one per core), and says of each what came of it.
/// `report` is called by one thread at a time; where it returns false no further job is begun.
void compile_jobs(const device::Compiler& nvrtc, std::span<const Job> jobs, int threads,
                  const std::function<bool(const Job& job, const Outcome& outcome)>& report);

}  // namespace vostok::test
