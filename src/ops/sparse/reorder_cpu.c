// CPU kernel of SparseReorder: the entries of a sparse tensor in the order of their indices, which
// many other sparse ops require.
//
//   indices (2, 1) (0, 5) (0, 3), values c b a   ->   (0, 3) (0, 5) (2, 1), values a b c
//
// Indices and values are copied once in the new order. Entries with equal indices keep their order.
// Entries that are in order already are passed on without a copy.
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

// Writes the entries in the order of |order|.
static leat_status_t fill(leat_kernel_context_t* c, const leat_entries_t* entries,
                          const int64_t* order) {
  leat_tensor_t *indices, *values;
  int64_t count = entries->values.shape.element_count;
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(
      c, 0, 1, count, entries->shape.shape.element_count, &indices, &values));
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_entries_copy_one(entries, order[i], indices, values, i));
  }
  return leat_ok_status();
}

static leat_status_t reorder__cpu(leat_kernel_context_t* c) {
  const leat_entries_t entries = leat_entries_of_inputs(c, 0);
  leat_tensor_t order;
  int64_t count = entries.values.shape.element_count;
  LEAT_RETURN_IF_ERROR(leat_entries_order(c, entries.indices.data, count,
                                          entries.shape.shape.element_count, &order));
  bool is_sorted = true;
  for (int64_t i = 0; i < count; ++i) is_sorted &= leat_tensor_data(&order, int64_t)[i] == i;
  leat_status_t status = leat_ok_status();
  if (is_sorted) {
    leat_kernel_pass_input(c, 0, 0);
    leat_kernel_pass_input(c, 1, 1);
  } else {
    status = fill(c, &entries, order.data);
  }
  leat_tensor_release(&order);
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
