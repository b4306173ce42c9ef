// The lists of kernel families. A new one is a line in families.hpp and a word here.
#include "ops/families.hpp"

#include <utility>

#include "base/immortal.hpp"

namespace vostok::ops {

namespace {

struct Operation {
  std::string_view name;
  std::vector<std::unique_ptr<Family>> families;
};

template <class... Made>
Operation operation(std::string_view name, Made... families) {
  Operation listed{.name = name, .families = {}};
  (listed.families.push_back(std::move(families)), ...);
  return listed;
}

const std::vector<Operation>& every_operation() {
  static const auto& list = immortal([] {
    std::vector<Operation> made;
    made.push_back(operation("spmm", make_row_tile(), make_nonzero_split(), make_staged_rows(), make_unpack_mma(),
                             make_unpack_wgmma(), make_sparse_vector(), make_sparse_tensor_mma(),
                             make_sparse_tensor_wgmma()));
    made.push_back(operation("sddmm", make_row_strips(), make_tensor_sample(), make_wgmma_sample()));
    made.push_back(operation("softmax", make_row_softmax(), make_split_softmax()));
    made.push_back(operation("softmax_backward", make_row_softmax_backward(), make_split_softmax_backward()));
    made.push_back(operation("attention", make_fused_mma(), make_fused_wgmma()));
    made.push_back(operation("attention_backward", make_fused_backward(), make_fused_backward_wgmma(),
                             make_fused_backward_pair()));
    made.push_back(operation("depthwise", make_depthwise_direct()));
    made.push_back(operation("bias_activation", make_bias_activation()));
    made.push_back(operation("im2col", make_im2col_gather()));
    return made;
  });
  return list;
}

}  // namespace

const std::vector<std::unique_ptr<Family>>& families(std::string_view operation) {
  static const auto& none = immortal([] { return std::vector<std::unique_ptr<Family>>(); });
  for (const Operation& listed : every_operation())
    if (listed.name == operation) return listed.families;
  return none;
}

std::vector<std::string_view> operations() {
  std::vector<std::string_view> names;
  for (const Operation& listed : every_operation()) names.push_back(listed.name);
  return names;
}

const Family* find_family(std::string_view operation, std::string_view name) {
  for (const auto& family : families(operation))
    if (family->name() == name) return family.get();
  return nullptr;
}

}  // namespace vostok::ops
