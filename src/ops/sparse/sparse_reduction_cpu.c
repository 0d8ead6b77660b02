// CPU kernels of sums and maxima of sparse tensors over axes.
//
//   SparseReduceSum, SparseReduceMax              -> dense
//   SparseReduceSumSparse, SparseReduceMaxSparse  -> sparse, an entry for each group
//
// The kept index of an entry is its index without the reduced axes. Entries with equal kept indices
// are a group, which becomes one number. A dense result has 0 where there is no group. In a sparse
// one the groups stand in the order of their kept indices; only the dense kernels have to check
// indices, since they use them as addresses.
#include "device/cpu/combine.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

typedef struct reduction_s {
  bool keeps;  // reduced axes stay, with size 1
  leat_combine_fn_t combine;
} reduction_t;

static leat_status_t create(leat_kernel_creation_t* c, void* state, leat_combine_t how) {
  reduction_t* reduction = state;
  int dtype;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "T", &dtype));
  reduction->combine = leat_combine_find(how, dtype);
  LEAT_DCHECK(reduction->combine);
  return leat_kernel_attr_bool(c, "keep_dims", &reduction->keeps);
}

static leat_status_t create_sum(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_COMBINE_ADD);
}

static leat_status_t create_max(leat_kernel_creation_t* c, void* state) {
  return create(c, state, LEAT_COMBINE_MAX);
}

// ---- Inputs -------------------------------------------------------------------------------------

typedef struct input_s {
  leat_entries_t entries;
  int64_t count, rank;
  bool is_reduced[LEAT_SHAPE_MAX_RANK];
  int64_t dims[LEAT_SHAPE_MAX_RANK];  // of the result
  int result_rank;
} input_t;

// Marks the axes that are reduced.
static leat_status_t read_axes(const leat_kernel_context_t* c, int64_t rank, bool* is_reduced) {
  const leat_tensor_t* axes = leat_kernel_input(c, 3);
  if (axes->shape.rank > 1) {
    return leat_kernel_invalid(c, "Expected reduction_axes to be a scalar or a vector; got shape: "
                               "%s",
                               LEAT_SHAPE_TEXT(&axes->shape));
  }
  for (int64_t i = 0; i < axes->shape.element_count; ++i) {
    int64_t axis = leat_tensor_index_at(axes, i);
    if (!leat_axis_resolve(&axis, rank)) {
      return leat_kernel_invalid(c, "Invalid reduction dimension %lld, for input with %lld "
                                 "dimensions.",
                                 (long long)leat_tensor_index_at(axes, i), (long long)rank);
    }
    is_reduced[axis] = true;
  }
  return leat_ok_status();
}

static leat_status_t read_inputs(const leat_kernel_context_t* c, input_t* input) {
  const reduction_t* state = leat_kernel_state(c);
  leat_shape_t whole;
  *input = (input_t){0};
  input->entries = leat_entries_of_inputs(c, 0);
  const int64_t* dims = input->entries.shape.data;
  input->count = input->entries.values.shape.element_count;
  input->rank = input->entries.shape.shape.element_count;
  if (input->rank > LEAT_SHAPE_MAX_RANK) return leat_kernel_invalid(c, "the rank is too large");
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)input->rank, dims, &whole));
  leat_shape_release(&whole);
  LEAT_RETURN_IF_ERROR(read_axes(c, input->rank, input->is_reduced));
  for (int64_t d = 0; d < input->rank; ++d) {
    if (input->is_reduced[d] && !state->keeps) continue;
    input->dims[input->result_rank++] = input->is_reduced[d] ? 1 : dims[d];
  }
  return leat_ok_status();
}

// ---- Dense results ------------------------------------------------------------------------------

// Combines each entry with the element of its group. |is_set| says which elements have a value.
static leat_status_t combine_entries(const leat_kernel_context_t* c, const input_t* input,
                                     bool* is_set, leat_tensor_t* output) {
  const reduction_t* state = leat_kernel_state(c);
  const int64_t *index = input->entries.indices.data, *dims = input->entries.shape.data;
  size_t bytes = leat_dtype_size(output->dtype);
  for (int64_t i = 0; i < input->count; ++i, index += input->rank) {
    // Unsigned, because it may overflow for indices far outside. Such an index either fails the
    // check below or falls on some element, which does no harm.
    uint64_t place = 0;
    for (int64_t d = 0; d < input->rank; ++d) {
      if (!input->is_reduced[d]) place = place * (uint64_t)dims[d] + (uint64_t)index[d];
    }
    if (place >= (uint64_t)output->shape.element_count) {
      return leat_kernel_error(c, LEAT_INTERNAL,
                               "Obtained a write index of %lld which is outside of bounds of [0, "
                               "%lld)",
                               (long long)place, (long long)output->shape.element_count);
    }
    char* to = (char*)output->data + (size_t)place * bytes;
    const char* value = (const char*)input->entries.values.data + (size_t)i * bytes;
    if (is_set[place]) {
      state->combine(to, value, 1);
    } else {
      memcpy(to, value, bytes);
      is_set[place] = true;
    }
  }
  return leat_ok_status();
}

