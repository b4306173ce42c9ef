#include "codegen/fields.hpp"

#include <doctest/doctest.h>

#include "codegen/expression.hpp"

namespace vostok {
namespace {

enum class Flavour : unsigned char { plain, spiced };
constexpr const char* name(Flavour value) {
  switch (value) {
    case Flavour::plain: return "plain";
    case Flavour::spiced: return "spiced";
  }
  return nullptr;
}
constexpr const char* type_name(Flavour) { return "Flavour"; }

struct Dish {
  int servings = 2;
  bool hot = true;
  Flavour flavour = Flavour::plain;
};
template <class S, class Visit>
  requires std::is_same_v<std::remove_const_t<S>, Dish>
constexpr void fields(S& dish, Visit&& visit) {
  visit("servings", dish.servings);
  visit("hot", dish.hot);
  visit("flavour", dish.flavour);
}

struct Forgetful {
  int listed = 0;
  int forgotten = 0;
};
template <class S, class Visit>
  requires std::is_same_v<std::remove_const_t<S>, Forgetful>
constexpr void fields(S& value, Visit&& visit) {
  visit("listed", value.listed);
}

static_assert(codegen::lists_every_field<Dish>());
static_assert(!codegen::lists_every_field<Forgetful>());

}  // namespace

TEST_CASE("a struct survives the way to text and back") {
  const Dish dish{.servings = 7, .hot = false, .flavour = Flavour::spiced};
  const FieldMap map = codegen::to_map(dish);
  CHECK(map == FieldMap{{"servings", "7"}, {"hot", "false"}, {"flavour", "spiced"}});
  CHECK(codegen::to_map(codegen::from_map<Dish>(map).value_or(Dish{})) == map);
}

TEST_CASE("fields that a map lacks keep their default and unknown ones are counted") {
  int unknown = 0;
  const Dish dish = codegen::from_map<Dish>({{"servings", "3"}, {"colour", "red"}}, &unknown).value_or(Dish{});
  CHECK(dish.servings == 3);
  CHECK(dish.hot);
  CHECK(unknown == 1);
}

TEST_CASE("a value that does not parse gives nothing") {
  for (const char* bad : {"", "x", "3x", "99999999999", "3.5"})
    CHECK_FALSE(codegen::from_map<Dish>({{"servings", bad}}).has_value());
  CHECK_FALSE(codegen::from_map<Dish>({{"hot", "yes"}}).has_value());
  CHECK_FALSE(codegen::from_map<Dish>({{"flavour", "sour"}}).has_value());
}

TEST_CASE("an expression writes out every field by name") {
  CHECK(codegen::braced("Dish", Dish{}) ==
        "vostok::Dish{.servings = 2, .hot = true, .flavour = vostok::Flavour::plain}");
  CHECK(codegen::name_expression("cook", "Dish", Dish{}, "Dish", Dish{.servings = 1}) ==
        "vostok::cook<vostok::Fixed<vostok::Dish{.servings = 2, .hot = true, .flavour = vostok::Flavour::plain}, "
        "vostok::Dish{.servings = 1, .hot = true, .flavour = vostok::Flavour::plain}>>");
}

}  // namespace vostok
