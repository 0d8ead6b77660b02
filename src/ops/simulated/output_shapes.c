// Finds output shapes by asking the op's shape function (output_shapes.h). A kernel that only
// enqueues its work must allocate its outputs before it has run, and this tells it how large they
// are. A shape function expects a node in a graph, so that each question builds a small graph in an
// arena and drops it afterwards:
//
//   source 0 ─┐                    a source for each input, with the input's shape as its output's;
//   source 1 ─┼▶ node ─▶ shapes?   a source whose value is known is a constant with that value
//   ...      ─┘
//
// The graph is built by hand rather than by the graph's functions, as nothing of it needs names,
// checks or a lookup. What does not change, the op and its attributes, is copied once when the
// object is made. Questions only read it, so that several threads may ask at once.
#include "ops/simulated/output_shapes.h"

#include "graph/inference/inference.h"
#include "graph/storage.h"

struct leat_output_shapes_s {
  leat_allocator_t* allocator;
  leat_graph_storage_t* storage;  // of the attributes
  const leat_op_t* op;
  leat_string_view_t name;
  leat_attr_t* attrs;
  int attr_count;
};

static const leat_op_row_t kSourceRow = {.name = "source"};
static const leat_op_t kSource = {.row = &kSourceRow};
static const leat_op_t kKnownSource = {.row = &kSourceRow, .flags = LEAT_OP_CONSTANT};

void leat_output_shapes_free(leat_output_shapes_t* shapes) {
  if (!shapes) return;
  leat_graph_storage_release(shapes->storage);
  leat_allocator_free(shapes->allocator, shapes);
}

static leat_status_t copy_attrs(leat_output_shapes_t* s, const leat_attr_t* attrs) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&s->storage->arena, (size_t)s->attr_count, &s->attrs));
  for (int i = 0; i < s->attr_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_graph_storage_copy_text(s->storage, attrs[i].name, &s->attrs[i].name));
    LEAT_RETURN_IF_ERROR(
        leat_graph_storage_copy_value(s->storage, &attrs[i].value, &s->attrs[i].value));
  }
  return leat_ok_status();
}

leat_status_t leat_output_shapes_create(const leat_op_t* op, leat_string_view_t name,
                                        const leat_attr_t* attrs, int attr_count,
                                        leat_allocator_t* allocator,
                                        leat_output_shapes_t** out_shapes) {
  leat_output_shapes_t* s;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &s));
  *s = (leat_output_shapes_t){
      .allocator = allocator, .op = op, .name = name, .attr_count = attr_count};
  leat_status_t status = leat_graph_storage_create(allocator, NULL, &s->storage);
  if (!status) status = copy_attrs(s, attrs);
  if (status) {
    leat_output_shapes_free(s);
    return status;
  }
  *out_shapes = s;
  return leat_ok_status();
}

// ---- A question ---------------------------------------------------------------------------------


// What a node's pointers point to.
typedef struct source_s {
  leat_attr_t attr;
  leat_partial_shape_t shape;
} source_t;

// Makes |node| a source with the shape of |input|, and with its value where that is known. The node
// points into |source|.
static void make_source(const leat_actual_input_t* input, source_t* source, leat_node_t* node) {
  const leat_shape_t* shape = input->shape;
  source->shape =
      (leat_partial_shape_t){shape->rank, shape->rank ? leat_shape_dims(shape) : NULL};
  *node = (leat_node_t){
      .op = &kSource, .output_shapes = &source->shape, .output_count = 1};
  if (!input->value) return;
  source->attr = (leat_attr_t)LEAT_TENSOR("value", input->value);
  node->op = &kKnownSource;
  node->attrs = &source->attr;
  node->attr_count = 1;
}

static bool is_known(leat_partial_shape_t shape) {
  bool known = shape.rank >= 0;
  for (int i = 0; i < shape.rank; ++i) known = known && shape.dims[i] != LEAT_DIM_UNKNOWN;
  return known;
}

// Builds the graph and runs inference on its last node.
static leat_status_t ask(const leat_output_shapes_t* s, leat_graph_t* graph,
                         const leat_actual_input_t* inputs, int input_count, int output_count,
                         leat_shape_t* out_shapes, bool* out_known) {
  leat_arena_t* arena = &graph->storage->arena;
  source_t* sources;
  leat_output_t* edges;
  leat_partial_shape_t* shapes;
  size_t count = (size_t)input_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &graph->nodes));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &sources));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &edges));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)output_count, &shapes));
  for (int32_t i = 0; i < input_count; ++i) {
    make_source(&inputs[i], &sources[i], &graph->nodes[i]);
    edges[i] = (leat_output_t){i, 0};
  }
  graph->node_count = count + 1;
  leat_node_t* node = &graph->nodes[count];
  *node = (leat_node_t){.name = s->name, .op = s->op, .attrs = s->attrs,
                        .attr_count = s->attr_count, .inputs = edges, .input_count = input_count,
                        .output_shapes = shapes, .output_count = output_count};
  LEAT_RETURN_IF_ERROR(leat_inference_run(graph, node, shapes, NULL));
  *out_known = true;
  for (int i = 0; i < output_count; ++i) {
    *out_known = is_known(shapes[i]);
    if (!*out_known) break;
    LEAT_RETURN_IF_ERROR(leat_shape_create(shapes[i].rank, shapes[i].dims, &out_shapes[i]));
  }
  return leat_ok_status();
}

leat_status_t leat_output_shapes_find(const leat_output_shapes_t* shapes,
                                      const leat_actual_input_t* inputs, int input_count,
                                      int output_count, leat_shape_t* out_shapes,
                                      bool* out_known) {
  leat_graph_t graph = {.allocator = shapes->allocator};
  LEAT_RETURN_IF_ERROR(
      leat_graph_storage_create(shapes->allocator, NULL, &graph.storage));
  leat_status_t status =
      ask(shapes, &graph, inputs, input_count, output_count, out_shapes, out_known);
  leat_graph_storage_release(graph.storage);
  return status;
}
