// SPDX-License-Identifier: Apache-2.0
// The AF_PACKET port over DPDK's packet memory: handles are mbufs, so that an engine can join
// kernel interfaces and DPDK devices. A frame larger than a buffer is a chain.
#include <rte_mbuf.h>

#include "af_packet_path.h"
#include "merlon/base/make_error.h"
#include "merlon/io/dpdk.h"

namespace merlon::io {
namespace {

rte_mbuf* as_mbuf(void* handle) noexcept { return static_cast<rte_mbuf*>(handle); }

class MbufMemory {
 public:
  static constexpr BufferKind kKind = BufferKind::kDpdk;
  // 64 KiB and a tag in buffers of 2 KiB.
  static constexpr unsigned kMaxSegments = 34;
  // A device that the frame may leave by doesn't know the kernel's notes.
  static constexpr bool kCarriesOffloads = false;

  explicit MbufMemory(std::shared_ptr<MbufPool> pool)
      : pool_(std::move(pool)), size_(pool_->data_size()) {}

  void* take(std::uint32_t size, iovec* pieces, unsigned& count) noexcept {
    rte_mbuf* first = rte_pktmbuf_alloc(pool_->raw());
    if (first == nullptr) return nullptr;
    rte_mbuf* last = first;
    count = 0;
    for (;;) {
      const std::uint32_t n = std::min(size, size_);
      pieces[count++] = {rte_pktmbuf_mtod(last, void*), n};
      last->data_len = static_cast<std::uint16_t>(n);
      size -= n;
      if (size == 0 || count == kMaxSegments) break;
      rte_mbuf* more = rte_pktmbuf_alloc(pool_->raw());
      if (more == nullptr) {
        rte_pktmbuf_free(first);
        return nullptr;
      }
      last->next = more;
      last = more;
    }
    first->nb_segs = static_cast<std::uint16_t>(count);
    return first;
  }
  // Of a frame in several segments the first is judged; all are sent. One that was cut says so by
  // its lengths, which view() compares.
  static std::uint32_t finish(void* handle, std::uint32_t captured, std::uint32_t length,
                              base::Nanos, const FrameOffload&) noexcept {
    rte_mbuf* m = as_mbuf(handle);
    m->pkt_len = length;
    std::uint32_t left = captured;
    for (rte_mbuf* s = m; s != nullptr; s = s->next) {
      s->data_len = static_cast<std::uint16_t>(std::min<std::uint32_t>(s->data_len, left));
      left -= s->data_len;
    }
    return m->data_len;
  }
  static unsigned view(void* handle, iovec* pieces, std::uint32_t& length,
                       FrameOffload& offload) noexcept {
    offload = {};
    unsigned count = 0;
    length = 0;
    const rte_mbuf* m = as_mbuf(handle);
    const std::uint32_t want = m->pkt_len;
    for (; m != nullptr; m = m->next) {
      if (count == kMaxSegments) return 0;
      pieces[count++] = {rte_pktmbuf_mtod(m, void*), m->data_len};
      length += m->data_len;
    }
    return length == want ? count : 0;
  }
  static void release(void* const* handles, unsigned count) noexcept {
    rte_pktmbuf_free_bulk(reinterpret_cast<rte_mbuf**>(const_cast<void**>(handles)), count);
  }
  void* allocate(std::uint32_t size, base::Byte*& data) noexcept {
    rte_mbuf* m = size > size_ ? nullptr : rte_pktmbuf_alloc(pool_->raw());
    if (m != nullptr) data = rte_pktmbuf_mtod(m, base::Byte*);
    return m;
  }
  static void set_length(void* handle, std::uint32_t length) noexcept {
    rte_mbuf* m = as_mbuf(handle);
    const std::uint32_t room = static_cast<std::uint32_t>(m->buf_len) - m->data_off;
    m->data_len = static_cast<std::uint16_t>(std::min(length, room));
    m->pkt_len = m->data_len;
  }

 private:
  std::shared_ptr<MbufPool> pool_;
  std::uint32_t size_;
};

}  // namespace

base::Result<std::unique_ptr<AfPacketPort>> AfPacketPort::create(AfPacketPortSettings settings,
                                                                 std::shared_ptr<MbufPool> pool) {
  settings.carries_offloads = false;
  auto port =
      std::make_unique<AfPacketPath<MbufMemory>>(std::move(settings), MbufMemory(std::move(pool)));
  if (auto opened = port->open(); !opened.ok()) return opened.error();
  return std::unique_ptr<AfPacketPort>(std::move(port));
}

}  // namespace merlon::io
