// What handles stand for: told by the ops that make them, forwarded, set by callers, and used by
// what is added then. The message that TF_GetHandleShapeAndType gives is compared byte by byte with
// one written by hand, and the shape of a node that reads the handle shows that inference uses it.
// Nothing runs. Messages that make no sense must be refused and change nothing.
#include <stdlib.h>

#include "capi/kit.h"

static TF_Status* s;
static TF_Graph* graph;

static int set_up(void** state) {
  s = TF_NewStatus();
  graph = TF_NewGraph();
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
  return 0;
}

// The message for |output| is |bytes|; none for NULL.
static void expect_data(TF_Output output, const char* bytes, size_t size) {
  TF_Buffer* data = TF_GetHandleShapeAndType(graph, output);
  if (!bytes) {
    assert_null(data);
    return;
  }
  assert_non_null(data);
  assert_int_equal(data->length, size);
  assert_memory_equal(data->data, bytes, size);
  TF_DeleteBuffer(data);
}
#define EXPECT_DATA(output, text) expect_data((output), (text), sizeof(text) - 1)

// is_set; {dims 2, ?; float}, {dim 5; float}, {no rank; float}
#define TWO_BY_ANY                                                                       \
  "\x08\x01\x12\x15\x0a\x11\x12\x02\x08\x02\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff" \
  "\xff\x01\x10\x01"
#define FIVE "\x08\x01\x12\x08\x0a\x04\x12\x02\x08\x05\x10\x01"
#define ANY "\x08\x01\x12\x06\x0a\x02\x18\x01\x10\x01"

static TF_Output variable(const char* name, int rank) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "VarHandleOp", name);
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "shape", (int64_t[]){2, -1}, rank);
  return kit_out(kit_finish(desc), 0);
}

static TF_Output pass(const char* op, const char* name, TF_Output input) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  TF_AddInput(desc, input);
  if (!strcmp(op, "Enter")) TF_SetAttrString(desc, "frame_name", "f", 1);
  return kit_out(kit_finish(desc), 0);
}

static TF_OperationDescription* reading(const char* name, TF_Output handle, TF_DataType dtype) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "ReadVariableOp", name);
  TF_AddInput(desc, handle);
  TF_SetAttrType(desc, "dtype", dtype);
  return desc;
}

static void expect_read(const char* name, TF_Output handle, int rank, int64_t size) {
  int64_t dims[2] = {0, 0};
  TF_Output value = kit_out(kit_finish(reading(name, handle, TF_FLOAT)), 0);
  assert_int_equal(TF_GraphGetTensorNumDims(graph, value, s), rank);
  if (rank < 1) return;
  TF_GraphGetTensorShape(graph, value, dims, rank, s);
  kit_ok(s);
  assert_int_equal(dims[0], size);
}

static void handles_tell_and_forward(void** state) {
  TF_Output v = variable("v", 2), identity = pass("Identity", "identity", v);
  TF_Output enter = pass("Enter", "enter", v);
  EXPECT_DATA(v, TWO_BY_ANY);
  EXPECT_DATA(variable("unknown", -1), ANY);
  EXPECT_DATA(identity, TWO_BY_ANY);
  EXPECT_DATA(enter, TWO_BY_ANY);
  EXPECT_DATA(pass("Exit", "exit", enter), TWO_BY_ANY);
  expect_data(kit_out(kit_placeholder(graph, "p", TF_RESOURCE), 0), NULL, 0);
  expect_data(kit_out(kit_const_float(graph, "c", 1), 0), NULL, 0);
  expect_data(kit_out(v.oper, 1), NULL, 0);
  expect_read("read", identity, 2, 2);
}

