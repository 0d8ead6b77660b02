// Files of images through the C API: what was encoded is decoded again, files that are written out
// here byte by byte are decoded to pixels that can be read off those bytes, and broken files are
// refused. PNG must keep every pixel, JPEG only the picture, within a few steps of brightness. The
// GIF has three frames that overlap, one of them transparent, because decoding composes frames. A
// head that claims 2^31 - 1 pixels each way must fail before memory is taken. That pixels and files
// are TensorFlow's is the work of tests/oracle/image_oracle.py.
#include <stdio.h>
#include <stdlib.h>

#include "client/model_kit.h"

#define HEIGHT 4
#define WIDTH 5

static TF_Output op(const char* name, TF_Output x, const leat_attribute_t* attributes, int count) {
  return kit_out(leat_operation(kit.scope, name, NULL, &x, 1, attributes, count), 0);
}

static TF_Output pixels(TF_DataType dtype, int channels, const void* values) {
  const int64_t dims[] = {HEIGHT, WIDTH, channels};
  return leat_constant(kit.scope, dtype, 3, dims, values);
}

static TF_Output contents(const void* bytes, size_t size) {
  static int number;
  char name[32];
  snprintf(name, sizeof name, "contents_%d", number++);
  TF_TString text;
  TF_StringInit(&text);
  TF_StringCopy(&text, bytes, size);
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof text);
  memcpy(TF_TensorData(tensor), &text, sizeof text);
  return kit_out(kit_const(kit.graph, name, tensor), 0);
}

// The value of |output|, a tensor of the caller's.
static TF_Tensor* value_of(TF_Output output) {
  kit_ok(leat_scope_status(kit.scope));
  TF_Session* session = kit_session(kit.graph);
  TF_Tensor* value = kit_run(session, (TF_Output){NULL, 0}, NULL, output);
  kit_close(session);
  return value;
}

static void expect_pixels(TF_Output output, int rank, const int64_t* dims, const void* values,
                          size_t bytes) {
  TF_Tensor* value = value_of(output);
  assert_int_equal(TF_NumDims(value), rank);
  for (int i = 0; i < rank; ++i) assert_int_equal(TF_Dim(value, i), dims[i]);
  assert_int_equal(TF_TensorByteSize(value), bytes);
  assert_memory_equal(TF_TensorData(value), values, bytes);
  TF_DeleteTensor(value);
}

static void expect_error(TF_Output output, const char* text) {
  kit_ok(leat_scope_status(kit.scope));
  TF_Session* session = kit_session(kit.graph);
  TF_Tensor* value = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &output, &value, 1, NULL, 0, NULL, kit.status);
  kit_expect_text(kit.status, TF_INVALID_ARGUMENT, text);
  assert_null(value);
  kit_close(session);
}

static void test_png_keeps_all_pixels(void** state) {
  uint8_t bytes[HEIGHT * WIDTH * 4];
  uint16_t words[HEIGHT * WIDTH * 4];
  const leat_attribute_t of_words = leat_attribute_type("dtype", TF_UINT16);
  for (int i = 0; i < HEIGHT * WIDTH * 4; ++i) {
    bytes[i] = (uint8_t)(i * 37);
    words[i] = (uint16_t)(i * 3001);
  }
  for (int channels = 1; channels <= 4; ++channels) {
    const int64_t dims[] = {HEIGHT, WIDTH, channels};
    const size_t size = (size_t)(HEIGHT * WIDTH * channels);
    TF_Output file = op("EncodePng", pixels(TF_UINT8, channels, bytes), NULL, 0);
    expect_pixels(op("DecodePng", file, NULL, 0), 3, dims, bytes, size);
    expect_pixels(op("DecodeImage", file, NULL, 0), 3, dims, bytes, size);
    file = op("EncodePng", pixels(TF_UINT16, channels, words), NULL, 0);
    expect_pixels(op("DecodePng", file, &of_words, 1), 3, dims, words, 2 * size);
  }
}

