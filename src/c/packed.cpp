// Packed values.
#include "c/plans.hpp"
#include "c/structures.hpp"

namespace vostok::c {

template <>
struct Structure<vostok_packed_memory> {
  static constexpr const char* name = "vostok_packed_memory";
  static void set_defaults(vostok_packed_memory&) {}
};

template <>
struct Structure<vostok_load_options> {
  static constexpr const char* name = "vostok_load_options";
  static void set_defaults(vostok_load_options& made) { made.keep = static_cast<std::int32_t>(LoadOptions{}.keep); }
};

namespace {

/// Memory of the caller's, given back with the last handle of what lies in it; where nothing came to lie there, it
/// stays the caller's.
class LentMemory {
 public:
  explicit LentMemory(const vostok_packed_memory& memory)
      : data_(memory.data), release_(memory.release), user_(memory.user) {}
  ~LentMemory() {
    if (taken_ && release_ != nullptr) release_(data_, user_);
  }
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;
  void take() { taken_ = true; }

 private:
  void* data_;
  void (*release_)(void*, void*);
  void* user_;
  bool taken_ = false;
};

/// A handle to what `make(memory)` puts into the caller's memory.
template <class Make>
vostok_status make_in_memory(const vostok_packed_memory* given, vostok_packed** packed, const Make& make) noexcept {
  return make_handle(packed, "packed", [&] {
    const vostok_packed_memory known = read(given);
    const auto lent = std::make_shared<LentMemory>(known);
    PackedValues made = make(PackedMemory{.data = known.data, .bytes = known.bytes, .owner = lent});
    lent->take();
    return made;
  });
}

LoadOptions load_options_of(const vostok_load_options* given) {
  const vostok_load_options known = read_or_defaults(given);
  LoadOptions options{.topology = known.topology == nullptr ? Topology() : known.topology->value,
                      .stream = stream_of(known.stream)};
  const TakeFields take(Structure<vostok_load_options>::name);
  take("keep", known.keep, options.keep);
  return options;
}

const PackedValues& packed_of(const vostok_packed* packed) { return required(packed, "packed").value; }

}  // namespace

}  // namespace vostok::c

using namespace vostok::c;

vostok_status vostok_plan_pack(const vostok_plan* plan, void* stream, const void* values, vostok_packed** packed) {
  return make_handle(packed, "packed",
                     [&] { return plan_of<vostok::Spmm>(plan, "pack values for").pack(stream_of(stream), values); });
}

void vostok_packed_memory_init(vostok_packed_memory* memory, size_t size) { initialise(memory, size); }
void vostok_load_options_init(vostok_load_options* options, size_t size) { initialise(options, size); }

vostok_status vostok_plan_pack_into(const vostok_plan* plan, void* stream, const void* values,
                                    const vostok_packed_memory* memory, vostok_packed** packed) {
  return make_in_memory(memory, packed, [&](const vostok::PackedMemory& into) {
    return plan_of<vostok::Spmm>(plan, "pack values for").pack_into(stream_of(stream), values, into);
  });
}

vostok_packed* vostok_packed_retain(vostok_packed* packed) { return retain(packed); }

void vostok_packed_release(vostok_packed* packed) { release(packed); }

const char* vostok_packed_format(const vostok_packed* packed) {
  return guarded_text([&] { return packed_of(packed).format(); });
}

std::int64_t vostok_packed_bytes(const vostok_packed* packed) {
  return guarded_value(std::int64_t{-1}, [&] { return packed_of(packed).bytes(); });
}

vostok_status vostok_packed_topology(const vostok_packed* packed, vostok_topology** topology) {
  return make_handle(topology, "topology", [&] { return packed_of(packed).topology(); });
}

vostok_status vostok_packed_save(const vostok_packed* packed, vostok_bytes** bytes) {
  return make_handle(bytes, "bytes", [&] { return packed_of(packed).save(); });
}

vostok_status vostok_packed_save_head(const vostok_packed* packed, vostok_bytes** bytes) {
  return make_handle(bytes, "bytes", [&] { return packed_of(packed).save_head(); });
}

vostok_status vostok_packed_load(const vostok_context* context, const vostok_topology* topology, const void* data,
                                 size_t size, vostok_packed** packed) {
  return make_handle(packed, "packed", [&] {
    const std::span<const std::byte> saved = span_of(data, size);
    if (topology == nullptr) return context_of(context).load_packed(saved);
    return context_of(context).load_packed(topology->value, saved);
  });
}

vostok_status vostok_packed_load_with(const vostok_context* context, const void* data, size_t size,
                                      const vostok_load_options* options, vostok_packed** packed) {
  return make_handle(packed, "packed",
                     [&] { return context_of(context).load_packed(span_of(data, size), load_options_of(options)); });
}

vostok_status vostok_packed_adopt(const vostok_context* context, const void* head, size_t head_size,
                                  const vostok_packed_memory* values, const vostok_load_options* options,
                                  vostok_packed** packed) {
  return make_in_memory(values, packed, [&](const vostok::PackedMemory& memory) {
    const vostok::Context& adopting = context_of(context);
    if (head == nullptr) return adopting.adopt_packed(memory, load_options_of(options));
    return adopting.adopt_packed(span_of(head, head_size), memory, load_options_of(options));
  });
}
