// SPDX-License-Identifier: Apache-2.0
// TLS channels back to back in memory, and against OpenSSL set up by the test itself.
#include "merlon/lab_tcp/tls_channel.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>

namespace merlon::lab::tcp {
namespace {

using Bytes = std::vector<base::Byte>;

constexpr std::uint8_t kRequest = 0;
constexpr int kBadRecordMac = 20, kBadCertificate = 42, kUnknownCa = 48, kProtocolVersion = 70,
              kNoApplicationProtocol = 120;

const MessageBook& book() {
  static const MessageBook kBook({1024, 1024 * 1024}, true);
  return kBook;
}

Bytes message_bytes(std::uint8_t message) {
  Bytes out(book().length(message));
  book().write(message, 0, book().length(message), out.data());
  return out;
}

TlsSpec spec_of(TlsVersion version, TlsKey key = TlsKey::kP256,
                TlsCipher cipher = TlsCipher::kAes128Gcm) {
  TlsSpec s;
  s.version = version;
  s.key = key;
  s.cipher = cipher;
  return s;
}

Bytes take_pending(TlsChannel& from) {
  Bytes bytes(from.pending());
  from.copy(0, from.pending(), bytes.data());
  from.release(from.pending());
  return bytes;
}

// Our two ends, with what is on its way between them in the test's hands.
struct Pair {
  explicit Pair(const TlsSpec& spec) : Pair(spec, spec) {}
  Pair(const TlsSpec& of_client, const TlsSpec& of_server)
      : client_context(make(of_client, TlsSide::kClient)),
        server_context(make(of_server, TlsSide::kServer)) {
    open();
  }

  static std::unique_ptr<TlsContext> make(const TlsSpec& spec, TlsSide side) {
    auto c = TlsContext::create(spec, side);
    EXPECT_TRUE(c.ok()) << c.error().to_string();
    return std::move(*c);
  }
  void open() {
    ASSERT_TRUE(client.open(*client_context));
    ASSERT_TRUE(server.open(*server_context));
  }
  void carry(TlsChannel& from, TlsChannel& to) { to.put(take_pending(from)); }

  // True when both ends say that it is complete.
  bool shake_hands() {
    TlsStep a = TlsStep::kMore, b = TlsStep::kMore;
    for (int turn = 0; turn < 8 && (a == TlsStep::kMore || b == TlsStep::kMore); ++turn) {
      if (a == TlsStep::kMore) a = client.handshake();
      carry(client, server);
      if (b == TlsStep::kMore) b = server.handshake();
      carry(server, client);
    }
    return a == TlsStep::kDone && b == TlsStep::kDone;
  }

  Bytes read_all(TlsChannel& from) {
    Bytes out;
    base::ByteSpan plain;
    while ((last = from.read(plain)) == TlsStep::kDone)
      out.insert(out.end(), plain.begin(), plain.end());
    return out;
  }

  std::unique_ptr<TlsContext> client_context, server_context;
  TlsChannel client, server;
  TlsStep last = TlsStep::kMore;
};

constexpr std::array kVersions = {TlsVersion::k12, TlsVersion::k13};

TEST(TlsChannel, ShakesHandsWithEverySuiteAndKey) {
  for (const TlsVersion version : kVersions)
    for (const TlsKey key :
         {TlsKey::kRsa2048, TlsKey::kRsa4096, TlsKey::kP256, TlsKey::kP384, TlsKey::kP521})
      for (const TlsCipher cipher :
           {TlsCipher::kAes128Gcm, TlsCipher::kAes256Gcm, TlsCipher::kChaCha20}) {
        TlsSpec spec = spec_of(version, key, cipher);
        spec.is_verified = true;
        SCOPED_TRACE(tls_title(spec));
        Pair p(spec);
        ASSERT_TRUE(p.shake_hands());
        EXPECT_EQ(tls_suite(spec), SSL_get_cipher_name(p.client.ssl()));
        EXPECT_EQ(SSL_version(p.client.ssl()),
                  version == TlsVersion::k13 ? TLS1_3_VERSION : TLS1_2_VERSION);
        p.client.begin(kRequest);
        EXPECT_EQ(p.client.write(book()), TlsStep::kDone);
        p.carry(p.client, p.server);
        EXPECT_EQ(p.read_all(p.server), message_bytes(kRequest));
        EXPECT_EQ(p.last, TlsStep::kMore);
      }
}

TEST(TlsChannel, ServersKeyIsOfTheKindAskedFor) {
  for (const auto& [key, bits] : {std::pair{TlsKey::kRsa2048, 2048}, std::pair{TlsKey::kP256, 256},
                                  std::pair{TlsKey::kP521, 521}}) {
    Pair p(spec_of(TlsVersion::k12, key));
    ASSERT_TRUE(p.shake_hands());
    X509* certificate = SSL_get0_peer_certificate(p.client.ssl());
    EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(certificate)), bits);
  }
}

