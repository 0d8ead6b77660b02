// What of a graph is the backward pass, for the passes that trade memory for work: values that the
// forward pass makes and the backward pass reads are what a step holds longest.
#ifndef LEAT_OPTIMIZE_BACKWARD_H_
#define LEAT_OPTIMIZE_BACKWARD_H_

#include "optimize/edit.h"

typedef struct leat_backward_s {
  leat_edit_t* edit;
  const leat_graph_t* graph;
  int32_t node_count;  // of the nodes that it knows: a pass may have added others since
  bool* late;         // a node whose name lies in the scope, or one behind such a node
  bool* conditional;  // in a branch or a loop
  bool* kept;         // held anyway: constants, arguments, variables, what hands them on; fetches
  // An order in which inputs come first, and all that is not late before all that is; the place of
  // each node in it.
  int32_t *order, *place;
  size_t order_count;
  int32_t* first_reader;  // node -> the first late one in order that reads an output; -1
} leat_backward_t;

// The options' |memory_scope| names the scope. Arrays lie in the edit's scratch memory.
LEAT_MUST_USE leat_status_t leat_backward_find(leat_edit_t* edit, leat_backward_t* out_backward);

// What |reader| gets from the backward pass itself, as control inputs: when these are there it is
// time for what else it reads. |out_signals| has room for its inputs, control inputs too.
int leat_backward_signals(const leat_backward_t* backward, int32_t reader,
                          leat_output_t* out_signals);

#endif  // LEAT_OPTIMIZE_BACKWARD_H_
