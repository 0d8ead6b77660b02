// CompressElement and UncompressElement. The golden bytes are a TensorProto that TensorFlow 2.21
// has written (tf.io.serialize_tensor) of an element that it has compressed: they go in by
// ParseTensor, and then one byte after the other is changed into a lie.
#include <string.h>

#include "dataset/pipeline.h"
#include "ops/dataset/values.h"

enum { COMPONENTS = 4 };
static const int32_t kTypes[COMPONENTS] = {LEAT_DTYPE_INT64, LEAT_DTYPE_STRING, LEAT_DTYPE_FLOAT,
                                           LEAT_DTYPE_STRING};

// [[0, 1, 2], [3, 4, 5]], ["ab", ""], no floats, and one string of 50 times 'x'.
static const char kGolden[] =
    "\x08\x15\x12\x00\x22\x7c\x7b\x0a\x21tensorflow.data.CompressedElement\x12\x56\x0a\x20"
    "\x64\x00\x00\x0d\x01\x00\x01\x0d\x08\x00\x02\x0d\x08\x00\x03\x0d\x08\x00\x04\x0d\x08\x00"
    "\x05\x0d\x08\x08"
    "abx\xc2\x01\x00\x12\x0f\x08\x09\x12\x08\x12\x02\x08\x02\x12\x02\x08\x03\x22\x01\x30\x12\x0c"
    "\x08\x07\x12\x04\x12\x02\x08\x02\x22\x02\x02\x00\x12\x06\x08\x01\x12\x02\x12\x00\x12\x0b\x08"
    "\x07\x12\x04\x12\x02\x08\x01\x22\x01\x32";

static leat_output_t parsed(pipeline_t* p, const char* bytes) {
  leat_tensor_t text;
  LEAT_EXPECT_OK(
      leat_tensor_scalar_string(leat_string_view_make(bytes, sizeof kGolden - 1), &text));
  leat_output_t constant = leat_build_constant(&p->b, &text);
  leat_tensor_release(&text);
  return leat_build(&p->b, "ParseTensor", LEAT_INPUTS(constant),
                    LEAT_ATTRS(LEAT_TYPE("out_type", LEAT_DTYPE_VARIANT)));
}

static leat_output_t uncompressed(pipeline_t* p, leat_output_t compressed, int count,
                                  const int32_t* types) {
  leat_partial_shape_t shapes[COMPONENTS];
  for (int i = 0; i < count; ++i) shapes[i] = leat_partial_shape_unknown();
  const leat_attr_t attrs[] = {
      {LEAT_SV("output_types"),
       {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = (uint32_t)count, .types = types}},
      {LEAT_SV("output_shapes"),
       {.kind = LEAT_ATTR_SHAPE, .is_list = true, .count = (uint32_t)count, .shapes = shapes}}};
  return leat_build(&p->b, "UncompressElement", LEAT_INPUTS(compressed), (leat_attrs_t){attrs, 2});
}

// The components of kGolden.
static void expect_components(pipeline_t* p, leat_output_t compressed) {
  leat_output_t element = uncompressed(p, compressed, COMPONENTS, kTypes);
  leat_tensor_t value;
  LEAT_EXPECT_OK(pipeline_fetch(p, (leat_output_t){element.node, 0}, &value));
  assert_int_equal(value.shape.rank, 2);
  assert_int_equal(leat_shape_dim(&value.shape, 1), 3);
  for (int i = 0; i < 6; ++i) assert_int_equal(leat_tensor_data(&value, const int64_t)[i], i);
  leat_tensor_release(&value);
  LEAT_EXPECT_OK(pipeline_fetch(p, (leat_output_t){element.node, 1}, &value));
  assert_int_equal(value.shape.element_count, 2);
  assert_true(leat_string_view_equals(leat_tensor_string_at(&value, 0), "ab"));
  assert_true(leat_string_view_equals(leat_tensor_string_at(&value, 1), ""));
  leat_tensor_release(&value);
  LEAT_EXPECT_OK(pipeline_fetch(p, (leat_output_t){element.node, 2}, &value));
  assert_int_equal(value.shape.element_count, 0);
  leat_tensor_release(&value);
  LEAT_EXPECT_OK(pipeline_fetch(p, (leat_output_t){element.node, 3}, &value));
  assert_int_equal(leat_tensor_string_at(&value, 0).size, 50);
  leat_tensor_release(&value);
}

