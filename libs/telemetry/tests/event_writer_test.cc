// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/event_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "schema_check.h"

namespace merlon::telemetry {
namespace {

using base::EventKind;
using base::EventRecord;

// Keeps lines; shared with the test because the writer owns its sinks.
struct Seen {
  std::vector<std::string> lines;
  std::vector<Severity> severities;
  unsigned flushes = 0;
  unsigned reopens = 0;
};
class MemorySink final : public EventSink {
 public:
  explicit MemorySink(Seen& seen) : EventSink("memory", "test"), seen_(seen) {}
  void write(std::string_view line, Severity severity, base::Nanos) noexcept override {
    seen_.reopens += take_reopen() ? 1U : 0U;
    seen_.lines.emplace_back(line);
    seen_.severities.push_back(severity);
    count_written(1, line.size());
  }
  void flush(base::Nanos) noexcept override { ++seen_.flushes; }

 private:
  Seen& seen_;
};

EventRecord record(std::uint64_t packet, EventKind kind, std::uint64_t flow_id = 1,
                   base::Nanos time = 0) {
  EventRecord r;
  r.packet_number = packet;
  r.kind = kind;
  r.flow_id = flow_id;
  r.time = time;
  r.reason = kind == EventKind::kDrop ? base::DropReason::kNonIp : base::DropReason::kNone;
  return r;
}

// "packet/type/flow" of each line.
std::vector<std::string> keys(const Seen& seen) {
  std::vector<std::string> all;
  for (const auto& line : seen.lines) {
    const auto j = nlohmann::json::parse(line);
    all.push_back(std::to_string(j.value("pcap_cnt", 0)) + "/" +
                  j["event_type"].get<std::string>() + "/" + std::to_string(j.value("flow_id", 0)));
  }
  return all;
}

struct Fixture {
  explicit Fixture(std::size_t capacity = 64)
      : one(capacity), two(capacity), writer({&one, &two}, names, {}) {
    writer.add_sink(std::make_unique<MemorySink>(seen));
  }
  test::FixedNames names;
  base::EventRing one, two;
  Seen seen;
  EventWriter writer;
};

TEST(EventWriter, PumpOrdersByPacketThenKind) {
  Fixture f;
  f.one.push(record(3, EventKind::kFlow, 7));
  f.one.push(record(3, EventKind::kPolicy, 7));
  f.one.push(record(9, EventKind::kDrop));
  f.one.push(record(0, EventKind::kFlow, 5, 20));  // the end of the run
  f.two.push(record(1, EventKind::kDrop));
  f.two.push(record(3, EventKind::kFlow, 2));
  f.two.push(record(0, EventKind::kFlow, 9, 10));
  EXPECT_EQ(f.writer.pump(0), 7U);
  EXPECT_EQ(keys(f.seen),
            (std::vector<std::string>{"1/drop/1", "3/policy/7", "3/flow/2", "3/flow/7", "9/drop/1",
                                      "0/flow/9", "0/flow/5"}));
  EXPECT_EQ(f.writer.pump(0), 0U);
  EXPECT_EQ(f.writer.event_count(), 7U);
}

// The same records over one or two workers give the same lines.
TEST(EventWriter, PumpDoesNotDependOnTheNumberOfWorkers) {
  Fixture spread, single;
  for (std::uint64_t n = 1; n <= 40; ++n) {
    const auto r =
        record(n / 2, n % 3 == 0 ? EventKind::kFlow : EventKind::kPolicy, n * 0x9e37 % 41 + 1, 5);
    (r.flow_id % 2 == 0 ? spread.one : spread.two).push(r);
    single.one.push(r);
  }
  spread.writer.finish(0);
  single.writer.finish(0);
  EXPECT_EQ(spread.seen.lines, single.seen.lines);
  EXPECT_EQ(spread.seen.lines.size(), 40U);
  EXPECT_EQ(spread.seen.flushes, 1U);
}

TEST(EventWriter, ThreadWritesEverythingBeforeItStops) {
  Fixture f(128);
  f.writer.start();
  constexpr std::uint64_t kEach = 5000;
  const auto produce = [](base::EventRing& ring, std::uint64_t base) {
    for (std::uint64_t n = 1; n <= kEach; ++n)
      while (!ring.push(record(base + n, EventKind::kDrop))) std::this_thread::yield();
  };
  std::thread a(produce, std::ref(f.one), 0), b(produce, std::ref(f.two), 1'000'000);
  f.writer.write(EventType::kConfig, R"({"event_type":"config"})", Severity::kNotice, 0);
  a.join();
  b.join();
  f.writer.stop();
  EXPECT_EQ(f.writer.event_count(), 2 * kEach);
  ASSERT_EQ(f.seen.lines.size(), 2 * kEach + 1);
  EXPECT_GE(f.seen.flushes, 1U);
  // Each worker's events keep their order.
  std::uint64_t last_a = 0, last_b = 0;
  bool is_ordered = true;
  for (const auto& line : f.seen.lines) {
    const auto n = nlohmann::json::parse(line).value("pcap_cnt", std::uint64_t{0});
    if (n == 0) continue;
    std::uint64_t& last = n > 1'000'000 ? last_b : last_a;
    is_ordered = is_ordered && n > last;
    last = n;
  }
  EXPECT_TRUE(is_ordered);
}

TEST(EventWriter, StartsAgain) {
  Fixture f;
  f.writer.start();
  f.writer.stop();
  f.one.push(record(1, EventKind::kDrop));
  f.writer.start();
  f.writer.stop();
  EXPECT_EQ(f.seen.lines.size(), 1U);
}

TEST(EventWriter, ControlLinesAndReopenReachEverySink) {
  Fixture f;
  Seen second;
  f.writer.add_sink(std::make_unique<MemorySink>(second));
  f.writer.request_reopen();
  f.writer.write(EventType::kStats, "line", Severity::kNotice, 0);
  for (const Seen* seen : {&f.seen, &second}) {
    EXPECT_EQ(seen->lines, std::vector<std::string>{"line"});
    EXPECT_EQ(seen->severities[0], Severity::kNotice);
    EXPECT_EQ(seen->reopens, 1U);
  }
  const auto status = f.writer.sinks();
  ASSERT_EQ(status.size(), 2U);
  EXPECT_EQ(status[0].written, 1U);
  EXPECT_EQ(status[0].bytes, 4U);
}

TEST(EventWriter, SinksTakeTheirTypesOnly) {
  test::FixedNames names;
  base::EventRing ring(64);
  Seen some, all;
  EventWriter writer({&ring}, names, {});
  auto sink = std::make_unique<MemorySink>(some);
  sink->take_only(std::array{EventType::kPolicy, EventType::kConfig});
  writer.add_sink(std::move(sink));
  writer.add_sink(std::make_unique<MemorySink>(all));
  ring.push(record(1, EventKind::kPolicy));
  ring.push(record(2, EventKind::kFlow));
  ring.push(record(3, EventKind::kDrop));
  writer.pump(0);
  writer.write(EventType::kConfig, R"({"event_type":"config"})", Severity::kNotice, 0);
  writer.write(EventType::kStats, R"({"event_type":"stats"})", Severity::kInfo, 0);
  EXPECT_EQ(keys(some), (std::vector<std::string>{"1/policy/1", "0/config/0"}));
  EXPECT_EQ(all.lines.size(), 5U);
  for (const char* name : {"policy", "flow", "drop", "stats", "config"})
    EXPECT_TRUE(event_type_from_name(name).has_value()) << name;
  EXPECT_FALSE(event_type_from_name("alert").has_value());
}

TEST(EventWriter, Severities) {
  EXPECT_EQ(event_severity(record(1, EventKind::kDrop)), Severity::kWarning);
  EXPECT_EQ(event_severity(record(1, EventKind::kFlow)), Severity::kInfo);
  EXPECT_EQ(event_severity(record(1, EventKind::kPolicy)), Severity::kInfo);
  auto denied = record(1, EventKind::kPolicy);
  denied.action = base::Action::kReject;
  EXPECT_EQ(event_severity(denied), Severity::kWarning);
}

}  // namespace
}  // namespace merlon::telemetry
