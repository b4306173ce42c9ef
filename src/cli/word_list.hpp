// Option values that are lists of words: "bias_per_row,relu,scale=0.5".
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace vostok::cli {

/// One word that a list may contain.
struct Word {
  std::string text = {};
  std::string group = {};                ///< a list may contain one word of each group; empty: a group of its own
  std::function<void(float)> take = {};  ///< receives the word's number
  bool has_number = false;               ///< written "word=X"
};

/// Takes each word of a comma-separated list. CLI::ValidationError names the option and a word that is unknown (listing
/// all), contradicts another, or lacks its number.
void take_words(const std::string& option, const std::string& list, const std::vector<Word>& words);

}  // namespace vostok::cli
