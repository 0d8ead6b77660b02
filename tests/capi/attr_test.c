// Attributes of every kind, set while an operation is built and read back from the finished one. A
// NoOp carries them all, because names that begin with "_" are free on any op. Each kind is asked
// for its metadata first, as a client does that must provide the memory, and then read into buffers
// that are also too small once. Values that a caller keeps, tensors above all, must have been
// copied: their memory is overwritten after the attribute was set, and a session still computes
// with the old value. Wrong kinds, unknown names and messages that are malformed have TensorFlow's
// codes.
#include "capi/kit.h"

#include "tensorflow/c/tf_tstring.h"

typedef struct fixture_s {
  TF_Graph* graph;
  TF_Status* status;
  TF_OperationDescription* desc;
  TF_Operation* operation;
} fixture_t;

static fixture_t f;

static int set_up(void** state) {
  f.graph = TF_NewGraph();
  f.status = TF_NewStatus();
  f.desc = TF_NewOperation(f.graph, "NoOp", "holder");
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(f.graph);
  TF_DeleteStatus(f.status);
  return 0;
}

static void finish(void) { f.operation = kit_finish(f.desc); }

static void expect_metadata(const char* name, int is_list, int64_t list_size, TF_AttrType type,
                            int64_t total_size) {
  TF_AttrMetadata m = TF_OperationGetAttrMetadata(f.operation, name, f.status);
  kit_ok(f.status);
  assert_int_equal(m.is_list, is_list);
  assert_int_equal(m.list_size, list_size);
  assert_int_equal(m.type, type);
  assert_int_equal(m.total_size, total_size);
}

static void test_string(void** state) {
  TF_SetAttrString(f.desc, "_a", "bun\0ny", 6);
  TF_SetAttrString(f.desc, "_empty", NULL, 0);
  finish();
  char value[8] = "zzzzzzz";
  expect_metadata("_a", 0, -1, TF_ATTR_STRING, 6);
  TF_OperationGetAttrString(f.operation, "_a", value, 3, f.status);
  kit_ok(f.status);
  assert_memory_equal(value, "bunz", 4);
  TF_OperationGetAttrString(f.operation, "_a", value, sizeof value, f.status);
  assert_memory_equal(value, "bun\0nyz", 7);
  expect_metadata("_empty", 0, -1, TF_ATTR_STRING, 0);
  TF_OperationGetAttrString(f.operation, "_empty", NULL, 0, f.status);
  kit_ok(f.status);
}

static void test_string_list(void** state) {
  const void* values[] = {"alpha", "", "gamma rays"};
  const size_t lengths[] = {5, 0, 10};
  TF_SetAttrStringList(f.desc, "_a", values, lengths, 3);
  finish();
  void* starts[3];
  size_t sizes[3];
  char storage[15];
  expect_metadata("_a", 1, 3, TF_ATTR_STRING, 15);
  TF_OperationGetAttrStringList(f.operation, "_a", starts, sizes, 3, storage, 15, f.status);
  kit_ok(f.status);
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(sizes[i], lengths[i]);
    assert_memory_equal(starts[i], values[i], lengths[i]);
  }
  TF_OperationGetAttrStringList(f.operation, "_a", starts, sizes, 2, storage, 5, f.status);
  kit_ok(f.status);
  TF_OperationGetAttrStringList(f.operation, "_a", starts, sizes, 3, storage, 14, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
}

