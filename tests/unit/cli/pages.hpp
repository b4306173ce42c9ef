// The pages: README.md of every folder, CONTRIBUTING.md and the notes of bench; and the blocks of code on them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vostok::test {

std::vector<std::filesystem::path> pages();

struct Block {
  std::string place;     ///< page and line, for messages
  std::string language;  ///< first word behind the fence
  std::string note;      ///< what follows it: "no-run: needs a GPU"
  std::string above;     ///< the line above the fence
  std::vector<std::string> lines;
};

std::vector<Block> blocks_of_pages();

/// The command lines of a block of language sh, and those of a console behind "$ ". Lines that end with a backslash
/// are joined; comments behind two blanks or more are left out.
std::vector<std::string> commands_of(const Block& block);

/// The names by which links lead to a page's headings: "## vostok run" -> "vostok-run".
std::vector<std::string> anchors_of(const std::filesystem::path& page);

/// The targets of a page's links and pictures that lead to files of the project or to headings.
std::vector<std::string> links_of(const std::filesystem::path& page);

/// A place that names a page of bench/notes, in code or on a page.
struct Citation {
  std::string place;
  std::filesystem::path page;
  std::string anchor;  ///< empty: the page as a whole
};

std::vector<Citation> citations_of_notes();

}  // namespace vostok::test
