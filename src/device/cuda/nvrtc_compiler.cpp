#include "device/cuda/nvrtc_compiler.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "device/architecture.hpp"
#include "device/cuda/nvrtc_log.hpp"
#include "device/cuda/nvrtc_program.hpp"

namespace vostok::device::cuda {

namespace {

std::vector<std::string> compile_options(const Nvrtc& library, const CompileTarget& target) {
  std::vector<std::string> options = nvrtc_code_options();
  options.push_back(target.option);
  options.insert(options.end(), library.process_options().begin(), library.process_options().end());
  if (!target.ptx) options.emplace_back("--ptxas-options=-v");  // puts registers, spills and shared memory in the log
  return options;
}

[[noreturn]] void fail_compile(const Nvrtc& library, NvrtcResult result, const Source& source, const std::string& log) {
  if (result == NvrtcResult::builtin_operation_failure) {
    fail(ErrorCode::no_compiler, "cannot compile {}: the builtins of {} ({}) are missing or do not fit it: {}",
         source.family, library.path(), library.identity(), error_excerpt(log));
  }
  fail(ErrorCode::compile_failed, "cannot compile {} for {}: {} says {}\n{}", source.expression, source.architecture,
       library.identity(), library.nvrtcGetErrorString(result), error_excerpt(log));
}

}  // namespace

CompileTarget choose_target(const std::string& architecture, const std::vector<int>& known) {
  const auto name = parse_architecture(architecture);
  if (!name || name->capability <= 0)
    fail(ErrorCode::compile_failed, "cannot compile for architecture \"{}\": it should read like sm_90", architecture);
  const int number = name->capability;

  const auto above = std::upper_bound(known.begin(), known.end(), number);
  if (above == known.begin())
    fail(ErrorCode::compile_failed, "cannot compile for {}: NVRTC's oldest architecture is sm_{}", architecture,
         known.front());
  const int nearest = *std::prev(above);
  if (nearest == number) return {.option = fmt::format("-arch={}", architecture)};
  if (!name->suffix.empty()) {
    fail(ErrorCode::compile_failed, "cannot compile for {}: NVRTC does not know it and there is no portable form of it",
         architecture);
  }
  return {.option = fmt::format("-arch=compute_{}", nearest), .ptx = true};
}

const Nvrtc& NvrtcCompiler::library() const {
  const std::lock_guard lock(mutex_);
  if (!library_) library_ = open_nvrtc_library(chosen_);
  return *library_;
}

Image NvrtcCompiler::compile(const Source& source) const {
  const Nvrtc& library = this->library();
  const CompileTarget target = choose_target(source.architecture, library.architectures());
  NvrtcProgram program(library, source.text, source.family + ".cu", source.headers);
  program.add_expression(source.expression);
  const NvrtcResult result = program.compile(compile_options(library, target));
  const std::string log = program.log();
  if (result != NvrtcResult::success) fail_compile(library, result, source, log);

  Image image;
  image.binary = target.ptx ? program.ptx() : program.cubin();
  image.symbol = program.lowered_name(source.expression);
  read_resources(log, image);
  return image;
}

}  // namespace vostok::device::cuda
