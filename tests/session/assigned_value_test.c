// Whose memory a variable has after an assignment: that of the value, where nobody else has it,
// else its own, into which the value is copied. What somebody else has is never changed by later
// updates of the variable.
#include <stdlib.h>

#include "session/scene.h"

enum { kCount = 1000 };

typedef struct variable_s {
  scene_t s;
  leat_output_t dims, first;  // fed: the shape of the value, and each of its elements
  leat_output_t value, reshaped, handle, read;
  int32_t assign, add;
} variable_t;

static void open_variable(variable_t* v, bool is_resource) {
  scene_t* s = &v->s;
  const int64_t dims[] = {kCount};
  const leat_attrs_t attrs = LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                        LEAT_SHAPE("shape", ((leat_partial_shape_t){1, dims})));
  const char* op = is_resource ? "AssignVariableOp" : "Assign";
  scene_open(s);
  v->dims = scene_placeholder(s, "dims", LEAT_DTYPE_INT32);
  v->first = scene_placeholder(s, "first", LEAT_DTYPE_FLOAT);
  v->handle =
      scene_output(s, is_resource ? "VarHandleOp" : "VariableV2", "v", "", LEAT_NO_INPUTS, attrs);
  v->read = is_resource ? scene_output(s, "ReadVariableOp", "", "", LEAT_INPUTS(v->handle),
                                       LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)))
                        : scene_output(s, "Identity", "", "", LEAT_INPUTS(v->handle),
                                       LEAT_NO_ATTRS);
  // Of a shape that no plan of memory knows: it is allocated when it is made, and may be kept.
  v->value = scene_binary(s, "Fill", -1, v->dims, v->first);
  v->reshaped = scene_binary(s, "Reshape", -1, v->value,
                             leat_build_int32_vector(&s->b, (const int32_t[]){-1, 10}, 2));
  v->assign = scene_node(s, op, "", "", LEAT_INPUTS(v->handle, v->value), LEAT_NO_ATTRS);
  v->add = scene_node(s, is_resource ? "AssignAddVariableOp" : "AssignAdd", "", "",
                      LEAT_INPUTS(v->handle, v->value), LEAT_NO_ATTRS);
}

// Runs |target| with values of |first|, and fetches |fetch| too where |out_value| is not NULL.
static void run(variable_t* v, int32_t target, float first, leat_output_t fetch,
                leat_tensor_t* out_value) {
  leat_output_t feeds[] = {v->dims, v->first};
  leat_tensor_t values[2] = {{0}, scene_value(first)};
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, &(int32_t){kCount}, 1, &values[0]));
  LEAT_EXPECT_OK(scene_run(&v->s, (leat_outputs_t){feeds, 2}, values,
                           (leat_outputs_t){&fetch, out_value ? 1 : 0}, out_value, &target, 1));
}

static void expect_all(const leat_tensor_t* tensor, float wanted) {
  assert_int_equal(tensor->shape.element_count, kCount);
  for (int i = 0; i < kCount; ++i) {
    const float x = leat_tensor_data(tensor, const float)[i];
    if (x != wanted) fail_msg("element %d is %g, must be %g", i, (double)x, (double)wanted);
  }
}

// Checks the variable's value, and gives the address of its memory.
static const void* look(variable_t* v, float wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(scene_fetch(&v->s, v->read, &value));
  expect_all(&value, wanted);
  const void* address = value.data;
  leat_tensor_release(&value);
  return address;
}

static leat_tensor_t assign_and_fetch(variable_t* v, leat_output_t fetch, float first) {
  leat_tensor_t value;
  run(v, v->assign, first, fetch, &value);
  return value;
}

static void check(bool is_resource) {
  const bool shows_memory = !getenv("LEAT_SESSION_TARGET") && is_resource;
  variable_t v;
  open_variable(&v, is_resource);
  run(&v, v.assign, 1, v.value, NULL);
  const void* former = look(&v, 1);
  run(&v, v.assign, 2, v.value, NULL);
  const void* taken = look(&v, 2);
  if (shows_memory) assert_ptr_not_equal(taken, former);
  leat_tensor_t fetched = assign_and_fetch(&v, v.value, 3);  // the client has it too
  const void* own = look(&v, 3);
  if (shows_memory) assert_ptr_equal(own, taken);
  run(&v, v.add, 1, v.value, NULL);
  look(&v, 4);
  expect_all(&fetched, 3);
  leat_tensor_release(&fetched);
  fetched = assign_and_fetch(&v, v.reshaped, 5);  // and the same memory under another shape
  run(&v, v.add, 1, v.value, NULL);
  look(&v, 6);
  expect_all(&fetched, 5);
  leat_tensor_release(&fetched);
  scene_close(&v.s);
}

static void resource_variables(void** state) { check(true); }

static void reference_variables(void** state) { check(false); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(resource_variables),
      cmocka_unit_test(reference_variables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