static leat_status_t reduce__cpu(leat_kernel_context_t* c) {
  input_t input;
  leat_tensor_t *output, is_set;
  LEAT_RETURN_IF_ERROR(read_inputs(c, &input));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, 0, input.result_rank, input.dims, &output));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_BOOL, &output->shape, &is_set));
  leat_tensor_fill_zero(output);
  leat_tensor_fill_zero(&is_set);
  leat_status_t status = combine_entries(c, &input, is_set.data, output);
  leat_tensor_release(&is_set);
  return status;
}

// ---- Sparse results -----------------------------------------------------------------------------

// The kept indices of all entries, [count, width], and the numbers of the entries in their order.
typedef struct groups_s {
  const int64_t* kept;
  const int64_t* order;
  int64_t width;
} groups_t;

// Says whether the entry at |place| of the order is the first of its group.
static bool is_first(const groups_t* groups, int64_t place) {
  if (place == 0) return true;
  return leat_index_compare(groups->kept + groups->order[place - 1] * groups->width,
                            groups->kept + groups->order[place] * groups->width,
                            groups->width) != 0;
}

static leat_status_t write_groups(leat_kernel_context_t* c, const input_t* input,
                                  const groups_t* groups) {
  const reduction_t* state = leat_kernel_state(c);
  leat_tensor_t *indices, *values, *shape;
  leat_shape_t vector = leat_shape_vector(input->result_rank);
  int64_t total = 0;
  for (int64_t i = 0; i < input->count; ++i) total += is_first(groups, i);
  LEAT_RETURN_IF_ERROR(
      leat_entries_allocate(c, 0, 1, total, input->result_rank, &indices, &values));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &vector, &shape));
  memcpy(shape->data, input->dims, (size_t)input->result_rank * sizeof *input->dims);
  size_t bytes = leat_dtype_size(values->dtype);
  int64_t* index = indices->data;
  char* to = values->data;
  for (int64_t i = 0; i < input->count; ++i) {
    const char* value =
        (const char*)input->entries.values.data + (size_t)groups->order[i] * bytes;
    if (!is_first(groups, i)) {
      state->combine(to - bytes, value, 1);
      continue;
    }
    memcpy(to, value, bytes);
    to += bytes;
    const int64_t* kept = groups->kept + groups->order[i] * groups->width;
    for (int64_t d = 0; d < input->rank; ++d) {
      if (!input->is_reduced[d]) {
        *index++ = *kept++;
      } else if (state->keeps) {
        *index++ = 0;
      }
    }
  }
  return leat_ok_status();
}

static leat_status_t reduce_sparse__cpu(leat_kernel_context_t* c) {
  input_t input;
  leat_shape_t matrix;
  leat_tensor_t kept, order;
  LEAT_RETURN_IF_ERROR(read_inputs(c, &input));
  int64_t width = 0;
  for (int64_t d = 0; d < input.rank; ++d) width += !input.is_reduced[d];
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (int64_t[]){input.count, width}, &matrix));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &matrix, &kept));
  const int64_t* index = input.entries.indices.data;
  int64_t* to = kept.data;
  for (int64_t i = 0; i < input.count; ++i, index += input.rank) {
    for (int64_t d = 0; d < input.rank; ++d) {
      if (!input.is_reduced[d]) *to++ = index[d];
    }
  }
  leat_status_t status = leat_entries_order(c, kept.data, input.count, width, &order);
  if (!status) {
    status = write_groups(c, &input, &(groups_t){kept.data, order.data, width});
    leat_tensor_release(&order);
  }
  leat_tensor_release(&kept);
  return status;
}

#define REAL                                                                                 \
  "bfloat16, double, float, half, int16, int32, int64, int8, uint16, uint32, uint64, uint8"
#define KERNEL(op, types, how, fn) \
  LEAT_CPU_KERNEL(op, "T: " types, reduction_t, create_##how, fn##__cpu)

const leat_kernel_row_t leat_sparse_reduction_kernels_cpu[] = {
    KERNEL("SparseReduceSum", "complex128, complex64, " REAL, sum, reduce),
    KERNEL("SparseReduceMax", REAL, max, reduce),
    KERNEL("SparseReduceSumSparse", "complex128, complex64, " REAL, sum, reduce_sparse),
    KERNEL("SparseReduceMaxSparse", REAL, max, reduce_sparse),
    LEAT_KERNEL_ROWS_END,
};
