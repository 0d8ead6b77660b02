// Which nodes of a graph belong to the backward pass. The passes that trade memory for work ask
// this, because the values that a step holds longest are those that the forward pass computes and
// the backward pass reads.
#ifndef LEAT_OPTIMIZE_BACKWARD_H_
#define LEAT_OPTIMIZE_BACKWARD_H_

#include "optimize/edit.h"

typedef struct leat_backward_s {
  leat_edit_t* edit;
  const leat_graph_t* graph;
  int32_t node_count;  // the nodes that were there at first; a pass may have added others since
  bool* late;         // a node whose name lies in the scope, or one behind such a node
  bool* conditional;  // by node: it depends on a Switch, Enter or Merge
  // By node: its value is in memory anyway, as it is a constant, an argument, a variable, forwards
  // one of these, or is fetched.
  bool* kept;
  // |order|: the nodes in topological order, all late ones after all others. |place|: the place of
  // each node in it.
  int32_t *order, *place;
  size_t order_count;
  int32_t* first_reader;  // node -> the first late node in order that reads an output; -1: none
} leat_backward_t;

// Finds the backward pass of the edit's graph: the nodes whose names begin with the options'
// |memory_scope| or, where that is "", those that adding gradients has marked. A graph that was
// imported has no marks; there they are those in the scope that TensorFlow uses, "gradients/". The
// arrays lie in the edit's scratch memory and are valid until the pass ends.
LEAT_MUST_USE leat_status_t leat_backward_find(leat_edit_t* edit, leat_backward_t* out_backward);

// Lists the late nodes that |reader| reads or waits for, as control edges. Once they have run, the
// backward pass has come to |reader|, and it is time to produce its other inputs. Returns how many
// they are, 0 for a conditional reader, as a control edge from a dead node would kill the value.
// |out_signals| must have room for all data and control inputs of |reader|.
int leat_backward_signals(const leat_backward_t* backward, int32_t reader,
                          leat_output_t* out_signals);

#endif  // LEAT_OPTIMIZE_BACKWARD_H_
