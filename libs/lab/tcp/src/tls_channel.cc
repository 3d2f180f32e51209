// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/tls_channel.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string_view>

#include "merlon/base/check.h"
#include "merlon/base/time.h"

namespace merlon::lab::tcp {
namespace {

constexpr std::string_view kProtocol = "http/1.1";

// Handshakes are rare and dear: the kernel says how long the thread ran in them. The rest is
// frequent and cheap: the TSC tells, and what took longer than it ever could was the thread being
// kept from running.
enum class Work : std::uint8_t { kHandshake, kRecords };
constexpr double kLongestRecordsS = 1e-3;

std::uint64_t thread_ticks() noexcept {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  const double seconds = static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  return static_cast<std::uint64_t>(seconds * base::TscClock::frequency());
}

// Adds the time of a scope to an account, in TSC ticks.
class Meter {
 public:
  explicit Meter(std::uint64_t& ticks, Work work = Work::kRecords) noexcept
      : ticks_(ticks), work_(work), begin_(read()) {
    ERR_clear_error();
  }
  ~Meter() {
    static const auto kLongest =
        static_cast<std::uint64_t>(base::TscClock::frequency() * kLongestRecordsS);
    const std::uint64_t spent = read() - begin_;
    if (work_ == Work::kHandshake || spent < kLongest) ticks_ += spent;
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

 private:
  [[nodiscard]] std::uint64_t read() const noexcept {
    return work_ == Work::kHandshake ? thread_ticks() : base::read_tsc();
  }

  std::uint64_t& ticks_;
  const Work work_;
  const std::uint64_t begin_;
};

int int_of(std::size_t size) noexcept {
  return static_cast<int>(std::min<std::size_t>(size, 1U << 30));
}

}  // namespace

bool TlsChannel::open(TlsContext& context) noexcept {
  const Meter meter(context.ticks_);
  close();
  context_ = &context;
  ssl_ = SSL_new(context.context_);
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  if (ssl_ == nullptr || in_ == nullptr || out_ == nullptr) {
    BIO_free(in_);
    BIO_free(out_);
    close();
    return false;
  }
  SSL_set_bio(ssl_, in_, out_);
  if (context.side_ == TlsSide::kServer) {
    SSL_set_accept_state(ssl_);
    return true;
  }
  SSL_set_connect_state(ssl_);
  const std::string& name = context.spec_.server_name;
  // SSL_set_tlsext_host_name() without its macro's cast; the name is copied.
  bool is_set = SSL_ctrl(ssl_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                         const_cast<char*>(name.c_str())) == 1;
  if (context.spec_.is_verified) is_set &= SSL_set1_host(ssl_, name.c_str()) == 1;
  if (context.session_ != nullptr) is_set &= SSL_set_session(ssl_, context.session_) == 1;
  if (!is_set) close();
  return is_set;
}

void TlsChannel::close() noexcept {
  SSL_free(ssl_);  // and both BIOs
  ssl_ = nullptr;
  in_ = out_ = nullptr;
  received_ = written_ = 0;
  message_ = 0;
  failure_ = TlsFailure::kNoFailure;
  is_writing_ = is_established_ = is_peer_closed_ = is_shut_down_ = false;
}

void TlsChannel::put(base::ByteSpan bytes) noexcept {
  if (bytes.empty() || failure_ != TlsFailure::kNoFailure) return;
  if (BIO_write(in_, bytes.data(), int_of(bytes.size())) <= 0) failure_ = TlsFailure::kBadRecord;
}

std::uint32_t TlsChannel::unread() const noexcept {
  return static_cast<std::uint32_t>(BIO_pending(in_));
}

TlsStep TlsChannel::handshake() noexcept {
  if (failure_ != TlsFailure::kNoFailure) return TlsStep::kFailed;
  const Meter meter(context_->ticks_, Work::kHandshake);
  const int done = SSL_do_handshake(ssl_);
  return done == 1 ? accept_protocol() : judge(done);
}

// A server may leave ALPN out, but not choose what was not offered (RFC 7301 section 3.1).
TlsStep TlsChannel::accept_protocol() noexcept {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &name, &size);
  const std::string_view chosen(reinterpret_cast<const char*>(name), size);
  is_established_ = chosen.empty() || chosen == kProtocol;
  if (is_established_) return TlsStep::kDone;
  failure_ = TlsFailure::kBadRecord;
  return TlsStep::kFailed;
}

TlsStep TlsChannel::judge(int returned) noexcept {
  switch (SSL_get_error(ssl_, returned)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return TlsStep::kMore;
    case SSL_ERROR_ZERO_RETURN:
      is_peer_closed_ = true;
      return TlsStep::kClosed;
    default:
      break;
  }
  const int reason = ERR_GET_REASON(ERR_peek_error());
  failure_ = TlsFailure::kBadRecord;
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) failure_ = TlsFailure::kVerify;
  if (reason >= SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) {
    failure_ = TlsFailure::kAlert;
    context_->last_alert_ = reason - SSL_AD_REASON_OFFSET;
  }
  return TlsStep::kFailed;
}

