// SPDX-License-Identifier: Apache-2.0
#include "capture_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "frame_template.h"
#include "merlon/base/make_error.h"
#include "merlon/io/pcap_file.h"
#include "merlon/packet/checksum.h"

namespace merlon::lab {
namespace {

using base::Byte;
using base::ByteSpan;

constexpr std::size_t kMaxBytes = 512U << 20, kMaxFrames = 4U << 20;
constexpr std::uint32_t kMinBytes = 60, kHeaderSize = 14, kVlan = 4;

struct Kept {
  std::uint64_t at = 0;  // in the bytes
  std::uint32_t size = 0;
  std::uint32_t flow = 0;
  std::uint64_t sum = 0;
  std::uint16_t tag_offset = 0, checksum_offset = 0;
  bool is_tag_odd = false, is_udp = false;
};

// Both addresses, ports, protocol.
using FlowKey = std::tuple<std::vector<Byte>, std::uint32_t, std::uint8_t>;

class Playback final : public FrameSource {
 public:
  explicit Playback(std::uint16_t trial) : trial_(trial) {}

  // False when the limits are reached.
  bool keep(ByteSpan frame) {
    const std::size_t size = std::max<std::size_t>(frame.size(), kMinBytes);
    if (frames_.size() == kMaxFrames || bytes_.size() + size > kMaxBytes) return false;
    Kept k;
    k.at = bytes_.size();
    k.size = static_cast<std::uint32_t>(size);
    bytes_.insert(bytes_.end(), frame.begin(), frame.end());
    bytes_.resize(k.at + size, 0);
    // From the generator's side, or a switch would keep answers where it saw their receiver.
    constexpr Byte kGroup = 1;
    if ((frame[0] & kGroup) == 0) store_mac(bytes_.data() + k.at, kServerMac);
    store_mac(bytes_.data() + k.at + 6, kClientMac);
    find_room(bytes_.data() + k.at, frame.size(), k);
    largest_ = std::max(largest_, k.size + kFcsSize);
    frames_.push_back(k);
    measured_before_.push_back(measured_);
    if (k.tag_offset != 0) ++measured_;
    return true;
  }
  [[nodiscard]] std::uint64_t measured() const noexcept { return measured_; }
  [[nodiscard]] std::size_t count() const noexcept { return frames_.size(); }

  void build(std::uint64_t number, Byte* out, BuiltFrame& built) const noexcept override {
    const Kept& k = frames_[number % frames_.size()];
    std::memcpy(out, bytes_.data() + k.at, k.size);
    built.size = k.size;
    built.tag_offset = k.tag_offset;
    built.checksum_offset = k.checksum_offset;
    built.sum = k.sum;
    built.is_tag_odd = k.is_tag_odd;
    built.is_udp = k.is_udp;
    built.tag.trial = trial_;
    built.tag.sequence = static_cast<std::uint32_t>(number);
    built.tag.flow = k.flow;
    built.tag.flags = 0;
  }
  [[nodiscard]] FrameFacts facts(std::uint64_t number) const noexcept override {
    const Kept& k = frames_[number % frames_.size()];
    return {k.size + kFcsSize, k.flow, false, k.tag_offset != 0};
  }
  [[nodiscard]] std::uint64_t measured_among(std::uint64_t count) const noexcept override {
    return count / frames_.size() * measured_ + measured_before_[count % frames_.size()];
  }
  [[nodiscard]] std::uint32_t largest() const noexcept override { return largest_; }
  [[nodiscard]] std::uint32_t flow_count() const noexcept override {
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(flows_.size()));
  }

 private:
  void find_room(Byte* frame, std::size_t size, Kept& k);

