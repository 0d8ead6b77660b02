// What the files of graph/control_flow/ share: making nodes in contexts, bringing values into them,
// and changes that happen whole or not at all. A construct takes a dozen nodes, any of which may
// fail for want of memory or because of a wrong type, and a graph with half a loop could never run
// again. Each construct is therefore one change:
//
//   leat_control_change_t change;
//   LEAT_RETURN_IF_ERROR(leat_control_change_begin(flow, &change));
//   leat_status_t status = ...add nodes...;
//   return leat_control_change_end(flow, &change, status);  // takes all back after an error
//
// A change adds nodes, and edits older ones only when nothing can fail any more. Taking it back
// cuts the graph off at the mark where the change began.
#ifndef LEAT_GRAPH_CONTROL_FLOW_CONSTRUCT_H_
#define LEAT_GRAPH_CONTROL_FLOW_CONSTRUCT_H_

#include "graph/builder.h"
#include "graph/control_flow/context.h"
#include "graph/function/graph_functions.h"

typedef struct leat_control_change_s {
  leat_graph_mark_t mark;
  size_t frame_count;
} leat_control_change_t;
LEAT_MUST_USE leat_status_t leat_control_change_begin(leat_control_flow_t* flow,
                                                      leat_control_change_t* out_change);
// Returns |status|, which is taken.
LEAT_MUST_USE leat_status_t leat_control_change_end(leat_control_flow_t* flow,
                                                    const leat_control_change_t* change,
                                                    leat_status_t status);

// A node that a construct is made of.
typedef struct leat_control_node_s {
  const char* op;
  const char* name;  // behind the scope; NULL: the op
  leat_string_view_t scope;
  leat_string_view_t device;
  leat_outputs_t inputs;
  leat_attrs_t attrs;
  const int32_t* controls;
  int control_count;
  int32_t colocate_with;  // a node whose group and device it takes; -1: none
  bool is_bare;           // it is added as it is, and not by the rules of the current context
} leat_control_node_t;
LEAT_MUST_USE leat_status_t leat_control_build(leat_control_flow_t* flow,
                                               const leat_control_node_t* request,
                                               int32_t* out_node);
// For whom a value is brought into a context: what the nodes that bring it take from that.
typedef struct leat_control_reader_s {
  leat_string_view_t scope;   // their names stand under it
  leat_string_view_t device;  // of the Enters, as are the following
  const leat_attr_t* group;   // "_class"; NULL: none
  const int32_t* controls;    // those that stand around the loop are waited for
  int control_count;
} leat_control_reader_t;
// What stands for |value| in |context|, NULL for the outside.
LEAT_MUST_USE leat_status_t leat_control_bring(leat_control_context_t* context,
                                               leat_output_t value,
                                               const leat_control_reader_t* reader,
                                               leat_output_t* out_here);
// An Enter, or RefEnter, of |value| into |loop|, which waits for |pivot|, unless that is -1, for
// what the loop begins after and for the reader's controls.
LEAT_MUST_USE leat_status_t leat_control_enter_value(leat_control_context_t* loop,
                                                     leat_output_t value, bool is_constant,
                                                     int32_t pivot,
                                                     const leat_control_reader_t* reader,
                                                     leat_output_t* out_here);
// Whether |control|, a node, is around |loop| and inside the loop around that. An Enter into |loop|
// can wait for no other node, since a control edge cannot cross a frame.
bool leat_control_is_around(const leat_control_context_t* loop, int32_t control);
// INVALID_ARGUMENT where |value| is in a loop which |context| is not in; |reader|, a node of |op|,
// is named as the one who reads it.
LEAT_MUST_USE leat_status_t leat_control_check_input(const leat_control_flow_t* flow,
                                                     const leat_control_context_t* context,
                                                     leat_output_t value, const leat_op_t* op,
                                                     leat_string_view_t reader);
// The context in which the outputs of |node| are; differs from the node's for an Exit.
leat_control_context_t* leat_control_output_context(const leat_control_flow_t* flow,
                                                    int32_t node);
// Whether |inner| is |outer| or in it; NULL, the outside, holds all.
bool leat_control_holds(const leat_control_context_t* outer, const leat_control_context_t* inner);
// Notes that the newest node is in |context|.
LEAT_MUST_USE leat_status_t leat_control_put(leat_control_flow_t* flow, int32_t node,
                                             const leat_control_context_t* context);
// Notes that |node|, an Enter whose place outside is noted, leads into the frame that it names.
LEAT_MUST_USE leat_status_t leat_control_note_frame(leat_control_flow_t* flow, int32_t node);
// Notes contexts and names of frames of nodes that came otherwise than through contexts.
LEAT_MUST_USE leat_status_t leat_control_catch_up(leat_control_flow_t* flow);

// What the calling thread builds; NULL: it is outside all contexts.
leat_control_builder_t* leat_control_builder(const leat_control_flow_t* flow);
// A new context in the current one. It is closed.
LEAT_MUST_USE leat_status_t leat_control_create(leat_control_flow_t* flow,
                                                const leat_control_options_t* options,
                                                leat_control_context_t** out_context);
// Makes a closed context the current one, at |stage|. Closing it, and those that were opened since,
// makes current again what was so before.
LEAT_MUST_USE leat_status_t leat_control_open(leat_control_context_t* context,
                                              leat_control_stage_t stage);
void leat_control_close(leat_control_context_t* context);
// FAILED_PRECONDITION unless |context| is the current one and at |stage|.
LEAT_MUST_USE leat_status_t leat_control_check_stage(const leat_control_context_t* context,
                                                     leat_control_stage_t stage,
                                                     const char* verb);

#endif  // LEAT_GRAPH_CONTROL_FLOW_CONSTRUCT_H_