// Larger than what may wait: records come only as fast as they are acknowledged.
TEST(TlsChannel, KeepsNoMoreThanItsBound) {
  Pair p(spec_of(TlsVersion::k13));
  ASSERT_TRUE(p.shake_hands());
  const std::uint8_t message = book().response(1024 * 1024, false);
  p.server.begin(message);
  Bytes got;
  while (p.server.is_writing()) {
    ASSERT_EQ(p.server.write(book()), TlsStep::kDone);
    ASSERT_LE(p.server.pending(), kTlsWriteAhead + kMaxPlaintext + 256);
    p.carry(p.server, p.client);
    const Bytes more = p.read_all(p.client);
    ASSERT_FALSE(more.empty());
    got.insert(got.end(), more.begin(), more.end());
  }
  EXPECT_EQ(got, message_bytes(message));
  EXPECT_EQ(p.client.received(), got.size());
}

TEST(TlsChannel, TakesRecordsInPieces) {
  Pair p(spec_of(TlsVersion::k12));
  ASSERT_TRUE(p.shake_hands());
  p.client.begin(kRequest);
  p.client.write(book());
  const Bytes bytes = take_pending(p.client);
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    p.server.put({bytes.data() + i, 1});
    ASSERT_TRUE(p.read_all(p.server).empty());
  }
  p.server.put({bytes.data() + bytes.size() - 1, 1});
  EXPECT_EQ(p.read_all(p.server), message_bytes(kRequest));
}

TEST(TlsChannel, PeeksUntilSkipped) {
  Pair p(spec_of(TlsVersion::k13));
  ASSERT_TRUE(p.shake_hands());
  p.client.begin(kRequest);
  p.client.write(book());
  p.carry(p.client, p.server);
  base::ByteSpan plain;
  const Bytes whole = message_bytes(kRequest);
  ASSERT_EQ(p.server.peek(plain), TlsStep::kDone);
  ASSERT_EQ(p.server.peek(plain), TlsStep::kDone);
  EXPECT_EQ(Bytes(plain.begin(), plain.end()), whole);
  p.server.skip(10);
  EXPECT_EQ(p.read_all(p.server), Bytes(whole.begin() + 10, whole.end()));
}

TEST(TlsChannel, ChangedRecordIsNamedOnBothSides) {
  for (const TlsVersion version : kVersions) {
    Pair p(spec_of(version));
    ASSERT_TRUE(p.shake_hands());
    p.client.begin(kRequest);
    p.client.write(book());
    Bytes bytes = take_pending(p.client);
    bytes[bytes.size() / 2] ^= 1;
    p.server.put(bytes);
    EXPECT_TRUE(p.read_all(p.server).empty());
    EXPECT_EQ(p.last, TlsStep::kFailed);
    EXPECT_EQ(p.server.failure(), TlsFailure::kBadRecord);
    p.carry(p.server, p.client);
    EXPECT_TRUE(p.read_all(p.client).empty());
    EXPECT_EQ(p.client.failure(), TlsFailure::kAlert);
    EXPECT_EQ(p.client_context->last_alert(), kBadRecordMac);
    // Of no further use, and nothing more is said.
    p.server.shut_down();
    EXPECT_EQ(p.server.pending(), 0U);
    EXPECT_EQ(p.server.handshake(), TlsStep::kFailed);
  }
}

// Whichever byte of the server's flight is changed: never a handshake that both call complete with
// other contents.
TEST(TlsChannel, ChangedHandshakeNeverCompletes) {
  for (const TlsVersion version : kVersions) {
    TlsSpec spec = spec_of(version);
    spec.is_verified = true;
    for (std::size_t at = 0; at < 600; at += 37) {
      Pair p(spec);
      p.client.handshake();
      p.carry(p.client, p.server);
      ASSERT_EQ(p.server.handshake(), TlsStep::kMore);
      Bytes flight = take_pending(p.server);
      ASSERT_GT(flight.size(), 600U);
      flight[at] ^= 0x40;
      p.client.put(flight);
      EXPECT_FALSE(p.shake_hands()) << "byte " << at;
    }
  }
}

TEST(TlsChannel, CloseIsTold) {
  Pair p(spec_of(TlsVersion::k13));
  ASSERT_TRUE(p.shake_hands());
  p.client.shut_down();
  p.client.shut_down();
  p.carry(p.client, p.server);
  EXPECT_TRUE(p.read_all(p.server).empty());
  EXPECT_EQ(p.last, TlsStep::kClosed);
  EXPECT_TRUE(p.server.is_peer_closed());
  EXPECT_EQ(p.server.failure(), TlsFailure::kNoFailure);
}

