// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys and certificates of the load's servers, made in memory. Immutable once made; OpenSSL counts
// references by atomics, so any thread may use them. control-only to ask for.
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "merlon/lab_tcp/tls_spec.h"

namespace merlon::lab::tcp {

template <auto kFree>
struct OpensslDeleter {
  template <class T>
  void operator()(T* p) const noexcept {
    kFree(p);
  }
};
using PrivateKey = std::unique_ptr<EVP_PKEY, OpensslDeleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, OpensslDeleter<X509_free>>;

// A server's key, its certificate, and the authority that signed it.
struct TlsIdentity {
  PrivateKey key;
  Certificate certificate, authority;
};

// The first call for a kind and name makes it (ECDSA and RSA 2048 within a fifth of a second, RSA
// 4096 in seconds); later ones return the same. kInternal with OpenSSL's words.
base::Result<const TlsIdentity*> tls_identity(TlsKey key, const std::string& server_name);

// What OpenSSL's queue of errors says of the last failure; empties it.
std::string take_openssl_error();

}  // namespace merlon::lab::tcp
