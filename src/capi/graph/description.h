// An operation under construction, between TF_NewOperation and TF_FinishOperation: everything that
// the setters were given, copied into an arena, and the first error. Setters without a TF_Status
// keep their error in |status|, and TF_FinishOperation reports it. When there was no memory for the
// description itself, it is NULL; every function accepts that, and TF_FinishOperation says so. One
// thread at a time uses a description.
#ifndef LEAT_CAPI_GRAPH_DESCRIPTION_H_
#define LEAT_CAPI_GRAPH_DESCRIPTION_H_

#include "capi/handles.h"

// The tensors of one TF_AddInput or TF_AddInputList. Which of the op's arguments they are is their
// order.
typedef struct leat_capi_argument_s {
  int begin;  // index in |inputs| of its first tensor
  int count;
  bool is_list;
} leat_capi_argument_t;

// A node to be colocated with: an operation of the graph, or its name as "loc:@name". Names of
// operations are read when the node is made, under the lock.
typedef struct leat_capi_colocation_s {
  TF_Operation* operation;  // NULL: |name| is set
  leat_string_view_t name;
} leat_capi_colocation_t;

// A tensor that an attribute refers to, in a list so that it can be released.
typedef struct leat_capi_held_tensor_s {
  struct leat_capi_held_tensor_s* next;
  leat_tensor_t tensor;
} leat_capi_held_tensor_t;

// Texts, arrays and attribute values lie in |arena|; an array that grows leaves its old memory
// there. The node is made from all this by TF_FinishOperation, under the graph's lock.
struct TF_OperationDescription {
  TF_Graph* graph;
  leat_arena_t arena;
  leat_status_t status;  // the first error, which TF_FinishOperation reports
  leat_string_view_t op;
  leat_string_view_t name;
  leat_string_view_t device;
  // The tensors of all arguments, one behind the other.
  TF_Output* inputs;
  size_t input_count, input_capacity;
  leat_capi_argument_t* arguments;
  size_t argument_count, argument_capacity;
  TF_Operation** controls;
  size_t control_count, control_capacity;
  leat_attr_t* attrs;
  size_t attr_count, attr_capacity;
  leat_capi_colocation_t* colocations;
  size_t colocation_count, colocation_capacity;
  // Released with the description.
  leat_capi_held_tensor_t* tensors;
  // of attribute values that came as messages; made when the first one comes
  leat_graph_storage_t* storage;
  // Of eager ops: an attribute that was set stays, and a later value for it is ignored.
  bool keeps_first;
};

// Keeps |status|, which is taken, unless an error was kept before.
void leat_capi_description_note(TF_OperationDescription* desc, leat_status_t status);
// Sets an attribute whose value lies in the arena. INVALID_ARGUMENT where it was set to another
// value before, unless |desc->keeps_first|.
LEAT_MUST_USE leat_status_t leat_capi_description_set(TF_OperationDescription* desc,
                                                      leat_string_view_t attr_name,
                                                      leat_attr_value_t value);
// Sets an attribute to a copy of |value|, of whatever kind.
LEAT_MUST_USE leat_status_t leat_capi_description_set_copy(TF_OperationDescription* desc,
                                                           leat_string_view_t attr_name,
                                                           const leat_attr_value_t* value);
// Replaces all colocations by |names|, each a "loc:@name", which are copied.
LEAT_MUST_USE leat_status_t leat_capi_description_set_colocations(
    TF_OperationDescription* desc, const leat_string_view_t* names, size_t count);
// Frees a description, finished or not.
void leat_capi_description_free(TF_OperationDescription* desc);
// The error of setters with a TF_Status for a description that is NULL.
LEAT_MUST_USE leat_status_t leat_capi_description_missing(void);

#endif  // LEAT_CAPI_GRAPH_DESCRIPTION_H_
