// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "merlon/base/make_error.h"

namespace merlon::lab {
namespace {

constexpr std::uint8_t kTcp = 6, kUdp = 17;
constexpr std::uint32_t kHeaderAndFcs = 18;
constexpr std::uint64_t kMaxWeight = 10'000;

constexpr std::array kEmix = {
    MixLine{"web over TLS: full segments", kTcp, 443, 1518, 26},
    MixLine{"web over TLS: requests, ends of records", kTcp, 443, 640, 8},
    MixLine{"web over TLS: acknowledgements", kTcp, 443, 76, 14},
    MixLine{"QUIC: full datagrams", kUdp, 443, 1292, 12},
    MixLine{"QUIC: acknowledgements", kUdp, 443, 82, 5},
    MixLine{"plain HTTP: full segments", kTcp, 80, 1518, 5},
    MixLine{"plain HTTP: requests", kTcp, 80, 420, 2},
    MixLine{"plain HTTP: acknowledgements", kTcp, 80, 76, 3},
    MixLine{"voice: RTP, G.711, 20 ms", kUdp, 16384, 218, 8},
    MixLine{"video: RTP", kUdp, 16386, 1200, 5},
    MixLine{"DNS: questions", kUdp, 53, 86, 2},
    MixLine{"DNS: answers", kUdp, 53, 230, 2},
    MixLine{"mail: SMTP bodies", kTcp, 25, 1518, 1},
    MixLine{"mail: SMTP acknowledgements", kTcp, 25, 76, 1},
    MixLine{"SSH: keystrokes and screens", kTcp, 22, 126, 2},
    MixLine{"files: SMB, full segments", kTcp, 445, 1518, 3},
    MixLine{"files: SMB acknowledgements", kTcp, 445, 76, 1},
};

struct Weighted {
  SizeElement element;
  std::uint64_t weight = 1;
};

base::Error wrong(std::string_view text, std::size_t at, std::string_view what) {
  return base::invalid(
      fmt::format("sizes '{}', character {}: {}", text.substr(0, 80), at + 1, what),
      "64 | 64,1518 | 64:28,570:16,1518:4 | imix | emix | a genome such as aaaaaaaddddg "
      "or aaAg(A=300); sizes from 64 to 16000 with FCS");
}

// A number at `at`, which moves behind it; false when there is none or it is above `limit`.
bool read_number(std::string_view text, std::size_t& at, std::uint64_t limit, std::uint64_t& out) {
  const char* first = text.data() + at;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), out);
  if (error != std::errc{} || out > limit) return false;
  at += static_cast<std::size_t>(end - first);
  return true;
}

bool read_size(std::string_view text, std::size_t& at, std::uint32_t& out) {
  std::uint64_t v = 0;
  std::size_t end = at;
  if (!read_number(text, end, kMaxFrameSize, v) || v < kMinFrameSize) return false;
  at = end;
  out = static_cast<std::uint32_t>(v);
  return true;
}

// Spreads each element evenly over the sequence: at every step the one that is furthest behind its
// share; the earlier one of equals.
base::Result<SizeSequence> interleave(std::vector<Weighted> parts) {
  std::uint64_t divisor = 0, total = 0;
  for (const Weighted& p : parts) divisor = std::gcd(divisor, p.weight);
  for (Weighted& p : parts) total += p.weight /= divisor;
  if (total > kMaxSequence)
    return base::invalid(
        fmt::format("the weights of sizes add up to {} frames", total),
        fmt::format("at most {} after dividing by their common divisor", kMaxSequence));
  SizeSequence s;
  std::vector<std::int64_t> credit(parts.size(), 0);
  for (std::uint64_t i = 0; i < total; ++i) {
    std::size_t best = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      credit[p] += static_cast<std::int64_t>(parts[p].weight);
      if (credit[p] > credit[best]) best = p;
    }
    credit[best] -= static_cast<std::int64_t>(total);
    s.elements.push_back(parts[best].element);
  }
  return s;
}

base::Result<SizeSequence> parse_list(std::string_view text) {
  std::vector<Weighted> parts;
  bool has_weights = false;
  for (std::size_t at = 0;;) {
    Weighted w;
    if (!read_size(text, at, w.element.size))
      return wrong(text, at, "a size from 64 to 16000 is expected");
    if (at < text.size() && text[at] == ':') {
      has_weights = true;
      if (!read_number(text, ++at, kMaxWeight, w.weight) || w.weight == 0)
        return wrong(text, at, "a weight from 1 to 10000 is expected");
    }
    if (parts.size() == kMaxSequence) return wrong(text, at, "the list is too long");
    parts.push_back(w);
    if (at == text.size()) break;
    if (text[at++] != ',') return wrong(text, at - 1, "',' or ':' is expected");
  }
  if (has_weights) return interleave(std::move(parts));
  SizeSequence s;
  for (const Weighted& w : parts) s.elements.push_back(w.element);
  return s;
}