static void test_numbers(void** state) {
  const int64_t ints[] = {INT64_MIN, -1, INT64_MAX};
  const float floats[] = {-0.5f, 1e30f};
  TF_SetAttrInt(f.desc, "_i", -42);
  TF_SetAttrIntList(f.desc, "_is", ints, 3);
  TF_SetAttrFloat(f.desc, "_f", 2.5f);
  TF_SetAttrFloatList(f.desc, "_fs", floats, 2);
  finish();
  int64_t i = 0, is[3] = {0, 0, 7};
  float x = 0, fs[2] = {0, 0};
  expect_metadata("_i", 0, -1, TF_ATTR_INT, -1);
  TF_OperationGetAttrInt(f.operation, "_i", &i, f.status);
  kit_ok(f.status);
  assert_int_equal(i, -42);
  expect_metadata("_is", 1, 3, TF_ATTR_INT, -1);
  TF_OperationGetAttrIntList(f.operation, "_is", is, 2, f.status);
  kit_ok(f.status);
  assert_true(is[0] == INT64_MIN && is[1] == -1 && is[2] == 7);
  TF_OperationGetAttrIntList(f.operation, "_is", is, 10 - 7, f.status);
  assert_true(is[2] == INT64_MAX);
  expect_metadata("_f", 0, -1, TF_ATTR_FLOAT, -1);
  TF_OperationGetAttrFloat(f.operation, "_f", &x, f.status);
  kit_ok(f.status);
  assert_true(x == 2.5f);
  expect_metadata("_fs", 1, 2, TF_ATTR_FLOAT, -1);
  TF_OperationGetAttrFloatList(f.operation, "_fs", fs, 2, f.status);
  kit_ok(f.status);
  assert_memory_equal(fs, floats, sizeof floats);
}

static void test_flags_and_types(void** state) {
  const unsigned char flags[] = {0, 200, 1};
  const TF_DataType types[] = {TF_FLOAT, TF_STRING};
  TF_SetAttrBool(f.desc, "_b", 17);
  TF_SetAttrBoolList(f.desc, "_bs", flags, 3);
  TF_SetAttrType(f.desc, "_t", TF_RESOURCE);
  TF_SetAttrTypeList(f.desc, "_ts", types, 2);
  finish();
  unsigned char b = 0, bs[3] = {9, 9, 9};
  TF_DataType t = TF_FLOAT, ts[2];
  expect_metadata("_b", 0, -1, TF_ATTR_BOOL, -1);
  TF_OperationGetAttrBool(f.operation, "_b", &b, f.status);
  kit_ok(f.status);
  assert_int_equal(b, 1);
  expect_metadata("_bs", 1, 3, TF_ATTR_BOOL, -1);
  TF_OperationGetAttrBoolList(f.operation, "_bs", bs, 3, f.status);
  kit_ok(f.status);
  assert_memory_equal(bs, "\0\1\1", 3);
  expect_metadata("_t", 0, -1, TF_ATTR_TYPE, -1);
  TF_OperationGetAttrType(f.operation, "_t", &t, f.status);
  kit_ok(f.status);
  assert_int_equal(t, TF_RESOURCE);
  expect_metadata("_ts", 1, 2, TF_ATTR_TYPE, -1);
  TF_OperationGetAttrTypeList(f.operation, "_ts", ts, 2, f.status);
  kit_ok(f.status);
  assert_int_equal(ts[1], TF_STRING);
}

static void test_shape(void** state) {
  const int64_t dims[] = {1, -1, 3};
  TF_SetAttrShape(f.desc, "_s", dims, 3);
  TF_SetAttrShape(f.desc, "_scalar", NULL, 0);
  TF_SetAttrShape(f.desc, "_unknown", NULL, -1);
  finish();
  int64_t read[3] = {9, 9, 9};
  expect_metadata("_s", 0, -1, TF_ATTR_SHAPE, 3);
  expect_metadata("_scalar", 0, -1, TF_ATTR_SHAPE, 0);
  expect_metadata("_unknown", 0, -1, TF_ATTR_SHAPE, -1);
  TF_OperationGetAttrShape(f.operation, "_unknown", read, 3, f.status);
  kit_ok(f.status);
  assert_int_equal(read[0], 9);
  TF_OperationGetAttrShape(f.operation, "_s", read, 2, f.status);
  kit_ok(f.status);
  assert_true(read[0] == 1 && read[1] == -1 && read[2] == 9);
}

