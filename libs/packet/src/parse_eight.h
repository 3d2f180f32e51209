// SPDX-License-Identifier: Apache-2.0
#pragma once
// Eight packets side by side, one in each 32-bit lane: IPv4 TCP or UDP without options and
// fragments, behind the same link header. No branch depends on what a packet is, so a mixture of
// protocols and directions costs what one flow costs. Included by parse.cc alone; needs AVX2.
// worker-owned.
#include <immintrin.h>

#include <array>

#include "parse_eight_constants.h"
#include "parse_work.h"

namespace merlon::packet::detail {

// kL3: 14, or 18 behind one 802.1Q tag.
template <unsigned kL3>
class EightParser {
 public:
  // `directed`: domain_in_direction() of the port by which all packets came in.
  EightParser(const std::array<std::uint32_t, 2>& directed, base::HashSeed seed) noexcept
      : domain_(_mm256_set1_epi32(static_cast<int>(directed[0]))),
        domain_differs_(_mm256_set1_epi32(static_cast<int>(directed[0] ^ directed[1]))),
        seed_(seed),
        k_(&kEightConstants<kL3>) {
    asm("" : "+r"(k_));  // or the constants would be immediates again
  }

  // True when packets i to i + 7 have been done; else nothing has been written.
  [[gnu::always_inline]] bool parse(Burst& b, unsigned i) const noexcept {
    const __m256i captured = load(&b.captured[i]), length = load(&b.length[i]);
    // All that is read lies in 58 bytes.
    const __m256i is_short = _mm256_cmpgt_epi32(c(k_->readable), captured);
    if (_mm256_testz_si256(is_short, is_short) == 0) [[unlikely]]
      return false;

    // The type and the first half of the IP header, by words: [tag] type total rest.
    const Words head = words_at(b, i, 12);
    const __m256i type = kIsTagged ? head.w1 : head.w0, rest = kIsTagged ? head.w3 : head.w2;
    const __m256i total = _mm256_shuffle_epi8(kIsTagged ? head.w2 : head.w1, load(&k_->first));
    __m256i bad = differs(type, c(k_->type_mask), c(k_->type));
    if constexpr (kIsTagged) bad |= differs(head.w0, c(k_->low_half), c(k_->vlan_type));
    bad |= rest & c(k_->fragment);
    bad |= _mm256_cmpgt_epi32(_mm256_add_epi32(total, c(k_->l3)), length);
    const __m256i protocol = _mm256_srli_epi32(rest, 24);
    const __m256i is_tcp = _mm256_cmpeq_epi32(protocol, c(k_->tcp));
    bad |= _mm256_andnot_si256(is_tcp, protocol ^ c(k_->udp));

    // 0.0.0.0, 224.0.0.0 upwards and equal addresses are looked at by the general parser.
    const Words ends = words_at(b, i, kL3 + 12);  // source, destination, ports
    const __m256i source = _mm256_shuffle_epi8(ends.w0, load(&k_->whole));
    const __m256i destination = _mm256_shuffle_epi8(ends.w1, load(&k_->whole));
    const __m256i before = _mm256_sub_epi32(source, c(k_->one));
    bad |= _mm256_min_epu32(before, c(k_->last_source)) ^ before;
    bad |= _mm256_cmpeq_epi32(source, destination);
    const __m256i is_reversed = _mm256_cmpeq_epi32(_mm256_max_epu32(source, destination), source);

    // What follows the ports: UDP's length, or TCP's sequence number, acknowledgment, and offset,
    // flags and window.
    const Words more = words_at(b, i, kL3 + 24);
    const __m256i sequence = _mm256_shuffle_epi8(more.w0, load(&k_->whole));
    const __m256i control = _mm256_shuffle_epi8(more.w2, load(&k_->whole));
    const __m256i tcp_header = _mm256_srli_epi32(control, 26) & c(k_->data_offset);
    const __m256i header = choose(is_tcp, c(k_->eight), tcp_header);
    const __m256i claimed = choose(is_tcp, _mm256_srli_epi32(sequence, 16), tcp_header);
    const __m256i least = _mm256_add_epi32(c(k_->eight), is_tcp & c(k_->twelve));
    const __m256i size = _mm256_sub_epi32(total, c(k_->twenty));
    const __m256i payload = _mm256_add_epi32(header, c(k_->l4));
    bad |= _mm256_cmpgt_epi32(least, claimed) | _mm256_cmpgt_epi32(claimed, size);
    bad |= _mm256_cmpgt_epi32(payload, captured);
    const __m256i flags = (_mm256_srli_epi32(control, 16) & c(k_->seven)) |
                          (_mm256_srli_epi32(control, 17) & c(k_->eight));
    bad |= _mm256_srlv_epi32(c(k_->refused_flags), flags) & c(k_->one) & is_tcp;
    if (_mm256_testz_si256(bad, bad) == 0) [[unlikely]]
      return false;

    const __m256i kind = (c(k_->kind_udp) ^ (is_tcp & c(k_->kind_differs))) |
                         (is_reversed & c(k_->reversed)) | (control & c(k_->third_byte) & is_tcp);
    write_headers(b, i, 0, c(k_->offsets), payload, _mm256_sub_epi32(size, header), kind);
    write_headers(b, i, 16, rest & c(k_->third_byte), sequence & is_tcp,
                  _mm256_shuffle_epi8(more.w1, load(&k_->whole)) & is_tcp,
                  (control & c(k_->low_half) & is_tcp) | c(k_->ethertype));

    const __m256i swap = is_reversed & (ends.w0 ^ ends.w1);
    const __m256i ports = _mm256_shuffle_epi8(ends.w2, load(&k_->halves));
    const __m256i turned = _mm256_slli_epi32(ports, 16) | _mm256_srli_epi32(ports, 16);
    const __m256i vlan = kIsTagged
                             ? _mm256_shuffle_epi8(head.w0, load(&k_->last)) & c(k_->vlan_number)
                             : _mm256_setzero_si256();
    write_keys(b, i, ends.w0 ^ swap, ends.w1 ^ swap, choose(is_reversed, ports, turned), vlan,
               (domain_ ^ (is_reversed & domain_differs_)) | _mm256_slli_epi32(protocol, 16));
    return true;
  }

