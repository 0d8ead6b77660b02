// Tensors as values: who owns what, what is refused, and that every allocation may fail. The tests
// share, slice, reshape, copy and move tensors, and look at the bytes, at the number of owners of
// the buffer, and at the codes of refusals. A leak or a use after release is found by the
// sanitizers that these tests also run under. Buffers, shapes and printing have tests of their own
// beside this one.
#include "tensor/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/observer.h"

#define LONG_TEXT "a string that is far too long for the 24 bytes of the object itself"

static void expect_code(leat_status_t status, leat_status_code_t code) {
  assert_int_equal(leat_status_code(status), code);
  leat_status_free(status);
}

static leat_shape_t make_shape(int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  leat_shape_t shape;
  assert_null(leat_shape_create(2, dims, &shape));
  return shape;
}

static leat_tensor_t make(int dtype, int64_t rows, int64_t columns) {
  leat_shape_t shape = make_shape(rows, columns);
  leat_tensor_t tensor;
  assert_null(leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, &tensor));
  return tensor;
}

static void sharing_shares_and_copying_copies(void** state) {
  (void)state;
  leat_tensor_t a = make(LEAT_DTYPE_INT32, 2, 3);
  assert_int_equal(leat_tensor_size_bytes(&a), 24);
  for (int i = 0; i < 6; ++i) leat_tensor_data(&a, int32_t)[i] = i;
  assert_true(leat_buffer_is_exclusive(a.buffer));
  leat_tensor_t b = leat_tensor_share(&a);
  assert_ptr_equal(a.data, b.data);
  assert_false(leat_buffer_is_exclusive(a.buffer));
  leat_tensor_t c;
  assert_null(leat_tensor_copy(leat_buffer_source_host(), &a, &c));
  leat_tensor_fill_zero(&a);
  assert_int_equal(leat_tensor_index_at(&b, 5), 0);
  assert_int_equal(leat_tensor_index_at(&c, 5), 5);
  leat_tensor_release(&b);
  assert_true(leat_buffer_is_exclusive(a.buffer));
  leat_tensor_t d = leat_tensor_move(&a);
  assert_int_equal(a.dtype, 0);
  leat_tensor_release(&a);  // "no tensor" may be released
  leat_tensor_release(&c);
  leat_tensor_release(&d);
}

static void empty_tensors_are_legal_everywhere(void** state) {
  (void)state;
  for (int dtype = 1; dtype < LEAT_DTYPE_COUNT; ++dtype) {
    leat_tensor_t tensor = make(dtype, 0, 3);
    assert_null(tensor.buffer);
    assert_non_null(tensor.data);
    leat_tensor_t copy, slice, reshaped;
    assert_null(leat_tensor_copy(leat_buffer_source_host(), &tensor, &copy));
    assert_null(leat_tensor_slice(&tensor, 0, 0, &slice));
    leat_shape_t shape = make_shape(7, 0);
    assert_null(leat_tensor_reshape(&tensor, &shape, &reshaped));
    leat_tensor_t shared = leat_tensor_share(&tensor);
    leat_tensor_fill_zero(&tensor);
    leat_tensor_release(&tensor);
    leat_tensor_release(&copy);
    leat_tensor_release(&slice);
    leat_tensor_release(&reshaped);
    leat_tensor_release(&shared);
  }
}

static void huge_and_unknown_are_refused(void** state) {
  (void)state;
  leat_tensor_t tensor;
  leat_buffer_source_t* host = leat_buffer_source_host();
  leat_shape_t shape = make_shape(INT64_C(1) << 31, INT64_C(1) << 31);  // 2^62 elements
  expect_code(leat_tensor_allocate(host, LEAT_DTYPE_UINT8, &shape, &tensor),
              LEAT_RESOURCE_EXHAUSTED);
  expect_code(leat_tensor_allocate(host, LEAT_DTYPE_FLOAT, &shape, &tensor),
              LEAT_RESOURCE_EXHAUSTED);  // bytes overflow
  assert_int_equal(tensor.dtype, 0);
  shape = make_shape(2, 2);
  expect_code(leat_tensor_allocate(host, 0, &shape, &tensor), LEAT_INVALID_ARGUMENT);
  expect_code(leat_tensor_allocate(host, 77, &shape, &tensor), LEAT_INVALID_ARGUMENT);
}

