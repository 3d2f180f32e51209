// SPDX-License-Identifier: Apache-2.0
#include "merlon/packet/fragments.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "parse_work.h"

namespace merlon::packet {
namespace {

using base::Byte;
using base::DropReason;
using base::load_be;

constexpr std::uint32_t kNone = 0xffff'ffff;

// What tells datagrams apart: RFC 791 section 3.2 (with the protocol), RFC 8200 section 4.5
// (without).
struct DatagramId {
  base::IpAddress source, destination;
  std::uint32_t identification = 0;
  std::uint16_t vlan_outer = 0, vlan_inner = 0, domain = 0;
  std::uint16_t protocol = 0;  // IPv4 only

  friend bool operator==(const DatagramId&, const DatagramId&) = default;
};

struct Piece {
  DatagramId id;
  std::uint32_t offset = 0, size = 0;
  bool is_last = false;
};

// Where the IPv6 fragment header lies; the parser has walked this chain before.
std::uint32_t find_fragment_header(const Byte* ip, std::uint32_t captured) noexcept {
  std::uint32_t offset = 40;
  for (Byte next = ip[6]; next != detail::kExtFragment;) {
    if (offset + 8 > captured) return 0;
    const std::uint32_t units = ip[offset + 1];
    const std::uint32_t size = next == detail::kProtoAh ? (units + 2) * 4 : (units + 1) * 8;
    next = ip[offset];
    offset += size;
  }
  return offset + 8 <= captured ? offset : 0;
}

// Between equal addresses ports tell the direction, and only the first fragment has them.
void forget_side_of_equals(DatagramId& id) noexcept {
  if (id.source == id.destination) id.domain = static_cast<std::uint16_t>(id.domain & ~kSideBit);
}

bool read_piece(const Burst& b, unsigned i, Piece& piece) noexcept {
  const Headers& h = b.headers[i];
  const Byte* ip = b.data[i] + h.l3_offset;
  piece.id.vlan_outer = b.key[i].vlan_outer;
  piece.id.vlan_inner = b.key[i].vlan_inner;
  piece.id.domain = b.key[i].domain;
  piece.offset = h.fragment_offset;
  piece.is_last = h.more_fragments == 0;
  if (!h.is(Headers::kIsV6)) {
    piece.id.source = base::IpAddress::v4(load_be<std::uint32_t>(ip + 12));
    piece.id.destination = base::IpAddress::v4(load_be<std::uint32_t>(ip + 16));
    piece.id.identification = load_be<std::uint16_t>(ip + 4);
    piece.id.protocol = ip[9];
    piece.size = load_be<std::uint16_t>(ip + 2) - (ip[0] & 15U) * 4U;
    forget_side_of_equals(piece.id);
    return true;
  }
  const std::uint32_t at = find_fragment_header(ip, b.captured[i] - h.l3_offset);
  if (at == 0) return false;
  piece.id.source = base::IpAddress::v6(ip + 8);
  piece.id.destination = base::IpAddress::v6(ip + 24);
  piece.id.identification = load_be<std::uint32_t>(ip + at + 4);
  piece.size = 40U + load_be<std::uint16_t>(ip + 4) - at - 8U;
  forget_side_of_equals(piece.id);
  return true;
}

std::uint64_t hash_id(const DatagramId& id, base::HashSeed seed) noexcept {
  const auto word = [](const base::IpAddress& a, unsigned n) {
    return base::load_raw<std::uint64_t>(&a.bytes[n]);
  };
  const std::uint64_t rest = std::uint64_t{id.identification} << 32 |
                             std::uint64_t{id.protocol} << 16 | std::uint64_t{id.domain};
  const std::uint64_t tags = std::uint64_t{id.vlan_outer} << 16 | std::uint64_t{id.vlan_inner};
  std::uint64_t h = base::fold_multiply(word(id.source, 0) ^ seed.a, word(id.source, 8) ^ seed.b);
  h = base::fold_multiply(h ^ word(id.destination, 0) ^ seed.b, word(id.destination, 8) ^ seed.a);
  return base::fold_multiply(h ^ rest ^ seed.b, tags ^ seed.a ^ 0xa0761d6478bd642fULL);
}

bool is_fragment(const Headers& h) noexcept {
  return h.kind == Kind::kFragment || h.is(Headers::kFirstFragment);
}

struct Range {
  std::uint16_t offset, size;
};

enum class State : std::uint8_t {
  kWaiting,  // the first fragment has not come
  kPending,  // it is in the burst that is being judged
  kFollow,   // it was let through: the rest has its key
  kRefused,
};

struct Datagram {
  DatagramId id;
  FlowKey key;
  std::uint64_t hash = 0;
  std::uint64_t id_hash = 0;
  std::uint32_t next_in_bucket = kNone;
  std::uint32_t older = kNone, newer = kNone;  // in the queue of its family
  std::uint32_t held_head = kNone, held_tail = kNone;
  std::uint32_t total = 0;     // bytes, known when the last fragment has come; 0 before
  std::uint32_t received = 0;  // bytes
  base::Ticks created = 0;
  std::uint16_t range_count = 0;
  std::uint8_t direction = 0;
  State state = State::kWaiting;
  bool is_v6 = false;
};

struct Held {
  void* handle;
  Byte* data;
  std::uint32_t captured, length;
  std::uint16_t in_port, out_port;
  base::Nanos time;
  std::uint64_t number;
  FlowKey key;
  std::uint64_t hash;
  Headers headers;
  DropReason reason;
  std::uint32_t next;
};

struct List {
  std::uint32_t head = kNone, tail = kNone;
};

struct Pending {
  std::uint32_t datagram = kNone;
  std::uint8_t index = 0;
};

}  // namespace

std::uint64_t fragment_hash(const Burst& burst, unsigned i, base::HashSeed seed) noexcept {
  Piece piece;
  return read_piece(burst, i, piece) ? hash_id(piece.id, seed) : 0;
}

struct FragmentTable::Impl {
  explicit Impl(const FragmentOptions& o);

