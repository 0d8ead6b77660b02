// Numbers as variants: read, added, printed, written as they were read.
#include "tensor/number_variant.h"

#include "base/test.h"
#include "tensor/tensor.h"

static leat_variant_t decode(const char* type, const void* bytes, size_t size) {
  leat_variant_t variant;
  LEAT_EXPECT_OK(leat_number_variant_decode(leat_string_view_from(type),
                                            leat_string_view_make(bytes, size), &variant));
  return variant;
}

static void expect_text(leat_variant_t variant, const char* wanted) {
  char text[40];
  variant.vtable->describe(variant.self, text, sizeof text);
  assert_string_equal(text, wanted);
}

static void numbers_are_added_and_printed(void** state) {
  const struct {
    const char* type;
    const void* bytes;
    size_t size;
    const char *text, *twice;
  } kCases[] = {
      {"int", &(int32_t){-5}, 4, "-5", "-10"},
      {"int", &(int32_t){INT32_MAX}, 4, "2147483647", "-2"},
      {"float", &(float){0.1f}, 4, "0.1", "0.2"},
      {"float", &(float){0x1.000002p0f}, 4, "1.00000012", "2.00000024"},
      {"double", &(double){0.1}, 8, "0.1", "0.2"},
      {"bool", &(bool){true}, 1, "1", "1"},
  };
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    leat_variant_t number = decode(kCases[i].type, kCases[i].bytes, kCases[i].size), sum, zero;
    expect_text(number, kCases[i].text);
    LEAT_EXPECT_OK(number.vtable->add(number.self, number.self, &sum));
    expect_text(sum, kCases[i].twice);
    LEAT_EXPECT_OK(number.vtable->zeros_like(number.self, &zero));
    expect_text(zero, "0");
    char* metadata;
    size_t size, count;
    struct leat_tensor_s* tensors;
    LEAT_EXPECT_OK(number.vtable->encode(number.self, &metadata, &size, &tensors, &count));
    assert_int_equal(size, kCases[i].size);
    assert_int_equal(count, 0);
    assert_memory_equal(metadata, kCases[i].bytes, size);
    leat_allocator_free(leat_allocator_system(), metadata);
    number.vtable->release(number.self);
    number.vtable->release(sum.self);
    number.vtable->release(zero.self);
  }
}

static void what_is_no_number_is_refused(void** state) {
  leat_variant_t variant;
  leat_status_t status = leat_number_variant_decode(LEAT_SV("int"), LEAT_SV("abc"), &variant);
  assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
  leat_status_free(status);
  status = leat_number_variant_decode(LEAT_SV("tensorflow::TensorList"), LEAT_SV(""), &variant);
  assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
  leat_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_added_and_printed),
      cmocka_unit_test(what_is_no_number_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
