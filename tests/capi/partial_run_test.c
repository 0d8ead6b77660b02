// Steps in parts (TF_SessionPRun): feeds and fetches that were announced by a setup come one call
// at a time, in any order that the graph allows. The graph is c = a + b, d = c * b, small enough
// that each order can be tried. Refused are a fetch that the feeds so far cannot compute, a name
// twice in a call, and values of another type; after a refusal the run must go on as if the call
// had not been made. A step that fails ends its run but not the session, and runs that nobody goes
// on with are freed when the session closes. A fetch that waits for ever ends with the session's
// time for an operation, or with the session.
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "capi/kit.h"

// a, b fed; c = a + b, d = c * b.
typedef struct model_s {
  TF_Graph* graph;
  TF_Session* session;
  TF_Output a, b, c, d;
  TF_Status* status;
  const char* handle;
} model_t;

static void open_model(model_t* m) {
  m->graph = TF_NewGraph();
  m->status = TF_NewStatus();
  TF_Operation* a = kit_placeholder(m->graph, "a", TF_FLOAT);
  TF_Operation* b = kit_placeholder(m->graph, "b", TF_FLOAT);
  TF_Operation* c = kit_binary(m->graph, "AddV2", "c", a, b);
  m->a = kit_out(a, 0);
  m->b = kit_out(b, 0);
  m->c = kit_out(c, 0);
  m->d = kit_out(kit_binary(m->graph, "Mul", "d", c, b), 0);
  m->session = kit_session(m->graph);
}

static void set_up(model_t* m, TF_Output first, TF_Output second) {
  TF_Output feeds[] = {m->a, m->b}, fetches[] = {first, second};
  TF_SessionPRunSetup(m->session, feeds, 2, fetches, 2, NULL, 0, &m->handle, m->status);
  kit_ok(m->status);
}

static void close_model(model_t* m) {
  TF_DeletePRunHandle(m->handle);
  kit_close(m->session);
  TF_DeleteGraph(m->graph);
  TF_DeleteStatus(m->status);
}

static const TF_Output kNone = {NULL, 0};

// Feeds |feed| (where it has an operation) and fetches |fetch| likewise; the value, or 0.
static float part(model_t* m, TF_Output feed, float value, TF_Output fetch) {
  TF_Tensor* fed = kit_float(value);
  TF_Tensor* fetched = NULL;
  TF_SessionPRun(m->session, m->handle, &feed, &fed, feed.oper != NULL, &fetch, &fetched,
                 fetch.oper != NULL, NULL, 0, m->status);
  float result = fetched ? kit_float_of(fetched) : 0;
  TF_DeleteTensor(fed);
  TF_DeleteTensor(fetched);
  return result;
}



static void test_in_parts(void** state) {
  model_t m;
  open_model(&m);
  for (int step = 0; step < 3; ++step) {
    TF_DeletePRunHandle(step ? m.handle : NULL);
    set_up(&m, m.c, m.d);
    part(&m, m.a, 2, kNone);
    kit_ok(m.status);
    assert_true(part(&m, m.b, (float)step, m.c) == (float)(2 + step));
    kit_ok(m.status);
    assert_true(part(&m, kNone, 0, m.d) == (float)((2 + step) * step));
    kit_ok(m.status);
    part(&m, kNone, 0, m.d);  // the step is over
    kit_expect_text(m.status, TF_INVALID_ARGUMENT, "Must run 'setup'");
  }
  close_model(&m);
}

static void test_refused(void** state) {
  model_t m;
  open_model(&m);
  set_up(&m, m.c, m.d);
  part(&m, m.a, 2, m.c);
  kit_expect_text(m.status, TF_INVALID_ARGUMENT, "can't be computed from the feeds");
  part(&m, m.a, 2, kNone);
  kit_ok(m.status);
  part(&m, m.a, 2, kNone);
  kit_expect_text(m.status, TF_INVALID_ARGUMENT, "has already been fed");
  part(&m, m.c, 2, kNone);
  kit_expect_text(m.status, TF_INVALID_ARGUMENT, "was not specified");
  assert_true(part(&m, m.b, 3, m.c) == 5);
  part(&m, kNone, 0, m.c);
  kit_expect_text(m.status, TF_INVALID_ARGUMENT, "has already been fetched");
  assert_true(part(&m, kNone, 0, m.d) == 15);
  kit_ok(m.status);
  close_model(&m);
}

