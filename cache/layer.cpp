#include "cache/layer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "base/unix_time.hpp"

namespace vostok::cache {

namespace {

/// An exclusive lock on a folder, against other processes that set a file aside. It is not held if it cannot be had in
/// time; at worst a good file is then set aside, which costs only time.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    constexpr int attempts = 100;
    for (int i = 0; i < attempts && descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

bool is_same_file(const std::optional<PathFacts>& a, const std::optional<PathFacts>& b) {
  return a && b && a->device == b->device && a->inode == b->inode;
}

}  // namespace

Layer::Layer(LayerFile file, std::shared_ptr<const Reporter> reporter, std::shared_ptr<const PathProbe> probe)
    : file_(std::move(file)), reporter_(std::move(reporter)), probe_(std::move(probe)) {
  reopen();
}

void Layer::reopen() {
  connection_.reset();
  readable_ = true;
  has_warned_ = false;
  writable_ = file_.writable;
  state_ = file_.kind == LayerKind::user && !writable_ ? "in use, read-only" : "in use";
}

std::int64_t Layer::bytes() const {
  const auto facts = probe_->facts(file_.path);
  return facts ? facts->bytes : 0;
}

bool Layer::read(const std::function<void(Connection&)>& work) { return attempt(Use::read, work); }

bool Layer::write(const std::function<void(Connection&)>& work) { return attempt(Use::write, work); }

bool Layer::attempt(Use use, const std::function<void(Connection&)>& work) {
  constexpr int attempts = 2;  // the second in a new file, if the first file was malformed
  for (int i = 0; i < attempts; ++i) {
    if (use == Use::read ? !readable_ : !writable_) return false;
    try {
      if (!connection_) open();
      if (!connection_) return false;
      if (use == Use::read) {
        work(*connection_);
      } else {
        Transaction transaction(*connection_);
        work(*connection_);
        transaction.commit();
      }
      return true;
    } catch (const DatabaseError& error) {
      if (!recover(error, use)) return false;
    } catch (const std::exception& error) {
      give_up(Use::read, error.what());
      return false;
    }
  }
  return false;
}

void Layer::open() {
  if (file_.writable) return open_to_write();
  if (probe_->entry(file_.path)) {
    connection_ = open_to_read(file_, *probe_);
  } else {
    readable_ = false;
    state_ = "not there";
  }
}

void Layer::open_to_write() {
  const bool is_made_anew = was_set_aside_ && !probe_->facts(place_);  // e.g. a link that now leads nowhere
  if (!is_made_anew) {
    place_ = file_.path;
    if (probe_->entry(file_.path)) {
      const TrustedPath found = trusted_path(file_.path, *probe_);
      if (!found.is_trusted()) return give_up(Use::read, found.doubt);
      place_ = found.resolved;
    }
  }
  opened_ = probe_->facts(place_);
  auto connection = std::make_unique<Connection>(place_, Access::read_write, file_.lock_timeout_ms);
  if (!opened_) opened_ = probe_->facts(place_);  // it was created just now
  make_schema(*connection, file_.content);
  connection_ = std::move(connection);
}

/// Whether a second attempt makes sense.
bool Layer::recover(const DatabaseError& error, Use use) {
  switch (error.failure()) {
    case Failure::refused:
      reporter_->degraded(fmt::format("a row was not stored in {}: {}", file_.path.string(), error.what()));
      return false;
    case Failure::damaged:
      if (file_.writable && !was_set_aside_ && set_aside()) return true;
      give_up(Use::read, fmt::format("malformed: {}", error.what()));
      return false;
    case Failure::newer_schema:
      give_up(Use::read, fmt::format("newer schema: ignored ({})", error.what()));
      return false;
    case Failure::busy:
      give_up(use, fmt::format("locked by another process for over {} ms", file_.lock_timeout_ms));
      return false;
    case Failure::full:
    case Failure::unwritable:
    case Failure::other: give_up(use, error.what()); return false;
  }
  return false;
}

/// Stops writing the layer; if reading or opening failed, stops using it.
void Layer::give_up(Use use, const std::string& reason) {
  writable_ = false;
  if (use == Use::read || !connection_) {
    readable_ = false;
    connection_.reset();
  }
  state_ = readable_ ? "no longer written: " + reason : reason;
  // Warns once: consequences, such as a journal that cannot be played back, are no news to the user.
  if (!has_warned_)
    reporter_->degraded(
        fmt::format("{} is {}: {}", file_.path.string(), readable_ ? "no longer written" : "not used", reason));
  has_warned_ = true;
}

/// Renames the malformed file, so that a new one can be made. If another process has done so since we opened ours, the
/// file there now is good, and is only opened.
bool Layer::set_aside() {
  was_set_aside_ = true;
  connection_.reset();
  const FolderLock lock(place_.parent_path());
  const auto there = probe_->facts(place_);
  if (!is_same_file(there, opened_)) return true;
  const std::string aside = fmt::format("{}.damaged-{}", place_.string(), unix_seconds());
  std::error_code failure;
  // The journal first: left behind, it would be played into the new file.
  const std::string journal = place_.string() + "-journal";
  if (probe_->facts(journal)) std::filesystem::rename(journal, aside + "-journal", failure);
  if (!failure) std::filesystem::rename(place_, aside, failure);
  if (failure) return false;
  reporter_->degraded(fmt::format("{} is malformed: set aside as {} and made anew", place_.string(), aside));
  return true;
}

}  // namespace vostok::cache
