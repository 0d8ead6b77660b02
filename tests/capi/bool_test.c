// Bools whose byte is neither 0 nor 1. Compilers take a bool to be one of the two and use it as an
// index or a factor, so such bytes must not pass a door of the library: each test brings one in by
// another door and looks at what comes out behind it. Any byte but 0 is true, as in C. A tensor
// that is valid is not copied on its way.
#include <stdio.h>
#include <stdlib.h>

#include "capi/plugin_kit.h"
#include "leat/callable.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/eager/c_api.h"

static const uint8_t odd[] = {0, 1, 2, 3, 16, 127, 128, 255};
#define ODD (int)(sizeof odd)

static TF_Graph* graph;
static TF_Status* status;

static int set_up(void** state) {
  graph = TF_NewGraph();
  status = TF_NewStatus();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}

static TF_Tensor* make_bools(int64_t count, const uint8_t* bytes) {
  return kit_tensor(TF_BOOL, 1, &count, bytes, (size_t)count);
}

static TF_Tensor* make_bool(uint8_t byte) { return kit_tensor(TF_BOOL, 0, NULL, &byte, 1); }

// |bytes| must be |odd| with every byte but 0 become 1.
static void expect_normal(const void* bytes) {
  for (int i = 0; i < ODD; ++i) assert_int_equal(((const uint8_t*)bytes)[i], odd[i] != 0);
}

static TF_Operation* enter(TF_Operation* x) {
  char name[64];
  snprintf(name, sizeof name, "enter_%s", TF_OperationName(x));
  TF_OperationDescription* desc = TF_NewOperation(graph, "Enter", name);
  TF_AddInput(desc, kit_out(x, 0));
  TF_SetAttrString(desc, "frame_name", "frame", 5);
  return kit_finish(desc);
}

// In a frame: predicate ? 5 : -5. The executor itself runs a Switch in a frame, and takes the
// predicate for the index of an output.
static TF_Output choose(TF_Operation* predicate) {
  TF_Operation* five = enter(kit_const_int32(graph, "five", 5));
  TF_Operation* branch = kit_binary(graph, "Switch", "switch", five, enter(predicate));
  TF_Output sides[2] = {kit_out(kit_unary(graph, "Neg", "neg", branch), 0), kit_out(branch, 1)};
  TF_OperationDescription* desc = TF_NewOperation(graph, "Merge", "merge");
  TF_AddInputList(desc, sides, 2);
  return kit_out(kit_unary(graph, "Exit", "exit", kit_finish(desc)), 0);
}

static void expect_choice(TF_Tensor* chosen, uint8_t byte) {
  assert_int_equal(kit_int32_of(chosen), byte ? 5 : -5);
  TF_DeleteTensor(chosen);
}

static void test_session_feed(void** state) {
  TF_Operation* p = kit_shaped(graph, "p", TF_BOOL, 0, NULL);
  TF_Output chosen = choose(p);
  TF_Session* session = kit_session(graph);
  for (int byte = 0; byte < 256; ++byte) {
    expect_choice(kit_run(session, kit_out(p, 0), make_bool((uint8_t)byte), chosen),
                  (uint8_t)byte);
  }
  kit_close(session);
}

static void test_feed_is_left_alone(void** state) {
  TF_Operation* p = kit_placeholder(graph, "p", TF_BOOL);
  TF_Output feed = kit_out(p, 0), fetch = kit_out(kit_unary(graph, "Identity", "same", p), 0);
  TF_Session* session = kit_session(graph);
  TF_Tensor *value = make_bools(ODD, odd), *got = NULL;
  TF_SessionRun(session, NULL, &feed, &value, 1, &fetch, &got, 1, NULL, 0, NULL, status);
  kit_ok(status);
  expect_normal(TF_TensorData(got));
  assert_memory_equal(TF_TensorData(value), odd, sizeof odd);
  TF_DeleteTensor(got);
  TF_DeleteTensor(value);
  kit_close(session);
}

// The one bad byte is found wherever it lies; without one the fetch is the fed memory itself.
static void test_large_feed(void** state) {
  enum { LENGTH = 100003 };
  TF_Operation* p = kit_placeholder(graph, "p", TF_BOOL);
  TF_Output feed = kit_out(p, 0), fetch = kit_out(kit_unary(graph, "Identity", "same", p), 0);
  TF_Session* session = kit_session(graph);
  int64_t length = LENGTH;
  TF_Tensor* value = TF_AllocateTensor(TF_BOOL, &length, 1, LENGTH);
  uint8_t* bytes = TF_TensorData(value);
  memset(bytes, 1, LENGTH);
  const int places[] = {-1, 0, 1, 31, 32, 50000, LENGTH - 4, LENGTH - 1};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
    if (places[i] >= 0) bytes[places[i]] = 0x80;
    TF_Tensor* got = NULL;
    TF_SessionRun(session, NULL, &feed, &value, 1, &fetch, &got, 1, NULL, 0, NULL, status);
    kit_ok(status);
    const uint8_t* seen = TF_TensorData(got);
    bool is_local = getenv("LEAT_SESSION_TARGET") == NULL;  // else the feed travels in a message
    if (is_local) assert_int_equal(seen == bytes, places[i] < 0);
    if (!is_local && places[i] < 0) assert_memory_equal(seen, bytes, LENGTH);
    if (places[i] >= 0) assert_int_equal(seen[places[i]], 1);
    if (places[i] >= 0) bytes[places[i]] = 1;
    TF_DeleteTensor(got);
  }
  TF_DeleteTensor(value);
  kit_close(session);
}

