#include "cli/word_list.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "cli/enum_option.hpp"
#include "cli/number_option.hpp"

namespace vostok::cli {

namespace {

std::string known_words(const std::vector<Word>& words) {
  std::vector<std::string> texts;
  texts.reserve(words.size());
  for (const Word& word : words) texts.push_back(word.text + (word.has_number ? "=X" : ""));
  return join(texts);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    items.push_back(list.substr(start, comma - start));
    start = comma + 1;
  }
  return items;
}

}  // namespace

void take_words(const std::string& option, const std::string& list, const std::vector<Word>& words) {
  std::map<std::string, std::string> taken;  // the word taken from each group
  for (const std::string& item : split(list)) {
    const std::size_t equals = item.find('=');
    const std::string text = item.substr(0, equals);
    const auto word = std::find_if(words.begin(), words.end(), [&](const Word& known) { return known.text == text; });
    if (word == words.end())
      throw CLI::ValidationError(option, fmt::format("'{}' is not one of {}", text, known_words(words)));
    if (word->has_number != (equals != std::string::npos))
      throw CLI::ValidationError(
          option, fmt::format("'{}' {}", item, word->has_number ? "needs a number: " + text + "=X" : "takes no value"));
    const auto [other, is_first] = taken.emplace(word->group.empty() ? word->text : word->group, item);
    if (!is_first) throw CLI::ValidationError(option, fmt::format("'{}' does not go with '{}'", item, other->second));
    word->take(word->has_number ? number_value<float>(option, item.substr(equals + 1), {}) : 0);
  }
}

}  // namespace vostok::cli
