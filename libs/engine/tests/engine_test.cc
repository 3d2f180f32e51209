// SPDX-License-Identifier: Apache-2.0
// What a text case can't show: threads. Everything a packet can meet is in tests/cases.
#include "merlon/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "merlon/engine/session_walk.h"
#include "merlon/io/ring_port.h"
#include "merlon/io/steering.h"
#include "merlon/packet/text.h"
#include "merlon/policy/compile.h"

namespace merlon::engine {
namespace {

using base::Action;
using Bytes = std::vector<base::Byte>;

policy::Rule rule(std::string id, Action action, std::string service) {
  policy::Rule r;
  r.id = std::move(id);
  r.action = action;
  r.services = {{.text = std::move(service), .negated = false, .where = {}}};
  return r;
}

Bytes frame(const std::string& text) {
  auto bytes = packet::packet_from_text(text, {});
  EXPECT_TRUE(bytes.ok()) << bytes.error().to_string();
  return *bytes;
}

class EngineTest : public testing::Test {
 protected:
  void start(unsigned workers, bool with_threads) {
    config_.workers = workers;
    config_.ports = {{.name = "a"}, {.name = "b"}};
    config_.wires = {{.name = "w", .port_a = 0, .port_b = 1}};
    config_.table.max_sessions = 8192;
    model_.ports = {"a", "b"};
    pool_ = *io::BufferPool::create({.small_count = 16'384, .large_count = 4});
    std::vector<std::unique_ptr<io::Port>> ports;
    for (std::uint16_t n = 0; n < 2; ++n) {
      auto port = *io::RingPort::create(
          {.name = config_.ports[n].name, .number = n, .tx_queues = workers, .depth = 4096}, pool_);
      rings_[n] = port.get();
      ports.push_back(std::move(port));
    }
    auto engine =
        Engine::create(config_, std::move(ports), compile(), with_threads ? nullptr : &now_);
    ASSERT_TRUE(engine.ok()) << engine.error().to_string();
    engine_ = std::move(*engine);
    if (with_threads) engine_->start();
  }
  EngineSnapshot compile() {
    policy::CompileResult compiled = policy::compile(model_, slots_);
    EXPECT_NE(compiled.snapshot, nullptr);
    return make_snapshot(config_, model_, std::move(compiled.snapshot));
  }
  telemetry::CounterTotals totals() { return telemetry::sum_counters(engine_->counter_rows()); }

  base::Nanos now_ = base::kNanosPerSecond;
  EngineConfig config_;
  policy::PolicyModel model_;
  policy::RuleSlots slots_;
  std::shared_ptr<io::BufferPool> pool_;
  std::array<io::RingPort*, 2> rings_{};
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, CommitsUnderTrafficLoseNothing) {
  model_.rules = {rule("udp", Action::kPermit, "udp/any")};
  start(2, true);
  constexpr unsigned kFlows = 64, kPackets = 40'000;
  std::vector<Bytes> frames;
  for (unsigned f = 0; f < kFlows; ++f)
    frames.push_back(frame("ipv4 src=10.0.0." + std::to_string(f + 1) +
                           " dst=192.0.2.1 / udp sport=5000 dport=53"));
  std::atomic<bool> done{false};
  std::thread committer([&] {
    for (unsigned n = 0; !done.load(); ++n) {
      model_.rules.resize(1);
      model_.rules.push_back(rule("extra-" + std::to_string(n % 7), Action::kDrop,
                                  "tcp/" + std::to_string(1 + n % 100)));
      const PublishReport report = engine_->publish(compile());
      EXPECT_TRUE(report.all_passed);
    }
  });
  std::uint64_t sent = 0, received = 0;
  for (unsigned i = 0; i < kPackets;) {
    // Never more on the way than the shortest ring holds, so that every loss is the engine's.
    if (sent - received < 1000 && rings_[0]->inject(frames[i % kFlows], 0)) {
      ++sent;
      ++i;
    } else {
      received += rings_[1]->take().size();
      std::this_thread::yield();
    }
  }
  while (totals().received_packets < sent) std::this_thread::yield();
  // Packets on their way between the workers arrive, too.
  for (unsigned spin = 0; received < sent && spin < 100'000; ++spin) {
    received += rings_[1]->take().size();
    std::this_thread::yield();
  }
  done = true;
  committer.join();
  EXPECT_EQ(received, sent);
  EXPECT_EQ(totals().dropped_packets, 0U);
  EXPECT_GT(engine_->generation(), 3U);
  engine_->stop();
  EXPECT_EQ(engine_->reclaim(), 0U);
}

TEST_F(EngineTest, SessionsCanBeListedAndClearedWhileTrafficFlows) {
  model_.default_action = Action::kPermit;
  start(2, true);
  for (unsigned f = 0; f < 3000; ++f)
    while (!rings_[0]->inject(
        frame("ipv4 src=10.1." + std::to_string(f / 250) + "." + std::to_string(1 + f % 250) +
              " dst=192.0.2.1 / udp sport=5000 dport=53"),
        0))
      std::this_thread::yield();
  while (totals().sessions_created < 3000) {
    rings_[1]->take();
    std::this_thread::yield();
  }
  SessionWalk walk(
      *engine_, [](const flow::Session&, const flow::SessionCold&, base::Ticks) { return true; });
  std::set<std::uint64_t> ids;
  for (std::vector<SessionView> views; walk.next(views);)
    for (const SessionView& v : views) ids.insert(v.cold.flow_id);
  EXPECT_EQ(ids.size(), 3000U);
  {
    // A reader that gives up leaves the worker free for others.
    SessionWalk given_up(
        *engine_, [](const flow::Session&, const flow::SessionCold&, base::Ticks) { return true; });
    std::vector<SessionView> views;
    EXPECT_TRUE(given_up.next(views));
    // Answers come in turns with the walk: after these the walk's ring is full.
    for (unsigned n = 0; n < 16; ++n) {
      JudgeRequest other;
      other.frame = frame("ipv4 src=10.0.0.1 dst=192.0.2.1 / udp sport=1 dport=2");
      engine_->judge(other);
    }
  }
  const auto half = [](const flow::Session&, const flow::SessionCold& c, base::Ticks) {
    return c.flow_id % 2 == 0;
  };
  const auto even =
      static_cast<std::uint64_t>(std::ranges::count_if(ids, [](auto id) { return id % 2 == 0; }));
  EXPECT_EQ(*engine_->clear_sessions(half), even);
  EXPECT_EQ(totals().sessions_ended[static_cast<std::size_t>(base::SessionEnd::kCleared)], even);
}

TEST_F(EngineTest, JudgingAPacketChangesNothing) {
  model_.rules = {rule("no-telnet", Action::kDrop, "tcp/23")};
  model_.default_action = Action::kPermit;
  start(1, false);
  JudgeRequest r;
  r.frame = frame("ipv4 src=10.0.0.1 dst=192.0.2.1 / tcp sport=4000 dport=23 flags=S");
  engine_->judge(r);
  EXPECT_EQ(r.reason, base::DropReason::kPolicyDeny);
  EXPECT_EQ(slots_.id(r.decision.rule), "no-telnet");
  JudgeRequest web;
  web.frame = frame("ipv4 src=10.0.0.1 dst=192.0.2.1 / tcp sport=4000 dport=80 flags=S");
  engine_->judge(web);
  EXPECT_EQ(web.reason, base::DropReason::kNone);
  EXPECT_EQ(web.out_port, 1);
  EXPECT_FALSE(web.has_session);
  EXPECT_EQ(totals().sessions_created, 0U);
  EXPECT_EQ(totals().dropped_packets, 0U);
  EXPECT_EQ(engine_->hits().read(*slots_.find("no-telnet")).sessions, 0U);

  ASSERT_TRUE(rings_[0]->inject(web.frame, now_));
  engine_->turn_all();
  JudgeRequest again;
  again.frame = web.frame;
  engine_->judge(again);
  EXPECT_TRUE(again.has_session);
  EXPECT_EQ(again.session.session.state, flow::SessionState::kSynSent);
  EXPECT_EQ(again.session.session.packets[0], 1U);
}

TEST_F(EngineTest, FragmentsFollowTheirDatagramToTheWorkerOfItsSession) {
  model_.rules = {rule("dns", Action::kPermit, "udp/53")};
  start(4, false);
  unsigned expected = 0;
  for (unsigned f = 0; f < 64; ++f) {
    const auto whole = frame(
        "ipv4 src=10.0.0." + std::to_string(f + 1) + " dst=192.0.2.1 id=" + std::to_string(f) +
        " / udp sport=" + std::to_string(3000 + f) + " dport=53 / payload len=4000");
    auto pieces = *packet::fragment_packet(whole, 1500);
    std::ranges::reverse(pieces);  // the first fragment comes last
    for (const Bytes& p : pieces) ASSERT_TRUE(rings_[0]->inject(p, now_));
    expected += static_cast<unsigned>(pieces.size());
    engine_->turn_all();
  }
  EXPECT_EQ(rings_[1]->take().size(), expected);
  EXPECT_EQ(totals().dropped_packets, 0U);
  // Each is counted once on its way in and once on its way out, by whatever workers it came.
  EXPECT_EQ(totals().received_packets, expected);
  EXPECT_EQ(totals().forwarded_packets, expected);
  EXPECT_EQ(totals().forwarded_bytes, totals().received_bytes);
  EXPECT_EQ(totals().sessions_created, 64U);
  EXPECT_GT(totals().handed_over_packets, 0U);
  EXPECT_EQ(pool_->free_count(), pool_->total_count());
}

// A port like a card's: queue by the symmetric Toeplitz hash over the packet's own bytes.
class RssPort final : public io::Port {
 public:
  static constexpr unsigned kTableSize = 128;

  explicit RssPort(std::unique_ptr<io::RingPort> ring) : ring_(std::move(ring)) {}
  io::RingPort& ring() { return *ring_; }
  // IPv4 with or without ports, as cards hash it: fragments by their addresses only.
  static unsigned queue_of(const Bytes& f, unsigned queues) {
    const bool has_ports =
        (f[23] == 6 || f[23] == 17) && (base::load_be<std::uint16_t>(f.data() + 20) & 0x3fff) == 0;
    return io::rss_queue(
        io::toeplitz_hash(io::kSymmetricRssKey, {f.data() + 26, has_ports ? 12U : 8U}), kTableSize,
        queues);
  }
  bool inject(const Bytes& f, base::Nanos time) {
    return ring_->inject(f, time, queue_of(f, info().rx_queues));
  }

  void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept override {
    ring_->receive(queue, burst, limit);
  }
  unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept override {
    return ring_->transmit(queue, handles, count);
  }
  void release(unsigned queue, void* const* handles, unsigned count) noexcept override {
    ring_->release(queue, handles, count);
  }
  void* allocate(unsigned queue, std::uint32_t size, base::Byte*& data) noexcept override {
    return ring_->allocate(queue, size, data);
  }
  void set_length(void* handle, std::uint32_t length) noexcept override {
    ring_->set_length(handle, length);
  }
  [[nodiscard]] io::BufferKind buffer_kind() const noexcept override {
    return ring_->buffer_kind();
  }
  [[nodiscard]] io::PortInfo info() const override {
    io::PortInfo i = ring_->info();
    i.has_rss = true;
    return i;
  }
  [[nodiscard]] io::PortCounters counters() const override { return ring_->counters(); }

 private:
  std::unique_ptr<io::RingPort> ring_;
};

TEST_F(EngineTest, SessionsBelongToTheWorkerThatRssGivesThemTo) {
  model_.rules = {rule("web", Action::kPermit, "tcp/80"), rule("dns", Action::kPermit, "udp/53")};
  config_.workers = 4;
  config_.ports = {{.name = "a"}, {.name = "b"}};
  config_.wires = {{.name = "w", .port_a = 0, .port_b = 1}};
  config_.table.max_sessions = 8192;
  model_.ports = {"a", "b"};
  pool_ = *io::BufferPool::create({.small_count = 4096, .large_count = 4});
  std::vector<std::unique_ptr<io::Port>> ports;
  std::array<RssPort*, 2> cards{};
  for (std::uint16_t n = 0; n < 2; ++n) {
    auto port = std::make_unique<RssPort>(*io::RingPort::create(
        {.name = config_.ports[n].name, .number = n, .rx_queues = 4, .tx_queues = 4, .depth = 1024},
        pool_));
    cards[n] = port.get();
    ports.push_back(std::move(port));
  }
  engine_ = std::move(*Engine::create(config_, std::move(ports), compile(), &now_));
  std::set<unsigned> used;
  for (unsigned f = 0; f < 64; ++f) {
    const std::string client = "10.0.0." + std::to_string(f + 1),
                      port = std::to_string(3000 + 7 * f);
    const Bytes there =
        frame("ipv4 src=" + client + " dst=192.0.2.1 / tcp sport=" + port + " dport=80 flags=S");
    const Bytes back = frame("ipv4 src=192.0.2.1 dst=" + client + " / tcp sport=80 dport=" + port +
                             " flags=SA seq=1 ack=1");
    used.insert(RssPort::queue_of(there, 4));
    ASSERT_TRUE(cards[0]->inject(there, now_));
    engine_->turn_all();
    ASSERT_TRUE(cards[1]->inject(back, now_));
    engine_->turn_all();
  }
  EXPECT_EQ(used.size(), 4U);
  EXPECT_EQ(totals().sessions_created, 64U);
  EXPECT_EQ(totals().dropped_packets, 0U);
  // Where the card puts a packet its session is: nothing changes workers.
  EXPECT_EQ(totals().handed_over_packets, 0U);

  // Fragments come by their addresses only and are brought to their session.
  for (unsigned n = 0; n < 8; ++n) {
    const auto pieces = *packet::fragment_packet(
        frame("ipv4 src=10.0.1.1 dst=192.0.2.1 id=" + std::to_string(n) +
              " / udp sport=" + std::to_string(4000 + n) + " dport=53 / payload len=3000"),
        1500);
    for (const Bytes& p : pieces) ASSERT_TRUE(cards[0]->inject(p, now_));
    engine_->turn_all();
  }
  EXPECT_EQ(totals().sessions_created, 72U);
  EXPECT_EQ(totals().dropped_packets, 0U);
  EXPECT_GT(totals().handed_over_packets, 0U);
  cards[0]->ring().take();
  cards[1]->ring().take();
  EXPECT_EQ(pool_->free_count(), pool_->total_count());
}

TEST_F(EngineTest, RefusesConfigurationsThatContradictThemselves) {
  config_.workers = 0;
  EXPECT_FALSE(Engine::create(config_, {}, compile()).ok());
  config_.workers = 1;
  config_.ports = {{.name = "a"}};
  config_.wires = {{.name = "w", .port_a = 0, .port_b = 0}};
  pool_ = *io::BufferPool::create({.small_count = 64, .large_count = 1});
  std::vector<std::unique_ptr<io::Port>> ports;
  ports.push_back(*io::RingPort::create({.name = "a"}, pool_));
  const auto engine = Engine::create(config_, std::move(ports), compile());
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().code, base::Errc::kInvalidValue);
}

}  // namespace
}  // namespace merlon::engine