static void slices_share_rows(void** state) {
  (void)state;
  leat_tensor_t tensor = make(LEAT_DTYPE_INT64, 4, 3);
  for (int i = 0; i < 12; ++i) leat_tensor_data(&tensor, int64_t)[i] = i;
  leat_tensor_t slice, inner, empty, none;
  assert_null(leat_tensor_slice(&tensor, 1, 3, &slice));
  assert_int_equal(slice.shape.element_count, 6);
  assert_int_equal(leat_tensor_index_at(&slice, 0), 3);
  assert_null(leat_tensor_slice(&slice, 1, 2, &inner));
  assert_int_equal(leat_tensor_index_at(&inner, 2), 8);
  assert_null(leat_tensor_slice(&tensor, 4, 4, &empty));
  expect_code(leat_tensor_slice(&tensor, 0, 5, &none), LEAT_INVALID_ARGUMENT);
  expect_code(leat_tensor_slice(&tensor, -1, 2, &none), LEAT_INVALID_ARGUMENT);
  expect_code(leat_tensor_slice(&tensor, 3, 2, &none), LEAT_INVALID_ARGUMENT);
  assert_int_equal(tensor.buffer->references, 3);
  leat_tensor_release(&tensor);
  leat_tensor_release(&slice);
  assert_int_equal(leat_tensor_index_at(&inner, 0), 6);
  leat_tensor_release(&inner);
  leat_tensor_release(&empty);
  int32_t value = 1;
  assert_null(leat_tensor_scalar(LEAT_DTYPE_INT32, &value, &tensor));
  expect_code(leat_tensor_slice(&tensor, 0, 0, &none), LEAT_INVALID_ARGUMENT);
  leat_tensor_release(&tensor);
}

static void reshape_keeps_the_bytes(void** state) {
  (void)state;
  leat_tensor_t tensor = make(LEAT_DTYPE_FLOAT, 4, 3);
  leat_shape_t shape = make_shape(6, 2);
  leat_tensor_t reshaped, none;
  assert_null(leat_tensor_reshape(&tensor, &shape, &reshaped));
  assert_ptr_equal(tensor.data, reshaped.data);
  assert_int_equal(leat_shape_dim(&reshaped.shape, 0), 6);
  shape = make_shape(5, 2);
  expect_code(leat_tensor_reshape(&tensor, &shape, &none), LEAT_INVALID_ARGUMENT);
  assert_int_equal(none.dtype, 0);
  leat_tensor_release(&tensor);
  leat_tensor_release(&reshaped);
}

static void tensors_over_buffers_fit_them(void** state) {
  (void)state;
  float values[6] = {1, 2, 3, 4, 5, 6};
  leat_buffer_t* buffer = NULL;
  assert_null(leat_buffer_wrap(values, sizeof(values), NULL, NULL, &buffer));
  leat_tensor_t tensor, none;
  leat_shape_t shape = make_shape(2, 3);
  assert_null(leat_tensor_of_buffer(buffer, LEAT_DTYPE_FLOAT, &shape, &tensor));
  assert_ptr_equal(tensor.data, values);
  expect_code(leat_tensor_of_buffer(buffer, LEAT_DTYPE_DOUBLE, &shape, &none),
              LEAT_INVALID_ARGUMENT);
  expect_code(leat_tensor_of_buffer(NULL, LEAT_DTYPE_FLOAT, &shape, &none),
              LEAT_INVALID_ARGUMENT);
  leat_buffer_release(buffer);
  leat_tensor_release(&tensor);
  leat_tensor_t strings = make(LEAT_DTYPE_STRING, 2, 3);
  expect_code(leat_tensor_of_buffer(strings.buffer, LEAT_DTYPE_FLOAT, &shape, &none),
              LEAT_INVALID_ARGUMENT);  // plain bytes would overwrite objects
  assert_null(leat_tensor_of_buffer(strings.buffer, LEAT_DTYPE_STRING, &shape, &tensor));
  leat_tensor_release(&tensor);
  leat_tensor_release(&strings);
}

