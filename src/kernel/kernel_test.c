// The context of a running kernel: when an output may take the place of an input, when a planned
// buffer serves, how inputs and references are passed on, and what errors say. The test makes a
// kernel and a context by hand, with two inputs, and calls the functions that kernels call; it
// looks at the addresses of the outputs, because a copy too many changes no value. Each condition
// of forwarding is broken by itself. Making and choosing kernels is tested in invoke_test.c and
// registry_test.c.
#include "kernel/kernel.h"

#include <string.h>

#include "base/test.h"
#include "kernel/resource.h"

// ---- A kernel with two inputs and an output, to try contexts on ---------------------------------

static const uint8_t kFloats[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT};
static const uint8_t kInt32[] = {LEAT_DTYPE_INT32};
static const uint8_t kDouble[] = {LEAT_DTYPE_DOUBLE};
static const uint8_t kStrings[] = {LEAT_DTYPE_STRING, LEAT_DTYPE_STRING};

typedef struct bench_s {
  leat_op_row_t op_row;
  leat_op_t op;
  leat_kernel_row_t row;
  leat_kernel_t kernel;
  leat_slot_t slots[2];
  uint32_t numbers[2];
  leat_slot_t outputs[2];
  leat_step_services_t services;
  leat_kernel_context_t context;
} bench_t;

static leat_tensor_t floats(float first, int64_t count) {
  leat_tensor_t tensor;
  leat_shape_t shape = leat_shape_vector(count);
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  for (int64_t i = 0; i < count; ++i) leat_tensor_data(&tensor, float)[i] = first + (float)i;
  return tensor;
}

static void set_up(bench_t* b, const uint8_t* output_types) {
  *b = (bench_t){.op_row = {.name = "Try"}, .numbers = {0, 1}};
  b->op = (leat_op_t){.row = &b->op_row, .name = LEAT_SV("Try")};
  b->kernel = (leat_kernel_t){.row = &b->row,
                              .op = &b->op,
                              .node_name = LEAT_SV("x"),
                              .input_types = kFloats,
                              .output_types = output_types,
                              .input_count = 2,
                              .output_count = 1};
  b->slots[0] = (leat_slot_t){.tensor = floats(1, 4), .alive = true};
  b->slots[1] = (leat_slot_t){.tensor = floats(9, 4), .alive = true};
  b->services.memory = leat_buffer_source_host();
  b->context = (leat_kernel_context_t){.kernel = &b->kernel,
                                       .slots = b->slots,
                                       .input_slots = b->numbers,
                                       .outputs = b->outputs,
                                       .services = &b->services,
                                       .last_readers = 3};
}

static void tear_down(bench_t* b) {
  for (int i = 0; i < 2; ++i) {
    leat_slot_release(&b->slots[i]);
    leat_slot_release(&b->outputs[i]);
  }
}

// true when the output took the place of input 0.
static bool forwards(bench_t* b) {
  leat_tensor_t* output = NULL;
  leat_shape_t shape = leat_shape_vector(4);
  LEAT_EXPECT_OK(leat_kernel_forward_or_allocate(&b->context, 0, 0, &shape, &output));
  assert_ptr_equal(output, leat_kernel_output(&b->context, 0));
  assert_int_equal(output->dtype, b->kernel.output_types[0]);
  assert_true(b->outputs[0].alive);
  leat_tensor_t* input = &b->slots[0].tensor;
  bool is_same = output->data == input->data;
  assert_true(is_same == !input->buffer);  // the buffer moved
  if (is_same) {
    input->buffer = output->buffer;
    output->buffer = NULL;
  }
  leat_slot_release(&b->outputs[0]);
  return is_same;
}

