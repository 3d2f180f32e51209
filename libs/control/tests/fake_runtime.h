// SPDX-License-Identifier: Apache-2.0
#pragma once
// A daemon without an engine: fixed answers that tests of the API and of the command line check,
// and a record of what was asked. One thread, or the server's two with requests one after the
// other.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "merlon/control/api_runtime.h"

namespace merlon::control::test {

inline base::IpAddress address(const char* text) { return *base::parse_address(text); }

class FakeCursor final : public SessionCursor {
 public:
  FakeCursor(const client::SessionFilter& filter, std::uint64_t count)
      : filter_(filter), count_(count) {}

  bool next(std::vector<SessionRow>& rows) override {
    rows.clear();
    if (at_ == count_) return false;
    for (; at_ < count_ && rows.size() < 256; ++at_) {
      SessionRow row = make(at_);
      if (matches(filter_, row)) rows.push_back(std::move(row));
    }
    return true;
  }

  // Even sessions are TCP to port 443 by web-out, odd ones denied telnet.
  static SessionRow make(std::uint64_t i) {
    SessionRow row;
    row.id = i;
    row.protocol = 6;
    row.source = base::IpAddress::v4(0x0a000000U + static_cast<std::uint32_t>(i));
    row.destination = address("192.0.2.9");
    row.source_port = 40'000;
    row.destination_port = i % 2 == 0 ? 443 : 23;
    row.state = i % 2 == 0 ? "established" : "denied";
    row.rule = i % 2 == 0 ? "web-out" : "no-telnet";
    row.action = i % 2 == 0 ? "permit" : "drop";
    row.reason = i % 2 == 0 ? base::DropReason::kNone : base::DropReason::kPolicyDeny;
    row.from_zone = "lan";
    row.to_zone = "wan";
    row.in_port = "p0";
    row.packets[0] = 10;
    row.bytes[0] = 1500;
    row.age_ms = 5000;
    row.revision = 41;
    return row;
  }

 private:
  client::SessionFilter filter_;
  std::uint64_t count_, at_ = 0;
};

class FakeRuntime final : public RuntimeView {
 public:
  std::uint64_t session_count = 4;
  std::uint64_t revision = 41;
  std::vector<std::string> calls;  // what was asked for that changes something
  CheckReport check_answer;
  PreviewReport preview_answer;
  CommitOutcome commit_answer;