static void an_element_of_tensorflow_is_read(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  expect_components(&p, parsed(&p, kGolden));
  pipeline_close(&p);
}

// What this library compresses goes through a message, too.
static void an_element_is_compressed(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t element = uncompressed(&p, parsed(&p, kGolden), COMPONENTS, kTypes);
  leat_output_t components[COMPONENTS];
  for (int i = 0; i < COMPONENTS; ++i) components[i] = (leat_output_t){element.node, i};
  leat_output_t compressed = leat_build(&p.b, "CompressElement",
                                        (leat_outputs_t){components, COMPONENTS}, LEAT_NO_ATTRS);
  leat_output_t message = leat_build(&p.b, "SerializeTensor", LEAT_INPUTS(compressed),
                                     LEAT_NO_ATTRS);
  expect_components(&p, leat_build(&p.b, "ParseTensor", LEAT_INPUTS(message),
                                   LEAT_ATTRS(LEAT_TYPE("out_type", LEAT_DTYPE_VARIANT))));
  pipeline_close(&p);
}

static void other_types_are_refused(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t golden = parsed(&p, kGolden);
  const int32_t floats[COMPONENTS] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_STRING, LEAT_DTYPE_FLOAT,
                                      LEAT_DTYPE_STRING};
  pipeline_expect_failure(&p, uncompressed(&p, golden, COMPONENTS, floats),
                          LEAT_FAILED_PRECONDITION);
  pipeline_expect_failure(&p, uncompressed(&p, golden, 2, kTypes), LEAT_FAILED_PRECONDITION);
  pipeline_expect_failure(&p, uncompressed(&p, pipeline_range(&p, 0, 3), COMPONENTS, kTypes),
                          LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

// Each changes one byte of kGolden.
static void lies_are_refused(void** state) {
  static const struct {
    int place;
    char byte;
    leat_status_code_t code;
  } kLies[] = {
      {46, '\x63', LEAT_DATA_LOSS},         // the block states 99 bytes
      {87, '\x03', LEAT_INVALID_ARGUMENT},  // shape [3, 3] of 48 bytes
      {94, '\x31', LEAT_INVALID_ARGUMENT},  // 49 bytes of int64
      {94, '\x7f', LEAT_INTERNAL},          // more bytes than there are
      {94, '\x00', LEAT_INTERNAL},          // no bytes for six numbers
      {104, '\x03', LEAT_INTERNAL},         // the lengths of two of three strings
      {107, '\x7f', LEAT_INTERNAL},         // a string beyond the end
      {107, '\x01', LEAT_INTERNAL},         // a byte that belongs to nobody
      {129, '\x31', LEAT_INTERNAL},         // the same at the end
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kLies); ++i) {
    char bytes[sizeof kGolden];
    pipeline_t p;
    pipeline_open(&p);
    memcpy(bytes, kGolden, sizeof bytes);
    bytes[kLies[i].place] = kLies[i].byte;
    pipeline_expect_failure(&p, uncompressed(&p, parsed(&p, bytes), COMPONENTS, kTypes),
                            kLies[i].code);
    pipeline_close(&p);
  }
}

int main(void) {
  static const leat_variant_vtable_t* const kKinds[] = {&leat_compressed_element_vtable};
  leat_variant_kinds_set(kKinds, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_element_of_tensorflow_is_read),
      cmocka_unit_test(an_element_is_compressed),
      cmocka_unit_test(other_types_are_refused),
      cmocka_unit_test(lies_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
