// TLS and mutual TLS under remote procedure calls: who trusts whom, and that nobody talks without
// trust where trust was asked for. The certificates are those of cluster/certificates.h. Each case
// opens a server and a channel with two sets of them and looks at the code of one call; a handshake
// that fails shows as UNAVAILABLE. What is looked at before a connection is made is in
// tests/cluster/security_test.c.
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "cluster/certificates.h"
#include "cluster/rpc_scene.h"
#include "scratch.h"

static struct {
  bool is_there;
  leat_string_view_t root, stranger, server_chain, server_key, client_chain, client_key;
  leat_string_view_t expired_chain, expired_key, away_chain, away_key;
} pems;

static leat_string_view_t read_pem(const char* name) {
  static char text[10][4096];
  static int count;
  FILE* file = fopen(name, "r");
  assert_non_null(file);
  const size_t size = fread(text[count], 1, sizeof text[count], file);
  fclose(file);
  assert_in_range(size, 100, sizeof text[count] - 1);
  return leat_string_view_make(text[count++], size);
}

static int set_up(void** state) {
  if (scratch_set_up(state)) return 1;
  if (!certificates_make()) return 0;
  pems.is_there = true;
  pems.root = read_pem("root.pem");
  pems.stranger = read_pem("stranger.pem");
  pems.server_chain = read_pem("task.pem");
  pems.server_key = read_pem("task.key");
  pems.client_chain = read_pem("client.pem");
  pems.client_key = read_pem("client.key");
  pems.expired_chain = read_pem("expired.pem");
  pems.expired_key = read_pem("expired.key");
  pems.away_chain = read_pem("away.pem");
  pems.away_key = read_pem("away.key");
  return 0;
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

// A certificate that ended is worth nothing, on either side.
static void expired_certificates_are_refused(void** state) {
  if (!pems.is_there) skip();
  leat_rpc_security_t server = of_server();
  const leat_rpc_security_t expired = {.root_certificates = pems.root,
                                       .certificate_chain = pems.expired_chain,
                                       .private_key = pems.expired_key};
  server.root_certificates = pems.root;
  server.requires_client_certificate = true;
  assert_int_equal(call_between(server, expired), LEAT_UNAVAILABLE);
  server.certificate_chain = pems.expired_chain;
  server.private_key = pems.expired_key;
  const leat_rpc_security_t client = {.root_certificates = pems.root,
                                      .certificate_chain = pems.client_chain,
                                      .private_key = pems.client_key};
  assert_int_equal(call_between(server, client), LEAT_UNAVAILABLE);
}

// A call that waits for its server ends where the server is there and nobody trusts the other. One
// that found nobody waits on, whatever the certificates are.
static void a_call_does_not_wait_for_trust(void** state) {
  if (!pems.is_there) skip();
  leat_rpc_security_t server = of_server();
  server.root_certificates = pems.root;
  server.requires_client_certificate = true;
  const leat_rpc_security_t clients[] = {{.root_certificates = pems.stranger},
                                         {.root_certificates = pems.root},
                                         {.root_certificates = pems.root}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(clients); ++i) {
    if (i == 2) {  // for another host than the one that is called
      server = (leat_rpc_security_t){.certificate_chain = pems.away_chain,
                                     .private_key = pems.away_key};
    }
    rpc_scene_t scene;
    rpc_end_t end;
    const leat_rpc_call_options_t options = {
        .method = "/test/Echo", .deadline_ns = LEAT_DEADLINE_NEVER, .waits = true};
    rpc_scene_open(&scene, &(rpc_scene_options_t){.server_security = server,
                                                  .client_security = clients[i]});
    rpc_end_initialize(&end);
    leat_rpc_call(scene.channel, &options, rpc_scene_done, &end, NULL);
    rpc_end_wait(&end);
    assert_int_equal(end.code, LEAT_UNAVAILABLE);
    rpc_end_free(&end);
    rpc_scene_close(&scene);
  }
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
      cmocka_unit_test(expired_certificates_are_refused),
      cmocka_unit_test(a_call_does_not_wait_for_trust),
      cmocka_unit_test(unreadable_certificates_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, scratch_tear_down);
}
