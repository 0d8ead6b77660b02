// TF_Session: options, steps, feeds and fetches good and bad, growing graphs, life. Each test
// begins with a graph of sum = x + 2 and calls the public functions only; after every step that
// must fail it runs a good one, to see that the session goes on working. Protocol buffers of
// options are written as bytes with their text beside them, so that the test does not depend on our
// own encoder. Steps on several threads and devices are tested in concurrency_test.c and
// tests/session.
#include "capi/kit.h"

#include "tensorflow/c/tf_tstring.h"

typedef struct fixture_s {
  TF_Graph* graph;
  TF_Status* status;
  TF_Output x, two, sum;  // sum = x + two, int32
} fixture_t;

static fixture_t f;

static int set_up(void** state) {
  f.graph = TF_NewGraph();
  f.status = TF_NewStatus();
  TF_Operation* x = kit_placeholder(f.graph, "x", TF_INT32);
  TF_Operation* two = kit_const_int32(f.graph, "two", 2);
  f.x = kit_out(x, 0);
  f.two = kit_out(two, 0);
  f.sum = kit_out(kit_binary(f.graph, "AddV2", "sum", x, two), 0);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(f.graph);
  TF_DeleteStatus(f.status);
  return 0;
}

static void expect_sum(TF_Session* session, int32_t fed, int32_t sum) {
  TF_Tensor* value = kit_run(session, f.x, kit_int32(fed), f.sum);
  assert_int_equal(kit_int32_of(value), sum);
  TF_DeleteTensor(value);
}

static void test_run(void** state) {
  TF_Session* session = kit_session(f.graph);
  for (int i = 0; i < 100; ++i) expect_sum(session, i, i + 2);
  // The graph grows under the session.
  TF_Operation* negative = kit_unary(f.graph, "Neg", "negative", f.sum.oper);
  TF_Tensor* value = kit_run(session, f.x, kit_int32(3), kit_out(negative, 0));
  assert_int_equal(kit_int32_of(value), -5);
  TF_DeleteTensor(value);
  // A target without outputs, and nothing at all.
  const TF_Operation* target = kit_no_op(f.graph, "nothing");
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, f.status);
  kit_ok(f.status);
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  kit_close(session);
}

static void test_feeds_anywhere(void** state) {
  TF_Session* session = kit_session(f.graph);
  // A constant and a result may be fed as well; the placeholder is then not needed.
  const TF_Output feeds[] = {f.x, f.two};
  TF_Tensor* values[] = {kit_int32(20), kit_int32(30)};
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, &f.sum, values, 1, &f.sum, &result, 1, NULL, 0, NULL, f.status);
  kit_expect_text(f.status, TF_INVALID_ARGUMENT, "both fed and fetched");
  TF_SessionRun(session, NULL, feeds, values, 2, &f.sum, &result, 1, NULL, 0, NULL, f.status);
  kit_ok(f.status);
  assert_int_equal(kit_int32_of(result), 50);
  // The caller's values are as they were.
  assert_int_equal(kit_int32_of(values[0]), 20);
  assert_int_equal(kit_int32_of(values[1]), 30);
  TF_DeleteTensor(result);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  kit_close(session);
}

static void test_many_edges(void** state) {
  enum { kCount = 40 };
  TF_Session* session = kit_session(f.graph);
  TF_Output feeds[kCount], fetches[kCount];
  TF_Tensor* values[kCount];
  TF_Tensor* results[kCount];
  char name[16] = "pNN";
  for (int i = 0; i < kCount; ++i) {
    name[1] = (char)('0' + i / 10);
    name[2] = (char)('0' + i % 10);
    feeds[i] = kit_out(kit_placeholder(f.graph, name, TF_INT32), 0);
    name[0] = 'n';
    fetches[i] = kit_out(kit_unary(f.graph, "Neg", name, feeds[i].oper), 0);
    name[0] = 'p';
    values[i] = kit_int32(i);
  }
  TF_SessionRun(session, NULL, feeds, values, kCount, fetches, results, kCount, NULL, 0, NULL,
                f.status);
  kit_ok(f.status);
  for (int i = 0; i < kCount; ++i) {
    assert_int_equal(kit_int32_of(results[i]), -i);
    TF_DeleteTensor(values[i]);
    TF_DeleteTensor(results[i]);
  }
  kit_close(session);
}

