#include "capi/stage_kit.h"

#include "base/map.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"

void stage_kit_read(const TF_Buffer* encoded, leat_arena_t* arena,
                    leat_pb_run_metadata_t* out_metadata) {
  LEAT_EXPECT_OK(leat_message_decode(&leat_pb_run_metadata_descriptor,
                                     leat_string_view_make(encoded->data, encoded->length), arena,
                                     NULL, out_metadata));
}

const stage_t* stage_kit_find(const leat_pb_run_metadata_t* metadata, const char* name) {
  for (size_t i = 0; i < metadata->graph_stages.count; ++i) {
    const stage_t* stage = &metadata->graph_stages.items[i];
    if (leat_string_view_equals(stage->name, name)) return stage;
  }
  fail_msg("there is no stage '%s'", name);
  return NULL;
}

const leat_pb_node_def_t* stage_kit_node(const stage_t* stage, const char* name) {
  for (size_t i = 0; i < stage->node.count; ++i) {
    if (leat_string_view_equals(stage->node.items[i].name, name)) return &stage->node.items[i];
  }
  return NULL;
}

bool stage_kit_is_removed(const stage_t* stage, const char* name) {
  for (size_t i = 0; i < stage->removed.count; ++i) {
    if (leat_string_view_equals(stage->removed.items[i], name)) return true;
  }
  return false;
}

const placed_t* stage_kit_placed(const leat_pb_run_metadata_t* metadata, const char* name) {
  assert_non_null(metadata->placement);
  for (size_t i = 0; i < metadata->placement->node.count; ++i) {
    const placed_t* node = &metadata->placement->node.items[i];
    if (leat_string_view_equals(node->name, name)) return node;
  }
  fail_msg("nothing is said of '%s'", name);
  return NULL;
}

void stage_kit_expect_reason(const leat_pb_run_metadata_t* metadata, const char* name,
                             const char* reason, const char* beside) {
  const placed_t* node = stage_kit_placed(metadata, name);
  if (!leat_string_view_equals(node->reason, reason)) {
    print_error("%s: %.*s\n", name, LEAT_SV_ARG(node->reason));
  }
  assert_true(leat_string_view_equals(node->reason, reason));
  assert_true(leat_string_view_equals(node->beside, beside));
}

// ---- The sum ------------------------------------------------------------------------------------

static void expect_equal(const leat_pb_node_def_t* a, const leat_pb_node_def_t* b) {
  const leat_pb_node_def_t* nodes[] = {a, b};
  leat_string_builder_t bytes[2];
  for (int i = 0; i < 2; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &bytes[i]);
    LEAT_EXPECT_OK(leat_message_encode(&leat_pb_node_def_descriptor, nodes[i], &bytes[i]));
  }
  if (bytes[0].size != bytes[1].size || memcmp(bytes[0].data, bytes[1].data, bytes[0].size)) {
    fail_msg("node '%.*s' is another one", LEAT_SV_ARG(a->name));
  }
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&bytes[i]);
}

// Adds what |stage| changed to |nodes|, from names to nodes, or to NULL where one is gone.
static void add_stage(const stage_t* stage, leat_string_map_t* nodes) {
  assert_true(stage->doc.size > 0);
  for (size_t i = 0; i < stage->removed.count; ++i) {
    uint64_t node;
    assert_true(leat_string_map_get(nodes, stage->removed.items[i], &node) && node);
    LEAT_EXPECT_OK(leat_string_map_set(nodes, stage->removed.items[i], 0));
  }
  for (size_t i = 0; i < stage->node.count; ++i) {
    LEAT_EXPECT_OK(leat_string_map_set(nodes, stage->node.items[i].name,
                                       (uint64_t)(uintptr_t)&stage->node.items[i]));
  }
}

size_t stage_kit_expect_sum(const leat_pb_run_metadata_t* metadata, size_t devices) {
  leat_string_map_t nodes;
  size_t left = 0, ran = 0;
  leat_string_map_initialize(leat_allocator_system(), &nodes);
  for (size_t s = 0; s < metadata->graph_stages.count; ++s) {
    add_stage(&metadata->graph_stages.items[s], &nodes);
  }
  for (size_t i = 0; i < nodes.count; ++i) left += nodes.entries[i].value != 0;
  assert_int_equal(metadata->partition_graphs.count, devices);
  for (size_t g = 0; g < devices; ++g) {
    const leat_pb_graph_def_t* part = &metadata->partition_graphs.items[g];
    for (size_t i = 0; i < part->node.count; ++i, ++ran) {
      uint64_t node = 0;
      if (!leat_string_map_get(&nodes, part->node.items[i].name, &node) || !node) {
        fail_msg("no stage left node '%.*s'", LEAT_SV_ARG(part->node.items[i].name));
      }
      expect_equal((const leat_pb_node_def_t*)(uintptr_t)node, &part->node.items[i]);
    }
  }
  assert_int_equal(left, ran);
  leat_string_map_deinitialize(&nodes);
  return ran;
}
