// Nodes are known by their names. A map has each name that there ever was, in the order in which
// the stages brought them, with the node as the last stage left it; so a graph keeps its order from
// stage to stage. A stage lists the nodes that are new or other than before, and the names of those
// that are gone. What it lists need not be true: a file may name a node as gone that never was, or
// twice, which then has no effect.
#include "board/graph_stages.h"

#include "base/map.h"
#include "formats/wire/encode.h"

typedef struct known_s {
  const leat_pb_node_def_t* node;    // NULL: it is gone
  const leat_pb_node_def_t* before;  // what it was in the stage before
  size_t touched;                    // the last stage that lists it, + 1
} known_t;

typedef struct work_s {
  leat_string_map_t nodes;  // name -> index in |known|
  known_t* known;
  size_t capacity;
  size_t stage;
  bool is_first_compared;  // with the program's own graph
} work_t;

static leat_status_t find(work_t* work, leat_string_view_t name, known_t** out_known) {
  uint64_t* index;
  bool inserted;
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(&work->nodes, name, work->nodes.count, &index,
                                              &inserted));
  if (inserted) {
    LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), work->nodes.count, &work->known,
                                   &work->capacity));
    work->known[*index] = (known_t){0};
  }
  *out_known = &work->known[*index];
  return leat_ok_status();
}

// ---- Two versions of a node ---------------------------------------------------------------------

static bool has_same_inputs(const leat_pb_node_def_t* a, const leat_pb_node_def_t* b) {
  if (a->input.count != b->input.count) return false;
  for (size_t i = 0; i < a->input.count; ++i) {
    if (!leat_string_view_equal(a->input.items[i], b->input.items[i])) return false;
  }
  return true;
}

static leat_status_t has_same_attributes(const leat_pb_node_def_t* a,
                                         const leat_pb_node_def_t* b, bool* out_same) {
  const leat_pb_node_def_t nodes[] = {{.attr = a->attr}, {.attr = b->attr}};
  leat_string_builder_t bytes[2];
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < 2; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &bytes[i]);
    if (!status) status = leat_message_encode(&leat_pb_node_def_descriptor, &nodes[i], &bytes[i]);
  }
  *out_same = leat_string_view_equal(leat_string_builder_view(&bytes[0]),
                                     leat_string_builder_view(&bytes[1]));
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&bytes[i]);
  return status;
}

static leat_status_t change_of(const work_t* work, const known_t* known, uint8_t* out_change) {
  const leat_pb_node_def_t *a = known->before, *b = known->node;
  bool same = true;
  *out_change = !a ? BOARD_CHANGE_CAME : !b ? BOARD_CHANGE_GONE : BOARD_CHANGE_OTHER;
  if (!a || !b || !leat_string_view_equal(a->op, b->op) || !has_same_inputs(a, b)) {
    return leat_ok_status();
  }
  // A client may leave out attributes with their defaults, and devices are asked for in many ways.
  const bool is_written = work->stage == 0 && work->is_first_compared;
  if (!is_written) LEAT_RETURN_IF_ERROR(has_same_attributes(a, b, &same));
  if (same) {
    *out_change = is_written || leat_string_view_equal(a->device, b->device) ? BOARD_CHANGE_NONE
                                                                             : BOARD_CHANGE_MOVED;
  }
  return leat_ok_status();
}

// ---- Stages -------------------------------------------------------------------------------------

// Makes the graph of a stage from what is known when it has been applied.
static leat_status_t make_graph(const work_t* work, leat_arena_t* arena, const uint8_t* changes,
                                board_graph_stage_t* out) {
  const size_t count = out->nodes + out->counts[BOARD_CHANGE_GONE];
  size_t at = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out->graph.node.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out->changes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out->before));
  for (int gone = 0; gone < 2; ++gone) {
    for (size_t i = 0; i < work->nodes.count; ++i) {
      const known_t* known = &work->known[i];
      if (!(gone ? known->before : known->node) || (gone && known->node)) continue;
      out->graph.node.items[at] = gone ? *known->before : *known->node;
      out->changes[at] = changes[i];
      out->before[at++] = known->before;
    }
  }
  LEAT_DCHECK(at == count);
  out->graph.node.count = count;
  return leat_ok_status();
}

static leat_status_t add_written(work_t* work, const leat_pb_graph_def_t* written) {
  for (size_t i = 0; written && i < written->node.count; ++i) {
    known_t* known;
    LEAT_RETURN_IF_ERROR(find(work, written->node.items[i].name, &known));
    if (!known->node) known->node = &written->node.items[i];
  }
  return leat_ok_status();
}

// Brings what is known to where |stage| leaves it.
static leat_status_t apply(work_t* work, const leat_pb_run_metadata_graph_stage_t* stage) {
  known_t* known;
  for (size_t i = 0; i < work->nodes.count; ++i) work->known[i].before = work->known[i].node;
  for (size_t i = 0; i < stage->node.count; ++i) {
    LEAT_RETURN_IF_ERROR(find(work, stage->node.items[i].name, &known));
    known->node = &stage->node.items[i];
    known->touched = work->stage + 1;
  }
  for (size_t i = 0; i < stage->removed.count; ++i) {
    uint64_t index;
    if (!leat_string_map_get(&work->nodes, stage->removed.items[i], &index)) continue;
    work->known[index].node = NULL;
  }
  // The first stage lists all of its nodes, so that others of the program's are gone.
  for (size_t i = 0; work->stage == 0 && i < work->nodes.count; ++i) {
    if (!work->known[i].touched) work->known[i].node = NULL;
    if (!work->is_first_compared) work->known[i].before = work->known[i].node;
  }
  return leat_ok_status();
}

static leat_status_t read_stage(work_t* work, const leat_pb_run_metadata_graph_stage_t* stage,
                                leat_arena_t* arena, bool is_wanted, board_graph_stage_t* out) {
  uint8_t* changes;
  LEAT_RETURN_IF_ERROR(apply(work, stage));
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), work->nodes.count + 1, &changes));
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < work->nodes.count && !status; ++i) {
    const known_t* known = &work->known[i];
    if (!known->node && !known->before) continue;
    if (known->node != known->before) status = change_of(work, known, &changes[i]);
    ++out->counts[changes[i]];
    out->nodes += known->node != NULL;
  }
  if (!status && is_wanted) status = make_graph(work, arena, changes, out);
  leat_allocator_free(leat_allocator_system(), changes);
  return status;
}

leat_status_t board_graph_stages_read(const leat_pb_run_metadata_t* metadata,
                                      const leat_pb_graph_def_t* written, size_t wanted,
                                      leat_arena_t* arena, board_graph_stage_t* out_stages) {
  work_t work = {.is_first_compared = written != NULL};
  leat_string_map_initialize(leat_allocator_system(), &work.nodes);
  leat_status_t status = add_written(&work, written);
  for (; work.stage < metadata->graph_stages.count && !status; ++work.stage) {
    board_graph_stage_t* out = &out_stages[work.stage];
    *out = (board_graph_stage_t){0};
    status = read_stage(&work, &metadata->graph_stages.items[work.stage], arena,
                        work.stage == wanted, out);
  }
  leat_string_map_deinitialize(&work.nodes);
  leat_allocator_free(leat_allocator_system(), work.known);
  return status;
}
