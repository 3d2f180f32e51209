// SPDX-License-Identifier: Apache-2.0
#pragma once
// What TLS a load speaks: one version, one cipher suite, one kind of server key, so that a result
// belongs to exactly one of the combinations that RFC 9411 section 4.3.1.3 recommends. Values only;
// any thread.
#include <cstdint>
#include <string>

#include "merlon/base/result.h"

namespace merlon::lab {

enum class TlsVersion : std::uint8_t { kNone, k12, k13 };
enum class TlsKey : std::uint8_t { kRsa2048, kRsa4096, kP256, kP384, kP521 };
enum class TlsCipher : std::uint8_t { kAes128Gcm, kAes256Gcm, kChaCha20 };

struct TlsSpec {
  TlsVersion version = TlsVersion::kNone;  // kNone: no TLS at all
  TlsKey key = TlsKey::kP256;              // of the servers' certificate
  TlsCipher cipher = TlsCipher::kAes128Gcm;
  // Servers give tickets and clients come back with the last one. RFC 9411 wants it off.
  bool reuses_sessions = false;
  // Clients check chain and name against the authority made for this run; with strangers' servers
  // every handshake ends as "tls_verify". Costs a signature check per full handshake.
  bool is_verified = false;
  std::string server_name = "server.lab";  // SNI, and the certificate's name

  [[nodiscard]] bool is_on() const noexcept { return version != TlsVersion::kNone; }
};

// OpenSSL's name of the one suite offered: "ECDHE-ECDSA-AES128-GCM-SHA256",
// "TLS_AES_128_GCM_SHA256".
std::string tls_suite(const TlsSpec& spec);
// For people: "TLS 1.3 TLS_AES_128_GCM_SHA256, P-256 key". "no TLS" when off.
std::string tls_title(const TlsSpec& spec);

// From the numbers that plans carry: version 0 (no TLS), 12 or 13; key 2048 or 4096 (RSA), 256, 384
// or 521 (ECDSA); cipher 128 or 256 (AES-GCM), 20 (ChaCha20-Poly1305). kInvalidValue with the
// number and those that are known.
base::Result<TlsSpec> make_tls_spec(unsigned version, unsigned key_bits, unsigned cipher);

}  // namespace merlon::lab