static void lists_and_tables_tell_too(void** state) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "EmptyTensorList", "list");
  TF_AddInput(desc, kit_out(kit_const(graph, "shape",
                                      kit_tensor(TF_INT32, 1, (int64_t[]){1}, (int32_t[]){5}, 4)),
                            0));
  TF_AddInput(desc, kit_out(kit_const_int32(graph, "most", -1), 0));
  TF_SetAttrType(desc, "element_dtype", TF_FLOAT);
  TF_Output list = kit_out(kit_finish(desc), 0);
  EXPECT_DATA(list, FIVE);
  desc = TF_NewOperation(graph, "TensorListResize", "resize");
  TF_AddInput(desc, list);
  TF_AddInput(desc, kit_out(kit_const_int32(graph, "size", 3), 0));
  EXPECT_DATA(kit_out(kit_finish(desc), 0), FIVE);
  desc = TF_NewOperation(graph, "MutableHashTableOfTensorsV2", "table");
  TF_SetAttrType(desc, "key_dtype", TF_STRING);
  TF_SetAttrType(desc, "value_dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "value_shape", (int64_t[]){5}, 1);
  EXPECT_DATA(kit_out(kit_finish(desc), 0),
              "\x08\x01\x12\x04\x0a\x00\x10\x07\x12\x08\x0a\x04\x12\x02\x08\x05\x10\x01");
}

static void set(TF_Output output, const char* bytes, size_t size) {
  TF_SetHandleShapeAndType(graph, output, bytes, size, s);
}
#define SET(output, text) set((output), (text), sizeof(text) - 1)

static void what_is_set_is_used_by_what_comes_then(void** state) {
  TF_Output p = kit_out(kit_placeholder(graph, "p", TF_RESOURCE), 0);
  expect_read("before", p, -1, 0);
  SET(p, FIVE);
  kit_ok(s);
  EXPECT_DATA(p, FIVE);
  expect_read("after", p, 1, 5);
  TF_Output identity = pass("Identity", "identity", p);
  EXPECT_DATA(identity, FIVE);
  expect_read("behind", identity, 1, 5);
  assert_null(TF_FinishOperation(reading("wrong", p, TF_INT32), s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  // It is the last word: over a shape told by the op, and after changes of the graph.
  TF_Output v = variable("v", 2);
  SET(v, FIVE);
  TF_GraphSetTensorShape(graph, identity, NULL, 0, s);
  kit_ok(s);
  expect_read("told", v, 1, 5);
  SET(v, ANY);
  EXPECT_DATA(v, ANY);
  SET(v, "\x08\x01");  // known to stand for nothing
  kit_ok(s);
  EXPECT_DATA(v, "\x08\x01");
  expect_read("nothing", v, -1, 0);
}

// {no rank; float; full type 3 of (full type 200, "x")}
#define TYPED \
  "\x08\x01\x12\x12\x0a\x02\x18\x01\x10\x01\x22\x0a\x08\x03\x12\x06\x08\xc8\x01\x1a\x01x"

static void types_are_kept(void** state) {
  TF_Output p = kit_out(kit_placeholder(graph, "p", TF_VARIANT), 0);
  char* bytes = malloc(sizeof TYPED - 1);
  memcpy(bytes, TYPED, sizeof TYPED - 1);
  set(p, bytes, sizeof TYPED - 1);
  free(bytes);
  kit_ok(s);
  EXPECT_DATA(p, TYPED);
}

static void what_makes_no_sense_is_refused(void** state) {
  TF_Output p = kit_out(kit_placeholder(graph, "p", TF_RESOURCE), 0);
  SET(p, FIVE);
  SET(p, "\xff");
  kit_expect_text(s, TF_INVALID_ARGUMENT, "Couldn't deserialize HandleData proto");
  SET(p, "\x08\x01\x12\x11\x0a\x0d\x12\x0b\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01");
  kit_expect(s, TF_INVALID_ARGUMENT);  // a size of -2
  EXPECT_DATA(p, FIVE);
  SET(kit_out(p.oper, 1), FIVE);
  kit_expect(s, TF_INVALID_ARGUMENT);
  SET(kit_out(NULL, 0), FIVE);
  kit_expect(s, TF_INVALID_ARGUMENT);
  set(p, NULL, 0);
  kit_ok(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(handles_tell_and_forward),
      TEST(lists_and_tables_tell_too),
      TEST(what_is_set_is_used_by_what_comes_then),
      TEST(types_are_kept),
      TEST(what_makes_no_sense_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
