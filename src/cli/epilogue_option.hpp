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

/// Adds `--epilogue`, a list of these words; `text` gets it as it was given.
void add_word_list_option(CLI::App& app, std::string& text, const std::vector<Word>& words);

/// `--epilogue` of an SpMM: everything that the library's Epilogue holds. `factor` gets the scale's value.
void add_epilogue_option(CLI::App& app, Epilogue& epilogue, float& factor, std::string& text);

}  // namespace vostok::cli
