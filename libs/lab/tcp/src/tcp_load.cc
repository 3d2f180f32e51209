// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/tcp_load.h"

#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#if defined(MERLON_WITH_DPDK)
#include "merlon/io/dpdk.h"
#endif

#include <algorithm>
#include <chrono>
#include <thread>

#include "load_result.h"
#include "merlon/base/make_error.h"
#include "turn_account.h"

namespace merlon::lab {
namespace {

using base::Nanos;
using tcp::Client;
using tcp::Flood;
using tcp::MessageBook;
using tcp::Server;
using tcp::TlsContext;
using tcp::TlsSide;
using tcp::TurnAccount;

constexpr std::uint32_t kMostConcurrent = 1U << 20, kLeastConcurrent = 4096;
constexpr Nanos kSolicitEvery = 100'000'000, kResolveLimit = 3'000'000'000;
// Between the announcement of our addresses and the first SYN.
constexpr Nanos kSettle = 20'000'000;
// Servers go on turning so long after the last client has ended, so that both count the same.
constexpr Nanos kLinger = 100'000'000;
constexpr Nanos kProgressEvery = 100'000'000;
// Of fewer, what the heap keeps for later would be taken for theirs.
constexpr double kEndsToWeigh = 100;

class TscLoadClock final : public LoadClock {
 public:
  Nanos now() noexcept override { return clock_.now(); }

 private:
  base::TscClock clock_;
};

// Connections open at once that an offer may lead to: those that a device lets wait for all
// retries.
std::uint32_t concurrent_for(const TcpLoadSpec& s, const TcpLoadSettings& settings) {
  if (settings.max_concurrent != 0) return std::max(settings.max_concurrent, s.concurrent);
  if (s.concurrent != 0) return s.concurrent;
  const double per_connection =
      1 + (s.transactions_per_connection == 0 ? 0 : s.transactions_per_connection - 1) * s.think_s;
  const double expected = s.connections_per_s * (per_connection + 1);
  return static_cast<std::uint32_t>(
      std::clamp<double>(expected, kLeastConcurrent, kMostConcurrent));
}

// Our hardware address. On a kernel interface it is not the interface's: the kernel's own IP would
// look at every frame to see that it is nobody's. The port is promiscuous and takes both.
base::MacAddress mac_of(Endpoint& end, base::Byte role) {
  base::MacAddress mac = end.port().info().mac;
  if (end.spec().kind == "af_packet")
    mac.bytes = {0x02, 0x4d, 0x4c, role, mac.bytes[4], mac.bytes[5]};
  return mac;
}
constexpr base::Byte kClientRole = 0x43, kServerRole = 0x53;

std::unique_ptr<MessageBook> make_book(const TcpLoadSpec& spec) {
  std::vector<std::uint32_t> sizes;
  for (const auto kib : spec.object_kib) sizes.push_back(kib * 1024);
  // RFC 9411's sizes are served to whoever asks.
  for (const std::uint32_t kib : {1U, 2U, 4U, 16U, 64U, 256U}) {
    if (std::ranges::find(sizes, kib * 1024) == sizes.end()) sizes.push_back(kib * 1024);
  }
  return std::make_unique<MessageBook>(std::move(sizes), spec.is_http);
}

base::Result<base::Region> make_table(std::uint32_t count, const char* whose) {
  const std::size_t size = std::size_t{count} * sizeof(tcp::Connection);
  base::Region region = base::Region::allocate(size);
  if (region.data() == nullptr)
    return make_error(base::Errc::kCapacity,
                      fmt::format("no memory for {} bytes of the {}' connections", size, whose),
                      "a smaller rate, or max_concurrent");
  return region;
}

base::Result<void> add_tls(tcp::Role& role, const TlsSpec& spec, TlsSide side) {
  if (!spec.is_on()) return {};
  auto context = TlsContext::create(spec, side);
  if (!context) return context.error();
  role.use_tls(std::move(*context));
  return {};
}

// OpenSSL takes and gives back buffers of records all the time; the heap's end would go to the
// kernel and come back cleared with each of them.
void keep_heap() noexcept { mallopt(M_TRIM_THRESHOLD, 256 << 20); }

// Bytes of the heap in use, all threads'.
double heap_in_use() noexcept { return static_cast<double>(mallinfo2().uordblks); }

// One measuring thread's account of itself.
struct ThreadUse {
  tcp::LoopUse loop;
  ProcessUse process;
};

// The calling thread's core, and its identity towards DPDK where it touches DPDK's ports.
class ThreadPlace {
 public:
  ThreadPlace(int core, bool is_dpdk) {
#if defined(MERLON_WITH_DPDK)
    if (is_dpdk) dpdk_.emplace();
#else
    static_cast<void>(is_dpdk);
#endif
    if (core < 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(core), &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }

 private:
#if defined(MERLON_WITH_DPDK)
  std::optional<io::DpdkThread> dpdk_;
#endif
};

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

ProcessUse thread_use(const char* name) {
  ProcessUse u;
  u.name = name;
  u.role = "tester";
  rusage r{};
  getrusage(RUSAGE_THREAD, &r);
  u.user_s = seconds(r.ru_utime);
  u.system_s = seconds(r.ru_stime);
  u.voluntary_switches = static_cast<std::uint64_t>(r.ru_nvcsw);
  u.involuntary_switches = static_cast<std::uint64_t>(r.ru_nivcsw);
  return u;
}

// The parts of one run.
struct Load {
  Load(const TcpLoadSpec& what, const TcpLoadSettings& how) : spec(what), settings(how) {}

