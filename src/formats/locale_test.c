// Under a locale with a decimal comma, strtod() and printf() of the C library read and write "2,5".
// A graph, a summary or a JSON answer must not change with the locale of the program that the
// library is loaded into, so the conversions are tested while such a locale is set: both
// directions, and that the program's own locale is untouched afterwards. The set-up takes a locale
// that is installed or has localedef make one in the test's directory. Where neither works the
// tests are skipped, because without the comma they would prove nothing.
#define _GNU_SOURCE
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string_builder.h"
#include "formats/test_directory.h"
#include "formats/wire/json.h"
#include "tensor/number_text.h"
#include "tensor/number_variant.h"
#include "tensor/tensor_print.h"

static bool has_comma(const char* locale) {
  return setlocale(LC_ALL, locale) && !strcmp(localeconv()->decimal_point, ",");
}

// Sets a locale with a decimal comma: one that is installed, or one made for this test.
static int set_comma(void** state) {
  static const char* const kNames[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "nl_NL.UTF-8"};
  test_directory_make(state);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNames); ++i) {
    if (has_comma(kNames[i])) return 0;
  }
  char command[600];
  snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s' >/dev/null 2>&1",
           test_path("comma"));
  if (system(command) == 0) {
    setenv("LOCPATH", test_directory, 1);
    has_comma("comma");
  }
  return 0;
}

static int remove_locale(void** state) {
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", test_directory);
  return system(command);
}

static void need_comma(void) {
  if (strcmp(localeconv()->decimal_point, ",") != 0) skip();
}

static void numbers_are_read(void** state) {
  float small = 0;
  double large = 0;
  need_comma();
  assert_true(leat_number_parse(LEAT_SV("-2.5e-1"), LEAT_DTYPE_FLOAT, &small) && small == -0.25f);
  assert_true(leat_number_parse(LEAT_SV("0.1"), LEAT_DTYPE_DOUBLE, &large) && large == 0.1);
  assert_false(leat_number_parse(LEAT_SV("2,5"), LEAT_DTYPE_FLOAT, &small));
  assert_true(leat_string_view_to_double(LEAT_SV("2.5"), &large) && large == 2.5);
}

static void expect_text(leat_string_builder_t* builder, const char* text) {
  LEAT_EXPECT_OK(leat_status_clone(builder->status));
  assert_string_equal(builder->data, text);
  leat_string_builder_deinitialize(builder);
  leat_string_builder_initialize(leat_allocator_system(), builder);
}

static void numbers_are_printed(void** state) {
  leat_string_builder_t out;
  leat_tensor_t tensor;
  need_comma();
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_string_builder_print(&out, "%.2f %g", 0.5, 1e-10);  // AsString prints so
  expect_text(&out, "0.50 1e-10");
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_DOUBLE, (const double[]){0.1, 1.0 / 3}, 2, &tensor));
  leat_tensor_print_elements(&tensor, 2, &out);
  leat_tensor_release(&tensor);
  expect_text(&out, "0.1 0.33333333333333331");
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, (const float[]){0.1f, 1.0f / 3}, 2, &tensor));
  leat_tensor_print_elements(&tensor, 2, &out);
  leat_tensor_release(&tensor);
  expect_text(&out, "0.1 0.333333343");
  leat_json_append_number(&out, 0.5);
  expect_text(&out, "0.5");
  leat_string_builder_deinitialize(&out);
  leat_variant_t variant;
  LEAT_EXPECT_OK(leat_number_variant_decode(
      LEAT_SV("float"), leat_string_view_make((const char*)&(float){0.1f}, 4), &variant));
  char text[40];
  variant.vtable->describe(variant.self, text, sizeof text);
  variant.vtable->release(variant.self);
  assert_string_equal(text, "0.1");
  // The program's own locale is as before.
  assert_string_equal(localeconv()->decimal_point, ",");
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0,5");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_read),
      cmocka_unit_test(numbers_are_printed),
  };
  return cmocka_run_group_tests(tests, set_comma, remove_locale);
}
