// Custom devices of eager contexts. The device of these tests keeps a handle of the CPU for each of
// its tensors, counts what it is asked to do, and executes an op by the same op on the CPU, with
// its own inputs unwrapped. The counts tell where an op ran and how often a tensor was copied or
// freed, which the values alone would not. Tests take each rule of placement in turn: by an input,
// by the op's own device, by a resource before that device, by the answer to shall_pin, and an
// error where inputs are on two devices. They catch ops on the wrong device, copies that are
// needless or missing, and handles and devices that are freed twice or never. TensorFlow 2.21's
// library passes this program too, so the expected counts and codes are its own.
#include <stdlib.h>
#include <string.h>

#include "capi/eager_kit.h"

#define DEVICE "/job:localhost/replica:0/task:0/device:CUSTOM:0"
#define OTHER "/job:localhost/replica:0/task:0/device:CUSTOM:1"
#define CPU "/job:localhost/replica:0/task:0/device:CPU:0"

typedef struct counts_s {
  int to, from, executed, freed, deleted, pins;
  bool refuses_pin;
} counts_t;
static counts_t counts, other_counts;
static TFE_Context* context;
static TF_Status* status;

// ---- The device ---------------------------------------------------------------------------------

typedef struct held_s {
  TFE_TensorHandle* handle;
  counts_t* counts;
} held_t;

static int num_dims(void* data, TF_Status* s) {
  return TFE_TensorHandleNumDims(((held_t*)data)->handle, s);
}

static int64_t dim(void* data, int index, TF_Status* s) {
  return TFE_TensorHandleDim(((held_t*)data)->handle, index, s);
}

static void let_go(void* data) {
  held_t* held = data;
  ++held->counts->freed;
  TFE_DeleteTensorHandle(held->handle);
  free(held);
}

static const char* name_of(const counts_t* c) { return c == &counts ? DEVICE : OTHER; }

// Takes |handle|.
static TFE_TensorHandle* hold(TFE_Context* ctx, TFE_TensorHandle* handle, counts_t* c,
                              TF_Status* s) {
  held_t* held = malloc(sizeof *held);
  *held = (held_t){handle, c};
  TFE_CustomDeviceTensorHandle methods = {.version = TFE_CUSTOM_DEVICE_VERSION,
                                          .num_dims = num_dims, .dim = dim,
                                          .deallocator = let_go, .summarize = NULL};
  return TFE_NewCustomDeviceTensorHandle(ctx, name_of(c), TFE_TensorHandleDataType(handle), held,
                                         methods, s);
}

static bool is_held(TFE_TensorHandle* handle, const counts_t* c) {
  const char* name = TFE_TensorHandleDeviceName(handle, status);
  return strcmp(name, name_of(c)) == 0;
}

static TFE_TensorHandle* copy_to(TFE_Context* ctx, TFE_TensorHandle* tensor, TF_Status* s,
                                 void* info) {
  counts_t* c = info;
  ++c->to;
  return hold(ctx, TFE_TensorHandleCopyToDevice(tensor, ctx, CPU, s), c, s);
}

static TFE_TensorHandle* copy_from(TFE_Context* ctx, TFE_TensorHandle* tensor, const char* target,
                                   TF_Status* s, void* info) {
  counts_t* c = info;
  ++c->from;
  held_t* held = TFE_TensorHandleDevicePointer(tensor, s);
  return TFE_TensorHandleCopySharingTensor(held->handle, s);
}

static void execute(const TFE_Op* op, int* num_outputs, TFE_TensorHandle** outputs, TF_Status* s,
                    void* info) {
  counts_t* c = info;
  ++c->executed;
  TFE_Op* plain = TFE_NewOp(context, TFE_OpGetName(op, s), s);
  TFE_OpAddAttrs(plain, TFE_OpGetAttrs(op));
  for (int i = 0; i < TFE_OpGetFlatInputCount(op, s); ++i) {
    TFE_TensorHandle* input = TFE_OpGetFlatInput(op, i, s);
    held_t* held = is_held(input, c) ? TFE_TensorHandleDevicePointer(input, s) : NULL;
    TFE_OpAddInput(plain, held ? held->handle : input, s);
  }
  if (TF_GetCode(s) == TF_OK) TFE_Execute(plain, outputs, num_outputs, s);
  for (int i = 0; TF_GetCode(s) == TF_OK && i < *num_outputs; ++i) {
    outputs[i] = hold(context, outputs[i], c, s);
  }
  TFE_DeleteOp(plain);
}

