#include "base/boundary.hpp"

#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/text.hpp"

namespace vostok {

void rethrow_as_error(const char* verb, const char* object) {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::out_of_memory, "cannot {} {}: out of host memory", verb, object);
  } catch (const std::length_error&) {
    fail(ErrorCode::out_of_memory, "cannot {} {}: a size is past what host memory can hold", verb, object);
  } catch (const std::filesystem::filesystem_error& error) {
    fail(ErrorCode::io_failure, "cannot {} {}: {}", verb, object, error.what());
  } catch (const std::system_error& error) {
    fail(ErrorCode::internal, "cannot {} {}: {}", verb, object, error.what());
  } catch (const std::logic_error& error) {
    fail(ErrorCode::internal, "cannot {} {}: {}", verb, object, error.what());
  }
}

}  // namespace vostok