static void string_tensors_begin_empty_and_end_freed(void** state) {
  (void)state;
  leat_tensor_t strings = make(LEAT_DTYPE_STRING, 2, 2);
  assert_int_equal(leat_tensor_string_at(&strings, 3).size, 0);
  assert_null(leat_tensor_set_string(&strings, 0, LEAT_SV(LONG_TEXT)));
  assert_null(leat_tensor_set_string(&strings, 3, LEAT_SV("x\0y")));
  leat_tensor_t copy, slice;
  assert_null(leat_tensor_copy(leat_buffer_source_host(), &strings, &copy));
  assert_null(leat_tensor_slice(&strings, 1, 2, &slice));
  leat_tensor_fill_zero(&strings);
  assert_int_equal(leat_tensor_string_at(&slice, 1).size, 0);
  assert_true(leat_string_view_equals(leat_tensor_string_at(&copy, 0), LONG_TEXT));
  assert_int_equal(leat_tensor_string_at(&copy, 3).size, 3);
  leat_tensor_release(&strings);
  leat_tensor_release(&slice);
  leat_tensor_release(&copy);
  assert_null(leat_tensor_scalar_string(LEAT_SV(LONG_TEXT), &strings));
  assert_true(leat_string_view_equals(leat_tensor_string_at(&strings, 0), LONG_TEXT));
  leat_tensor_release(&strings);
}

static void texts_lie_in_the_block_of_their_elements(void** state) {
  (void)state;
  const leat_string_view_t texts[] = {LEAT_SV(LONG_TEXT), LEAT_SV("short"), LEAT_SV(LONG_TEXT "!")};
  int64_t dims[] = {4};
  leat_shape_t shape;
  leat_tensor_t tensor, slice, copy;
  size_t text_bytes = 0;
  for (int i = 0; i < 3; ++i) text_bytes += leat_tensor_text_bytes(texts[i]);
  assert_int_equal(text_bytes, 2 * sizeof(LONG_TEXT) + 1);
  assert_null(leat_shape_create(1, dims, &shape));
  char* text = NULL;
  assert_null(leat_tensor_allocate_texts(leat_buffer_source_host(), &shape, text_bytes, &tensor,
                                         &text));
  char* end = text + text_bytes;
  TF_TString* elements = leat_tensor_data(&tensor, TF_TString);
  assert_ptr_equal(text, elements + 4);
  for (int i = 0; i < 3; ++i) leat_tensor_place_text(&elements[i], texts[i], &text);
  assert_ptr_equal(text, end);
  assert_null(leat_tensor_slice(&tensor, 2, 4, &slice));
  assert_null(leat_tensor_copy(leat_buffer_source_host(), &tensor, &copy));
  // An element may still become any other text.
  assert_null(leat_tensor_set_string(&tensor, 0, LEAT_SV(LONG_TEXT LONG_TEXT)));
  assert_true(leat_string_view_equals(leat_tensor_string_at(&tensor, 0), LONG_TEXT LONG_TEXT));
  assert_null(leat_tensor_set_string(&tensor, 0, LEAT_SV("less")));
  leat_tensor_release(&tensor);
  assert_true(leat_string_view_equal(leat_tensor_string_at(&slice, 0), texts[2]));
  assert_int_equal(leat_tensor_string_at(&slice, 1).size, 0);
  leat_tensor_fill_zero(&slice);
  leat_tensor_release(&slice);
  for (int i = 0; i < 3; ++i) {
    assert_true(leat_string_view_equal(leat_tensor_string_at(&copy, i), texts[i]));
  }
  leat_tensor_release(&copy);
}

static void small_tensors_hold_their_values(void** state) {
  (void)state;
  leat_tensor_t tensor;
  double value = 2.5;
  assert_null(leat_tensor_scalar(LEAT_DTYPE_DOUBLE, &value, &tensor));
  assert_true(leat_tensor_data(&tensor, double)[0] == 2.5);
  leat_tensor_release(&tensor);
  const int32_t values[] = {3, 1, 2};
  assert_null(leat_tensor_vector(LEAT_DTYPE_INT32, values, 3, &tensor));
  assert_int_equal(leat_tensor_index_at(&tensor, 2), 2);
  leat_tensor_release(&tensor);
  assert_null(leat_tensor_vector(LEAT_DTYPE_INT32, NULL, 0, &tensor));
  leat_tensor_release(&tensor);
  expect_code(leat_tensor_vector(LEAT_DTYPE_INT32, values, -1, &tensor), LEAT_INVALID_ARGUMENT);
}

