#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

const Arguments small = {"--random", "33x29x0.6", "--n", "7"};

TEST_CASE("spmm: every type, layout, stride and batch is verified") {
  const Tool tool;
  check_verified(tool, "spmm", small,
                 {{"--dtype", "f16"},
                  {"--dtype", "bf16", "--output-dtype", "f32", "--index", "i32"},
                  {"--layout", "column_major", "--leading", "31", "--math", "strict"},
                  {"--output-layout", "column_major", "--output-leading", "40", "--alignment", "4"},
                  {"--batch", "3", "--values-per-batch", "--index", "u16"}});
}

TEST_CASE("spmm: every word of an epilogue is verified") {
  const Tool tool;
  check_verified(tool, "spmm", small,
                 {{"--epilogue", "bias_per_row,relu"},
                  {"--epilogue", "scale=-2.5,bias_per_column,gelu"},
                  {"--epilogue", "device_scale=0.5,residual,gelu_tanh"},
                  {"--epilogue", "accumulate,residual,silu"},
                  {"--dtype", "bf16", "--epilogue", "bias_per_row", "--set", "epilogue.bias_element=bf16"}});
}

TEST_CASE("spmm: --transpose multiplies by the transpose, and the report says so") {
  const Tool tool;
  const Outcome outcome = tool.run(on_emulator(
      "spmm", {"--random", "24x40x0.7", "--n", "8", "--transpose", "--dtype", "f16", "--epilogue", "silu"}));
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.output, "C[40,8] = A^T[40,24] B[24,8], f16, math accurate, epilogue silu"));
  CHECK(contains(outcome.output, "VERIFIED\n"));
}

TEST_CASE("spmm: values that persist are packed once, and the report says into what, how large and how fast") {
  const Tool tool;
  check_verified(tool, "spmm", small + Arguments{"--value-lifetime", "persistent"},
                 {{"--dtype", "f16"},
                  {"--math", "strict", "--transpose"},
                  {"--batch", "3", "--values-per-batch"},
                  {"--epilogue", "residual,relu"}});
  const Arguments strict = {"--random", "24x40x0.5", "--n", "8", "--math", "strict", "--value-lifetime", "persistent"};
  const Outcome text = tool.run(on_emulator("spmm", strict));
  CHECK(contains(text.output, "csr/f32, 1920 bytes; packing takes "));
  CHECK(contains(text.output, "values packed once"));
  const auto object = json_of(tool.run(on_emulator("spmm", strict + Arguments{"--json"})));
  CHECK(object["value_lifetime"] == "persistent");
  CHECK(object["packed_format"] == "csr/f32");
  CHECK(object["packed_bytes"] == 1920);
  CHECK(object["pack_us"] > 0);
  CHECK_FALSE(json_of(tool.run(on_emulator("spmm", small + Arguments{"--json"}))).contains("pack_us"));
}

TEST_CASE("spmm: degenerate sizes are right: no rows, no columns, no nonzeros, n = 0") {
  const Tool tool;
  for (const char* random : {"0x5x0.5", "5x0x0.5", "0x0x0", "5x7x1", "1x1x0"})
    check_verified(tool, "spmm", {"--random", random},
                   {{"--n", "0"}, {"--n", "1"}, {"--n", "9", "--epilogue", "bias_per_row"}});
}

TEST_CASE("spmm: JSON tells the problem") {
  const Tool tool;
  const auto object =
      json_of(tool.run(on_emulator("spmm", {"--random", "16x8x0.5", "--n", "4", "--dtype", "f16", "--output-dtype",
                                            "f32", "--batch", "2", "--epilogue", "relu", "--json"})));
  CHECK(object["m"] == 16);
  CHECK(object["k"] == 8);
  CHECK(object["n"] == 4);
  CHECK(object["nonzeros"] == 64);
  CHECK(object["dtype"] == "f16");
  CHECK(object["output_dtype"] == "f32");
  CHECK(object["batch"] == 2);
  CHECK(object["epilogue"] == "relu");
  CHECK(object["transpose"] == false);
  CHECK(object["layout"] == "row_major");
}

TEST_CASE("spmm: a bad word of an epilogue is named, and the good ones are listed") {
  const Tool tool;
  const auto refuse = [&](const char* list, const std::vector<std::string>& parts) {
    check_refused(tool.run(on_emulator("spmm", {"--random", "4x4x0", "--n", "1", "--epilogue", list})), parts);
  };
  refuse("relu,tanh", {"--epilogue", "'tanh'",
                       "bias_per_row, bias_per_column, residual, accumulate, scale=X, device_scale=X, relu, gelu"});
  refuse("relu,,residual", {"''", "is not one of"});
  refuse("relu,gelu", {"'gelu' does not go with 'relu'"});
  refuse("bias_per_row,bias_per_column", {"'bias_per_column' does not go with 'bias_per_row'"});
  refuse("residual,residual", {"'residual' does not go with 'residual'"});
  refuse("scale", {"'scale' needs a number: scale=X"});
  refuse("scale=nan", {"'nan' is not a finite number"});
  refuse("scale=1,device_scale=2", {"'device_scale=2' does not go with 'scale=1'"});
  refuse("relu=1", {"'relu=1' takes no value"});
}

TEST_CASE("spmm: a value that makes no sense is refused by the library, by name") {
  const Tool tool;
  const auto refuse = [&](const Arguments& options, const std::vector<std::string>& parts) {
    check_refused(tool.run(on_emulator("spmm", Arguments{"--random", "8x8x0.5", "--n", "4"} + options)), parts);
  };
  refuse({"--alignment", "3"}, {"alignment_bytes = 3"});
  refuse({"--leading", "3"}, {"dense_leading = 3"});
  refuse({"--output-leading=-1"}, {"--output-leading: -1 is less than 0"});
  refuse({"--set", "output_leading=-1"}, {"output_leading = -1"});
  refuse({"--dtype", "f64"}, {"--dtype", "'f64'", "f32, f16, bf16"});
  refuse({"--output-dtype", "int"}, {"--output-dtype", "'int'"});
  refuse({"--layout", "diagonal"}, {"--layout", "row_major, column_major"});
}

}  // namespace
}  // namespace vostok::cli::testing
