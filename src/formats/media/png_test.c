// PNG files through the module: what stands at their ends, and what is refused. Not built where the
// module is left out.
#include "formats/media/png.h"

#include <stdlib.h>

#include "base/test.h"

static const uint8_t kPixels[2 * 3 * 4] = {1, 2, 3, 4, 5, 6, 250};

static void encode(const leat_png_image_t* image, leat_string_builder_t* out_file) {
  leat_string_builder_initialize(leat_allocator_system(), out_file);
  LEAT_EXPECT_OK(leat_png_encode(image, out_file));
}

static void a_file_states_size_and_colours(void** state) {
  static const char kColorTypes[] = {0, 4, 2, 6};
  for (int channels = 1; channels <= 4; ++channels) {
    leat_string_builder_t file;
    leat_png_image_t image = {kPixels, 3, 2, channels, 8, -1};
    encode(&image, &file);
    char head[] = "\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\0\003\0\0\0\002\010?\0\0";
    head[25] = kColorTypes[channels - 1];
    assert_true(file.size > sizeof head + 12);
    assert_memory_equal(file.data, head, sizeof head);
    assert_memory_equal(file.data + file.size - 12, "\0\0\0\0IEND\256B`\202", 12);
    leat_string_builder_deinitialize(&file);
  }
}

static void what_is_no_image_is_an_error(void** state) {
  static const leat_png_image_t kImages[] = {{kPixels, 0, 2, 1, 8, -1},
                                            {kPixels, 3, 2, 5, 8, -1}};
  leat_string_builder_t file;
  encode(&(leat_png_image_t){kPixels, 3, 2, 1, 8, -1}, &file);
  for (int i = 0; i < 2; ++i) {
    leat_status_t status = leat_png_encode(&kImages[i], &file);
    assert_int_equal(leat_status_code(status), LEAT_INTERNAL);
    leat_status_free(status);
  }
  leat_string_builder_deinitialize(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_states_size_and_colours),
      cmocka_unit_test(what_is_no_image_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
