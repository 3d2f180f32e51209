// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/ports.h"

#include <gtest/gtest.h>

namespace merlon::control {
namespace {

// A port without packets whose link comes up at a given look.
class LinkPort final : public io::Port {
 public:
  static constexpr unsigned kNever = ~0U;
  LinkPort(std::string name, unsigned up_at_look, bool by_peer)
      : name_(std::move(name)), up_at_look_(up_at_look), is_by_peer_(by_peer) {}

  void receive(unsigned, packet::Burst&, unsigned) noexcept override {}
  unsigned transmit(unsigned, void* const*, unsigned) noexcept override { return 0; }
  void release(unsigned, void* const*, unsigned) noexcept override {}
  void* allocate(unsigned, std::uint32_t, base::Byte*&) noexcept override { return nullptr; }
  void set_length(void*, std::uint32_t) noexcept override {}
  [[nodiscard]] io::BufferKind buffer_kind() const noexcept override {
    return io::BufferKind::kNative;
  }
  [[nodiscard]] io::PortCounters counters() const override { return {}; }
  [[nodiscard]] io::PortInfo info() const override {
    io::PortInfo i;
    i.name = name_;
    i.is_link_up = looks >= up_at_look_;
    i.is_link_by_peer = is_by_peer_;
    return i;
  }
  bool poll_link() override { return ++looks == up_at_look_; }

  unsigned looks = 0;

 private:
  std::string name_;
  unsigned up_at_look_;
  bool is_by_peer_;
};

class WaitForLinks : public testing::Test {
 protected:
  LinkPort& add(const char* name, unsigned up_at_look, bool by_peer = false) {
    auto port = std::make_unique<LinkPort>(name, up_at_look, by_peer);
    LinkPort& added = *port;
    ports_.push_back(std::move(port));
    return added;
  }
  // What is logged meanwhile.
  std::string wait(std::chrono::milliseconds patience) {
    testing::internal::CaptureStderr();
    wait_for_links(ports_, patience);
    return testing::internal::GetCapturedStderr();
  }
  std::vector<std::unique_ptr<io::Port>> ports_;
};

TEST_F(WaitForLinks, LooksOnceAtEachUntilAllAreUp) {
  const LinkPort &lan = add("lan", 2), &wan = add("wan", 3), &up = add("dmz", 0);
  const std::string said = wait(std::chrono::seconds(60));
  EXPECT_EQ(lan.looks, 3U);
  EXPECT_EQ(wan.looks, 3U);
  EXPECT_EQ(up.looks, 3U);
  EXPECT_NE(said.find("waiting for the link of lan, wan, 60000 ms at most"), std::string::npos)
      << said;
  EXPECT_EQ(said.find("still no link"), std::string::npos) << said;
}

TEST_F(WaitForLinks, OnePatienceForAll) {
  const LinkPort& lan = add("lan", LinkPort::kNever);
  const LinkPort& wan = add("wan", LinkPort::kNever);
  const std::string said = wait(std::chrono::milliseconds(60));
  EXPECT_EQ(lan.looks, 3U);
  EXPECT_EQ(wan.looks, 3U);
  EXPECT_NE(said.find("lan, wan: still no link; starting without"), std::string::npos) << said;
}

TEST_F(WaitForLinks, NotForPartnersThatMayNeverCome) {
  const LinkPort& shared = add("m0", LinkPort::kNever, true);
  const std::string said = wait(std::chrono::seconds(60));
  EXPECT_EQ(shared.looks, 0U);
  EXPECT_NE(said.find("m0: nobody is connected yet"), std::string::npos) << said;
}

TEST_F(WaitForLinks, SaysNothingWhenAllAreUp) {
  const LinkPort& lan = add("lan", 0);
  EXPECT_EQ(wait(std::chrono::seconds(60)), "");
  EXPECT_EQ(lan.looks, 0U);
}

}  // namespace
}  // namespace merlon::control
