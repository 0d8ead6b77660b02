// Making kernels and running them alone: creation, attributes, contracts, asynchronous kernels,
// references. The test declares ops and kernels of its own, since none of ours has just one
// property, and calls leat_kernel_create and leat_kernel_invoke on them without a graph or an
// executor. Messages are compared in full, because users read them. How kernels are chosen is
// tested in registry_test.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/test.h"
#include "kernel/kernel.h"
#include "kernel/resource.h"

#define DEVICE "/job:localhost/replica:0/task:0/device:CPU:0"

static leat_device_t* device;

static int make_device(void** state) {
  leat_thread_pool_t* pool = NULL;
  leat_status_t status = leat_thread_pool_create(2, leat_allocator_system(), &pool);
  if (!status) {
    status = leat_cpu_device_create(LEAT_SV(DEVICE), pool, leat_allocator_system(), &device);
  }
  leat_thread_pool_release(pool);
  leat_status_free(status);
  return device == NULL;
}
static int end_device(void** state) {
  leat_device_release(device);
  return 0;
}

// An op parsed from |row|; ends with the arena.
static const leat_op_t* parse(leat_arena_t* arena, const leat_op_row_t* row) {
  leat_op_t* op = NULL;
  leat_arena_initialize(leat_allocator_system(), 0, arena);
  LEAT_EXPECT_OK(leat_op_parse(row, arena, &op));
  return op;
}

// ---- Creation -----------------------------------------------------------------------------------

typedef struct state_s {
  char* text;
  int64_t number;
} state_t;

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  state_t* state = memory;
  leat_string_view_t text;
  bool flag = false;
  float real = 0;
  int dtype = 0, count = 0;
  const int64_t* ints = NULL;
  leat_partial_shape_t shape;
  const leat_tensor_t* tensor = NULL;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "s", &text));
  state->text = strndup(text.data, text.size);  // before what fails: |destroy| ends it
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "i", &state->number));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "b", &flag));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "f", &real));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "t", &dtype));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_ints(c, "l", &ints, &count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(c, "shape", &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_tensor(c, "value", &tensor));
  assert_true(flag && real == 0.5f && dtype == LEAT_DTYPE_HALF && count == 2 && ints[1] == 9);
  assert_true(shape.rank == -1 && tensor->dtype == LEAT_DTYPE_FLOAT);
  return leat_ok_status();
}

static void destroy(void* memory) { free(((state_t*)memory)->text); }

static leat_status_t number_out(leat_kernel_context_t* c) {
  leat_tensor_t* output = NULL;
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  leat_tensor_data(output, int64_t)[0] = ((state_t*)leat_kernel_state(c))->number;
  return leat_ok_status();
}

static void kernels_are_made_from_attributes(void** state) {
  static const leat_op_row_t op_row = {.name = "Number", .outputs = "number: int64"};
  static const leat_kernel_row_t row = {.op = "Number",
                                        .device_type = "CPU",
                                        .create = create,
                                        .destroy = destroy,
                                        .state_bytes = sizeof(state_t),
                                        .compute = number_out};
  static const uint8_t types[] = {LEAT_DTYPE_INT64};
  const int64_t ints[] = {8, 9};
  const float one = 1;
  leat_tensor_t value, output;
  leat_arena_t arena;
  leat_kernel_t* kernel = NULL;
  const leat_op_t* op = parse(&arena, &op_row);
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_FLOAT, &one, &value));
  leat_attr_t attrs[] = {
      LEAT_STR("s", "text"),
      LEAT_INT("i", 42),
      LEAT_BOOL("b", true),
      LEAT_REAL("f", 0.5f),
      LEAT_TYPE("t", LEAT_DTYPE_HALF),
      {LEAT_SV("l"), {.kind = LEAT_ATTR_INT, .is_list = true, .count = 2, .ints = ints}},
      LEAT_SHAPE("shape", leat_partial_shape_unknown()),
      LEAT_TENSOR("value", &value),
  };
  // Without the last attributes it fails, and what it had made is ended.
  for (int count = 0; count < 8; ++count) {
    leat_status_t status =
        leat_kernel_create(
            &(leat_kernel_spec_t){.row = &row, .op = op, .node_name = LEAT_SV("n"),
                .attrs = attrs, .attr_count = count, .output_types = types, .output_count = 1,
                .device = device, .allocator = leat_allocator_system()}, &kernel);
    if (count == 0) {
      assert_string_equal(leat_status_message(status),
                          "Kernel creation failed for node 'n' (Number): attribute s is missing");
    }
    LEAT_EXPECT_CODE(LEAT_INTERNAL, status);
    assert_null(kernel);
  }
  LEAT_EXPECT_OK(leat_kernel_create(
      &(leat_kernel_spec_t){.row = &row, .op = op, .node_name = LEAT_SV("n"), .attrs = attrs,
          .attr_count = 8, .output_types = types, .output_count = 1, .device = device,
          .allocator = leat_allocator_system()}, &kernel));
  assert_int_equal((uintptr_t)kernel->state % 64, 0);
  LEAT_EXPECT_OK(leat_kernel_invoke(kernel, NULL, NULL, &output));
  assert_true(leat_tensor_data(&output, int64_t)[0] == 42);
  leat_tensor_release(&output);
  leat_kernel_free(kernel);
  attrs[1] = LEAT_BOOL("i", true);
  leat_status_t status =
      leat_kernel_create(
          &(leat_kernel_spec_t){.row = &row, .op = op, .node_name = LEAT_SV("n"), .attrs = attrs,
              .attr_count = 8, .output_types = types, .output_count = 1, .device = device,
              .allocator = leat_allocator_system()}, &kernel);
  assert_string_equal(
      leat_status_message(status),
      "Kernel creation failed for node 'n' (Number): attribute i is bool, must be int");
  LEAT_EXPECT_CODE(LEAT_INTERNAL, status);
  leat_kernel_free(NULL);
  leat_tensor_release(&value);
  leat_arena_deinitialize(&arena);
}

