// Updating the cells of variables (kernel/resource.h): what the kernels of Assign*, Scatter*,
// Apply* and others share. A kernel locks the cells of its variables, for which it may have to
// wait, updates them and unlocks them. An update works in place when the cell is the only owner of
// its value's bytes, and on a copy otherwise.
#ifndef LEAT_OPS_STATE_UPDATE_CPU_H_
#define LEAT_OPS_STATE_UPDATE_CPU_H_

#include "kernel/kernel.h"
#include "kernel/resource.h"

// Finds the cell that input |index| names, by reference or by handle; the caller releases it.
// NOT_FOUND when a handle names none.
LEAT_MUST_USE leat_status_t leat_update_find_cell(leat_kernel_context_t* c, int index,
                                                  leat_cell_t** out_cell);

// The cells of inputs [0, count), of which each is locked once, in the order of their addresses:
// two kernels that update the same variables in another order would otherwise deadlock.
#define LEAT_UPDATE_MAX_CELLS 4
typedef struct leat_update_cells_s {
  leat_cell_t* cells[LEAT_UPDATE_MAX_CELLS];   // by input, retained
  leat_cell_t* locked[LEAT_UPDATE_MAX_CELLS];  // different ones, by address
  int count;
  int locked_count;
  bool has_duplicates;  // two inputs name the same cell
} leat_update_cells_t;
// Finds and locks the cells of inputs [0, |count|), at most LEAT_UPDATE_MAX_CELLS. After a failure
// nothing is locked. leat_update_unlock unlocks and releases them.
LEAT_MUST_USE leat_status_t leat_update_lock(leat_kernel_context_t* c, int count,
                                             leat_update_cells_t* out_cells);
// Unlocks the cells and gives up the references, after success or failure of the update.
void leat_update_unlock(leat_update_cells_t* cells);

// ---- With the cell's lock held ------------------------------------------------------------------

// Gives the cell a value equal to input |index|, in bytes that only the cell holds.
// INVALID_ARGUMENT for another type than the variable's.
LEAT_MUST_USE leat_status_t leat_update_assign(leat_kernel_context_t* c, leat_cell_t* cell,
                                               int index);
// Adds |sign| (1 or -1) * input |index| to the cell's value, elementwise. INVALID_ARGUMENT unless
// type and shape agree.
LEAT_MUST_USE leat_status_t leat_update_add(leat_kernel_context_t* c, leat_cell_t* cell, int index,
                                            int sign);

#endif  // LEAT_OPS_STATE_UPDATE_CPU_H_