static void delete_device(void* info) { ++((counts_t*)info)->deleted; }

static bool shall_pin(const TFE_Op* op, TF_Status* s) {
  ++counts.pins;
  return !counts.refuses_pin;
}

static void add_device(counts_t* c, const char* name, bool asks) {
  *c = (counts_t){0};
  TFE_CustomDevice device = {.version = TFE_CUSTOM_DEVICE_VERSION,
                             .copy_tensor_to_device = copy_to,
                             .copy_tensor_from_device = copy_from,
                             .execute = execute, .delete_device = delete_device,
                             .pack = NULL,
                             .shall_pin_to_this_device = asks ? shall_pin : NULL};
  TFE_RegisterCustomDevice(context, device, name, c, status);
}

static int set_up(void** state) {
  status = TF_NewStatus();
  context = eager_open();
  add_device(&counts, DEVICE, false);
  kit_ok(status);
  return 0;
}

static int tear_down(void** state) {
  if (context) TFE_DeleteContext(context);
  TF_DeleteStatus(status);
  return 0;
}

static TFE_TensorHandle* on(const char* device, float value) {
  TFE_TensorHandle* cpu = eager_handle(kit_float(value));
  TFE_TensorHandle* handle = TFE_TensorHandleCopyToDevice(cpu, context, device, status);
  kit_ok(status);
  TFE_DeleteTensorHandle(cpu);
  return handle;
}

// ---- Tests --------------------------------------------------------------------------------------

static void test_registration(void** state) {
  assert_true(TFE_IsCustomDevice(context, DEVICE));
  assert_false(TFE_IsCustomDevice(context, OTHER));
  assert_false(TFE_IsCustomDevice(context, CPU));
  add_device(&other_counts, DEVICE, false);
  kit_expect(status, TF_ALREADY_EXISTS);
  assert_int_equal(other_counts.deleted, 1);
  add_device(&other_counts, CPU, false);
  kit_expect(status, TF_ALREADY_EXISTS);
  add_device(&other_counts, "CUSTOM:1", false);
  kit_expect(status, TF_INVALID_ARGUMENT);
  assert_int_equal(other_counts.deleted, 1);
  TFE_DeleteContext(context);
  context = NULL;
  assert_int_equal(counts.deleted, 1);
}

static void test_copies(void** state) {
  TFE_TensorHandle* there = on(DEVICE, 3);
  assert_int_equal(counts.to, 1);
  assert_string_equal(TFE_TensorHandleDeviceName(there, status), DEVICE);
  assert_string_equal(TFE_TensorHandleDeviceType(there, status), "CUSTOM");
  assert_int_equal(TFE_TensorHandleDeviceID(there, status), 0);
  assert_int_equal(TFE_TensorHandleDataType(there), TF_FLOAT);
  assert_int_equal(TFE_TensorHandleNumDims(there, status), 0);
  assert_int_equal(TFE_TensorHandleNumElements(there, status), 1);
  TFE_TensorHandle* shared = TFE_TensorHandleCopySharingTensor(there, status);
  TFE_DeleteTensorHandle(there);
  assert_int_equal(counts.freed, 0);
  assert_int_equal(counts.from, 0);
  TFE_TensorHandle* back = TFE_TensorHandleCopyToDevice(shared, context, CPU, status);
  kit_ok(status);
  assert_int_equal(counts.from, 1);
  assert_float_equal(eager_float(back), 3, 0);
  assert_float_equal(eager_float(shared), 3, 0);  // resolves by a copy
  assert_int_equal(counts.from, 2);
  assert_int_equal(counts.freed, 1);
}

static void expect_on(TFE_TensorHandle* handle, const char* device, float value) {
  assert_string_equal(TFE_TensorHandleDeviceName(handle, status), device);
  assert_float_equal(eager_float(handle), value, 0);
}

static void test_placement(void** state) {
  TFE_TensorHandle *there = on(DEVICE, 3), *here = eager_handle(kit_float(4));
  expect_on(eager_result(eager_op(context, "AddV2", here, there)), DEVICE, 7);  // by its input
  assert_int_equal(counts.executed, 1);
  TFE_Op* op = eager_op(context, "AddV2", here, here);  // by its name
  TFE_OpSetDevice(op, DEVICE, status);
  kit_ok(status);
  assert_string_equal(TFE_OpGetDevice(op, status), DEVICE);
  expect_on(eager_result(op), DEVICE, 8);
  assert_int_equal(counts.executed, 2);
  op = eager_op(context, "AddV2", here, there);  // names the CPU, which gets a copy
  TFE_OpSetDevice(op, CPU, status);
  counts.from = 0;
  expect_on(eager_result(op), CPU, 7);
  assert_int_equal(counts.from, 1);
  assert_int_equal(counts.executed, 2);
  expect_on(eager_result(eager_op(context, "AddV2", here, here)), CPU, 8);
  TFE_DeleteTensorHandle(there);
  TFE_DeleteTensorHandle(here);
}

