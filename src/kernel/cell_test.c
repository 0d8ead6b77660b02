// The cell, which holds a variable's value. A reader that took the value keeps it, whatever a
// writer does afterwards; a new cell has none and says so; a handle names the cell that it was made
// of. Two threads that read and two that add share one cell: each reader must find all elements
// equal, since a value is seen whole or not at all, and no addition may be lost. Kernels that read
// and assign variables are tested in ops/state.
#include "base/test.h"
#include "base/thread.h"
#include "kernel/resource.h"

static leat_cell_t* make_cell(const float* values, int64_t count) {
  leat_cell_t* cell = NULL;
  leat_tensor_t value;
  LEAT_EXPECT_OK(leat_cell_create(LEAT_SV("v"), NULL, &cell));
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, values, count, &value));
  leat_cell_set(cell, value);
  return cell;
}

static void a_reader_keeps_the_former_value(void** state) {
  const float values[] = {1, 2};
  leat_cell_t* cell = make_cell(values, 2);
  leat_tensor_t before = {0};
  void* data = cell->tensor.data;
  leat_mutex_lock(&cell->mutex);
  LEAT_EXPECT_OK(leat_cell_make_exclusive(cell, leat_buffer_source_host()));
  assert_ptr_equal(cell->tensor.data, data);  // nobody shares it: in place
  leat_mutex_unlock(&cell->mutex);

  assert_true(leat_cell_read(cell, &before));
  leat_mutex_lock(&cell->mutex);
  LEAT_EXPECT_OK(leat_cell_make_exclusive(cell, leat_buffer_source_host()));
  assert_ptr_not_equal(cell->tensor.data, data);
  leat_tensor_data(&cell->tensor, float)[0] = 7;
  leat_mutex_unlock(&cell->mutex);
  assert_true(leat_tensor_data(&before, float)[0] == 1);
  leat_tensor_release(&before);
  leat_cell_release(cell);
}

static void a_new_cell_has_no_value(void** state) {
  leat_cell_t* cell = NULL;
  leat_tensor_t value = {0};
  char text[64];
  LEAT_EXPECT_OK(leat_cell_create(LEAT_SV("v"), NULL, &cell));
  assert_false(leat_cell_read(cell, &value));
  LEAT_EXPECT_OK(leat_cell_make_exclusive(cell, leat_buffer_source_host()));
  leat_cell_kind.describe(&cell->resource, text, sizeof(text));
  assert_string_equal(text, "Var, not initialized");
  const float one = 1;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, &one, 1, &value));
  leat_cell_set(cell, value);
  leat_cell_kind.describe(&cell->resource, text, sizeof(text));
  assert_string_equal(text, "Var float [1]");
  leat_cell_release(cell);
  leat_cell_release(NULL);
}

static leat_tensor_t make_handle(const char* name, const char* type_name) {
  leat_tensor_t tensor;
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_RESOURCE, &scalar, &tensor));
  if (name) {
    LEAT_EXPECT_OK(leat_resource_handle_create(LEAT_SV("cpu"), LEAT_SV("localhost"),
                                               leat_string_view_from(name),
                                               leat_string_view_from(type_name),
                                               leat_tensor_data(&tensor, leat_resource_handle_t*)));
  }
  return tensor;
}

static void expect_look_up(leat_resource_manager_t* manager, leat_tensor_t handle,
                           leat_status_code_t code, leat_cell_t* expected) {
  leat_cell_t* cell = NULL;
  LEAT_EXPECT_CODE(code, leat_cell_of_handle(manager, &handle, &cell));
  assert_ptr_equal(cell, expected);
  leat_cell_release(cell);
  leat_tensor_release(&handle);
}

static void a_handle_names_its_cell(void** state) {
  const float one = 1;
  leat_resource_manager_t* manager = NULL;
  leat_cell_t* cell = make_cell(&one, 1);
  leat_tensor_t number;
  LEAT_EXPECT_OK(leat_resource_manager_create(leat_allocator_system(), &manager));
  LEAT_EXPECT_OK(leat_resource_manager_add(manager, LEAT_SV(""), LEAT_SV("v"), &cell->resource));
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, &one, 1, &number));
  expect_look_up(manager, make_handle("v", "Var"), LEAT_OK, cell);
  expect_look_up(manager, make_handle("w", "Var"), LEAT_NOT_FOUND, NULL);
  expect_look_up(manager, make_handle("v", "Queue"), LEAT_INVALID_ARGUMENT, NULL);
  expect_look_up(manager, make_handle(NULL, NULL), LEAT_INVALID_ARGUMENT, NULL);
  expect_look_up(manager, number, LEAT_INVALID_ARGUMENT, NULL);
  leat_resource_manager_free(manager);
  leat_cell_release(cell);
}

#define VALUES 64

// Every value that a reader sees is whole.
static void read_whole(void* data) {
  leat_cell_t* cell = data;
  for (int i = 0; i < 4000; ++i) {
    leat_tensor_t value = {0};
    assert_true(leat_cell_read(cell, &value));
    const float* numbers = leat_tensor_data(&value, const float);
    for (int k = 1; k < VALUES; ++k) assert_true(numbers[k] == numbers[0]);
    leat_tensor_release(&value);
  }
}

static void add_one(void* data) {
  leat_cell_t* cell = data;
  for (int i = 0; i < 4000; ++i) {
    leat_mutex_lock(&cell->mutex);
    LEAT_EXPECT_OK(leat_cell_make_exclusive(cell, leat_buffer_source_host()));
    for (int k = 0; k < VALUES; ++k) leat_tensor_data(&cell->tensor, float)[k] += 1;
    leat_mutex_unlock(&cell->mutex);
  }
}

static void readers_and_writers_share_a_cell(void** state) {
  const float zeros[VALUES] = {0};
  leat_cell_t* cell = make_cell(zeros, VALUES);
  leat_thread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    LEAT_EXPECT_OK(
        leat_thread_start("cell", i < 2 ? read_whole : add_one, cell, &threads[i]));
  }
  for (int i = 0; i < 4; ++i) leat_thread_join(threads[i]);
  assert_true(leat_tensor_data(&cell->tensor, float)[VALUES - 1] == 8000);
  leat_cell_release(cell);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_reader_keeps_the_former_value),
      cmocka_unit_test(a_new_cell_has_no_value),
      cmocka_unit_test(a_handle_names_its_cell),
      cmocka_unit_test(readers_and_writers_share_a_cell),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