static void test_partial_run(void** state) {
  TF_Operation* p = kit_placeholder(graph, "p", TF_BOOL);
  TF_Output feed = kit_out(p, 0), fetch = kit_out(kit_unary(graph, "Identity", "same", p), 0);
  TF_Session* session = kit_session(graph);
  const char* handle = NULL;
  TF_SessionPRunSetup(session, &feed, 1, &fetch, 1, NULL, 0, &handle, status);
  kit_ok(status);
  TF_Tensor *value = make_bools(ODD, odd), *got = NULL;
  TF_SessionPRun(session, handle, &feed, &value, 1, &fetch, &got, 1, NULL, 0, status);
  kit_ok(status);
  expect_normal(TF_TensorData(got));
  TF_DeleteTensor(got);
  TF_DeleteTensor(value);
  TF_DeletePRunHandle(handle);
  kit_close(session);
}

static void test_callable(void** state) {
  TF_Operation* p = kit_placeholder(graph, "p", TF_BOOL);
  TF_Output feed = kit_out(p, 0), fetch = kit_out(kit_unary(graph, "Identity", "same", p), 0);
  TF_Session* session = kit_session(graph);
  leat_callable_t* f = leat_callable_create(session, &feed, 1, &fetch, 1, NULL, 0, status);
  kit_ok(status);
  uint8_t in[ODD], out[ODD];
  memcpy(in, odd, sizeof odd);
  leat_array_t from = {TF_BOOL, 1, {ODD}, in, sizeof in}, to = {.data = out, .size_bytes = ODD};
  leat_callable_run(f, &from, &to, status);
  kit_ok(status);
  expect_normal(out);
  assert_memory_equal(in, odd, sizeof odd);
  TF_Tensor *value = make_bools(ODD, odd), *got = NULL;
  leat_callable_run_tensors(f, &value, &got, status);
  kit_ok(status);
  expect_normal(TF_TensorData(got));
  TF_DeleteTensor(got);
  TF_DeleteTensor(value);
  leat_callable_free(f);
  kit_close(session);
}

static void test_eager(void** state) {
  TF_Tensor* value = make_bools(ODD, odd);
  TFE_TensorHandle* handle = TFE_NewTensorHandle(value, status);
  kit_ok(status);
  TF_Tensor* got = TFE_TensorHandleResolve(handle, status);
  kit_ok(status);
  expect_normal(TF_TensorData(got));
  TF_DeleteTensor(got);
  TFE_DeleteTensorHandle(handle);
  TF_DeleteTensor(value);
}

// Kernels of plugins write outputs with any byte in them, into memory of Leat's and of their own.
static void write_output(void* kernel, TF_OpKernelContext* context) {
  const int64_t dims[] = {ODD};
  TF_Status* s = TF_NewStatus();
  TF_Tensor* output = TF_AllocateOutput(context, 0, TF_BOOL, dims, 1, ODD, s);
  kit_ok(s);
  memcpy(TF_TensorData(output), odd, ODD);
  TF_DeleteTensor(output);
  TF_DeleteStatus(s);
}

static void set_output(void* kernel, TF_OpKernelContext* context) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* output = make_bools(ODD, odd);
  TF_SetOutput(context, 0, output, s);
  kit_ok(s);
  TF_DeleteTensor(output);
  TF_DeleteStatus(s);
}

static void test_plugin(void** state) {
  const char* const ops[] = {"WritesOddBools", "SetsOddBools"};
  compute_t computes[] = {write_output, set_output};
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(register_op(ops[i], "x: int32", "y: bool", NULL, NULL), TF_OK);
    register_kernel(ops[i], computes[i]);
    TF_Tensor* got = run_op(ops[i], status);
    kit_ok(status);
    expect_normal(TF_TensorData(got));
    TF_DeleteTensor(got);
  }
}

