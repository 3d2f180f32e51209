// SPDX-License-Identifier: Apache-2.0
// Between start() and finish() the measuring thread takes no memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "merlon/lab_tcp/client.h"
#include "merlon/lab_tcp/server.h"
#include "merlon/lab_traffic/cable_port.h"

namespace {

bool is_counting = false;
unsigned long allocations = 0;

void* take(std::size_t size) {
  if (is_counting) ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace merlon::lab::tcp {
namespace {

TEST(Allocations, NoneWhileTheLoadRuns) {
  auto cable = CablePort::create({.name = "allocations", .depth = 4096});
  ASSERT_TRUE(cable.ok());
  TcpLoadSpec spec;
  spec.connections_per_s = 2000;
  spec.ramp_up_s = 0.2;
  spec.sustain_s = 1;
  spec.ramp_down_s = 0.2;
  spec.transactions_per_connection = 3;
  spec.object_kib = {1, 64};
  const MessageBook book({1024, 65'536}, true);
  ClientSettings settings;
  settings.max_concurrent = 1000;
  Client client(*cable->first, spec, settings, book,
                base::Region::allocate(Client::table_size(1000) * sizeof(Connection)));
  Server server(*cable->second, base::MacAddress{}, spec, book,
                base::Region::allocate(2000 * sizeof(Connection)), 2000, true);
  base::Nanos now = 1'000'000'000;
  server.start(now);
  client.start(now);
  is_counting = true;
  while (!client.is_done(now)) {
    now += 10'000;
    client.turn(now);
    server.turn(now);
  }
  is_counting = false;
  client.finish(now);
  EXPECT_EQ(allocations, 0U);
  EXPECT_EQ(client.tally().all.of(Outcome::kCompleted), 2400U);
  EXPECT_EQ(client.tally().all.transactions_done, 7200U);
}

}  // namespace
}  // namespace merlon::lab::tcp
