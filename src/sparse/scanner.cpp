#include "sparse/scanner.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <optional>

#include "base/number_text.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace vostok::sparse {
namespace {

bool is_blank(char character) { return character == ' ' || character == '\t' || character == '\r'; }

/// As std::from_chars, but a real that is too small for its type is 0.
template <class Number>
std::from_chars_result read_real_or_integer(std::string_view text, Number& result) {
  auto read = std::from_chars(text.data(), text.data() + text.size(), result);
  if constexpr (std::floating_point<Number>) {
    const auto tiny =
        read.ec == std::errc::result_out_of_range ? parse_number<Number>({text.data(), read.ptr}) : std::nullopt;
    if (tiny) read.ec = std::errc();
    result = tiny.value_or(result);
  }
  return read;
}

}  // namespace

Scanner::Scanner(std::string_view text, const std::string& file) : text_(text), file_(printable(file)) {}

void Scanner::refuse(const std::string& reason) const {
  fail(ErrorCode::invalid_topology, "cannot read {}: line {}: {}", file_, line_, printable(reason));
}

std::int64_t Scanner::at_most(std::int64_t count, std::int64_t bytes_each) const {
  const auto left = static_cast<std::int64_t>(text_.size() - position_);
  return std::min(count, left / bytes_each + 1);  // the last one's line end may be missing
}

void Scanner::skip_blanks() {
  while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
}

bool Scanner::at_line_end() {
  skip_blanks();
  return position_ == text_.size() || text_[position_] == '\n';
}

bool Scanner::at_end() {
  while (at_line_end()) {
    if (position_ == text_.size()) return true;
    skip_line();
  }
  return false;
}

void Scanner::end_line() {
  if (!at_line_end()) refuse(fmt::format("unexpected '{}' at its end", shown_word()));
  skip_line();
}

void Scanner::skip_line() {
  position_ = text_.find('\n', position_);
  if (position_ == std::string_view::npos) {
    position_ = text_.size();
  } else {
    ++position_;
    ++line_;
  }
}

std::string_view Scanner::word() {
  skip_blanks();
  const std::size_t begin = position_;
  while (position_ < text_.size() && !is_blank(text_[position_]) && text_[position_] != '\n') ++position_;
  return text_.substr(begin, position_ - begin);
}

bool Scanner::skip(char expected) {
  if (at_line_end() || text_[position_] != expected) return false;
  ++position_;
  return true;
}

template <class Number>
Number Scanner::parse(const char* what, std::int64_t index) {
  skip_blanks();
  Number result{};
  const auto [end, error] = read_real_or_integer(text_.substr(position_), result);
  if (error == std::errc()) {
    position_ = static_cast<std::size_t>(end - text_.data());
    return result;
  }
  const std::string wanted = index < 0 ? what : fmt::format("{} {}", what, index);
  if (position_ == text_.size()) refuse(fmt::format("expected {}, found the end of the file", wanted));
  if (text_[position_] == '\n') refuse(fmt::format("expected {}, found the end of the line", wanted));
  refuse(fmt::format("expected {}, found '{}'{}", wanted, shown_word(),
                     error == std::errc::result_out_of_range ? ", which is too large" : ""));
}

/// Other writers' sign, which from_chars does not know.
void Scanner::skip_plus() {
  skip_blanks();
  const std::string_view rest = text_.substr(position_);
  if (rest.starts_with('+') && !rest.starts_with("+-")) ++position_;
}

std::int64_t Scanner::integer(const char* what, std::int64_t index) { return parse<std::int64_t>(what, index); }

double Scanner::whole_number(const char* what) {
  skip_plus();
  if (text_.substr(position_).starts_with('-')) return static_cast<double>(parse<std::int64_t>(what, -1));
  return static_cast<double>(parse<std::uint64_t>(what, -1));
}

double Scanner::number(const char* what) {
  skip_plus();
  return parse<double>(what, -1);
}

}  // namespace vostok::sparse
