// eager/dlpack.h: tensors go out as DLPack's structs and come in from them, and the memory, which
// is not copied on its way out, lives until both sides have let go. The structs are declared here
// anew, by DLPack's own description, so that a mistake in the library's declaration shows. The
// numbers of devices and kinds of elements (1 is the CPU, 2 a float) are DLPack's too. A deleter
// that counts tells whether the memory of another library is let go once, and neither before the
// last tensor on it is gone nor after a refusal. Rows with gaps, elements of 24 bits, another
// device, negative sizes, strings and NULL must be refused. TensorFlow 2.21 gives the same answers,
// but ends the process at strings, NULL and negative sizes.
#include <stdlib.h>

#include "capi/eager_kit.h"
#include "tensorflow/c/eager/dlpack.h"

typedef struct managed_s {
  void* data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
  void* manager_ctx;
  void (*deleter)(struct managed_s*);
} managed_t;

static TF_Status* s;
static TFE_Context* context;
static int deleted;

static int set_up(void** state) {
  s = TF_NewStatus();
  context = eager_open();
  deleted = 0;
  return 0;
}

static int tear_down(void** state) {
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
  return 0;
}

static void test_out(void** state) {
  const int64_t dims[] = {2, 3};
  const float values[] = {1, 2, 3, 4, 5, 6};
  TFE_TensorHandle* handle = eager_handle(kit_tensor(TF_FLOAT, 2, dims, values, sizeof values));
  int32_t* device = TFE_GetDLDevice(handle, s);
  kit_ok(s);
  assert_true(device[0] == 1 && device[1] == 0);
  free(device);
  managed_t* managed = TFE_HandleToDLPack(handle, s);
  kit_ok(s);
  assert_ptr_equal(managed->data, TFE_TensorHandleDevicePointer(handle, s));
  TFE_DeleteTensorHandle(handle);  // the struct keeps the memory
  assert_memory_equal(managed->data, values, sizeof values);
  assert_int_equal(managed->device_type, 1);
  assert_int_equal(managed->ndim, 2);
  assert_true(managed->code == 2 && managed->bits == 32 && managed->lanes == 1);
  assert_true(managed->shape[0] == 2 && managed->shape[1] == 3);
  assert_true(managed->strides[0] == 3 && managed->strides[1] == 1);
  assert_int_equal(managed->byte_offset, 0);
  // And in again, which takes it over.
  TFE_TensorHandle* again = TFE_HandleFromDLPack(managed, s, context);
  kit_ok(s);
  assert_int_equal(TFE_TensorHandleDim(again, 1, s), 3);
  TFE_DeleteTensorHandle(again);
  TFE_TensorHandle* text = eager_handle(kit_string("x"));
  assert_null(TFE_HandleToDLPack(text, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_DeleteTensorHandle(text);
  assert_null(TFE_HandleToDLPack(NULL, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
}

static void count(managed_t* managed) { ++deleted; }

static void test_in(void** state) {
  int32_t numbers[16] __attribute__((aligned(64))) = {0};
  int64_t shape[] = {2, 1, 2}, strides[] = {2, 77, 1};
  numbers[1] = 7;
  managed_t managed = {.data = numbers, .device_type = 1, .ndim = 3, .code = 0, .bits = 32,
                       .lanes = 1, .shape = shape, .strides = strides, .deleter = count};
  TFE_TensorHandle* handle = TFE_HandleFromDLPack(&managed, s, context);
  kit_ok(s);
  assert_int_equal(TFE_TensorHandleDataType(handle), TF_INT32);
  TF_Tensor* tensor = TFE_TensorHandleResolve(handle, s);
  TFE_DeleteTensorHandle(handle);
  assert_ptr_equal(TF_TensorData(tensor), numbers);
  assert_int_equal(((int32_t*)TF_TensorData(tensor))[1], 7);
  assert_int_equal(deleted, 0);
  TF_DeleteTensor(tensor);
  assert_int_equal(deleted, 1);
  strides[0] = 4;  // with a gap between the rows
  assert_null(TFE_HandleFromDLPack(&managed, s, context));
  kit_expect(s, TF_INVALID_ARGUMENT);
  managed.strides = NULL;
  managed.bits = 24;
  assert_null(TFE_HandleFromDLPack(&managed, s, context));
  kit_expect(s, TF_INVALID_ARGUMENT);
  managed.bits = 32;
  managed.device_type = 2;
  assert_null(TFE_HandleFromDLPack(&managed, s, context));
  kit_expect(s, TF_INVALID_ARGUMENT);
  managed.device_type = 1;
  shape[0] = -1;
  assert_null(TFE_HandleFromDLPack(&managed, s, context));
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(deleted, 1);
  TFE_CallDLManagedTensorDeleter(&managed);
  assert_int_equal(deleted, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_out, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_in, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
