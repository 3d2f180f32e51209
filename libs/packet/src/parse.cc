// SPDX-License-Identifier: Apache-2.0
// The fast path: an IPv4 TCP or UDP packet without options and fragments, straight behind the link
// header or behind one 802.1Q tag. Anything unusual, and anything to be dropped, leaves through one
// exit to the general parser, which alone knows reasons.
#include "merlon/packet/parse.h"

#include <bit>
#include <cstddef>

#include "parse_work.h"

namespace merlon::packet {
namespace {

using base::load_raw;
using base::store_raw;

static_assert(std::endian::native == std::endian::little,
              "the wide stores below are laid out for little endian");
static_assert(offsetof(Headers, payload_length) == 8 && offsetof(Headers, kind) == 12 &&
              offsetof(Headers, flags) == 15 && offsetof(Headers, icmp_type) == 16 &&
              offsetof(Headers, ttl) == 18 && offsetof(Headers, tcp_sequence) == 20 &&
              offsetof(Headers, tcp_acknowledgment) == 24 && offsetof(Headers, tcp_window) == 28 &&
              offsetof(Headers, ethertype) == 30);
static_assert(offsetof(FlowKey, port_a) == 32 && offsetof(FlowKey, vlan_outer) == 36 &&
              offsetof(FlowKey, domain) == 40 && offsetof(FlowKey, protocol) == 42);

// Frames in memory behind the NIC are in the last-level cache; 6 packets are about 100 cycles.
constexpr unsigned kPrefetchDistance = 6;

enum class Link { kEthernet, kRawIp };

constexpr std::uint64_t wide(auto v, unsigned shift) noexcept { return std::uint64_t{v} << shift; }

// True when the packet has been done.
template <Link kLink>
[[gnu::always_inline]] inline bool parse_fast(Burst& b, unsigned i, std::uint32_t domain,
                                              base::HashSeed seed) noexcept {
  const base::Byte* const p = b.data[i];
  const std::uint32_t captured = b.captured[i];
  std::uint32_t l3 = 0;
  std::uint64_t vlan = 0;
  // 58 bytes hold a tag, 20 bytes of IPv4 and 20 of TCP; the 60 of the shortest Ethernet frame
  // pass.
  if (captured < (kLink == Link::kEthernet ? 58U : 40U)) [[unlikely]]
    return false;
  if constexpr (kLink == Link::kEthernet) {
    const auto type = load_raw<std::uint16_t>(p + 12);
    l3 = 14;
    if (type != 0x0008) {
      if (load_raw<std::uint32_t>(p + 14) >> 16 != 0x0008 || type != 0x0081) [[unlikely]]
        return false;
      vlan = wide(base::load_be<std::uint16_t>(p + 14) & 0xfffU, 32);
      l3 = 18;
    }
  }
  const base::Byte* const ip = p + l3;
  const auto head = load_raw<std::uint64_t>(ip);
  const std::uint32_t total = base::byteswap(static_cast<std::uint16_t>(head >> 16));
  const std::uint32_t protocol = ip[9];
  const bool is_tcp = protocol == 6;
  // Version and header length in the low byte, offset and MF (not DF, not the reserved bit) in the
  // high two.
  const bool is_plain = (head & 0xff3f'0000'0000'00ffULL) == 0x45;
  const auto raw = load_raw<std::uint64_t>(ip + 12);
  const std::uint64_t host = base::byteswap(raw);
  const auto source = static_cast<std::uint32_t>(host >> 32),
             destination = static_cast<std::uint32_t>(host);
  // 0.0.0.0 and 224.0.0.0 upwards as a source are looked at by the general parser, as are equal
  // addresses.
  const bool is_ordinary = source - 1 < 0xdfff'ffffU && source != destination;

  const base::Byte* const l4 = ip + 20;
  const std::uint32_t transport_size = total - 20;  // wraps to something huge for a lying length
  const std::uint32_t tcp_flags = l4[13];
  const std::uint32_t header = is_tcp ? (l4[12] >> 4U) * 4U : 8U;
  const std::uint32_t claimed = is_tcp ? header : base::load_be<std::uint16_t>(l4 + 4);
  const std::uint32_t at_least = is_tcp ? 20 : 8;
  const bool is_sound = (claimed >= at_least) & (claimed <= transport_size) & (total >= 28) &
                        (l3 + total <= b.length[i]) & (l3 + 20 + header <= captured) &
                        (((detail::kValidTcpFlags >> (tcp_flags & 63)) & 1) | !is_tcp);
  if (!(is_plain & is_ordinary & is_sound & (is_tcp | (protocol == 17)))) [[unlikely]]
    return false;

  const bool is_reversed = source > destination;
  const std::uint64_t addresses = is_reversed ? std::rotl(raw, 32) : raw;
  const std::uint32_t ports_host = base::byteswap(load_raw<std::uint32_t>(l4));
  const std::uint64_t words4 = (is_reversed ? ports_host : std::rotl(ports_host, 16)) | vlan;
  const std::uint32_t tail = domain | protocol << 16;
  auto* const key = reinterpret_cast<base::Byte*>(&b.key[i]);
  store_raw<std::uint64_t>(key, 0);
  store_raw<std::uint64_t>(key + 8, addresses << 32 | 0xffff'0000U);
  store_raw<std::uint64_t>(key + 16, 0);
  store_raw<std::uint64_t>(key + 24, (addresses & 0xffff'ffff'0000'0000ULL) | 0xffff'0000U);
  store_raw<std::uint64_t>(key + 32, words4);
  store_raw<std::uint32_t>(key + 40, tail);
  b.hash[i] = hash_v4_words(addresses, words4, tail, seed);

  auto* const h = reinterpret_cast<base::Byte*>(&b.headers[i]);
  const std::uint64_t tcp_mask = is_tcp ? ~std::uint64_t{0} : 0;
  const std::uint64_t numbers = load_raw<std::uint64_t>(l4 + 4) & tcp_mask;
  const std::uint64_t window = load_raw<std::uint16_t>(l4 + 14) & tcp_mask;
  const Kind kind = is_tcp ? Kind::kTcp : Kind::kUdp;
  store_raw<std::uint64_t>(h, l3 | wide(l3 + 20, 16) | wide(l3 + 20 + header, 32));
  store_raw<std::uint64_t>(
      h + 8, (transport_size - header) | wide(static_cast<std::uint8_t>(kind), 32) |
                 wide(static_cast<std::uint8_t>(is_reversed), 40) | wide(tcp_flags & tcp_mask, 48));
  store_raw<std::uint32_t>(h + 16, std::uint32_t{ip[8]} << 16);
  // Both numbers turned in place: swapping all eight bytes exchanges them, the rotation puts them
  // back.
  store_raw<std::uint64_t>(h + 20, std::rotl(base::byteswap(numbers), 32));
  store_raw<std::uint32_t>(h + 28,
                           base::byteswap(static_cast<std::uint16_t>(window)) | 0x0800'0000U);
  b.verdict[i] = Verdict::kUndecided;
  b.reason[i] = base::DropReason::kNone;
  return true;
}

template <Link kLink>
void parse_burst(Burst& b, const ParseOptions& options, const std::uint16_t* domains,
                 unsigned first) noexcept {
  const unsigned count = b.count;
  const base::HashSeed seed = options.seed;
  for (unsigned i = first; i < count; ++i) {
    const unsigned ahead = i + kPrefetchDistance;
    if (ahead < count) __builtin_prefetch(b.data[ahead]);
    const std::uint16_t domain = domains[b.in_port[i]];
    if (!parse_fast<kLink>(b, i, domain, seed)) [[unlikely]]
      detail::parse_general(b, i, options, domain);
  }
}

}  // namespace

void parse(Burst& burst, const ParseOptions& options, const std::uint16_t* domains,
           unsigned first) noexcept {
  const bool is_simple = !options.verify_checksums && !options.judge_inner;
  if (is_simple && options.link_layer == ParseOptions::LinkLayer::kEthernet)
    return parse_burst<Link::kEthernet>(burst, options, domains, first);
  if (is_simple && options.link_layer == ParseOptions::LinkLayer::kRawIp)
    return parse_burst<Link::kRawIp>(burst, options, domains, first);
  for (unsigned i = first; i < burst.count; ++i)
    detail::parse_general(burst, i, options, domains[burst.in_port[i]]);
}

}  // namespace merlon::packet
