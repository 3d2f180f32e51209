// SPDX-License-Identifier: Apache-2.0
#include "tls_identity.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <map>
#include <mutex>
#include <utility>

#include "merlon/base/make_error.h"

namespace merlon::lab::tcp {
namespace {

constexpr long kDay = 24 * 60 * 60;
constexpr long kVersion3 = 2;  // as X.509 counts
constexpr std::size_t kSerialSize = 15;

PrivateKey make_key(TlsKey kind) {
  switch (kind) {
    case TlsKey::kRsa2048:
      return PrivateKey(EVP_RSA_gen(2048));
    case TlsKey::kRsa4096:
      return PrivateKey(EVP_RSA_gen(4096));
    case TlsKey::kP256:
      return PrivateKey(EVP_EC_gen("P-256"));
    case TlsKey::kP384:
      return PrivateKey(EVP_EC_gen("P-384"));
    case TlsKey::kP521:
      return PrivateKey(EVP_EC_gen("P-521"));
  }
  return nullptr;
}

// The authority's key is of the same kind, so that a chain asks one algorithm of a client; only RSA
// 4096 is spared, whose making takes seconds.
TlsKey authority_kind(TlsKey kind) noexcept {
  return kind == TlsKey::kRsa4096 ? TlsKey::kRsa2048 : kind;
}

bool set_name(X509_NAME* name, const std::string& common_name) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.c_str()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1;
}

bool set_serial(X509* certificate) {
  unsigned char bytes[kSerialSize];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, of full length
  const std::unique_ptr<BIGNUM, OpensslDeleter<BN_free>> number(
      BN_bin2bn(bytes, sizeof bytes, nullptr));
  return number != nullptr &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, OpensslDeleter<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Without extensions and signature yet. `issuer` null: its own.
Certificate begin_certificate(EVP_PKEY* key, const std::string& name, X509* issuer) {
  Certificate c(X509_new());
  if (c == nullptr || X509_set_version(c.get(), kVersion3) != 1 || !set_serial(c.get()))
    return nullptr;
  // A clock of the device that is a day behind does no harm.
  X509_gmtime_adj(X509_getm_notBefore(c.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(c.get()), 30 * kDay);
  if (!set_name(X509_get_subject_name(c.get()), name)) return nullptr;
  X509* by = issuer != nullptr ? issuer : c.get();
  if (X509_set_issuer_name(c.get(), X509_get_subject_name(by)) != 1 ||
      X509_set_pubkey(c.get(), key) != 1)
    return nullptr;
  return c;
}

Certificate make_authority(EVP_PKEY* key) {
  Certificate c = begin_certificate(key, "Merlon laboratory", nullptr);
  if (c == nullptr ||
      !add_extension(c.get(), c.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(c.get(), c.get(), NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(c.get(), c.get(), NID_subject_key_identifier, "hash") ||
      X509_sign(c.get(), key, EVP_sha256()) == 0)
    return nullptr;
  return c;
}

Certificate make_leaf(EVP_PKEY* key, const std::string& name, X509* authority,
                      EVP_PKEY* authority_key) {
  Certificate c = begin_certificate(key, name, authority);
  if (c == nullptr ||
      !add_extension(c.get(), authority, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(c.get(), authority, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(c.get(), authority, NID_ext_key_usage, "serverAuth") ||
      !add_extension(c.get(), authority, NID_authority_key_identifier, "keyid") ||
      !add_extension(c.get(), authority, NID_subject_alt_name, "DNS:" + name) ||
      X509_sign(c.get(), authority_key, EVP_sha256()) == 0)
    return nullptr;
  return c;
}

base::Result<TlsIdentity> make_identity(TlsKey kind, const std::string& name) {
  TlsIdentity identity;
  const PrivateKey authority_key = make_key(authority_kind(kind));
  identity.key = make_key(kind);
  if (authority_key != nullptr && identity.key != nullptr)
    identity.authority = make_authority(authority_key.get());
  if (identity.authority != nullptr)
    identity.certificate =
        make_leaf(identity.key.get(), name, identity.authority.get(), authority_key.get());
  if (identity.certificate == nullptr)
    return make_error(base::Errc::kInternal, fmt::format("no certificate for {} could be made: {}",
                                                         name, take_openssl_error()));
  return identity;
}

}  // namespace

std::string take_openssl_error() {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason != nullptr ? reason : "no reason given";
}

base::Result<const TlsIdentity*> tls_identity(TlsKey key, const std::string& server_name) {
  static std::mutex guard;
  static std::map<std::pair<TlsKey, std::string>, TlsIdentity> made;
  const std::scoped_lock lock(guard);
  const auto [at, is_new] = made.try_emplace({key, server_name});
  if (!is_new) return &at->second;
  auto identity = make_identity(key, server_name);
  if (!identity) {
    made.erase(at);
    return identity.error();
  }
  at->second = std::move(*identity);
  return &at->second;
}

}  // namespace merlon::lab::tcp
