// The CPU kernels of Scatter* and ScatterNd* on variables, by reference and by handle. The last
// word of the op's name says how an update is combined with what is there.
//
//   Scatter*    var [n, row...], indices [k...], updates [k..., row...] or []
//               var[indices[i]] = var[indices[i]] <how> updates[i]
//   _Scaled*    the same with updates[i] * factor, or factor[i] of each row
//
// All indices are checked before the first row changes, so that a bad one leaves the variable as it
// was (ScatterNd* checks each as it goes). A row that is named twice is updated twice, in the order
// of the indices, on one thread: the result does not depend on the number of threads. The variable
// is locked, and its value copied first if somebody else holds it.
#include "base/checked.h"
#include "device/cpu/combine.h"
#include "ops/array/index_cpu.h"
#include "ops/array/row_scale_cpu.h"
#include "ops/array/types.h"
#include "ops/index/scatter_nd_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/state/update_cpu.h"

#define FACTOR 3  // the input by which the _Scaled ops multiply the updates

typedef struct scatter_s {
  leat_combine_t how;
  bool multiplies;  // the op is a _Scaled one
} scatter_t;

// What the op does with a row: the end of its name, or attribute "update" of a _Scaled one.
static leat_status_t scatter_create(leat_kernel_creation_t* c, void* state) {
  static const struct {
    const char* ending;
    leat_combine_t how;
  } kEndings[] = {
      {"Update", LEAT_COMBINE_ASSIGN}, {"Add", LEAT_COMBINE_ADD}, {"Sub", LEAT_COMBINE_SUB},
      {"Mul", LEAT_COMBINE_MUL},       {"Div", LEAT_COMBINE_DIV}, {"Min", LEAT_COMBINE_MIN},
      {"Max", LEAT_COMBINE_MAX},
  };
  scatter_t* scatter = state;
  leat_string_view_t name = c->kernel->op->name;
  scatter->multiplies = c->kernel->input_count > FACTOR;
  if (scatter->multiplies) LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "update", &name));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kEndings); ++i) {
    if (leat_string_view_ends_with(name, leat_string_view_from(kEndings[i].ending))) {
      scatter->how = kEndings[i].how;
    }
  }
  return leat_ok_status();
}

// ---- Checks -------------------------------------------------------------------------------------

// Checks that the variable has a value of the type of the updates.
static leat_status_t check_variable(leat_kernel_context_t* c, const leat_tensor_t* var) {
  int wanted = leat_kernel_input(c, 2)->dtype;
  if (!var->dtype) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "Attempting to use uninitialized variables");
  }
  if (var->dtype != wanted) {
    return leat_kernel_invalid(c, "the variable is %s, must be %s as the updates",
                               leat_dtype_name(var->dtype), leat_dtype_name(wanted));
  }
  return leat_ok_status();
}

// Checks that the updates are a scalar or one row of the variable for each index.
static leat_status_t check_shapes(leat_kernel_context_t* c, const leat_shape_t* var) {
  const leat_shape_t* indices = &leat_kernel_input(c, 1)->shape;
  const leat_shape_t* updates = &leat_kernel_input(c, 2)->shape;
  if (var->rank == 0) {
    return leat_kernel_invalid(c, "the variable is a scalar, must have rank 1 or more");
  }
  bool fits = updates->rank == 0 || updates->rank == indices->rank + var->rank - 1;
  for (int d = 0; fits && d < updates->rank; ++d) {
    int64_t wanted = d < indices->rank ? leat_shape_dim(indices, d)
                                       : leat_shape_dim(var, d - indices->rank + 1);
    fits = leat_shape_dim(updates, d) == wanted;
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "updates have shape %s, must be a scalar or a row of %s for each "
                             "of %s indices",
                             LEAT_SHAPE_TEXT(updates), LEAT_SHAPE_TEXT(var),
                             LEAT_SHAPE_TEXT(indices));
}

static leat_status_t check_indices(leat_kernel_context_t* c, int64_t rows) {
  const leat_tensor_t* indices = leat_kernel_input(c, 1);
  for (int64_t i = 0; i < indices->shape.element_count; ++i) {
    int64_t index = leat_tensor_index_at(indices, i);
    if (LEAT_UNLIKELY(index < 0 || index >= rows)) {
      return leat_kernel_invalid(c, "indices%s = %lld is not in [0, %lld)",
                                 LEAT_INDEX_PLACE(&indices->shape, indices->shape.rank, i),
                                 (long long)index, (long long)rows);
    }
  }
  return leat_ok_status();
}

