// Biases of scores, one for each element of the mask, in its order: where a lane's elements of a tile lie there, which
// the bits of whole rows tell, and what is added.
#pragma once

#include "abi/fused_attention.h"
#include "attention/seen_lines.h"
#include "attention/soft_cap.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/opaque.h"

namespace vostok {

/// Where a lane's elements of a tile and a strip are among those of the mask as it is walked: nothing without biases.
template <class F, bool biased = F::traits.biased>
class TilePlaces {
 public:
  __device__ void load(const FusedAttentionArgs&, int, unsigned) {}
};

template <class F>
class TilePlaces<F, true> {
  static constexpr int queries = block_queries(F::config);

 public:
  __device__ void load(const FusedAttentionArgs& args, int tile, unsigned strip) {
    const unsigned group = threadIdx.x % 32 / 4;
    const unsigned* const words = args.tiles.bits + static_cast<long long>(tile) * tile_words(queries) + strip * 32;
    const auto row = load_global(reinterpret_cast<const Vector<unsigned, 4>*>(words + 4 * group));
    const auto* const starts = reinterpret_cast<const unsigned*>(args.tiles.starts) +
                               static_cast<long long>(tile) * queries + strip * strip_queries() + group;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // Four bits of an octet from each two lanes.
      const unsigned low = of_half(row.at[0], half) | of_half(row.at[1], half) << 2,
                     high = of_half(row.at[2], half) | of_half(row.at[3], half) << 2;
      keys_[half][0] = (low & 0xffffU) | high << 16;
      keys_[half][1] = low >> 16 | (high & 0xffff0000U);
      starts_[half] = static_cast<int>(load_global(starts + 8 * half));
    }
  }

  /// visit(element of the fragment, place) for those of `octets` octets of keys from `first` on that `bits` has.
  template <int octets, class Visit>
  __device__ void visit(int first, unsigned bits, Visit visit) const {
#pragma unroll
    for (int o = 0; o < octets; ++o)
      visit_octet(first + o, bits >> 4 * o, [&](int i, int place) { visit(o, i, place); });
  }

  /// visit(octet, element of the fragment, place) for all elements, 0 for those that `bits` does not have.
  template <int octets, class Visit>
  __device__ void visit_whole(int first, unsigned bits, Visit visit) const {
#pragma unroll
    for (int o = 0; o < octets; ++o)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Pair places = of_pair(first + o, half);
        visit(o, 2 * half, (bits >> (4 * o + 2 * half) & 1) != 0 ? places.first : 0);
        visit(o, 2 * half + 1, (bits >> (4 * o + 2 * half) & 2) != 0 ? places.second : 0);
      }
  }

  /// The same places, which the compiler finds anew: else it keeps those that were found, a register each.
  __device__ TilePlaces again() const {
    TilePlaces other = *this;
    for (auto& of_half : other.keys_)
      for (unsigned& keys : of_half) make_opaque(keys);
    return other;
  }

  /// The same of one octet, by the lowest bits.
  template <class Visit>
  __device__ void visit_octet(int octet, unsigned bits, Visit visit) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Pair places = of_pair(octet, half);
      if ((bits >> 2 * half & 1) != 0) visit(2 * half, places.first);
      if ((bits >> 2 * half & 2) != 0) visit(2 * half + 1, places.second);
    }
  }

  /// visit(octet, element of the fragment, place) for those of all octets that the mask has, whatever queries see.
  template <class Visit>
  __device__ void visit_all(Visit visit) const {
#pragma unroll
    for (int o = 0; o < tile_keys() / 8; ++o)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Pair places = of_pair(o, half);
        if ((places.there & 1) != 0) visit(o, 2 * half, places.first);
        if ((places.there & 2) != 0) visit(o, 2 * half + 1, places.second);
      }
  }

 private:
  struct Pair {
    int first;
    int second;
    unsigned there;  ///< the lowest two bits: whether the mask has them
  };

  static __device__ unsigned of_half(unsigned word, int half) { return word >> 2 * half & 0x33333333U; }

  /// Of the lane's two keys of an octet: as many places behind the start as keys of the row are before them.
  __device__ Pair of_pair(int octet, int half) const {
    const unsigned lane = threadIdx.x % 4;
    const unsigned own = lane % 2 * 2 + lane / 2 * 16;
    const unsigned before_lane = ((lane & 1) != 0 ? 3U << lane / 2 * 16 : 0U) | ((lane & 2) != 0 ? 15U : 0U);
    const int shift = 4 * (octet % 4);
    const unsigned before = 0x10001U * ((1U << shift) - 1) | before_lane << shift;
    const unsigned keys = keys_[half][octet / 4];
    const int first = starts_[half] + (octet >= 4 ? __popc(keys_[half][0]) : 0) + __popc(keys & before);
    const unsigned there = keys >> (shift + own);
    return {first, first + static_cast<int>(there & 1), there};
  }

  unsigned keys_[2][2] = {};  ///< of rows group and group + 8: bits of four octets, their first keys in the lower half
  int starts_[2] = {};
};

