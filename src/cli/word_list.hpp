// Option values that are lists of words: "bias_per_row,relu,scale=0.5".
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace vostok::cli {

/// One word that a list may hold.
struct Word {
  std::string text = {};
  std::string group = {};                ///< of several words of a group a list may hold one; empty: a group of its own
  std::function<void(float)> take = {};  ///< gets the number behind the word
  bool has_number = false;               ///< written "word=X"
};

/// Takes each word of a comma-separated list. CLI::ValidationError names the option and the word that is not known (listing
/// those that are), contradicts another, or lacks its number.
void take_words(const std::string& option, const std::string& list, const std::vector<Word>& words);

}  // namespace vostok::cli
