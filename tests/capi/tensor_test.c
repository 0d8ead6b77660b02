// TF_Tensor: blocks of the caller and of the library, shapes good and bad, other readings. A
// function that counts its calls shows when a caller's block is given back, on success and on each
// failure. Sizes that overflow, types that do not exist and blocks that are too small must give
// NULL. What lies below, sharing and copying, is tested in src/tensor/tensor_test.c.
#include "capi/kit.h"

#include <stdlib.h>

#include "tensorflow/c/tf_tstring.h"

static int freed;
static void count_free(void* data, size_t len, void* arg) {
  ++freed;
  if (arg) assert_ptr_equal(arg, data);
}

static void test_allocate(void** state) {
  const int64_t dims[] = {2, 3};
  TF_Tensor* t = TF_AllocateTensor(TF_FLOAT, dims, 2, 24);
  assert_non_null(t);
  assert_int_equal(TF_TensorType(t), TF_FLOAT);
  assert_int_equal(TF_NumDims(t), 2);
  assert_int_equal(TF_Dim(t, 0), 2);
  assert_int_equal(TF_Dim(t, 1), 3);
  assert_int_equal(TF_Dim(t, 2), -1);
  assert_int_equal(TF_Dim(t, -1), -1);
  assert_int_equal(TF_TensorElementCount(t), 6);
  assert_int_equal(TF_TensorByteSize(t), 24);
  assert_true(TF_TensorIsAligned(t));
  memset(TF_TensorData(t), 1, 24);
  assert_ptr_equal(TF_TensorMaybeMove(t), t);
  TF_DeleteTensor(t);
  t = TF_AllocateTensor(TF_UINT8, NULL, 0, 100);  // more than needed
  assert_int_equal(TF_TensorByteSize(t), 100);
  assert_int_equal(TF_TensorElementCount(t), 1);
  TF_DeleteTensor(t);
  TF_DeleteTensor(NULL);
}

static void test_bad_shapes(void** state) {
  const int64_t negative[] = {2, -1};
  const int64_t huge[] = {INT64_MAX, 2};
  const int64_t large[] = {INT64_MAX / 2};
  int64_t ones[300];
  for (int i = 0; i < 300; ++i) ones[i] = 1;
  assert_null(TF_AllocateTensor(TF_FLOAT, negative, 2, 100));
  assert_null(TF_AllocateTensor(TF_FLOAT, huge, 2, 100));
  assert_null(TF_AllocateTensor(TF_DOUBLE, large, 1, 100));
  assert_null(TF_AllocateTensor(TF_FLOAT, ones, 300, 100));
  assert_null(TF_AllocateTensor(TF_FLOAT, ones, -1, 100));
  assert_null(TF_AllocateTensor(TF_FLOAT, NULL, 0, 3));
  assert_null(TF_AllocateTensor(TF_STRING, NULL, 0, 23));
  assert_null(TF_AllocateTensor((TF_DataType)0, NULL, 0, 100));
  assert_null(TF_AllocateTensor((TF_DataType)77, NULL, 0, 100));
  assert_null(TF_AllocateTensor((TF_DataType)101, NULL, 0, 100));
  TF_Tensor* t = TF_AllocateTensor(TF_FLOAT, ones, 254, 4);
  assert_int_equal(TF_NumDims(t), 254);
  assert_int_equal(TF_Dim(t, 253), 1);
  TF_DeleteTensor(t);
}

static void test_wraps_callers_block(void** state) {
  const int64_t four = 4;
  void* block = aligned_alloc(64, 64);
  freed = 0;
  TF_Tensor* t = TF_NewTensor(TF_INT32, &four, 1, block, 16, count_free, block);
  assert_ptr_equal(TF_TensorData(t), block);
  assert_null(TF_TensorMaybeMove(t));
  assert_int_equal(freed, 0);
  TF_DeleteTensor(t);
  assert_int_equal(freed, 1);
  // A block that is not aligned is copied at once.
  ((char*)block)[5] = 42;
  t = TF_NewTensor(TF_UINT8, &four, 1, (char*)block + 4, 4, count_free, NULL);
  assert_int_equal(freed, 2);
  assert_true(TF_TensorIsAligned(t));
  assert_int_equal(((const char*)TF_TensorData(t))[1], 42);
  TF_DeleteTensor(t);
  assert_int_equal(freed, 2);
  free(block);
}

static void test_failure_frees_block(void** state) {
  static _Alignas(64) char block[64];
  const int64_t four = 4, negative = -4, many = 17;
  freed = 0;
  assert_null(TF_NewTensor(TF_FLOAT, &negative, 1, block, 64, count_free, NULL));
  assert_int_equal(freed, 1);
  assert_null(TF_NewTensor(TF_FLOAT, &many, 1, block, 64, count_free, NULL));
  assert_int_equal(freed, 2);
  assert_null(TF_NewTensor(TF_STRING, &four, 1, block, 64, count_free, NULL));
  assert_int_equal(freed, 3);
  assert_null(TF_NewTensor((TF_DataType)77, &four, 1, block, 64, count_free, NULL));
  assert_int_equal(freed, 4);
  // Without elements there is nothing to keep.
  const int64_t none = 0;
  TF_Tensor* t = TF_NewTensor(TF_FLOAT, &none, 1, NULL, 0, count_free, NULL);
  assert_non_null(t);
  assert_int_equal(TF_TensorElementCount(t), 0);
  TF_DeleteTensor(t);
  assert_int_equal(freed, 5);
}

