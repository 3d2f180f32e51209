// SPDX-License-Identifier: Apache-2.0
// A TLS client and a TLS server of the laboratory whose bytes the input rules: delivered in pieces,
// changed, cut, forged, mixed up. Nothing crashes; a channel that failed stays failed; what arrives
// as plaintext is what was said. Input: one byte of settings, then 4 bytes a step (what, side, two
// operands); "raw" steps take the bytes that follow.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "merlon/lab_tcp/tls_channel.h"

namespace {

using namespace merlon;
using namespace merlon::lab;
using namespace merlon::lab::tcp;

using Bytes = std::vector<base::Byte>;

constexpr std::uint8_t kRequest = 0, kResponse = 2;  // numbers in a book of one object

const MessageBook& book() {
  static const MessageBook kBook({4096}, true);
  return kBook;
}

TlsContext& context_of(TlsVersion version, bool is_verified, TlsSide side) {
  static std::array<std::unique_ptr<TlsContext>, 8> made;
  const std::size_t at = (version == TlsVersion::k13 ? 4U : 0U) + (is_verified ? 2U : 0U) +
                         (side == TlsSide::kServer ? 1U : 0U);
  if (made[at] == nullptr) {
    TlsSpec spec;
    spec.version = version;
    spec.is_verified = is_verified;
    auto context = TlsContext::create(spec, side);
    if (!context.ok()) std::abort();
    made[at] = std::move(*context);
  }
  return *made[at];
}

struct End {
  TlsChannel channel;
  Bytes said;   // all plaintext that this end has begun to write
  Bytes heard;  // all that it has read
  Bytes in;     // ciphertext on its way to it
  bool has_failed = false;

  // Moves what TLS has written to the peer's side.
  void send(End& peer) {
    const std::uint32_t size = channel.pending();
    const std::size_t at = peer.in.size();
    peer.in.resize(at + size);
    channel.copy(0, size, peer.in.data() + at);
    channel.release(size);
    if (channel.pending() != 0) std::abort();
  }

  void advance() {
    if (!channel.is_established() && channel.handshake() != TlsStep::kDone) return check();
    base::ByteSpan plain;
    while (channel.read(plain) == TlsStep::kDone)
      heard.insert(heard.end(), plain.begin(), plain.end());
    check();
  }

  void say(std::uint8_t message) {
    if (!channel.is_established() || channel.is_writing()) return;
    channel.begin(message);
    if (channel.write(book()) == TlsStep::kFailed) return check();
    const std::size_t at = said.size();
    said.resize(at + book().length(message));
    book().write(message, 0, book().length(message), said.data() + at);
  }

  void check() {
    if (has_failed && channel.failure() == TlsFailure::kNoFailure) std::abort();
    has_failed = channel.failure() != TlsFailure::kNoFailure;
  }

  // `size` bytes at most arrive; those before are gone.
  void take(std::size_t size) {
    size = std::min(size, in.size());
    channel.put({in.data(), size});
    in.erase(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(size));
    advance();
  }
};

// What one end heard is a beginning of what the other one said: TLS lets nothing forged through.
void check_heard(const End& from, const End& to) {
  if (to.heard.size() > from.said.size()) std::abort();
  if (!std::equal(to.heard.begin(), to.heard.end(), from.said.begin())) std::abort();
}

std::size_t step(End& self, End& peer, bool is_server, const std::uint8_t* p, base::ByteSpan rest) {
  const std::size_t operand = static_cast<std::size_t>(p[2]) << 8 | p[3];
  switch (p[0] & 7) {
    case 0:
    case 1:
      self.take(self.in.size());
      break;
    case 2:
      self.take(operand);
      break;
    case 3:  // one byte changed on its way
      if (!self.in.empty()) self.in[operand % self.in.size()] ^= static_cast<base::Byte>(p[1] | 1);
      break;
    case 4:  // cut
      self.in.resize(std::min(self.in.size(), operand));
      break;
    case 5: {
      const std::size_t size = std::min<std::size_t>(rest.size(), p[2]);
      self.in.insert(self.in.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
      self.send(peer);
      return size;
    }
    case 6:
      self.say(is_server ? kResponse : kRequest);
      break;
    default:
      self.channel.shut_down();
      break;
  }
  self.send(peer);
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const TlsVersion version = (data[0] & 1) != 0 ? TlsVersion::k13 : TlsVersion::k12;
  const bool is_verified = (data[0] & 2) != 0;
  End client, server;
  if (!client.channel.open(context_of(version, is_verified, TlsSide::kClient)) ||
      !server.channel.open(context_of(version, is_verified, TlsSide::kServer)))
    std::abort();
  client.advance();
  client.send(server);
  for (std::size_t at = 1; at + 4 <= size;) {
    const std::uint8_t* p = data + at;
    at += 4;
    const bool is_server = (p[0] & 8) != 0;
    at += step(is_server ? server : client, is_server ? client : server, is_server, p,
               {data + at, size - at});
  }
  check_heard(client, server);
  check_heard(server, client);
  return 0;
}