// Feeds of a step: |values[i]| for |feeds[i]|, which fails with |code| and leaves no result.
static void refuse(TF_Session* session, const TF_Output* feeds, TF_Tensor* const* values,
                   int count, TF_Output fetch, TF_Code code) {
  TF_Tensor* result = (TF_Tensor*)(uintptr_t)1;
  TF_SessionRun(session, NULL, feeds, values, count, &fetch, &result, 1, NULL, 0, NULL, f.status);
  kit_expect(f.status, code);
  assert_null(result);
  expect_sum(session, 1, 3);  // it goes on working
}

static void test_bad_steps(void** state) {
  TF_Session* session = kit_session(f.graph);
  TF_Graph* other = TF_NewGraph();
  TF_Output stranger = kit_out(kit_placeholder(other, "stranger", TF_INT32), 0);
  TF_Tensor* one = kit_int32(1);
  TF_Tensor* wrong = kit_float(1);
  TF_Tensor* nothing = NULL;
  const TF_Output twice[] = {f.x, f.x};
  TF_Tensor* const ones[] = {one, one};
  const TF_Output far = kit_out(f.x.oper, 1), none = kit_out(NULL, 0);
  refuse(session, NULL, NULL, 0, f.sum, TF_INVALID_ARGUMENT);         // not fed
  refuse(session, &f.x, &wrong, 1, f.sum, TF_INVALID_ARGUMENT);       // of another type
  refuse(session, &f.x, &nothing, 1, f.sum, TF_INVALID_ARGUMENT);     // no value
  refuse(session, twice, ones, 2, f.sum, TF_INVALID_ARGUMENT);        // fed twice
  refuse(session, &stranger, &one, 1, f.sum, TF_INVALID_ARGUMENT);    // of another graph
  refuse(session, &none, &one, 1, f.sum, TF_INVALID_ARGUMENT);
  refuse(session, &far, &one, 1, f.sum, TF_OUT_OF_RANGE);             // no such output
  refuse(session, &f.x, &one, 1, far, TF_OUT_OF_RANGE);
  refuse(session, &f.x, &one, 1, stranger, TF_INVALID_ARGUMENT);
  TF_SessionRun(session, NULL, &f.x, &one, -1, NULL, NULL, 0, NULL, 0, NULL, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_DeleteTensor(one);
  TF_DeleteTensor(wrong);
  TF_DeleteGraph(other);
  kit_close(session);
}

static void test_strings(void** state) {
  TF_Operation* text = kit_placeholder(f.graph, "text", TF_STRING);
  TF_Operation* same = kit_unary(f.graph, "Identity", "same", text);
  TF_Session* session = kit_session(f.graph);
  TF_Tensor* fed = kit_string("words, and enough of them for a block on the heap");
  TF_Output feed = kit_out(text, 0), fetch = kit_out(same, 0);
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, &feed, &fed, 1, &fetch, &result, 1, NULL, 0, NULL, f.status);
  kit_ok(f.status);
  TF_DeleteTensor(fed);
  assert_int_equal(TF_TensorType(result), TF_STRING);
  assert_int_equal(TF_StringGetSize(TF_TensorData(result)), 49);
  TF_DeleteTensor(result);
  kit_close(session);
}

static int freed;
static void count_free(void* data, size_t len, void* arg) { ++freed; }

