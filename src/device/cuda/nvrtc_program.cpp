#include "device/cuda/nvrtc_program.hpp"

#include "base/text.hpp"

namespace vostok::device::cuda {

NvrtcProgram::NvrtcProgram(const NvrtcApi& api, const std::string& text, const std::string& name,
                           const std::vector<Header>& headers)
    : api_(api) {
  std::vector<std::string> owned;  // NVRTC wants terminated strings
  owned.reserve(2 * headers.size());
  std::vector<const char*> texts;
  std::vector<const char*> names;
  for (const Header& header : headers) {
    texts.push_back(owned.emplace_back(header.text).c_str());
    names.push_back(owned.emplace_back(header.name).c_str());
  }
  require(api_.nvrtcCreateProgram(&program_, text.c_str(), name.c_str(), static_cast<int>(headers.size()), texts.data(),
                                  names.data()),
          api_.nvrtcCreateProgram.name);
}

NvrtcProgram::~NvrtcProgram() {
  if (program_ != nullptr) api_.nvrtcDestroyProgram(&program_);
}

void NvrtcProgram::add_expression(const std::string& expression) {
  require(api_.nvrtcAddNameExpression(program_, expression.c_str()), api_.nvrtcAddNameExpression.name);
}

NvrtcResult NvrtcProgram::compile(const std::vector<std::string>& options) {
  std::vector<const char*> pointers;
  pointers.reserve(options.size());
  for (const std::string& option : options) pointers.push_back(option.c_str());
  return api_.nvrtcCompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
}

std::string NvrtcProgram::log() const {
  std::string text = read(api_.nvrtcGetProgramLogSize, api_.nvrtcGetProgramLog);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::string NvrtcProgram::cubin() const { return read(api_.nvrtcGetCUBINSize, api_.nvrtcGetCUBIN); }

std::string NvrtcProgram::ptx() const {
  std::string text = read(api_.nvrtcGetPTXSize, api_.nvrtcGetPTX);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::string NvrtcProgram::lowered_name(const std::string& expression) const {
  const char* name = nullptr;
  require(api_.nvrtcGetLoweredName(program_, expression.c_str(), &name), api_.nvrtcGetLoweredName.name);
  return name;
}

void NvrtcProgram::require(NvrtcResult result, const char* call) const {
  if (result != NvrtcResult::success) {
    fail(ErrorCode::compile_failed, "cannot compile with NVRTC: {} failed with {}", call,
         api_.nvrtcGetErrorString(result));
  }
}

std::string NvrtcProgram::read(const NvrtcFunction<NvrtcResult, ProgramHandle, std::size_t*>& size_of,
                               const NvrtcFunction<NvrtcResult, ProgramHandle, char*>& get) const {
  std::size_t size = 0;
  require(size_of(program_, &size), size_of.name);
  std::string bytes(size, '\0');
  require(get(program_, bytes.data()), get.name);
  return bytes;
}

}  // namespace vostok::device::cuda
