// Who is served, by the front doors: servers and sessions that read their certificates from the
// environment, `leat server`, which refuses to serve other machines without them, and `leat
// doctor`. Two servers with the cluster's certificates must work together as others do, which a
// step over both shows. Then come the ways to be refused: each file at fault is named when a server
// is made, before anybody is called, and a client of another authority, without a certificate, or
// in plain text gets no session. Sessions have a deadline of a minute, so that one that waits for
// what never comes fails the test; only the client in plain text reaches a deadline, a short one,
// because it cannot tell a server with TLS from one that is not up.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/certificates.h"
#include "cluster/cluster_scene.h"
#include "formats/wire/encode.h"
#include "tools/tool_run.h"

static bool has_certificates;

static int set_up_group(void** state) {
  if (scratch_set_up(state)) return 1;
  has_certificates = certificates_make();
  return 0;
}

// Two servers with certificates.
static int set_up(void** state) {
  if (!has_certificates) return 0;
  certificates_use("task", "root");
  return cluster_scene_set_up(state);
}

static int tear_down(void** state) {
  certificates_use(NULL, NULL);
  return has_certificates ? cluster_scene_tear_down(state) : 0;
}

// ---- Sessions -----------------------------------------------------------------------------------

// Opens a session at the worker, within |timeout_ms|, and runs a step over both tasks.
static void open_and_run(cluster_scene_t* cluster, int timeout_ms, TF_Status* status) {
  char target[64];
  leat_string_builder_t config;
  const leat_pb_config_proto_t options = {.operation_timeout_in_ms = timeout_ms};
  leat_string_builder_initialize(leat_allocator_system(), &config);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_config_proto_descriptor, &options, &config));
  cluster_scene_target(cluster, CLUSTER_WORKER, true, target);
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* session_options = TF_NewSessionOptions();
  TF_SetTarget(session_options, target);
  TF_SetConfig(session_options, config.data, config.size, status);
  leat_string_builder_deinitialize(&config);
  TF_OperationDescription* x = TF_NewOperation(graph, "NoOp", "x");
  TF_SetDevice(x, CLUSTER_PS_CPU);
  TF_OperationDescription* y = TF_NewOperation(graph, "NoOp", "y");
  TF_SetDevice(y, CLUSTER_WORKER_CPU);
  TF_AddControlInput(y, TF_FinishOperation(x, status));
  const TF_Operation* last = TF_FinishOperation(y, status);
  TF_Session* session = TF_NewSession(graph, session_options, status);
  if (session) {
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &last, 1, NULL, status);
    TF_Status* closed = TF_NewStatus();
    TF_DeleteSession(session, closed);
    TF_DeleteStatus(closed);
  }
  TF_DeleteSessionOptions(session_options);
  TF_DeleteGraph(graph);
}

static void expect_session(cluster_scene_t* cluster, int timeout_ms, TF_Code code,
                           const char* part) {
  TF_Status* status = TF_NewStatus();
  open_and_run(cluster, timeout_ms, status);
  if (TF_GetCode(status) != code || !strstr(TF_Message(status), part)) {
    print_error("code %d: %s\n", TF_GetCode(status), TF_Message(status));
  }
  assert_int_equal(TF_GetCode(status), code);
  assert_non_null(strstr(TF_Message(status), part));
  TF_DeleteStatus(status);
}

static void who_has_the_clusters_certificates_is_served(void** state) {
  if (!has_certificates) skip();
  expect_session(*state, 60000, TF_OK, "");
  certificates_use("client", "root");  // any that the authority signed
  expect_session(*state, 60000, TF_OK, "");
}

static void nobody_else_is_served(void** state) {
  if (!has_certificates) skip();
  certificates_use("foreign", "stranger");
  expect_session(*state, 60000, TF_UNAVAILABLE, "certificate verify failed");
  certificates_use(NULL, "root");  // shows nothing
  expect_session(*state, 60000, TF_UNAVAILABLE, "");
  certificates_use("expired", "root");
  expect_session(*state, 60000, TF_INVALID_ARGUMENT, "LEAT_CERTIFICATE is 'expired.pem', which "
                                                     "ended on ");
  certificates_use(NULL, NULL);
  expect_session(*state, 1500, TF_DEADLINE_EXCEEDED, "");
}