static void test_callers_memory(void** state) {
  static _Alignas(64) int32_t block = 5;
  TF_Operation* same = kit_unary(f.graph, "Identity", "same", f.x.oper);
  TF_Operation* negative = kit_unary(f.graph, "Neg", "negative", f.x.oper);
  TF_Session* session = kit_session(f.graph);
  TF_Tensor* fed = TF_NewTensor(TF_INT32, NULL, 0, &block, 4, count_free, NULL);
  TF_Output fetches[] = {kit_out(negative, 0), kit_out(same, 0)};
  TF_Tensor* results[2];
  freed = 0;
  TF_SessionRun(session, NULL, &f.x, &fed, 1, fetches, results, 2, NULL, 0, NULL, f.status);
  kit_ok(f.status);
  TF_DeleteTensor(fed);
  assert_int_equal(block, 5);  // nobody wrote into it
  assert_int_equal(kit_int32_of(results[0]), -5);
  assert_int_equal(kit_int32_of(results[1]), 5);
  TF_DeleteTensor(results[0]);
  TF_DeleteTensor(results[1]);
  kit_close(session);
  assert_int_equal(freed, 1);
}

static void test_extend(void** state) {
  TF_Session* session = kit_session(f.graph);
  TF_ExtendSession(session, f.status);
  kit_ok(f.status);
  expect_sum(session, 4, 6);
  TF_Operation* late = kit_unary(f.graph, "Neg", "late", f.two.oper);
  TF_Output fetch = kit_out(late, 0);
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &fetch, &result, 1, NULL, 0, NULL, f.status);
  kit_expect(f.status, TF_NOT_FOUND);
  TF_ExtendSession(session, f.status);
  kit_ok(f.status);
  result = kit_run(session, kit_out(NULL, 0), NULL, fetch);
  assert_int_equal(kit_int32_of(result), -2);
  TF_DeleteTensor(result);
  kit_close(session);
}

static void test_lives(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* three = kit_const_int32(graph, "three", 3);
  TF_Session* session = kit_session(graph);
  TF_Session* second = kit_session(graph);
  TF_DeleteGraph(graph);  // the sessions keep it
  TF_Tensor* value = kit_run(session, kit_out(NULL, 0), NULL, kit_out(three, 0));
  kit_close(session);
  assert_int_equal(kit_int32_of(value), 3);  // a value outlives its session
  assert_string_equal(TF_OperationName(three), "three");
  kit_close(second);
  TF_DeleteTensor(value);
  TF_DeleteSession(NULL, f.status);
  kit_ok(f.status);
}

static void test_close(void** state) {
  TF_Session* session = kit_session(f.graph);
  expect_sum(session, 1, 3);
  TF_CloseSession(session, f.status);
  kit_ok(f.status);
  TF_Tensor* one = kit_int32(1);
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, &f.x, &one, 1, &f.sum, &result, 1, NULL, 0, NULL, f.status);
  kit_expect(f.status, TF_CANCELLED);
  assert_null(result);
  TF_DeleteTensor(one);
  TF_DeleteSession(session, f.status);
  kit_ok(f.status);
}

static void test_targets(void** state) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetTarget(options, "loopback:5,100");
  TF_Session* session = TF_NewSession(f.graph, options, f.status);
  kit_ok(f.status);
  for (int i = 0; i < 10; ++i) expect_sum(session, (float)i, (float)i + 2);
  TF_Reset(options, NULL, 0, f.status);
  kit_ok(f.status);
  TF_DeleteSession(session, f.status);
  kit_ok(f.status);
  TF_SetTarget(options, "loopback:5");
  assert_null(TF_NewSession(f.graph, options, f.status));
  kit_expect_text(f.status, TF_INVALID_ARGUMENT, "loopback:SEED,MAX_DELAY_US");
  TF_SetTarget(options, "nobody://here");
  assert_null(TF_NewSession(f.graph, options, f.status));
  kit_expect_text(f.status, TF_NOT_FOUND,
                  "No session factory registered for the given session options: {target: "
                  "\"nobody://here\"");
  TF_Reset(options, NULL, 0, f.status);
  kit_expect(f.status, TF_NOT_FOUND);
  TF_DeleteSessionOptions(options);
}

