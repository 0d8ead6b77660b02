// Optionals: values that may not be there. A branch of a functional If that was not taken gives one
// without a value to the gradient of the If.
#include "graph/gradient.h"
#include "ops/function/branching.h"
#include "ops/op_rows.h"

static leat_status_t from_value_gradient(leat_gradient_t* g) {
  const leat_node_t* node = leat_gradient_node(g);
  leat_graph_t* graph = g->builder.graph;
  int count = node->input_count;
  int32_t* types;
  leat_partial_shape_t* shapes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(leat_graph_arena(graph), (size_t)count + 1, &types));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(leat_graph_arena(graph), (size_t)count + 1, &shapes));
  for (int i = 0; i < count; ++i) {
    types[i] = leat_build_type_of(&g->builder, leat_gradient_input(g, i));
    shapes[i] = leat_graph_output_shape(graph, leat_gradient_input(g, i));
  }
  const leat_attr_t attrs[] = {LEAT_LIST("output_types", TYPE, count, types, types),
                               LEAT_LIST("output_shapes", SHAPE, count, shapes, shapes)};
  int32_t values = leat_build_node(&g->builder, "OptionalGetValue",
                                   LEAT_INPUTS(leat_gradient_of_output(g, 0)),
                                   (leat_attrs_t){attrs, 2});
  for (int i = 0; i < count; ++i) leat_gradient_set_input(g, i, leat_node_output(values, i));
  return leat_ok_status();
}

static leat_status_t get_value_gradient(leat_gradient_t* g) {
  int count = leat_gradient_node(g)->output_count;
  leat_output_t* gradients;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(leat_graph_arena(g->builder.graph), (size_t)count + 1, &gradients));
  for (int i = 0; i < count; ++i) gradients[i] = leat_gradient_of_output(g, i);
  leat_gradient_set_input(g, 0,
                          leat_build(&g->builder, "OptionalFromValue",
                                     (leat_outputs_t){gradients, count}, LEAT_NO_ATTRS));
  return leat_ok_status();
}

const leat_op_row_t leat_optional_ops[] = {
    {.name = "OptionalFromValue",
     .inputs = "components: Toutput_types",
     .outputs = "optional: variant",
     .attrs = "Toutput_types: list(type) >= 1",
     .shape = leat_shape_scalar_output,
     .gradient = from_value_gradient,
     .doc = "Tensors as a value that is there."},
    {.name = "OptionalNone",
     .outputs = "optional: variant",
     .shape = leat_shape_scalar_output,
     .doc = "A value that is not there."},
    {.name = "OptionalHasValue",
     .inputs = "optional: variant",
     .outputs = "has_value: bool",
     .shape = leat_shape_scalar_output,
     .doc = "Whether a value is there."},
    {.name = "OptionalGetValue",
     .inputs = "optional: variant",
     .outputs = "components: output_types",
     .attrs = "output_types: list(type) >= 1; output_shapes: list(shape) >= 1",
     .shape = leat_shape_from_output_shapes,
     .gradient = get_value_gradient,
     .doc = "The tensors of a value that is there."},
    LEAT_OP_ROWS_END,
};
