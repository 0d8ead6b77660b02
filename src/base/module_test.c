// Modules that are absent, and one that is no module of ours.
#include "base/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/test.h"

static void an_absent_module_names_its_package(void** state) {
  leat_module_t module = {.name = "absent", .struct_size = 8, .package = "libabsent1"};
  const void* table;
  leat_status_t status = leat_module_load(&module, &table);
  assert_int_equal(leat_status_code(status), LEAT_UNIMPLEMENTED);
  assert_non_null(strstr(leat_status_message(status), "leat_module_absent.so"));
  assert_non_null(strstr(leat_status_message(status), "libabsent1"));
  leat_status_free(status);
}

static void the_folder_can_be_chosen(void** state) {
  leat_module_t module = {.name = "absent", .struct_size = 8, .package = "libabsent1"};
  const void* table;
  char* before = getenv("LEAT_MODULE_DIR") ? strdup(getenv("LEAT_MODULE_DIR")) : NULL;
  setenv("LEAT_MODULE_DIR", "/no/such/folder", 1);
  leat_status_t status = leat_module_load(&module, &table);
  assert_non_null(strstr(leat_status_message(status), "/no/such/folder"));
  leat_status_free(status);
  if (before) setenv("LEAT_MODULE_DIR", before, 1);
  free(before);
}

static void a_table_once_found_is_kept(void** state) {
  static const size_t kTable = sizeof kTable;
  leat_module_t module = {.name = "absent", .struct_size = 8, .table = &kTable};
  const void* table;
  LEAT_EXPECT_OK(leat_module_load(&module, &table));
  assert_ptr_equal(table, &kTable);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_absent_module_names_its_package),
      cmocka_unit_test(the_folder_can_be_chosen),
      cmocka_unit_test(a_table_once_found_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