static void test_options(void** state) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, "\xff", 1, f.status);
  kit_expect_text(f.status, TF_INVALID_ARGUMENT, "Unparseable ConfigProto");
  // device_count { key: "CPU" value: 2 }, allow_soft_placement: true
  static const char two[] = "\x0a\x07\x0a\x03" "CPU\x10\x02\x38\x01";
  TF_SetConfig(options, two, sizeof two - 1, f.status);
  kit_ok(f.status);
  TF_SetTarget(options, "local");
  TF_Session* session = TF_NewSession(f.graph, options, f.status);
  kit_ok(f.status);
  TF_DeviceList* devices = TF_SessionListDevices(session, f.status);
  kit_ok(f.status);
  assert_int_equal(TF_DeviceListCount(devices), 2);
  assert_string_equal(TF_DeviceListName(devices, 1, f.status),
                      "/job:localhost/replica:0/task:0/device:CPU:1");
  kit_ok(f.status);
  assert_string_equal(TF_DeviceListType(devices, 0, f.status), "CPU");
  assert_true(TF_DeviceListMemoryBytes(devices, 0, f.status) > 0);
  assert_true(TF_DeviceListIncarnation(devices, 0, f.status) != 0);
  kit_ok(f.status);
  assert_null(TF_DeviceListName(devices, 2, f.status));
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  assert_int_equal(TF_DeviceListMemoryBytes(devices, -1, f.status), -1);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  assert_int_equal(TF_DeviceListIncarnation(NULL, 0, f.status), 0);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_DeleteDeviceList(devices);
  TF_DeleteDeviceList(NULL);
  expect_sum(session, 1, 3);
  kit_close(session);
  TF_SetTarget(options, "");
  static const char unknown[] = "\x82\x01\x08\x1a\x06NOBODY";  // experimental.executor_type
  TF_SetConfig(options, unknown, sizeof unknown - 1, f.status);
  kit_ok(f.status);
  assert_null(TF_NewSession(f.graph, options, f.status));
  kit_expect(f.status, TF_NOT_FOUND);
  static const char linear[] = "\x82\x01\x08\x1a\x06LINEAR";
  TF_SetConfig(options, linear, sizeof linear - 1, f.status);
  kit_ok(f.status);
  session = TF_NewSession(f.graph, options, f.status);
  kit_ok(f.status);
  expect_sum(session, 5, 7);
  kit_close(session);
  assert_null(TF_NewSession(NULL, options, f.status));
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_DeleteSessionOptions(options);
  TF_DeleteSessionOptions(NULL);
}