// What one call names twice is refused. A second wait for one value would never end.
static void test_twice_in_a_call(void** state) {
  model_t m;
  open_model(&m);
  set_up(&m, m.c, m.d);
  TF_Output feeds[] = {m.a, m.b, m.a}, fetches[] = {m.c, m.d, m.c};
  TF_Tensor* fed[] = {kit_float(2), kit_float(3), kit_float(4)};
  TF_Tensor* fetched[3];
  TF_SessionPRun(m.session, m.handle, feeds, fed, 3, NULL, NULL, 0, NULL, 0, m.status);
  kit_expect_text(m.status, TF_INVALID_ARGUMENT, "a:0 has already been fed");
  TF_SessionPRun(m.session, m.handle, feeds, fed, 2, fetches, fetched, 3, NULL, 0, m.status);
  kit_expect_text(m.status, TF_INVALID_ARGUMENT, "c:0 has already been fetched");
  for (int i = 0; i < 3; ++i) assert_null(fetched[i]);
  TF_SessionPRun(m.session, m.handle, feeds, fed, 2, fetches, fetched, 2, NULL, 0, m.status);
  kit_ok(m.status);
  assert_true(kit_float_of(fetched[0]) == 5 && kit_float_of(fetched[1]) == 15);
  for (int i = 0; i < 2; ++i) TF_DeleteTensor(fetched[i]);
  for (int i = 0; i < 3; ++i) TF_DeleteTensor(fed[i]);
  close_model(&m);
}

// A setup may name a fetch twice, as a step may, and then it comes twice.
static void test_one_fetch_twice(void** state) {
  model_t m;
  open_model(&m);
  for (int at_once = 0; at_once < 2; ++at_once) {
    TF_DeletePRunHandle(at_once ? m.handle : NULL);
    set_up(&m, m.d, m.d);
    part(&m, m.a, 2, kNone);
    part(&m, m.b, 3, kNone);
    kit_ok(m.status);
    if (at_once) {
      TF_Output fetches[] = {m.d, m.d};
      TF_Tensor* fetched[2];
      TF_SessionPRun(m.session, m.handle, NULL, NULL, 0, fetches, fetched, 2, NULL, 0, m.status);
      kit_ok(m.status);
      for (int i = 0; i < 2; ++i) {
        assert_true(kit_float_of(fetched[i]) == 15);
        TF_DeleteTensor(fetched[i]);
      }
    } else {
      assert_true(part(&m, kNone, 0, m.d) == 15 && part(&m, kNone, 0, m.d) == 15);
      kit_ok(m.status);
    }
    part(&m, kNone, 0, m.d);
    kit_expect_text(m.status, TF_INVALID_ARGUMENT, "Must run 'setup'");
  }
  close_model(&m);
}

// A value of another type, or none, is refused before anything is fed, and the run goes on.
static void test_wrong_values(void** state) {
  model_t m;
  open_model(&m);
  set_up(&m, m.c, m.d);
  TF_Output feeds[] = {m.a, m.b}, fetch = m.c;
  TF_Tensor* text = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  TF_TString_Copy(TF_TensorData(text), "two", 3);
  TF_Tensor *fed[] = {kit_float(2), text}, *fetched = NULL;
  TF_SessionPRun(m.session, m.handle, feeds, fed, 2, &fetch, &fetched, 1, NULL, 0, m.status);
  kit_expect_text(m.status, TF_INVALID_ARGUMENT,
                  "'b' (Placeholder): the value fed has type string, must be float");
  assert_null(fetched);
  fed[1] = NULL;
  TF_SessionPRun(m.session, m.handle, feeds, fed, 2, &fetch, &fetched, 1, NULL, 0, m.status);
  kit_expect_text(m.status, TF_INVALID_ARGUMENT, "");
  fed[1] = kit_float(3);
  TF_SessionPRun(m.session, m.handle, feeds, fed, 2, &fetch, &fetched, 1, NULL, 0, m.status);
  kit_ok(m.status);
  assert_true(kit_float_of(fetched) == 5);
  TF_DeleteTensor(text);
  TF_DeleteTensor(fetched);
  for (int i = 0; i < 2; ++i) TF_DeleteTensor(fed[i]);
  close_model(&m);
}

// A placeholder without a feed ends the step; the session goes on.
static void test_failure(void** state) {
  model_t m;
  open_model(&m);
  TF_Output fed[] = {m.a}, fetched[] = {m.c};  // b is not fed
  TF_SessionPRunSetup(m.session, fed, 1, fetched, 1, NULL, 0, &m.handle, m.status);
  kit_ok(m.status);
  part(&m, m.a, 1, m.c);
  kit_expect_text(m.status, TF_INVALID_ARGUMENT, "'b'");
  TF_DeletePRunHandle(m.handle);
  set_up(&m, m.c, m.d);
  part(&m, m.a, 1, kNone);
  assert_true(part(&m, m.b, 2, m.d) == 6);
  kit_ok(m.status);
  close_model(&m);
}

