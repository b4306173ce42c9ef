// Below `vostok cache`: each function adds one subcommand, and what they share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cache/schema.hpp"
#include "cache/signature.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace vostok::cli {

void add_cache_ls(CLI::App& parent, int& status);
void add_cache_show(CLI::App& parent, int& status);
void add_cache_dump(CLI::App& parent, int& status);
void add_cache_load(CLI::App& parent, int& status);
void add_cache_merge(CLI::App& parent, int& status);
void add_cache_verify(CLI::App& parent, int& status);
void add_cache_prune(CLI::App& parent, int& status);
void add_cache_rank(CLI::App& parent, int& status);
void add_cache_regret(CLI::App& parent, int& status);
void add_cache_keygen(CLI::App& parent, int& status);
void add_cache_sign(CLI::App& parent, int& status);

/// The path of the user's own file, which may not exist. Errors: io_failure if no folder is named.
std::filesystem::path user_cache_file(cache::Content content);

/// The file that a command works on: `given` if not empty, else the user's own file of that content.
std::filesystem::path cache_file_or_own(const std::string& given, cache::Content content);

/// The existing ones of the user's two files and the shipped ones.
std::vector<std::filesystem::path> cache_files_here();

/// The keys given by --trust. Errors: as parse_public_key.
std::vector<cache::PublicKey> public_keys(const std::vector<std::string>& given);

/// The bytes of a text file, or of stdin for "-". Errors: io_failure.
std::string read_text(const std::string& path);

std::string kibibytes(std::int64_t bytes);

}  // namespace vostok::cli
