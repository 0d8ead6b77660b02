// Updating cells in place: what Assign*, Scatter*, Apply* and their kin share.
#ifndef LEAT_OPS_STATE_UPDATE_CPU_H_
#define LEAT_OPS_STATE_UPDATE_CPU_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

// The cell that input |index| names, by reference or by handle; retained. FAILED_PRECONDITION when
// a handle names none.
LEAT_MUST_USE leat_status_t leat_update_find_cell(leat_kernel_context_t* c, int index,
                                                  leat_cell_t** out_cell);

// The cells of inputs [0, count), locked in the order of their addresses, each once.
#define LEAT_UPDATE_MAX_CELLS 4
typedef struct leat_update_cells_s {
  leat_cell_t* cells[LEAT_UPDATE_MAX_CELLS];   // by input
  leat_cell_t* locked[LEAT_UPDATE_MAX_CELLS];  // by address
  int count;
  int locked_count;
  bool has_duplicates;
} leat_update_cells_t;
LEAT_MUST_USE leat_status_t leat_update_lock(leat_kernel_context_t* c, int count,
                                             leat_update_cells_t* out_cells);
void leat_update_unlock(leat_update_cells_t* cells);

// ---- With the cell's lock held ------------------------------------------------------------------

// The cell becomes a value of its own that equals input |index|.
LEAT_MUST_USE leat_status_t leat_update_assign(leat_kernel_context_t* c, leat_cell_t* cell,
                                               int index);
// cell += sign * input |index|, elementwise; shapes must agree (INVALID_ARGUMENT).
LEAT_MUST_USE leat_status_t leat_update_add(leat_kernel_context_t* c, leat_cell_t* cell, int index,
                                            int sign);

#endif  // LEAT_OPS_STATE_UPDATE_CPU_H_
