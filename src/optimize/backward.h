// What of a graph is the backward pass, for the passes that trade memory for work: values that the
// forward pass makes and the backward pass reads are what a step holds longest.
#ifndef LEAT_OPTIMIZE_BACKWARD_H_
#define LEAT_OPTIMIZE_BACKWARD_H_

#include "optimize/pass.h"

typedef struct leat_backward_s {
  const leat_graph_t* graph;
  int32_t node_count;  // of the nodes that it knows: a pass may have added others since
  bool* late;         // a node whose name lies in the scope, or one behind such a node
  bool* conditional;  // in a branch or a loop
  bool* kept;         // held anyway: constants, arguments, variables, what hands them on; fetches
  int32_t* place;     // in an order in which inputs come first, and all that is not late before it
  int32_t* order;
  int32_t* first_reader;  // node -> the first late one in order that reads an output; -1
  leat_readers_t readers;
} leat_backward_t;

// |options->memory_scope| names the scope. Arrays lie in |arena|; end with _release.
LEAT_MUST_USE leat_status_t leat_backward_find(const leat_rewrite_t* rewrite,
                                               const leat_pass_options_t* options,
                                               leat_arena_t* arena, leat_backward_t* out_backward);
void leat_backward_release(leat_backward_t* backward);

// What |reader| gets from the backward pass itself, as control inputs: when these are there it is
// time for what else it reads. |out_signals| has room for its inputs, control inputs too.
int leat_backward_signals(const leat_backward_t* backward, int32_t reader,
                          leat_output_t* out_signals);

#endif  // LEAT_OPTIMIZE_BACKWARD_H_
