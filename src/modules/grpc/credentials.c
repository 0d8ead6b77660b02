// Looks at certificates before they are used. The C core takes any text for a certificate until a
// connection is made; the peer then ends the handshake, and which of the two has the wrong file,
// and what is wrong with it, neither says. This file asks OpenSSL, with which the C core makes its
// connections, what a peer will ask: is the key that of the certificate, is the certificate valid
// now, does a certificate of the authority vouch for it, is it for the host. It answers which of
// the three texts is at fault and what it must be. Whether the peer's files are right, only the
// handshake tells.
//
// The first certificate of the chain is the process's own; those after it lead to the authority.
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "modules/grpc/engine.h"

typedef struct parsed_s {
  STACK_OF(X509)* chain;
  STACK_OF(X509)* roots;
  EVP_PKEY* key;
} parsed_t;

// The certificates in |text|; NULL where there is none, or something else among them.
static STACK_OF(X509)* read_certificates(const char* text) {
  BIO* bio = BIO_new_mem_buf(text, -1);
  STACK_OF(X509)* all = sk_X509_new_null();
  for (X509* one; bio && all && (one = PEM_read_bio_X509(bio, NULL, NULL, NULL));) {
    if (!sk_X509_push(all, one)) X509_free(one);
  }
  // Reading ends with an error in any case: that no other certificate begins is the right one.
  const bool is_right = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  BIO_free(bio);
  if (is_right && sk_X509_num(all) > 0) return all;
  sk_X509_pop_free(all, X509_free);
  return NULL;
}

static EVP_PKEY* read_key(const char* text) {
  BIO* bio = BIO_new_mem_buf(text, -1);
  // A key with a password is none: nobody is there to be asked for it.
  EVP_PKEY* key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, (void*)"") : NULL;
  ERR_clear_error();
  BIO_free(bio);
  return key;
}

static void free_parsed(parsed_t* parsed) {
  sk_X509_pop_free(parsed->chain, X509_free);
  sk_X509_pop_free(parsed->roots, X509_free);
  EVP_PKEY_free(parsed->key);
}

// Writes what is wrong with the time of |certificate|. false where nothing is.
static bool is_out_of_time(const X509* certificate, char* message, size_t size) {
  const bool has_begun = X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0;
  if (has_begun && X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0) return false;
  char date[64] = "";
  BIO* bio = BIO_new(BIO_s_mem());
  if (bio) {
    ASN1_TIME_print(bio, has_begun ? X509_get0_notAfter(certificate)
                                   : X509_get0_notBefore(certificate));
    BIO_read(bio, date, sizeof date - 1);
    BIO_free(bio);
  }
  snprintf(message, size, "%s %s, must be valid now", has_begun ? "ended on" : "begins on", date);
  return true;
}

// Whether a certificate of the authority vouches for the chain's first; else |*out_reason| has
// OpenSSL's word for it.
static bool is_vouched_for(const parsed_t* parsed, const char** out_reason) {
  X509_STORE* store = X509_STORE_new();
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  bool is_right = false;
  *out_reason = "out of memory";
  for (int i = 0; store && i < sk_X509_num(parsed->roots); ++i) {
    X509_STORE_add_cert(store, sk_X509_value(parsed->roots, i));
  }
  if (store && context &&
      X509_STORE_CTX_init(context, store, sk_X509_value(parsed->chain, 0), parsed->chain)) {
    is_right = X509_verify_cert(context) == 1;
    *out_reason = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context));
  }
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  ERR_clear_error();
  return is_right;
}

static bool is_for_host(X509* certificate, const char* host) {
  return X509_check_host(certificate, host, 0, 0, NULL) == 1 ||
         X509_check_ip_asc(certificate, host, 0) == 1;
}

// Checks what was read. Returns the text at fault, with |message| written, or -1.
static int find_fault(const parsed_t* parsed, const leat_rpc_credentials_t* credentials,
                      const char* host, char* message, size_t size) {
  const char* reason;
  if (!parsed->roots) {
    snprintf(message, size, "holds no certificates, must be PEM text of CERTIFICATEs alone");
    return LEAT_RPC_AUTHORITY;
  }
  if (!credentials->certificate_chain) return -1;
  if (!parsed->chain) {
    snprintf(message, size, "holds no certificate, must be PEM text of CERTIFICATEs alone");
    return LEAT_RPC_CERTIFICATE;
  }
  X509* own = sk_X509_value(parsed->chain, 0);
  if (!parsed->key) {
    snprintf(message, size, "holds no key, must be PEM text of a PRIVATE KEY without a password");
    return LEAT_RPC_KEY;
  }
  if (X509_check_private_key(own, parsed->key) != 1) {
    snprintf(message, size, "holds another key, must be that of the certificate");
    return LEAT_RPC_KEY;
  }
  if (is_out_of_time(own, message, size)) return LEAT_RPC_CERTIFICATE;
  if (!is_vouched_for(parsed, &reason)) {
    snprintf(message, size, "must be signed by the authority: %s", reason);
    return LEAT_RPC_CERTIFICATE;
  }
  if (host && !is_for_host(own, host)) {
    snprintf(message, size, "is for other hosts, must name '%s' (a subjectAltName)", host);
    return LEAT_RPC_CERTIFICATE;
  }
  return -1;
}

int rpc_check_credentials(const leat_rpc_credentials_t* credentials, const char* host,
                          leat_rpc_text_t* out_which, char* message, size_t message_size) {
  parsed_t parsed = {.roots = read_certificates(credentials->root_certificates)};
  if (credentials->certificate_chain) {
    parsed.chain = read_certificates(credentials->certificate_chain);
    parsed.key = read_key(credentials->private_key);
  }
  const int fault = find_fault(&parsed, credentials, host, message, message_size);
  free_parsed(&parsed);
  ERR_clear_error();
  *out_which = (leat_rpc_text_t)(fault < 0 ? 0 : fault);
  return fault < 0 ? LEAT_OK : LEAT_INVALID_ARGUMENT;
}
