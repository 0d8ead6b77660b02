// Places a graph and tells why, for those who look on while a step is compiled.
//
// The step that they see was mostly compiled before, to be run, so that its state is held where
// that left it (anchors.h), and the placer has no other choice any more. What they want to know is
// why it chose so then. Where any of the graph's state is held, the graph is therefore placed
// twice: free of what was placed before, and as the session places it. Where both give a node one
// device, the reasons of the first hold. Where they differ the second ones do; a node that then had
// no choice stands where its state is. When nodes end is told of the second; how long they take on
// each device, of the first, which refuses none.
#include "master/anchors.h"
#include "master/master.h"

typedef struct placed_s {
  leat_placer_options_t options;
  int32_t* devices;  // by node
} placed_t;

static leat_status_t place(leat_graph_t* graph, const leat_placer_options_t* options,
                           leat_arena_t* arena, placed_t* out) {
  const size_t count = graph->node_count;
  const size_t cells = count * (size_t)options->device_count;
  out->options = *options;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out->devices));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &out->options.notes));
  if (options->placer == LEAT_PLACER_GREEDY) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, cells + 1, &out->options.times_ns));
  }
  LEAT_RETURN_IF_ERROR(leat_place(graph, &out->options));
  for (size_t i = 0; i < count; ++i) out->devices[i] = graph->nodes[i].assigned_device;
  return leat_ok_status();
}

// Takes the reasons of the free placement where they hold.
static void join(const placed_t* free_one, placed_t* held, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    leat_placement_note_t* note = &held->options.notes[i];
    if (free_one->devices[i] == held->devices[i]) {
      note->reason = free_one->options.notes[i].reason;
      note->other = free_one->options.notes[i].other;
    } else if (note->reason == LEAT_PLACED_AS_ASKED || note->reason == LEAT_PLACED_ONLY_KERNEL) {
      note->reason = LEAT_PLACED_AS_BEFORE;
    }
  }
}

static leat_status_t explain(leat_graph_t* graph, const leat_placer_options_t* options,
                             const leat_compile_view_t* view, leat_arena_t* arena) {
  placed_t free_one, held;
  leat_placer_options_t alone = *options;
  alone.anchors = NULL;
  if (!options->anchors || !leat_anchors_know(options->anchors, graph)) {
    LEAT_RETURN_IF_ERROR(place(graph, options, arena, &held));
    return view->on_placed(view->data, graph, &held.options);
  }
  LEAT_RETURN_IF_ERROR(place(graph, &alone, arena, &free_one));
  LEAT_RETURN_IF_ERROR(place(graph, options, arena, &held));
  join(&free_one, &held, graph->node_count);
  held.options.times_ns = free_one.options.times_ns;
  return view->on_placed(view->data, graph, &held.options);
}

leat_status_t leat_place_and_explain(leat_graph_t* graph, const leat_placer_options_t* options,
                                     const leat_compile_view_t* view) {
  leat_arena_t arena;
  if (!view->on_placed) return leat_place(graph, options);
  leat_arena_initialize(graph->allocator, 0, &arena);
  leat_status_t status = explain(graph, options, view, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}
