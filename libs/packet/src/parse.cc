// SPDX-License-Identifier: Apache-2.0
// The fast path: TCP or UDP without options and fragments, straight behind the link header or
// behind one 802.1Q tag. IPv4 goes eight packets at a time where the machine can (parse_eight.h),
// else one by one. Anything unusual, and anything to be dropped, leaves through one exit to the
// general parser, which alone knows reasons.
#include "merlon/packet/parse.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "parse_work.h"
#if defined(__AVX2__)
#include "parse_eight.h"
#endif

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

enum class Link { kEthernet, kRawIp };

// The kind as it lies in the fifth byte of the second word of Headers.
constexpr std::uint32_t kTcpWord = static_cast<std::uint8_t>(Kind::kTcp),
                        kUdpWord = static_cast<std::uint8_t>(Kind::kUdp);

constexpr std::uint64_t wide(auto v, unsigned shift) noexcept { return std::uint64_t{v} << shift; }

// The domain of a port's keys by canonical direction.
using Domains = std::array<std::uint32_t, 2>;
constexpr Domains both_directions(std::uint16_t domain) noexcept {
  return {domain_in_direction(domain, false), domain_in_direction(domain, true)};
}

// The transport header of either family, read without a branch on the protocol.
struct Segment {
  const base::Byte* l4;
  const base::Byte*
      tcp;  // where the TCP fields are read: l4, or zeros when there is no room for them
  std::uint32_t l4_offset;
  std::uint32_t size;    // header and payload by the IP header
  std::uint32_t header;  // bytes
  std::uint32_t tcp_flags;
  bool is_tcp, is_sound;
};

// 8 bytes at `l4` and 20 at `tcp` are readable. `size` may be a wrapped negative: then it does not
// fit the frame.
[[gnu::always_inline]] inline Segment read_segment(const base::Byte* l4, const base::Byte* tcp,
                                                   std::uint32_t l4_offset, std::uint32_t size,
                                                   std::uint32_t protocol, std::uint32_t captured,
                                                   std::uint32_t length) noexcept {
  Segment s{l4, tcp, l4_offset, size, 8, tcp[13], protocol == detail::kProtoTcp, false};
  if (s.is_tcp) s.header = (tcp[12] >> 4U) * 4U;
  const std::uint32_t claimed = s.is_tcp ? s.header : base::load_be<std::uint16_t>(l4 + 4);
  const std::uint32_t at_least = s.is_tcp ? 20 : 8;
  s.is_sound = (claimed >= at_least) & (claimed <= size) & (size <= 0xffff) &
               (l4_offset + size <= length) & (l4_offset + s.header <= captured) &
               (((detail::kValidTcpFlags >> (s.tcp_flags & 63)) & 1) | !s.is_tcp) &
               (s.is_tcp | (protocol == detail::kProtoUdp));
  return s;
}

// The 32 bytes of Headers by five stores.
[[gnu::always_inline]] inline void write_headers(Burst& b, unsigned i, const Segment& s,
                                                 std::uint32_t l3, std::uint32_t hop_limit,
                                                 bool is_reversed, std::uint64_t flags,
                                                 std::uint32_t ethertype) noexcept {
  auto* const h = reinterpret_cast<base::Byte*>(&b.headers[i]);
  const std::uint64_t tcp_mask = s.is_tcp ? ~std::uint64_t{0} : 0;
  const std::uint64_t numbers = load_raw<std::uint64_t>(s.tcp + 4) & tcp_mask;
  const std::uint64_t window = load_raw<std::uint16_t>(s.tcp + 14) & tcp_mask;
  const Kind kind = s.is_tcp ? Kind::kTcp : Kind::kUdp;
  store_raw<std::uint64_t>(h, l3 | wide(s.l4_offset, 16) | wide(s.l4_offset + s.header, 32));
  store_raw<std::uint64_t>(h + 8, (s.size - s.header) | wide(static_cast<std::uint8_t>(kind), 32) |
                                      wide(static_cast<std::uint8_t>(is_reversed), 40) |
                                      wide(s.tcp_flags & tcp_mask, 48) | flags << 56);
  store_raw<std::uint32_t>(h + 16, hop_limit << 16);
  // Both numbers turned in place: swapping all eight bytes exchanges them, the rotation puts them
  // back.
  store_raw<std::uint64_t>(h + 20, std::rotl(base::byteswap(numbers), 32));
  store_raw<std::uint32_t>(h + 28,
                           base::byteswap(static_cast<std::uint16_t>(window)) | ethertype << 16);
}

