// What the tests of this room share: scratch files and the real data.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"

namespace vostok::sparse::testing {

/// The real matrices: VOSTOK_DATA, or shared/data beside the repository. Says so where they are absent.
inline bool find_data(std::filesystem::path& folder) {
  folder = environment("VOSTOK_DATA").value_or(VOSTOK_SOURCE_FOLDER "/../shared/data");
  if (std::filesystem::is_directory(folder)) return true;
  MESSAGE("skipped: no real matrices at ", folder.string(), " (VOSTOK_DATA names another folder)");
  return false;
}

/// Files below the folder with that extension, sorted.
inline std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                                      const std::string& extension) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Runs `work`, which must throw an Error of that code whose message holds every one of the parts.
template <class Work>
void check_refused(ErrorCode code, const std::vector<std::string>& parts, Work work) {
  try {
    work();
  } catch (const Error& error) {
    const std::string message = error.what();
    INFO("message: ", message);
    CHECK(error.code() == code);
    for (const std::string& part : parts) {
      INFO("wanted: ", part);
      CHECK(message.find(part) != std::string::npos);
    }
    return;
  }
  FAIL_CHECK("nothing was thrown where a message with '", parts.front(), "' was wanted");
}

}  // namespace vostok::sparse::testing