static void test_constant(void** state) {
  TF_Output chosen = choose(kit_const(graph, "p", make_bool(77)));
  TF_Operation* all = kit_const(graph, "all", make_bools(ODD, odd));
  TF_Session* session = kit_session(graph);
  expect_choice(kit_run(session, (TF_Output){0}, NULL, chosen), 77);
  TF_Tensor* got = kit_run(session, (TF_Output){0}, NULL, kit_out(all, 0));
  expect_normal(TF_TensorData(got));
  TF_DeleteTensor(got);
  kit_close(session);
}

static void test_bitcast(void** state) {
  TF_Operation* p = kit_placeholder(graph, "p", TF_BOOL);
  TF_Operation* same = kit_unary(graph, "Identity", "same", p);
  TF_Session* session = kit_session(graph);
  int64_t count = ODD;
  TF_Tensor *bytes = kit_tensor(TF_UINT8, 1, &count, odd, sizeof odd), *bools = make_bool(0);
  TF_TensorBitcastFrom(bytes, TF_BOOL, bools, &count, 1, status);
  kit_ok(status);
  TF_Tensor* got = kit_run(session, kit_out(p, 0), bools, kit_out(same, 0));
  expect_normal(TF_TensorData(got));
  TF_DeleteTensor(got);
  TF_DeleteTensor(bytes);
  kit_close(session);
}

static TF_Tensor* odd_text(void) {
  TF_Tensor* text = kit_string("");
  TF_StringCopy(TF_TensorData(text), (const char*)odd, sizeof odd);
  return text;
}

static void test_decode_raw(void** state) {
  TF_Operation* text = kit_placeholder(graph, "text", TF_STRING);
  TF_OperationDescription* desc = TF_NewOperation(graph, "DecodeRaw", "decode");
  TF_AddInput(desc, kit_out(text, 0));
  TF_SetAttrType(desc, "out_type", TF_BOOL);
  TF_Operation* decode = kit_finish(desc);
  TF_Session* session = kit_session(graph);
  TF_Tensor* got = kit_run(session, kit_out(text, 0), odd_text(), kit_out(decode, 0));
  expect_normal(TF_TensorData(got));
  TF_DeleteTensor(got);
  kit_close(session);
}

// A pooled block is full of another tensor's bytes when Empty and TemporaryVariable take it.
static void dirty_the_pool(int64_t length) {
  for (int i = 0; i < 4; ++i) {
    TF_Tensor* block = TF_AllocateTensor(TF_UINT8, &length, 1, (size_t)length);
    memset(TF_TensorData(block), 0xee, (size_t)length);
    TF_DeleteTensor(block);
  }
}

static void expect_bools(TF_Tensor* tensor) {
  const uint8_t* bytes = TF_TensorData(tensor);
  for (size_t i = 0; i < TF_TensorByteSize(tensor); ++i) assert_true(bytes[i] <= 1);
  TF_DeleteTensor(tensor);
}

static void test_memory_nobody_wrote(void** state) {
  enum { LENGTH = 5000 };
  const int64_t length = LENGTH;
  TF_OperationDescription* desc = TF_NewOperation(graph, "Empty", "empty");
  TF_AddInput(desc, kit_out(kit_placeholder(graph, "length", TF_INT32), 0));
  TF_SetAttrType(desc, "dtype", TF_BOOL);
  TF_Operation* empty = kit_finish(desc);
  desc = TF_NewOperation(graph, "TemporaryVariable", "variable");
  TF_SetAttrType(desc, "dtype", TF_BOOL);
  TF_SetAttrShape(desc, "shape", &length, 1);
  TF_SetAttrString(desc, "var_name", "v", 1);
  TF_Operation* variable = kit_finish(desc);
  desc = TF_NewOperation(graph, "DestroyTemporaryVariable", "destroy");
  TF_AddInput(desc, kit_out(variable, 0));
  TF_SetAttrString(desc, "var_name", "v", 1);
  TF_Operation* destroy = kit_finish(desc);
  TF_Session* session = kit_session(graph);
  TF_Output sizes = kit_out(TF_GraphOperationByName(graph, "length"), 0);
  dirty_the_pool(LENGTH);
  int32_t count = LENGTH;
  TF_Tensor* shape = kit_tensor(TF_INT32, 1, (int64_t[]){1}, &count, sizeof count);
  expect_bools(kit_run(session, sizes, shape, kit_out(empty, 0)));
  dirty_the_pool(LENGTH);
  expect_bools(kit_run(session, (TF_Output){0}, NULL, kit_out(destroy, 0)));
  kit_close(session);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_session_feed), TEST(test_feed_is_left_alone), TEST(test_large_feed),
      TEST(test_partial_run),  TEST(test_callable),           TEST(test_eager),
      TEST(test_plugin),
      TEST(test_constant),     TEST(test_bitcast),            TEST(test_decode_raw),
      TEST(test_memory_nobody_wrote),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
