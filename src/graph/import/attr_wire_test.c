// A fast reader takes attributes directly from the bytes of a GraphDef; it exists for speed only,
// so it must give what the general decoder and leat_attr_value_from_proto() give. Both ways read
// each value here and must end with the same value or the same error: values of every kind, then
// the same bytes cut off at each place, then with single bits changed at each place. A second
// promise is that values which are written alike become one object, because thousands of nodes
// share their attributes. What that sharing saves is not measured here.
#include "graph/import/attr_wire.h"

#include "base/test.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "graph/op/attr_proto.h"
#include "graph/storage.h"

typedef struct fixture_s {
  leat_graph_storage_t* storage;
  leat_arena_t arena;
  leat_attr_reader_t reader;
} fixture_t;

static void open_fixture(fixture_t* f) {
  LEAT_EXPECT_OK(leat_graph_storage_create(leat_allocator_system(), NULL, &f->storage));
  leat_arena_initialize(leat_allocator_system(), 0, &f->arena);
  leat_attr_reader_initialize(f->storage, &f->arena, &f->reader);
}

static void close_fixture(fixture_t* f) {
  leat_attr_reader_deinitialize(&f->reader);
  leat_arena_deinitialize(&f->arena);
  leat_graph_storage_release(f->storage);
}

// An AttrValue in text, encoded into the fixture's arena.
static leat_string_view_t encode(fixture_t* f, const char* text) {
  leat_pb_attr_value_t message;
  LEAT_EXPECT_OK(leat_text_parse(&leat_pb_attr_value_descriptor, leat_string_view_from(text),
                                 &f->arena, &message));
  leat_string_builder_t builder;
  leat_string_builder_initialize(leat_allocator_system(), &builder);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_attr_value_descriptor, &message, &builder));
  leat_string_view_t bytes;
  LEAT_EXPECT_OK(
      leat_arena_copy_string(&f->arena, leat_string_builder_view(&builder), &bytes));
  leat_string_builder_deinitialize(&builder);
  return bytes;
}

static leat_status_t read_generally(fixture_t* f, leat_string_view_t bytes,
                                    leat_attr_value_t* out_value) {
  leat_pb_attr_value_t message;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_attr_value_descriptor, bytes, &f->arena, NULL,
                                           &message));
  return leat_attr_value_from_proto(&message, f->storage, out_value);
}

// Both ways end with the same value, or the same error.
static void expect_same(fixture_t* f, leat_string_view_t bytes) {
  leat_attr_value_t wire, general;
  leat_status_t wire_status = leat_attr_reader_read(&f->reader, bytes, &wire);
  leat_status_t general_status = read_generally(f, bytes, &general);
  assert_string_equal(leat_status_message(wire_status), leat_status_message(general_status));
  assert_int_equal(leat_status_code(wire_status), leat_status_code(general_status));
  if (!general_status) {
    assert_int_equal(wire.kind, general.kind);
    assert_int_equal(wire.is_list, general.is_list);
    assert_int_equal(wire.count, general.count);
    assert_true(leat_attr_value_equal(&wire, &general));
  }
  leat_status_free(wire_status);
  leat_status_free(general_status);
}

#define SHAPE "{ dim { size: 2 } dim { size: -1 } dim { } }"
#define LONG_SHAPE                                                                         \
  "{ dim { size: 1 } dim { size: 1 } dim { size: 1 } dim { size: 1 } dim { size: 1 } "     \
  "dim { size: 1 } dim { size: 1 } dim { size: 1 } dim { size: 1 } }"
static const char* const values[] = {
    "", "s: ''", "s: 'text'", "i: 0", "i: -1", "i: 300", "f: 1.5", "b: true", "b: false",
    "type: DT_FLOAT", "placeholder: 'T'", "func { name: 'f' attr { key: 'a' value { i: 1 } } }",
    "shape { }", "shape { unknown_rank: true }", "shape " SHAPE, "shape " LONG_SHAPE,
    "shape { dim { size: 2 name: 'rows' } }", "shape { dim { size: -2 } }",
    "shape { unknown_rank: true dim { size: 1 } }",
    "list { }", "list { s: 'a' s: '' s: 'long' }", "list { i: 1 i: 300 i: -1 }",
    "list { type: DT_FLOAT type: DT_INT32 }", "list { f: 1 f: 2 }", "list { b: true }",
    "list { shape " SHAPE " shape { unknown_rank: true } }", "list { s: 'a' i: 1 }",
    "list { func { name: 'f' } }",
    "tensor { }", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1.5 }",
    "tensor { dtype: DT_INT32 tensor_shape { dim { size: 3 } } int_val: 1 int_val: -2 }",
    "tensor { dtype: DT_INT64 tensor_shape { dim { size: 2 } } int64_val: 1 int64_val: -2 }",
    "tensor { dtype: DT_BOOL tensor_shape { dim { size: 2 } } bool_val: true bool_val: false }",
    "tensor { dtype: DT_INT8 tensor_shape { dim { size: 2 } } int_val: 1 int_val: 255 }",
    "tensor { dtype: DT_DOUBLE tensor_shape { } double_val: 2 }",
    "tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: 'text' }",
    "tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: 'a' string_val: '' }",
    "tensor { dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: 'a' string_val: 'b' }",
    "tensor { dtype: DT_STRING tensor_shape { } string_val: 'a' int_val: 1 }",
    "tensor { dtype: DT_STRING tensor_shape { } int_val: 1 string_val: 'a' }",
    "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } "
    "tensor_content: '\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00' }",
    "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } tensor_content: 'abc' }",
    "tensor { dtype: DT_INT32 tensor_shape { dim { size: -1 } } int_val: 1 }",
    "tensor { dtype: DT_INT32 tensor_shape { unknown_rank: true } int_val: 1 }",
    "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 int_val: 2 }",
    "tensor { dtype: DT_INT32 tensor_shape { dim { size: 20 } } int_val: 1 int_val: 2 int_val: 3 "
    "int_val: 4 int_val: 5 int_val: 6 int_val: 7 int_val: 8 int_val: 9 int_val: 10 int_val: 11 "
    "int_val: 12 int_val: 13 int_val: 14 int_val: 15 int_val: 16 int_val: 17 int_val: 18 }",
    "list { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } }",
};

