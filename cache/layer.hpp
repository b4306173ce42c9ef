// One cache file as the stores use it: opened on first use, skipped after it has failed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/path_probe.hpp"
#include "cache/database.hpp"
#include "cache/layer_file.hpp"
#include "cache/reporter.hpp"

namespace vostok::cache {

/// Not thread-safe: a store locks around its layers. Throws nothing except std::bad_alloc of the caller's own work.
class Layer {
 public:
  Layer(LayerFile file, std::shared_ptr<const Reporter> reporter, std::shared_ptr<const PathProbe> probe);

  /// Runs `work` on the open file. False: the layer does not exist or is not usable (any more). `work` may have run in
  /// part, or twice, so it must assign its results, not append.
  bool read(const std::function<void(Connection&)>& work);
  /// As read, in one transaction, committed on return.
  bool write(const std::function<void(Connection&)>& work);

  /// Resets the layer: what had failed is tried again, and a new file under the same name is seen.
  void reopen();

  const LayerFile& file() const { return file_; }
  bool is_writable() const { return writable_; }
  /// For doctor: "in use", "not there", or why it is not used.
  const std::string& state() const { return state_; }
  std::int64_t bytes() const;  ///< the file's size; 0 if there is none

 private:
  enum class Use { read, write };
  bool attempt(Use use, const std::function<void(Connection&)>& work);
  void open();
  void open_to_write();
  bool recover(const DatabaseError& error, Use use);
  void give_up(Use use, const std::string& reason);
  bool set_aside();

  LayerFile file_;
  std::shared_ptr<const Reporter> reporter_;
  std::shared_ptr<const PathProbe> probe_;
  std::unique_ptr<Connection> connection_;
  std::filesystem::path place_;      ///< the file, links resolved
  std::optional<PathFacts> opened_;  ///< which file the connection has open
  bool readable_ = true;
  bool writable_ = false;
  bool was_set_aside_ = false;
  bool has_warned_ = false;  ///< about not using it, or not writing it any more
  std::string state_ = "in use";
};

}  // namespace vostok::cache
