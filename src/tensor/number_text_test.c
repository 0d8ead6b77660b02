// Numbers in text: the whole of it, and only what fits.
#include "tensor/number_text.h"

#include <math.h>

#include "base/test.h"
#include "tensor/dtype.h"

static void whole_numbers_fit_or_are_refused(void** state) {
  int32_t narrow;
  uint64_t wide;
  int64_t big;
  assert_true(leat_number_parse(LEAT_SV(" -2147483648\n"), LEAT_DTYPE_INT32, &narrow));
  assert_int_equal(narrow, INT32_MIN);
  assert_false(leat_number_parse(LEAT_SV("2147483648"), LEAT_DTYPE_INT32, &narrow));
  assert_true(leat_number_parse(LEAT_SV("+9223372036854775807"), LEAT_DTYPE_INT64, &big));
  assert_true(big == INT64_MAX);
  assert_true(leat_number_parse(LEAT_SV("18446744073709551615"), LEAT_DTYPE_UINT64, &wide));
  assert_true(wide == UINT64_MAX);
  assert_false(leat_number_parse(LEAT_SV("18446744073709551616"), LEAT_DTYPE_UINT64, &wide));
  assert_false(leat_number_parse(LEAT_SV("-1"), LEAT_DTYPE_UINT64, &wide));
  assert_false(leat_number_parse(LEAT_SV(""), LEAT_DTYPE_INT32, &narrow));
  assert_false(leat_number_parse(LEAT_SV("1 2"), LEAT_DTYPE_INT32, &narrow));
  assert_false(leat_number_parse(LEAT_SV("1.0"), LEAT_DTYPE_INT32, &narrow));
}

static void fractions_are_those_of_c(void** state) {
  float single;
  double value;
  assert_true(leat_number_parse(LEAT_SV(" -1.5e2 "), LEAT_DTYPE_DOUBLE, &value));
  assert_true(value == -150);
  assert_true(leat_number_parse(LEAT_SV("1e50"), LEAT_DTYPE_FLOAT, &single));
  assert_true(isinf(single));
  assert_true(leat_number_parse(LEAT_SV("nan"), LEAT_DTYPE_FLOAT, &single));
  assert_true(isnan(single));
  assert_true(leat_number_parse(LEAT_SV("-0x1.8p1"), LEAT_DTYPE_DOUBLE, &value));
  assert_true(value == -3);
  assert_false(leat_number_parse(LEAT_SV("0x"), LEAT_DTYPE_DOUBLE, &value));
  assert_false(leat_number_parse(LEAT_SV("1.5z"), LEAT_DTYPE_DOUBLE, &value));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_numbers_fit_or_are_refused),
      cmocka_unit_test(fractions_are_those_of_c),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
