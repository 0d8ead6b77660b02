// A function as a graph of its own, for running it apart from its caller (calls that are not
// inlined) and for asking what its returns look like: _Arg nodes for the arguments, the expanded
// body, and what must run.
//
//   _Arg 0 ─┐
//   _Arg 1 ─┴▶ nodes of the body ─▶ returns [return_count]     targets: all effects have happened
//
// The function runtime (master/function_runtime.c) instantiates bodies with this, and shape
// inference through calls (call_shapes.c) asks what the returns look like. One thread makes a body;
// afterwards the graph is an ordinary one.
#ifndef LEAT_FUNCTION_BODY_GRAPH_H_
#define LEAT_FUNCTION_BODY_GRAPH_H_

#include "function/expander.h"
#include "graph/function/function_library.h"
#include "graph/function/lowering.h"

// A call with this attribute, a bool that is true, is one of a part of a function that runs on
// several tasks, as TensorFlow has it. The part's effects are then all nodes that nobody reads: a
// Send in a loop has an effect on other parts, though nothing outside of the loop waits for it.
#define LEAT_COMPONENT_ATTR LEAT_SV("is_component_function")

// A call with this attribute, a list of strings, says of each argument on which device its _Arg
// node is to be: where the resource is of which it is the handle. Those for which the list says "",
// or nothing, are on the call's device.
#define LEAT_ARGUMENT_DEVICES_ATTR LEAT_SV("_argument_devices")

// The body of one function. The pointers live as long as |graph|. Argument i is the _Arg node whose
// attribute "index" is i; an argument of the signature that stands for several tensors has several.
typedef struct leat_body_graph_s {
  leat_graph_t* graph;  // owned by the caller
  int argument_count;
  const leat_output_t* returns;  // [return_count]
  int return_count;
  const int32_t* targets;  // [target_count] nodes that must run for the body's effects
  int target_count;
  int64_t call_count;   // function bodies in the graph, this one and those that it calls
  bool lacks_function;  // creation failed because a function is not defined
} leat_body_graph_t;

// What is known of the shapes of the arguments, which is borrowed; a NULL pointer: nothing.
typedef struct leat_argument_shapes_s {
  const leat_partial_shape_t* items;
  int count;
} leat_argument_shapes_t;

// Instantiates |function| from |library|, which must outlive the graph. |producer_version| is that
// of the graph that calls it, by which ops are judged. |options| has no gate. |shapes| may be NULL,
// and tell of the first arguments only. NOT_FOUND when the function, or one that it calls, is not
// defined; INVALID_ARGUMENT when its attributes do not fit or the body is malformed. After a
// failure there is no graph, and |lacks_function| says whether a function that is defined later may
// help.
LEAT_MUST_USE leat_status_t leat_body_graph_create(leat_op_registry_t* ops,
                                                   leat_function_library_t* library,
                                                   int32_t producer_version,
                                                   const leat_function_name_t* function,
                                                   const leat_body_options_t* options,
                                                   leat_allocator_t* allocator,
                                                   const leat_argument_shapes_t* shapes,
                                                   leat_body_graph_t* out_body);

#endif  // LEAT_FUNCTION_BODY_GRAPH_H_
