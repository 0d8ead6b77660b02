// Reads the certificates of this process from the files that its environment names, and has them
// checked before anybody is called. The C core would take files that fit nowhere and say so only
// when a connection is made, on one of the two machines and in OpenSSL's words; an operator then
// sees tasks that wait for each other. So the module looks at the texts first
// (leat_rpc_check_security), and here the answer gets the variable and the file that it is about.
//
// The three belong to the process and not to a session or a server, because TensorFlow's ServerDef
// and ConfigProto have no place for them, and a program that was written for TensorFlow must run
// with them unchanged. Servers, sessions and the doctor each read them once, when they are made.
#include "cluster/security.h"

#include "base/file_system.h"
#include "base/host.h"

// By leat_rpc_text_t.
static const char* const kVariables[] = {"LEAT_CERTIFICATE", "LEAT_KEY", "LEAT_AUTHORITY"};

static const char* path_of(leat_rpc_text_t which) {
  const char* path = leat_environment_get_trusted(kVariables[which]);
  return path && *path ? path : NULL;
}

// Which of the files are named: all, none or, for a client, the authority alone.
static leat_status_t check_named(bool is_server) {
  const bool has_certificate = path_of(LEAT_RPC_CERTIFICATE), has_key = path_of(LEAT_RPC_KEY);
  const bool has_authority = path_of(LEAT_RPC_AUTHORITY);
  if (!has_certificate && !has_key && (!has_authority || !is_server)) return leat_ok_status();
  for (int i = 0; i < 3; ++i) {
    if (path_of((leat_rpc_text_t)i)) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Setting up TLS failed: %s is not set, must name a file, as "
                            "LEAT_CERTIFICATE, LEAT_KEY and LEAT_AUTHORITY go together",
                            kVariables[i]);
  }
  return leat_ok_status();
}

static leat_status_t read_texts(leat_security_t* security) {
  for (int i = 0; i < 3; ++i) {
    size_t size;
    const char* path = path_of((leat_rpc_text_t)i);
    if (!path) continue;
    leat_status_t status = leat_file_read_all(leat_file_system_default(), path,
                                              leat_allocator_system(), &security->texts[i], &size);
    if (status) {
      return leat_status_annotate(status, "Setting up TLS failed: %s must be a file of PEM text",
                                  kVariables[i]);
    }
    if (!*security->texts[i]) {  // which would be taken for one that is not given
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Setting up TLS failed: %s is '%s', which is empty, must be PEM text",
                              kVariables[i], path);
    }
  }
  return leat_ok_status();
}

static leat_status_t check_texts(const leat_rpc_security_t* rpc, leat_string_view_t address) {
  char message[512];
  leat_rpc_text_t which;
  leat_status_t status = leat_rpc_check_security(rpc, address, &which, message, sizeof message);
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  leat_status_free(status);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Setting up TLS failed: %s is '%s', which %s",
                          kVariables[which], path_of(which), message);
}

leat_status_t leat_security_initialize(leat_string_view_t address, leat_security_t* out_security) {
  *out_security = (leat_security_t){0};
  LEAT_RETURN_IF_ERROR(check_named(address.size > 0));
  leat_status_t status = read_texts(out_security);
  leat_rpc_security_t* rpc = &out_security->rpc;
  rpc->certificate_chain = leat_string_view_from(out_security->texts[LEAT_RPC_CERTIFICATE]);
  rpc->private_key = leat_string_view_from(out_security->texts[LEAT_RPC_KEY]);
  rpc->root_certificates = leat_string_view_from(out_security->texts[LEAT_RPC_AUTHORITY]);
  rpc->requires_client_certificate = address.size > 0 && rpc->certificate_chain.size > 0;
  if (!status && rpc->root_certificates.size > 0) status = check_texts(rpc, address);
  if (status) leat_security_deinitialize(out_security);
  return status;
}

void leat_security_deinitialize(leat_security_t* security) {
  for (int i = 0; i < 3; ++i) leat_allocator_free(leat_allocator_system(), security->texts[i]);
  *security = (leat_security_t){0};
}

leat_status_t leat_security_open_channel(leat_string_view_t address,
                                         leat_rpc_channel_t** out_channel) {
  leat_security_t security;
  *out_channel = NULL;
  LEAT_RETURN_IF_ERROR(leat_security_initialize(LEAT_SV(""), &security));
  leat_status_t status = leat_rpc_channel_create(address, &security.rpc, out_channel);
  leat_security_deinitialize(&security);
  return status;
}
