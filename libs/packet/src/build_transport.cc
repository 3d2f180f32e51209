// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "build_work.h"
#include "merlon/packet/checksum.h"
#include "parse_work.h"

namespace merlon::packet::detail {
namespace {

constexpr std::string_view kFlagLetters = "FSRPAUEC";  // bit 0 first

// Header and rest as one message.
Bytes message_of(const Bytes& header, const BuildStep& step) {
  Bytes message = header;
  put(message, step.rest);
  return message;
}

std::uint16_t pseudo_checksum(const Bytes& header, const BuildStep& step, std::uint8_t protocol) {
  const Endpoints e = endpoints_around(step);
  return transport_checksum(e.source, e.destination, protocol, message_of(header, step));
}

void tcp_option(std::string_view word, Bytes& out, bool& is_known) {
  const auto value = [word](std::string_view name) { return word.substr(name.size()); };
  const auto number = [&](std::string_view text, std::uint64_t limit) -> std::uint32_t {
    const auto n = parse_number(text);
    if (!n || *n > limit) is_known = false;
    return static_cast<std::uint32_t>(n.value_or(0) & limit);
  };
  if (word == "nop") return put8(out, 1);
  if (word == "eol") return put8(out, 0);
  if (word == "sackok") return put16(out, 0x0402);
  if (word.starts_with("mss:")) {
    put16(out, 0x0204);
    return put16(out, number(value("mss:"), 0xffff));
  }
  if (word.starts_with("ws:")) {
    put16(out, 0x0303);
    return put8(out, number(value("ws:"), 0xff));
  }
  if (word.starts_with("ts:")) {
    const std::string_view both = value("ts:");
    const std::size_t colon = both.find(':');
    put16(out, 0x080a);
    put32(out, number(both.substr(0, colon), 0xffffffff));
    return put32(out,
                 colon == std::string_view::npos ? 0 : number(both.substr(colon + 1), 0xffffffff));
  }
  const auto raw = word.starts_with("hex:") ? parse_hex(value("hex:")) : std::nullopt;
  if (!raw) is_known = false;
  if (raw) put(out, *raw);
}

Bytes tcp_options(Fields& f) {
  Bytes out;
  std::string_view list = f.word("opt");
  bool is_known = true;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    tcp_option(list.substr(0, comma), out, is_known);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  if (!is_known)
    f.fail(f.find("opt"), fmt::format("opt is \"{}\", not a list of TCP options", f.word("opt")),
           "known are mss:N ws:N sackok ts:N:N nop eol hex:BYTES");
  while (out.size() % 4 != 0) out.push_back(0);
  if (out.size() > 40)
    f.fail(f.find("opt"), "the TCP options are longer than 40 bytes", "leave some out");
  return out;
}

unsigned tcp_flags(Fields& f) {
  if (!f.has("flags")) return kTcpSyn;
  const std::string_view word = f.word("flags");
  if (word == "none") return 0;
  unsigned flags = 0;
  for (const char c : word) {
    const std::size_t bit = kFlagLetters.find(c);
    if (bit != std::string_view::npos) {
      flags |= 1U << bit;
    } else {
      f.fail(f.find("flags"),
             fmt::format("flags is \"{}\", not letters out of {}", word, kFlagLetters),
             "F FIN, S SYN, R RST, P PSH, A ACK, U URG, E ECE, C CWR, or the word none");
    }
  }
  return flags;
}

Bytes build_tcp(const BuildStep& step) {
  Fields f(step);
  const Bytes options = tcp_options(f);
  const std::uint32_t words = f.u32("off", static_cast<std::uint32_t>(5 + options.size() / 4), 15);
  Bytes out;
  put16(out, f.u16("sport", 40'000));
  put16(out, f.u16("dport", 80));
  put32(out, f.u32("seq", 0));
  put32(out, f.u32("ack", 0));
  put16(out, words << 12 | tcp_flags(f));
  put16(out, f.u16("win", 65'535));
  put16(out, 0);
  put16(out, f.u16("urg", 0));
  put(out, options);
  base::store_be(&out[16], f.checksum(pseudo_checksum(out, step, kProtoTcp)));
  return out;
}

Bytes build_udp(const BuildStep& step, bool is_lite) {
  Fields f(step);
  Bytes out;
  put16(out, f.u16("sport", 40'000));
  put16(out, f.u16("dport", 53));
  const auto size = static_cast<std::uint16_t>(8 + step.rest.size());
  put16(out, f.u16(is_lite ? "cov" : "len", is_lite ? std::uint16_t{0} : size));
  put16(out, 0);
  const std::uint16_t sum = pseudo_checksum(out, step, is_lite ? kProtoUdpLite : kProtoUdp);
  base::store_be<std::uint16_t>(&out[6],
                                f.checksum(sum == 0 ? 0xffff : sum));  // 0 on the wire means "none"
  return out;
}

struct TypeName {
  std::string_view name;
  std::uint8_t v4, v6;
};
constexpr TypeName kTypeNames[] = {
    {"echo", 8, 128},
    {"echo-request", 8, 128},
    {"echo-reply", 0, 129},
    {"unreachable", 3, 1},
    {"time-exceeded", 11, 3},
    {"redirect", 5, 137},
    {"parameter-problem", 12, 4},
    {"timestamp", 13, 0},
    {"timestamp-reply", 14, 0},
    {"too-big", 3, 2},
    {"router-solicit", 10, 133},
    {"router-advert", 9, 134},
    {"neighbour-solicit", 0, 135},
    {"neighbour-advert", 0, 136},
};

std::uint8_t icmp_type(Fields& f, bool is_v6) {
  const std::string_view word = f.word("type");
  for (const TypeName& t : kTypeNames)
    if (t.name == word) return is_v6 ? t.v6 : t.v4;
  return f.u8("type", is_v6 ? 128 : 8);
}

Bytes build_icmp(const BuildStep& step, bool is_v6) {
  Fields f(step);
  Bytes out;
  put8(out, icmp_type(f, is_v6));
  put8(out, f.u8("code", 0));
  put16(out, 0);
  if (f.has("rest") || f.has("mtu")) {
    put32(out, f.has("rest") ? f.u32("rest", 0) : f.u32("mtu", 0));
  } else {
    put16(out, f.u16("id", 0));
    put16(out, f.u16("seq", 0));
  }
  const std::uint16_t sum =
      is_v6 ? pseudo_checksum(out, step, kProtoIcmpv6) : internet_checksum(message_of(out, step));
  base::store_be(&out[2], f.checksum(sum));
  return out;
}

Bytes build_sctp(const BuildStep& step) {
  Fields f(step);
  Bytes out;
  put16(out, f.u16("sport", 40'000));
  put16(out, f.u16("dport", 2905));
  put32(out, f.u32("tag", 0));
  put32(out, 0);
  if (f.word("chunk") != "none") {
    put8(out, f.u8("chunk", 1));
    put8(out, f.u8("chunkflags", 0));
    put16(out, f.u16("chunklen", static_cast<std::uint16_t>(4 + step.rest.size())));
  }
  const std::string_view chk = f.word("chk");
  std::uint32_t sum = base::byteswap(crc32c(message_of(out, step)));
  if (chk == "bad") sum ^= 1;
  if (chk == "none") sum = 0;
  if (!chk.empty() && chk != "bad" && chk != "none") sum = f.u32("chk", sum);
  base::store_be(&out[8], sum);
  return out;
}

Bytes build_gre(const BuildStep& step) {
  Fields f(step);
  const bool is_pptp = f.u8("version", 0, 7) == 1;
  unsigned flags = f.u8("version", 0, 7);
  if (f.has("chk")) flags |= 0x8000;
  if (f.has("key") || f.has("call") || is_pptp) flags |= 0x2000;
  if (f.has("seq")) flags |= 0x1000;
  if (f.has("ack")) flags |= 0x80;
  flags = f.u16("flags", static_cast<std::uint16_t>(flags));
  Bytes out;
  put16(out, flags);
  put16(out, f.u16("type", is_pptp ? std::uint16_t{0x880b} : ethertype_for(step.next_name())));
  if (f.has("chk")) put32(out, 0);
  if (is_pptp) {
    put16(out, static_cast<unsigned>(step.rest.size()) & 0xffffU);
    put16(out, f.u16("call", 0));
  } else if (f.has("key")) {
    put32(out, f.u32("key", 0));
  }
  if (f.has("seq")) put32(out, f.u32("seq", 0));
  if (f.has("ack")) put32(out, f.u32("ack", 0));
  if (f.has("chk")) {
    const std::uint16_t sum = internet_checksum(message_of(out, step));
    base::store_be(&out[4], f.word("chk").empty() ? sum : f.checksum(sum));
  }
  return out;
}

Bytes build_vxlan(const BuildStep& step) {
  Fields f(step);
  Bytes out;
  put32(out, f.u32("flags", 8, 0xff) << 24);
  put32(out, f.u32("vni", 1, 0xffffff) << 8);
  return out;
}

Bytes build_gtpu(const BuildStep& step) {
  Fields f(step);
  const bool has_sequence = f.has("seq");
  Bytes out;
  put8(out, f.u8("flags", has_sequence ? 0x32 : 0x30));
  put8(out, f.u8("type", 255));
  put16(out, f.u16("len", static_cast<std::uint16_t>(step.rest.size() + (has_sequence ? 4 : 0))));
  put32(out, f.u32("teid", 1));
  if (!has_sequence) return out;
  put16(out, f.u16("seq", 0));
  put16(out, 0);
  return out;
}

Bytes build_esp(const BuildStep& step) {
  Fields f(step);
  Bytes out;
  put32(out, f.u32("spi", 256));
  put32(out, f.u32("seq", 1));
  return out;
}

Bytes build_payload(const BuildStep& step) {
  Fields f(step);
  Bytes out;
  for (const char c : f.word("text")) out.push_back(static_cast<base::Byte>(c));
  put(out, f.bytes("data"));
  const std::uint64_t pattern = f.number("len", 0, 65'535);
  for (std::size_t i = 0; i < pattern; ++i) out.push_back(pattern_byte(i));
  out.resize(out.size() + f.number("zeros", 0, 65'535));
  return out;
}

Bytes build_quote(const BuildStep& step) {
  auto inner = build_layers(step.layer().quoted);
  if (inner) return *std::move(inner);
  if (!step.error) step.error = inner.error();
  return {};
}

}  // namespace

Bytes build_transport_layer(const BuildStep& step) {
  const std::string& name = step.layer().name;
  if (name == "tcp") return build_tcp(step);
  if (name == "udp" || name == "udplite") return build_udp(step, name == "udplite");
  if (name == "icmp" || name == "icmpv6") return build_icmp(step, name == "icmpv6");
  if (name == "sctp") return build_sctp(step);
  if (name == "gre") return build_gre(step);
  if (name == "vxlan") return build_vxlan(step);
  if (name == "gtpu") return build_gtpu(step);
  if (name == "esp") return build_esp(step);
  if (name == "payload") return build_payload(step);
  if (name == "quote") return build_quote(step);
  return {};  // ipip: a word between two IP headers, no bytes of its own
}

}  // namespace merlon::packet::detail
