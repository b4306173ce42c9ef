#include "cache/dump.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/digest.hpp"
#include "base/field_map.hpp"
#include "base/number_text.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "cache/schema.hpp"
#include "cache/tuning_rows.hpp"

namespace vostok::cache {

namespace {

constexpr std::string_view first_line = "vostok tuning 1";
enum class Type { text, integer, real, optional_real, device, problem };

struct Column {
  const char* name;
  Type type;
};

constexpr Column device_columns[] = {{"uuid", Type::text},
                                     {"name", Type::text},
                                     {"architecture", Type::text},
                                     {"multiprocessors", Type::integer},
                                     {"memory_bytes", Type::integer},
                                     {"l2_bytes", Type::integer}};

constexpr Column problem_columns[] = {{"operation", Type::text},     {"exact", Type::text},
                                      {"policy", Type::text},        {"n", Type::integer},
                                      {"m", Type::integer},          {"k", Type::integer},
                                      {"nonzeros", Type::integer},   {"longest_row", Type::integer},
                                      {"row_variation", Type::real}, {"index_type", Type::text}};

constexpr Column trial_columns[] = {{"problem", Type::problem},
                                    {"device", Type::device},
                                    {"family", Type::text},
                                    {"config", Type::text},
                                    {"code_digest", Type::text},
                                    {"is_default", Type::integer},
                                    {"status", Type::text},
                                    {"reason", Type::text},
                                    {"median_us", Type::optional_real},
                                    {"spread_us", Type::optional_real},
                                    {"rounds", Type::integer},
                                    {"registers", Type::integer},
                                    {"spill_bytes", Type::integer},
                                    {"shared_bytes", Type::integer},
                                    {"driver", Type::text},
                                    {"measured_at", Type::integer}};

constexpr Column winner_columns[] = {{"problem", Type::problem},
                                     {"device", Type::device},
                                     {"family", Type::text},
                                     {"config", Type::text},
                                     {"code_digest", Type::text},
                                     {"median_us", Type::real},
                                     {"default_median_us", Type::optional_real},
                                     {"rounds", Type::integer},
                                     {"effort", Type::text},
                                     {"library_version", Type::text},
                                     {"driver", Type::text},
                                     {"decided_at", Type::integer}};

constexpr Column errata_columns[] = {{"id", Type::text},          {"operation", Type::text},
                                     {"family", Type::text},      {"config", Type::text},
                                     {"exact", Type::text},       {"architecture", Type::text},
                                     {"code_digest", Type::text}, {"last_library_version", Type::text},
                                     {"reason", Type::text},      {"created_at", Type::integer}};

/// The tables in the order of the text: a table comes before those that refer to it.
struct Table {
  const char* name;
  std::span<const Column> columns;
  bool is_referred_to;
};
const Table tables[] = {{"device", device_columns, true},
                        {"problem", problem_columns, true},
                        {"trial", trial_columns, false},
                        {"winner", winner_columns, false},
                        {"errata", errata_columns, false}};

std::string column_list(const Table& table) {
  std::string list;
  for (const Column& column : table.columns) list += (list.empty() ? "" : ", ") + std::string(column.name);
  return list;
}

/// Maps a row number of a device or problem to its label in the text.
using Labels = std::map<std::int64_t, std::string>;

std::string label_of(const Connection& connection, std::int64_t row, const Labels& labels) {
  const auto position = labels.find(row);
  if (position == labels.end())
    throw DatabaseError(Failure::damaged, fmt::format("cannot dump {}: a row refers to row {}, which is not there",
                                                      connection.name(), row));
  return position->second;
}

std::optional<std::string> value_text(const Connection& connection, const Statement& row, int position, Type type,
                                      std::map<std::string, Labels>& labels) {
  switch (type) {
    case Type::text: return row.text(position);
    case Type::integer: return fmt::format("{}", row.integer(position));
    case Type::real:
    case Type::optional_real: {
      const auto value = row.optional_real(position);
      return value ? std::optional(fmt::format("{}", *value))
                   : std::nullopt;  // the shortest text that reads back the same
    }
    case Type::device: return label_of(connection, row.integer(position), labels["device"]);
    case Type::problem: return label_of(connection, row.integer(position), labels["problem"]);
  }
  return std::nullopt;
}

/// One table's lines. If other tables refer to it, its rows' labels are added to `labels`.
std::vector<std::string> lines_of(Connection& connection, const Table& table, std::map<std::string, Labels>& labels) {
  std::vector<std::string> lines;
  Statement row = connection.query(
      fmt::format("SELECT {}{} FROM {}", column_list(table), table.is_referred_to ? ", id" : "", table.name));
  while (row.step()) {
    FieldMap fields;
    int position = 0;
    for (const Column& column : table.columns) {
      if (auto text = value_text(connection, row, position++, column.type, labels))
        fields[column.name] = std::move(*text);
    }
    if (table.is_referred_to) {
      constexpr std::size_t label_digits = 16;
      fields["id"] = digest_of(to_text(fields)).substr(0, label_digits);
      labels[table.name][row.integer(position)] = fields["id"];
    }
    lines.push_back(std::string(table.name) + " " + to_text(fields));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// The start of a faulty line, which may be another file's whole content.
std::string shown(std::string_view text) {
  constexpr std::size_t longest = 80;
  return printable(text.substr(0, longest));
}

/// One line while it is loaded: its fields, and the complaint that names it.
class Line {
 public:
  Line(int number, FieldMap fields) : number_(number), fields_(std::move(fields)) {}

  [[noreturn]] void refuse(const std::string& reason) const {
    fail(ErrorCode::invalid_argument, "cannot load tuning rows: line {}: {}", number_, reason);
  }

  const std::string* find(const char* field) const {
    const auto position = fields_.find(field);
    return position == fields_.end() ? nullptr : &position->second;
  }
  const std::string& text(const char* field) const {
    const std::string* value = find(field);
    if (value == nullptr) refuse(fmt::format("{} is missing", field));
    return *value;
  }
  template <class Number>
  Number number(const char* field) const {
    const std::string& value = text(field);
    const auto parsed = parse_number<Number>(value);
    if (!parsed) refuse(fmt::format("{} = {} is not a number", field, shown(value)));
    return *parsed;
  }
  /// Rejects fields that the table does not have.
  void check_fields(const Table& table) const {
    for (const auto& [field, value] : fields_) {
      const auto is_it = [&name = field](const Column& column) { return name == column.name; };
      const bool is_label = table.is_referred_to && field == "id";
      if (!is_label && std::none_of(table.columns.begin(), table.columns.end(), is_it))
        refuse(fmt::format("{} has no field {}", table.name, shown(field)));
    }
  }

 private:
  int number_;
  FieldMap fields_;
};

/// Maps a label to a row number while a text is loaded.
using Rows = std::map<std::string, std::int64_t>;

/// The state while a text is loaded.
struct Loading {
  std::map<std::string, Rows> rows = {};  ///< of devices and problems
  std::set<std::string> keep = {};        ///< uuids
  std::set<std::string> kept = {};        ///< labels of devices whose uuid is in `keep`
};

std::int64_t referred(const Line& line, const char* field, const Rows& rows) {
  const auto position = rows.find(line.text(field));
  if (position == rows.end()) line.refuse(fmt::format("no {} has the id {}", field, shown(line.text(field))));
  return position->second;
}

void load_device(Connection& connection, const Line& line, Loading& loading) {
  const plan::DeviceKey device{.uuid = line.text("uuid"),
                               .name = line.text("name"),
                               .architecture = line.text("architecture"),
                               .multiprocessors = line.number<int>("multiprocessors"),
                               .memory_bytes = line.number<std::int64_t>("memory_bytes"),
                               .l2_bytes = line.number<std::int64_t>("l2_bytes"),
                               .driver = {}};
  loading.rows["device"][line.text("id")] = device_row(connection, device);
  if (loading.keep.count(device.uuid) != 0) loading.kept.insert(line.text("id"));
}

void load_problem(Connection& connection, const Line& line, Loading& loading) {
  const plan::ProblemKey problem{.operation = line.text("operation"),
                                 .exact = line.text("exact"),
                                 .features = {.m = line.number<std::int64_t>("m"),
                                              .k = line.number<std::int64_t>("k"),
                                              .n = line.number<std::int64_t>("n"),
                                              .nonzeros = line.number<std::int64_t>("nonzeros"),
                                              .longest_row = line.number<std::int64_t>("longest_row"),
                                              .row_variation = line.number<double>("row_variation"),
                                              .index = line.text("index_type")},
                                 .policy = line.text("policy")};
  loading.rows["problem"][line.text("id")] = problem_row(connection, problem);
}

void bind_column(Statement& insert, int position, const Column& column, const Line& line,
                 std::map<std::string, Rows>& rows) {
  switch (column.type) {
    case Type::text: return insert.bind(position, line.text(column.name));
    case Type::integer: return insert.bind(position, line.number<std::int64_t>(column.name));
    case Type::real: return insert.bind(position, line.number<double>(column.name));
    case Type::optional_real:
      return insert.bind(
          position, line.find(column.name) != nullptr ? std::optional(line.number<double>(column.name)) : std::nullopt);
    case Type::device: return insert.bind(position, referred(line, column.name, rows["device"]));
    case Type::problem: return insert.bind(position, referred(line, column.name, rows["problem"]));
  }
}

void load_row(Connection& connection, const Table& table, const Line& line, Loading& loading) {
  std::string marks;
  for (std::size_t i = 0; i < table.columns.size(); ++i) marks += i == 0 ? "?" : ", ?";
  const std::string* device = line.find("device");
  const bool stays = device != nullptr && loading.kept.count(*device) != 0;
  Statement insert = connection.query(fmt::format("INSERT OR {} INTO {}({}) VALUES({})", stays ? "IGNORE" : "REPLACE",
                                                  table.name, column_list(table), marks));
  int position = 0;
  for (const Column& column : table.columns) bind_column(insert, ++position, column, line, loading.rows);
  insert.step();
}

void load_line(Connection& connection, int number, std::string_view text, Loading& loading) {
  const std::string_view title = text.substr(0, text.find(' '));
  const auto fields = parse_field_map(text.substr(std::min(title.size() + 1, text.size())));
  const Line line(number, fields.value_or(FieldMap{}));
  const auto* const table =
      std::find_if(std::begin(tables), std::end(tables), [&](const Table& known) { return title == known.name; });
  if (table == std::end(tables)) line.refuse(fmt::format("there is no table {}", shown(title)));
  if (!fields) line.refuse("its fields are not written as field=value");
  line.check_fields(*table);
  if (title == "device") load_device(connection, line, loading);
  else if (title == "problem") load_problem(connection, line, loading);
  else load_row(connection, *table, line, loading);
}

}  // namespace

std::string dump(const std::filesystem::path& path) {
  Connection connection(path, Access::read_only, tool_lock_timeout_ms);
  check_schema(connection, Content::tuning);
  return dump(connection);
}

std::string dump(Connection& connection) {
  const Transaction one_state(connection, Transaction::Lock::shared);
  std::map<std::string, Labels> labels;
  std::string text = std::string(first_line) + "\n";
  for (const Table& table : tables)
    for (const std::string& line : lines_of(connection, table, labels)) text += line + "\n";
  return text;
}

void load(std::string_view text, const std::filesystem::path& path, const std::vector<std::string>& keep) {
  Connection connection(path, Access::read_write, tool_lock_timeout_ms);
  load(text, connection, keep);
}

void load(std::string_view text, Connection& connection, const std::vector<std::string>& keep) {
  make_schema(connection, Content::tuning);
  Transaction transaction(connection);
  Loading loading{.keep = {keep.begin(), keep.end()}};
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (number == 1 && line != first_line)
      fail(ErrorCode::invalid_argument, R"(cannot load tuning rows: line 1 is "{}", not "{}")", shown(line),
           first_line);
    if (number > 1) load_line(connection, number, line, loading);
  }
  transaction.commit();
}

}  // namespace vostok::cache
