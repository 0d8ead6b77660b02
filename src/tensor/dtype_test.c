// Types against TensorFlow's public numbers, and names in every spelling.
#include "tensor/dtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tensor/object.h"

// The C type of each row has the stated size.
#define SIZE_AGREES(NAME, number, type, size, text) \
  _Static_assert(sizeof(type) == size, "size of " text);
LEAT_DTYPE_LIST(SIZE_AGREES)

static void every_type_is_found_by_each_of_its_names(void** state) {
  (void)state;
#define NAMES_LEAD_BACK(NAME, number, type, size, text)                                     \
  assert_int_equal(leat_dtype_size(number), size);                                          \
  assert_int_equal(leat_dtype_size(number + 100), size);                                    \
  assert_string_equal(leat_dtype_name(number), text);                                       \
  assert_string_equal(leat_dtype_name(number + 100), text "_ref");                          \
  assert_int_equal(leat_dtype_from_name(LEAT_SV(text)), number);                            \
  assert_int_equal(leat_dtype_from_name(LEAT_SV(text "_ref")), number + 100);               \
  assert_int_equal(leat_dtype_from_name(LEAT_SV("DT_" #NAME)), number);                     \
  assert_int_equal(leat_dtype_from_name(LEAT_SV("DT_" #NAME "_REF")), number + 100);        \
  assert_true(leat_dtype_is_valid(number) && leat_dtype_is_valid(number + 100));
  LEAT_DTYPE_LIST(NAMES_LEAD_BACK)
}

static void numpy_names_are_understood(void** state) {
  (void)state;
  assert_int_equal(leat_dtype_from_name(LEAT_SV("float32")), LEAT_DTYPE_FLOAT);
  assert_int_equal(leat_dtype_from_name(LEAT_SV("float64")), LEAT_DTYPE_DOUBLE);
  assert_int_equal(leat_dtype_from_name(LEAT_SV("float16")), LEAT_DTYPE_HALF);
  assert_int_equal(leat_dtype_from_name(LEAT_SV("float32_ref")), LEAT_DTYPE_FLOAT + 100);
}

static void what_is_no_type_is_invalid(void** state) {
  (void)state;
  const char* const names[] = {"", "_ref", "DT_", "DT_float", "FLOAT", "float ", "DT_INVALID"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(names); ++i) {
    assert_int_equal(leat_dtype_from_name(leat_string_view_from(names[i])), LEAT_DTYPE_INVALID);
  }
  const int numbers[] = {-1, 0, 33, 99, 100, 133, 200, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(numbers); ++i) {
    assert_false(leat_dtype_is_valid(numbers[i]));
    assert_int_equal(leat_dtype_size(numbers[i]), 0);
    assert_string_equal(leat_dtype_name(numbers[i]), "unknown");
    assert_false(leat_dtype_in(numbers[i], LEAT_DTYPES_NUMBER));
  }
}

static void sets_hold_what_they_name(void** state) {
  (void)state;
  assert_true(leat_dtype_in(LEAT_DTYPE_BFLOAT16, LEAT_DTYPES_FLOATING));
  assert_true(leat_dtype_in(LEAT_DTYPE_STRING, LEAT_DTYPES_OBJECT));
  assert_false(leat_dtype_in(LEAT_DTYPE_BOOL, LEAT_DTYPES_NUMBER));
  assert_false(leat_dtype_in(LEAT_DTYPE_QINT32, LEAT_DTYPES_NUMBER));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_is_found_by_each_of_its_names),
      cmocka_unit_test(numpy_names_are_understood),
      cmocka_unit_test(what_is_no_type_is_invalid),
      cmocka_unit_test(sets_hold_what_they_name),
  };
  return cmocka_run_group_tests_name("tensor.dtype", tests, NULL, NULL);
}
