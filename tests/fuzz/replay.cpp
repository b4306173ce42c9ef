// Reads every input of a folder once, without an engine: what any compiler builds and every run of the tests does.
#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/input.hpp"

namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// As `./run test` adds them up.
void note_cases(std::size_t cases) {
  const char* const notes = std::getenv("VOSTOK_TEST_NOTES");
  if (notes != nullptr) std::ofstream(notes, std::ios::app) << "cases " << cases << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 2;
  try {
    std::vector<std::filesystem::path> inputs;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) inputs.push_back(entry.path());
    std::sort(inputs.begin(), inputs.end());
    for (const std::filesystem::path& input : inputs) {
      std::printf("%s\n", input.filename().c_str());
      std::fflush(stdout);  // the last line names the input that ends the process
      vostok::fuzz::read_input(content_of(input));
    }
    note_cases(inputs.size());
    std::printf("%zu inputs read\n", inputs.size());
    return inputs.empty() ? 1 : 0;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "fuzz: not a refusal: %s\n", error.what()), 1;
  }
}
