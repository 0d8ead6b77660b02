// The critical path of one step, for trace/delay.c.
#ifndef LEAT_TRACE_DELAY_PATH_H_
#define LEAT_TRACE_DELAY_PATH_H_

#include "trace/delay_graph.h"

// Finds the path of |step| and appends its pieces to |*inout_pieces|, the last first; the caller
// frees them with the system's allocator. |instances| become those of the step. |names| maps the
// timeline's names to one for each node.
LEAT_MUST_USE leat_status_t leat_delay_path_find(leat_instances_t* instances,
                                                 const uint32_t* names, const leat_step_t* step,
                                                 leat_path_piece_t** inout_pieces,
                                                 size_t* inout_count, size_t* inout_capacity);

#endif  // LEAT_TRACE_DELAY_PATH_H_
