// Adds nodes in straight-line code: each call returns the new output, the first error is kept in
// |status| and every later call does nothing (returns LEAT_OUTPUT_NONE). Names are the op's under
// |scope|, made unique. Type and number attributes are taken from the inputs.
#ifndef LEAT_GRAPH_BUILDER_H_
#define LEAT_GRAPH_BUILDER_H_

#include "graph/graph.h"

// Where nodes are built, when that is a place of its own (the loop of a gradient): |prepare| may
// replace the inputs of a node to come (NULL: no), |placed| hears which node it became.
typedef struct leat_build_place_s {
  void* data;
  leat_status_t (*prepare)(void* data, leat_node_spec_t* spec);
  leat_status_t (*placed)(void* data, int32_t node);
} leat_build_place_t;

typedef struct leat_builder_s {
  leat_graph_t* graph;
  leat_string_view_t scope;        // "gradients/": put before names
  leat_string_view_t device;
  leat_string_view_t colocate_with;  // node name; "" = none: adds "_class" = ["loc:@name"]
  const int32_t* control_inputs;   // given to every node built
  int control_count;
  const leat_build_place_t* place;  // NULL: nowhere special
  leat_status_t status;
} leat_builder_t;

typedef struct leat_outputs_s {
  const leat_output_t* items;
  int count;
} leat_outputs_t;
typedef struct leat_attrs_s {
  const leat_attr_t* items;
  int count;
} leat_attrs_t;
#define LEAT_INPUTS(...)                                 \
  ((leat_outputs_t){(const leat_output_t[]){__VA_ARGS__}, \
                    sizeof((const leat_output_t[]){__VA_ARGS__}) / sizeof(leat_output_t)})
#define LEAT_NO_INPUTS ((leat_outputs_t){0, 0})
#define LEAT_ATTRS(...)                              \
  ((leat_attrs_t){(const leat_attr_t[]){__VA_ARGS__}, \
                  sizeof((const leat_attr_t[]){__VA_ARGS__}) / sizeof(leat_attr_t)})
#define LEAT_NO_ATTRS ((leat_attrs_t){0, 0})

// The node's index (-1 on failure); its outputs are {node, 0}, {node, 1}...
int32_t leat_build_node(leat_builder_t* builder, const char* op, leat_outputs_t inputs,
                        leat_attrs_t attrs);
// Its output 0.
leat_output_t leat_build(leat_builder_t* builder, const char* op, leat_outputs_t inputs,
                         leat_attrs_t attrs);
static inline leat_output_t leat_build_unary(leat_builder_t* b, const char* op, leat_output_t x) {
  return leat_build(b, op, LEAT_INPUTS(x), LEAT_NO_ATTRS);
}
static inline leat_output_t leat_build_binary(leat_builder_t* b, const char* op, leat_output_t x,
                                              leat_output_t y) {
  return leat_build(b, op, LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}
static inline leat_output_t leat_node_output(int32_t node, int index) {
  return node < 0 ? LEAT_OUTPUT_NONE : (leat_output_t){node, index};
}
// Const nodes. The scalar is converted to |dtype|.
leat_output_t leat_build_constant(leat_builder_t* builder, const leat_tensor_t* tensor);
leat_output_t leat_build_scalar(leat_builder_t* builder, int dtype, double value);
leat_output_t leat_build_int32_vector(leat_builder_t* builder, const int32_t* values, int count);
// Shape as int32.
leat_output_t leat_build_shape_of(leat_builder_t* builder, leat_output_t x);
int leat_build_type_of(const leat_builder_t* builder, leat_output_t x);  // base type; 0 if none

#endif  // LEAT_GRAPH_BUILDER_H_