TEST(TlsChannel, AnotherNameIsNotAccepted) {
  for (const TlsVersion version : kVersions) {
    TlsSpec of_client = spec_of(version), of_server = spec_of(version);
    of_client.is_verified = true;
    of_client.server_name = "elsewhere.lab";
    Pair p(of_client, of_server);
    EXPECT_FALSE(p.shake_hands());
    EXPECT_EQ(p.client.failure(), TlsFailure::kVerify);
    p.carry(p.client, p.server);
    if (p.server.is_established())
      p.read_all(p.server);
    else
      p.server.handshake();
    EXPECT_EQ(p.server.failure(), TlsFailure::kAlert);
    EXPECT_THAT(p.server_context->last_alert(), testing::AnyOf(kBadCertificate, kUnknownCa));
  }
}

TEST(TlsChannel, ResumesOnlyWhenAskedTo) {
  for (const TlsVersion version : kVersions)
    for (const bool reuses : {false, true}) {
      TlsSpec spec = spec_of(version);
      spec.reuses_sessions = reuses;
      Pair p(spec);
      for (int n = 0; n < 3; ++n) {
        p.open();
        ASSERT_TRUE(p.shake_hands());
        EXPECT_EQ(p.client.is_resumed(), reuses && n > 0) << tls_title(spec) << " " << n;
        EXPECT_EQ(p.server.is_resumed(), p.client.is_resumed());
        p.read_all(p.client);  // tickets of TLS 1.3
        // A session whose connection was not closed in good order is not used again.
        p.client.shut_down();
        p.server.shut_down();
      }
    }
}

TEST(TlsChannel, SaysWhoItWantsAndWhichProtocol) {
  Pair p(spec_of(TlsVersion::k13));
  ASSERT_TRUE(p.shake_hands());
  EXPECT_STREQ(SSL_get_servername(p.server.ssl(), TLSEXT_NAMETYPE_host_name), "server.lab");
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(p.client.ssl(), &name, &size);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(name), size), "http/1.1");
}

// OpenSSL as anybody may set it up.
struct Stranger {
  explicit Stranger(bool is_server, int version, const char* alpn = nullptr)
      : context(SSL_CTX_new(TLS_method())), ssl((set(version, alpn), SSL_new(context))) {
    in = BIO_new(BIO_s_mem());
    out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, in, out);
    if (is_server)
      SSL_set_accept_state(ssl);
    else
      SSL_set_connect_state(ssl);
  }
  ~Stranger() {
    SSL_free(ssl);
    SSL_CTX_free(context);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void set(int version, const char* alpn) const {
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    const std::string wire =
        alpn == nullptr ? ""
                        : fmt::format("{}{}", static_cast<char>(std::string(alpn).size()), alpn);
    if (alpn != nullptr)
      SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(wire.data()),
                              static_cast<unsigned>(wire.size()));
  }
  // Its key and certificate are those of one of our servers.
  void use_identity_of(const TlsChannel& server) const {
    SSL_use_certificate(ssl, SSL_get_certificate(server.ssl()));
    SSL_use_PrivateKey(ssl, SSL_get_privatekey(server.ssl()));
  }
  void send(TlsChannel& to) const {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out, &bytes);
    to.put({reinterpret_cast<const base::Byte*>(bytes), static_cast<std::size_t>(size)});
    BIO_reset(out);
  }
  void receive(TlsChannel& from) const {
    const Bytes bytes = take_pending(from);
    if (!bytes.empty()) BIO_write(in, bytes.data(), static_cast<int>(bytes.size()));
  }
  bool shake_hands(TlsChannel& other) {
    TlsStep step = TlsStep::kMore;
    int mine = -1;
    for (int turn = 0; turn < 8 && (mine != 1 || step == TlsStep::kMore); ++turn) {
      ERR_clear_error();
      if (mine != 1) mine = SSL_do_handshake(ssl);
      if (reason == 0) reason = ERR_GET_REASON(ERR_peek_error());
      send(other);
      if (step == TlsStep::kMore) step = other.handshake();
      receive(other);
    }
    return mine == 1 && step == TlsStep::kDone;
  }

  SSL_CTX* context;
  SSL* ssl;
  BIO *in = nullptr, *out = nullptr;
  int reason = 0;  // of its first failure in shake_hands()
};