static void forwarding_needs_every_condition(void** state) {
  bench_t b;
  set_up(&b, kFloats);
  assert_true(forwards(&b));
  b.context.last_readers = 2;
  assert_false(forwards(&b));
  b.context.last_readers = 3;
  b.numbers[1] = 0;  // read twice
  assert_false(forwards(&b));
  b.numbers[1] = 1;
  leat_tensor_t second = leat_tensor_share(&b.slots[0].tensor);
  assert_false(forwards(&b));
  leat_tensor_release(&second);
  b.slots[0].tensor.buffer->read_only = true;
  assert_false(forwards(&b));
  b.slots[0].tensor.buffer->read_only = false;
  b.slots[0].tensor.buffer->planned = true;
  assert_false(forwards(&b));
  b.slots[0].tensor.buffer->planned = false;
  b.kernel.output_types = kDouble;
  assert_false(forwards(&b));
  b.kernel.output_types = kStrings;
  assert_false(forwards(&b));
  b.kernel.output_types = kInt32;
  assert_true(forwards(&b));
  leat_tensor_t all = b.slots[0].tensor;
  LEAT_EXPECT_OK(leat_tensor_slice(&all, 0, 3, &b.slots[0].tensor));
  leat_tensor_release(&all);
  assert_false(forwards(&b));  // fewer elements
  tear_down(&b);
}

static void the_first_that_can_be_forwarded_is(void** state) {
  bench_t b;
  leat_tensor_t* output = NULL;
  leat_shape_t shape = leat_shape_vector(4);
  set_up(&b, kFloats);
  leat_tensor_t second = leat_tensor_share(&b.slots[0].tensor);
  LEAT_EXPECT_OK(leat_kernel_forward_any_or_allocate(&b.context, 3, 0, &shape, &output));
  assert_ptr_equal(output->data, b.slots[1].tensor.data);
  assert_true(leat_tensor_data(output, float)[0] == 9);
  leat_slot_release(&b.outputs[0]);
  LEAT_EXPECT_OK(leat_kernel_forward_any_or_allocate(&b.context, 1, 0, &shape, &output));
  assert_ptr_not_equal(output->data, b.slots[0].tensor.data);
  leat_tensor_release(&second);
  tear_down(&b);
}

// ---- Planned buffers ----------------------------------------------------------------------------

static void end_planned(leat_buffer_t* buffer) {
  atomic_store_explicit(&buffer->references, 0, memory_order_release);
}
static const leat_buffer_vtable_t kPlannedBuffer = {end_planned};

static void planned_buffers_serve_while_free(void** state) {
  static LEAT_ALIGNED(64) float memory[16];
  leat_buffer_t planned = {
      .vtable = &kPlannedBuffer, .data = memory, .size_bytes = sizeof(memory), .planned = true};
  leat_buffer_t* const plan[] = {&planned};
  bench_t b;
  leat_tensor_t *output = NULL, *other = NULL;
  leat_shape_t shape = leat_shape_vector(16), large = leat_shape_vector(17);
  set_up(&b, kFloats);
  b.context.planned_outputs = plan;
  for (int i = 0; i < 3; ++i) {  // setting it again gives the former one back
    LEAT_EXPECT_OK(leat_kernel_allocate_output(&b.context, 0, &shape, &output));
    assert_ptr_equal(output->data, memory);
  }
  leat_tensor_t kept = leat_tensor_share(output);
  LEAT_EXPECT_OK(leat_kernel_allocate_output(&b.context, 0, &shape, &other));
  assert_ptr_not_equal(other->data, memory);  // in use
  leat_tensor_release(&kept);
  assert_int_equal(planned.references, 0);
  LEAT_EXPECT_OK(leat_kernel_allocate_output(&b.context, 0, &large, &output));
  assert_ptr_not_equal(output->data, memory);  // too small
  b.kernel.output_types = kStrings;
  leat_shape_t one = leat_shape_vector(1);
  LEAT_EXPECT_OK(leat_kernel_allocate_output(&b.context, 0, &one, &output));
  assert_ptr_not_equal(output->data, memory);  // objects live elsewhere
  tear_down(&b);
}

