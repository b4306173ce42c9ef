// A scanner over the numbers of a text that knows the line it is on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vostok::sparse {

/// Reads numbers separated by blanks, whatever the locale. What does not fit is invalid_topology naming the file, the
/// line and what was found.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& file);

  /// `what` names what is read, `index` which of several: "expected row offset 12, found 'x'".
  std::int64_t integer(const char* what, std::int64_t index = -1);
  /// A signed or unsigned 64-bit integer, as near as a double comes to it.
  double whole_number(const char* what);
  /// A real; one that is too small for a double is 0.
  double number(const char* what);
  /// Up to the next blank; empty at the end of the line.
  std::string_view word();
  /// The same for a message: a word may be the whole file.
  std::string shown_word() { return std::string(word().substr(0, 40)); }
  /// Whether the next character on the line was `expected`; then it is behind.
  bool skip(char expected);

  bool at_line_end();  ///< only blanks are left on this line
  bool at_end();       ///< only blanks and empty lines are left in the file
  void end_line();     ///< demands at_line_end and goes to the next line
  void skip_line();

  /// At most so many things that take at least so many bytes each can follow: what a damaged header's number is cut to.
  std::int64_t at_most(std::int64_t count, std::int64_t bytes_each) const;
  const std::string& file() const { return file_; }  ///< printable
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  void skip_blanks();
  void skip_plus();
  template <class Number>
  Number parse(const char* what, std::int64_t index);

  std::string_view text_;
  std::string file_;
  std::size_t position_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace vostok::sparse
