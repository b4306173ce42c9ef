// The A-fragments of a warp from a sparse strip (abi/sparse_strips.h): registers and metadata of one pass, as mma.sp
// and a warp's slice of wgmma.sp take them.
#pragma once

#include "abi/sparse_strips.h"
#include "parts/loads.h"
#include "parts/shared_address.h"

namespace vostok {

/// Four words of shared memory that copies wrote: never moved over a barrier.
__device__ inline Vector<unsigned, 4> load_words(SharedAddress from) {
#if defined(VOSTOK_EMULATOR)
  return *reinterpret_cast<const Vector<unsigned, 4>*>(from.at);
#else
  Vector<unsigned, 4> words;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.at[0]), "=r"(words.at[1]), "=r"(words.at[2]), "=r"(words.at[3])
               : "r"(from.at)
               : "memory");
  return words;
#endif
}

/// The same of global memory, which the launch before may have written: plain loads.
__device__ inline Vector<unsigned, 4> load_words(const unsigned char* from) {
  return load_own(reinterpret_cast<const Vector<unsigned, 4>*>(from));
}
__device__ inline unsigned load_one_word(SharedAddress from) { return load_word(from); }
__device__ inline unsigned load_one_word(const unsigned char* from) {
  return load_own(reinterpret_cast<const unsigned*>(from));
}

/// One strip of a pass.
struct SparseFragment {
  unsigned at[sparse_registers()];
  unsigned metadata;
};

/// Where nothing is to be added: zeros, of two places that exist.
__device__ inline SparseFragment empty_fragment() { return {{0, 0, 0, 0}, 0xeeeeeeeeU}; }

/// One lane's way through a strip. `From` is a SharedAddress, or a pointer to global memory; the strip is 16-byte
/// aligned.
template <class From>
class SparseStrip {
 public:
  SparseStrip() = default;
  __device__ SparseStrip(From strip, unsigned lane)
      : registers_(strip + (sparse_header_bytes() + lane * 16)),
        metadata_(strip + (sparse_header_bytes() + sparse_metadata_begin() + (lane / 4 * 2 + lane % 2) * 4)),
        header_{load_one_word(strip)} {}

  __device__ const SparseHeader& header() const { return header_; }

  /// The fragment of a pass that the strip has.
  __device__ SparseFragment load(int step, unsigned pass) const {
    const unsigned offset = (pass + (step > 0 ? header_.passes(0) : 0)) * sparse_pass_bytes();
    const Vector<unsigned, 4> words = load_words(registers_ + offset);
    return {{words.at[0], words.at[1], words.at[2], words.at[3]}, load_one_word(metadata_ + offset)};
  }

 private:
  From registers_;
  From metadata_;
  SparseHeader header_;
};

}  // namespace vostok
