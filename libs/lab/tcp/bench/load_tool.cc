// SPDX-License-Identifier: Apache-2.0
// A stateful load by hand: smoke tests and the figures of NOTES.md use it. Prints the kpis as one
// line of JSON.
//   lab_tcp_tool [--client KIND:INTERFACE[@NETNS]] [--server KIND:INTERFACE[@NETNS]] [--NAME
//   VALUE]...
// KIND is that of EndpointSpec ("ring:x" for both ends: a cable in memory). Names are the spec's
// fields:
//   rate concurrent transactions kib (1,4,64) http keep-alive think up sustain down drain retries
//   tls (12 | 13) tls-key (256 384 521 2048 4096) tls-cipher (128 256 20) tls-reuse tls-verify
//   tls-name clients (10.9.0.1/250) servers server-port client-port client-ports verify attack-pps
// and the settings: next-hop (an address) threads (1 | 2) client-core server-core max-concurrent
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "merlon/base/address.h"
#include "merlon/lab_tcp/tcp_load.h"

namespace {

using namespace merlon;
using lab::AddressPool;
using lab::EndpointSpec;

struct Options {
  EndpointSpec client, server;
  bool has_client = false, has_server = false;
  lab::TcpLoadSpec spec;
  lab::TcpLoadSettings settings;
  unsigned tls_version = 0, tls_key = 256, tls_cipher = 128;
};

EndpointSpec read_endpoint(const std::string& text) {
  EndpointSpec e;
  const auto colon = text.find(':'), at = text.find('@');
  e.kind = text.substr(0, colon);
  if (colon != std::string::npos)
    e.interface = text.substr(colon + 1, at == std::string::npos ? at : at - colon - 1);
  if (at != std::string::npos) e.net_namespace = text.substr(at + 1);
  return e;
}

std::uint32_t read_address(const std::string& text) {
  const auto a = base::parse_address(text);
  return a.ok() && a->is_v4() ? a->v4_value() : 0;
}

AddressPool read_pool(const std::string& text) {
  const auto slash = text.find('/');
  AddressPool pool;
  pool.first = read_address(text.substr(0, slash));
  pool.count = slash == std::string::npos
                   ? 1
                   : static_cast<std::uint32_t>(std::atoi(text.c_str() + slash + 1));
  return pool;
}

std::vector<std::uint32_t> read_list(const std::string& text) {
  std::vector<std::uint32_t> out;
  for (std::size_t at = 0; at < text.size();) {
    out.push_back(static_cast<std::uint32_t>(std::atoi(text.c_str() + at)));
    const auto comma = text.find(',', at);
    at = comma == std::string::npos ? text.size() : comma + 1;
  }
  return out;
}

using Setter = std::function<void(Options&, const std::string&)>;

template <class T>
Setter number(T lab::TcpLoadSpec::*field) {
  return [field](Options& o, const std::string& v) {
    o.spec.*field = static_cast<T>(std::atof(v.c_str()));
  };
}
template <class T>
Setter setting(T lab::TcpLoadSettings::*field) {
  return [field](Options& o, const std::string& v) {
    o.settings.*field = static_cast<T>(std::atof(v.c_str()));
  };
}

Setter tls_number(unsigned Options::*field) {
  return [field](Options& o, const std::string& v) {
    o.*field = static_cast<unsigned>(std::atoi(v.c_str()));
  };
}
Setter tls_flag(bool lab::TlsSpec::*field) {
  return [field](Options& o, const std::string& v) { o.spec.tls.*field = v != "0"; };
}

void add_tls_setters(std::map<std::string, Setter>& setters) {
  setters["tls"] = tls_number(&Options::tls_version);
  setters["tls-key"] = tls_number(&Options::tls_key);
  setters["tls-cipher"] = tls_number(&Options::tls_cipher);
  setters["tls-reuse"] = tls_flag(&lab::TlsSpec::reuses_sessions);
  setters["tls-verify"] = tls_flag(&lab::TlsSpec::is_verified);
  setters["tls-name"] = [](Options& o, const std::string& v) { o.spec.tls.server_name = v; };
}

std::map<std::string, Setter> make_setters() {
  using S = lab::TcpLoadSpec;
  return {
      {"client",
       [](Options& o, const std::string& v) { o.client = read_endpoint(v), o.has_client = true; }},
      {"server",
       [](Options& o, const std::string& v) {
         o.server = read_endpoint(v), o.has_server = o.server.is_server = true;
       }},
      {"rate", number(&S::connections_per_s)},
      {"concurrent", number(&S::concurrent)},
      {"transactions", number(&S::transactions_per_connection)},
      {"kib", [](Options& o, const std::string& v) { o.spec.object_kib = read_list(v); }},
      {"http", number(&S::is_http)},
      {"keep-alive", number(&S::is_kept_alive)},
      {"think", number(&S::think_s)},
      {"up", number(&S::ramp_up_s)},
      {"sustain", number(&S::sustain_s)},
      {"down", number(&S::ramp_down_s)},
      {"drain", number(&S::drain_s)},
      {"retries", number(&S::retries)},
      {"clients", [](Options& o, const std::string& v) { o.spec.clients = read_pool(v); }},
      {"servers", [](Options& o, const std::string& v) { o.spec.servers = read_pool(v); }},
      {"server-port", number(&S::server_port)},
      {"client-port", number(&S::client_port)},
      {"client-ports", number(&S::client_ports)},
      {"verify", number(&S::is_content_verified)},
      {"attack-pps",
       [](Options& o, const std::string& v) {
         o.spec.attack = lab::AttackKind::kSynFlood;
         o.spec.attack_pps = std::atof(v.c_str());
         o.spec.attack_sources = 65'536;
       }},
      {"next-hop",
       [](Options& o, const std::string& v) { o.settings.client_next_hop = read_address(v); }},
      {"threads", [](Options& o, const std::string& v) { o.settings.has_two_threads = v == "2"; }},
      {"client-core", setting(&lab::TcpLoadSettings::client_core)},
      {"server-core", setting(&lab::TcpLoadSettings::server_core)},
      {"max-concurrent", setting(&lab::TcpLoadSettings::max_concurrent)},
  };
}

int fail(const base::Error& e) {
  fmt::print(stderr, "{}\n", e.to_string());
  return 1;
}

void print(const lab::TrialResult& r) {
  std::string out = "{";
  for (const auto& [name, value] : r.kpis) out += fmt::format("\"{}\": {:.10g}, ", name, value);
  out += fmt::format(
      "\"frames_sent\": {}, \"frames_received\": {}, \"cpu_s\": {:.3f}, \"elapsed_s\": {:.3f}, ",
      r.frames.offered, r.frames.received, r.total_cpu_s, r.effective_s);
  std::string reasons;
  for (const auto& why : r.stamp_reasons) reasons += (reasons.empty() ? "" : "; ") + why;
  out += fmt::format("\"clean\": {}, \"reasons\": \"{}\", \"rfc9411\": {}}}",
                     r.stamp == lab::Stamp::kClean, reasons, lab::judge_rfc9411(r).has_passed);
  fmt::print("{}\n", out);
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  auto setters = make_setters();
  add_tls_setters(setters);
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const auto at = name.starts_with("--") ? setters.find(name.substr(2)) : setters.end();
    if (at == setters.end()) {
      fmt::print(stderr, "{}: not an option\n", name);
      return 2;
    }
    at->second(o, argv[i + 1]);
  }
  const auto tls = lab::make_tls_spec(o.tls_version, o.tls_key, o.tls_cipher);
  if (!tls) return fail(tls.error());
  o.spec.tls.version = tls->version;
  o.spec.tls.key = tls->key;
  o.spec.tls.cipher = tls->cipher;
  std::unique_ptr<lab::Endpoint> ends[2];
  for (const bool is_server : {true, false}) {  // memif: the server makes the socket
    if (!(is_server ? o.has_server : o.has_client)) continue;
    auto e = lab::open_endpoint(is_server ? o.server : o.client);
    if (!e) return fail(e.error());
    ends[is_server ? 1 : 0] = std::move(*e);
  }
  auto load = lab::TcpLoad::create(std::move(ends[0]), std::move(ends[1]), o.settings);
  if (!load) return fail(load.error());
  const std::atomic<bool> stop{false};
  const auto result = (*load)->run(o.spec, stop);
  if (!result) return fail(result.error());
  print(*result);
  return 0;
}
