// The table of steps by itself: which container and which rendezvous a run that joins a step gets,
// and how long they live.
#include "worker/step_table.h"

#include "base/test.h"

static leat_step_table_t table;

static int set_up(void** state) {
  leat_step_table_initialize(leat_allocator_system(), NULL, &table);
  return 0;
}

static int tear_down(void** state) {
  leat_step_table_deinitialize(&table);
  return 0;
}

static leat_resource_manager_t* container_of(int64_t step_id, int64_t container_step_id) {
  leat_resource_manager_t* resources = NULL;
  LEAT_EXPECT_OK(leat_step_table_join(&table, step_id, container_step_id, 0, &resources, NULL));
  assert_non_null(resources);
  return resources;
}

// A called function runs as a step of its own, but its tensor arrays and stacks are its caller's.
static void a_call_shares_the_container_of_its_caller(void** state) {
  leat_resource_manager_t* callers = container_of(1, 1);
  assert_ptr_equal(container_of(2, 1), callers);
  assert_ptr_equal(container_of(3, 1), callers);
  assert_ptr_not_equal(container_of(4, 4), callers);
  // The end of the call is not the end of the container.
  leat_step_table_forget(&table, 2);
  assert_ptr_equal(container_of(1, 1), callers);
}

// The rendezvous is the run's own step's, wherever its container is: a value that one call sends
// must not reach another one.
static void a_call_has_a_rendezvous_of_its_own(void** state) {
  leat_resource_manager_t* resources;
  leat_rendezvous_t* rendezvous[3];
  LEAT_EXPECT_OK(leat_step_table_join(&table, 1, 1, 0, &resources, &rendezvous[0]));
  LEAT_EXPECT_OK(leat_step_table_join(&table, 2, 1, 0, &resources, &rendezvous[1]));
  LEAT_EXPECT_OK(leat_step_table_rendezvous(&table, 2, &rendezvous[2]));
  assert_ptr_not_equal(rendezvous[0], rendezvous[1]);
  assert_ptr_equal(rendezvous[1], rendezvous[2]);
  for (int i = 0; i < 3; ++i) leat_rendezvous_release(rendezvous[i]);
}

// The first reason for which a step is aborted counts, for all runs that join it later, until the
// step is forgotten.
static void the_first_abort_counts(void** state) {
  leat_resource_manager_t* resources;
  leat_status_t status = leat_make_status(LEAT_DATA_LOSS, "the first reason");
  assert_null(leat_step_table_abort(&table, 7, status));
  leat_status_free(status);
  status = leat_make_status(LEAT_CANCELLED, "the second reason");
  assert_null(leat_step_table_abort(&table, 7, status));
  leat_status_free(status);
  assert_true(leat_step_table_has_any(&table));
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, leat_step_table_join(&table, 7, 7, 0, &resources, NULL));
  leat_step_table_forget(&table, 7);
  assert_false(leat_step_table_has_any(&table));
  container_of(7, 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(a_call_shares_the_container_of_its_caller),
      TEST(a_call_has_a_rendezvous_of_its_own),
      TEST(the_first_abort_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
