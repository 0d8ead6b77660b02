// Builds nodes in straight-line code, for gradient functions, lowerings and rewriting passes. Each
// call adds one node and returns its output, which is the input of later calls:
//
//   leat_output_t s = leat_build_unary(&b, "Sigmoid", x);
//   leat_output_t y = leat_build_binary(&b, "Mul", x, s);
//   return b.status;
//
// The first error stays in |status|, and every later call does nothing and returns
// LEAT_OUTPUT_NONE, so that a function checks once at its end. A node is named by its op under
// |scope| (leat_build_named: by another text), made unique. Type and count attributes follow from
// the inputs. A builder is a plain struct on the stack of one thread; what it builds belongs to the
// graph, and nothing is undone on failure.
#ifndef LEAT_GRAPH_BUILDER_H_
#define LEAT_GRAPH_BUILDER_H_

#include "graph/graph.h"

// A hook into building, for a builder whose nodes must stand in a certain loop
// (gradient/context.c). |prepare|, unless NULL, may replace the inputs of a node before it is
// added; |placed| is told the node's index afterwards. Their errors are the builder's. |data| is
// passed to both.
typedef struct leat_build_place_s {
  void* data;
  leat_status_t (*prepare)(void* data, leat_node_spec_t* spec);
  leat_status_t (*placed)(void* data, int32_t node);
} leat_build_place_t;

// The builder. It is initialized by hand: only |graph| must be set, and zero means none in all
// other fields. Texts and arrays are borrowed, and copied where a node needs them.
typedef struct leat_builder_s {
  leat_graph_t* graph;
  leat_string_view_t scope;  // put before names: "gradients/"
  leat_string_view_t device;
  leat_string_view_t colocate_with;  // a node's name: adds "_class" = ["loc:@name"]; "" = none
  const int32_t* control_inputs;  // [control_count] every node that is built waits for them
  int control_count;
  const leat_build_place_t* place;  // NULL: nodes are added as they are
  leat_status_t status;             // the first error; owned by whoever ends the building
} leat_builder_t;

// A list of inputs and a list of attributes, both borrowed for one call. The macros make one in
// place, as in LEAT_INPUTS(x, y) and LEAT_ATTRS(LEAT_TYPE("DstT", dtype)); what they point to lives
// to the end of the block that they stand in.
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

// Adds a node of the registered op |op| and returns its index. Its outputs are {node, 0}, {node,
// 1}, ... On failure it returns -1 and sets |status|: NOT_FOUND for an op that is not registered,
// INVALID_ARGUMENT for inputs or attributes that the op does not take.
int32_t leat_build_node(leat_builder_t* builder, const char* op, leat_outputs_t inputs,
                        leat_attrs_t attrs);
// Adds a node and returns its output 0, which the op must have.
leat_output_t leat_build(leat_builder_t* builder, const char* op, leat_outputs_t inputs,
                         leat_attrs_t attrs);
// The same under another name than the op's: that which TensorFlow's gradient functions give the
// node, by which programs fetch it.
leat_output_t leat_build_named(leat_builder_t* builder, const char* name, const char* op,
                               leat_outputs_t inputs, leat_attrs_t attrs);
static inline leat_output_t leat_build_unary(leat_builder_t* b, const char* op, leat_output_t x) {
  return leat_build(b, op, LEAT_INPUTS(x), LEAT_NO_ATTRS);
}
static inline leat_output_t leat_build_binary(leat_builder_t* b, const char* op, leat_output_t x,
                                              leat_output_t y) {
  return leat_build(b, op, LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}
// Output |index| of a node that leat_build_node returned, none for -1.
static inline leat_output_t leat_node_output(int32_t node, int index) {
  return node < 0 ? LEAT_OUTPUT_NONE : (leat_output_t){node, index};
}
// Add Const nodes: of |tensor|, whose bytes are shared; of |value| converted to |dtype|,
// INVALID_ARGUMENT for a type that is not numeric; of a vector of |count| values.
leat_output_t leat_build_constant(leat_builder_t* builder, const leat_tensor_t* tensor);
leat_output_t leat_build_scalar(leat_builder_t* builder, int dtype, double value);
leat_output_t leat_build_int32_vector(leat_builder_t* builder, const int32_t* values, int count);
// The shape of |x| as a vector of int32: a constant where the shape is known, else a Shape node. No
// output gives none.
leat_output_t leat_build_shape_of(leat_builder_t* builder, leat_output_t x);
// The type of |x| without the mark of a reference; LEAT_DTYPE_INVALID after an error.
int leat_build_type_of(const leat_builder_t* builder, leat_output_t x);

#endif  // LEAT_GRAPH_BUILDER_H_