// ---- Contracts ----------------------------------------------------------------------------------

static leat_status_t nothing(leat_kernel_context_t* c) { return leat_ok_status(); }

static leat_tensor_t zeros(int rank, const int64_t* dims) {
  leat_tensor_t tensor;
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(rank, dims, &shape));
  LEAT_EXPECT_OK(leat_tensor_allocate(device->memory, LEAT_DTYPE_FLOAT, &shape, &tensor));
  leat_tensor_fill_zero(&tensor);
  return tensor;
}

// The message after "Compute failed for node 'n' (Op): " when a kernel with |rule| runs over
// inputs "a" of shape [2,3] and "values" of |shapes|; "" when it runs.
static const char* broken(leat_rule_t rule, int rank, const int64_t* dims) {
  static char message[512];
  static const uint8_t types[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT};
  const leat_op_row_t op_row = {.name = "Op",
                                .inputs = "a: T; values: N * T",
                                .attrs = "T: type; N: int >= 1",
                                .contract = LEAT_RULES(rule)};
  const leat_kernel_row_t row = {.op = "Op", .device_type = "CPU", .compute = nothing};
  leat_arena_t arena;
  leat_kernel_t* kernel = NULL;
  const leat_op_t* op = parse(&arena, &op_row);
  LEAT_EXPECT_OK(leat_kernel_create(
      &(leat_kernel_spec_t){.row = &row, .op = op, .node_name = LEAT_SV("n"),
          .input_types = types, .input_count = 3, .device = device,
          .allocator = leat_allocator_system()}, &kernel));
  leat_tensor_t inputs[] = {zeros(2, (int64_t[]){2, 3}), zeros(rank, dims), zeros(rank, dims)};
  leat_status_t status = leat_kernel_invoke(kernel, NULL, inputs, NULL);
  const char* prefix = "Compute failed for node 'n' (Op): ";
  message[0] = '\0';
  if (status) {
    assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
    assert_memory_equal(leat_status_message(status), prefix, strlen(prefix));
    snprintf(message, sizeof(message), "%s", leat_status_message(status) + strlen(prefix));
  }
  leat_status_free(status);
  for (int i = 0; i < 3; ++i) leat_tensor_release(&inputs[i]);
  leat_kernel_free(kernel);
  leat_arena_deinitialize(&arena);
  return message;
}

#define BROKEN(rank, dims, ...) broken((leat_rule_t)__VA_ARGS__, rank, (const int64_t[])dims)
#define DIMS(...) {__VA_ARGS__}