// A session that asks for TensorFlow's single-threaded executor, by either of its names, gets a
// sequence, and hears which node is in the way where the graph cannot be one. Here a reference
// passes through control flow.
static void test_no_sequence(void** state) {
  static const struct { const char* config; size_t size; } kConfigs[] = {
#define CONFIG(text) {text, sizeof text - 1}
      // experimental { executor_type: ... }
      CONFIG("\x82\x01\x08\x1a\x06LINEAR"),
      CONFIG("\x82\x01\x1a\x1a\x18SINGLE_THREADED_EXECUTOR"),
      CONFIG(""),
  };
  TF_OperationDescription* desc = TF_NewOperation(f.graph, "VariableV2", "v");
  TF_SetAttrType(desc, "dtype", TF_INT32);
  TF_SetAttrShape(desc, "shape", NULL, 0);
  TF_Operation* v = kit_finish(desc);
  TF_Operation* assign = kit_binary(f.graph, "Assign", "assign", v, f.two.oper);
  TF_Operation* pred = kit_placeholder(f.graph, "pred", TF_BOOL);
  TF_Operation* side = kit_binary(f.graph, "RefSwitch", "ref_switch", v, pred);
  const TF_Output fed = kit_out(pred, 0), fetch = kit_out(side, 1);
  TF_SessionOptions* options = TF_NewSessionOptions();
  for (size_t i = 0; i < sizeof kConfigs / sizeof kConfigs[0]; ++i) {
    TF_SetConfig(options, kConfigs[i].config, kConfigs[i].size, f.status);
    kit_ok(f.status);
    TF_Session* session = TF_NewSession(f.graph, options, f.status);
    kit_ok(f.status);
    expect_sum(session, 5, 7);
    const TF_Operation* target = assign;
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, f.status);
    kit_ok(f.status);
    const bool yes = true;
    TF_Tensor *value = kit_tensor(TF_BOOL, 0, NULL, &yes, 1), *result = NULL;
    TF_SessionRun(session, NULL, &fed, &value, 1, &fetch, &result, 1, NULL, 0, NULL, f.status);
    if (kConfigs[i].size) {
      kit_expect_text(f.status, TF_UNIMPLEMENTED, "for node 'ref_switch' (RefSwitch): executor");
      assert_null(result);
    } else {
      kit_ok(f.status);
      assert_int_equal(kit_int32_of(result), 2);
      TF_DeleteTensor(result);
    }
    TF_DeleteTensor(value);
    expect_sum(session, 5, 7);
    kit_close(session);
  }
  TF_DeleteSessionOptions(options);
}

static void test_run_options(void** state) {
  TF_Session* session = kit_session(f.graph);
  TF_Tensor* one = kit_int32(1);
  TF_Tensor* result = NULL;
  TF_Buffer* bad = TF_NewBufferFromString("\xff", 1);
  // trace_level: FULL_TRACE, timeout_in_ms: 10000
  TF_Buffer* timeout = TF_NewBufferFromString("\x08\x03\x10\x90\x4e", 5);
  TF_Buffer* metadata = TF_NewBuffer();
  TF_SessionRun(session, bad, &f.x, &one, 1, &f.sum, &result, 1, NULL, 0, NULL, f.status);
  kit_expect_text(f.status, TF_INVALID_ARGUMENT, "Unparseable RunOptions proto");
  TF_SessionRun(session, timeout, &f.x, &one, 1, &f.sum, &result, 1, NULL, 0, metadata, f.status);
  kit_ok(f.status);
  assert_int_equal(kit_int32_of(result), 3);
  assert_non_null(metadata->data);
  TF_DeleteTensor(result);
  TF_SessionRun(session, timeout, &f.x, &one, 1, &f.sum, &result, 1, NULL, 0, metadata, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);  // the buffer is in use
  assert_null(result);
  TF_DeleteBuffer(bad);
  TF_DeleteBuffer(timeout);
  TF_DeleteBuffer(metadata);
  TF_DeleteTensor(one);
  kit_close(session);
}

// A step that recorded nothing has a RunMetadata all the same, an empty message: bindings make a
// list of its bytes without a look at the pointer.
static void test_empty_run_metadata(void** state) {
  TF_Session* session = kit_session(f.graph);
  TF_Buffer *options = TF_NewBuffer(), *metadata = NULL;
  const TF_Operation* target = kit_no_op(f.graph, "nothing");
  for (int i = 0; i < 2; ++i) {
    metadata = TF_NewBuffer();
    TF_SessionRun(session, i ? options : NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, metadata,
                  f.status);
    kit_ok(f.status);
    assert_non_null(metadata->data);
    assert_int_equal(metadata->length, 0);
    TF_DeleteBuffer(metadata);
  }
  TF_DeleteBuffer(options);
  kit_close(session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(test_run),     TEST(test_feeds_anywhere),
      TEST(test_many_edges), TEST(test_bad_steps),
      TEST(test_strings), TEST(test_callers_memory),
      TEST(test_extend),  TEST(test_lives),
      TEST(test_close),   TEST(test_targets),
      TEST(test_options),  TEST(test_no_sequence),
      TEST(test_run_options), TEST(test_empty_run_metadata),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
