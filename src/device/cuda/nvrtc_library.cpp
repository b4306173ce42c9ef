#include "device/cuda/nvrtc_library.hpp"

#include <algorithm>

#include "base/immortal.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "device/cuda/driver_library.hpp"
#include "device/cuda/nvrtc_program.hpp"

namespace vostok::device::cuda {

namespace {

namespace fs = std::filesystem;

constexpr int oldest_major = 12;  // C++20

std::string load_table(const SharedObject& object, NvrtcApi& api) {
  std::string missing;
#define VOSTOK_REQUIRED(symbol, ...) \
  if (!object.find(api.symbol)) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", api.symbol.name);
  VOSTOK_NVRTC_FUNCTIONS(VOSTOK_REQUIRED)
#undef VOSTOK_REQUIRED
  return missing;
}

/// "13.0.88" from the comment "release 13.0, V13.0.88" that heads every PTX; empty if there is none.
std::string build_from_ptx(const std::string& ptx) {
  const auto release = ptx.find(", V");
  if (release == std::string::npos) return {};
  const auto first = release + 3;
  return ptx.substr(first, ptx.find_first_not_of("0123456789.", first) - first);
}

/// None of these changes the code. Small programs compile faster without what --minimal omits (textures, the runtime's
/// functions), which no template uses. NVRTC derives names of internal symbols from the clock: without a seed, the same
/// code would have another digest every second.
std::vector<std::string> known_process_options() {
  return {"--modify-stack-limit=false", "--no-cache", "--minimal", "--frandom-seed=vostok"};
}

struct Attempt {
  NvrtcResult result;
  std::string log;
  std::string ptx;
};

Attempt compile_empty(const Nvrtc& nvrtc, const std::vector<std::string>& further) {
  NvrtcProgram program(nvrtc, "extern \"C\" __global__ void probe() {}\n", "probe.cu", {});
  std::vector<std::string> options = nvrtc_code_options();
  options.push_back(fmt::format("-arch=compute_{}", nvrtc.architectures().front()));
  options.insert(options.end(), further.begin(), further.end());
  const NvrtcResult result = program.compile(options);
  return {
      .result = result, .log = program.log(), .ptx = result == NvrtcResult::success ? program.ptx() : std::string()};
}

}  // namespace

const std::vector<std::string>& nvrtc_code_options() {
  static const auto& options = immortal([] { return std::vector<std::string>{"--std=c++20", "-default-device"}; });
  return options;
}

std::string Nvrtc::identity() const {
  return fmt::format("nvrtc {}", build_.empty() ? fmt::format("{}.{}", major_, minor_) : build_);
}

std::string Nvrtc::probe() {
  if (nvrtcVersion(&major_, &minor_) != NvrtcResult::success) return "found, but nvrtcVersion failed";
  if (major_ < oldest_major)
    return fmt::format("found, but version {}.{} is too old ({}.0 or newer is needed)", major_, minor_, oldest_major);
  int count = 0;
  if (nvrtcGetNumSupportedArchs(&count) != NvrtcResult::success || count <= 0)
    return "found, but it lists no architecture";
  architectures_.resize(static_cast<std::size_t>(count));
  if (nvrtcGetSupportedArchs(architectures_.data()) != NvrtcResult::success)
    return "found, but nvrtcGetSupportedArchs failed";
  std::sort(architectures_.begin(), architectures_.end());

  process_options_ = known_process_options();
  Attempt attempt = compile_empty(*this, process_options_);
  if (attempt.result == NvrtcResult::invalid_option) {
    std::erase_if(process_options_, [&](const std::string& option) {
      return compile_empty(*this, {option}).result == NvrtcResult::invalid_option;
    });
    attempt = compile_empty(*this, process_options_);
  }
  if (attempt.result != NvrtcResult::success) {
    return fmt::format("found, version {}.{}, but it cannot compile an empty kernel: {} {}", major_, minor_,
                       nvrtcGetErrorString(attempt.result), attempt.log);
  }
  build_ = build_from_ptx(attempt.ptx);
  return {};
}

NvrtcSearch NvrtcSearch::run(const std::vector<NvrtcPlace>& places) {
  NvrtcSearch search;
  for (const NvrtcPlace& place : places) {
    if (place.loader_name) {
      if (search.try_open(place.pattern)) return search;
      continue;
    }
    const auto files = matching_files(place.pattern);
    if (files.empty()) search.findings.push_back({.what = "nvrtc", .where = place.pattern, .state = "not there"});
    for (const fs::path& file : files)
      if (search.try_file(file, place.named)) return search;
  }
  return search;
}

void NvrtcSearch::refuse(const fs::path& file, const std::string& doubt) {
  const std::string state = fmt::format("ignored: {}; VOSTOK_NVRTC names it where you trust it all the same", doubt);
  findings.push_back({.what = "nvrtc", .where = file.string(), .state = state});
}

/// Decides by the file's place, and opens the very path that was checked: a link on the way may have changed since. On
/// a trusted path only root and the user can exchange anything.
bool NvrtcSearch::try_file(const fs::path& file, bool named) {
  const TrustedPath path = trusted_path(file);
  if (!named && !path.is_trusted()) {
    refuse(file, path.doubt);
    return false;
  }
  const std::string opened = named ? fs::absolute(file).string() : path.resolved.string();
  if (!open_builtins(opened, named)) return false;
  Finding finding{.what = "nvrtc", .where = file.string(), .state = {}};
  const SharedObject object = SharedObject::open(opened, &finding.state);
  const bool used = object && use(object, finding);
  findings.push_back(finding);
  return used;
}

/// Tries a name that the loader looks up.
bool NvrtcSearch::try_open(const std::string& name) {
  Finding finding{.what = "nvrtc", .where = name, .state = {}};
  const SharedObject object = SharedObject::open(name, &finding.state);
  if (object) open_builtins(object.path(), true);
  const bool used = object && use(object, finding);
  findings.push_back(finding);
  return used;
}

bool NvrtcSearch::use(const SharedObject& object, Finding& finding) {
  finding.where = object.path();
  auto candidate = std::make_shared<Nvrtc>();
  const std::string missing = load_table(object, *candidate);
  finding.state = missing.empty() ? candidate->probe() : fmt::format("found, but it has no {}", missing);
  if (!finding.state.empty()) return false;
  candidate->path_ = finding.where;
  finding.state = fmt::format("found, {}", candidate->identity());
  finding.used = true;
  nvrtc = std::move(candidate);
  return true;
}

/// Loads the builtins that lie beside NVRTC first, by absolute path. Otherwise NVRTC opens them by plain name at the
/// first compile and takes whatever the loader has cached. If they are refused, so is NVRTC, since it would find them
/// by itself.
bool NvrtcSearch::open_builtins(const fs::path& library, bool named) {
  std::error_code ignored;
  const fs::path folder = fs::weakly_canonical(library, ignored).parent_path();
  const auto files = matching_files(literal_pattern(folder.string()) + "/libnvrtc-builtins.so.*");
  if (files.empty()) {
    findings.push_back(
        {.what = "nvrtc builtins", .where = folder.string(), .state = "not beside libnvrtc; left to the loader"});
  }
  for (const fs::path& file : files) {
    const TrustedPath path = trusted_path(file);
    if (!named && !path.is_trusted()) {
      refuse(library, path.doubt);
      return false;
    }
    std::string error;
    const bool opened = static_cast<bool>(SharedObject::open(named ? file.string() : path.resolved.string(), &error));
    findings.push_back(
        {.what = "nvrtc builtins", .where = file.string(), .state = opened ? "found" : error, .used = opened});
  }
  return true;
}

std::shared_ptr<const Nvrtc> open_nvrtc_library(const std::optional<fs::path>& chosen) {
  const NvrtcSearch search = NvrtcSearch::run(nvrtc_places(chosen));
  if (!search.nvrtc)
    fail(ErrorCode::no_compiler, "cannot compile for a GPU: no usable NVRTC ({})", join_findings(search.findings));
  return search.nvrtc;
}

}  // namespace vostok::device::cuda
