// Finds the frame of every node in one walk in topological order. A node runs in the frame to which
// its inputs' values belong, and all of its inputs must agree; a node without inputs runs outside
// all loops. Enter gives its value to the frame below called "frame_name", which the first such
// Enter makes, and Exit gives its value to the frame above; every other node gives its outputs to
// the frame in which it runs.
//
//   frame 0:  x --> Enter ("loop") ..........                    Exit --> y
//   "loop":                        Merge --> Switch --> body ... (runs in "loop")
//                                    ^--------- NextIteration
//
// The edge that closes a loop is not known yet when its Merge is visited, so the walk passes over
// it, and a second walk checks that such edges come from the frame to which they lead. Callers sort
// the graph first; the executor (worker/compiler.c) lays out its frames by the result.
#include "graph/frames.h"

typedef struct finder_s {
  const leat_graph_t* graph;
  leat_arena_t* arena;
  leat_frames_t* frames;
  const char* verb;  // of messages: "<verb> failed for node"
  size_t capacity;
  leat_word_map_t by_name;  // hash of a frame's name and parent -> frame; see look_up
} finder_t;

// The frame called |name| below |parent|, or -1. |*out_key| becomes its key in the map, or the free
// key that it would get: where two frames have the same hash, the later one has the next free key.
static int32_t look_up(const finder_t* f, int32_t parent, leat_string_view_t name,
                       uint64_t* out_key) {
  uint64_t frame;
  *out_key = leat_hash_mix(leat_string_view_hash(name), (uint64_t)parent);
  for (; leat_word_map_get(&f->by_name, *out_key, &frame); ++*out_key) {
    const leat_frame_t* item = &f->frames->items[frame];
    if (item->parent == parent && leat_string_view_equal(item->name, name)) return (int32_t)frame;
  }
  return -1;
}

static leat_status_t add_frame(finder_t* f, int32_t parent, leat_string_view_t name,
                               int32_t parallel_iterations, int32_t* out_frame) {
  leat_frames_t* frames = f->frames;
  if ((size_t)frames->count == f->capacity) {
    size_t capacity = f->capacity ? 2 * f->capacity : 4;
    leat_frame_t* items;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(f->arena, capacity, &items));
    for (int32_t i = 0; i < frames->count; ++i) items[i] = frames->items[i];
    frames->items = items;
    f->capacity = capacity;
  }
  frames->items[frames->count] = (leat_frame_t){
      .parent = parent, .name = name, .parallel_iterations = parallel_iterations};
  *out_frame = frames->count++;
  return leat_ok_status();
}

// Finds or makes the frame that Enter |node|, which runs in |parent|, leads into. The first Enter
// decides how many iterations may run at once.
static leat_status_t enter_frame(finder_t* f, const leat_node_t* node, int32_t parent,
                                 int32_t* out_frame) {
  leat_string_view_t name = leat_node_attr_string(node, "frame_name");
  if (name.size == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s failed for node '%.*s' (%.*s): frame_name is '', must not be "
                            "empty",
                            f->verb, LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
  }
  int64_t parallel = leat_node_attr_int(node, "parallel_iterations", 10);
  uint64_t key;
  *out_frame = look_up(f, parent, name, &key);
  if (*out_frame < 0) {
    if (parallel < 1) parallel = 1;
    if (parallel > INT32_MAX) parallel = INT32_MAX;
    LEAT_RETURN_IF_ERROR(add_frame(f, parent, name, (int32_t)parallel, out_frame));
    LEAT_RETURN_IF_ERROR(leat_word_map_set(&f->by_name, key, (uint64_t)*out_frame));
  }
  ++f->frames->items[*out_frame].entries;
  return leat_ok_status();
}

// |frame| is that of input |source|, |other| the one to which the node belongs as well.
static leat_status_t frames_differ(const finder_t* f, const leat_node_t* node,
                                   const leat_node_t* source, int32_t frame, int32_t other) {
  LEAT_DCHECK(frame != other);
  const leat_frame_t* frames = f->frames->items;
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "%s failed for node '%.*s' (%.*s): it has inputs from different frames, "
                          "must have them from one: '%.*s' is in frame '%.*s', others are in frame "
                          "'%.*s'",
                          f->verb, LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                          LEAT_SV_ARG(source->name), LEAT_SV_ARG(frames[frame].name),
                          LEAT_SV_ARG(frames[other].name));
}