// Ports in canonical order, the tags above them: the key's fifth word.
[[gnu::always_inline]] inline std::uint64_t ports_word(const base::Byte* l4, bool is_reversed,
                                                       std::uint64_t vlan) noexcept {
  const std::uint32_t ports = base::byteswap(load_raw<std::uint32_t>(l4));
  return (is_reversed ? ports : std::rotl(ports, 16)) | vlan;
}

// The first 32 bytes of an IPv4 key: both addresses as they lie at `addresses`, smaller first, each
// behind the v4-mapped prefix. 16 bytes there are readable.
[[gnu::always_inline]] inline void write_v4_addresses(base::Byte* key, const base::Byte* addresses,
                                                      bool is_reversed) noexcept {
#if defined(__AVX2__)
  // Where each byte of the key comes from; 0x80 makes a zero.
  constexpr std::uint8_t Z = 0x80;
  alignas(32) static constexpr std::uint8_t kFrom[2][32] = {
      {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 0, 1, 2, 3,
       Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 4, 5, 6, 7},
      {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 4, 5, 6, 7,
       Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 0, 1, 2, 3}};
  const __m256i both =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(addresses)));
  const __m256i from = _mm256_load_si256(reinterpret_cast<const __m256i*>(kFrom[is_reversed]));
  const __m256i prefix = _mm256_set_epi32(0, static_cast<int>(0xffff0000U), 0, 0, 0,
                                          static_cast<int>(0xffff0000U), 0, 0);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(key),
                      _mm256_or_si256(_mm256_shuffle_epi8(both, from), prefix));