  const TcpLoadSpec& spec;
  const TcpLoadSettings& settings;
  std::unique_ptr<MessageBook> book;
  std::unique_ptr<Client> client;
  std::unique_ptr<Server> server;
  std::unique_ptr<Flood> flood;
  std::atomic<bool> is_client_done{false}, is_unresolved{false}, is_in_sustain{false};
  std::atomic<std::uint64_t> opened{0}, completed{0};
  std::atomic<Nanos> elapsed{0};
  const ProgressFn* inline_progress = nullptr;
  Nanos progress_at = 0;
  // Of TLS: the heap before the start, and what the ends open in mid-sustain had added to it.
  double heap_before = 0, memory_per_end = 0;
  Nanos weigh_at = 0;

  base::Result<void> make(Endpoint* client_end, Endpoint* server_end);
  bool resolve(LoadClock& clock, bool turns_server, const std::atomic<bool>& stop);
  void run_client(LoadClock& clock, bool turns_server, const std::atomic<bool>& stop,
                  ThreadUse& use);
  void run_server(LoadClock& clock, const std::atomic<bool>& stop, ThreadUse& use);
  void report(Nanos elapsed_now);
  void weigh(Nanos elapsed_now);
  bool turn_client(Nanos now, bool turns_server);
  TrialResult result(const ThreadUse& a, const ThreadUse* b);
};

base::Result<void> Load::make(Endpoint* client_end, Endpoint* server_end) {
  book = make_book(spec);
  const std::uint32_t concurrent = concurrent_for(spec, settings);
  if (client_end != nullptr) {
    tcp::ClientSettings c;
    c.mac = mac_of(*client_end, kClientRole);
    c.max_concurrent = concurrent;
    c.next_hop_ip = settings.client_next_hop;
    c.are_checksums_verified = settings.are_checksums_verified;
    if (settings.server_mac)
      c.next_hop_mac = *settings.server_mac;
    else if (server_end != nullptr)
      c.next_hop_mac = mac_of(*server_end, kServerRole);
    auto table = make_table(Client::table_size(concurrent), "clients");
    if (!table) return table.error();
    client = std::make_unique<Client>(client_end->port(), spec, c, *book, std::move(*table));
    if (auto r = add_tls(*client, spec.tls, TlsSide::kClient); !r) return r;
    auto f = Flood::create(spec, client_end->port(), c.mac);
    if (!f) return f.error();
    flood = std::move(*f);
  }
  if (server_end != nullptr) {
    const std::uint32_t size = Server::table_size(concurrent);
    auto table = make_table(size, "servers");
    if (!table) return table.error();
    server =
        std::make_unique<Server>(server_end->port(), mac_of(*server_end, kServerRole), spec, *book,
                                 std::move(*table), size, settings.are_checksums_verified);
    if (auto r = add_tls(*server, spec.tls, TlsSide::kServer); !r) return r;
  }
  return {};
}

// Waits for the next hop's answer; servers must turn meanwhile, it may be one of them.
bool Load::resolve(LoadClock& clock, bool turns_server, const std::atomic<bool>& stop) {
  const Nanos begin = clock.now();
  Nanos ask_at = begin;
  for (Nanos now = begin; !client->has_next_hop(); now = clock.now()) {
    if (stop.load(std::memory_order_relaxed) || now - begin > kResolveLimit) return false;
    if (now >= ask_at) {
      client->solicit();
      ask_at = now + kSolicitEvery;
    }
    client->turn(now);
    if (turns_server) server->turn(now);
  }
  return true;
}

void Load::report(Nanos elapsed_now) {
  const tcp::Tally& t = client->tally();
  opened.store(t.all.attempted, std::memory_order_relaxed);
  completed.store(t.all.of(tcp::Outcome::kCompleted), std::memory_order_relaxed);
  elapsed.store(elapsed_now, std::memory_order_relaxed);
  if (inline_progress == nullptr || !*inline_progress || elapsed_now < progress_at) return;
  progress_at = elapsed_now + kProgressEvery;
  (*inline_progress)({static_cast<double>(elapsed_now) * 1e-9, opened.load(), completed.load()});
}

bool Load::turn_client(Nanos now, bool turns_server) {
  bool has_worked = client->turn(now);
  if (flood != nullptr) has_worked |= flood->turn(now);
  if (turns_server) has_worked |= server->turn(now);
  return has_worked;
}

// Once, in the middle of sustain. A server on a thread of its own has as many ends open as the
// clients, give or take what is on its way.
void Load::weigh(Nanos elapsed_now) {
  if (weigh_at == 0 || elapsed_now < weigh_at) return;
  weigh_at = 0;
  const double ends = client->open_count() * (server != nullptr ? 2.0 : 1.0);
  if (ends >= kEndsToWeigh) memory_per_end = std::max(0.0, heap_in_use() - heap_before) / ends;
}

void Load::run_client(LoadClock& clock, bool turns_server, const std::atomic<bool>& stop,
                      ThreadUse& use) {
  client->use_clock(&clock);
  client->announce();
  if (turns_server) {
    server->use_clock(&clock);
    server->start(clock.now());
    server->announce();
  }
  if (!resolve(clock, turns_server, stop)) {
    is_unresolved = true;
    is_client_done = true;
    return;
  }
  const Nanos begin = clock.now() + kSettle;
  client->start(begin);
  if (spec.tls.is_on()) {
    heap_before = heap_in_use();
    weigh_at = static_cast<Nanos>((spec.ramp_up_s + spec.sustain_s / 2) * 1e9) + 1;
  }
  if (flood != nullptr)
    flood->start(
        begin,
        begin + static_cast<Nanos>((spec.ramp_up_s + spec.sustain_s + spec.ramp_down_s) * 1e9),
        client->next_hop_mac());
  Nanos now = begin - kSettle;
  TurnAccount account(spec.tls.is_on());
  Nanos linger_until = 0;
  while (linger_until == 0 || now < linger_until) {
    now = clock.now();
    const bool is_sustain = client->is_in_sustain(now);
    is_in_sustain.store(is_sustain, std::memory_order_relaxed);
    account.turn(turn_client(now, turns_server), is_sustain);
    report(std::max<Nanos>(now - begin, 0));
    weigh(now - begin);
    if (linger_until != 0) continue;
    const bool is_stopped = stop.load(std::memory_order_relaxed);
    if (!is_stopped && !client->is_done(now)) continue;
    linger_until = is_stopped ? now : now + kLinger;
  }
  client->finish(now);
  use.loop = account.use(static_cast<double>(now - begin) * 1e-9);
  is_client_done = true;
}

void Load::run_server(LoadClock& clock, const std::atomic<bool>& stop, ThreadUse& use) {
  const Nanos begin = clock.now();
  const auto longest =
      static_cast<Nanos>((spec.ramp_up_s + spec.sustain_s + spec.ramp_down_s) * 1e9);
  TurnAccount account(spec.tls.is_on());
  server->use_clock(&clock);
  server->start(begin);
  server->announce();
  Nanos now = begin;
  for (;;) {
    now = clock.now();
    const bool has_worked = server->turn(now);
    account.turn(has_worked, is_in_sustain.load(std::memory_order_relaxed));
    if (client == nullptr) elapsed.store(now - begin, std::memory_order_relaxed);
    const bool is_over =
        client != nullptr ? is_client_done.load(std::memory_order_acquire) : now - begin >= longest;
    if (is_over || stop.load(std::memory_order_relaxed)) break;
  }
  use.loop = account.use(static_cast<double>(now - begin) * 1e-9);
}

TrialResult Load::result(const ThreadUse& a, const ThreadUse* b) {
  TrialResult r;
  r.spec.id = spec.id;
  r.spec.row = spec.row;
  r.spec.seed = spec.seed;
  r.spec.duration_s = spec.ramp_up_s + spec.sustain_s + spec.ramp_down_s;
  tcp::LoopUse use = a.loop;
  for (const ThreadUse* t : {&a, b}) {
    if (t == nullptr) continue;
    if (!t->process.name.empty()) r.processes.push_back(t->process);
    r.total_cpu_s += t->process.user_s + t->process.system_s;
  }
  if (b != nullptr) {
    use.busy_ticks += b->loop.busy_ticks;
    use.ticks += b->loop.ticks;
    use.elapsed_s = std::max(use.elapsed_s, b->loop.elapsed_s);
    use.longest_gap_ticks = std::max(use.longest_gap_ticks, b->loop.longest_gap_ticks);
    use.sustain_busy_ratio = std::max(use.sustain_busy_ratio, b->loop.sustain_busy_ratio);
  }
  tcp::fill_result({spec, client.get(), server.get(), flood.get(), use, memory_per_end}, r);
  return r;
}

class TcpLoadImpl final : public TcpLoad {
 public:
  TcpLoadImpl(std::unique_ptr<Endpoint> client, std::unique_ptr<Endpoint> server,
              const TcpLoadSettings& settings)
      : client_(std::move(client)), server_(std::move(server)), settings_(settings) {}

