// SPDX-License-Identifier: Apache-2.0
// Clients and servers of the laboratory over a cable that the input rules: frames are delivered,
// lost, doubled, changed or forged. Nothing crashes, every connection ends once, tables stay whole.
// Input: 4 bytes a step (what, two operands, value); "raw" steps take the bytes that follow as a
// frame.
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "merlon/lab_tcp/client.h"
#include "merlon/lab_tcp/server.h"

namespace {

using namespace merlon;
using namespace merlon::lab;
using namespace merlon::lab::tcp;

using Bytes = std::vector<base::Byte>;

class FuzzPort final : public io::Port {
 public:
  explicit FuzzPort(base::Byte side) : side_(side) {}

  std::deque<Bytes> in, out;

  void receive(unsigned, packet::Burst& b, unsigned limit) noexcept override {
    while (b.count < limit && !in.empty()) {
      auto* frame = new Bytes(std::move(in.front()));
      in.pop_front();
      b.handle[b.count] = frame;
      b.data[b.count] = frame->data();
      b.captured[b.count] = b.length[b.count] = static_cast<std::uint32_t>(frame->size());
      ++b.count;
    }
  }
  unsigned transmit(unsigned, void* const* handles, unsigned count) noexcept override {
    for (unsigned i = 0; i < count; ++i) out.push_back(*static_cast<Bytes*>(handles[i]));
    release(0, handles, count);
    return count;
  }
  void release(unsigned, void* const* handles, unsigned count) noexcept override {
    for (unsigned i = 0; i < count; ++i) delete static_cast<Bytes*>(handles[i]);
  }
  void* allocate(unsigned, std::uint32_t size, base::Byte*& data) noexcept override {
    auto* frame = new Bytes(size);
    data = frame->data();
    return frame;
  }
  void set_length(void* handle, std::uint32_t length) noexcept override {
    static_cast<Bytes*>(handle)->resize(length);
  }
  [[nodiscard]] io::BufferKind buffer_kind() const noexcept override {
    return io::BufferKind::kNative;
  }
  [[nodiscard]] io::PortInfo info() const override {
    io::PortInfo i;
    i.mac.bytes = {2, 0, 0, 0, 0, side_};
    return i;
  }
  [[nodiscard]] io::PortCounters counters() const override { return {}; }

 private:
  const base::Byte side_;
};

TcpLoadSpec make_spec(std::uint8_t options) {
  TcpLoadSpec s;
  s.connections_per_s = 100;
  s.ramp_up_s = 0;
  s.sustain_s = 1;
  s.ramp_down_s = 0;
  s.clients.count = 2;
  s.servers.count = 1;
  s.client_ports = 8;
  s.object_kib = {1, 4};
  s.transactions_per_connection = options & 3;
  s.is_http = (options & 4) != 0;
  s.is_kept_alive = s.transactions_per_connection > 1 || (options & 8) != 0;
  s.think_s = (options & 16) != 0 ? 0.05 : 0;
  s.is_content_verified = (options & 32) != 0;
  if ((options & 64) != 0) s.tls.version = (options & 128) != 0 ? TlsVersion::k13 : TlsVersion::k12;
  return s;
}

const MessageBook& book_of(bool is_http) {
  static const MessageBook kBooks[2] = {{{1024, 4096}, false}, {{1024, 4096}, true}};
  return kBooks[is_http ? 1 : 0];
}

void parse(base::ByteSpan bytes) {
  Frame f;
  read_frame(bytes, false, f);
  for (const bool is_request : {true, false}) {
    HeadState state{};
    std::size_t used = 0;
    // In two pieces, as a stream may bring it.
    const std::size_t half = bytes.size() / 2;
    HeadResult r = is_request ? read_request(state, bytes.first(half), used)
                              : read_response(state, bytes.first(half), used);
    if (used > half) std::abort();
    if (r == HeadResult::kMore)
      r = is_request ? read_request(state, bytes.subspan(half), used)
                     : read_response(state, bytes.subspan(half), used);
    if (used > bytes.size() || state.number > kMaxObjectSize + 9) std::abort();
  }
}

struct Cable {
  explicit Cable(std::uint8_t options)
      : spec(make_spec(options)), book(book_of(spec.is_http)), client_port(1), server_port(2) {
    ClientSettings c;
    c.max_concurrent = 8;
    c.mac = client_port.info().mac;
    c.next_hop_mac = server_port.info().mac;
    // Changed frames reach the stack as well.
    c.are_checksums_verified = false;
    client = std::make_unique<Client>(
        client_port, spec, c, book,
        base::Region::allocate(Client::table_size(8) * sizeof(Connection)));
    server = std::make_unique<Server>(server_port, server_port.info().mac, spec, book,
                                      base::Region::allocate(16 * sizeof(Connection)), 16, false);
    if (spec.tls.is_on()) {
      use_tls(*client, TlsSide::kClient);
      use_tls(*server, TlsSide::kServer);
    }
    server->start(now);
    client->start(now);
  }

  void use_tls(Role& role, TlsSide side) const {
    auto context = TlsContext::create(spec.tls, side);
    if (!context.ok()) std::abort();
    role.use_tls(std::move(*context));
  }

  void turn() {
    client->turn(now);
    server->turn(now);
  }

  // One step; returns the bytes of a raw frame that it used.
  std::size_t step(const std::uint8_t* p, base::ByteSpan rest) {
    FuzzPort& from = (p[1] & 1) != 0 ? server_port : client_port;
    FuzzPort& to = (p[1] & 1) != 0 ? client_port : server_port;
    now += base::Nanos{1'000'000} * (p[0] >> 4);
    const std::uint8_t what = p[0] & 7;
    if (what == 7) {
      const std::size_t size = std::min<std::size_t>(rest.size(), p[2]);
      to.in.emplace_back(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
      return size;
    }
    if (what == 6) now += base::Nanos{20'000'000} * p[2];
    if (what >= 5 || from.out.empty()) return 0;
    Bytes frame = std::move(from.out.front());
    from.out.pop_front();
    if (what == 0) return 0;  // lost
    if (what == 2) to.in.push_back(frame);
    if (what == 3 && p[2] < frame.size()) frame[p[2]] = p[3];
    if (what == 4) {
      from.out.push_back(std::move(frame));  // later
      return 0;
    }
    to.in.push_back(std::move(frame));
    return 0;
  }

  void check() {
    client->finish(now);
    const Cohort& all = client->tally().all;
    const auto ended = std::accumulate(all.outcomes.begin(), all.outcomes.end(), std::uint64_t{0});
    if (ended != all.attempted || all.established > all.attempted || client->open_count() != 0)
      std::abort();
    if (all.transactions_done + all.transactions_failed != all.transactions_attempted) std::abort();
    const ServerCounters& s = server->counters();
    if (s.syns != s.completed + s.resets + s.timed_out + s.replaced + server->open_count())
      std::abort();
  }

  const TcpLoadSpec spec;
  const MessageBook& book;
  FuzzPort client_port, server_port;
  std::unique_ptr<Client> client;
  std::unique_ptr<Server> server;
  base::Nanos now = 1'000'000'000;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  parse({data + 1, size - 1});
  Cable cable(data[0]);
  for (std::size_t at = 1; at + 4 <= size;) {
    const std::uint8_t* p = data + at;
    at += 4;
    at += cable.step(p, {data + at, size - at});
    cable.turn();
  }
  cable.check();
  return 0;
}
