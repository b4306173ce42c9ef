#include "c/status.hpp"

#include <new>

#include <vostok/error.hpp>

#include "base/text.hpp"
#include "base/version.hpp"

namespace vostok::c {

namespace {

constexpr const char* no_memory = "cannot make the call: out of host memory";

/// What a thread keeps for its caller. It has no destructor: calls of other objects' destructors, behind the thread's
/// end, still find it.
struct ThreadTexts {
  std::string* failure = nullptr;
  std::string* lent = nullptr;
  const char* shown = "";  ///< the last failure's sentence: `failure`, or one that needs no memory
};

/// The interface promises texts to each thread, and a thread has no other place for them.
constinit thread_local ThreadTexts texts;

/// Frees a thread's texts when it ends. What is said after that stays until the process ends.
struct TextsOwner {
  ~TextsOwner() {
    texts.shown = "";
    delete std::exchange(texts.failure, nullptr);
    delete std::exchange(texts.lent, nullptr);
  }
};

const char* keep(std::string*& place, std::string text) {
  thread_local const TextsOwner owner;
  static_cast<void>(owner);
  if (place == nullptr) place = new std::string;
  *place = std::move(text);
  return place->c_str();
}

void show(const char* sentence) noexcept {
  try {
    texts.shown = keep(texts.failure, sentence);
  } catch (...) {
    texts.shown = no_memory;
  }
}

}  // namespace

vostok_status note_failure() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    show(error.what());
    return static_cast<vostok_status>(error.code()) + 1;
  } catch (const std::bad_alloc&) {
    texts.shown = no_memory;
    return VOSTOK_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    show(error.what());
  } catch (...) {
    show("cannot make the call: something that is no exception of the library was thrown");
  }
  return VOSTOK_INTERNAL;
}

const char* lend(std::string text) { return keep(texts.lent, std::move(text)); }

void fail_null(const char* argument) {
  fail(ErrorCode::invalid_argument, "cannot use argument {}: it is NULL", argument);
}

}  // namespace vostok::c

const char* vostok_version(void) { return vostok::library_version; }

std::int32_t vostok_abi_version(void) { return VOSTOK_ABI_VERSION; }

const char* vostok_last_error(void) { return vostok::c::texts.shown; }

const char* vostok_status_name(vostok_status status) {
  if (status == VOSTOK_OK) return "ok";
  return status < 0 ? nullptr : vostok::name(static_cast<vostok::ErrorCode>(status - 1));
}
