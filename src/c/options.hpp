// Options of contexts and plans, and the callbacks that they carry.
#pragma once

#include <vostok/vostok.h>
#include <vostok/context.hpp>

#include "c/structures.hpp"

namespace vostok::c {

template <>
struct Structure<vostok_options> {
  static constexpr const char* name = "vostok_options";
  static void set_defaults(vostok_options& made);
};

template <>
struct Structure<vostok_plan_options> {
  static constexpr const char* name = "vostok_plan_options";
  static void set_defaults(vostok_plan_options& made);
};

/// Null means the defaults. Errors: invalid_argument, unsupported.
Options options_of(const vostok_options* given);
PlanOptions options_of(const vostok_plan_options* given);

}  // namespace vostok::c
