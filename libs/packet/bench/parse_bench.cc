// SPDX-License-Identifier: Apache-2.0
// Cost of parse() per packet, hot in cache: burst of 64, headers, key and hash filled. Counts TSC
// cycles too.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "merlon/packet/parse.h"

namespace {

using namespace merlon;

enum class Shape { kUdp4, kTcp4, kMixed4, kVlanUdp4, kUdp6, kTcp6, kOptions4 };

void write_ipv4(std::vector<base::Byte>& f, unsigned n, bool is_tcp, bool has_options) {
  const auto l3 = f.size();
  const unsigned header = has_options ? 24 : 20;
  f.resize(l3 + 46);
  base::Byte* ip = f.data() + l3;
  ip[0] = static_cast<base::Byte>(0x40 | header / 4);
  base::store_be<std::uint16_t>(ip + 2, 46);
  ip[8] = 64;
  ip[9] = is_tcp ? 6 : 17;
  base::store_be<std::uint32_t>(ip + 12, 0x0a000000 + n * 7919 % 65521);
  base::store_be<std::uint32_t>(ip + 16, n % 2 != 0 ? 0xc0000209U : 0x01020304U);
  base::Byte* l4 = ip + header;
  base::store_be<std::uint16_t>(l4, static_cast<std::uint16_t>(1024 + n));
  base::store_be<std::uint16_t>(l4 + 2, 80);
  if (is_tcp) {
    l4[12] = 0x50;
    l4[13] = 0x10;
  } else {
    base::store_be<std::uint16_t>(l4 + 4, static_cast<std::uint16_t>(46 - header));
  }
}

void write_ipv6(std::vector<base::Byte>& f, unsigned n, bool is_tcp) {
  const auto l3 = f.size();
  const std::uint16_t payload = is_tcp ? 20 : 8;
  f.resize(l3 + 40 + payload);
  base::Byte* ip = f.data() + l3;
  ip[0] = 0x60;
  base::store_be<std::uint16_t>(ip + 4, payload);
  ip[6] = is_tcp ? 6 : 17;
  ip[7] = 64;
  ip[8] = ip[24] = 0x20;
  ip[9] = ip[25] = 0x01;
  base::store_be<std::uint32_t>(ip + 20, n * 7919);
  base::store_be<std::uint32_t>(ip + 36, 40'000);
  base::store_be<std::uint16_t>(ip + 40, static_cast<std::uint16_t>(1024 + n));
  base::store_be<std::uint16_t>(ip + 42, 80);
  if (is_tcp) {
    ip[52] = 0x50;
    ip[53] = 0x10;
  } else {
    base::store_be<std::uint16_t>(ip + 44, 8);
  }
}

std::vector<base::Byte> frame(Shape shape, unsigned n) {
  std::vector<base::Byte> f(12, 2);
  const auto type = [&f](unsigned t) {
    f.push_back(static_cast<base::Byte>(t >> 8));
    f.push_back(static_cast<base::Byte>(t));
  };
  if (shape == Shape::kVlanUdp4) {
    type(0x8100);
    type(10);
  }
  const bool is_v6 = shape == Shape::kUdp6 || shape == Shape::kTcp6;
  const bool is_tcp = shape == Shape::kTcp4 || shape == Shape::kTcp6 ||
                      (shape == Shape::kMixed4 && n * 2654435761U >> 31);
  type(is_v6 ? 0x86dd : 0x0800);
  is_v6 ? write_ipv6(f, n, is_tcp) : write_ipv4(f, n, is_tcp, shape == Shape::kOptions4);
  if (f.size() < 60) f.resize(60);
  return f;
}

void parse_shape(benchmark::State& state, Shape shape) {
  std::vector<std::vector<base::Byte>> frames;
  auto burst = std::make_unique<packet::Burst>();
  for (unsigned i = 0; i < packet::Burst::kCapacity; ++i) {
    frames.push_back(frame(shape, i));
    burst->data[i] = frames[i].data();
    burst->captured[i] = burst->length[i] = static_cast<std::uint32_t>(frames[i].size());
    burst->in_port[i] = 0;
  }
  burst->count = packet::Burst::kCapacity;
  const std::uint16_t domains[1] = {1};
  const packet::ParseOptions options{};
  const std::uint64_t begin = base::read_tsc();
  for (auto _ : state) {
    packet::parse(*burst, options, domains);
    benchmark::ClobberMemory();
  }
  const auto cycles = static_cast<double>(base::read_tsc() - begin);
  const auto packets = static_cast<double>(state.iterations()) * packet::Burst::kCapacity;
  if (std::count(burst->verdict.begin(), burst->verdict.end(), packet::Verdict::kUndecided) !=
      packet::Burst::kCapacity)
    state.SkipWithError("a packet was dropped");
  state.counters["tsc_per_packet"] = cycles / packets;
  state.SetItemsProcessed(static_cast<std::int64_t>(packets));
}

BENCHMARK_CAPTURE(parse_shape, udp4, Shape::kUdp4);
BENCHMARK_CAPTURE(parse_shape, tcp4, Shape::kTcp4);
BENCHMARK_CAPTURE(parse_shape, mixed4, Shape::kMixed4);
BENCHMARK_CAPTURE(parse_shape, vlan_udp4, Shape::kVlanUdp4);
BENCHMARK_CAPTURE(parse_shape, udp6, Shape::kUdp6);
BENCHMARK_CAPTURE(parse_shape, tcp6, Shape::kTcp6);
BENCHMARK_CAPTURE(parse_shape, options4, Shape::kOptions4);

}  // namespace

BENCHMARK_MAIN();