// Half a step is left when the session is closed and deleted; another was never gone on with.
static void test_given_up(void** state) {
  model_t m;
  open_model(&m);
  set_up(&m, m.c, m.d);
  TF_DeletePRunHandle(m.handle);
  set_up(&m, m.c, m.d);
  part(&m, m.a, 2, kNone);
  kit_ok(m.status);
  TF_CloseSession(m.session, m.status);
  kit_ok(m.status);
  part(&m, m.b, 2, m.c);
  kit_expect(m.status, TF_CANCELLED);
  close_model(&m);
}

// ---- A fetch that waits -------------------------------------------------------------------------

// The element of a queue that nobody fills.
static TF_Output add_dequeue(TF_Graph* graph, TF_Status* status) {
  const TF_DataType type = TF_FLOAT;
  TF_OperationDescription* desc = TF_NewOperation(graph, "FIFOQueueV2", "queue");
  TF_SetAttrTypeList(desc, "component_types", &type, 1);
  TF_Operation* queue = TF_FinishOperation(desc, status);
  kit_ok(status);
  desc = TF_NewOperation(graph, "QueueDequeueV2", "element");
  TF_AddInput(desc, kit_out(queue, 0));
  TF_SetAttrTypeList(desc, "component_types", &type, 1);
  TF_Operation* element = TF_FinishOperation(desc, status);
  kit_ok(status);
  return kit_out(element, 0);
}

static void set_up_waiting(model_t* m, TF_Output element) {
  TF_DeletePRunHandle(m->handle);
  TF_SessionPRunSetup(m->session, &m->a, 1, &element, 1, NULL, 0, &m->handle, m->status);
  kit_ok(m->status);
  part(m, m->a, 2, kNone);
  kit_ok(m->status);
}

// The session's time for an operation ends the call and the run.
static void test_time_limit(void** state) {
  static const uint8_t kConfig[] = {0x58, 20};  // ConfigProto.operation_timeout_in_ms
  model_t m;
  open_model(&m);
  const TF_Output element = add_dequeue(m.graph, m.status);
  kit_close(m.session);
  TF_SessionOptions* options = TF_NewSessionOptions();
  const char* target = getenv("LEAT_SESSION_TARGET");
  if (target) TF_SetTarget(options, target);
  TF_SetConfig(options, kConfig, sizeof kConfig, m.status);
  kit_ok(m.status);
  m.session = TF_NewSession(m.graph, options, m.status);
  kit_ok(m.status);
  TF_DeleteSessionOptions(options);
  m.handle = NULL;
  for (int i = 0; i < 2; ++i) {
    set_up_waiting(&m, element);
    part(&m, kNone, 0, element);
    kit_expect(m.status, TF_DEADLINE_EXCEEDED);
    part(&m, kNone, 0, element);
    kit_expect_text(m.status, TF_INVALID_ARGUMENT, "Must run 'setup'");
  }
  close_model(&m);
}

typedef struct waiting_s {
  model_t* model;
  TF_Output element;
} waiting_t;

static void wait_for_element(void* data) {
  waiting_t* waiting = data;
  part(waiting->model, kNone, 0, waiting->element);
}

// A session that closes ends the call that waits.
static void test_closed_meanwhile(void** state) {
  model_t m;
  leat_thread_t thread;
  TF_Status* closed = TF_NewStatus();
  open_model(&m);
  m.handle = NULL;
  waiting_t waiting = {&m, add_dequeue(m.graph, m.status)};
  set_up_waiting(&m, waiting.element);
  assert_null(leat_thread_start("test", wait_for_element, &waiting, &thread));
  leat_clock_sleep_ns(5000000);  // so that it waits; if it does not yet, it is refused
  TF_CloseSession(m.session, closed);
  kit_ok(closed);
  leat_thread_join(thread);
  kit_expect(m.status, TF_CANCELLED);
  TF_DeleteStatus(closed);
  close_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_parts),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_twice_in_a_call),
      cmocka_unit_test(test_one_fetch_twice),
      cmocka_unit_test(test_wrong_values),
      cmocka_unit_test(test_failure),
      cmocka_unit_test(test_given_up),
      cmocka_unit_test(test_time_limit),
      cmocka_unit_test(test_closed_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
