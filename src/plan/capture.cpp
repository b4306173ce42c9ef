#include "plan/capture.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "plan/features.hpp"
#include "plan/topology_state.hpp"
#include "sparse/text_file.hpp"
#include "sparse/write.hpp"

namespace vostok::plan {

namespace {

namespace fs = std::filesystem;

/// Whether the text has that line.
bool has_line(std::string_view text, std::string_view wanted) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (text.substr(0, end) == wanted) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

/// An open file, created if it is missing. Never blocks: opening a pipe of that name might wait for a reader for ever.
class OpenFile {
 public:
  explicit OpenFile(const fs::path& file)
      : file_(file),
        descriptor_(::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644)) {
    struct stat status = {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) refuse(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) refuse("it is no regular file");
  }
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// With one write: lines of several processes do not mix.
  void append(const std::string& text) const {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0) refuse(std::strerror(errno));
    if (written != static_cast<ssize_t>(text.size())) refuse("the disk is full");
  }

 private:
  [[noreturn]] void refuse(const char* reason) const {
    fail(ErrorCode::io_failure, "cannot append to {}: {}", printable(file_.string()), reason);
  }

  fs::path file_;
  int descriptor_;
};

/// The absolute path, if the current folder still exists.
fs::path made_absolute(const fs::path& file) {
  std::error_code failure;
  const fs::path whole = fs::absolute(file, failure);
  return failure ? file : whole;
}

}  // namespace

Capture::Capture(const fs::path& file, std::shared_ptr<Logger> logger)
    : file_(made_absolute(file)), logger_(std::move(logger)) {}

void Capture::add(const std::string& line, const std::string& family, const Topology& topology) noexcept try {
  std::string words = line;
  if (!family.empty()) words += " --family " + family;
  std::string key = words;
  if (topology)
    key += fmt::format(" {} x {} {}", topology.rows(), topology.cols(), feature_bucket(topology.statistics()));
  const std::lock_guard lock(mutex_);
  if (!seen_.insert(std::move(key)).second) return;
  write(words, topology);
} catch (const std::exception& error) {
  logger_->warning_once(fmt::format("a problem is not captured (VOSTOK_CAPTURE): {}", printable(error.what())));
}

void Capture::write(const std::string& line, const Topology& topology) const {
  const OpenFile file(file_);
  const std::string whole = topology ? fmt::format("{} --matrix {}", line, quoted_word(saved_matrix(topology))) : line;
  const std::string text = sparse::read_bytes(file_);
  if (has_line(text, whole)) return;
  const bool in_a_line = !text.empty() && text.back() != '\n';  // the file was edited and ends within a line
  file.append((in_a_line ? "\n" : "") + whole + "\n");
}

/// The matrix's file, relative to the problem file's folder, as no option begins. The file is complete once it exists.
std::string Capture::saved_matrix(const Topology& topology) const {
  const std::string relative =
      file_.filename().string() + ".matrices/" + topology.state()->structure_digest() + ".smtx";
  const fs::path path = file_.parent_path() / relative;
  if (!fs::exists(path)) {
    fs::create_directories(path.parent_path());
    const fs::path part = path.string() + fmt::format(".{}.{}", ::getpid(), static_cast<const void*>(this));
    try {
      sparse::write_smtx(part, topology.state()->host_copy());
      fs::rename(part, path);
    } catch (...) {
      std::error_code ignored;
      fs::remove(part, ignored);
      throw;
    }
  }
  return (relative.starts_with('-') ? "./" : "") + relative;
}

}  // namespace vostok::plan