static void ranks_beyond_inline_travel_with_the_tensor(void** state) {
  (void)state;
  int64_t dims[20] = {3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
  leat_shape_t shape;
  assert_null(leat_shape_create(20, dims, &shape));
  leat_tensor_t tensor, slice, copy;
  assert_null(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_INT8, &shape, &tensor));
  leat_shape_release(&shape);
  leat_tensor_fill_zero(&tensor);
  leat_tensor_t shared = leat_tensor_share(&tensor);
  assert_null(leat_tensor_slice(&tensor, 1, 3, &slice));
  assert_null(leat_tensor_copy(leat_buffer_source_host(), &slice, &copy));
  leat_tensor_t moved = leat_tensor_move(&tensor);
  leat_tensor_release(&tensor);
  leat_tensor_release(&shared);
  assert_int_equal(leat_shape_dim(&copy.shape, 0), 2);
  assert_int_equal(leat_shape_dim(&moved.shape, 19), 2);
  leat_tensor_release(&moved);
  leat_tensor_release(&slice);
  leat_tensor_release(&copy);
}

static leat_status_t refuse_nth(void* data, size_t size_bytes) {
  int* remaining = data;
  (void)size_bytes;
  if ((*remaining)-- != 0) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "refused by the test");
}

static leat_status_t build_and_release(void) {
  int64_t dims[10] = {2, 1, 1, 1, 1, 1, 1, 1, 1, 2};
  leat_buffer_source_t* host = leat_buffer_source_host();
  leat_tensor_t tensor = {0}, slice = {0}, copy = {0}, text = {0};
  leat_shape_t shape = {0};
  leat_status_t status;
  LEAT_GOTO_IF_ERROR(status, leat_shape_create(10, dims, &shape));
  LEAT_GOTO_IF_ERROR(status, leat_tensor_allocate(host, LEAT_DTYPE_STRING, &shape, &tensor));
  LEAT_GOTO_IF_ERROR(status, leat_tensor_set_string(&tensor, 0, LEAT_SV(LONG_TEXT)));
  LEAT_GOTO_IF_ERROR(status, leat_tensor_slice(&tensor, 0, 1, &slice));
  LEAT_GOTO_IF_ERROR(status, leat_tensor_copy(host, &slice, &copy));
  LEAT_GOTO_IF_ERROR(status, leat_tensor_scalar_string(LEAT_SV(LONG_TEXT), &text));
  leat_tensor_release(&text);
  char* end = NULL;
  LEAT_GOTO_IF_ERROR(status, leat_tensor_allocate_texts(host, &shape, 100, &text, &end));
cleanup:
  leat_tensor_release(&tensor);
  leat_tensor_release(&slice);
  leat_tensor_release(&copy);
  leat_tensor_release(&text);
  leat_shape_release(&shape);
  return status;
}

static void every_allocation_may_fail(void** state) {
  (void)state;
  int failures = 0;
  for (;; ++failures) {
    int remaining = failures;
    leat_observer_t observer = {.data = &remaining, .on_allocation = refuse_nth};
    leat_observer_install(&observer);
    leat_status_t status = build_and_release();
    leat_observer_install(NULL);
    if (!status) break;
    expect_code(status, LEAT_RESOURCE_EXHAUSTED);
  }
  assert_true(failures >= 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sharing_shares_and_copying_copies),
      cmocka_unit_test(empty_tensors_are_legal_everywhere),
      cmocka_unit_test(huge_and_unknown_are_refused),
      cmocka_unit_test(slices_share_rows),
      cmocka_unit_test(reshape_keeps_the_bytes),
      cmocka_unit_test(tensors_over_buffers_fit_them),
      cmocka_unit_test(string_tensors_begin_empty_and_end_freed),
      cmocka_unit_test(texts_lie_in_the_block_of_their_elements),
      cmocka_unit_test(small_tensors_hold_their_values),
      cmocka_unit_test(ranks_beyond_inline_travel_with_the_tensor),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests_name("tensor.tensor", tests, NULL, NULL);
}
