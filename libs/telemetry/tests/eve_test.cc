// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/eve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "merlon/telemetry/reports.h"
#include "schema_check.h"
#include "sha1.h"

namespace merlon::telemetry {
namespace {

using base::EventKind;
using base::EventRecord;
using base::IpAddress;
using test::event_errors;
using testing::IsEmpty;

constexpr base::Nanos kStart = 1787393472123456789;  // 2026-08-22T10:11:12.123456

IpAddress address(std::string_view text) { return *base::parse_address(text); }

std::string format(const EventRecord& r, const EveOptions& options = {}) {
  const test::FixedNames names;
  std::string out;
  EveFormatter(names, options).append(r, out);
  return out;
}

EventRecord tcp_flow() {
  EventRecord r;
  r.kind = EventKind::kFlow;
  r.end = base::SessionEnd::kTcpFin;
  r.protocol = 6;
  r.state = 6;
  r.tcp_flags[0] = 0x1b;
  r.tcp_flags[1] = 0x13;
  r.time = kStart + 61 * base::kNanosPerSecond;
  r.start = kStart;
  r.packet_number = 42;
  r.flow_id = (std::uint64_t{1} << 53) - 1;
  r.source = address("192.0.2.1");
  r.destination = address("198.51.100.255");
  r.source_port = 40000;
  r.destination_port = 443;
  r.vlan_outer = 10;
  r.vlan_inner = 20;
  r.in_port = 1;
  r.out_port = 0;
  r.zone_source = 1;
  r.zone_destination = 0;
  r.rule = 7;
  r.generation = 3;
  r.packets = {5, 4};
  r.bytes = {500, 60000};
  return r;
}

TEST(Eve, TcpFlow) {
  const std::string line = format(tcp_flow());
  EXPECT_EQ(
      line,
      R"({"timestamp":"2026-08-22T10:12:13.123456+0000","flow_id":9007199254740991,"pcap_cnt":42,)"
      R"("in_iface":"lan","event_type":"flow","vlan":[10,20],"src_ip":"192.0.2.1","src_port":40000,)"
      R"("dest_ip":"198.51.100.255","dest_port":443,"proto":"TCP",)"
      R"("flow":{"pkts_toserver":5,"pkts_toclient":4,"bytes_toserver":500,"bytes_toclient":60000,)"
      R"("start":"2026-08-22T10:11:12.123456+0000","end":"2026-08-22T10:12:13.123456+0000","age":61,)"
      R"("state":"closed","reason":"tcp_fin","alerted":false},)"
      R"("tcp":{"tcp_flags":"1b","tcp_flags_ts":"1b","tcp_flags_tc":"13","syn":true,"fin":true,"psh":true,)"
      R"("ack":true,"state":"time_wait"},)"
      R"("policy":{"rule":"allow-web","action":"permit","revision":3,"zone_src":"inside",)"
      R"("zone_dst":"outside","out_iface":"wan","reason":"say \"please\""}})");
  EXPECT_THAT(event_errors(line), IsEmpty());
}

TEST(Eve, PolicyOfAnIcmp6Query) {
  EventRecord r;
  r.kind = EventKind::kPolicy;
  r.action = base::Action::kReject;
  r.reason = base::DropReason::kPolicyReject;
  r.protocol = 58;
  r.icmp_type = 128;
  r.icmp_code = 0;
  r.time = r.start = kStart;
  r.flow_id = 9;
  r.source = address("2001:db8::1");
  r.destination = address("2001:db8::2");
  r.source_port = 77;  // the key's identifier, no port
  r.rule = 5;          // has no name
  r.generation = 1;
  r.is_would_drop = true;
  EveOptions options;
  options.host = "edge \"1\"";
  const std::string line = format(r, options);
  EXPECT_EQ(
      line,
      R"({"timestamp":"2026-08-22T10:11:12.123456+0000","flow_id":9,"event_type":"policy",)"
      R"("src_ip":"2001:db8::1","dest_ip":"2001:db8::2","proto":"IPv6-ICMP","icmp_type":128,"icmp_code":0,)"
      R"("host":"edge \"1\"","flow":{"start":"2026-08-22T10:11:12.123456+0000"},)"
      R"("policy":{"rule":"#5","action":"reject","revision":1,"drop_reason":"policy_reject","would_drop":true}})");
  EXPECT_THAT(event_errors(line), IsEmpty());
}