using CustomSizes = std::array<std::uint32_t, 26>;  // by capital letter; 0: not stated

// "(A=300,B=700)" from `at` to the end of the text.
base::Result<void> read_custom(std::string_view text, std::size_t at, CustomSizes& sizes) {
  for (;;) {
    ++at;
    if (at + 1 >= text.size() || text[at] < 'A' || text[at] > 'Z' || text[at + 1] != '=')
      return wrong(text, at, "a capital letter and '=' are expected");
    std::uint32_t& size = sizes[static_cast<std::size_t>(text[at] - 'A')];
    if (size != 0) return wrong(text, at, "this letter has a size already");
    at += 2;
    if (!read_size(text, at, size)) return wrong(text, at, "a size from 64 to 16000 is expected");
    if (at < text.size() && text[at] == ',') continue;
    if (at + 1 == text.size() && text[at] == ')') return {};
    return wrong(text, at, "',' or a ')' that ends the text is expected");
  }
}

// 0 for a letter that names no size.
std::uint32_t genome_size(char letter, std::uint32_t mtu, const CustomSizes& custom) {
  constexpr std::array<std::uint32_t, 10> kSizes = {64,   128,  256,  512,  1024,
                                                    1280, 1518, 2112, 9000, 16000};
  if (letter >= 'a' && letter <= 'j') return kSizes[static_cast<std::size_t>(letter - 'a')];
  if (letter == 'z') return mtu + kHeaderAndFcs;
  if (letter >= 'A' && letter <= 'Z') return custom[static_cast<std::size_t>(letter - 'A')];
  return 0;
}

base::Result<SizeSequence> parse_genome(std::string_view text, std::uint32_t mtu) {
  CustomSizes custom{};
  const std::size_t open = std::min(text.find('('), text.size());
  if (open < text.size())
    if (auto ok = read_custom(text, open, custom); !ok.ok()) return ok.error();
  if (open > kMaxSequence) return wrong(text, kMaxSequence, "the genome is too long");
  SizeSequence s;
  for (std::size_t at = 0; at < open; ++at) {
    SizeElement e;
    e.size = genome_size(text[at], mtu, custom);
    if (e.size < kMinFrameSize || e.size > kMaxFrameSize)
      return wrong(text, at, "a letter a to j, z, or a capital with its size is expected");
    s.elements.push_back(e);
  }
  if (s.elements.empty()) return wrong(text, 0, "a letter is expected");
  return s;
}

base::Result<SizeSequence> application_mix() {
  std::vector<Weighted> parts;
  for (const MixLine& line : kEmix)
    parts.push_back({{line.size, line.protocol, line.port}, line.weight});
  return interleave(std::move(parts));
}

}  // namespace

std::span<const MixLine> emix_table() noexcept { return kEmix; }

base::Result<SizeSequence> parse_sizes(std::string_view text, std::uint32_t mtu) {
  if (text.empty()) return wrong(text, 0, "a size is expected");
  if (text == "imix" || text == "emix") {
    auto mix = text == "imix" ? parse_list(kImix) : application_mix();
    if (mix.ok()) mix->is_mix = true;
    return mix;
  }
  if (text.front() >= '0' && text.front() <= '9') return parse_list(text);
  return parse_genome(text, mtu);
}

std::uint32_t SizeSequence::size_over_ipv6(const SizeElement& element) const noexcept {
  constexpr std::uint32_t kMore = 20, kFull = 1518;
  return is_mix ? std::max(element.size, std::min(element.size + kMore, kFull)) : element.size;
}

double SizeSequence::mean_size() const noexcept {
  double sum = 0;
  for (const SizeElement& e : elements) sum += e.size;
  return elements.empty() ? 0 : sum / static_cast<double>(elements.size());
}

std::uint32_t SizeSequence::smallest() const noexcept {
  std::uint32_t v = kMaxFrameSize;
  for (const SizeElement& e : elements) v = std::min(v, e.size);
  return v;
}

std::uint32_t SizeSequence::largest() const noexcept {
  std::uint32_t v = 0;
  for (const SizeElement& e : elements) v = std::max(v, e.size);
  return v;
}

}  // namespace merlon::lab