// Refuses updates of 0 for a division: of integers always, and for a variable by handle of any
// type, as in TensorFlow.
static leat_status_t check_divisors(leat_kernel_context_t* c, leat_combine_t how) {
  static const uint8_t kZero[16];
  const leat_tensor_t* updates = leat_kernel_input(c, 2);
  bool is_handle = !leat_dtype_is_ref(c->kernel->input_types[0]);
  if (how != LEAT_COMBINE_DIV) return leat_ok_status();
  if (!is_handle && leat_dtype_in(updates->dtype, LEAT_DTYPES_FLOATING | LEAT_DTYPES_COMPLEX)) {
    return leat_ok_status();
  }
  size_t size = leat_dtype_size(updates->dtype);
  for (int64_t i = 0; i < updates->shape.element_count; ++i) {
    if (memcmp((const uint8_t*)updates->data + (size_t)i * size, kZero, size) == 0) {
      return leat_kernel_invalid(c, "updates[%lld] is 0, must not be for division", (long long)i);
    }
  }
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

typedef struct rows_s {
  leat_combine_t how;
  leat_combine_fn_t combine;       // NULL: elements are assigned one by one (strings)
  const leat_tensor_t* updates;
  const leat_row_scale_t* scale;   // what multiplies the updates; NULL: nothing does
  int64_t row;                     // elements of a row
} rows_t;

static leat_status_t apply_elements(const rows_t* r, void* to, const void* from, int64_t count) {
  if (LEAT_UNLIKELY(!r->combine)) {
    return leat_tensor_copy_elements(r->updates->dtype, from, to, count);
  }
  r->combine(to, from, count);
  return leat_ok_status();
}

// Applies an update that is a scalar to every element of the row at |to|.
static leat_status_t apply_scalar(const rows_t* r, uint8_t* to) {
  _Alignas(16) uint8_t product[16];
  const size_t item = leat_dtype_size(r->updates->dtype);
  if (r->scale) leat_row_scale_apply(r->scale, LEAT_ROW_SCALE_LAY, 0, 1, product);
  for (int64_t k = 0; k < r->row; ++k) {
    LEAT_RETURN_IF_ERROR(apply_elements(r, to + (size_t)k * item,
                                        r->scale ? product : r->updates->data, 1));
  }
  return leat_ok_status();
}

// Applies update |index| to the row at |to|. The _Scaled ops are additions and subtractions only.
static leat_status_t apply_row(const rows_t* r, int64_t index, uint8_t* to) {
  const int64_t begin = index * r->row;
  if (r->updates->shape.rank == 0) return apply_scalar(r, to);
  if (r->scale) {
    leat_row_scale_apply(r->scale,
                         r->how == LEAT_COMBINE_ADD ? LEAT_ROW_SCALE_ADD : LEAT_ROW_SCALE_SUB,
                         begin, r->row, to);
    return leat_ok_status();
  }
  const uint8_t* updates = r->updates->data;
  return apply_elements(r, to, updates + (size_t)begin * leat_dtype_size(r->updates->dtype),
                        r->row);
}

// Applies all updates in order. The rows of later updates are fetched ahead, because the variable
// is often a table far larger than the caches.
static leat_status_t apply_rows(const rows_t* r, const leat_tensor_t* indices,
                                leat_tensor_t* var) {
  const size_t row_bytes = (size_t)r->row * leat_dtype_size(var->dtype);
  uint8_t* target = var->data;
  const int64_t count = indices->shape.element_count;
  for (int64_t i = 0; i < count; ++i) {
    if (i + LEAT_ROWS_AHEAD < count) {
      int64_t later = leat_tensor_index_at(indices, i + LEAT_ROWS_AHEAD);
      leat_row_fetch(target + (size_t)later * row_bytes, row_bytes);
    }
    uint8_t* to = target + (size_t)leat_tensor_index_at(indices, i) * row_bytes;
    LEAT_RETURN_IF_ERROR(apply_row(r, i, to));
  }
  return leat_ok_status();
}

static leat_status_t scatter_locked(leat_kernel_context_t* c, leat_cell_t* cell) {
  const scatter_t* scatter = leat_kernel_state(c);
  leat_tensor_t* var = &cell->tensor;
  leat_row_scale_t scale;
  LEAT_RETURN_IF_ERROR(check_variable(c, var));
  LEAT_RETURN_IF_ERROR(check_shapes(c, &var->shape));
  LEAT_RETURN_IF_ERROR(check_indices(c, leat_shape_dim(&var->shape, 0)));
  LEAT_RETURN_IF_ERROR(check_divisors(c, scatter->how));
  if (scatter->multiplies) LEAT_RETURN_IF_ERROR(leat_row_scale_open(c, 2, FACTOR, &scale));
  LEAT_RETURN_IF_ERROR(leat_cell_make_exclusive(cell, c->services->memory));
  const rows_t rows = {.how = scatter->how,
                       .combine = leat_combine_find(scatter->how, var->dtype),
                       .updates = leat_kernel_input(c, 2),
                       .scale = scatter->multiplies ? &scale : NULL,
                       .row = leat_shape_product(&var->shape, 1, var->shape.rank)};
  return apply_rows(&rows, leat_kernel_input(c, 1), var);
}

static leat_status_t scatter_nd_locked(leat_kernel_context_t* c, leat_cell_t* cell) {
  LEAT_RETURN_IF_ERROR(check_variable(c, &cell->tensor));
  LEAT_RETURN_IF_ERROR(leat_cell_make_exclusive(cell, c->services->memory));
  return leat_scatter_nd_apply(c, leat_kernel_input(c, 1), leat_kernel_input(c, 2),
                               &cell->tensor);
}

// ---- Kernels ------------------------------------------------------------------------------------

// Runs |update| on the variable at input 0 while its cell is locked.
static leat_status_t run(leat_kernel_context_t* c,
                         leat_status_t (*update)(leat_kernel_context_t* c, leat_cell_t* cell)) {
  leat_update_cells_t cells;
  if (c->kernel->output_count) leat_kernel_pass_ref(c, 0, 0);
  LEAT_RETURN_IF_ERROR(leat_update_lock(c, 1, &cells));
  leat_status_t status = update(c, cells.cells[0]);
  leat_update_unlock(&cells);
  return status;
}

static leat_status_t scatter__cpu(leat_kernel_context_t* c) { return run(c, scatter_locked); }

static leat_status_t scatter_nd__cpu(leat_kernel_context_t* c) {
  return run(c, scatter_nd_locked);
}

#define KERNEL(op_name, types, state, create_fn, function)    \
  LEAT_CPU_KERNEL(op_name, types, state, create_fn, function)
#define SCATTER_KERNEL(op_name, types)                                           \
  LEAT_CPU_KERNEL(op_name, types, scatter_t, scatter_create, scatter__cpu,       \
                  .access = LEAT_ACCESS_SCATTER)
#define SCATTER(how, types)                                                      \
  SCATTER_KERNEL("Scatter" how, "T: " types),                                    \
      SCATTER_KERNEL("ResourceScatter" how, "dtype: " types)
#define SCATTER_ND(how, types)                                                                 \
  KERNEL("ScatterNd" how, "T: " types, leat_scatter_nd_t, leat_scatter_nd_create,              \
         scatter_nd__cpu),                                                                     \
      KERNEL("ResourceScatterNd" how, "T: " types, leat_scatter_nd_t, leat_scatter_nd_create,  \
             scatter_nd__cpu)

const leat_kernel_row_t leat_scatter_kernels_cpu[] = {
    SCATTER("Update", LEAT_TYPES_ALL),
    SCATTER("Add", LEAT_TYPES_NUMBER),
    SCATTER("Sub", LEAT_TYPES_NUMBER),
    KERNEL("_ScaledScatter", "T: " LEAT_ROW_SCALE_TYPES, scatter_t, scatter_create, scatter__cpu),
    KERNEL("_ScaledResourceScatter", "dtype: " LEAT_ROW_SCALE_TYPES, scatter_t, scatter_create,
           scatter__cpu),
    SCATTER("Mul", LEAT_TYPES_NUMBER),
    SCATTER("Div", LEAT_TYPES_NUMBER),
    SCATTER("Min", LEAT_TYPES_REAL),
    SCATTER("Max", LEAT_TYPES_REAL),
    SCATTER_ND("Update", LEAT_TYPES_STRINGS),
    SCATTER_ND("Add", LEAT_TYPES_PLAIN),
    SCATTER_ND("Sub", LEAT_TYPES_PLAIN),
    SCATTER_ND("Min", LEAT_TYPES_REAL),
    SCATTER_ND("Max", LEAT_TYPES_REAL),
    LEAT_KERNEL_ROWS_END,
};
