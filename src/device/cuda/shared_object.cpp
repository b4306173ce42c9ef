#include "device/cuda/shared_object.hpp"

#include <dlfcn.h>
#include <link.h>

namespace vostok::device::cuda {

SharedObject SharedObject::open(const std::string& name, std::string* error) {
  SharedObject object;
  object.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object.handle_ == nullptr) {
    const char* reason = dlerror();
    *error = reason != nullptr ? reason : "cannot be loaded";
    // The loader repeats the name, and so does whoever reports this.
    if (error->starts_with(name + ": ")) error->erase(0, name.size() + 2);
    return object;
  }
  link_map* entry = nullptr;
  const bool known = dlinfo(object.handle_, RTLD_DI_LINKMAP, static_cast<void*>(&entry)) == 0 && entry != nullptr &&
                     entry->l_name != nullptr && *entry->l_name != '\0';
  object.path_ = known ? entry->l_name : name;
  return object;
}

void* SharedObject::symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace vostok::device::cuda