TEST(Eve, DropOfASyn) {
  EventRecord r;
  r.kind = EventKind::kDrop;
  r.reason = base::DropReason::kDefaultDeny;
  r.protocol = 6;
  r.tcp_flags[0] = 2;
  r.time = kStart;
  r.packet_number = 1;
  r.source = address("10.0.0.1");
  r.destination = address("10.200.3.40");
  r.source_port = 1;
  r.destination_port = 23;
  r.in_port = 0;
  r.rule = 0;
  r.length = 60;
  const std::string line = format(r);
  EXPECT_EQ(
      line,
      R"({"timestamp":"2026-08-22T10:11:12.123456+0000","pcap_cnt":1,"in_iface":"wan","event_type":"drop",)"
      R"("src_ip":"10.0.0.1","src_port":1,"dest_ip":"10.200.3.40","dest_port":23,"proto":"TCP",)"
      R"("tcp":{"tcp_flags":"02","syn":true},"drop":{"len":60,"reason":"default_deny","rule":"default"}})");
  EXPECT_THAT(event_errors(line), IsEmpty());
}

TEST(Eve, DropWithoutAnIpHeaderHasNoAddresses) {
  EventRecord r;
  r.kind = EventKind::kDrop;
  r.reason = base::DropReason::kMalformedEthernet;
  r.time = kStart;
  r.length = 9;
  EveOptions options;
  options.community_id = true;
  const std::string line = format(r, options);
  EXPECT_EQ(line, R"({"timestamp":"2026-08-22T10:11:12.123456+0000","event_type":"drop",)"
                  R"("drop":{"len":9,"reason":"malformed_ethernet"}})");
  EXPECT_THAT(event_errors(line), IsEmpty());
}

TEST(Eve, AppendsBehindWhatIsThere) {
  const test::FixedNames names;
  std::string out = "x\n";
  EveFormatter(names, {}).append(tcp_flow(), out);
  EXPECT_EQ(out, "x\n" + format(tcp_flow()));
}