// A planned input goes on in place only where the plan says so.
static void the_plan_decides_what_is_overwritten(void** state) {
  static LEAT_ALIGNED(64) float first[4], second[4];
  leat_buffer_t a = {
      .vtable = &kPlannedBuffer, .data = first, .size_bytes = sizeof(first), .planned = true};
  leat_buffer_t b = a;
  b.data = second;
  bench_t bench;
  set_up(&bench, kFloats);
  leat_tensor_release(&bench.slots[0].tensor);
  leat_shape_t shape = leat_shape_vector(4);
  LEAT_EXPECT_OK(
      leat_tensor_of_buffer(&a, LEAT_DTYPE_FLOAT, &shape, &bench.slots[0].tensor));
  leat_buffer_t* const apart[] = {&b};
  leat_buffer_t* const in_place[] = {&a};
  bench.context.planned_outputs = apart;
  assert_false(forwards(&bench));
  bench.context.planned_outputs = in_place;
  assert_true(forwards(&bench));
  leat_tensor_t* output = NULL;
  LEAT_EXPECT_OK(leat_kernel_allocate_output(&bench.context, 0, &shape, &output));
  assert_ptr_not_equal(output->data, first);  // a kernel that does not work in place
  tear_down(&bench);
}

// ---- The rest of the context --------------------------------------------------------------------

static void inputs_pass_and_references_travel(void** state) {
  bench_t b;
  set_up(&b, kFloats);
  leat_kernel_pass_input(&b.context, 0, 0);
  assert_ptr_equal(b.outputs[0].tensor.data, b.slots[0].tensor.data);
  int64_t dims[] = {2, 2};
  leat_shape_t square, wrong = leat_shape_vector(5);
  LEAT_EXPECT_OK(leat_shape_create(2, dims, &square));
  LEAT_EXPECT_OK(leat_kernel_pass_input_reshaped(&b.context, 0, 0, &square));
  assert_int_equal(b.outputs[0].tensor.shape.rank, 2);
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_kernel_pass_input_reshaped(&b.context, 0, 0, &wrong));
  leat_cell_t* cell = NULL;
  LEAT_EXPECT_OK(leat_cell_create(LEAT_SV("v"), NULL, &cell));
  leat_slot_release(&b.slots[0]);
  b.slots[0] = (leat_slot_t){.ref = cell, .alive = true};
  leat_kernel_pass_ref(&b.context, 0, 0);
  leat_kernel_pass_ref(&b.context, 0, 0);
  assert_ptr_equal(b.outputs[0].ref, leat_kernel_input_ref(&b.context, 0));
  assert_int_equal(cell->resource.references, 2);
  leat_tensor_t temporary;
  leat_shape_t vector = leat_shape_vector(3);
  LEAT_EXPECT_OK(
      leat_kernel_allocate_temporary(&b.context, LEAT_DTYPE_INT8, &vector, &temporary));
  leat_tensor_release(&temporary);
  tear_down(&b);
}

static void errors_name_the_node(void** state) {
  bench_t b;
  set_up(&b, kFloats);
  leat_status_t status = leat_kernel_invalid(&b.context, "axis is %d, must be 0", 3);
  assert_string_equal(leat_status_message(status),
                      "Compute failed for node 'x' (Try): axis is 3, must be 0");
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, status);
  status = leat_kernel_error(&b.context, LEAT_OUT_OF_RANGE, "no");
  assert_non_null(strstr(leat_status_file(status), "kernel_test.c"));
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, status);
  tear_down(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forwarding_needs_every_condition),
      cmocka_unit_test(the_first_that_can_be_forwarded_is),
      cmocka_unit_test(planned_buffers_serve_while_free),
      cmocka_unit_test(the_plan_decides_what_is_overwritten),
      cmocka_unit_test(inputs_pass_and_references_travel),
      cmocka_unit_test(errors_name_the_node),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
