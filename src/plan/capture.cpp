#include "plan/capture.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/text.hpp"
#include "plan/features.hpp"
#include "plan/topology_state.hpp"
#include "sparse/write.hpp"

namespace vostok::plan {

namespace {

namespace fs = std::filesystem;

bool has_line(const fs::path& file, const std::string& wanted) {
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);)
    if (line == wanted) return true;
  return false;
}

/// With one write: lines of several processes do not mix.
void append(const fs::path& file, const std::string& line) {
  const std::string text = line + "\n";
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  const bool written = descriptor >= 0 && ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!written) fail(ErrorCode::io_failure, "cannot append to {}: {}", file.string(), std::strerror(reason));
}

std::string quoted(const std::string& path) { return path.find_first_of(" \t") == std::string::npos ? path : fmt::format("\"{}\"", path); }

}  // namespace

Capture::Capture(const fs::path& file, std::shared_ptr<Logger> logger) : file_(fs::absolute(file)), logger_(std::move(logger)) {}

void Capture::add(const std::string& line, const std::string& family, const Topology& topology) noexcept try {
  std::string words = line;
  if (!family.empty()) words += " --family " + family;
  std::string key = words;
  if (topology) key += fmt::format(" {} x {} {}", topology.rows(), topology.cols(), feature_bucket(topology.statistics()));
  const std::lock_guard lock(mutex_);
  if (!seen_.insert(std::move(key)).second) return;
  write(words, topology);
} catch (const std::exception& error) {
  logger_->warning_once(fmt::format("a problem is not captured (VOSTOK_CAPTURE): {}", error.what()));
}

void Capture::write(const std::string& line, const Topology& topology) const {
  const std::string whole = topology ? fmt::format("{} --matrix {}", line, quoted(saved_matrix(topology))) : line;
  if (!has_line(file_, whole)) append(file_, whole);
}

/// Its name relative to the problem file's folder. Complete as soon as it is there.
std::string Capture::saved_matrix(const Topology& topology) const {
  const fs::path relative = file_.filename().string() + ".matrices/" + topology.state()->structure_digest() + ".smtx";
  const fs::path path = file_.parent_path() / relative;
  if (fs::exists(path)) return relative.string();
  fs::create_directories(path.parent_path());
  const fs::path part = path.string() + fmt::format(".{}", ::getpid());
  sparse::write_smtx(part, topology.state()->host_copy());
  fs::rename(part, path);
  return relative.string();
}

}  // namespace vostok::plan
