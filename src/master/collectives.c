// A collective names its group by a key and says how many members it has; both are attributes, or
// inputs, which are constants as a rule. Where the graph has as many devices in each group as the
// group has members, nobody else takes part, and a step needs no number in common with others. It
// must not have one either: two masters that run such graphs one after the other, over the same
// tasks, would use the same numbers, and a task remembers which steps are over.
//
// Where a key or a size is no constant, collectives on devices of the master's own task alone are
// taken for a share of a group, as in between-graph replication, and those that reach other tasks
// for the whole of one.
//
// The graph key is TensorFlow's: a hash of the instance keys that are attributes, or, without any,
// the number that the hash begins with.
#include "master/collectives.h"

#include <stdlib.h>

// A device of a group in the graph.
typedef struct share_s {
  int32_t group_key, group_size, device;
} share_t;

// Of the other ops that communicate some receive values and some call functions; a Batch is left,
// which names no group and so changes nothing below.
static bool is_collective(const leat_node_t* node) {
  const uint32_t flags = node->op->flags;
  return (flags & LEAT_OP_DISTRIBUTED_COMMUNICATION) && !(flags & (LEAT_OP_RECV | LEAT_OP_CALLS));
}

// Reads the attribute or the constant input |name|, an int32. |*out_has| says whether the node has
// either; the result, whether its value is known.
static bool read_number(const leat_graph_t* graph, const leat_node_t* node,
                        leat_string_view_t name, bool* out_has, int32_t* out_number) {
  *out_has = true;
  const leat_attr_value_t* attr = leat_node_attr(node, name);
  if (attr) {
    *out_number = (int32_t)attr->i;
    return true;
  }
  for (int i = 0; i < node->op->input_count && i < node->input_count; ++i) {
    if (!leat_string_view_equal(node->op->inputs[i].name, name)) continue;
    const leat_tensor_t* value = leat_node_constant(&graph->nodes[node->inputs[i].node]);
    if (!value || value->dtype != LEAT_DTYPE_INT32 || value->shape.rank != 0) return false;
    *out_number = *leat_tensor_data(value, const int32_t);
    return true;
  }
  *out_has = false;
  return false;
}

static int compare_shares(const void* a, const void* b) {
  const share_t *x = a, *y = b;
  if (x->group_key != y->group_key) return x->group_key < y->group_key ? -1 : 1;
  return x->device < y->device ? -1 : x->device > y->device;
}

// Whether each group has as many devices as it has members. Sorts the shares.
static bool are_whole(share_t* shares, size_t count) {
  qsort(shares, count, sizeof *shares, compare_shares);
  for (size_t i = 0; i < count;) {
    const int32_t key = shares[i].group_key, size = shares[i].group_size;
    int32_t devices = 0;
    for (int32_t last = -1; i < count && shares[i].group_key == key; ++i) {
      devices += shares[i].device != last;
      last = shares[i].device;
    }
    if (devices != size) return false;
  }
  return true;
}

static int compare_keys(const void* a, const void* b) {
  const int32_t x = *(const int32_t*)a, y = *(const int32_t*)b;
  return x < y ? -1 : x > y;
}

// Sorts the keys.
static int64_t hash_keys(int32_t* keys, size_t count) {
  uint64_t hash = UINT64_C(0x8774aa605c729c72);
  qsort(keys, count, sizeof *keys, compare_keys);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = (uint64_t)(int64_t)keys[i];
    if (i > 0 && keys[i] == keys[i - 1]) continue;
    hash = key ^ (hash + UINT64_C(0x9e3779b97f4a7800) + (key << 10) + (key >> 4));
  }
  return (int64_t)hash;
}

leat_status_t leat_graph_collectives_find(const leat_graph_t* graph,
                                          const leat_placer_options_t* placement,
                                          leat_graph_collectives_t* out_found) {
  leat_allocator_t* allocator = graph->allocator;
  share_t* shares = NULL;
  int32_t* keys = NULL;
  size_t share_count = 0, key_count = 0;
  bool are_known = true;
  *out_found = (leat_graph_collectives_t){.are_own = true};
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, graph->node_count + 1, &shares));
  leat_status_t status = LEAT_ALLOCATE(allocator, graph->node_count + 1, &keys);
  for (size_t i = 0; i < graph->node_count && !status; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    if (!is_collective(node)) continue;
    share_t share = {.device = node->assigned_device};
    bool has_key, has_size;
    const bool knows_key =
        read_number(graph, node, LEAT_SV("group_key"), &has_key, &share.group_key);
    const bool knows_size =
        read_number(graph, node, LEAT_SV("group_size"), &has_size, &share.group_size);
    out_found->has_any = true;
    out_found->are_own &= placement->devices[node->assigned_device].task == 0;
    if (knows_key && knows_size) shares[share_count++] = share;
    // Ops without a group of their own use a communicator, which has one.
    if ((has_key && !knows_key) || (has_size && !knows_size)) are_known = false;
    if (leat_node_attr(node, LEAT_SV("instance_key"))) {
      keys[key_count++] = (int32_t)leat_node_attr_int(node, "instance_key", 0);
    }
  }
  if (!status && out_found->has_any) {
    const bool is_whole = are_whole(shares, share_count) && (are_known || !out_found->are_own);
    if (!is_whole) out_found->graph_key = hash_keys(keys, key_count);
  }
  leat_allocator_free(allocator, shares);
  leat_allocator_free(allocator, keys);
  return status;
}
