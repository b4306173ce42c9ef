#include "cli/epilogue_option.hpp"

#include <utility>

#include "cli/enum_option.hpp"

namespace vostok::cli {

namespace {

std::vector<Word> epilogue_words(Epilogue& epilogue, float& factor) {
  const auto scale = [&](Scale kind) {
    return [&epilogue, &factor, kind](float value) {
      epilogue.scale = kind;
      factor = value;
    };
  };
  std::vector<Word> words = {
      {.text = "bias_per_row", .group = "bias", .take = [&](float) { epilogue.bias = Bias::per_row; }},
      {.text = "bias_per_column", .group = "bias", .take = [&](float) { epilogue.bias = Bias::per_column; }},
      {.text = "residual", .take = [&](float) { epilogue.residual = true; }},
      {.text = "accumulate", .take = [&](float) { epilogue.accumulate = true; }},
      {.text = "scale", .group = "scale", .take = scale(Scale::host), .has_number = true},
      {.text = "device_scale", .group = "scale", .take = scale(Scale::device), .has_number = true},
  };
  for (Word& word : activation_words(epilogue.activation)) words.push_back(std::move(word));
  return words;
}

}  // namespace

std::vector<Word> activation_words(Activation& activation) {
  std::vector<Word> words;
  for (const std::string& text : enum_names<Activation>()) {
    if (text == name(Activation::none)) continue;
    words.push_back(
        {.text = text, .group = "activation", .take = [&activation, text](float) { parse_enum(text, activation); }});
  }
  return words;
}

void add_word_list_option(CLI::App& app, std::string& text, const std::vector<Word>& words) {
  std::vector<std::string> texts;
  texts.reserve(words.size());
  for (const Word& word : words) texts.push_back(word.text + (word.has_number ? "=X" : ""));
  const auto take = [&text, words](const std::string& list) {
    take_words("--epilogue", list, words);
    text = list;
  };
  app.add_option_function<std::string>("--epilogue", take,
                                       "What follows before the output is stored, separated by commas: " + join(texts))
      ->type_name("LIST");
}

void add_epilogue_option(CLI::App& app, Epilogue& epilogue, float& factor, std::string& text) {
  add_word_list_option(app, text, epilogue_words(epilogue, factor));
}

}  // namespace vostok::cli