#else
  const auto raw = load_raw<std::uint64_t>(addresses);
  const std::uint64_t ordered = is_reversed ? std::rotl(raw, 32) : raw;
  store_raw<std::uint64_t>(key, 0);
  store_raw<std::uint64_t>(key + 8, ordered << 32 | 0xffff'0000U);
  store_raw<std::uint64_t>(key + 16, 0);
  store_raw<std::uint64_t>(key + 24, (ordered & 0xffff'ffff'0000'0000ULL) | 0xffff'0000U);
#endif
}

// True when the packet has been done; so are the next two. At least 40 bytes at `l3` are readable.
// Checks are jumps that sound traffic never takes: half the instructions of collecting their
// answers.
[[gnu::always_inline]] inline bool parse_fast_v4(Burst& b, unsigned i, const std::uint32_t l3,
                                                 std::uint64_t vlan, const Domains& domains,
                                                 base::HashSeed seed) noexcept {
  const base::Byte* const ip = b.data[i] + l3;
  const base::Byte* const l4 = ip + 20;
  const auto head = load_raw<std::uint64_t>(ip);
  const std::uint32_t total = base::byteswap(static_cast<std::uint16_t>(head >> 16));
  // Version and header length in the low byte, offset and MF (not DF, not the reserved bit) in the
  // high two.
  if ((head & 0xff3f'0000'0000'00ffULL) != 0x45) [[unlikely]]
    return false;
  if (l3 + total > b.length[i]) [[unlikely]]
    return false;
  const auto raw = load_raw<std::uint64_t>(ip + 12);
  const std::uint64_t host = base::byteswap(raw);
  const auto source = static_cast<std::uint32_t>(host >> 32),
             destination = static_cast<std::uint32_t>(host);
  // 0.0.0.0 and 224.0.0.0 upwards as a source are looked at by the general parser, as are equal
  // addresses.
  if (source - 1 >= 0xdfff'ffffU || source == destination) [[unlikely]]
    return false;

  const std::uint32_t protocol = ip[9];
  const bool is_reversed = source > destination;
  auto* const h = reinterpret_cast<base::Byte*>(&b.headers[i]);
  if (protocol == detail::kProtoTcp) {
    const std::uint32_t header = (l4[12] >> 4U) * 4U, flags = l4[13];
    if (header < 20 || header + 20 > total || l3 + 20 + header > b.captured[i] ||
        ((detail::kValidTcpFlags >> (flags & 63)) & 1) == 0) [[unlikely]]
      return false;
    store_raw<std::uint64_t>(h, l3 | wide(l3 + 20, 16) | wide(l3 + 20 + header, 32));
    store_raw<std::uint64_t>(h + 8, (total - 20 - header) | wide(kTcpWord | flags << 16, 32) |
                                        wide(static_cast<std::uint8_t>(is_reversed), 40));
    store_raw<std::uint32_t>(h + 16, std::uint32_t{ip[8]} << 16);
    // Both numbers turned in place: swapping all eight bytes exchanges them, the rotation puts them
    // back.
    store_raw<std::uint64_t>(h + 20,
                             std::rotl(base::byteswap(load_raw<std::uint64_t>(l4 + 4)), 32));
    store_raw<std::uint32_t>(
        h + 28, base::load_be<std::uint16_t>(l4 + 14) | std::uint32_t{detail::kEtherIpv4} << 16);
  } else {
    const std::uint32_t claimed = base::load_be<std::uint16_t>(l4 + 4);
    if (protocol != detail::kProtoUdp || claimed < 8 || claimed + 20 > total) [[unlikely]]
      return false;
    store_raw<std::uint64_t>(h, l3 | wide(l3 + 20, 16) | wide(l3 + 28, 32));
    store_raw<std::uint64_t>(h + 8, (total - 28) | wide(kUdpWord, 32) |
                                        wide(static_cast<std::uint8_t>(is_reversed), 40));
    store_raw<std::uint64_t>(h + 16, std::uint64_t{ip[8]} << 16);
    store_raw<std::uint64_t>(h + 24, wide(detail::kEtherIpv4, 48));
  }

  const std::uint64_t addresses = std::rotl(raw, is_reversed ? 32 : 0);
  const std::uint64_t ports = ports_word(l4, is_reversed, vlan);
  const std::uint32_t tail = domains[is_reversed] | protocol << 16;
  auto* const key = reinterpret_cast<base::Byte*>(&b.key[i]);
  write_v4_addresses(key, ip + 12, is_reversed);
  store_raw<std::uint64_t>(key + 32, ports);
  store_raw<std::uint32_t>(key + 40, tail);
  b.hash[i] = hash_v4_words(addresses, ports, tail, seed);
  return true;
}

// Behind a tag: apart, so that the usual frame has its offsets as constants.
[[gnu::noinline]] bool parse_fast_tagged_v4(Burst& b, unsigned i, std::uint64_t vlan,
                                            const Domains& domains, base::HashSeed seed) noexcept {
  return parse_fast_v4(b, i, 18, vlan, domains, seed);
}

// Not inlined: it would take registers from the IPv4 loop (10 % more time there, measured).
[[gnu::noinline]] bool parse_fast_v6(Burst& b, unsigned i, std::uint32_t l3, std::uint64_t vlan,
                                     const Domains& domains, base::HashSeed seed) noexcept {
  if (b.captured[i] < l3 + 48) [[unlikely]]
    return false;
  // A short UDP datagram ends before the TCP fields would; a TCP header of zeros is not sound.
  static constexpr base::Byte kNoTcp[20] = {};
  const base::Byte* const tcp = b.captured[i] < l3 + 60 ? kNoTcp : b.data[i] + l3 + 40;
  const base::Byte* const ip = b.data[i] + l3;
  const auto head = load_raw<std::uint64_t>(ip);
  const std::uint32_t size = base::byteswap(static_cast<std::uint16_t>(head >> 32));
  const std::uint32_t protocol = head >> 48 & 0xff;
  const auto s0 = load_raw<std::uint64_t>(ip + 8), s1 = load_raw<std::uint64_t>(ip + 16);
  const auto d0 = load_raw<std::uint64_t>(ip + 24), d1 = load_raw<std::uint64_t>(ip + 32);
  // Unspecified, loopback and v4-mapped addresses begin with eight zeros, multicast with ff.
  const bool is_ordinary =
      (s0 != 0) & (d0 != 0) & ((s0 & 0xff) != 0xff) & ((s0 != d0) | (s1 != d1));
  const Segment s = read_segment(ip + 40, tcp, l3 + 40, size, protocol, b.captured[i], b.length[i]);
  if (!(((head & 0xf0) == 0x60) & is_ordinary & s.is_sound)) [[unlikely]]
    return false;

  const std::uint64_t source0 = base::byteswap(s0), destination0 = base::byteswap(d0);
  const bool is_reversed =
      source0 != destination0 ? source0 > destination0 : base::byteswap(s1) > base::byteswap(d1);
  const std::uint64_t a0 = is_reversed ? d0 : s0, a1 = is_reversed ? d1 : s1;
  const std::uint64_t b0 = is_reversed ? s0 : d0, b1 = is_reversed ? s1 : d1;
  const std::uint64_t ports = ports_word(s.l4, is_reversed, vlan);
  const std::uint32_t tail = domains[is_reversed] | protocol << 16;
  auto* const key = reinterpret_cast<base::Byte*>(&b.key[i]);
  store_raw(key, a0);
  store_raw(key + 8, a1);
  store_raw(key + 16, b0);
  store_raw(key + 24, b1);
  store_raw(key + 32, ports);
  store_raw<std::uint32_t>(key + 40, tail);
  b.hash[i] = hash_v6_words({a0, a1, b0, b1}, ports, tail, seed);
  write_headers(b, i, s, l3, ip[7], is_reversed, Headers::kIsV6, detail::kEtherIpv6);
  return true;
}

template <Link kLink>
[[gnu::always_inline]] inline bool parse_fast(Burst& b, unsigned i, const Domains& domains,
                                              base::HashSeed seed) noexcept {
  const base::Byte* const p = b.data[i];
  // 58 bytes hold a tag, 20 bytes of IPv4 and 20 of TCP; the 60 of the shortest Ethernet frame
  // pass.
  if (b.captured[i] < (kLink == Link::kEthernet ? 58U : 40U)) [[unlikely]]
    return false;
  if constexpr (kLink == Link::kRawIp) {
    return p[0] >> 4 == 6 ? parse_fast_v6(b, i, 0, 0, domains, seed)
                          : parse_fast_v4(b, i, 0, 0, domains, seed);
  } else {
    constexpr std::uint16_t kIpv4 = 0x0008, kIpv6 = 0xdd86,
                            kVlan = 0x0081;  // as they lie in memory
    auto type = load_raw<std::uint16_t>(p + 12);
    if (type == kIpv4) [[likely]]
      return parse_fast_v4(b, i, 14, 0, domains, seed);
    std::uint32_t l3 = 14;
    std::uint64_t vlan = 0;
    if (type == kVlan) {
      vlan = wide(base::load_be<std::uint16_t>(p + 14) & 0xfffU, 32);
      type = load_raw<std::uint16_t>(p + 16);
      l3 = 18;
      if (type == kIpv4) return parse_fast_tagged_v4(b, i, vlan, domains, seed);
    }
    return type == kIpv6 && parse_fast_v6(b, i, l3, vlan, domains, seed);
  }
}

// The packets of [first, end), one by one. False when some went to the general parser.
template <Link kLink>
bool parse_range(Burst& b, const ParseOptions& options, const std::uint16_t* domains,
                 unsigned first, unsigned end) noexcept {
  if (first == end) return true;
  bool is_plain = true;
  std::uint16_t port = b.in_port[first];
  Domains directed = both_directions(domains[port]);
  for (unsigned i = first; i < end; ++i) {
    if (b.in_port[i] != port) [[unlikely]] {
      port = b.in_port[i];
      directed = both_directions(domains[port]);
    }
    if (!parse_fast<kLink>(b, i, directed, options.seed)) [[unlikely]] {
      detail::parse_general(b, i, options, domains[port]);
      is_plain = false;
    }
  }
  return is_plain;
}

#if defined(__AVX2__)
// Eights that failed after which the rest of a burst goes one by one: a failure costs a third of
// what is to be saved.
constexpr unsigned kMaxFailedEights = 2;

// From `first` on as long as eight by eight succeed; where it ends. Apart, for its registers.
template <unsigned kL3>
[[gnu::noinline]] unsigned parse_run(Burst& b, unsigned first, const Domains& directed,
                                     base::HashSeed seed) noexcept {
  const detail::EightParser<kL3> parser(directed, seed);
  while (first + 8 <= b.count && parser.parse(b, first)) first += 8;
  return first;
}

// Parses from `first` on, eight by eight where they are of one kind, and moves `first` to what is
// left. False when some went to the general parser. All packets came in by one port.
bool parse_eights(Burst& b, const ParseOptions& options, const std::uint16_t* domains,
                  unsigned& first) noexcept {
  const Domains directed = both_directions(domains[b.in_port[first]]);
  bool is_plain = true;
  for (unsigned failed = 0; failed < kMaxFailedEights; ++failed) {
    constexpr std::uint16_t kVlan = 0x0081;  // as it lies in memory
    const bool is_tagged =
        b.captured[first] >= 14 && load_raw<std::uint16_t>(b.data[first] + 12) == kVlan;
    first = is_tagged ? parse_run<18>(b, first, directed, options.seed)
                      : parse_run<14>(b, first, directed, options.seed);
    if (first + 8 > b.count) break;
    is_plain &= parse_range<Link::kEthernet>(b, options, domains, first, first + 8);
    first += 8;
    if (first == b.count) break;
  }
  return is_plain;
}

bool has_one_port(const Burst& b, unsigned first) noexcept {
  unsigned others = 0;
  for (unsigned i = first; i < b.count; ++i)
    others |= static_cast<unsigned>(b.in_port[i] ^ b.in_port[first]);
  return others == 0;
}
#endif

template <Link kLink>
bool parse_burst(Burst& b, const ParseOptions& options, const std::uint16_t* domains,
                 unsigned first) noexcept {
  if (first == b.count) return true;
  static_assert(Verdict::kUndecided == Verdict{} && base::DropReason::kNone == base::DropReason{});
  std::memset(&b.verdict[first], 0, b.count - first);
  std::memset(&b.reason[first], 0, b.count - first);
  bool is_plain = true;
#if defined(__AVX2__)
  if (kLink == Link::kEthernet && first + 8 <= b.count && has_one_port(b, first))
    is_plain = parse_eights(b, options, domains, first);
#endif
  return parse_range<kLink>(b, options, domains, first, b.count) && is_plain;
}

}  // namespace

bool parse(Burst& burst, const ParseOptions& options, const std::uint16_t* domains,
           unsigned first) noexcept {
  const bool is_simple = !options.verify_checksums && !options.judge_inner;
  if (is_simple && options.link_layer == ParseOptions::LinkLayer::kEthernet)
    return parse_burst<Link::kEthernet>(burst, options, domains, first);
  if (is_simple && options.link_layer == ParseOptions::LinkLayer::kRawIp)
    return parse_burst<Link::kRawIp>(burst, options, domains, first);
  for (unsigned i = first; i < burst.count; ++i)
    detail::parse_general(burst, i, options, domains[burst.in_port[i]]);
  return false;
}

}  // namespace merlon::packet
