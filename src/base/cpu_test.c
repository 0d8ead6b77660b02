#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/test.h"

static void there_is_a_cpu(void** state) {
  assert_true(leat_cpu_count() >= 1);
  assert_true(leat_cpu_l1_bytes() >= 4096);
  assert_true(leat_cpu_l2_bytes() >= leat_cpu_l1_bytes());
}

static void it_has_a_name(void** state) {
  char name[64], cut[4];
  leat_cpu_name(name, sizeof name);
  leat_cpu_name(cut, sizeof cut);
  assert_true(strlen(name) >= 3);
  assert_int_equal(strlen(cut), 3);
  assert_memory_equal(cut, name, 3);
  assert_string_equal(leat_isa_name(LEAT_ISA_AVX2), "avx2");
}

// The environment is read once: this test comes before any other look at the set.
static void environment_lowers_the_set(void** state) {
  setenv("LEAT_ISA", "base", 1);
  assert_int_equal(leat_cpu_isa(), LEAT_ISA_BASE);
  assert_false(leat_cpu_has_matrix_unit());
  unsetenv("LEAT_ISA");
  assert_int_equal(leat_cpu_isa(), LEAT_ISA_BASE);
  assert_false(leat_cpu_has_matrix_unit());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(there_is_a_cpu),
      cmocka_unit_test(it_has_a_name),
      cmocka_unit_test(environment_lowers_the_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
