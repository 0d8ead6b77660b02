// Updating a cell in place: what Assign*, ResourceApply* and their kin share. All functions are
// called with the cell's lock held.
#ifndef LEAT_OPS_STATE_UPDATE_H_
#define LEAT_OPS_STATE_UPDATE_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

// The cell becomes a value of its own that equals input |index|.
LEAT_MUST_USE leat_status_t leat_update_assign(leat_kernel_context_t* c, leat_cell_t* cell,
                                               int index);
// cell += sign * input |index|, elementwise; shapes must agree (INVALID_ARGUMENT).
LEAT_MUST_USE leat_status_t leat_update_add(leat_kernel_context_t* c, leat_cell_t* cell, int index,
                                            int sign);

#endif  // LEAT_OPS_STATE_UPDATE_H_