 private:
  static constexpr bool kIsTagged = kL3 == 18;
  // Lane k of each is of packet k.
  struct Words {
    __m256i w0, w1, w2, w3;
  };

  static __m256i load(const void* p) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  template <std::uint32_t kValue>
  static __m256i c(const Eight<kValue>& eight) noexcept {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(eight.lanes));
  }
  static void store(void* p, __m256i v) noexcept {
    _mm256_store_si256(static_cast<__m256i*>(p), v);
  }
  // Not zero where `v` under the mask is not what is wanted.
  static __m256i differs(__m256i v, __m256i mask, __m256i want) noexcept {
    return (v & mask) ^ want;
  }
  // `b` where the mask is set, else `a`.
  static __m256i choose(__m256i mask, __m256i a, __m256i b) noexcept {
    return a ^ (mask & (a ^ b));
  }

  static __m256i row(const Burst& b, unsigned i, unsigned offset) noexcept {
    const auto at = [&](unsigned k) noexcept {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(b.data[k] + offset));
    };
    return _mm256_inserti128_si256(_mm256_castsi128_si256(at(i)), at(i + 4), 1);
  }
  // The four words at `offset` of eight frames.
  [[gnu::always_inline]] static Words words_at(const Burst& b, unsigned i,
                                               unsigned offset) noexcept {
    return turn(row(b, i, offset), row(b, i + 1, offset), row(b, i + 2, offset),
                row(b, i + 3, offset));
  }
  // Rows to columns and back, in each half by itself.
  static Words turn(__m256i r0, __m256i r1, __m256i r2, __m256i r3) noexcept {
    const __m256i x0 = _mm256_unpacklo_epi32(r0, r1), x1 = _mm256_unpacklo_epi32(r2, r3);
    const __m256i y0 = _mm256_unpackhi_epi32(r0, r1), y1 = _mm256_unpackhi_epi32(r2, r3);
    return {_mm256_unpacklo_epi64(x0, x1), _mm256_unpackhi_epi64(x0, x1),
            _mm256_unpacklo_epi64(y0, y1), _mm256_unpackhi_epi64(y0, y1)};
  }

  // Four words of each Headers, from byte `offset` on.
  [[gnu::always_inline]] static void write_headers(Burst& b, unsigned i, unsigned offset,
                                                   __m256i w0, __m256i w1, __m256i w2,
                                                   __m256i w3) noexcept {
    auto* const h = reinterpret_cast<Byte*>(&b.headers[i]) + offset;
    const auto put = [h](unsigned k, __m128i v) noexcept {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(h + k * sizeof(Headers)), v);
    };
    const auto put_both = [&put](unsigned k, __m256i v) noexcept {
      put(k, _mm256_castsi256_si128(v));
      put(k + 4, _mm256_extracti128_si256(v, 1));
    };
    const Words rows = turn(w0, w1, w2, w3);
    put_both(0, rows.w0);
    put_both(1, rows.w1);
    put_both(2, rows.w2);
    put_both(3, rows.w3);
  }

  [[gnu::always_inline]] void write_keys(Burst& b, unsigned i, __m256i address_a, __m256i address_b,
                                         __m256i ports, __m256i vlan, __m256i tail) const noexcept {
    // By way of memory: loads are cheaper than taking vectors apart.
    struct alignas(32) {
      std::uint64_t addresses[8];  // of packets 0 1 4 5 2 3 6 7, as unpacking leaves them
      std::uint32_t ports[8], vlans[8], tails[8];
    } words;
    store(&words.addresses[0], _mm256_unpacklo_epi32(address_a, address_b));
    store(&words.addresses[4], _mm256_unpackhi_epi32(address_a, address_b));
    store(&words.ports, ports);
    if constexpr (kIsTagged) store(&words.vlans, vlan);
    store(&words.tails, tail);
    asm("" : "+m"(words));
    for (unsigned k = 0; k < 8; ++k) {
      auto* const key = reinterpret_cast<Byte*>(&b.key[i + k]);
      const std::uint64_t addresses = words.addresses[(k & 1) | (k & 2) << 1 | (k & 4) >> 1];
      std::uint64_t port_word = words.ports[k];
      if constexpr (kIsTagged) port_word |= std::uint64_t{words.vlans[k]} << 32;
      const std::uint32_t tail_word = words.tails[k];
      const __m256i pair = _mm256_sllv_epi64(_mm256_set1_epi64x(static_cast<long long>(addresses)),
                                             load(k_->to_ends));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(key),
                          _mm256_blend_epi32(load(k_->prefix), pair, 0x88));
      base::store_raw<std::uint64_t>(key + 32, port_word);
      base::store_raw<std::uint32_t>(key + 40, tail_word);
      b.hash[i + k] = hash_v4_words(addresses, port_word, tail_word, seed_);
    }
  }

  __m256i domain_, domain_differs_;
  base::HashSeed seed_;
  const EightConstants<kL3>* k_;
};

}  // namespace merlon::packet::detail