/// The places of `strips` strips from one on; behind the last tile they do not matter.
template <class F, int strips>
__device__ inline void load_places(TilePlaces<F> (&places)[strips], const FusedAttentionArgs& args, int tile,
                                   int end_tile, unsigned first_strip) {
#pragma unroll
  for (int q = 0; q < strips; ++q)
    if (tile < end_tile) places[q].load(args, tile, first_strip + q);
}

/// The places of a strip in `tiles` tiles from one on; likewise.
template <class F, int tiles>
__device__ inline void load_tile_places(TilePlaces<F> (&places)[tiles], const FusedAttentionArgs& args, int tile,
                                        int end_tile, unsigned strip) {
#pragma unroll
  for (int t = 0; t < tiles; ++t)
    if (tile + t < end_tile) places[t].load(args, tile + t, strip);
}

/// Words of a lane's biases of an octet of keys: two of 16 bits share one.
template <class F>
consteval int bias_words() {
  return size_of(F::traits.element);
}

/// The biases of a head of queries; nothing without biases.
template <class F, bool biased = F::traits.biased>
class HeadBias {
 public:
  __device__ HeadBias(const FusedAttentionArgs&, long long) {}
};

template <class F>
class HeadBias<F, true> {
  using Type = Element<F::traits.element>;
  using Stored = typename Type::Storage;
  static constexpr int own_words = bias_words<F>();
  /// Wide lines of 16 bits have no registers for places.
  static constexpr bool places_first =
      is_by_key(F::traits) && (own_words == 4 || F::traits.key_size + F::traits.value_size <= 128);

 public:
  __device__ HeadBias(const FusedAttentionArgs& args, long long query_head)
      : bias_(static_cast<const unsigned char*>(args.bias) + sizeof(Stored) * (query_head * args.bias_stride)),
        places_(args.places) {
    make_opaque(bias_);  // else every load multiplies by the stride
  }

  __device__ float at(int place) const { return Type::to_float(stored(place)); }
  __device__ const Stored* address(int place) const { return reinterpret_cast<const Stored*>(bias_) + place; }

  /// Any number where `bits` has none: no such score is read.
  template <int octets>
  __device__ void load(unsigned (&words)[octets][own_words], const TilePlaces<F>& places, int first,
                       unsigned bits) const {
    if constexpr (places_first) {
      load_by_key(words, places, first, bits);
    } else {
#pragma unroll
      for (int i = 0; i < own_words * octets; ++i) words[i / own_words][i % own_words] = 0;
      places.template visit<octets>(first, bits, [&](int o, int i, int place) { put(words[o], i, stored(place)); });
    }
  }

  static __device__ float of(const unsigned (&words)[own_words], int i) {
    if constexpr (own_words == 4) return __builtin_bit_cast(float, words[i]);
    else return Type::to_float(static_cast<Stored>(words[i / 2] >> 16 * (i % 2)));
  }

 private:
  /// Where an element that is walked is among the biases.
  __device__ int bias_place(int place) const {
    if constexpr (is_by_key(F::traits))
      return static_cast<int>(load_global(reinterpret_cast<const unsigned*>(places_) + place));
    else return place;
  }
  __device__ Stored at_place(int place) const { return load_global(reinterpret_cast<const Stored*>(bias_) + place); }
  __device__ Stored stored(int place) const { return at_place(bias_place(place)); }

  static __device__ void put(unsigned (&words)[own_words], int i, Stored bias) {
    if constexpr (own_words == 4) words[i] = __builtin_bit_cast(unsigned, bias);
    else words[i / 2] |= static_cast<unsigned>(bias) << 16 * (i % 2);
  }

  /// Places first and biases then, some octets at a time: a place and its bias one after the other would wait for
  /// memory at every seventh element, as loads that not all lanes take have a predicate each.
  template <int octets>
  __device__ void load_by_key(unsigned (&words)[octets][own_words], const TilePlaces<F>& places, int first,
                              unsigned bits) const {
    constexpr int some = own_words == 4 || octets < 4 ? octets : 4;
#pragma unroll
    for (int from = 0; from < octets; from += some) {
      int found[some][4];
      places.template visit_whole<some>(first + from, bits >> 4 * from,
                                        [&](int o, int i, int place) { found[o][i] = bias_place(place); });
#pragma unroll
      for (int o = 0; o < some; ++o) {
#pragma unroll
        for (unsigned& word : words[from + o]) word = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) put(words[from + o], i, at_place(found[o][i]));
      }
    }
  }

  const unsigned char* bias_;
  const int* places_;
};

/// Adds biases to the scores of `octets` octets of keys from `first` on.
template <class F, int octets, int count>
__device__ inline void add_bias(float (&scores)[count][4], const ScoreRates<F>& rates,
                                const unsigned (&words)[octets][bias_words<F>()], int first = 0) {
#pragma unroll
  for (int o = 0; o < octets; ++o)
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[first + o][i] = rates.biased(scores[first + o][i], HeadBias<F>::of(words[o], i));
}

}  // namespace vostok
