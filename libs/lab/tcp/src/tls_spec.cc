// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/tls_spec.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "merlon/base/make_error.h"

namespace merlon::lab {
namespace {

template <class Value>
using Known = std::pair<unsigned, Value>;

constexpr std::array<Known<TlsVersion>, 3> kVersions{
    {{0, TlsVersion::kNone}, {12, TlsVersion::k12}, {13, TlsVersion::k13}}};
constexpr std::array<Known<TlsKey>, 5> kKeys{{{2048, TlsKey::kRsa2048},
                                              {4096, TlsKey::kRsa4096},
                                              {256, TlsKey::kP256},
                                              {384, TlsKey::kP384},
                                              {521, TlsKey::kP521}}};
constexpr std::array<Known<TlsCipher>, 3> kCiphers{
    {{128, TlsCipher::kAes128Gcm}, {256, TlsCipher::kAes256Gcm}, {20, TlsCipher::kChaCha20}}};

template <class Value, std::size_t kCount>
base::Result<Value> find(const std::array<Known<Value>, kCount>& known, unsigned number,
                         const char* what) {
  std::string numbers;
  for (const auto& [n, value] : known) {
    if (n == number) return value;
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", n);
  }
  return make_error(base::Errc::kInvalidValue, fmt::format("{} {} is not known", what, number),
                    "one of " + numbers);
}

bool is_rsa(TlsKey key) noexcept { return key == TlsKey::kRsa2048 || key == TlsKey::kRsa4096; }

}  // namespace

std::string tls_suite(const TlsSpec& s) {
  if (s.version == TlsVersion::k13) {
    switch (s.cipher) {
      case TlsCipher::kAes128Gcm:
        return "TLS_AES_128_GCM_SHA256";
      case TlsCipher::kAes256Gcm:
        return "TLS_AES_256_GCM_SHA384";
      case TlsCipher::kChaCha20:
        return "TLS_CHACHA20_POLY1305_SHA256";
    }
  }
  const std::string head = is_rsa(s.key) ? "ECDHE-RSA-" : "ECDHE-ECDSA-";
  switch (s.cipher) {
    case TlsCipher::kAes256Gcm:
      return head + "AES256-GCM-SHA384";
    case TlsCipher::kChaCha20:
      return head + "CHACHA20-POLY1305";
    default:
      return head + "AES128-GCM-SHA256";
  }
}

std::string tls_title(const TlsSpec& s) {
  static constexpr std::array<const char*, 5> kKeyNames = {"RSA 2048", "RSA 4096", "P-256", "P-384",
                                                           "P-521"};
  if (!s.is_on()) return "no TLS";
  return fmt::format("TLS 1.{} {}, {} key", s.version == TlsVersion::k13 ? 3 : 2, tls_suite(s),
                     kKeyNames[static_cast<std::size_t>(s.key)]);
}

base::Result<TlsSpec> make_tls_spec(unsigned version, unsigned key_bits, unsigned cipher) {
  TlsSpec spec;
  const auto v = find(kVersions, version, "TLS version");
  if (!v) return v.error();
  const auto k = find(kKeys, key_bits, "TLS key");
  if (!k) return k.error();
  const auto c = find(kCiphers, cipher, "TLS cipher");
  if (!c) return c.error();
  spec.version = *v;
  spec.key = *k;
  spec.cipher = *c;
  return spec;
}

}  // namespace merlon::lab