TlsStep TlsChannel::read_some(base::ByteSpan& plain, bool is_peeked) noexcept {
  if (failure_ != TlsFailure::kNoFailure) return TlsStep::kFailed;
  if (is_peer_closed_) return TlsStep::kClosed;
  const Meter meter(context_->ticks_);
  std::vector<base::Byte>& room = context_->scratch_;
  const int size = is_peeked ? SSL_peek(ssl_, room.data(), int_of(room.size()))
                             : SSL_read(ssl_, room.data(), int_of(room.size()));
  if (size <= 0) return judge(size);
  plain = {room.data(), static_cast<std::size_t>(size)};
  if (!is_peeked) received_ += static_cast<std::uint32_t>(size);
  return TlsStep::kDone;
}

TlsStep TlsChannel::read(base::ByteSpan& plain) noexcept { return read_some(plain, false); }
TlsStep TlsChannel::peek(base::ByteSpan& plain) noexcept { return read_some(plain, true); }

void TlsChannel::skip(std::uint32_t size) noexcept {
  if (size == 0) return;
  const Meter meter(context_->ticks_);
  std::vector<base::Byte>& room = context_->scratch_;
  const int got = SSL_read(ssl_, room.data(), int_of(std::min<std::size_t>(size, room.size())));
  if (got > 0) received_ += static_cast<std::uint32_t>(got);
}

void TlsChannel::begin(std::uint8_t message) noexcept {
  message_ = message;
  written_ = 0;
  is_writing_ = true;
}

TlsStep TlsChannel::write(const MessageBook& book) noexcept {
  if (failure_ != TlsFailure::kNoFailure) return TlsStep::kFailed;
  const Meter meter(context_->ticks_);
  std::vector<base::Byte>& room = context_->scratch_;
  const std::uint32_t length = book.length(message_);
  while (is_writing_ && pending() < kTlsWriteAhead) {
    const std::uint32_t size = std::min(length - written_, kMaxPlaintext);
    book.write(message_, written_, size, room.data());
    const int sent = SSL_write(ssl_, room.data(), int_of(size));
    if (sent <= 0) return judge(sent);
    written_ += static_cast<std::uint32_t>(sent);
    is_writing_ = written_ < length;
  }
  return TlsStep::kDone;
}

void TlsChannel::shut_down() noexcept {
  if (is_shut_down_ || !is_established_ || failure_ != TlsFailure::kNoFailure) return;
  const Meter meter(context_->ticks_);
  is_shut_down_ = true;
  SSL_shutdown(ssl_);
}

std::uint32_t TlsChannel::pending() const noexcept {
  return static_cast<std::uint32_t>(BIO_pending(out_));
}

void TlsChannel::copy(std::uint32_t from, std::uint32_t size, base::Byte* out) const noexcept {
  char* bytes = nullptr;
  const long have = BIO_get_mem_data(out_, &bytes);
  MERLON_CHECK(std::uint64_t{from} + size <= static_cast<std::uint64_t>(have));
  std::memcpy(out, bytes + from, size);
}

// Reading is what takes bytes out of a memory BIO; where they go does not matter.
void TlsChannel::release(std::uint32_t size) noexcept {
  std::vector<base::Byte>& room = context_->scratch_;
  while (size > 0) {
    const int got = BIO_read(out_, room.data(), int_of(std::min<std::size_t>(size, room.size())));
    if (got <= 0) return;
    size -= static_cast<std::uint32_t>(got);
  }
}

bool TlsChannel::is_resumed() const noexcept { return SSL_session_reused(ssl_) == 1; }

}  // namespace merlon::lab::tcp
