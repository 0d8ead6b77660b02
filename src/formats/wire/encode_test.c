// The encoder of protocol buffers, against bytes that were worked out by hand from the wire format.
// Fields with their default value are left out, but a field of a oneof is written even then,
// because its presence says which field was set. Entries of a map are sorted by key, which the
// format does not ask for, so that equal graphs have equal bytes. A graph of 300 nodes is encoded
// and decoded, and every prefix of its bytes must be read or refused without a crash. Messages that
// contain each other deeper than LEAT_ENCODE_MAX_DEPTH are refused, because the encoder calls
// itself for each level.
#include "formats/wire/encode.h"

#include <string.h>

#include "base/test.h"
#include "formats/generated/cluster.h"
#include "formats/generated/graph.h"
#include "formats/generated/perfetto.h"
#include "formats/generated/structured_value.h"
#include "formats/wire/decode.h"

static void expect_bytes(const leat_message_descriptor_t* descriptor, const void* message,
                         const char* expected, size_t size) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  LEAT_EXPECT_OK(leat_message_encode(descriptor, message, &out));
  assert_int_equal(out.size, size);
  if (size > 0) assert_memory_equal(out.data, expected, size);
  leat_string_builder_deinitialize(&out);
}
#define EXPECT_BYTES(name, message, literal) \
  expect_bytes(&leat_pb_##name##_descriptor, (message), (literal), sizeof(literal) - 1)

static void defaults_are_left_out_but_in_a_oneof(void** state) {
  leat_pb_version_def_t versions = {0};
  EXPECT_BYTES(version_def, &versions, "");
  versions.min_consumer = -1;
  EXPECT_BYTES(version_def, &versions, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  leat_pb_attr_value_t value = {.value_case = 3};
  EXPECT_BYTES(attr_value, &value, "\x18\x00");
  value.value_case = 7;  // a message that is set and not there is an empty one
  EXPECT_BYTES(attr_value, &value, "\x3a\x00");
  value.value_case = 0;
  value.i = 5;
  EXPECT_BYTES(attr_value, &value, "");
}

static void maps_are_sorted_and_whole(void** state) {
  leat_pb_job_def_tasks_entry_t tasks[] = {
      {.key = 2, .value = LEAT_SV("b")}, {.key = 0}, {.key = -1, .value = LEAT_SV("c")}};
  leat_pb_job_def_t job = {.tasks = {tasks, 3}};
  EXPECT_BYTES(job_def, &job,
               "\x12\x0e\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x01" "c"
               "\x12\x04\x08\x00\x12\x00"
               "\x12\x05\x08\x02\x12\x01" "b");
  leat_pb_node_def_attr_entry_t attrs[] = {{.key = LEAT_SV("b")}, {.key = LEAT_SV("a")}};
  leat_pb_node_def_t node = {.attr = {attrs, 2}};
  EXPECT_BYTES(node_def, &node, "\x2a\x05\x0a\x01" "a\x12\x00\x2a\x05\x0a\x01" "b\x12\x00");
}

static void scalars_have_their_forms(void** state) {
  leat_pb_structured_value_t value = {.kind_case = 12, .int64_value = -2};
  EXPECT_BYTES(structured_value, &value, "\x60\x03");  // zigzag
  value = (leat_pb_structured_value_t){.kind_case = 11, .float64_value = 1.0};
  EXPECT_BYTES(structured_value, &value, "\x59\x00\x00\x00\x00\x00\x00\xf0\x3f");
  int32_t ints[] = {1, -1, 300};
  float floats[] = {-0.0f};
  leat_pb_tensor_proto_t tensor = {.int_val = {ints, 3}, .float_val = {floats, 1}};
  EXPECT_BYTES(tensor_proto, &tensor,
               "\x2a\x04\x00\x00\x00\x80"
               "\x3a\x0d\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02");
}

// Perfetto's viewer reads these in no other form.
static void lists_are_unpacked_where_the_field_says_so(void** state) {
  uint64_t ids[] = {1, 0x0807060504030201};
  leat_pb_track_event_t event = {.type = 1, .flow_ids = {ids, 2}, .terminating_flow_ids = {ids, 0}};
  EXPECT_BYTES(track_event, &event,
               "\x48\x01"
               "\xf9\x02\x01\x00\x00\x00\x00\x00\x00\x00"
               "\xf9\x02\x01\x02\x03\x04\x05\x06\x07\x08");
}

static void decoding_gives_the_message_back(void** state) {
  enum { NODES = 300 };
  leat_arena_t arena, again;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_pb_graph_def_t graph = {.version = 3}, read;
  for (int i = 0; i < NODES; ++i) {
    void *node, *entry, *value;
    LEAT_EXPECT_OK(leat_message_list_append(&arena, &graph.node, sizeof(graph.node.items[0]),
                                            &node));
    leat_pb_node_def_t* made = (leat_pb_node_def_t*)node;
    LEAT_EXPECT_OK(leat_arena_print(&arena, &made->name, "node_%d", i));
    made->op = LEAT_SV("Const");
    for (int j = 0; j < i % 30; ++j) {
      LEAT_EXPECT_OK(leat_message_list_append(&arena, &made->attr, sizeof(made->attr.items[0]),
                                              &entry));
      LEAT_EXPECT_OK(leat_arena_allocate(&arena, sizeof(leat_pb_attr_value_t), &value));
      leat_pb_node_def_attr_entry_t* attr = (leat_pb_node_def_attr_entry_t*)entry;
      attr->value = (leat_pb_attr_value_t*)value;
      LEAT_EXPECT_OK(leat_arena_print(&arena, &attr->key, "%d", (j * 7) % 31));
      attr->value->value_case = 3;
      attr->value->i = j;
    }
  }
  leat_string_builder_t first, second;
  leat_string_builder_initialize(leat_allocator_system(), &first);
  leat_string_builder_initialize(leat_allocator_system(), &second);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &graph, &first));
  leat_arena_initialize(leat_allocator_system(), 0, &again);
  LEAT_EXPECT_OK(leat_message_decode(&leat_pb_graph_def_descriptor,
                                     leat_string_builder_view(&first), &again, NULL, &read));
  assert_int_equal(read.node.count, NODES);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &read, &second));
  assert_int_equal(first.size, second.size);
  assert_memory_equal(first.data, second.data, first.size);
  // Each prefix of the bytes is a message or is refused; none is a crash.
  for (size_t size = 0; size < first.size; size += 1 + size / 64) {
    leat_arena_t part;
    leat_arena_initialize(leat_allocator_system(), 0, &part);
    leat_status_free(leat_message_decode(&leat_pb_graph_def_descriptor,
                                         leat_string_view_make(first.data, size), &part, NULL,
                                         &read));
    leat_arena_deinitialize(&part);
  }
  leat_string_builder_deinitialize(&first);
  leat_string_builder_deinitialize(&second);
  leat_arena_deinitialize(&arena);
  leat_arena_deinitialize(&again);
}

static void depth_is_limited(void** state) {
  enum { LEVELS = LEAT_ENCODE_MAX_DEPTH + 1 };
  static leat_pb_structured_value_t values[LEVELS + 1];
  static leat_pb_list_value_t lists[LEVELS];
  for (int i = 0; i < LEVELS; ++i) {
    values[i] = (leat_pb_structured_value_t){.kind_case = 51, .list_value = &lists[i]};
    lists[i] = (leat_pb_list_value_t){.values = {&values[i + 1], 1}};
  }
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_message_encode(&leat_pb_structured_value_descriptor, &values[0], &out));
  leat_string_builder_deinitialize(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_left_out_but_in_a_oneof),
      cmocka_unit_test(maps_are_sorted_and_whole),
      cmocka_unit_test(scalars_have_their_forms),
      cmocka_unit_test(lists_are_unpacked_where_the_field_says_so),
      cmocka_unit_test(decoding_gives_the_message_back),
      cmocka_unit_test(depth_is_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