// A resource decides before the name of a device does.
static void test_resources(void** state) {
  TFE_Op* op = eager_op(context, "VarHandleOp", NULL, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, status);
  TFE_OpSetAttrString(op, "shared_name", "v", 1);
  TFE_OpSetDevice(op, DEVICE, status);
  TFE_TensorHandle *there = eager_result(op), *value = eager_handle(kit_float(5));
  op = eager_op(context, "AssignVariableOp", there, value);
  TFE_OpSetDevice(op, CPU, status);
  eager_expect(op, TF_OK);
  assert_int_equal(counts.executed, 2);
  op = eager_op(context, "ReadVariableOp", there, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  expect_on(eager_result(op), DEVICE, 5);
  TFE_DeleteTensorHandle(there);
  TFE_DeleteTensorHandle(value);
}

static void test_two_devices(void** state) {
  add_device(&other_counts, OTHER, false);
  kit_ok(status);
  TFE_TensorHandle *a = on(DEVICE, 3), *b = on(OTHER, 4);
  eager_expect(eager_op(context, "AddV2", a, b), TF_INVALID_ARGUMENT);
  TFE_TensorHandle* moved = TFE_TensorHandleCopyToDevice(b, context, DEVICE, status);
  kit_ok(status);
  expect_on(moved, DEVICE, 4);
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(b);
}

static void test_pins(void** state) {
  TFE_DeleteContext(context);
  context = eager_open();
  add_device(&counts, DEVICE, true);
  TFE_TensorHandle* there = on(DEVICE, 3);
  expect_on(eager_result(eager_op(context, "Neg", there, NULL)), DEVICE, -3);
  assert_int_equal(counts.pins, 1);
  counts.refuses_pin = true;
  expect_on(eager_result(eager_op(context, "Neg", there, NULL)), CPU, -3);
  TFE_DeleteTensorHandle(there);
}

static void test_no_device(void** state) {
  held_t* held = malloc(sizeof *held);
  *held = (held_t){eager_handle(kit_float(1)), &counts};
  TFE_CustomDeviceTensorHandle methods = {.version = TFE_CUSTOM_DEVICE_VERSION,
                                          .num_dims = num_dims, .dim = dim,
                                          .deallocator = let_go, .summarize = NULL};
  assert_null(
      TFE_NewCustomDeviceTensorHandle(context, OTHER, TF_FLOAT, held, methods, status));
  kit_expect(status, TF_INVALID_ARGUMENT);
  assert_int_equal(counts.freed, 1);
}

static void test_packed(void** state) {
  TFE_TensorHandle* handles[] = {eager_handle(kit_float(3)), eager_handle(kit_float(4))};
  int count = 2;
  TFE_TensorHandle* packed = TFE_CreatePackedTensorHandle(context, handles, &count, status);
  kit_ok(status);
  assert_string_equal(TFE_TensorHandleDeviceName(packed, status),
                      "/job:localhost/replica:0/task:0/device:COMPOSITE:0");
  assert_null(TFE_TensorHandleResolve(packed, status));
  kit_expect_text(status, TF_INVALID_ARGUMENT, "Resolve() is not supported on packed");
  assert_float_equal(eager_float(eager_result(eager_op(context, "Neg", packed, NULL))), -3, 0);
  count = 0;
  assert_null(TFE_CreatePackedTensorHandle(context, handles, &count, status));
  kit_expect_text(status, TF_INVALID_ARGUMENT, "Handles should not be empty.");
  TFE_TensorHandle* there = on(DEVICE, 1);
  count = 1;
  assert_null(TFE_CreatePackedTensorHandle(context, &there, &count, status));
  kit_expect(status, TF_UNIMPLEMENTED);
  TFE_DeleteTensorHandle(there);
  TFE_DeleteTensorHandle(packed);
  TFE_DeleteTensorHandle(handles[0]);
  TFE_DeleteTensorHandle(handles[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_registration, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_copies, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_placement, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_resources, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_two_devices, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_pins, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_no_device, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_packed, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