  Status status() override {
    Status s;
    s.version = "0.1.0";
    s.revision = "abc1234";
    s.name = "fw1";
    s.mode = "wire";
    s.state = "running";
    s.uptime_ms = 7'440'000;
    s.config_revision = revision;
    s.sessions = session_count;
    s.session_limit = 1'000'000;
    return s;
  }
  std::vector<PortStatus> ports() override {
    PortStatus p;
    p.info.name = "p0";
    p.info.driver = "net_af_packet";
    p.info.is_link_up = true;
    p.info.speed_mbps = 10'000;
    p.counters.rx_packets = 1'234'567;
    p.role = "wire office";
    p.zone = "lan";
    return {p};
  }
  std::vector<WorkerStatus> workers() override {
    WorkerStatus w;
    w.busy_ratio = 0.125;
    w.sessions = session_count;
    return {w};
  }
  std::vector<RuleStatus> rules() override {
    RuleStatus web, telnet;
    web.id = "web-out";
    web.action = "permit";
    web.hits = 7;
    web.last_hit = 1787393472123456789;
    telnet.id = "no-telnet";
    telnet.action = "drop";
    telnet.hits = 9;
    telnet.reason = "clear text login";
    telnet.where = {"policy.yaml", 18, 5, 0};
    return {web, telnet};
  }
  std::vector<DropCount> drops() override {
    return {{base::DropReason::kPolicyDeny, 9, 0, 0.5, 1787393472123456789}};
  }
  std::vector<DroppedPacket> dropped_packets(base::DropReason reason) override {
    if (reason != base::DropReason::kNone && reason != base::DropReason::kPolicyDeny) return {};
    DroppedPacket p;
    p.time = 1787393472123456789;
    p.reason = base::DropReason::kPolicyDeny;
    p.rule = "no-telnet";
    p.port = "p0";
    p.zone = "lan";
    p.protocol = 6;
    p.source = address("10.0.0.5");
    p.destination = address("192.0.2.9");
    p.source_port = 40'000;
    p.destination_port = 23;
    p.length = 60;
    p.bytes = {1, 2, 3, 4};
    return {p};
  }
  std::vector<PoolStatus> pools() override { return {{"sessions", 250, 1000, 300, 0, 128'000}}; }
  std::vector<std::string> names(NameType type) override {
    switch (type) {
      case NameType::kRule:
        return {"web-out", "no-telnet"};
      case NameType::kZone:
        return {"lan", "wan"};
      case NameType::kPort:
        return {"p0", "p1"};
      case NameType::kState:
        return {"established", "denied", "syn_sent"};
    }
    return {};
  }
  std::string metrics_text() override { return "merlon_drops_total{reason=\"policy_deny\"} 9\n"; }
  std::vector<EventLine> events(std::uint64_t after, std::size_t limit) override {
    std::vector<EventLine> out;
    for (std::uint64_t i = after + 1; i <= 3 && out.size() < limit; ++i)
      out.push_back({i, "{\"event_type\":\"flow\",\"n\":" + std::to_string(i) + "}"});
    return out;
  }
  std::unique_ptr<SessionCursor> sessions(const client::SessionFilter& filter) override {
    return std::make_unique<FakeCursor>(filter, session_count);
  }
  base::Result<std::uint64_t> clear_sessions(const client::SessionFilter& filter,
                                             std::string_view peer) override {
    calls.push_back("clear " + client::to_string(filter) + " by " + std::string(peer));
    return std::uint64_t{2};
  }
  base::Result<Explanation> explain(const client::PacketWords& packet) override {
    Explanation e;
    e.packet = client::to_string(packet);
    e.zone_in = "lan";
    e.port_in = "p0";
    e.session = "none: would create";
    e.rule = "no-telnet";
    e.rule_where = {"policy.yaml", 18, 5, 0};
    e.action = "drop";
    e.rule_reason = "clear text login";
    e.before = 1;
    e.before_same_zone = 1;
    e.considered = {{"web-out", {"policy.yaml", 12, 5, 0}, "service does not match"}};
    e.verdict = "drop";
    e.reason = base::DropReason::kPolicyDeny;
    return e;
  }
  base::Result<Explanation> explain(const client::SessionWords& session) override {
    if (session.id && *session.id >= session_count)
      return base::Error{base::Errc::kNotFound, "no session " + std::to_string(*session.id)};
    Explanation e;
    e.session = "id 1, established";
    e.verdict = "forward";
    return e;
  }
  base::Result<StoredConfig> config(std::uint64_t number) override {
    if (number != 0 && number != revision)
      return base::Error{base::Errc::kNotFound, "no revision " + std::to_string(number)};
    return StoredConfig{revision, Bundle{{{"merlon.yaml", "version: 1\n"}}},
                        "version: 1\nname: fw1\n"};
  }
  std::vector<RevisionInfo> history() override {
    RevisionInfo now, before;
    now.number = revision;
    now.author = "ada";
    now.reason = "committed";
    now.comment = "open https";
    before.number = revision - 1;
    before.reason = "start";
    return {now, before};
  }
  CheckReport check_config(const Bundle& candidate) override {
    calls.push_back("check " + describe(candidate));
    return check_answer;
  }
  PreviewReport preview_config(const Bundle& candidate) override {
    calls.push_back("preview " + describe(candidate));
    return preview_answer;
  }
  CommitOutcome commit_config(const Bundle& candidate, const CommitRequest& request,
                              std::string_view peer) override {
    calls.push_back("commit " + describe(candidate) + " author=" + request.author +
                    " comment=" + request.comment +
                    " base=" + std::to_string(request.expected_revision.value_or(0)) +
                    " confirm=" + std::to_string(request.confirm_within / base::kNanosPerSecond) +
                    " peer=" + std::string(peer).substr(0, 3));
    if (request.expected_revision && *request.expected_revision != revision) {
      CommitOutcome refused;
      refused.errors.push_back(
          {base::Errc::kConflict, "revision 41 is running, not 40", {}, "diff again"});
      return refused;
    }
    return commit_answer;
  }
  base::Result<RevisionInfo> confirm_config(const std::string& author, std::string_view) override {
    calls.push_back("confirm author=" + author);
    RevisionInfo info;
    info.number = 42;
    info.reason = "confirmed";
    return info;
  }
  CommitOutcome rollback_config(std::uint64_t number, const CommitRequest& request,
                                std::string_view) override {
    calls.push_back("rollback " + std::to_string(number) + " comment=" + request.comment);
    return commit_answer;
  }

 private:
  static std::string describe(const Bundle& bundle) {
    std::string out;
    for (const SourceFile& f : bundle.files)
      out += (out.empty() ? "" : ",") + f.name + ":" + std::to_string(f.text.size());
    return out;
  }
};

}  // namespace merlon::control::test