static void test_strings(void** state) {
  const int64_t two = 2;
  TF_Tensor* t = TF_AllocateTensor(TF_STRING, &two, 1, 2 * sizeof(TF_TString));
  TF_TString* strings = TF_TensorData(t);
  TF_StringInit(&strings[0]);
  TF_StringInit(&strings[1]);
  TF_StringCopy(&strings[0], "a text that needs a block of its own", 36);
  assert_int_equal(TF_TensorByteSize(t), 48);
  TF_DeleteTensor(t);  // with the block: shown by ASan
}

static void test_set_shape(void** state) {
  const int64_t six = 6, dims[] = {2, 3}, wrong[] = {2, 4}, bad[] = {-2, -3};
  TF_Tensor* t = TF_AllocateTensor(TF_FLOAT, &six, 1, 24);
  TF_SetShape(t, dims, 2);
  assert_int_equal(TF_NumDims(t), 2);
  TF_SetShape(t, wrong, 2);
  TF_SetShape(t, bad, 2);
  TF_SetShape(t, NULL, -1);
  assert_int_equal(TF_NumDims(t), 2);
  assert_int_equal(TF_Dim(t, 1), 3);
  assert_int_equal(TF_TensorElementCount(t), 6);
  TF_DeleteTensor(t);
}

static void test_bitcast(void** state) {
  const int64_t two[] = {2}, one[] = {1}, four[] = {4};
  TF_Status* s = TF_NewStatus();
  TF_Tensor* from = TF_AllocateTensor(TF_FLOAT, two, 1, 8);
  TF_Tensor* to = TF_AllocateTensor(TF_UINT8, one, 1, 1);
  TF_TensorBitcastFrom(from, TF_INT64, to, one, 1, s);
  kit_ok(s);
  assert_int_equal(TF_TensorType(to), TF_INT64);
  assert_ptr_equal(TF_TensorData(to), TF_TensorData(from));
  assert_null(TF_TensorMaybeMove(to));
  TF_TensorBitcastFrom(from, TF_INT64, to, two, 1, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_TensorBitcastFrom(from, TF_STRING, to, one, 1, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(TF_TensorType(to), TF_INT64);
  TF_TensorBitcastFrom(to, TF_UINT16, to, four, 1, s);
  kit_ok(s);
  TF_DeleteTensor(from);
  TF_DeleteTensor(to);
  TF_DeleteStatus(s);
}

static void test_from_proto(void** state) {
  // dtype: DT_INT32, tensor_shape { dim { size: 2 } }, int_val: 7
  static const char bytes[] = "\x08\x03\x12\x04\x12\x02\x08\x02\x3a\x01\x07";
  TF_Status* s = TF_NewStatus();
  TF_Tensor* t = kit_float(1);
  TF_Buffer* proto = TF_NewBufferFromString(bytes, sizeof bytes - 1);
  TF_TensorFromProto(proto, t, s);
  kit_ok(s);
  assert_int_equal(TF_TensorType(t), TF_INT32);
  assert_int_equal(TF_Dim(t, 0), 2);
  assert_int_equal(((const int32_t*)TF_TensorData(t))[1], 7);
  TF_DeleteBuffer(proto);
  proto = TF_NewBufferFromString("\xff", 1);
  TF_TensorFromProto(proto, t, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(TF_TensorType(t), TF_INT32);
  TF_DeleteBuffer(proto);
  TF_DeleteTensor(t);
  TF_DeleteStatus(s);
}

static void test_type_sizes(void** state) {
  assert_int_equal(TF_DataTypeSize(TF_FLOAT), 4);
  assert_int_equal(TF_DataTypeSize(TF_COMPLEX128), 16);
  assert_int_equal(TF_DataTypeSize(TF_BFLOAT16), 2);
  assert_int_equal(TF_DataTypeSize(TF_INT4), 1);
  assert_int_equal(TF_DataTypeSize(TF_STRING), 0);
  assert_int_equal(TF_DataTypeSize(TF_RESOURCE), 0);
  assert_int_equal(TF_DataTypeSize((TF_DataType)101), 0);
  assert_int_equal(TF_DataTypeSize((TF_DataType)-1), 0);
  assert_int_equal(TF_DataTypeSize((TF_DataType)34), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_allocate),
      cmocka_unit_test(test_bad_shapes),
      cmocka_unit_test(test_wraps_callers_block),
      cmocka_unit_test(test_failure_frees_block),
      cmocka_unit_test(test_strings),
      cmocka_unit_test(test_set_shape),
      cmocka_unit_test(test_bitcast),
      cmocka_unit_test(test_from_proto),
      cmocka_unit_test(test_type_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
