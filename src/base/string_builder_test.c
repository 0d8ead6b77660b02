// The string builder: texts that are appended, printed and reserved come out as one. Each expected
// text is written out or counted by hand. A builder keeps its first error, so that callers test it
// once at the end: memory is made to fail at every allocation in turn (base/fault.h), and each time
// the end must say RESOURCE_EXHAUSTED and give no text. A size that overflows is an error of the
// same kind.
#include "base/string_builder.h"

#include "base/fault.h"
#include "base/test.h"

static void text_is_put_together(void** state) {
  leat_string_builder_t builder;
  leat_string_builder_initialize(leat_allocator_system(), &builder);
  leat_string_builder_append(&builder, LEAT_SV("ab"));
  leat_string_builder_append_char(&builder, '/');
  leat_string_builder_append(&builder, leat_string_view_make(NULL, 0));
  leat_string_builder_print(&builder, "%d-%s", 5, "x");
  char* room = leat_string_builder_reserve(&builder, 3);
  memcpy(room, "end", 3);
  assert_true(leat_string_view_equals(leat_string_builder_view(&builder), "ab/5-xend"));
  char* data = NULL;
  size_t size = 0;
  LEAT_EXPECT_OK(leat_string_builder_finish(&builder, &data, &size));
  assert_int_equal(size, 9);
  assert_string_equal(data, "ab/5-xend");
  leat_allocator_free(leat_allocator_system(), data);
  assert_int_equal(builder.size, 0);
  LEAT_EXPECT_OK(leat_string_builder_finish(&builder, &data, &size));
  assert_string_equal(data, "");
  leat_allocator_free(leat_allocator_system(), data);
  leat_string_builder_deinitialize(&builder);
}

static void much_text_is_kept(void** state) {
  leat_string_builder_t builder;
  leat_string_builder_initialize(leat_allocator_system(), &builder);
  for (int i = 0; i < 100000; ++i) leat_string_builder_append_char(&builder, (char)('a' + i % 26));
  assert_int_equal(builder.size, 100000);
  for (int i = 0; i < 100000; ++i) assert_int_equal(builder.data[i], 'a' + i % 26);
  assert_int_equal(builder.data[100000], 0);
  leat_string_builder_deinitialize(&builder);
}

static void the_first_error_is_kept(void** state) {
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_string_builder_t builder;
    leat_string_builder_initialize(leat_allocator_system(), &builder);
    for (int i = 0; i < 100; ++i) leat_string_builder_print(&builder, "line %d\n", i);
    char* data = &(char){0};
    size_t size = 1;
    leat_status_t status = leat_string_builder_finish(&builder, &data, &size);
    if (!leat_fault_remove(&fault)) {
      LEAT_EXPECT_OK(status);
      assert_int_equal(size, 790);
      leat_allocator_free(leat_allocator_system(), data);
      break;
    }
    LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
    assert_null(data);
    assert_int_equal(size, 0);
    leat_string_builder_deinitialize(&builder);
  }
}

static void too_much_is_an_error(void** state) {
  leat_string_builder_t builder;
  leat_string_builder_initialize(leat_allocator_system(), &builder);
  leat_string_builder_append(&builder, LEAT_SV("x"));
  assert_null(leat_string_builder_reserve(&builder, SIZE_MAX));
  assert_null(leat_string_builder_reserve(&builder, 1));
  leat_string_builder_deinitialize(&builder);
  assert_non_null(leat_string_builder_reserve(&builder, 1));
  leat_string_builder_deinitialize(&builder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_put_together),
      cmocka_unit_test(much_text_is_kept),
      cmocka_unit_test(the_first_error_is_kept),
      cmocka_unit_test(too_much_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