static void contracts_hold_before_a_run(void** state) {
#define TWO_THREE DIMS(2, 3)
#define FIVE DIMS(5)
#define NONE DIMS(0)
  assert_string_equal(BROKEN(1, FIVE, LEAT_RULE_MATRIX(0)), "");
  assert_string_equal(BROKEN(1, FIVE, LEAT_RULE_VECTOR(0)),
                      "input a must be a vector, has shape [2,3]");
  assert_string_equal(BROKEN(1, FIVE, LEAT_RULE_RANK(1, 3)),
                      "input values[0] must be of rank 3, has shape [5]");
  assert_string_equal(BROKEN(1, FIVE, LEAT_RULE_RANK_AT_LEAST(2, 2)),
                      "input values[1] must be of rank at least 2, has shape [5]");
  assert_string_equal(BROKEN(1, FIVE, LEAT_RULE_RANK_AT_MOST(0, 1)),
                      "input a must be of rank at most 1, has shape [2,3]");
  assert_string_equal(BROKEN(2, TWO_THREE, LEAT_RULE_SAME_SHAPE(0, 1)), "");
  assert_string_equal(
      BROKEN(1, FIVE, LEAT_RULE_SAME_SHAPE(0, 1)),
      "input a must be the shape of input values[0], which is [5], has shape [2,3]");
  assert_string_equal(BROKEN(2, TWO_THREE, LEAT_RULE_SAME_DIM(0, 1, 1, -1)), "");
  assert_string_equal(BROKEN(1, FIVE, LEAT_RULE_SAME_DIM(0, 1, 1, -1)),
                      "input a must be equal in dimension 1 to dimension -1 of "
                      "input values[0] of shape [5], has shape [2,3]");
  assert_true(*BROKEN(1, FIVE, LEAT_RULE_SAME_DIM(1, 1, 2, 1)));  // no such dimension
  assert_string_equal(BROKEN(1, FIVE, LEAT_RULE_DIM(0, -1, 3)), "");
  assert_string_equal(BROKEN(1, FIVE, LEAT_RULE_DIM(1, 0, 4)),
                      "input values[0] must be of size 4 in dimension 0, has shape [5]");
  assert_string_equal(BROKEN(1, FIVE, LEAT_RULE_COUNT(1, 1)),
                      "input values[0] must be of 1 element, has shape [5]");
  assert_string_equal(BROKEN(1, NONE, LEAT_RULE_NOT_EMPTY(2)),
                      "input values[1] must be not empty, has shape [0]");
  assert_string_equal(BROKEN(1, FIVE, LEAT_RULE_MATRIX(7)), "");  // a shorter list
}

// ---- Runs ---------------------------------------------------------------------------------------

typedef struct call_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
} call_t;

static void finish_later(void* data) {
  call_t call = *(call_t*)data;
  free(data);
  bool fails = leat_tensor_data(leat_kernel_input(call.context, 0), float)[0] != 0;
  leat_kernel_pass_input(call.context, 0, 0);
  call.done(call.context, fails ? leat_kernel_error(call.context, LEAT_UNAVAILABLE, "later")
                                : leat_ok_status());
}

static void compute_later(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  call_t* call = malloc(sizeof(*call));
  *call = (call_t){.context = c, .done = done};
  leat_thread_pool_schedule(c->services->pool, finish_later, call);
}

static void asynchronous_kernels_are_waited_for(void** state) {
  static const leat_op_row_t op_row = {
      .name = "Later", .inputs = "x: float", .outputs = "y: float"};
  static const leat_kernel_row_t row = {
      .op = "Later", .device_type = "CPU", .compute_async = compute_later};
  static const uint8_t types[] = {LEAT_DTYPE_FLOAT};
  leat_arena_t arena;
  leat_kernel_t* kernel = NULL;
  const leat_op_t* op = parse(&arena, &op_row);
  LEAT_EXPECT_OK(leat_kernel_create(
      &(leat_kernel_spec_t){.row = &row, .op = op, .node_name = LEAT_SV("n"),
          .input_types = types, .input_count = 1, .output_types = types, .output_count = 1,
          .device = device, .allocator = leat_allocator_system()}, &kernel));
  leat_tensor_t input = zeros(1, (int64_t[]){1}), output;
  for (int i = 0; i < 50; ++i) {
    leat_tensor_data(&input, float)[0] = (float)(i % 2);
    leat_status_t status = leat_kernel_invoke(kernel, NULL, &input, &output);
    assert_int_equal(leat_status_code(status), i % 2 ? LEAT_UNAVAILABLE : LEAT_OK);
    assert_true(status ? output.dtype == 0 : output.data == input.data);
    leat_status_free(status);
    leat_tensor_release(&output);
  }
  leat_tensor_release(&input);
  leat_kernel_free(kernel);
  leat_arena_deinitialize(&arena);
}

