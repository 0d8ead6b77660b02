// CPU kernel of SparseReorder: the entries of a sparse tensor in the order of their indices, which
// many other sparse ops require.
//
//   indices (2, 1) (0, 5) (0, 3), values c b a   ->   (0, 3) (0, 5) (2, 1), values a b c
//
// Pointers to the rows of the indices are sorted, so that rows of any rank move as one word.
// Indices and values are then copied once in the new order. Entries with equal indices keep their
// order. Entries that are in order already are passed on without a copy.
#include <stdlib.h>
#include <string.h>

#include "ops/kernel_rows.h"

typedef struct entry_s {
  const int64_t* index;
  int64_t rank;
} entry_t;

// Entries with equal indices keep their order: the one that lies first in memory comes first. qsort
// alone would not promise that.
static int compare_entries(const void* a_item, const void* b_item) {
  const entry_t *a = a_item, *b = b_item;
  for (int64_t i = 0; i < a->rank; ++i) {
    if (a->index[i] != b->index[i]) return a->index[i] < b->index[i] ? -1 : 1;
  }
  return (a->index > b->index) - (a->index < b->index);
}

static leat_status_t check(const leat_kernel_context_t* c) {
  const leat_shape_t* indices = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* values = &leat_kernel_input(c, 1)->shape;
  const leat_shape_t* shape = &leat_kernel_input(c, 2)->shape;
  if (indices->rank == 2 && values->rank == 1 && shape->rank == 1 &&
      leat_shape_dim(indices, 0) == values->element_count &&
      leat_shape_dim(indices, 1) == shape->element_count) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c,
                             "indices have shape %s, values %s and the shape %s, must be [n, r], "
                             "[n] and [r]",
                             LEAT_SHAPE_TEXT(indices), LEAT_SHAPE_TEXT(values),
                             LEAT_SHAPE_TEXT(shape));
}

// Writes the entries in the order of |entries|.
static leat_status_t fill(leat_kernel_context_t* c, const entry_t* entries, int64_t count) {
  const leat_tensor_t *indices = leat_kernel_input(c, 0), *values = leat_kernel_input(c, 1);
  const int64_t* base = indices->data;
  size_t bytes = leat_dtype_size(values->dtype);
  leat_tensor_t *out_indices, *out_values;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &indices->shape, &out_indices));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &values->shape, &out_values));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rank = entries[i].rank, place = (entries[i].index - base) / rank;
    memcpy(leat_tensor_data(out_indices, int64_t) + i * rank, entries[i].index,
           (size_t)rank * sizeof *base);
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        values->dtype, (const char*)values->data + (size_t)place * bytes,
        (char*)out_values->data + (size_t)i * bytes, 1));
  }
  return leat_ok_status();
}

static leat_status_t reorder__cpu(leat_kernel_context_t* c) {
  LEAT_RETURN_IF_ERROR(check(c));
  const leat_tensor_t* indices = leat_kernel_input(c, 0);
  int64_t count = leat_shape_dim(&indices->shape, 0), rank = leat_shape_dim(&indices->shape, 1);
  bool sorted = true;
  entry_t* entries;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)(count + 1), &entries));
  for (int64_t i = 0; i < count; ++i) {
    entries[i] = (entry_t){leat_tensor_data(indices, const int64_t) + i * rank, rank};
    if (i && rank) sorted &= compare_entries(&entries[i - 1], &entries[i]) < 0;
  }
  leat_status_t status = leat_ok_status();
  if (sorted) {
    leat_kernel_pass_input(c, 0, 0);
    leat_kernel_pass_input(c, 1, 1);
  } else {
    qsort(entries, (size_t)count, sizeof *entries, compare_entries);
    status = fill(c, entries, count);
  }
  leat_allocator_free(leat_allocator_system(), entries);
  return status;
}

const leat_kernel_row_t leat_reorder_kernels_cpu[] = {
    {.op = "SparseReorder",
     .device_type = "CPU",
     .constraints = "T: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, "
                    "int64, int8, resource, string, uint16, uint32, uint64, uint8, variant",
     .compute = reorder__cpu},
    LEAT_KERNEL_ROWS_END,
};
