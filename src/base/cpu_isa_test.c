// The set found must agree with what the compiler's own run-time check says.
#include <stdlib.h>

#include "base/cpu.h"
#include "base/test.h"

static void set_agrees_with_the_compiler(void** state) {
  unsetenv("LEAT_ISA");
  leat_isa_t expected = LEAT_ISA_BASE;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
    expected = LEAT_ISA_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd")) {
      expected = LEAT_ISA_AVX512;
    }
  }
#endif
  assert_int_equal(leat_cpu_isa(), expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(set_agrees_with_the_compiler)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
