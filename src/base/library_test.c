// Opening the math library of the system, a missing file, and finding this program's folder.
#include "base/library.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_open_and_symbol(void** state) {
  (void)state;
  leat_library_t* library = NULL;
  leat_status_t status = leat_library_open("libm.so.6", &library);
  assert_true(leat_status_is_ok(status));
  double (*square_root)(double) = NULL;
  void* symbol = leat_library_symbol(library, "sqrt");
  assert_non_null(symbol);
  memcpy(&square_root, &symbol, sizeof symbol);
  assert_true(square_root(16.0) == 4.0);
  assert_null(leat_library_symbol(library, "leat_no_such_symbol"));
  leat_library_close(library);
  leat_library_close(NULL);
}

static void test_absent(void** state) {
  (void)state;
  leat_library_t* library = NULL;
  leat_status_t status = leat_library_open("/nonexistent/leat_absent.so", &library);
  assert_int_equal(leat_status_code(status), LEAT_NOT_FOUND);
  assert_non_null(strstr(leat_status_message(status), "leat_absent.so"));
  assert_null(library);
  leat_status_free(status);
}

static void test_directory(void** state) {
  (void)state;
  char* directory = NULL;
  leat_status_t status =
      leat_library_directory_of((const void*)&test_absent, leat_allocator_system(), &directory);
  assert_true(leat_status_is_ok(status));
  assert_true(strlen(directory) > 0);
  assert_null(strstr(directory, "library_test"));
  leat_allocator_free(leat_allocator_system(), directory);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_open_and_symbol),
                                     cmocka_unit_test(test_absent),
                                     cmocka_unit_test(test_directory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