static void test_jpeg_keeps_the_picture(void** state) {
  uint8_t bytes[HEIGHT * WIDTH];
  for (int i = 0; i < HEIGHT * WIDTH; ++i) bytes[i] = (uint8_t)(100 + 3 * i);
  TF_Output file = op("EncodeJpeg", pixels(TF_UINT8, 1, bytes), NULL, 0);
  TF_Tensor* value = value_of(op("DecodeJpeg", file, NULL, 0));
  assert_int_equal(TF_TensorByteSize(value), sizeof bytes);
  for (int i = 0; i < HEIGHT * WIDTH; ++i) {
    assert_true(abs(((uint8_t*)TF_TensorData(value))[i] - bytes[i]) < 8);
  }
  TF_DeleteTensor(value);
  const int32_t size[] = {HEIGHT, WIDTH, 1};
  expect_pixels(op("ExtractJpegShape", file, NULL, 0), 1, (int64_t[]){3}, size, sizeof size);
  TF_Output window = leat_constant_ints(kit.scope, 4, (int32_t[]){1, 2, 3, 2});
  TF_Output cut = kit_out(leat_operation(kit.scope, "DecodeAndCropJpeg", NULL,
                                         (TF_Output[]){file, window}, 2, NULL, 0), 0);
  value = value_of(cut);
  assert_int_equal(TF_Dim(value, 0), 3);
  assert_int_equal(TF_Dim(value, 1), 2);
  assert_true(abs(((uint8_t*)TF_TensorData(value))[0] - bytes[WIDTH + 2]) < 8);
  TF_DeleteTensor(value);
  // The fraction is that of rows which a file that is cut off must have; this one is whole.
  const leat_attribute_t beyond_all = leat_attribute_float("acceptable_fraction", 2);
  TF_DeleteTensor(value_of(op("DecodeJpeg", file, &beyond_all, 1)));
  window = leat_constant_ints(kit.scope, 4, (int32_t[]){1, 2, 3, 4});
  expect_error(kit_out(leat_operation(kit.scope, "DecodeAndCropJpeg", NULL,
                                      (TF_Output[]){file, window}, 2, NULL, 0), 0),
               "crop window");
}

// Two pixels by two, blue first, from the bottom up, rows of eight bytes.
static void test_bmp(void** state) {
  static const char kFile[] =
      "BM\0\0\0\0\0\0\0\0\66\0\0\0\50\0\0\0\2\0\0\0\2\0\0\0\1\0\30\0\0\0\0\0\0\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\0\0\0\0\0\0\7\10\11\12\13\14\0\0\1\2\3\4\5\6\0";
  static const uint8_t kPixels[] = {3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10};
  TF_Output file = contents(kFile, sizeof kFile);
  expect_pixels(op("DecodeBmp", file, NULL, 0), 3, (int64_t[]){2, 2, 3}, kPixels, sizeof kPixels);
  expect_error(op("DecodeBmp", contents(kFile, sizeof kFile - 1), NULL, 0), "differ by -1");
  expect_error(op("DecodePng", file, NULL, 0), "Use `decode_bmp`");
}

// Two pixels in a row: red and green; then a frame of one pixel over the second, blue; then one
// whose pixel is transparent. Codes of three bits: 4 clears the table, 5 ends.
#define GIF_HEAD "GIF89a\2\0\1\0\361\0\0\377\0\0\0\377\0\0\0\377\11\11\11"
#define GIF_FRAME(left, width, bytes) "," left "\0\0\0" width "\0\1\0\0\2" bytes "\0"
#define GIF_FILE                                                     \
  GIF_HEAD GIF_FRAME("\0", "\2", "\2\104\12") /* 4, 0, 1, 5 */       \
      GIF_FRAME("\1", "\1", "\2\124\1")       /* 4, 2, 5 */          \
      "!\371\4\1\0\0\2\0" GIF_FRAME("\1", "\1", "\2\124\1") ";"