static leat_status_t split(leat_kernel_context_t* c) {
  for (int i = 0; i < c->kernel->output_count; ++i) leat_kernel_pass_input(c, i, i);
  return leat_ok_status();
}

static void many_inputs_and_outputs_are_taken(void** state) {
  static const leat_op_row_t op_row = {.name = "Many"};
  static const leat_kernel_row_t row = {.op = "Many", .device_type = "CPU", .compute = split};
  uint8_t types[100];
  leat_tensor_t inputs[100], outputs[100];
  leat_arena_t arena;
  leat_kernel_t* kernel = NULL;
  const leat_op_t* op = parse(&arena, &op_row);
  memset(types, LEAT_DTYPE_FLOAT, sizeof(types));
  for (int i = 0; i < 100; ++i) inputs[i] = zeros(1, (int64_t[]){i});
  LEAT_EXPECT_OK(leat_kernel_create(
      &(leat_kernel_spec_t){.row = &row, .op = op, .node_name = LEAT_SV("n"),
          .input_types = types, .input_count = 100, .output_types = types, .output_count = 100,
          .device = device, .allocator = leat_allocator_system()}, &kernel));
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = leat_kernel_invoke(kernel, NULL, inputs, outputs);
    if (!leat_fault_remove(&fault)) {
      LEAT_EXPECT_OK(status);
      break;
    }
    LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
  }
  for (int i = 0; i < 100; ++i) {
    assert_true(outputs[i].shape.element_count == i);
    leat_tensor_release(&inputs[i]);
    leat_tensor_release(&outputs[i]);
  }
  leat_kernel_free(kernel);
  leat_arena_deinitialize(&arena);
}

static leat_status_t pass_both(leat_kernel_context_t* c) {
  leat_kernel_pass_input(c, 0, 0);
  leat_kernel_pass_ref(c, 1, 1);
  return leat_ok_status();
}

static void references_are_read_where_values_are_meant(void** state) {
  static const leat_op_row_t op_row = {.name = "Refs",
                                       .inputs = "value: float; ref: Ref(float)",
                                       .outputs = "a: float; b: Ref(float)"};
  static const leat_kernel_row_t row = {.op = "Refs", .device_type = "CPU", .compute = pass_both};
  static const uint8_t types[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT + LEAT_DTYPE_REF_OFFSET};
  leat_arena_t arena;
  leat_kernel_t* kernel = NULL;
  leat_cell_t* cell = NULL;
  const leat_op_t* op = parse(&arena, &op_row);
  LEAT_EXPECT_OK(leat_kernel_create(
      &(leat_kernel_spec_t){.row = &row, .op = op, .node_name = LEAT_SV("n"),
          .input_types = types, .input_count = 2, .output_types = types, .output_count = 2,
          .device = device, .allocator = leat_allocator_system()}, &kernel));
  LEAT_EXPECT_OK(leat_cell_create(LEAT_SV("v"), NULL, &cell));
  leat_slot_t inputs[] = {{.ref = cell, .alive = true}, {.ref = cell, .alive = true}};
  leat_slot_t outputs[2];
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION,
                   leat_kernel_invoke_slots(kernel, NULL, inputs, outputs));
  leat_cell_set(cell, zeros(1, (int64_t[]){3}));
  LEAT_EXPECT_OK(leat_kernel_invoke_slots(kernel, NULL, inputs, outputs));
  assert_ptr_equal(outputs[0].tensor.data, cell->tensor.data);
  assert_ptr_equal(outputs[1].ref, cell);
  for (int i = 0; i < 2; ++i) leat_slot_release(&outputs[i]);
  assert_int_equal(cell->resource.references, 1);
  leat_kernel_free(kernel);
  leat_cell_release(cell);
  leat_arena_deinitialize(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_are_made_from_attributes),
      cmocka_unit_test(contracts_hold_before_a_run),
      cmocka_unit_test(asynchronous_kernels_are_waited_for),
      cmocka_unit_test(many_inputs_and_outputs_are_taken),
      cmocka_unit_test(references_are_read_where_values_are_meant),
  };
  return cmocka_run_group_tests(tests, make_device, end_device);
}