  std::uint32_t find(const DatagramId& id, std::uint64_t hash) const noexcept;
  std::uint32_t create(const Piece& piece, std::uint64_t hash, bool is_v6,
                       base::Ticks now) noexcept;
  void remove(std::uint32_t d) noexcept;
  bool is_expired(const Datagram& d, base::Ticks now) const noexcept;
  void expire_datagram(std::uint32_t d) noexcept;
  bool sweep_one(base::Ticks now) noexcept;

  void process_one(Burst& b, unsigned i) noexcept;
  DropReason add_piece(Datagram& d, std::uint32_t index, const Piece& piece,
                       bool& condemns) noexcept;
  void condemn(Burst& b, std::uint32_t index) noexcept;
  void take_first(Burst& b, unsigned i, std::uint32_t index) noexcept;
  void take_rest(Burst& b, unsigned i, std::uint32_t index) noexcept;
  bool hold(Burst& b, unsigned i, Datagram& d) noexcept;
  void release(Datagram& d, DropReason reason) noexcept;
  void forget_if_complete(std::uint32_t index) noexcept;
  void move_held(Datagram& d, List& to) noexcept;
  bool drain(List& from, Burst& b) noexcept;

  FragmentOptions options;
  std::vector<Datagram> datagrams;
  std::vector<Range> ranges;  // options.max_fragments per datagram
  std::vector<std::uint32_t> buckets;
  std::vector<Held> held;
  std::uint32_t free_datagram = 0, free_held = 0;
  List age[2];  // [is_v6], oldest at the head
  List ready, expired;
  std::array<Pending, Burst::kCapacity> pending;
  unsigned pending_count = 0;
  std::uint32_t datagram_count = 0, held_count = 0;
  FragmentCounters counters;
};

FragmentTable::Impl::Impl(const FragmentOptions& o) : options(o) {
  options.max_datagrams = std::max(options.max_datagrams, 1U);
  options.max_fragments = std::max(options.max_fragments, std::uint16_t{2});
  datagrams.resize(options.max_datagrams);
  ranges.resize(std::size_t{options.max_datagrams} * options.max_fragments);
  buckets.assign(std::bit_ceil(std::size_t{options.max_datagrams}), kNone);
  held.resize(options.max_held);
  for (std::uint32_t i = 0; i < options.max_datagrams; ++i)
    datagrams[i].next_in_bucket = i + 1 < options.max_datagrams ? i + 1 : kNone;
  for (std::uint32_t i = 0; i < options.max_held; ++i)
    held[i].next = i + 1 < options.max_held ? i + 1 : kNone;
  if (options.max_held == 0) free_held = kNone;
}

std::uint32_t FragmentTable::Impl::find(const DatagramId& id, std::uint64_t hash) const noexcept {
  std::uint32_t d = buckets[hash & (buckets.size() - 1)];
  while (d != kNone && !(datagrams[d].id_hash == hash && datagrams[d].id == id))
    d = datagrams[d].next_in_bucket;
  return d;
}

bool FragmentTable::Impl::is_expired(const Datagram& d, base::Ticks now) const noexcept {
  return base::ticks_between(d.created, now) >= (d.is_v6 ? options.timeout_v6 : options.timeout_v4);
}

std::uint32_t FragmentTable::Impl::create(const Piece& piece, std::uint64_t hash, bool is_v6,
                                          base::Ticks now) noexcept {
  if (free_datagram == kNone && !sweep_one(now)) return kNone;
  const std::uint32_t index = free_datagram;
  Datagram& d = datagrams[index];
  free_datagram = d.next_in_bucket;
  d = Datagram{};
  d.id = piece.id;
  d.id_hash = hash;
  d.created = now;
  d.is_v6 = is_v6;
  std::uint32_t& bucket = buckets[hash & (buckets.size() - 1)];
  d.next_in_bucket = bucket;
  bucket = index;
  List& queue = age[is_v6 ? 1 : 0];
  d.older = queue.tail;
  (queue.tail == kNone ? queue.head : datagrams[queue.tail].newer) = index;
  queue.tail = index;
  ++datagram_count;
  ++counters.datagrams;
  return index;
}

void FragmentTable::Impl::remove(std::uint32_t index) noexcept {
  Datagram& d = datagrams[index];
  std::uint32_t* link = &buckets[d.id_hash & (buckets.size() - 1)];
  while (*link != index) link = &datagrams[*link].next_in_bucket;
  *link = d.next_in_bucket;
  List& queue = age[d.is_v6 ? 1 : 0];
  (d.older == kNone ? queue.head : datagrams[d.older].newer) = d.newer;
  (d.newer == kNone ? queue.tail : datagrams[d.newer].older) = d.older;
  // A first fragment of this burst may still point here.
  for (unsigned i = 0; i < pending_count; ++i)
    if (pending[i].datagram == index) pending[i].datagram = kNone;
  d.next_in_bucket = free_datagram;
  free_datagram = index;
  --datagram_count;
}

void FragmentTable::Impl::expire_datagram(std::uint32_t index) noexcept {
  for (std::uint32_t h = datagrams[index].held_head; h != kNone; h = held[h].next)
    held[h].reason = DropReason::kFragmentTimeout;
  move_held(datagrams[index], expired);
  remove(index);
}

// Makes room by ending one datagram that is over its time; false when there is none.
bool FragmentTable::Impl::sweep_one(base::Ticks now) noexcept {
  for (const List& queue : age) {
    if (queue.head == kNone || !is_expired(datagrams[queue.head], now)) continue;
    expire_datagram(queue.head);
    return true;
  }
  return false;
}

void FragmentTable::Impl::move_held(Datagram& d, List& to) noexcept {
  if (d.held_head == kNone) return;
  (to.tail == kNone ? to.head : held[to.tail].next) = d.held_head;
  to.tail = d.held_tail;
  d.held_head = d.held_tail = kNone;
}

void FragmentTable::Impl::release(Datagram& d, DropReason reason) noexcept {
  for (std::uint32_t n = d.held_head; n != kNone; n = held[n].next) {
    Held& h = held[n];
    h.reason = reason;
    if (reason != DropReason::kNone) continue;
    h.key = d.key;
    h.hash = d.hash;
    h.headers.direction = d.direction;
  }
  move_held(d, ready);
}

void FragmentTable::Impl::forget_if_complete(std::uint32_t index) noexcept {
  const Datagram& d = datagrams[index];
  if (d.state != State::kFollow || d.total == 0 || d.received != d.total) return;
  ++counters.completed;
  remove(index);
}

// kNone when the piece is new and fits. `condemns` stays false for an exact duplicate, which is
// refused alone.
DropReason FragmentTable::Impl::add_piece(Datagram& d, std::uint32_t index, const Piece& piece,
                                          bool& condemns) noexcept {
  Range* const own = &ranges[std::size_t{index} * options.max_fragments];
  const std::uint32_t end = piece.offset + piece.size;
  condemns = true;
  for (unsigned n = 0; n < d.range_count; ++n) {
    const std::uint32_t begin = own[n].offset, finish = begin + own[n].size;
    if (piece.offset >= finish || begin >= end) continue;
    const bool is_same_end = piece.is_last == (d.total != 0 && finish == d.total);
    condemns = begin != piece.offset || finish != end || !is_same_end;
    return DropReason::kFragmentOverlap;
  }
  const bool is_beyond = d.total != 0 && (piece.is_last || end > d.total);
  bool is_short = false;  // says "last", but bytes behind it have come already
  for (unsigned n = 0; piece.is_last && n < d.range_count; ++n) is_short |= own[n].offset >= end;
  if (is_beyond || is_short) return DropReason::kFragmentInvalid;
  if (d.range_count == options.max_fragments) return DropReason::kFragmentLimit;
  own[d.range_count++] = {static_cast<std::uint16_t>(piece.offset),
                          static_cast<std::uint16_t>(piece.size)};
  d.received += piece.size;
  if (piece.is_last) d.total = end;
  condemns = false;
  return DropReason::kNone;
}

void FragmentTable::Impl::condemn(Burst& b, std::uint32_t index) noexcept {
  // The first one is stopped too when it is still in this burst.
  for (unsigned n = 0; n < pending_count; ++n) {
    if (pending[n].datagram != index || b.verdict[pending[n].index] != Verdict::kUndecided)
      continue;
    b.drop(pending[n].index, DropReason::kFragmentDatagram);
  }
  datagrams[index].state = State::kRefused;
  release(datagrams[index], DropReason::kFragmentDatagram);
}

bool FragmentTable::Impl::hold(Burst& b, unsigned i, Datagram& d) noexcept {
  if (free_held == kNone) return false;
  const std::uint32_t n = free_held;
  Held& h = held[n];
  free_held = h.next;
  h = {b.handle[i],   b.data[i],         b.captured[i], b.length[i], b.in_port[i],
       b.out_port[i], b.time[i],         b.number[i],   b.key[i],    b.hash[i],
       b.headers[i],  DropReason::kNone, kNone};
  (d.held_tail == kNone ? d.held_head : held[d.held_tail].next) = n;
  d.held_tail = n;
  b.verdict[i] = Verdict::kHold;
  ++held_count;
  ++counters.held;
  return true;
}

void FragmentTable::Impl::take_first(Burst& b, unsigned i, std::uint32_t index) noexcept {
  Datagram& d = datagrams[index];
  d.state = State::kPending;
  d.key = b.key[i];
  d.hash = b.hash[i];
  d.direction = b.headers[i].direction;
  pending[pending_count++] = {index, static_cast<std::uint8_t>(i)};
}

void FragmentTable::Impl::take_rest(Burst& b, unsigned i, std::uint32_t index) noexcept {
  Datagram& d = datagrams[index];
  if (d.state == State::kFollow) {
    b.key[i] = d.key;
    b.hash[i] = d.hash;
    b.headers[i].direction = d.direction;
    forget_if_complete(index);
    return;
  }
  if (hold(b, i, d)) return;
  b.drop(i, DropReason::kFragmentTableFull);
  condemn(b, index);
}

void FragmentTable::Impl::process_one(Burst& b, unsigned i) noexcept {
  Piece piece;
  const bool is_refused = b.verdict[i] == Verdict::kDrop;
  ++counters.fragments;
  if (!read_piece(b, i, piece)) {
    if (!is_refused) b.drop(i, DropReason::kFragmentInvalid);
    return;
  }
  const std::uint64_t hash = hash_id(piece.id, options.seed);
  std::uint32_t index = find(piece.id, hash);
  if (index != kNone && is_expired(datagrams[index], b.now_ticks)) {
    expire_datagram(index);
    index = kNone;
  }
  if (index == kNone) index = create(piece, hash, b.headers[i].is(Headers::kIsV6), b.now_ticks);
  if (index == kNone) {
    if (!is_refused) b.drop(i, DropReason::kFragmentTableFull);
    return;
  }
  Datagram& d = datagrams[index];
  if (is_refused) return condemn(b, index);
  if (d.state == State::kRefused) return b.drop(i, DropReason::kFragmentDatagram);
  bool condemns = false;
  if (const auto reason = add_piece(d, index, piece, condemns); reason != DropReason::kNone) {
    b.drop(i, reason);
    if (condemns) condemn(b, index);
    return;
  }
  piece.offset == 0 ? take_first(b, i, index) : take_rest(b, i, index);
}

// Appends held packets while there is room; true when some are left.
bool FragmentTable::Impl::drain(List& from, Burst& b) noexcept {
  while (from.head != kNone && b.count < Burst::kCapacity) {
    const std::uint32_t n = from.head;
    Held& h = held[n];
    const unsigned i = b.count++;
    b.handle[i] = h.handle;
    b.data[i] = h.data;
    b.captured[i] = h.captured;
    b.length[i] = h.length;
    b.in_port[i] = h.in_port;
    b.out_port[i] = h.out_port;
    b.time[i] = h.time;
    b.number[i] = h.number;
    b.key[i] = h.key;
    b.hash[i] = h.hash;
    b.headers[i] = h.headers;
    b.session[i] = kNoSession;
    b.rule[i] = base::kNoRule;
    b.verdict[i] = h.reason == DropReason::kNone ? Verdict::kUndecided : Verdict::kDrop;
    b.reason[i] = h.reason;
    from.head = h.next;
    if (from.head == kNone) from.tail = kNone;
    h.next = free_held;
    free_held = n;
    --held_count;
    ++counters.released;
  }
  return from.head != kNone;
}

FragmentTable::FragmentTable(const FragmentOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
FragmentTable::~FragmentTable() = default;

void FragmentTable::process(Burst& burst, unsigned first) noexcept {
  impl_->pending_count = 0;
  for (unsigned i = first; i < burst.count; ++i) {
    if (!is_fragment(burst.headers[i])) [[likely]]
      continue;
    if (burst.verdict[i] == Verdict::kUndecided || burst.verdict[i] == Verdict::kDrop)
      impl_->process_one(burst, i);
  }
}

void FragmentTable::settle(const Burst& burst) noexcept {
  Impl& t = *impl_;
  for (unsigned n = 0; n < t.pending_count; ++n) {
    const Pending p = t.pending[n];
    if (p.datagram == kNone || t.datagrams[p.datagram].state != State::kPending) continue;
    Datagram& d = t.datagrams[p.datagram];
    const bool is_dropped = burst.verdict[p.index] == Verdict::kDrop;
    d.state = is_dropped ? State::kRefused : State::kFollow;
    t.release(d, is_dropped ? DropReason::kFragmentDatagram : DropReason::kNone);
    // remove() compares with the list that this loop walks; its own entry is behind it by then.
    t.forget_if_complete(p.datagram);
  }
  t.pending_count = 0;
}

bool FragmentTable::take_ready(Burst& burst) noexcept { return impl_->drain(impl_->ready, burst); }

bool FragmentTable::expire(Burst& burst, base::Ticks now) noexcept {
  while (impl_->sweep_one(now)) {
  }
  return impl_->drain(impl_->expired, burst);
}

std::uint32_t FragmentTable::held_count() const noexcept { return impl_->held_count; }
std::uint32_t FragmentTable::datagram_count() const noexcept { return impl_->datagram_count; }
const FragmentCounters& FragmentTable::counters() const noexcept { return impl_->counters; }

}  // namespace merlon::packet
