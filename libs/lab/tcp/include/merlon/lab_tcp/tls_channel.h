// SPDX-License-Identifier: Apache-2.0
#pragma once
// TLS between a connection's bytes and its messages: OpenSSL over two memory BIOs. What TLS writes
// stays in its BIO until the peer has acknowledged it, so the BIO is the retransmission buffer that
// plain messages do without. worker-owned; one role's channels share its context. Cost: a handshake
// is some 200,000 to 1,500,000 cycles an end, a byte of payload one to two; OpenSSL takes memory
// from the heap.
#include <cstdint>
#include <memory>
#include <vector>

#include "merlon/base/bytes.h"
#include "merlon/base/result.h"
#include "merlon/lab_tcp/message.h"
#include "merlon/lab_tcp/tls_spec.h"

struct ssl_st;
struct ssl_ctx_st;
struct ssl_session_st;
struct bio_st;

namespace merlon::lab::tcp {

// Plaintext of one record at most (RFC 8446 section 5.1).
inline constexpr std::uint32_t kMaxPlaintext = 16'384;
// A sender writes no further record while so much waits to be acknowledged; a window is smaller.
inline constexpr std::uint32_t kTlsWriteAhead = 65'536;
// A receiver takes no further segment while so much is unread.
inline constexpr std::uint32_t kTlsReadAhead = 16'384;

enum class TlsSide : std::uint8_t { kClient, kServer };

// Why a channel is of no further use.
enum class TlsFailure : std::uint8_t {
  kNoFailure,
  kAlert,      // the peer sent a fatal alert
  kVerify,     // its certificate was not accepted
  kBadRecord,  // a record or a handshake message that may not be: changed, forged, out of place
};

// What all channels of a role have in common.
class TlsContext {
 public:
  // Keys and certificates are made in memory once per process and kind. kUnsupported when OpenSSL
  // refuses version, suite or key, with its words.
  static base::Result<std::unique_ptr<TlsContext>> create(const TlsSpec& spec, TlsSide side);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  [[nodiscard]] const TlsSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] TlsSide side() const noexcept { return side_; }
  // TSC ticks spent within OpenSSL.
  [[nodiscard]] std::uint64_t ticks() const noexcept { return ticks_; }
  // Number of the last fatal alert received (RFC 8446 section 6), -1: none.
  [[nodiscard]] int last_alert() const noexcept { return last_alert_; }

 private:
  friend class TlsChannel;
  TlsContext(const TlsSpec& spec, TlsSide side) : spec_(spec), side_(side) {}
  base::Result<void> set_up();
  static int keep_session(ssl_st* ssl, ssl_session_st* session);

  const TlsSpec spec_;
  const TlsSide side_;
  ssl_ctx_st* context_ = nullptr;
  ssl_session_st* session_ = nullptr;  // of clients: the one to come back with
  std::uint64_t ticks_ = 0;
  int last_alert_ = -1;
  std::vector<base::Byte> scratch_ = std::vector<base::Byte>(kMaxPlaintext);
};

// kDone: the handshake is complete, or bytes were read. kMore: the peer has to speak first.
// kClosed: the peer's close_notify was read.
enum class TlsStep : std::uint8_t { kMore, kDone, kClosed, kFailed };

class TlsChannel {
 public:
  TlsChannel() = default;
  ~TlsChannel() { close(); }
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  // False: no memory.
  bool open(TlsContext& context) noexcept;
  void close() noexcept;

  // The peer's bytes, in their order.
  void put(base::ByteSpan bytes) noexcept;
  [[nodiscard]] std::uint32_t unread() const noexcept;

  TlsStep handshake() noexcept;
  // kDone: `plain` holds the bytes of one record, until the next call on any channel of the role.
  TlsStep read(base::ByteSpan& plain) noexcept;
  // The same bytes again and again, until they are skipped.
  TlsStep peek(base::ByteSpan& plain) noexcept;
  void skip(std::uint32_t size) noexcept;

  // Begins a message of the book; is_writing() until its last record is written.
  void begin(std::uint8_t message) noexcept;
  [[nodiscard]] bool is_writing() const noexcept { return is_writing_; }
  [[nodiscard]] std::uint8_t message() const noexcept { return message_; }
  // Writes records until the message ends or enough waits to be acknowledged.
  TlsStep write(const MessageBook& book) noexcept;
  // Writes close_notify, once; nothing after a failure or before the handshake's end.
  void shut_down() noexcept;

  // What is written and not yet acknowledged.
  [[nodiscard]] std::uint32_t pending() const noexcept;
  void copy(std::uint32_t from, std::uint32_t size, base::Byte* out) const noexcept;
  void release(std::uint32_t size) noexcept;

  [[nodiscard]] bool is_established() const noexcept { return is_established_; }
  [[nodiscard]] bool is_peer_closed() const noexcept { return is_peer_closed_; }
  [[nodiscard]] bool is_resumed() const noexcept;
  [[nodiscard]] TlsFailure failure() const noexcept { return failure_; }
  // Bytes of plaintext read so far, modulo 2^32.
  [[nodiscard]] std::uint32_t received() const noexcept { return received_; }
  [[nodiscard]] ssl_st* ssl() const noexcept { return ssl_; }

 private:
  TlsStep judge(int returned) noexcept;
  TlsStep accept_protocol() noexcept;
  TlsStep read_some(base::ByteSpan& plain, bool is_peeked) noexcept;

  TlsContext* context_ = nullptr;
  ssl_st* ssl_ = nullptr;
  bio_st *in_ = nullptr, *out_ = nullptr;  // owned by ssl_
  std::uint32_t received_ = 0, written_ = 0;
  std::uint8_t message_ = 0;
  TlsFailure failure_ = TlsFailure::kNoFailure;
  bool is_writing_ = false, is_established_ = false, is_peer_closed_ = false, is_shut_down_ = false;
};

}  // namespace merlon::lab::tcp
