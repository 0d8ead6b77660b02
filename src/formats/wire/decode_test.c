// The decoder against handmade bytes: what proto3 says of each form, and that hostile bytes end in
// a status, in time and memory linear in their size. The bytes are written out here with their
// meaning beside them, and not made by our encoder, whose mistakes would cancel the decoder's.
// Messages that TensorFlow wrote are decoded by tests/oracle. Random bytes are the matter of the
// fuzz targets (fuzz).
#include "formats/wire/decode.h"

#include <string.h>

#include "base/fault.h"
#include "base/test.h"
#include "formats/generated/cluster.h"
#include "formats/generated/graph.h"
#include "formats/wire/encode.h"

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

static leat_status_t decode(leat_arena_t* arena, const leat_message_descriptor_t* descriptor,
                            const void* data, size_t size, void* out_message) {
  leat_arena_initialize(leat_allocator_system(), 0, arena);
  // The message's strings are views of the bytes, which in these tests end with the statement.
  leat_string_view_t bytes = leat_string_view_make((const char*)data, size);
  leat_status_t status = leat_arena_copy_string(arena, bytes, &bytes);
  if (!leat_status_is_ok(status)) return status;
  return leat_message_decode(descriptor, bytes, arena, NULL, out_message);
}

static void expect_refused(const leat_message_descriptor_t* descriptor, const void* data,
                           size_t size) {
  leat_arena_t arena;
  char message[512];
  assert_true(descriptor->size_bytes <= sizeof(message));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, decode(&arena, descriptor, data, size, message));
  leat_arena_deinitialize(&arena);
}

static void a_node_is_read_field_by_field(void** state) {
  leat_arena_t arena;
  leat_pb_node_def_t node;
  // name "n", op "NoOp", input "a" and "^b", device "", attr {"T": type 1}.
  LEAT_EXPECT_OK(decode(&arena, &leat_pb_node_def_descriptor,
                        BYTES(0x0a, 1, 'n', 0x12, 4, 'N', 'o', 'O', 'p', 0x1a, 1, 'a', 0x1a, 2,
                              '^', 'b', 0x2a, 7, 0x0a, 1, 'T', 0x12, 2, 0x30, 1),
                        &node));
  assert_true(leat_string_view_equals(node.name, "n"));
  assert_true(leat_string_view_equals(node.op, "NoOp"));
  assert_int_equal(node.input.count, 2);
  assert_true(leat_string_view_equals(node.input.items[1], "^b"));
  assert_int_equal(node.device.size, 0);
  assert_int_equal(node.attr.count, 1);
  assert_true(leat_string_view_equals(node.attr.items[0].key, "T"));
  assert_int_equal(node.attr.items[0].value->value_case, 6);
  assert_int_equal(node.attr.items[0].value->type, 1);
  leat_arena_deinitialize(&arena);
}

