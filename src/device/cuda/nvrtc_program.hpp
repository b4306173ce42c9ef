// One NVRTC program: created from text and headers in memory, compiled once, read, destroyed.
#pragma once

#include <string>
#include <vector>

#include "device/cuda/nvrtc_api.hpp"
#include "device/device.hpp"

namespace vostok::device::cuda {

class NvrtcProgram {
 public:
  NvrtcProgram(const NvrtcApi& api, const std::string& text, const std::string& name,
               const std::vector<Header>& headers);
  ~NvrtcProgram();
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  void add_expression(const std::string& expression);
  /// The caller checks the result: a refusal is not always an error.
  NvrtcResult compile(const std::vector<std::string>& options);
  std::string log() const;
  std::string cubin() const;
  std::string ptx() const;
  std::string lowered_name(const std::string& expression) const;

 private:
  void require(NvrtcResult result, const char* call) const;
  std::string read(const NvrtcFunction<NvrtcResult, ProgramHandle, std::size_t*>& size_of,
                   const NvrtcFunction<NvrtcResult, ProgramHandle, char*>& get) const;

  const NvrtcApi& api_;
  ProgramHandle program_ = nullptr;
};

}  // namespace vostok::device::cuda
