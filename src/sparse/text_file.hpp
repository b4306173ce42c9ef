// Files as a whole in memory, and a scanner over their numbers that knows the line it is on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace vostok::sparse {

/// The file's bytes. Errors: io_failure with the system's reason.
std::string read_bytes(const std::filesystem::path& path);

/// Reads numbers separated by blanks. Whatever does not fit is invalid_topology naming the file, the line and what was found.
class Scanner {
 public:
  Scanner(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  /// `what` names what is read, `index` which of several: "expected row offset 12, found 'x'".
  std::int64_t integer(const char* what, std::int64_t index = -1);
  double number(const char* what, std::int64_t index = -1);
  std::string_view word();   ///< up to the next blank; empty at the end of the line
  bool skip(char expected);  ///< whether the next character on the line was `expected`; then it is behind

  bool at_line_end();  ///< only blanks are left on this line
  bool at_end();       ///< only blanks and empty lines are left in the file
  void end_line();     ///< demands at_line_end and goes to the next line
  void skip_line();

  std::int64_t bytes_left() const { return static_cast<std::int64_t>(text_.size() - position_); }
  const std::string& file() const { return file_; }
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  void skip_blanks();
  template <class Number>
  Number parse(const char* what, std::int64_t index);

  std::string_view text_;
  std::string file_;
  std::size_t position_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace vostok::sparse
