// `--epilogue LIST`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include <vostok/problem.hpp>

#include "cli/word_list.hpp"

namespace vostok::cli {

/// A word for each activation.
std::vector<Word> activation_words(Activation& activation);

/// Adds `--epilogue`, a list of these words; `text` receives it as typed.
void add_word_list_option(CLI::App& app, std::string& text, const std::vector<Word>& words);

/// The `--epilogue` of an SpMM: every field of the library's Epilogue. `factor` receives the scale's value.
void add_epilogue_option(CLI::App& app, Epilogue& epilogue, float& factor, std::string& text);

}  // namespace vostok::cli