static void test_gif(void** state) {
  static const uint8_t kPixels[] = {255, 0, 0, 0, 255, 0,   255, 0, 0, 0, 0, 255,
                                    255, 0, 0, 0, 0,   255};
  TF_Output file = contents(GIF_FILE, sizeof GIF_FILE - 1);
  expect_pixels(op("DecodeGif", file, NULL, 0), 4, (int64_t[]){3, 1, 2, 3}, kPixels,
                sizeof kPixels);
  const leat_attribute_t first = leat_attribute_bool("expand_animations", 0);
  expect_pixels(op("DecodeImage", file, &first, 1), 3, (int64_t[]){1, 2, 3}, kPixels, 6);
  expect_error(op("DecodePng", file, NULL, 0), "Got 3 frames");
  // What breaks off in its second frame has one.
  TF_Output cut = contents(GIF_FILE, sizeof GIF_HEAD + 27);
  expect_pixels(op("DecodeGif", cut, NULL, 0), 4, (int64_t[]){1, 1, 2, 3}, kPixels, 6);
}

// Files of two pixels by two, compressed without loss by libwebp's own encoder: red, green, blue
// and nearly black; the same with alpha; and two frames, of which the second changes the last
// pixel.
#define WEBP_STILL \
  "\122\111\106\106\062\000\000\000\127\105\102\120\126\120\070\114\045\000" \
  "\000\000\057\001\100\000\000\037\040\044\040\150\376\037\166\103\110\220" \
  "\220\375\377\127\041\001\101\362\177\261\371\017\174\162\124\160\003\206" \
  "\210\376\207\000"
#define WEBP_ALPHA \
  "\122\111\106\106\076\000\000\000\127\105\102\120\126\120\070\114\061\000" \
  "\000\000\057\001\100\000\020\037\040\026\114\366\346\017\234\206\220\200" \
  "\040\372\077\230\220\200\040\371\277\230\220\200\270\106\363\377\220\060" \
  "\163\107\252\240\246\155\003\026\277\111\107\104\377\203\003\000"
#define WEBP_FRAMES \
  "\122\111\106\106\236\000\000\000\127\105\102\120\126\120\070\130\012\000" \
  "\000\000\022\000\000\000\001\000\000\001\000\000\101\116\111\115\006\000" \
  "\000\000\377\377\377\377\000\000\101\116\115\106\076\000\000\000\000\000" \
  "\000\000\000\000\001\000\000\001\000\000\144\000\000\002\126\120\070\114" \
  "\045\000\000\000\057\001\100\000\000\037\040\044\040\150\376\037\166\103" \
  "\110\220\220\375\377\127\041\001\101\362\177\261\371\017\174\162\124\160" \
  "\003\206\210\376\207\000\101\116\115\106\054\000\000\000\000\000\000\000" \
  "\000\000\001\000\000\001\000\000\144\000\000\000\126\120\070\114\023\000" \
  "\000\000\057\001\100\000\020\017\060\010\103\066\007\363\037\360\030\201" \
  "\210\376\207\000"

