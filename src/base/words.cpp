#include "base/words.hpp"

#include <algorithm>
#include <charconv>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace vostok {

namespace {

bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n'; }

bool needs_no_quotes(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         std::string_view("_-./+,:=@%").find(letter) != std::string_view::npos;
}

class Splitter {
 public:
  explicit Splitter(std::string_view line) : rest_(line) {}

  std::vector<std::string> words() {
    std::vector<std::string> found;
    while (skip_blanks()) found.push_back(word());
    return found;
  }

 private:
  bool skip_blanks() {
    rest_.remove_prefix(
        static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), is_blank) - rest_.begin()));
    return !rest_.empty();
  }

  std::string word() {
    std::string made;
    while (!rest_.empty() && !is_blank(rest_.front())) {
      if (take("$'")) take_escaped(made);
      else if (take("'")) take_plain(made);
      else if (take("\"")) take_doubled(made);
      else if (take("\\")) made += next("a backslash has nothing behind it");
      else made += next("");
    }
    return made;
  }

  void take_plain(std::string& made) {
    while (!take("'")) made += next("a quote (') is not closed");
  }

  void take_doubled(std::string& made) {
    while (!take("\"")) {
      const bool escaped =
          rest_.size() > 1 && rest_[0] == '\\' && std::string_view("\"\\$`").find(rest_[1]) != std::string_view::npos;
      if (escaped) rest_.remove_prefix(1);
      made += next("a quote (\") is not closed");
    }
  }

  void take_escaped(std::string& made) {
    while (!take("'")) made += take("\\") ? escape() : next("a quote ($') is not closed");
  }

  char escape() {
    const char kind = next("a quote ($') is not closed");
    switch (kind) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      case '\\':
      case '\'':
      case '"': return kind;
      case 'x': return hexadecimal();
      default: fail(ErrorCode::invalid_argument, "\\{} is not known in $''", printable(std::string_view(&kind, 1)));
    }
  }

  char hexadecimal() {
    unsigned char value = 0;
    const std::string_view digits = rest_.substr(0, 2);
    const auto [stopped, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc()) fail(ErrorCode::invalid_argument, "\\x has no hexadecimal digit behind it");
    rest_.remove_prefix(static_cast<std::size_t>(stopped - digits.data()));
    return static_cast<char>(value);
  }

  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  char next(const char* missing) {
    if (rest_.empty()) fail(ErrorCode::invalid_argument, "{}", missing);
    const char letter = rest_.front();
    rest_.remove_prefix(1);
    return letter;
  }

  std::string_view rest_;
};

std::string escaped(std::string_view word) {
  std::string text = "$'";
  for (const char letter : word) {
    if (letter == '\'' || letter == '\\') text += {'\\', letter};
    else if (letter == '\n') text += "\\n";
    else if (letter >= ' ' && letter <= '~') text += letter;
    else text += fmt::format("\\x{:02x}", static_cast<unsigned char>(letter));
  }
  return text + "'";
}

}  // namespace

std::vector<std::string> split_words(std::string_view line) { return Splitter(line).words(); }

std::string quoted_word(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), needs_no_quotes)) return std::string(word);
  constexpr std::string_view changed_by_shells = "\"\\$`!";  // between double quotes
  if (word.find_first_of(changed_by_shells) == std::string_view::npos && printable(word) == word)
    return fmt::format("\"{}\"", word);
  return escaped(word);
}

}  // namespace vostok
