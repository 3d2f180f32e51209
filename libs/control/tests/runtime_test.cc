// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/runtime.h"

#include <gtest/gtest.h>

#include "merlon/io/ring_port.h"

namespace merlon::control {
namespace {

base::Result<std::vector<std::unique_ptr<io::Port>>> ring_ports(
    const engine::EngineConfig& config) {
  auto pool = io::BufferPool::create({.small_count = 64, .large_count = 4});
  if (!pool) return pool.error();
  std::vector<std::unique_ptr<io::Port>> ports;
  for (std::uint16_t n = 0; n < config.ports.size(); ++n) {
    auto port =
        io::RingPort::create({.name = config.ports[n].name, .number = n, .depth = 2}, *pool);
    if (!port) return port.error();
    ports.push_back(std::move(*port));
  }
  return ports;
}

LoadedConfig one_tap() {
  LoadResult loaded = load_bundle(Bundle::of(
      "version: 1\nports:\n  p: {device: ring}\ntaps: p\npolicy: {default: drop}\n", "test.yaml"));
  EXPECT_TRUE(loaded.config.has_value());
  return std::move(*loaded.config);
}

bool are_equal(const base::HashSeed& x, const base::HashSeed& y) {
  return x.a == y.a && x.b == y.b;
}

// What the engine's hashes are seeded with.
engine::EngineConfig running_config(const base::Nanos* replay_time) {
  Runtime runtime(ring_ports, replay_time);
  EXPECT_TRUE(runtime.apply(nullptr, one_tap()));
  return runtime.engine()->config();
}

TEST(Runtime, EachLiveStartHasASecretOfItsOwn) {
  const engine::EngineConfig first = running_config(nullptr), second = running_config(nullptr);
  EXPECT_FALSE(are_equal(first.parse.seed, base::HashSeed{}));
  EXPECT_FALSE(are_equal(first.parse.seed, second.parse.seed));
  // Sources and fragments must not be aimed at either.
  EXPECT_TRUE(are_equal(first.parse.seed, first.table.seed));
  EXPECT_TRUE(are_equal(first.parse.seed, first.fragments.seed));
}

TEST(Runtime, AReplayRepeatsItself) {
  const base::Nanos now = base::kNanosPerSecond;
  const engine::EngineConfig config = running_config(&now);
  EXPECT_TRUE(are_equal(config.parse.seed, base::HashSeed{}));
  EXPECT_TRUE(are_equal(config.table.seed, base::HashSeed{}));
  EXPECT_TRUE(are_equal(config.fragments.seed, base::HashSeed{}));
}

}  // namespace
}  // namespace merlon::control
