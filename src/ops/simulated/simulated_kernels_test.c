#include "ops/simulated/simulated_kernels.h"

#include <string.h>

#include "base/fault.h"
#include "base/test.h"
#include "ops/family.h"

static const leat_op_family_t* find_family(const char* name) {
  int i = 0;
  while (strcmp(leat_op_families[i]->name, name) != 0) ++i;
  return leat_op_families[i];
}

static leat_status_t count_row(void* data, const leat_kernel_row_t* row) {
  if (strcmp(row->device_type, "SIM") == 0) ++*(int*)data;
  return leat_ok_status();
}

// A registry with the CPU's kernels, and those of the simulated device beside them. Only the latter
// meet the fault at their |n|-th allocation. Gives how many kernels MatMul has on the device.
static leat_status_t fill(int64_t n, bool* out_met, int* out_count) {
  leat_kernel_registry_t* registry = NULL;
  LEAT_EXPECT_OK(leat_kernel_registry_create(leat_allocator_system(), &registry));
  for (const leat_kernel_row_t* const* rows = find_family("matrix")->kernels; *rows; ++rows) {
    LEAT_EXPECT_OK(leat_kernel_registry_add(registry, *rows));
  }
  leat_fault_t fault;
  leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
  leat_status_t status = leat_simulated_kernels_register(registry);
  *out_met = leat_fault_remove(&fault);
  *out_count = 0;
  if (!status) {
    LEAT_EXPECT_OK(
        leat_kernel_registry_each(registry, LEAT_SV("MatMul"), count_row, out_count));
  }
  leat_kernel_registry_free(registry);
  return status;
}

// The rows outlive the registry that asks for them first. When they cannot be made, the next
// registry asks for all of them again.
static void a_failed_registration_can_be_repeated(void** state) {
  int count = 0, failures = 0;
  bool met = true;
  for (int64_t n = 1; met; ++n) {
    leat_status_t status = fill(n, &met, &count);
    failures += status != NULL;
    if (status) {
      LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
    } else {
      assert_true(count > 0);
    }
  }
  assert_true(failures >= 2);  // the rows, their twins; the registry may have room already
  const int whole = count;
  LEAT_EXPECT_OK(fill(INT64_MAX, &met, &count));
  assert_int_equal(count, whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_failed_registration_can_be_repeated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
