// The followers of values in pieces, which concat sinking keeps in order.
//
// A slice of a value depended on all pieces, and so did every node that reads the slice. An update
// of a variable that reads it therefore ran after all nodes that read the variable to compute the
// value; once the slice is a single piece, nothing would order the update after the readers for the
// other pieces. So the first impure nodes on each path from the slices of a value, its followers,
// get control edges from all pieces. Pure nodes need none, since they have no effect to order.
#include <string.h>

#include "optimize/concat_sinking.h"

// The number of nodes that the search for followers may visit, over all values: the search from
// each value may lead through the whole graph.
#define MAX_VISITS (1 << 20)

typedef struct walk_s {
  int32_t *found, *followers;  // the nodes that were reached, and those at which a path ends
  bool* seen;
  int count, follower_count;
  int visits;  // counted over the walks from all values
} walk_t;

static leat_status_t allocate_walk(const leat_concat_t* p, walk_t* out_walk) {
  leat_arena_t* arena = p->edit->scratch;
  const size_t count = p->count + 1;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &out_walk->found));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &out_walk->followers));
  return LEAT_NEW(arena, count, &out_walk->seen);
}

static void go_to_readers(const leat_concat_t* p, int32_t index, walk_t* w) {
  LEAT_EDIT_FOR_EACH_USE(p->edit, index, use) {
    const int32_t reader = leat_edit_reader(p->edit, use).node;
    if (w->seen[reader]) continue;
    w->seen[reader] = true;
    // Each node is found once.
    LEAT_DCHECK((size_t)w->count < p->count);
    w->found[w->count++] = reader;
  }
}

// Begins a walk at the readers of the slices of value |index|.
static void begin_walk(const leat_concat_t* p, int32_t index, walk_t* w) {
  for (int i = 0; i < w->count; ++i) w->seen[w->found[i]] = false;
  w->count = w->follower_count = 0;
  LEAT_EDIT_FOR_EACH_USE(p->edit, index, use) {
    const int32_t reader = leat_edit_reader(p->edit, use).node;
    if (p->values[reader].role == LEAT_CONCAT_TAKEN) go_to_readers(p, reader, w);
  }
}

// Follows all edges up to the first impure nodes. False where a path reaches control flow, behind
// which a control edge from outside would not have the same meaning, or where the walks have
// visited too many nodes.
static bool walk(const leat_concat_t* p, walk_t* w) {
  for (int i = 0; i < w->count; ++i) {
    if (++w->visits > MAX_VISITS) return false;
    const leat_node_t* node = leat_edit_node(p->edit, w->found[i]);
    const bool is_no_op = leat_string_view_equal(node->op->name, LEAT_OP_NAME_NO_OP);
    if (node->op->flags & LEAT_OP_CONTROL_FLOW) return false;
    if (is_no_op || leat_node_is_pure(p->edit->graph, node)) {
      go_to_readers(p, w->found[i], w);
    } else {
      w->followers[w->follower_count++] = w->found[i];
    }
  }
  return true;
}

// Finds the followers of value |index|; refuses its group where the walk fails.
static leat_status_t find_followers(leat_concat_t* p, int32_t index, walk_t* w) {
  leat_concat_value_t* value = &p->values[index];
  begin_walk(p, index, w);
  if (!walk(p, w)) p->values[leat_concat_group(p, index)].is_refused = true;
  value->follower_count = w->follower_count;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(p->edit->scratch, (size_t)w->follower_count + 1, &value->followers));
  memcpy(value->followers, w->followers, (size_t)w->follower_count * sizeof *w->followers);
  return leat_ok_status();
}

leat_status_t leat_concat_find_followers(leat_concat_t* p) {
  walk_t w = {0};
  LEAT_RETURN_IF_ERROR(allocate_walk(p, &w));
  for (size_t i = 0; i < p->count; ++i) {
    const int32_t index = (int32_t)i;
    if (!leat_concat_gives(p, index) || leat_concat_is_refused(p, index)) continue;
    LEAT_RETURN_IF_ERROR(find_followers(p, index, &w));
  }
  return leat_ok_status();
}
