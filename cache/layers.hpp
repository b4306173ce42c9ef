// The layers of one store, as opened in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cache/cache.hpp"
#include "cache/layer.hpp"
#include "cache/per_process.hpp"
#include "plan/stores.hpp"

namespace vostok::cache {

/// The settings with which a store opens its layers, in this process or in a child.
struct StoreSettings {
  std::vector<LayerFile> files;  ///< in the order of look-up
  std::shared_ptr<const Reporter> reporter;
  std::shared_ptr<const PathProbe> probe;
  std::int64_t max_code_bytes = 0;  ///< of the user's code.db
};

class Layers {
 public:
  explicit Layers(const StoreSettings& settings);

  /// Writes in one transaction of the first layer that accepts it. False: none does, and memory must.
  bool write(const std::function<void(Connection&)>& work);

  std::mutex& mutex() { return mutex_; }  ///< held while anything below is used
  std::vector<Layer>& files() { return files_; }
  /// Kernels that no file accepts.
  plan::CodeStore& memory_code() { return *memory_.code; }
  Connection& memory_rows();                               ///< of tuning.db's schema; created on first use
  Connection* remembered() { return memory_rows_.get(); }  ///< null: there are none
  void reopen();                                           ///< as if just opened; memory keeps its content
  /// Each file as doctor shows it; opens those that are not open yet. Counting their rows reads all of them.
  std::vector<LayerState> states(bool count_rows);
  /// Keys of code that the driver refused: entries with these keys in read-only layers are not used again.
  std::set<std::string>& refused_code() { return refused_code_; }
  /// Messages about look-ups that this process has already shown.
  std::set<std::string>& notes() { return notes_; }

 private:
  std::mutex mutex_;
  std::vector<Layer> files_;
  plan::Stores memory_;
  std::unique_ptr<Connection> memory_rows_;
  std::set<std::string> refused_code_;
  std::set<std::string> notes_;
};

/// Runs a store's call under the layers' lock. A call that fails in an unforeseen way (out of memory, say) is a miss.
template <class Result>
Result guarded(PerProcess<Layers>& process, const Reporter& reporter, const std::function<Result(Layers&)>& call) {
  const Reporter::Hold hold(reporter);
  try {
    Layers& layers = process.get();
    const std::lock_guard lock(layers.mutex());
    return call(layers);
  } catch (const std::exception& error) {
    reporter.degraded(error.what());
    return Result();
  }
}

}  // namespace vostok::cache