static void the_doctor_shows_certificates(void** state) {
  if (!has_certificates) skip();
  cluster_scene_t* cluster = *state;
  const char* address = cluster->addresses[CLUSTER_PS];
  certificates_use(NULL, NULL);
  tool_expect_part(0, "clock ahead by", "doctor --cluster 'ps=%s' --load 0 --certificate task.pem "
                                        "--key task.key --authority root.pem", address);
  tool_expect_part(1, "cannot be reached: UNAVAILABLE", "doctor --cluster 'ps=%s' --load 0",
                   address);
  tool_expect_part(1, "certificate verify failed",
                   "doctor --cluster 'ps=%s' --load 0 --authority stranger.pem", address);
  tool_expect_part(1, "LEAT_CERTIFICATE is not set, must name a file",
                   "doctor --cluster 'ps=%s' --load 0 --key task.key", address);
}

// ---- Files at fault -----------------------------------------------------------------------------

static void a_server_names_the_file_at_fault(void** state) {
  static const char* const kCases[][4] = {
      {"foreign.pem", "foreign.key", "root.pem",
       "LEAT_CERTIFICATE is 'foreign.pem', which must be signed by the authority"},
      {"expired.pem", "expired.key", "root.pem",
       "LEAT_CERTIFICATE is 'expired.pem', which ended on "},
      {"away.pem", "away.key", "root.pem",
       "LEAT_CERTIFICATE is 'away.pem', which is for other hosts, must name 'localhost'"},
      {"task.pem", "client.key", "root.pem",
       "LEAT_KEY is 'client.key', which holds another key, must be that of the certificate"},
      {"task.pem", "text", "root.pem", "LEAT_KEY is 'text', which holds no key, must be PEM"},
      {"text", "task.key", "root.pem", "LEAT_CERTIFICATE is 'text', which holds no certificate"},
      {"task.pem", "task.key", "text", "LEAT_AUTHORITY is 'text', which holds no certificates"},
      {"task.pem", "task.key", "cut", "LEAT_AUTHORITY is 'cut', which holds no certificates"},
      {"task.pem", "task.key", "empty", "LEAT_AUTHORITY is 'empty', which is empty, must be PEM"},
      {"task.pem", "absent", "root.pem", "LEAT_KEY must be a file of PEM text"},
      {"task.pem", "task.key", "", "LEAT_AUTHORITY is not set, must name a file"},
      {"", "", "root.pem", "LEAT_CERTIFICATE is not set, must name a file"},
  };
  static const char kServer[] = "\x0a\x18\x0a\x16\x0a\x05local\x12\x0d\x12\x0blocalhost:0"
                                "\x12\x05local\x2a\x04grpc";
  if (!has_certificates) skip();
  scratch_write_text("text", "no certificate and no key\n");
  scratch_write_text("cut", "-----BEGIN CERTIFICATE-----\nMIIB\n");
  scratch_write_text("empty", "");
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    TF_Status* status = TF_NewStatus();
    setenv("LEAT_CERTIFICATE", kCases[i][0], 1);
    setenv("LEAT_KEY", kCases[i][1], 1);
    setenv("LEAT_AUTHORITY", kCases[i][2], 1);
    assert_null(TF_NewServer(kServer, sizeof kServer - 1, status));
    if (!strstr(TF_Message(status), kCases[i][3])) print_error("%s\n", TF_Message(status));
    assert_non_null(strstr(TF_Message(status), kCases[i][3]));
    TF_DeleteStatus(status);
  }
  certificates_use(NULL, NULL);
}

static void other_machines_need_certificates(void** state) {
  tool_expect_part(1, "must be of this machine", "server --cluster ps=machine.test:0 --job ps");
  if (!has_certificates) skip();
  // Ends it once it says that it serves, or after a minute.
  static const char kServe[] =
      "server --cluster ps=machine.test:0 --job ps %s >out 2>&1 & process=$!; for i in $(seq 600); "
      "do grep -qs serving out && break; sleep 0.1; done; kill $process; wait $process; cat out; "
      "rm out;";
  tool_expect_part(0, "serving: /job:ps/task:0 at grpc://machine.test:", kServe,
                   "--certificate machine.pem --key machine.key --authority root.pem");
  tool_expect_part(0, "serving: /job:ps/task:0 at grpc://machine.test:", kServe,
                   "--allow-insecure");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(who_has_the_clusters_certificates_is_served),
      TEST(nobody_else_is_served),
      TEST(the_doctor_shows_certificates),
      cmocka_unit_test(a_server_names_the_file_at_fault),
      cmocka_unit_test(other_machines_need_certificates),
  };
  return cmocka_run_group_tests(tests, set_up_group, scratch_tear_down);
}
