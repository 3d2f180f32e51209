// SPDX-License-Identifier: Apache-2.0
#include "frame_template.h"

#include <algorithm>
#include <cstring>

#include "merlon/packet/checksum.h"

namespace merlon::lab {
namespace {

using base::Byte;
using base::ByteSpan;

constexpr std::uint32_t kEthernet = 14, kVlan = 4, kIp = 20, kIpv6 = kIp + kIpv6More;
constexpr std::uint16_t kSource6 = 8, kDestination6 = 24, kHost6 = 12;  // offsets

constexpr std::uint32_t header_size(std::uint8_t protocol) noexcept {
  return protocol == kProtocolTcp ? 20 : 8;
}

void store_checksum(Byte* out, std::uint64_t sum, bool is_udp) noexcept {
  std::uint16_t v = packet::checksum_finish(sum);
  if (v == 0 && is_udp) v = 0xffff;
  base::store_be(out, v);
}

}  // namespace

void store_mac(Byte* out, std::uint64_t mac) noexcept {
  base::store_be(out, static_cast<std::uint16_t>(mac >> 32));
  base::store_be(out + 2, static_cast<std::uint32_t>(mac));
}

std::uint32_t FrameTemplate::least_size(std::uint8_t protocol, bool is_ipv6, bool has_vlan,
                                        bool has_tag) noexcept {
  const std::uint32_t needed = kEthernet + (has_vlan ? kVlan : 0) + (is_ipv6 ? kIpv6 : kIp) +
                               header_size(protocol) +
                               (has_tag ? std::uint32_t{FrameTag::kSize} : 0) + kFcsSize;
  return std::max<std::uint32_t>(needed, 64);
}

FrameTemplate::FrameTemplate(const TemplateSpec& spec)
    : bytes_(spec.size - kFcsSize), protocol_(spec.protocol), is_ipv6_(spec.is_ipv6) {
  if (is_ipv6_ && protocol_ == kProtocolIcmp) protocol_ = kProtocolIcmp6;
  lay_out(spec);
  const std::uint32_t length = static_cast<std::uint32_t>(bytes_.size()) - transport_at_;
  transport_sum_ = packet::checksum_add(0, ByteSpan(bytes_).subspan(transport_at_));
  if (protocol_ != kProtocolIcmp) transport_sum_ += protocol_ + length;
  if (is_ipv6_) {
    constexpr std::size_t kAddresses = 32;
    transport_sum_ = packet::checksum_add(
        transport_sum_, ByteSpan(bytes_).subspan(std::size_t{ip_at_} + kSource6, kAddresses));
  } else {
    ip_sum_ = packet::checksum_add(0, ByteSpan(bytes_).subspan(ip_at_, kIp));
  }
}

void FrameTemplate::lay_out_ip(const TemplateSpec& spec) {
  Byte* ip = bytes_.data() + ip_at_;
  const std::size_t size = bytes_.size() - ip_at_;
  if (is_ipv6_) {
    base::store_be<std::uint16_t>(ip - 2, 0x86dd);
    ip[0] = 0x60;
    base::store_be(ip + 4, static_cast<std::uint16_t>(size - kIpv6));
    ip[6] = protocol_;
    ip[7] = 64;
    base::store_be(ip + kSource6, spec.source_network);
    base::store_be(ip + kDestination6, spec.destination_network);
    return;
  }
  base::store_be<std::uint16_t>(ip - 2, 0x0800);
  ip[0] = 0x45;
  base::store_be(ip + 2, static_cast<std::uint16_t>(size));
  base::store_be<std::uint16_t>(ip + 6, 0x4000);  // don't fragment
  ip[8] = 64;
  ip[9] = protocol_;
}

void FrameTemplate::lay_out(const TemplateSpec& spec) {
  Byte* p = bytes_.data();
  const auto size = static_cast<std::uint32_t>(bytes_.size());
  if (spec.has_vlan) {
    base::store_be<std::uint16_t>(p + 12, 0x8100);
    ip_at_ += kVlan;
  }
  lay_out_ip(spec);
  transport_at_ = static_cast<std::uint16_t>(ip_at_ + (is_ipv6_ ? kIpv6 : kIp));

  Byte* transport = p + transport_at_;
  std::uint16_t checksum = 2;
  if (protocol_ == kProtocolTcp) {
    transport[12] = 0x50;
    transport[13] = spec.tcp_flags;
    base::store_be<std::uint16_t>(transport + 14, 0xfaf0);
    checksum = 16;
  } else if (protocol_ == kProtocolUdp) {
    base::store_be(transport + 4, static_cast<std::uint16_t>(size - transport_at_));
    checksum = 6;
  } else {
    transport[0] = is_ipv6_ ? 128 : 8;  // echo request
  }
  checksum_at_ = static_cast<std::uint16_t>(transport_at_ + checksum);

  const std::uint32_t payload_at = transport_at_ + header_size(protocol_);
  const std::uint32_t end = spec.has_tag ? size - std::uint32_t{FrameTag::kSize} : size;
  if (spec.has_tag) tag_at_ = static_cast<std::uint16_t>(end);
  for (std::uint32_t i = payload_at; i < end; ++i) p[i] = static_cast<Byte>('a' + i % 23);
  const std::size_t given = std::min<std::size_t>(spec.payload.size(), end - payload_at);
  std::copy_n(spec.payload.begin(), given, bytes_.begin() + payload_at);
}

void FrameTemplate::write(const FrameFields& fields, Byte* out, BuiltFrame& built) const noexcept {
  std::memcpy(out, bytes_.data(), bytes_.size());
  store_mac(out, fields.destination_mac);
  store_mac(out + 6, fields.source_mac);
  if (ip_at_ != kEthernet) base::store_be(out + 14, fields.vlan);
  Byte* ip = out + ip_at_;
  const std::uint64_t addresses = std::uint64_t{fields.source_ip} + fields.destination_ip;
  if (is_ipv6_) {
    base::store_be(ip + kSource6 + kHost6, fields.source_ip);
    base::store_be(ip + kDestination6 + kHost6, fields.destination_ip);
  } else {
    base::store_be(ip + 12, fields.source_ip);
    base::store_be(ip + 16, fields.destination_ip);
    store_checksum(ip + 10, ip_sum_ + addresses, false);
  }

  Byte* transport = out + transport_at_;
  const bool is_icmp = protocol_ == kProtocolIcmp || protocol_ == kProtocolIcmp6;
  const std::size_t ports_at = is_icmp ? 4 : 0;
  base::store_be(transport + ports_at, fields.source_port);
  base::store_be(transport + ports_at + 2, fields.destination_port);
  std::uint64_t sum = transport_sum_ + fields.source_port + fields.destination_port;
  if (protocol_ == kProtocolTcp) {
    base::store_be(transport + 4, fields.tcp_sequence);
    base::store_be(transport + 8, fields.tcp_acknowledgment);
    sum += std::uint64_t{fields.tcp_sequence} + fields.tcp_acknowledgment;
  }
  if (protocol_ != kProtocolIcmp) sum += addresses;

  built.size = static_cast<std::uint32_t>(bytes_.size());
  built.tag_offset = tag_at_;
  built.checksum_offset = checksum_at_;
  built.sum = sum;
  built.is_tag_odd = ((tag_at_ - transport_at_) & 1) != 0;
  built.is_udp = protocol_ == kProtocolUdp;
  if (tag_at_ == 0) store_checksum(out + checksum_at_, sum, built.is_udp);
}

void finish_frame(Byte* frame, BuiltFrame& built, std::uint32_t time) noexcept {
  built.tag.time = time;
  const TagWords w = tag_words(built.tag);
  write_tag(frame + built.tag_offset, w);
  std::uint64_t sum = (w.first >> 32) + (w.first & 0xffff'ffffU) + (w.second >> 32) +
                      (w.second & 0xffff'ffffU) + w.check;
  if (built.is_tag_odd) {
    // A block at an odd byte counts with its bytes exchanged (RFC 1071 section 2 B).
    const auto folded = static_cast<std::uint16_t>(~packet::checksum_finish(sum));
    sum = base::byteswap(folded);
  }
  store_checksum(frame + built.checksum_offset, built.sum + sum, built.is_udp);
}

}  // namespace merlon::lab
