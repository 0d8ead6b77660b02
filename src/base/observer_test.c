#include "base/observer.h"

#include "base/allocator.h"
#include "base/fault.h"
#include "base/file_system.h"
#include "base/test.h"

static void nobody_watches_at_first(void** state) { assert_null(leat_observer_get()); }

static void installed_and_removed(void** state) {
  leat_observer_t observer = {0};  // every hook may be absent
  leat_observer_install(&observer);
  assert_ptr_equal(leat_observer_get(), &observer);
  void* p = NULL;
  LEAT_EXPECT_OK(leat_allocator_allocate(leat_allocator_system(), 1, &p));
  leat_allocator_free(leat_allocator_system(), p);
  assert_true(leat_file_exists(leat_file_system_posix(), "/"));
  leat_observer_install(NULL);
  assert_null(leat_observer_get());
}

static void faults_come_at_the_nth_event(void** state) {
  leat_fault_t fault;
  leat_file_system_t* fs = leat_file_system_posix();
  leat_fault_install(&fault, LEAT_FAULT_FILE, 2);
  assert_true(leat_file_exists(fs, "/"));
  leat_file_stat_t stat;
  LEAT_EXPECT_CODE(LEAT_UNAVAILABLE, fs->vtable->stat(fs, "/", &stat));
  assert_true(leat_file_exists(fs, "/"));
  assert_true(leat_fault_remove(&fault));
  leat_fault_install(&fault, LEAT_FAULT_FILE, 2);
  assert_false(leat_fault_remove(&fault));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nobody_watches_at_first),
      cmocka_unit_test(installed_and_removed),
      cmocka_unit_test(faults_come_at_the_nth_event),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