TEST(Eve, JsonStrings) {
  const auto quoted = [](std::string_view s) {
    std::string out;
    append_json_string(s, out);
    return out;
  };
  EXPECT_EQ(quoted(""), R"("")");
  EXPECT_EQ(quoted("a\"b\\c\n\r\t"), R"("a\"b\\c\n\r\t")");
  EXPECT_EQ(quoted(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(quoted("gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5"),
            "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5\"");
  // Overlong, surrogate, beyond U+10FFFF, cut short: one replacement per refused byte.
  EXPECT_EQ(quoted("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(quoted("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(quoted("\xf4\x90\x80\x80").size(), 2 + 4 * 3U);
  EXPECT_EQ(quoted("ok\xe2\x82"), "\"ok\xef\xbf\xbd\xef\xbf\xbd\"");
}

// Our own writer of addresses agrees with the system's.
TEST(Eve, AddressesAreInTheirCanonicalForm) {
  const auto written = [](const IpAddress& a) {
    EventRecord r;
    r.source = a;
    r.destination = address("192.0.2.1");
    return nlohmann::json::parse(format(r))["src_ip"].get<std::string>();
  };
  for (const char* text :
       {"0.0.0.0", "255.255.255.255", "10.20.99.100", "2001:db8::", "1::", "::1", "::192.0.2.1",
        "2001:db8:0:1:1:1:1:1", "2001:0:0:1::1", "2001:db8::1:0:0:1", "fe80::1", "1:2:3:4:5:6:7:8",
        "1:0:3:0:5:0:7:0", "64:ff9b::192.0.2.33", "1:2:3:4:5:6::"})
    EXPECT_EQ(written(address(text)), address(text).to_string());
  EXPECT_TRUE(rc::check([&] {
    IpAddress a;
    for (auto& b : a.bytes) b = *rc::gen::element<base::Byte>(0, 0, 0, 1, 0x10, 0xff);
    RC_ASSERT(written(a) == a.to_string());
  }));
}

// Names of any length, also around the size of the writer's buffer.
TEST(Eve, LongNames) {
  struct LongNames final : Names {
    std::string text;
    std::string_view port(std::uint16_t) const override { return text; }
    std::string_view zone(std::uint16_t, std::uint32_t) const override { return {}; }
    std::string_view rule(std::uint32_t) const override { return text; }
    std::string_view session_state(std::uint8_t) const override { return {}; }
    FlowState flow_state(std::uint8_t) const override { return FlowState::kNew; }
  };
  LongNames names;
  for (std::size_t size = 0; size < 3000; size += 7) {
    names.text.assign(size, 'n');
    std::string line;
    EveFormatter(names, {}).append(tcp_flow(), line);
    const auto json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << size;
    ASSERT_EQ(json["policy"]["rule"], size != 0 ? names.text : "#7");
    ASSERT_EQ(json["flow"]["bytes_toclient"], 60000);
  }
}

TEST(Eve, ProtocolNames) {
  EXPECT_EQ(protocol_name(6), "TCP");
  EXPECT_EQ(protocol_name(47), "GRE");
  EXPECT_EQ(protocol_name(5), "005");
  EXPECT_EQ(protocol_name(253), "253");
}

TEST(Eve, EveryEndHasAName) {
  EXPECT_EQ(session_end_name(base::SessionEnd::kNone), "none");
  EXPECT_EQ(session_end_name(base::SessionEnd::kReplaced), "replaced");
  EXPECT_EQ(static_cast<unsigned>(base::SessionEnd::kShutdown) + 1, kSessionEndCount);
  EXPECT_EQ(session_end_name(base::SessionEnd::kShutdown), "shutdown");
}

TEST(Eve, AnyRecordGivesAValidEvent) {
  struct WildNames final : Names {
    std::string text;
    std::string_view port(std::uint16_t) const override { return text; }
    std::string_view zone(std::uint16_t, std::uint32_t) const override { return text; }
    std::string_view rule(std::uint32_t) const override { return text; }
    std::string_view rule_reason(std::uint32_t) const override { return text; }
    std::string_view session_state(std::uint8_t) const override { return "established"; }
    FlowState flow_state(std::uint8_t state) const override {
      return static_cast<FlowState>(state % 3);
    }
  };
  EXPECT_TRUE(rc::check([] {
    WildNames names;
    names.text = *rc::gen::arbitrary<std::string>();
    EventRecord r;
    r.kind = static_cast<EventKind>(*rc::gen::inRange(0, 3));
    r.action = static_cast<base::Action>(*rc::gen::inRange(0, 3));
    r.reason =
        static_cast<base::DropReason>(*rc::gen::inRange<unsigned>(1, base::kDropReasonCount));
    r.end = static_cast<base::SessionEnd>(*rc::gen::inRange(0U, kSessionEndCount));
    r.protocol = *rc::gen::arbitrary<std::uint8_t>();
    r.tcp_flags[0] = *rc::gen::arbitrary<std::uint8_t>();
    r.tcp_flags[1] = *rc::gen::arbitrary<std::uint8_t>();
    r.is_would_drop = *rc::gen::arbitrary<bool>();
    r.time = *rc::gen::inRange<base::Nanos>(0, kStart * 2);
    r.start = *rc::gen::inRange<base::Nanos>(0, kStart * 2);
    r.flow_id = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 53);
    for (auto* a : {&r.source, &r.destination})
      for (auto& b : a->bytes) b = *rc::gen::arbitrary<base::Byte>();
    r.source_port = *rc::gen::arbitrary<std::uint16_t>();
    r.vlan_outer = *rc::gen::inRange<std::uint16_t>(0, 3);
    r.in_port = *rc::gen::arbitrary<std::uint16_t>();
    r.rule = *rc::gen::arbitrary<std::uint32_t>();
    r.packets = {*rc::gen::arbitrary<std::uint64_t>(), 0};
    EveOptions options;
    options.host = names.text;
    options.community_id = true;
    std::string line;
    EveFormatter(names, options).append(r, line);
    RC_ASSERT(event_errors(line) == std::vector<std::string>{});
    RC_ASSERT(line.find('\n') == std::string::npos);
  }));
}

TEST(Sha1, StandardVectors) {
  const auto hex = [](std::string_view s) {
    std::string out;
    for (const auto b : sha1({reinterpret_cast<const base::Byte*>(s.data()), s.size()})) {
      out.push_back("0123456789abcdef"[b >> 4]);
      out.push_back("0123456789abcdef"[b & 15]);
    }
    return out;
  };
  // FIPS 180-4 examples and the lengths around the padding's edge (55, 56, 64 bytes of 'a').
  EXPECT_EQ(hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(hex(std::string(55, 'a')), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
  EXPECT_EQ(hex(std::string(56, 'a')), "c2db330f6083854c99d4b5bfb6e8f29f201be699");
  EXPECT_EQ(hex(std::string(64, 'a')), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
}

EventRecord tuple(std::uint8_t protocol, std::string_view from, std::string_view to,
                  std::uint16_t a, std::uint16_t b) {
  EventRecord r;
  r.protocol = protocol;
  r.source = address(from);
  r.destination = address(to);
  if (protocol == 1 || protocol == 58) {
    r.icmp_type = static_cast<std::uint8_t>(a);
    r.icmp_code = static_cast<std::uint8_t>(b);
  } else {
    r.source_port = a;
    r.destination_port = b;
  }
  return r;
}

TEST(CommunityId, PublishedVectors) {
  const auto tcp = tuple(6, "128.232.110.120", "66.35.250.204", 34855, 80);
  EXPECT_EQ(community_id(tcp, 0), "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
  EXPECT_EQ(community_id(tcp, 1), "1:3V71V58M3Ksw/yuFALMcW0LAHvc=");
  EXPECT_EQ(community_id(tuple(6, "66.35.250.204", "128.232.110.120", 80, 34855), 0),
            "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
  EXPECT_EQ(community_id(tuple(17, "192.168.1.52", "8.8.8.8", 54585, 53), 0),
            "1:d/FP5EW3wiY1vCndhwleRRKHowQ=");
  EXPECT_EQ(community_id(tuple(132, "192.168.170.8", "192.168.170.56", 7, 7), 0),
            "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs=");
}

TEST(CommunityId, IcmpTypesTakeThePlaceOfPorts) {
  // Echo request and its reply meet; so do neighbour solicitation and advertisement.
  EXPECT_EQ(community_id(tuple(1, "192.168.0.89", "192.168.0.1", 8, 0), 0),
            "1:X0snYXpgwiv9TZtqg64sgzUn6Dk=");
  EXPECT_EQ(community_id(tuple(1, "192.168.0.1", "192.168.0.89", 0, 0), 0),
            "1:X0snYXpgwiv9TZtqg64sgzUn6Dk=");
  EXPECT_EQ(
      community_id(tuple(58, "fe80::200:86ff:fe05:80da", "fe80::260:97ff:fe07:69ea", 135, 0), 0),
      "1:dGHyGvjMfljg6Bppwm3bg0LO8TY=");
  // One-way: type and code, not ordered.
  EXPECT_EQ(community_id(tuple(1, "192.168.0.89", "192.168.0.1", 3, 1), 0),
            "1:LXCfhMUFbYXe+CEMrQuZCbiLY3o=");
}

TEST(CommunityId, ProtocolsWithoutPortsHashNone) {
  EXPECT_EQ(community_id(tuple(47, "10.0.0.2", "10.0.0.1", 5, 6), 0),
            "1:+KlEHDT0vJgzs/eNmzHq0aSpRYw=");
}

TEST(Reports, StatsObeysTheSchema) {
  WorkerCounters row;
  row.add_drop(base::DropReason::kPolicyDeny, 60);
  row.add_session_end(base::SessionEnd::kTimeout);
  row.events_lost.add(4);
  SinkStatus sink;
  sink.name = "eve";
  sink.kind = "file";
  sink.lost = 3;
  StatsReport report;
  report.time = kStart;
  report.host = "edge";
  report.version = "0.1.0";
  report.sessions_limit = 100;
  report.totals = read_counters(row);
  report.sinks = {&sink, 1};
  const std::string line = format_stats(report);
  EXPECT_THAT(event_errors(line), IsEmpty());
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["event_type"], "stats");
  EXPECT_EQ(json["host"], "edge");
  EXPECT_EQ(json["stats"]["event_schema"], kEventSchema);
  EXPECT_EQ(json["stats"]["drops"]["policy_deny"], 1);
  EXPECT_EQ(json["stats"]["drops"]["default_deny"], 0);
  EXPECT_EQ(json["stats"]["counters"]["events_lost"], 4);
  EXPECT_EQ(json["stats"]["sessions"]["ended"]["timeout"], 1);
  EXPECT_EQ(json["stats"]["sinks"][0]["lost"], 3);
}

TEST(Reports, ConfigEvent) {
  ConfigReport report;
  report.time = kStart;
  report.result = ConfigReport::Result::kRolledBack;
  report.revision = 4;
  report.previous_revision = 5;
  report.author = "ada";
  report.cause = "confirm_timeout";
  report.rules = 12;
  report.blocked_nanos = 800;
  const std::string line = format_config_event(report);
  EXPECT_EQ(
      line,
      R"({"timestamp":"2026-08-22T10:11:12.123456+0000","event_type":"config","config":{"result":"rolled_back",)"
      R"("revision":4,"previous_revision":5,"author":"ada","cause":"confirm_timeout","rules":12,)"
      R"("sessions_ended":0,"blocked_ns":800}})");
  EXPECT_THAT(event_errors(line), IsEmpty());
}

}  // namespace
}  // namespace merlon::telemetry