static void test_webp(void** state) {
  static const uint8_t kStill[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7};
  static const uint8_t kAlpha[] = {255, 0, 0, 255, 0, 255, 0, 128, 0, 0, 255, 64, 9, 8, 7, 200};
  static const uint8_t kFrames[] = {255, 0,   0, 255, 0,   255, 0,   255, 0, 0,   255,
                                    255, 9,   8, 7,   255, 255, 0,   0,   255, 0, 255,
                                    0,   255, 0, 0,   255, 255, 100, 8,   7, 255};
  const leat_attribute_t first = leat_attribute_bool("expand_animations", 0);
  const leat_attribute_t one = leat_attribute_int("channels", 1);
  const leat_attribute_t four = leat_attribute_int("channels", 4);
  TF_Output file = contents(WEBP_STILL, sizeof WEBP_STILL - 1);
  expect_pixels(op("DecodeWebP", file, NULL, 0), 4, (int64_t[]){1, 2, 2, 3}, kStill, 12);
  expect_pixels(op("DecodeImage", file, &first, 1), 3, (int64_t[]){2, 2, 3}, kStill, 12);
  expect_error(op("DecodeWebP", file, &four, 1), "does not match");
  expect_error(op("DecodeWebP", file, &one, 1), "3 or 4 channels");
  expect_error(op("DecodePng", file, NULL, 0), "Use `DecodeWebP`");
  expect_error(op("DecodeWebP", contents(WEBP_STILL, sizeof WEBP_STILL - 9), NULL, 0), "WebP");
  file = contents(WEBP_ALPHA, sizeof WEBP_ALPHA - 1);
  expect_pixels(op("DecodeWebP", file, &four, 1), 4, (int64_t[]){1, 2, 2, 4}, kAlpha, 16);
  file = contents(WEBP_FRAMES, sizeof WEBP_FRAMES - 1);
  expect_pixels(op("DecodeImage", file, NULL, 0), 4, (int64_t[]){2, 2, 2, 4}, kFrames, 32);
  expect_pixels(op("DecodeImage", file, &first, 1), 3, (int64_t[]){2, 2, 4}, kFrames, 16);
  expect_error(op("DecodeWebP", contents(WEBP_FRAMES, 120), NULL, 0), "WebP");
  // A canvas that claims 2^24 pixels each way is refused before it is allocated.
  char huge[sizeof WEBP_FRAMES];
  memcpy(huge, WEBP_FRAMES, sizeof huge);
  memset(huge + 24, 255, 6);
  expect_error(op("DecodeWebP", contents(huge, sizeof huge - 1), NULL, 0), "");
}

static void test_refused(void** state) {
  expect_error(op("DecodeImage", contents("", 0), NULL, 0), "Input is empty");
  expect_error(op("DecodeImage", contents("hello", 5), NULL, 0), "Unknown image file format");
  expect_error(op("DecodePng", contents("\x89PNG\r\n\x1a\n", 8), NULL, 0), "Invalid PNG");
  expect_error(op("DecodeJpeg", contents("\xff\xd8\xff", 3), NULL, 0), "Invalid JPEG");
  expect_error(op("DecodeGif", contents("GIF89a", 6), NULL, 0), "Invalid GIF");
  // A head that claims 2^31 - 1 pixels each way.
  expect_error(op("DecodePng",
                  contents("\x89PNG\r\n\x1a\n\0\0\0\15IHDR\177\377\377\377\177\377\377\377\10\0\0\0"
                           "\0\53\264\200\362",
                           33),
                  NULL, 0),
               "PNG");
  uint8_t bytes[HEIGHT * WIDTH * 2] = {0};
  expect_error(op("EncodeJpeg", pixels(TF_UINT8, 2, bytes), NULL, 0),
               "image must have 1 or 3 channels");
  const leat_attribute_t two = leat_attribute_int("channels", 2);
  expect_error(op("DecodePng", contents("GIF89a", 6), &two, 1), "must be 0, 1, 3 or 4");
}

// Where only the first frame is asked for, the result is known to be one image.
static void test_one_frame_is_an_image(void** state) {
  TF_Output text = contents("", 0);
  for (int all = 0; all < 2; ++all) {
    const leat_attribute_t attributes[] = {leat_attribute_int("channels", 3),
                                           leat_attribute_bool("expand_animations", all)};
    TF_Output image = op("DecodeImage", text, attributes, 2);
    int64_t dims[3];
    assert_int_equal(TF_GraphGetTensorNumDims(kit.graph, image, kit.status), all ? -1 : 3);
    if (all) continue;
    TF_GraphGetTensorShape(kit.graph, image, dims, 3, kit.status);
    assert_true(dims[0] == -1 && dims[1] == -1 && dims[2] == 3);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, model_kit_set_up, model_kit_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_png_keeps_all_pixels), TEST(test_jpeg_keeps_the_picture), TEST(test_bmp),
      TEST(test_gif), TEST(test_webp), TEST(test_refused),
      TEST(test_one_frame_is_an_image),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
