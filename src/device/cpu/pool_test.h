// A pool of four threads as the state of a test: the set-up and tear-down functions of a test
// group. Tests of kernels that share their work among threads use it, so that they run with several
// threads on a machine of one core too.
#ifndef LEAT_DEVICE_CPU_POOL_TEST_H_
#define LEAT_DEVICE_CPU_POOL_TEST_H_

#include "base/thread_pool.h"

static inline int pool_test_set_up(void** state) {
  leat_thread_pool_t* pool = NULL;
  leat_status_t status = leat_thread_pool_create(4, leat_allocator_system(), &pool);
  *state = pool;
  return leat_status_is_ok(status) ? 0 : -1;
}
static inline int pool_test_tear_down(void** state) {
  leat_thread_pool_release(*state);
  return 0;
}

#endif  // LEAT_DEVICE_CPU_POOL_TEST_H_