static void test_shape_list(void** state) {
  const int64_t a[] = {1, 3}, b[] = {2, 4, -1};
  const int64_t* dims[] = {a, b, NULL, NULL};
  const int ranks[] = {2, 3, 0, -1};
  TF_SetAttrShapeList(f.desc, "_s", dims, ranks, 4);
  finish();
  int64_t* starts[4];
  int read[4];
  int64_t storage[5];
  expect_metadata("_s", 1, 4, TF_ATTR_SHAPE, 5);
  TF_OperationGetAttrShapeList(f.operation, "_s", starts, read, 4, storage, 5, f.status);
  kit_ok(f.status);
  for (int i = 0; i < 4; ++i) assert_int_equal(read[i], ranks[i]);
  assert_memory_equal(starts[1], b, sizeof b);
  TF_OperationGetAttrShapeList(f.operation, "_s", starts, read, 4, storage, 4, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
}

static void test_shape_messages(void** state) {
  // dim { size: 1 } dim { size: -1 }, and unknown_rank: true
  static const char known[] =
      "\x12\x02\x08\x01\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  static const char unknown[] = "\x18\x01";
  const void* protos[] = {known, unknown};
  const size_t lengths[] = {sizeof known - 1, sizeof unknown - 1};
  TF_SetAttrTensorShapeProto(f.desc, "_s", known, sizeof known - 1, f.status);
  kit_ok(f.status);
  TF_SetAttrTensorShapeProtoList(f.desc, "_ss", protos, lengths, 2, f.status);
  kit_ok(f.status);
  finish();
  expect_metadata("_s", 0, -1, TF_ATTR_SHAPE, 2);
  expect_metadata("_ss", 1, 2, TF_ATTR_SHAPE, 2);
  TF_Buffer* buffer = TF_NewBuffer();
  TF_OperationGetAttrTensorShapeProto(f.operation, "_s", buffer, f.status);
  kit_ok(f.status);
  assert_int_equal(buffer->length, sizeof known - 1);
  assert_memory_equal(buffer->data, known, sizeof known - 1);
  TF_OperationGetAttrTensorShapeProto(f.operation, "_s", buffer, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);  // in use
  TF_DeleteBuffer(buffer);
  TF_Buffer* buffers[2];
  TF_OperationGetAttrTensorShapeProtoList(f.operation, "_ss", buffers, 2, f.status);
  kit_ok(f.status);
  assert_memory_equal(buffers[1]->data, unknown, 2);
  TF_DeleteBuffer(buffers[0]);
  TF_DeleteBuffer(buffers[1]);
}

static void test_tensors(void** state) {
  TF_Tensor* tensors[] = {kit_int32(7), kit_string("a long enough text to lie on the heap")};
  TF_SetAttrTensor(f.desc, "_t", tensors[0], f.status);
  kit_ok(f.status);
  TF_SetAttrTensorList(f.desc, "_ts", tensors, 2, f.status);
  kit_ok(f.status);
  TF_DeleteTensor(tensors[0]);
  TF_DeleteTensor(tensors[1]);
  finish();
  TF_Tensor* value = NULL;
  expect_metadata("_t", 0, -1, TF_ATTR_TENSOR, -1);
  TF_OperationGetAttrTensor(f.operation, "_t", &value, f.status);
  kit_ok(f.status);
  assert_int_equal(kit_int32_of(value), 7);
  TF_DeleteTensor(value);
  TF_Tensor* values[2] = {NULL, NULL};
  expect_metadata("_ts", 1, 2, TF_ATTR_TENSOR, -1);
  TF_OperationGetAttrTensorList(f.operation, "_ts", values, 2, f.status);
  kit_ok(f.status);
  const TF_TString* text = TF_TensorData(values[1]);
  assert_int_equal(TF_StringGetSize(text), 37);
  assert_memory_equal(TF_StringGetDataPointer(text), "a long", 6);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
}

// The deallocator of a block that is static.
static void keep_block(void* data, size_t length, void* arg) {}

// The graph keeps values of its own: the maker of a tensor may reuse its memory as soon as the
// attribute is set, and who reads an attribute may write into what he got.
static void test_tensors_are_copies(void** state) {
  static _Alignas(64) int32_t block[2] = {7, 8};
  const int64_t dims[] = {2};
  TF_Tensor* mine = TF_NewTensor(TF_INT32, dims, 1, block, sizeof block, keep_block, NULL);
  TF_Tensor* allocated = kit_tensor(TF_INT32, 1, dims, block, sizeof block);
  TF_Tensor* text = kit_string("a text that is long enough to lie on the heap");
  TF_Tensor* list[] = {mine, allocated, text};
  TF_SetAttrTensor(f.desc, "_mine", mine, f.status);
  kit_ok(f.status);
  TF_SetAttrTensor(f.desc, "_allocated", allocated, f.status);
  kit_ok(f.status);
  TF_SetAttrTensorList(f.desc, "_list", list, 3, f.status);
  kit_ok(f.status);
  block[0] = -1;
  *(int32_t*)TF_TensorData(allocated) = -2;
  TF_StringCopy(TF_TensorData(text), "another text", 12);
  finish();
  // What a reader gets is his too.
  for (int i = 0; i < 2; ++i) {
    TF_Tensor* single = NULL;
    TF_Tensor* values[3] = {NULL, NULL, NULL};
    TF_OperationGetAttrTensor(f.operation, i ? "_mine" : "_allocated", &single, f.status);
    kit_ok(f.status);
    assert_int_equal(*(int32_t*)TF_TensorData(single), 7);
    TF_OperationGetAttrTensorList(f.operation, "_list", values, 3, f.status);
    kit_ok(f.status);
    for (int k = 0; k < 2; ++k) {
      assert_int_equal(*(int32_t*)TF_TensorData(values[k]), 7);
      *(int32_t*)TF_TensorData(values[k]) = -3;
    }
    const TF_TString* read = TF_TensorData(values[2]);
    assert_int_equal(TF_StringGetSize(read), 45);
    assert_memory_equal(TF_StringGetDataPointer(read), "a text that", 11);
    for (int k = 0; k < 3; ++k) TF_DeleteTensor(values[k]);
    TF_DeleteTensor(single);
  }
  for (int k = 0; k < 3; ++k) TF_DeleteTensor(list[k]);
}

// The same seen by a session: a constant stays what it was when its node was made.
static void test_constant_keeps_its_value(void** state) {
  static _Alignas(64) float block[2] = {1, 2};
  const int64_t dims[] = {2};
  TF_Tensor* mine = TF_NewTensor(TF_FLOAT, dims, 1, block, sizeof block, keep_block, NULL);
  TF_Operation* c = kit_const(f.graph, "c", mine);
  finish();
  TF_Session* session = kit_session(f.graph);
  for (int i = 0; i < 2; ++i) {
    block[1] = (float)(10 + i);
    TF_Tensor* value = kit_run(session, (TF_Output){NULL, 0}, NULL, kit_out(c, 0));
    assert_true(((const float*)TF_TensorData(value))[1] == 2);
    TF_DeleteTensor(value);
  }
  kit_close(session);
}

static void test_functions_and_placeholders(void** state) {
  TF_SetAttrFuncName(f.desc, "_f", "Square", 6);
  TF_SetAttrPlaceholder(f.desc, "_p", "T");
  finish();
  expect_metadata("_f", 0, -1, TF_ATTR_FUNC, -1);
  expect_metadata("_p", 0, -1, TF_ATTR_PLACEHOLDER, -1);
  TF_Buffer* buffer = TF_NewBuffer();
  TF_OperationGetAttrValueProto(f.operation, "_f", buffer, f.status);
  kit_ok(f.status);
  assert_int_equal(buffer->length, 10);
  assert_memory_equal(buffer->data, "\x52\x08\x0a\x06Square", 10);
  TF_DeleteBuffer(buffer);
}

// What is read as a message can be set as one.
static void test_messages(void** state) {
  const int64_t dims[] = {2, -1};
  const int64_t ints[] = {3, 4};
  const void* texts[] = {"s"};
  const size_t length = 1;
  TF_Tensor* tensor = kit_float(1.5f);
  TF_SetAttrString(f.desc, "_s", "text", 4);
  TF_SetAttrStringList(f.desc, "_ss", texts, &length, 1);
  TF_SetAttrInt(f.desc, "_i", 0);
  TF_SetAttrIntList(f.desc, "_is", ints, 2);
  TF_SetAttrFloat(f.desc, "_f", 0.25f);
  TF_SetAttrBool(f.desc, "_b", 0);
  TF_SetAttrType(f.desc, "_t", TF_HALF);
  TF_SetAttrShape(f.desc, "_shape", dims, 2);
  TF_SetAttrTensor(f.desc, "_tensor", tensor, f.status);
  TF_SetAttrFuncName(f.desc, "_func", "F", 1);
  TF_DeleteTensor(tensor);
  finish();
  static const char* const names[] = {"_s", "_ss", "_i",     "_is",     "_f",
                                      "_b", "_t",  "_shape", "_tensor", "_func"};
  TF_OperationDescription* copy = TF_NewOperation(f.graph, "NoOp", "copy");
  TF_Buffer* buffers[10];
  for (int i = 0; i < 10; ++i) {
    buffers[i] = TF_NewBuffer();
    TF_OperationGetAttrValueProto(f.operation, names[i], buffers[i], f.status);
    kit_ok(f.status);
    TF_SetAttrValueProto(copy, names[i], buffers[i]->data, buffers[i]->length, f.status);
    kit_ok(f.status);
  }
  f.operation = kit_finish(copy);
  for (int i = 0; i < 10; ++i) {
    TF_Buffer* again = TF_NewBuffer();
    TF_OperationGetAttrValueProto(f.operation, names[i], again, f.status);
    kit_ok(f.status);
    assert_int_equal(again->length, buffers[i]->length);
    assert_memory_equal(again->data, buffers[i]->data, again->length);
    TF_DeleteBuffer(again);
    TF_DeleteBuffer(buffers[i]);
  }
}

static void test_names(void** state) {
  TF_SetAttrInt(f.desc, "_one", 1);
  TF_SetAttrInt(f.desc, "_three", 3);
  finish();
  assert_int_equal(TF_OperationGetNumAttrs(f.operation), 2);
  char seen[16] = {0};
  for (int i = 0; i < 2; ++i) {
    int length = TF_OperationGetAttrNameLength(f.operation, i);
    char name[16] = {0};
    assert_in_range(length, 4, 6);
    TF_OperationGetAttrName(f.operation, i, name, f.status);
    kit_ok(f.status);
    assert_int_equal(strlen(name), length);
    strcat(seen, name);
  }
  assert_int_equal(strlen(seen), 10);
  assert_int_equal(TF_OperationGetAttrNameLength(f.operation, 2), -1);
  assert_int_equal(TF_OperationGetAttrNameLength(f.operation, -1), -1);
  TF_OperationGetAttrName(f.operation, 2, seen, f.status);
  kit_expect(f.status, TF_OUT_OF_RANGE);
}

static void test_wrong_questions(void** state) {
  TF_SetAttrInt(f.desc, "_i", 1);
  TF_SetAttrIntList(f.desc, "_none", NULL, 0);
  finish();
  int64_t i = 0;
  float x = 0;
  TF_Tensor* tensor = NULL;
  TF_OperationGetAttrMetadata(f.operation, "_missing", f.status);
  kit_expect_text(f.status, TF_INVALID_ARGUMENT, "has no attr named '_missing'.");
  TF_OperationGetAttrInt(f.operation, "_missing", &i, f.status);
  kit_expect(f.status, TF_NOT_FOUND);
  TF_OperationGetAttrIntList(f.operation, "_missing", &i, 1, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrFloat(f.operation, "_i", &x, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrIntList(f.operation, "_i", &i, 1, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrString(f.operation, "_i", &i, 8, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrTensor(f.operation, "_i", &tensor, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  assert_null(tensor);
  TF_OperationGetAttrIntList(f.operation, "_none", &i, 1, f.status);
  kit_ok(f.status);
  TF_Buffer* buffer = TF_NewBuffer();
  TF_OperationGetAttrValueProto(f.operation, "_missing", buffer, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrTensorShapeProto(f.operation, "_i", buffer, f.status);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_DeleteBuffer(buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(test_string),
      TEST(test_string_list),
      TEST(test_numbers),
      TEST(test_flags_and_types),
      TEST(test_shape),
      TEST(test_shape_list),
      TEST(test_shape_messages),
      TEST(test_tensors),
      TEST(test_tensors_are_copies),
      TEST(test_constant_keeps_its_value),
      TEST(test_functions_and_placeholders),
      TEST(test_messages),
      TEST(test_names),
      TEST(test_wrong_questions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