// The frame to which all known inputs of |node| belong. The input that closes a loop is not known
// yet.
static leat_status_t find_own(finder_t* f, const leat_node_t* node, const bool* known,
                              int32_t* out_frame) {
  // Frame 0 exists from the start.
  LEAT_DCHECK(f->frames->count > 0);
  int32_t own = -1;
  for (int i = 0; i < node->input_count + node->control_count; ++i) {
    int32_t source = node->inputs[i].node;
    if (!known[source]) continue;
    int32_t frame = f->frames->outputs_in[source];
    if (own >= 0 && own != frame) {
      return frames_differ(f, node, &f->graph->nodes[source], frame, own);
    }
    own = frame;
  }
  *out_frame = own < 0 ? 0 : own;
  return leat_ok_status();
}

// Finds the frame in which a node runs, and the one to which its outputs belong.
static leat_status_t find_node(finder_t* f, int32_t index, bool* known) {
  // The order names each node once.
  LEAT_DCHECK(!known[index]);
  const leat_node_t* node = &f->graph->nodes[index];
  int32_t own = 0;
  LEAT_RETURN_IF_ERROR(find_own(f, node, known, &own));
  int32_t output = own;
  if ((node->op->flags & (LEAT_OP_EXIT | LEAT_OP_NEXT_ITERATION)) && own == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s failed for node '%.*s' (%.*s): it is outside a frame, must "
                            "be inside one",
                            f->verb, LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name));
  }
  if (node->op->flags & LEAT_OP_ENTER) {
    LEAT_RETURN_IF_ERROR(enter_frame(f, node, own, &output));
  } else if (node->op->flags & LEAT_OP_EXIT) {
    LEAT_DCHECK(f->frames->items[own].parent >= 0);
    output = f->frames->items[own].parent;
  }
  f->frames->runs_in[index] = own;
  f->frames->outputs_in[index] = output;
  known[index] = true;
  return leat_ok_status();
}

// Checks the edges that the walk passed over: each must come from the frame to which it leads.
static leat_status_t check_loops(const finder_t* f, const int32_t* order, size_t order_count) {
  for (size_t i = 0; i < order_count; ++i) {
    const leat_node_t* node = &f->graph->nodes[order[i]];
    if (!(node->op->flags & LEAT_OP_MERGE)) continue;
    for (int k = 0; k < node->input_count; ++k) {
      const int32_t source = node->inputs[k].node;
      const int32_t frame = f->frames->outputs_in[source], own = f->frames->runs_in[order[i]];
      if (frame != own) return frames_differ(f, node, &f->graph->nodes[source], frame, own);
    }
  }
  return leat_ok_status();
}

static leat_status_t find_all(finder_t* f, const int32_t* order, size_t order_count) {
  size_t count = f->graph->node_count + 1;
  bool* known;
  int32_t root;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->arena, count, &known));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->arena, count, &f->frames->runs_in));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->arena, count, &f->frames->outputs_in));
  LEAT_RETURN_IF_ERROR(add_frame(f, -1, LEAT_SV(""), 1, &root));
  for (size_t i = 0; i < order_count; ++i) {
    LEAT_RETURN_IF_ERROR(find_node(f, order[i], known));
  }
  return f->frames->count > 1 ? check_loops(f, order, order_count) : leat_ok_status();
}

leat_status_t leat_frames_find(const leat_graph_t* graph, const int32_t* order, size_t order_count,
                               const char* verb, leat_arena_t* arena, leat_frames_t* out_frames) {
  finder_t f = {.graph = graph, .arena = arena, .frames = out_frames, .verb = verb};
  *out_frames = (leat_frames_t){0};
  leat_word_map_initialize(graph->allocator, &f.by_name);
  leat_status_t status = find_all(&f, order, order_count);
  leat_word_map_deinitialize(&f.by_name);
  return status;
}
