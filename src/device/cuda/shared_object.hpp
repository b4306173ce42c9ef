// A library opened with dlopen.
#pragma once

#include <string>

namespace vostok::device::cuda {

/// Stays open for the life of the process: the driver and NVRTC keep threads and exit handlers of their own.
class SharedObject {
 public:
  /// `name` is a path or a plain name for the loader. On failure the object is empty and `error` says why.
  static SharedObject open(const std::string& name, std::string* error);

  explicit operator bool() const { return handle_ != nullptr; }

  /// Sets function.address from function.name; false where the library does not export it.
  template <class Function>
  bool find(Function& function) const {
    function.address = reinterpret_cast<decltype(function.address)>(symbol(function.name));
    return function.address != nullptr;
  }

  /// The file that the loader took; the name it was opened with where that cannot be told.
  const std::string& path() const { return path_; }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace vostok::device::cuda
