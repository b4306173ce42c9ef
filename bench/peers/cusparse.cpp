#include "bench/peers/cusparse.hpp"

#include "bench/peers/cusparse_sddmm.hpp"
#include "bench/peers/cusparse_spmm.hpp"

namespace vostok::bench {

namespace cusparse {

Api load_api() {
  const device::cuda::SharedObject library =
      open_peer_library({"libcusparse.so.13", "libcusparse.so.12", "libcusparse.so"}, "libnvJitLink.so.*");
  Api api;
#define VOSTOK_LOAD(symbol, ...) load(library, api.symbol);
  VOSTOK_CUSPARSE_FUNCTIONS(VOSTOK_LOAD)
#undef VOSTOK_LOAD
  return api;
}

}  // namespace cusparse

namespace {

class Cusparse : public Peer {
 public:
  Cusparse(device::Device& device, const cusparse::Api& api) : device_(device), api_(api) {
    cusparse::require(api_, api_.cusparseCreate, &handle_);
  }
  ~Cusparse() override { api_.cusparseDestroy(handle_); }
  Cusparse(const Cusparse&) = delete;
  Cusparse& operator=(const Cusparse&) = delete;

  std::string version() const override {
    int version = 0;
    cusparse::require(api_, api_.cusparseGetVersion, handle_, &version);
    return fmt::format("{}.{}.{}", version / 1000, version % 1000 / 100, version % 100);
  }

  std::vector<PeerRun> prepare(const SpmmOperands& operands) override {
    return cusparse::prepare_spmm(device_, api_, handle_, operands);
  }
  std::vector<PeerRun> prepare(const SddmmOperands& operands) override {
    return cusparse::prepare_sddmm(device_, api_, handle_, operands);
  }

 private:
  device::Device& device_;
  cusparse::Api api_;
  cusparse::Handle handle_ = nullptr;
};

}  // namespace

std::shared_ptr<Peer> open_cusparse(device::Device& device) { return make_cusparse(device, cusparse::load_api()); }

std::shared_ptr<Peer> make_cusparse(device::Device& device, const cusparse::Api& api) {
  return std::make_shared<Cusparse>(device, api);
}

}  // namespace vostok::bench