TEST(TlsChannel, ServerRefusesRenegotiation) {
  Pair p(spec_of(TlsVersion::k12));
  Stranger client(false, TLS1_2_VERSION);
  ASSERT_TRUE(client.shake_hands(p.server));
  ASSERT_EQ(SSL_renegotiate(client.ssl), 1);
  EXPECT_LE(SSL_do_handshake(client.ssl), 0);
  client.send(p.server);
  EXPECT_TRUE(p.read_all(p.server).empty());
  client.receive(p.server);
  ERR_clear_error();
  EXPECT_LE(SSL_do_handshake(client.ssl), 0);
  EXPECT_EQ(ERR_GET_REASON(ERR_peek_error()), SSL_R_NO_RENEGOTIATION);
  ERR_clear_error();
}

TEST(TlsChannel, ClientRefusesRenegotiation) {
  Pair p(spec_of(TlsVersion::k12));
  const Stranger server(true, TLS1_2_VERSION);
  server.use_identity_of(p.server);
  TlsStep step = p.client.handshake();
  for (int turn = 0; turn < 4 && step == TlsStep::kMore; ++turn) {
    server.receive(p.client);
    SSL_do_handshake(server.ssl);
    server.send(p.client);
    step = p.client.handshake();
  }
  ASSERT_EQ(step, TlsStep::kDone);
  ASSERT_EQ(SSL_renegotiate(server.ssl), 1);
  SSL_do_handshake(server.ssl);  // HelloRequest
  server.send(p.client);
  EXPECT_TRUE(p.read_all(p.client).empty());
  EXPECT_EQ(p.last, TlsStep::kMore);
  // A warning comes back, which is shorter than any ClientHello.
  EXPECT_GT(p.client.pending(), 0U);
  EXPECT_LT(p.client.pending(), 64U);
  EXPECT_EQ(p.client.failure(), TlsFailure::kNoFailure);
}

TEST(TlsChannel, OtherProtocolsAreRefusedAndNoneIsAccepted) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const TlsSpec spec = spec_of(version == TLS1_3_VERSION ? TlsVersion::k13 : TlsVersion::k12);
    {
      Pair p(spec);
      Stranger silent(false, version);
      EXPECT_TRUE(silent.shake_hands(p.server));
    }
    Pair p(spec);
    Stranger other(false, version, "h2");
    EXPECT_FALSE(other.shake_hands(p.server));
    EXPECT_EQ(p.server.failure(), TlsFailure::kBadRecord);
    EXPECT_EQ(other.reason, SSL_AD_REASON_OFFSET + kNoApplicationProtocol);
  }
}

TEST(TlsChannel, AnotherVersionEndsByAnAlert) {
  Pair p(spec_of(TlsVersion::k13));
  const Stranger server(true, TLS1_2_VERSION);
  server.use_identity_of(p.server);
  ASSERT_EQ(p.client.handshake(), TlsStep::kMore);
  server.receive(p.client);
  EXPECT_LE(SSL_do_handshake(server.ssl), 0);
  ERR_clear_error();
  server.send(p.client);
  EXPECT_EQ(p.client.handshake(), TlsStep::kFailed);
  EXPECT_EQ(p.client.failure(), TlsFailure::kAlert);
  EXPECT_EQ(p.client_context->last_alert(), kProtocolVersion);
}

TEST(TlsChannel, WhatIsNotTlsIsABadRecord) {
  Pair p(spec_of(TlsVersion::k13));
  const Bytes junk = message_bytes(kRequest);
  p.server.put(junk);
  EXPECT_EQ(p.server.handshake(), TlsStep::kFailed);
  EXPECT_EQ(p.server.failure(), TlsFailure::kBadRecord);
}

TEST(TlsSpec, NumbersNameEveryCombination) {
  const auto spec = make_tls_spec(12, 2048, 256);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(tls_suite(*spec), "ECDHE-RSA-AES256-GCM-SHA384");
  EXPECT_EQ(tls_title(*spec), "TLS 1.2 ECDHE-RSA-AES256-GCM-SHA384, RSA 2048 key");
  EXPECT_EQ(tls_title(*make_tls_spec(13, 256, 128)), "TLS 1.3 TLS_AES_128_GCM_SHA256, P-256 key");
  EXPECT_FALSE(make_tls_spec(0, 256, 128)->is_on());
  EXPECT_EQ(tls_title({}), "no TLS");
  EXPECT_THAT(make_tls_spec(11, 256, 128).error().message, testing::HasSubstr("version 11"));
  EXPECT_THAT(make_tls_spec(12, 1024, 128).error().message, testing::HasSubstr("key 1024"));
  EXPECT_THAT(make_tls_spec(12, 256, 56).error().hint, testing::HasSubstr("128, 256, 20"));
}

}  // namespace
}  // namespace merlon::lab::tcp