static void lists_may_be_packed_or_not_and_interrupted(void** state) {
  leat_arena_t arena;
  leat_pb_tensor_proto_t tensor;
  // int_val: 1; packed 2, 3; then float_val 1.0; then int_val 4, packed none, packed -1.
  LEAT_EXPECT_OK(decode(&arena, &leat_pb_tensor_proto_descriptor,
                        BYTES(0x38, 1, 0x3a, 2, 2, 3, 0x2d, 0, 0, 0x80, 0x3f, 0x38, 4, 0x3a, 0,
                              0x3a, 10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
                        &tensor));
  const int32_t expected[] = {1, 2, 3, 4, -1};
  assert_int_equal(tensor.int_val.count, 5);
  assert_memory_equal(tensor.int_val.items, expected, sizeof(expected));
  assert_int_equal(tensor.float_val.count, 1);
  assert_true(tensor.float_val.items[0] == 1.0f);
  leat_arena_deinitialize(&arena);
}

static void the_last_scalar_wins_and_messages_merge(void** state) {
  leat_arena_t arena;
  leat_pb_graph_def_t graph;
  // version 1, version 2; versions {producer 7}, versions {min_consumer 3}, versions {producer 8}.
  LEAT_EXPECT_OK(decode(&arena, &leat_pb_graph_def_descriptor,
                        BYTES(0x18, 1, 0x22, 2, 0x08, 7, 0x18, 2, 0x22, 2, 0x10, 3, 0x22, 2, 0x08,
                              8),
                        &graph));
  assert_int_equal(graph.version, 2);
  assert_int_equal(graph.versions->producer, 8);
  assert_int_equal(graph.versions->min_consumer, 3);
  leat_arena_deinitialize(&arena);
}

static void a_oneof_keeps_the_last_and_merges_only_its_run(void** state) {
  leat_arena_t arena;
  leat_pb_attr_value_t value;
  // shape {dim {1}}, i 5, shape {dim {2}}, shape {dim {3}}.
  LEAT_EXPECT_OK(decode(&arena, &leat_pb_attr_value_descriptor,
                        BYTES(0x3a, 4, 0x12, 2, 0x08, 1, 0x18, 5, 0x3a, 4, 0x12, 2, 0x08, 2, 0x3a,
                              4, 0x12, 2, 0x08, 3),
                        &value));
  assert_int_equal(value.value_case, 7);
  assert_int_equal(value.i, 0);
  assert_int_equal(value.shape->dim.count, 2);
  assert_int_equal(value.shape->dim.items[0].size, 2);
  assert_int_equal(value.shape->dim.items[1].size, 3);
  leat_arena_deinitialize(&arena);
  LEAT_EXPECT_OK(decode(&arena, &leat_pb_attr_value_descriptor,
                        BYTES(0x3a, 4, 0x12, 2, 0x08, 1, 0x18, 5), &value));
  assert_int_equal(value.value_case, 3);
  assert_null(value.shape);
  leat_arena_deinitialize(&arena);
}

static void equal_map_keys_keep_the_last(void** state) {
  leat_arena_t arena;
  leat_pb_job_def_t job;
  LEAT_EXPECT_OK(decode(&arena, &leat_pb_job_def_descriptor,
                        BYTES(0x12, 5, 0x08, 1, 0x12, 1, 'a', 0x12, 5, 0x08, 2, 0x12, 1, 'b', 0x12,
                              5, 0x08, 1, 0x12, 1, 'c'),
                        &job));
  assert_int_equal(job.tasks.count, 2);
  assert_int_equal(job.tasks.items[1].key, 1);
  assert_true(leat_string_view_equals(job.tasks.items[1].value, "c"));
  leat_arena_deinitialize(&arena);

  uint8_t many[200 * 7];
  for (int i = 0; i < 200; ++i) {  // 100 keys, each twice
    const uint8_t entry[] = {0x12, 5, 0x08, (uint8_t)(i % 100), 0x12, 1, i < 100 ? 'x' : 'y'};
    memcpy(many + i * 7, entry, 7);
  }
  LEAT_EXPECT_OK(decode(&arena, &leat_pb_job_def_descriptor, many, sizeof(many), &job));
  assert_int_equal(job.tasks.count, 100);
  for (int i = 0; i < 100; ++i) assert_true(job.tasks.items[i].value.data[0] == 'y');
  leat_arena_deinitialize(&arena);
}

static void an_entry_without_value_has_an_empty_one(void** state) {
  leat_arena_t arena;
  leat_pb_node_def_t node;
  LEAT_EXPECT_OK(decode(&arena, &leat_pb_node_def_descriptor, BYTES(0x2a, 3, 0x0a, 1, 'T'), &node));
  assert_non_null(node.attr.items[0].value);
  assert_int_equal(node.attr.items[0].value->value_case, 0);
  leat_arena_deinitialize(&arena);
}

static void unknown_fields_are_stepped_over(void** state) {
  leat_arena_t arena;
  leat_pb_version_def_t versions;
  // 15: varint, fixed64, bytes, group {15: varint, group 3 {}}, fixed32; 1 with the wrong wire
  // type.
  LEAT_EXPECT_OK(decode(&arena, &leat_pb_version_def_descriptor,
                        BYTES(0x78, 0xff, 1, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7a, 1, 9, 0x7b, 0x78,
                              1, 0x1b, 0x1c, 0x7c, 0x7d, 1, 2, 3, 4, 0x0a, 1, 5, 0x08, 6),
                        &versions));
  assert_int_equal(versions.producer, 6);
  leat_arena_deinitialize(&arena);
}

static void malformed_bytes_are_refused(void** state) {
  const leat_message_descriptor_t* node = &leat_pb_node_def_descriptor;
  expect_refused(node, BYTES(0x0a));                        // no length
  expect_refused(node, BYTES(0x0a, 2, 'x'));                // cut off
  expect_refused(node, BYTES(0x0a, 1, 0xff));               // not UTF-8
  expect_refused(node, BYTES(0x00, 0));                     // field number 0
  expect_refused(node, BYTES(0x0e, 0));                     // wire type 6
  expect_refused(node, BYTES(0x7b));                        // group without end
  expect_refused(node, BYTES(0x7b, 0x74));                  // another group's end
  expect_refused(node, BYTES(0x0c));                        // end without group
  expect_refused(node, BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1));
  expect_refused(node, BYTES(0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1));
  const leat_message_descriptor_t* tensor = &leat_pb_tensor_proto_descriptor;
  expect_refused(tensor, BYTES(0x2a, 3, 0, 0, 0));          // packed floats end inside one
  expect_refused(tensor, BYTES(0x3a, 2, 1, 0x80));          // packed varints end inside one
  expect_refused(tensor, BYTES(0x38, 1, 0x20, 0, 0x3a, 2, 1, 0x80));
  expect_refused(tensor, BYTES(0x2d, 0, 0));                // float cut off
  expect_refused(tensor, BYTES(0x38, 0x80));                // varint cut off: it has no room
  expect_refused(tensor, BYTES(0x38, 1, 0x38, 2, 0x38, 3, 0x38, 4, 0x38, 0x80));
  expect_refused(tensor, BYTES(0x3a, 12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                               0x80, 1));
}

