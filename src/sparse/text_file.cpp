#include "sparse/text_file.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/text.hpp"

namespace vostok::sparse {
namespace {

bool is_blank(char character) { return character == ' ' || character == '\t' || character == '\r'; }

}  // namespace

std::string read_bytes(const std::filesystem::path& path) {
  const auto refuse = [&] { fail(ErrorCode::io_failure, "cannot read {}: {}", path.string(), std::strerror(errno)); };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) refuse();
  std::string bytes;
  constexpr std::size_t step_bytes = std::size_t{1} << 20;
  for (std::size_t got = step_bytes; got == step_bytes;) {  // not sized ahead: pipes have no size, folders a wrong one
    const std::size_t begin = bytes.size();
    bytes.resize(begin + step_bytes);
    got = std::fread(bytes.data() + begin, 1, step_bytes, file.get());
    bytes.resize(begin + got);
  }
  if (std::ferror(file.get()) != 0) refuse();
  return bytes;
}

void Scanner::refuse(const std::string& reason) const { fail(ErrorCode::invalid_topology, "cannot read {}: line {}: {}", file_, line_, reason); }

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
  if (!at_line_end()) refuse(fmt::format("unexpected '{}' at its end", word()));
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
  const char* const begin = text_.data() + position_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), result);
  if (error == std::errc()) {
    position_ += static_cast<std::size_t>(end - begin);
    return result;
  }
  const std::string wanted = index < 0 ? what : fmt::format("{} {}", what, index);
  if (position_ == text_.size()) refuse(fmt::format("expected {}, found the end of the file", wanted));
  if (text_[position_] == '\n') refuse(fmt::format("expected {}, found the end of the line", wanted));
  constexpr std::size_t shown = 40;  // of a word that may be the whole file
  refuse(fmt::format("expected {}, found '{}'{}", wanted, word().substr(0, shown),
                     error == std::errc::result_out_of_range ? ", which is too large" : ""));
}

std::int64_t Scanner::integer(const char* what, std::int64_t index) { return parse<std::int64_t>(what, index); }

double Scanner::number(const char* what, std::int64_t index) {
  skip('+');  // other writers' sign, which from_chars does not know
  return parse<double>(what, index);
}

}  // namespace vostok::sparse
