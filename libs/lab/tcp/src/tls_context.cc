// SPDX-License-Identifier: Apache-2.0
// Settings of a role's TLS: one version, one suite, one group, no renegotiation, no compression.
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string_view>

#include "merlon/base/make_error.h"
#include "merlon/lab_tcp/tls_channel.h"
#include "tls_identity.h"

namespace merlon::lab::tcp {
namespace {

// ALPN (RFC 7301): one protocol, its name behind its length.
constexpr unsigned char kProtocols[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
// RFC 9411 section 4.3.1.3 names secp256r1 for every suite but that of the P-521 key. In TLS 1.2
// the certificate's curve must be among the groups, too (RFC 8422 section 5.1.1).
const char* groups_of(TlsKey key) noexcept {
  if (key == TlsKey::kP384) return "P-256:P-384";
  return key == TlsKey::kP521 ? "P-521:P-256" : "P-256";
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  unsigned char* at = nullptr;
  if (SSL_select_next_proto(&at, size, kProtocols, sizeof kProtocols, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = at;
  return SSL_TLSEXT_ERR_OK;
}

bool set_protocol(SSL_CTX* context, const TlsSpec& spec) {
  const bool is_13 = spec.version == TlsVersion::k13;
  const int version = is_13 ? TLS1_3_VERSION : TLS1_2_VERSION;
  const std::string suite = tls_suite(spec);
  return SSL_CTX_set_min_proto_version(context, version) == 1 &&
         SSL_CTX_set_max_proto_version(context, version) == 1 &&
         (is_13 ? SSL_CTX_set_ciphersuites(context, suite.c_str())
                : SSL_CTX_set_cipher_list(context, suite.c_str())) == 1 &&
         SSL_CTX_set1_groups_list(context, groups_of(spec.key)) == 1;
}

// The chain goes out whole, as from servers whose certificate an intermediate has signed.
bool set_certificate(SSL_CTX* context, const TlsIdentity& identity) {
  return SSL_CTX_use_certificate(context, identity.certificate.get()) == 1 &&
         SSL_CTX_use_PrivateKey(context, identity.key.get()) == 1 &&
         SSL_CTX_add1_chain_cert(context, identity.authority.get()) == 1;
}

// SSL_VERIFY_NONE alone would build the chain, judge it and pay no heed.
int accept_any(X509_STORE_CTX*, void*) { return 1; }

void set_server_sessions(SSL_CTX* context, bool reuses_sessions) {
  static constexpr unsigned char kSessionContext[] = "merlon-lab";
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(context, kSessionContext, sizeof kSessionContext - 1);
  SSL_CTX_set_num_tickets(context, reuses_sessions ? 1 : 0);
  if (!reuses_sessions) SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
}

}  // namespace

base::Result<std::unique_ptr<TlsContext>> TlsContext::create(const TlsSpec& spec, TlsSide side) {
  std::unique_ptr<TlsContext> context(new TlsContext(spec, side));
  if (auto r = context->set_up(); !r) return r.error();
  return context;
}

TlsContext::~TlsContext() {
  SSL_SESSION_free(session_);
  SSL_CTX_free(context_);
}

base::Result<void> TlsContext::set_up() {
  const bool is_server = side_ == TlsSide::kServer;
  ERR_clear_error();
  context_ = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
  const auto refused = [&] {
    return make_error(base::Errc::kUnsupported,
                      fmt::format("OpenSSL refuses {}: {}", tls_title(spec_), take_openssl_error()),
                      "another version, cipher or key");
  };
  if (context_ == nullptr || !set_protocol(context_, spec_)) return refused();
  SSL_CTX_set_app_data(context_, this);
  SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS);
  if (is_server) {
    const auto identity = tls_identity(spec_.key, spec_.server_name);
    if (!identity) return identity.error();
    if (!set_certificate(context_, **identity)) return refused();
    SSL_CTX_set_alpn_select_cb(context_, choose_protocol, nullptr);
    set_server_sessions(context_, spec_.reuses_sessions);
    return {};
  }
  // 0: accepted, unlike OpenSSL's other functions.
  if (SSL_CTX_set_alpn_protos(context_, kProtocols, sizeof kProtocols) != 0) return refused();
  if (spec_.is_verified) {
    const auto identity = tls_identity(spec_.key, spec_.server_name);
    if (!identity) return identity.error();
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), (*identity)->authority.get()) != 1)
      return refused();
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  } else {
    SSL_CTX_set_cert_verify_callback(context_, accept_any, nullptr);
  }
  SSL_CTX_set_session_cache_mode(context_, spec_.reuses_sessions
                                               ? SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL
                                               : SSL_SESS_CACHE_OFF);
  if (spec_.reuses_sessions)
    SSL_CTX_sess_set_new_cb(context_, keep_session);
  else
    SSL_CTX_set_options(context_, SSL_OP_NO_TICKET);
  return {};
}

// The newest session serves all connections that follow. 1: the reference is ours.
int TlsContext::keep_session(ssl_st* ssl, ssl_session_st* session) {
  auto* self = static_cast<TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  SSL_SESSION_free(self->session_);
  self->session_ = session;
  return 1;
}

}  // namespace merlon::lab::tcp
