// An operation under construction: what was said so far, in an arena of its own, and the first
// thing that was wrong. A description that could not be made for want of memory is NULL, which all
// functions take: TF_FinishOperation then says so.
#ifndef LEAT_CAPI_DESCRIPTION_H_
#define LEAT_CAPI_DESCRIPTION_H_

#include "capi/handles.h"

// One TF_AddInput or TF_AddInputList.
typedef struct leat_capi_argument_s {
  int begin;  // in |inputs|
  int count;
  bool is_list;
} leat_capi_argument_t;

// A node to stand beside: an operation of the graph, or its name as "loc:@name".
typedef struct leat_capi_colocation_s {
  TF_Operation* operation;  // NULL: |name| says it
  leat_string_view_t name;
} leat_capi_colocation_t;

// A tensor that an attribute refers to.
typedef struct leat_capi_held_tensor_s {
  struct leat_capi_held_tensor_s* next;
  leat_tensor_t tensor;
} leat_capi_held_tensor_t;

struct TF_OperationDescription {
  TF_Graph* graph;
  leat_arena_t arena;
  leat_status_t status;  // what TF_FinishOperation reports
  leat_string_view_t op;
  leat_string_view_t name;
  leat_string_view_t device;
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
  leat_capi_held_tensor_t* tensors;
  leat_graph_storage_t* storage;  // of values that came as messages; made on first need
};

// Notes what is wrong (taken over), unless something was before.
void leat_capi_description_note(TF_OperationDescription* desc, leat_status_t status);
// Adds an attribute whose value lies in the arena. The colocation attribute replaces what
// TF_ColocateWith asked for.
LEAT_MUST_USE leat_status_t leat_capi_description_set(TF_OperationDescription* desc,
                                                      leat_string_view_t attr_name,
                                                      leat_attr_value_t value);
// "loc:@name"s, copied, in the place of those so far.
LEAT_MUST_USE leat_status_t leat_capi_description_set_colocations(
    TF_OperationDescription* desc, const leat_string_view_t* names, size_t count);
// Ends one that is not finished.
void leat_capi_description_free(TF_OperationDescription* desc);
// For setters with a status of their own and no description to note it in.
LEAT_MUST_USE leat_status_t leat_capi_description_missing(void);

#endif  // LEAT_CAPI_DESCRIPTION_H_