  const std::uint16_t trial_;
  std::vector<Byte> bytes_;
  std::vector<Kept> frames_;
  std::vector<std::uint64_t> measured_before_;
  std::map<FlowKey, std::uint32_t> flows_;
  std::uint64_t measured_ = 0;
  std::uint32_t largest_ = 64;
};

// A whole IP packet in a frame.
struct IpPart {
  std::size_t transport = 0, end = 0;  // offsets in the frame; transport 0: there is none
  std::size_t addresses = 0, addresses_size = 8;
  std::uint8_t protocol = 0;
};

// The IPv4 header's checksum is made right on the way, for captures taken before an interface
// filled it in.
IpPart find_ipv4(Byte* frame, std::size_t at, std::size_t size) {
  Byte* ip = frame + at;
  if (at + 20 > size) return {};
  const std::size_t header = static_cast<std::size_t>(ip[0] & 0x0fU) * 4;
  const std::size_t total = base::load_be<std::uint16_t>(ip + 2);
  const bool is_fragment = (base::load_be<std::uint16_t>(ip + 6) & 0x3fffU) != 0;
  if (ip[0] >> 4 != 4 || header < 20 || total < header || at + total > size || is_fragment)
    return {};
  base::store_be<std::uint16_t>(ip + 10, 0);
  base::store_be(ip + 10, packet::internet_checksum(ByteSpan(ip, header)));
  return {at + header, at + total, at + 12, 8, ip[9]};
}

IpPart find_ipv6(const Byte* frame, std::size_t at, std::size_t size) {
  constexpr std::size_t kHeader = 40;
  const Byte* ip = frame + at;
  if (at + kHeader > size || ip[0] >> 4 != 6) return {};
  const std::size_t end = at + kHeader + base::load_be<std::uint16_t>(ip + 4);
  if (end > size) return {};
  return {at + kHeader, end, at + 8, 32, ip[6]};
}

IpPart find_packet(Byte* frame, std::size_t size) {
  std::size_t at = 12;
  const auto type_at = [&] { return base::load_be<std::uint16_t>(frame + at); };
  while (at + 2 <= size && (type_at() == 0x8100 || type_at() == 0x88a8)) at += kVlan;
  if (at + 2 > size) return {};
  if (type_at() == 0x86dd) return find_ipv6(frame, at + 2, size);
  return type_at() == 0x0800 ? find_ipv4(frame, at + 2, size) : IpPart{};
}

// Where the tag goes, if it can.
void Playback::find_room(Byte* frame, std::size_t size, Kept& k) {
  const IpPart p = find_packet(frame, size);
  if (p.transport == 0) return;
  Byte* transport = frame + p.transport;
  const std::size_t length = p.end - p.transport;
  const bool is_icmp = p.protocol == (p.addresses_size == 8 ? kProtocolIcmp : kProtocolIcmp6);
  std::size_t before = 8, checksum = is_icmp ? 2 : 6;
  if (p.protocol == kProtocolTcp) {
    if (length < 20) return;
    before = static_cast<std::size_t>(transport[12] >> 4) * 4;
    checksum = 16;
    if (before < 20) return;
  } else if (p.protocol != kProtocolUdp && !is_icmp) {
    return;
  }
  if (length < before + FrameTag::kSize) return;
  const std::size_t tag = length - FrameTag::kSize;
  std::memset(transport + tag, 0, FrameTag::kSize);
  base::store_be<std::uint16_t>(transport + checksum, 0);
  const ByteSpan addresses(frame + p.addresses, p.addresses_size);
  k.sum = packet::checksum_add(0, ByteSpan(transport, length));
  if (p.protocol != kProtocolIcmp)
    k.sum = packet::checksum_add(k.sum, addresses) + p.protocol + length;
  k.tag_offset = static_cast<std::uint16_t>(p.transport + tag);
  k.checksum_offset = static_cast<std::uint16_t>(p.transport + checksum);
  k.is_tag_odd = tag % 2 != 0;
  k.is_udp = p.protocol == kProtocolUdp;
  FlowKey key{{addresses.begin(), addresses.end()},
              is_icmp ? 0 : base::load_be<std::uint32_t>(transport),
              p.protocol};
  k.flow = flows_.emplace(std::move(key), static_cast<std::uint32_t>(flows_.size())).first->second;
}

}  // namespace

base::Result<CaptureFrames> load_capture(const std::string& path, const FrameOptions& options) {
  auto reader = io::CaptureReader::open(path);
  if (!reader.ok()) return reader.error();
  auto source = std::make_unique<Playback>(options.trial);
  std::vector<base::Nanos> times;
  io::CapturePacket p;
  std::uint64_t left_out = 0;
  while ((*reader)->next(p)) {
    const bool is_sendable = p.link_type == io::LinkType::kEthernet &&
                             p.bytes.size() >= kHeaderSize && p.bytes.size() == p.length &&
                             p.length <= options.mtu + kHeaderSize + kVlan;
    if (!is_sendable) {
      ++left_out;
      continue;
    }
    if (!source->keep(p.bytes))
      return base::invalid(fmt::format("capture {} is too large to replay", path),
                           "at most 4194304 frames and 512 MiB: cut it with `editcap -c`");
    // Stamps of a merged capture may step back; frames keep their order.
    times.push_back(times.empty() ? p.time : std::max(p.time, times.back()));
  }
  if (!(*reader)->status().ok()) return (*reader)->status().error();
  if (source->measured() == 0)
    return base::invalid(
        fmt::format("capture {}: of {} frames none can be measured, {} can't be sent", path,
                    source->count() + left_out, left_out),
        "measured are whole UDP, TCP and ICMP frames of IPv4 and IPv6 with 18 bytes of payload");
  const base::Nanos first = times.front();
  for (base::Nanos& t : times) t -= first;
  const auto gaps = static_cast<base::Nanos>(std::max<std::size_t>(times.size() - 1, 1));
  CaptureFrames out;
  out.period = times.back() + std::max<base::Nanos>(times.back() / gaps, 1000);
  out.times = std::make_shared<const std::vector<base::Nanos>>(std::move(times));
  out.source = std::move(source);
  return out;
}

}  // namespace merlon::lab
