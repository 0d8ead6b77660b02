// TLS and mutual TLS under remote procedure calls: who trusts whom, and that nobody talks without
// trust where trust was asked for. The certificates are made by the program openssl when the test
// starts, each time anew: keys in the repository would be found by whoever looks for leaked ones,
// and certificates end. Where the program is absent, the cases are skipped, which dev/list-skips
// reports; dev/packages names it. Each case opens a server and a channel with two sets of
// certificates and looks at the code of one call; a handshake that fails shows as UNAVAILABLE.
//
//   root ─ signs ─▶ server (localhost, 127.0.0.1)     stranger: a root that signed neither
//        └─ signs ─▶ client
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"
#include "cluster/rpc_scene.h"

static struct {
  bool is_there;
  char folder[64];
  leat_string_view_t root, stranger, server_chain, server_key, client_chain, client_key;
} pems;

// ---- Certificates -------------------------------------------------------------------------------

static const char kMake[] =
    "set -e; cd '%s'\n"
    "key() { openssl ecparam -genkey -name prime256v1 -noout -out $1.ec;"
    "  openssl pkcs8 -topk8 -nocrypt -in $1.ec -out $1.key; }\n"
    "for name in root stranger; do key $name;"
    "  openssl req -x509 -new -key $name.key -days 2 -subj /CN=$name -out $name.pem; done\n"
    "for name in server client; do key $name;"
    "  openssl req -new -key $name.key -subj /CN=$name -out $name.csr;"
    "  printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\n' > $name.ext;"
    "  openssl x509 -req -in $name.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2"
    "    -extfile $name.ext -out $name.pem; done\n";

static bool make_certificates(void) {
  char command[sizeof kMake + sizeof pems.folder + 32];
  if (!mkdtemp(pems.folder)) return false;
  const int size = snprintf(command, sizeof command, "(");
  snprintf(command + size, sizeof command - (size_t)size, kMake, pems.folder);
  strcat(command, ") >/dev/null 2>&1");
  return system(command) == 0;
}

static leat_string_view_t read_pem(const char* name) {
  char path[128];
  static char text[6][4096];
  static int count;
  snprintf(path, sizeof path, "%s/%s", pems.folder, name);
  FILE* file = fopen(path, "r");
  assert_non_null(file);
  const size_t size = fread(text[count], 1, sizeof text[count], file);
  fclose(file);
  assert_in_range(size, 100, sizeof text[count] - 1);
  return leat_string_view_make(text[count++], size);
}

static int set_up(void** state) {
  strcpy(pems.folder, "/tmp/leat-rpc-XXXXXX");
  if (system("openssl version >/dev/null 2>&1") != 0) return 0;
  // The program is there, so that it must work.
  assert_true(make_certificates());
  pems.is_there = true;
  pems.root = read_pem("root.pem");
  pems.stranger = read_pem("stranger.pem");
  pems.server_chain = read_pem("server.pem");
  pems.server_key = read_pem("server.key");
  pems.client_chain = read_pem("client.pem");
  pems.client_key = read_pem("client.key");
  return 0;
}

static int tear_down(void** state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", pems.folder);
  return pems.is_there ? system(command) : 0;
}

// ---- Cases --------------------------------------------------------------------------------------

// Opens a server and a channel, and gives the code of a call.
static leat_status_code_t call_between(leat_rpc_security_t server, leat_rpc_security_t client) {
  rpc_scene_t scene;
  rpc_end_t end;
  rpc_scene_open(&scene, &(rpc_scene_options_t){.server_security = server,
                                                .client_security = client});
  rpc_scene_call(&scene, "/test/Echo", "secret", 6, &end);
  const leat_status_code_t code = end.code;
  assert_int_equal(end.answer_size, code == LEAT_OK ? 6 : 0);
  rpc_end_free(&end);
  rpc_scene_close(&scene);
  return code;
}

static leat_rpc_security_t of_server(void) {
  return (leat_rpc_security_t){.certificate_chain = pems.server_chain,
                               .private_key = pems.server_key};
}

static void tls_needs_the_right_root(void** state) {
  if (!pems.is_there) skip();
  const leat_rpc_security_t server = of_server();
  assert_int_equal(call_between(server, (leat_rpc_security_t){.root_certificates = pems.root}),
                   LEAT_OK);
  assert_int_equal(call_between(server, (leat_rpc_security_t){.root_certificates = pems.stranger}),
                   LEAT_UNAVAILABLE);
}

static void plain_text_and_tls_do_not_meet(void** state) {
  if (!pems.is_there) skip();
  const leat_rpc_security_t plain = {.requires_client_certificate = false};
  assert_int_equal(call_between(of_server(), plain), LEAT_UNAVAILABLE);
  assert_int_equal(call_between(plain, (leat_rpc_security_t){.root_certificates = pems.root}),
                   LEAT_UNAVAILABLE);
}

static void mutual_tls_needs_a_client_certificate(void** state) {
  if (!pems.is_there) skip();
  leat_rpc_security_t server = of_server();
  server.root_certificates = pems.root;
  server.requires_client_certificate = true;
  leat_rpc_security_t client = {.root_certificates = pems.root};
  assert_int_equal(call_between(server, client), LEAT_UNAVAILABLE);
  client.certificate_chain = pems.client_chain;
  client.private_key = pems.client_key;
  assert_int_equal(call_between(server, client), LEAT_OK);
  server.root_certificates = pems.stranger;  // who signed nothing of the client's
  assert_int_equal(call_between(server, client), LEAT_UNAVAILABLE);
}

static void expect_refused(leat_rpc_security_t server) {
  leat_rpc_server_t* started;
  int port;
  const leat_rpc_server_options_t options = {.address = LEAT_SV("127.0.0.1:0"),
                                             .security = server, .handler = rpc_scene_serve};
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_rpc_server_start(&options, &port, &started));
  assert_null(started);
}

static void unreadable_certificates_are_refused(void** state) {
  if (!pems.is_there) skip();
  leat_rpc_channel_t* channel;
  leat_rpc_security_t security = of_server();
  security.certificate_chain = LEAT_SV("-----BEGIN CERTIFICATE-----\nnonsense\n");
  expect_refused(security);
  security = of_server();
  security.private_key = pems.client_key;  // not that of the chain
  expect_refused(security);
  security.private_key = LEAT_SV("");
  expect_refused(security);
  security = of_server();
  security.requires_client_certificate = true;  // by whose root?
  expect_refused(security);
  expect_refused((leat_rpc_security_t){.root_certificates = pems.root});
  const leat_rpc_security_t half = {.root_certificates = pems.root,
                                    .certificate_chain = pems.client_chain};
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_rpc_channel_create(LEAT_SV("127.0.0.1:1"), &half, &channel));
  assert_null(channel);
  // The C core reads a client's roots when it connects.
  const leat_rpc_security_t nonsense = {.root_certificates = LEAT_SV("nonsense")};
  assert_int_equal(call_between(of_server(), nonsense), LEAT_UNAVAILABLE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tls_needs_the_right_root),
      cmocka_unit_test(plain_text_and_tls_do_not_meet),
      cmocka_unit_test(mutual_tls_needs_a_client_certificate),
      cmocka_unit_test(unreadable_certificates_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