static void values_are_what_the_general_decoder_gives(void** state) {
  (void)state;
  fixture_t f;
  open_fixture(&f);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(values); ++i) expect_same(&f, encode(&f, values[i]));
  close_fixture(&f);
}

static void so_are_values_with_a_byte_changed_or_cut_off(void** state) {
  (void)state;
  fixture_t f;
  open_fixture(&f);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(values); ++i) {
    leat_string_view_t whole = encode(&f, values[i]);
    for (size_t at = 0; at < whole.size && at < 64; ++at) {
      expect_same(&f, leat_string_view_make(whole.data, at));
      static const uint8_t changes[] = {0x01, 0x02, 0x08, 0x20, 0x7f, 0x80, 0xff};
      for (size_t k = 0; k < sizeof(changes); ++k) {
        leat_string_view_t changed;
        LEAT_EXPECT_OK(leat_arena_copy_string(&f.arena, whole, &changed));
        ((char*)(uintptr_t)changed.data)[at] ^= (char)changes[k];
        expect_same(&f, changed);
      }
    }
  }
  close_fixture(&f);
}

static void values_written_alike_are_one(void** state) {
  (void)state;
  fixture_t f;
  open_fixture(&f);
  leat_string_view_t bytes = encode(&f, "list { s: 'loc:@a' }");
  leat_attr_value_t first, second, apart;
  LEAT_EXPECT_OK(leat_attr_reader_read(&f.reader, bytes, &first));
  LEAT_EXPECT_OK(leat_attr_reader_read(&f.reader, encode(&f, "list { s: 'loc:@a' }"), &second));
  LEAT_EXPECT_OK(leat_attr_reader_read_apart(&f.reader, bytes, &apart));
  assert_ptr_equal(first.strings, second.strings);
  assert_ptr_not_equal(first.strings, apart.strings);
  close_fixture(&f);
}

// A typed list may be shorter than the tensor, whose last item fills it; it stays that way. Bools
// have been listed always.
static void tensors_are_written_as_they_were_given(void** state) {
  (void)state;
  fixture_t f;
  open_fixture(&f);
  static const char* const tensors[] = {
      "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 9 } } float_val: 1.5 }",
      "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 1 int_val: -2 }",
      "tensor { dtype: DT_INT8 tensor_shape { dim { size: 2 } } tensor_content: 'ab' }",
      "tensor { dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: 'a' }",
      "tensor { dtype: DT_BOOL tensor_shape { dim { size: 2 } } bool_val: true bool_val: false }",
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(tensors); ++i) {
    leat_string_view_t given = encode(&f, tensors[i]);
    leat_attr_value_t value;
    leat_pb_attr_value_t message;
    leat_string_builder_t written;
    LEAT_EXPECT_OK(leat_attr_reader_read(&f.reader, given, &value));
    LEAT_EXPECT_OK(leat_attr_value_to_proto(&value, &f.arena, &message));
    leat_string_builder_initialize(leat_allocator_system(), &written);
    LEAT_EXPECT_OK(leat_message_encode(&leat_pb_attr_value_descriptor, &message, &written));
    assert_true(leat_string_view_equal(leat_string_builder_view(&written), given));
    leat_string_builder_deinitialize(&written);
  }
  close_fixture(&f);
}

static void shapes_are_read_when_they_are_plain(void** state) {
  (void)state;
  fixture_t f;
  open_fixture(&f);
  leat_wire_shapes_t shapes;
  leat_string_view_t two = encode(&f, "list { shape " SHAPE " shape { unknown_rank: true } }");
  assert_true(leat_wire_shapes_read(two, &shapes));
  assert_int_equal(shapes.count, 2);
  assert_string_equal(LEAT_PARTIAL_SHAPE_TEXT(shapes.shapes[0]), "[2,?,0]");
  assert_int_equal(shapes.shapes[1].rank, -1);
  assert_false(leat_wire_shapes_read(encode(&f, "list { shape " LONG_SHAPE " }"), &shapes));
  assert_false(leat_wire_shapes_read(encode(&f, "list { i: 1 }"), &shapes));
  assert_false(leat_wire_shapes_read(encode(&f, "i: 1"), &shapes));
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_what_the_general_decoder_gives),
      cmocka_unit_test(so_are_values_with_a_byte_changed_or_cut_off),
      cmocka_unit_test(values_written_alike_are_one),
      cmocka_unit_test(tensors_are_written_as_they_were_given),
      cmocka_unit_test(shapes_are_read_when_they_are_plain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
