// SPDX-License-Identifier: Apache-2.0
// What a load may ask for.
#include <fmt/format.h>

#include <algorithm>

#include "merlon/base/make_error.h"
#include "merlon/lab_tcp/attacker.h"
#include "merlon/lab_tcp/tcp_load.h"

namespace merlon::lab {
namespace {

constexpr std::uint32_t kMostConcurrent = 1U << 20;
constexpr std::size_t kLongestName = 64;  // of a certificate's common name (X.509 ub-common-name)

struct Limits {
  const char* field;
  double value, least, most;
};

base::Result<void> check_numbers(const TcpLoadSpec& s) {
  const Limits limits[] = {
      {"connections_per_s", s.connections_per_s, 0, 10e6},
      {"concurrent", double(s.concurrent), 0, kMostConcurrent},
      {"think_s", s.think_s, 0, 3600},
      {"ramp_up_s", s.ramp_up_s, 0, 3600},
      {"sustain_s", s.sustain_s, 0, 86'400},
      {"ramp_down_s", s.ramp_down_s, 0, 3600},
      {"drain_s", s.drain_s, 0, 600},
      {"mss", double(s.mss), 64, 8960},
      {"window", double(s.window), 1024, 65'535},
      {"initial_window", double(s.initial_window), 1, 10},
      {"retries", double(s.retries), 0, 15},
      {"initial_timeout_s", s.initial_timeout_s, 0.01, 60},
      {"minimum_timeout_s", s.minimum_timeout_s, 0.005, 60},
      {"ack_delay_s", s.ack_delay_s, 0, 0.5},
      {"transaction_timeout_s", s.transaction_timeout_s, 0.01, 3600},
      {"server_idle_s", s.server_idle_s, 0.1, 3600},
      {"attack_pps", s.attack_pps, 0, 100e6},
      {"clients.count", double(s.clients.count), 1, 65'536},
      {"servers.count", double(s.servers.count), 1, 65'536},
      {"server_port", double(s.server_port), 1, 65'535},
      {"client_port", double(s.client_port), 1, 65'535},
      {"client_ports", double(s.client_ports), 1, 65'536.0 - s.client_port},
  };
  for (const auto& l : limits) {
    // Written so that a NaN fails as well.
    if (!(l.value >= l.least && l.value <= l.most))
      return make_error(base::Errc::kInvalidValue,
                        fmt::format("{} {} is out of range", l.field, l.value),
                        fmt::format("{} to {}", l.least, l.most));
  }
  return {};
}

base::Result<void> check_relations(const TcpLoadSpec& s) {
  const auto wrong = [](std::string message, std::string hint) {
    return make_error(base::Errc::kInvalidValue, std::move(message), std::move(hint));
  };
  if (s.concurrent == 0 && s.connections_per_s <= 0)
    return wrong("neither connections_per_s nor concurrent is given", "give one of them");
  if (s.concurrent == 0 && s.transactions_per_connection == TcpLoadSpec::kUnlimited)
    return wrong("a rate of connections that never end fills any table",
                 "limit transactions_per_connection");
  if (s.ramp_up_s + s.sustain_s + s.ramp_down_s <= 0)
    return wrong("all phases have no length", "give sustain_s");
  if (!s.is_kept_alive && s.transactions_per_connection > 1)
    return wrong(fmt::format("{} transactions on a connection that is not kept alive",
                             s.transactions_per_connection),
                 "1, or is_kept_alive");
  if (s.object_kib.empty() || s.object_kib.size() > 16 ||
      std::ranges::any_of(s.object_kib, [](std::uint32_t k) { return k == 0 || k > 1024; }))
    return wrong("object_kib is out of range", "1 to 16 sizes of 1 to 1024 KiB");
  if (s.attack != AttackKind::kNone && s.attack_pps <= 0)
    return wrong("an attack without attack_pps", "give attack_pps");
  if (s.tls.is_on() && (s.tls.server_name.empty() || s.tls.server_name.size() > kLongestName))
    return wrong(fmt::format("tls.server_name of {} characters", s.tls.server_name.size()),
                 "a host's name of 1 to 64 characters");
  for (const AddressPool& pool : {s.clients, s.servers}) {
    const std::uint32_t last = pool.first + (pool.count - 1);
    if (last < pool.first || tcp::is_attacker(pool.first) || tcp::is_attacker(last))
      return wrong(
          "an address pool leaves the address space or lies in 10.128.0.0/9",
          "that network is the attack's; clients are in 10.9.0.0/16, servers in 10.10.0.0/16");
  }
  if (s.clients.contains(s.servers.first) || s.servers.contains(s.clients.first))
    return wrong("clients and servers share addresses", "10.9.0.0/16 and 10.10.0.0/16");
  return {};
}

}  // namespace

base::Result<void> check_tcp_load(const TcpLoadSpec& spec, const TcpLoadSettings& settings) {
  if (auto r = check_numbers(spec); !r) return r;
  if (auto r = check_relations(spec); !r) return r;
  if (settings.max_concurrent > kMostConcurrent)
    return make_error(base::Errc::kInvalidValue,
                      fmt::format("max_concurrent {} is out of range", settings.max_concurrent),
                      "up to 1048576");
  const std::uint64_t tuples =
      std::uint64_t{spec.clients.count} * spec.client_ports * spec.servers.count;
  if (spec.concurrent > tuples)
    return make_error(base::Errc::kInvalidValue,
                      fmt::format("{} connections at once need as many tuples, {} are there",
                                  spec.concurrent, tuples),
                      "more client addresses, client ports or server addresses");
  return {};
}

}  // namespace merlon::lab