  base::Result<TrialResult> run(const TcpLoadSpec& spec, const std::atomic<bool>& stop,
                                const ProgressFn& progress) override;

 private:
  void run_threads(Load& load, const std::atomic<bool>& stop, const ProgressFn& progress,
                   ThreadUse& a, ThreadUse& b) const;

  const std::unique_ptr<Endpoint> client_, server_;
  const TcpLoadSettings settings_;
};

void TcpLoadImpl::run_threads(Load& load, const std::atomic<bool>& stop, const ProgressFn& progress,
                              ThreadUse& a, ThreadUse& b) const {
  const bool has_server_thread =
      load.server != nullptr && (load.client == nullptr || settings_.has_two_threads);
  bool is_dpdk = false;
  for (Endpoint* e : {client_.get(), server_.get()})
    is_dpdk |= e != nullptr && e->port().buffer_kind() == io::BufferKind::kDpdk;
  std::atomic<int> running = 0;
  std::vector<std::thread> threads;
  if (load.client != nullptr) {
    ++running;
    threads.emplace_back([&] {
      const ThreadPlace place(settings_.client_core, is_dpdk);
      TscLoadClock clock;
      load.run_client(clock, load.server != nullptr && !has_server_thread, stop, a);
      a.process = thread_use(has_server_thread || load.server == nullptr ? "clients"
                                                                         : "clients and servers");
      --running;
    });
  }
  if (has_server_thread) {
    ++running;
    threads.emplace_back([&] {
      const ThreadPlace place(settings_.server_core, is_dpdk);
      TscLoadClock clock;
      load.run_server(clock, stop, b);
      b.process = thread_use("servers");
      --running;
    });
  }
  auto next = std::chrono::steady_clock::now();
  while (running.load() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!progress || std::chrono::steady_clock::now() < next) continue;
    next += std::chrono::nanoseconds(kProgressEvery);
    progress({static_cast<double>(load.elapsed.load()) * 1e-9, load.opened.load(),
              load.completed.load()});
  }
  for (auto& t : threads) t.join();
}

base::Result<TrialResult> TcpLoadImpl::run(const TcpLoadSpec& spec, const std::atomic<bool>& stop,
                                           const ProgressFn& progress) {
  if (auto r = check_tcp_load(spec, settings_); !r) return r.error();
  if (client_ != nullptr && server_ == nullptr && !settings_.server_mac &&
      settings_.client_next_hop == 0)
    return make_error(base::Errc::kInvalidValue,
                      "clients without our servers need to know where to send",
                      "give client_next_hop or server_mac");
  if (spec.tls.is_on()) keep_heap();
  Load load(spec, settings_);
  if (auto r = load.make(client_.get(), server_.get()); !r) return r.error();
  const double started = static_cast<double>(base::wall_clock_now()) * 1e-9;
  ThreadUse a, b;
  if (settings_.clock != nullptr) {
    load.inline_progress = &progress;
    if (load.client != nullptr)
      load.run_client(*settings_.clock, load.server != nullptr, stop, a);
    else
      load.run_server(*settings_.clock, stop, b);
  } else {
    run_threads(load, stop, progress, a, b);
  }
  if (load.is_unresolved && !stop.load())
    return make_error(base::Errc::kTimeout, "the clients' next hop did not answer ARP within 3 s",
                      "does it have an address on the clients' link, and is the link up?");
  TrialResult result = load.result(a, &b);
  result.started = started;
  return result;
}

}  // namespace

base::Result<std::unique_ptr<TcpLoad>> TcpLoad::create(std::unique_ptr<Endpoint> client,
                                                       std::unique_ptr<Endpoint> server,
                                                       const TcpLoadSettings& settings) {
  if (client == nullptr && server == nullptr)
    return make_error(base::Errc::kInvalidValue, "a load without an endpoint",
                      "give clients or servers one");
  return std::unique_ptr<TcpLoad>(new TcpLoadImpl(std::move(client), std::move(server), settings));
}

}  // namespace merlon::lab