// NameAttrList in AttrValue in NameAttrList ...: each level is 3 messages.
static size_t write_nested(uint8_t* out, size_t room, int levels) {
  size_t size = 0;
  uint8_t inner[4096];
  for (int i = 0; i < levels; ++i) {
    uint8_t* next = out;
    // attr entry {value {func {...}}}
    size_t func = 1 + (size < 128 ? 1 : 2) + size;
    size_t entry = 1 + (func < 128 ? 1 : 2) + func;
    const uint8_t tags[] = {0x12, 0x12, 0x52};
    const size_t sizes[] = {entry, func, size};
    memcpy(inner, out, size);
    for (int j = 0; j < 3; ++j) {
      *next++ = tags[j];
      if (sizes[j] >= 128) *next++ = (uint8_t)(sizes[j] | 0x80);
      *next++ = (uint8_t)(sizes[j] >= 128 ? sizes[j] >> 7 : sizes[j]);
    }
    memcpy(next, inner, size);
    size += (size_t)(next - out);
    assert_true(size + 16 < room);
  }
  return size;
}

static void nesting_is_limited(void** state) {
  uint8_t bytes[4096];
  leat_arena_t arena;
  leat_pb_name_attr_list_t list;
  size_t size = write_nested(bytes, sizeof(bytes), 33);
  LEAT_EXPECT_OK(decode(&arena, &leat_pb_name_attr_list_descriptor, bytes, size, &list));
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_name_attr_list_descriptor, &list, &out));
  leat_string_builder_deinitialize(&out);
  leat_arena_deinitialize(&arena);
  expect_refused(&leat_pb_name_attr_list_descriptor, bytes,
                 write_nested(bytes, sizeof(bytes), 34));
  leat_decode_limits_t limits = {.max_depth = 2};
  size = write_nested(bytes, sizeof(bytes), 1);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_view_t view = {(const char*)bytes, size};
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_message_decode(&leat_pb_name_attr_list_descriptor, view, &arena, &limits,
                                       &list));
  limits = (leat_decode_limits_t){.max_size_bytes = size - 1};
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_message_decode(&leat_pb_name_attr_list_descriptor, view, &arena, &limits,
                                       &list));
  limits = (leat_decode_limits_t){.max_memory_bytes = 16};
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_message_decode(&leat_pb_name_attr_list_descriptor, view, &arena, &limits,
                                       &list));
  leat_arena_deinitialize(&arena);
}

// Groups of bytes, repeated: memory stays within a multiple of the size, and the test ends.
static void repeated_singular_messages_are_linear(void** state) {
  static const struct {
    uint8_t size;
    uint8_t bytes[16];
    const leat_message_descriptor_t* descriptor;
  } cases[] = {
      {6, {0x22, 4, 0x1a, 2, 1, 2}, &leat_pb_graph_def_descriptor},
      {2, {0x22, 0}, &leat_pb_graph_def_descriptor},
      {8, {0x3a, 2, 0x12, 0, 0x3a, 0, 0x18, 1}, &leat_pb_attr_value_descriptor},
      {6, {0x3a, 0, 0x42, 0, 0x52, 0}, &leat_pb_attr_value_descriptor},
      {8, {0x38, 1, 0x50, 1, 0x3a, 0, 0x58, 1}, &leat_pb_tensor_proto_descriptor},
  };
  enum { COPIES = 20000 };
  static uint8_t bytes[COPIES * 8];
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    leat_arena_t arena;
    char message[512];
    size_t size = 0;
    for (; size + cases[i].size <= sizeof(bytes); size += cases[i].size) {
      memcpy(bytes + size, cases[i].bytes, cases[i].size);
    }
    leat_status_free(decode(&arena, cases[i].descriptor, bytes, size, message));
    assert_true(arena.used_bytes < 257 * size);
    leat_arena_deinitialize(&arena);
  }
}

static void every_allocation_may_fail(void** state) {
  const uint8_t bytes[] = {0x0a, 9, 0x2a, 7, 0x0a, 1, 'T', 0x12, 2, 0x30, 1, 0x22, 2, 0x08, 7};
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_arena_t arena;
    leat_pb_graph_def_t graph;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status =
        decode(&arena, &leat_pb_graph_def_descriptor, bytes, sizeof(bytes), &graph);
    bool met = leat_fault_remove(&fault);
    assert_int_equal(leat_status_code(status), met ? LEAT_RESOURCE_EXHAUSTED : LEAT_OK);
    leat_status_free(status);
    leat_arena_deinitialize(&arena);
    if (!met) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_node_is_read_field_by_field),
      cmocka_unit_test(lists_may_be_packed_or_not_and_interrupted),
      cmocka_unit_test(the_last_scalar_wins_and_messages_merge),
      cmocka_unit_test(a_oneof_keeps_the_last_and_merges_only_its_run),
      cmocka_unit_test(equal_map_keys_keep_the_last),
      cmocka_unit_test(an_entry_without_value_has_an_empty_one),
      cmocka_unit_test(unknown_fields_are_stepped_over),
      cmocka_unit_test(malformed_bytes_are_refused),
      cmocka_unit_test(nesting_is_limited),
      cmocka_unit_test(repeated_singular_messages_are_linear),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
