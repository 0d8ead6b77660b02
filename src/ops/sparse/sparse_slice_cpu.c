// CPU kernels that cut pieces out of sparse tensors, and the gradient of that.
//
//   SparseSplit  pieces of nearly one size along an axis
//   SparseSlice  the entries in a box, their indices counted from its corner
//
// The number of entries of a piece is not known beforehand, so that the kernels go over the entries
// twice: first they count, and then they copy. Entries keep their order.
#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

// ---- SparseSplit --------------------------------------------------------------------------------

// The first |rest| of |count| pieces have the size |least| + 1, the others |least|.
typedef struct split_s {
  int64_t axis, count, least, rest;
} split_t;

static int64_t begin_of(const split_t* split, int64_t piece) {
  return piece * split->least + LEAT_MIN(piece, split->rest);
}

static int64_t piece_of(const split_t* split, int64_t index) {
  int64_t border = split->rest * (split->least + 1);
  return index < border ? index / (split->least + 1)
                        : split->rest + (index - border) / split->least;
}

static leat_status_t split_create(leat_kernel_creation_t* c, void* memory) {
  return leat_kernel_attr_int(c, "num_split", memory);
}

// Reads the axis and works out the sizes of the pieces.
static leat_status_t read_split(const leat_kernel_context_t* c, const leat_entries_t* entries,
                                split_t* split) {
  const leat_tensor_t* axis = leat_kernel_input(c, 0);
  int64_t rank = entries->shape.shape.element_count;
  split->count = *(const int64_t*)leat_kernel_state(c);
  split->axis = *leat_tensor_data(axis, const int64_t);
  if (!leat_axis_resolve(&split->axis, rank)) {
    return leat_kernel_invalid(c, "Input axis should be in range [%lld, %lld), got %lld",
                               (long long)-rank, (long long)rank, (long long)split->axis);
  }
  int64_t size = leat_tensor_data(&entries->shape, const int64_t)[split->axis];
  if (split->count > size) {
    return leat_kernel_invalid(c, "Input num_split should be between 1 and the splitting dimension "
                               "size (%lld), got %lld",
                               (long long)size, (long long)split->count);
  }
  split->least = size / split->count;
  split->rest = size % split->count;
  return leat_ok_status();
}

// Allocates the outputs of all pieces. |places| [count] holds how many entries each piece has.
static leat_status_t allocate_pieces(leat_kernel_context_t* c, const leat_entries_t* entries,
                                     const split_t* split, const int64_t* places) {
  int64_t rank = entries->shape.shape.element_count;
  int n = (int)split->count;
  for (int i = 0; i < n; ++i) {
    leat_tensor_t *indices, *values, *shape;
    leat_shape_t vector = leat_shape_vector(rank);
    LEAT_RETURN_IF_ERROR(
        leat_entries_allocate(c, i, n + i, places[i], rank, &indices, &values));
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2 * n + i, &vector, &shape));
    memcpy(shape->data, entries->shape.data, (size_t)rank * sizeof(int64_t));
    leat_tensor_data(shape, int64_t)[split->axis] = begin_of(split, i + 1) - begin_of(split, i);
  }
  return leat_ok_status();
}

// Copies each entry to its piece. |places| holds how many entries the pieces lack.
static leat_status_t split_entries(leat_kernel_context_t* c, const leat_entries_t* entries,
                                   const split_t* split, int64_t* places) {
  int64_t rank = entries->shape.shape.element_count, n = split->count;
  LEAT_RETURN_IF_ERROR(allocate_pieces(c, entries, split, places));
  const int64_t* index = entries->indices.data;
  for (int64_t i = 0; i < entries->values.shape.element_count; ++i, index += rank) {
    int64_t piece = piece_of(split, index[split->axis]);
    leat_tensor_t* indices = leat_kernel_output(c, (int)piece);
    leat_tensor_t* values = leat_kernel_output(c, (int)(n + piece));
    int64_t place = values->shape.element_count - places[piece]--;
    LEAT_RETURN_IF_ERROR(leat_entries_copy_one(entries, i, indices, values, place));
    leat_tensor_data(indices, int64_t)[place * rank + split->axis] -= begin_of(split, piece);
  }
  return leat_ok_status();
}

static leat_status_t split__cpu(leat_kernel_context_t* c) {
  leat_entries_t entries;
  split_t split = {0};
  leat_tensor_t places;
  leat_shape_t dense;
  entries = leat_entries_of_inputs(c, 1);
  int64_t rank = entries.shape.shape.element_count;
  const int64_t* dims = entries.shape.data;
  LEAT_RETURN_IF_ERROR(read_split(c, &entries, &split));
  LEAT_RETURN_IF_ERROR(leat_entries_check_bounds(c, &entries.indices, dims));
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)LEAT_MIN(rank, INT32_MAX), dims, &dense));
  leat_shape_release(&dense);
  leat_shape_t vector = leat_shape_vector(split.count);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &vector, &places));
  leat_tensor_fill_zero(&places);
  const int64_t* index = entries.indices.data;
  for (int64_t i = 0; i < entries.values.shape.element_count; ++i, index += rank) {
    ++leat_tensor_data(&places, int64_t)[piece_of(&split, index[split.axis])];
  }
  leat_status_t status = split_entries(c, &entries, &split, places.data);
  leat_tensor_release(&places);
  return status;
}

// ---- SparseSlice --------------------------------------------------------------------------------

typedef struct box_s {
  int64_t rank;
  const int64_t *start, *size;
} box_t;

// Says whether |index| lies in the box. The distance from the corner is computed unsigned, where it
// cannot overflow, since |index| is not before the corner.
static bool is_inside(const box_t* box, const int64_t* index) {
  for (int64_t d = 0; d < box->rank; ++d) {
    if (index[d] < box->start[d]) return false;
    if ((uint64_t)index[d] - (uint64_t)box->start[d] >= (uint64_t)box->size[d]) return false;
  }
  return true;
}

// Writes output 2: the size of the box, less where it reaches beyond the dense shape.
static leat_status_t write_shape(leat_kernel_context_t* c, const box_t* box, const int64_t* dims) {
  leat_tensor_t* shape;
  leat_shape_t vector = leat_shape_vector(box->rank);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &vector, &shape));
  for (int64_t d = 0; d < box->rank; ++d) {
    uint64_t left = box->start[d] < dims[d] ? (uint64_t)dims[d] - (uint64_t)box->start[d] : 0;
    leat_tensor_data(shape, int64_t)[d] = (int64_t)LEAT_MIN((uint64_t)box->size[d], left);
  }
  return leat_ok_status();
}

static leat_status_t slice__cpu(leat_kernel_context_t* c) {
  const leat_entries_t entries = leat_entries_of_inputs(c, 0);
  leat_shape_t dense;
  leat_tensor_t *indices, *values;
  const box_t box = {.rank = entries.shape.shape.element_count,
                     .start = leat_kernel_input(c, 3)->data,
                     .size = leat_kernel_input(c, 4)->data};
  LEAT_RETURN_IF_ERROR(
      leat_shape_create((int)LEAT_MIN(box.rank, INT32_MAX), entries.shape.data, &dense));
  leat_shape_release(&dense);
  for (int64_t d = 0; d < box.rank; ++d) {
    if (box.size[d] >= 0) continue;
    return leat_kernel_invalid(c, "Expected a non-negative size, got %lld",
                               (long long)box.size[d]);
  }
  const int64_t* index = entries.indices.data;
  int64_t count = entries.values.shape.element_count, kept = 0;
  for (int64_t i = 0; i < count; ++i) kept += is_inside(&box, index + i * box.rank);
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(c, 0, 1, kept, box.rank, &indices, &values));
  for (int64_t i = 0, place = 0; i < count; ++i) {
    if (!is_inside(&box, index + i * box.rank)) continue;
    LEAT_RETURN_IF_ERROR(leat_entries_copy_one(&entries, i, indices, values, place));
    int64_t* to = leat_tensor_data(indices, int64_t) + place++ * box.rank;
    for (int64_t d = 0; d < box.rank; ++d) {
      to[d] = (int64_t)((uint64_t)to[d] - (uint64_t)box.start[d]);
    }
  }
  return write_shape(c, &box, entries.shape.data);
}

// ---- Gradient of a slice ------------------------------------------------------------------------

// Says whether the entry at |from| became the one at |to| in a slice that begins at |start|.
static bool became(const int64_t* from, const int64_t* to, const int64_t* start, int64_t rank) {
  for (int64_t d = 0; d < rank; ++d) {
    if ((uint64_t)from[d] != (uint64_t)to[d] + (uint64_t)start[d]) return false;
  }
  return true;
}

// The slice kept the order of the entries: those of its result are found among the entries one
// after the other. All others have the gradient 0.
static leat_status_t slice_gradient__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* dy = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  const int64_t *from = leat_kernel_input(c, 1)->data, *start = leat_kernel_input(c, 2)->data,
                *to = leat_kernel_input(c, 3)->data;
  int64_t count = leat_shape_dim(&leat_kernel_input(c, 1)->shape, 0), kept = 0;
  int64_t rank = leat_shape_dim(&leat_kernel_input(c, 1)->shape, 1);
  if (dy->shape.element_count > count) {
    return leat_kernel_invalid(c, "# rows of output_indices should be not greater than of "
                               "input_indices, got %lld and %lld",
                               (long long)dy->shape.element_count, (long long)count);
  }
  leat_shape_t vector = leat_shape_vector(count);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &vector, &output));
  leat_tensor_fill_zero(output);
  size_t bytes = leat_dtype_size(dy->dtype);
  for (int64_t i = 0; i < count && kept < dy->shape.element_count; ++i) {
    if (!became(from + i * rank, to + kept * rank, start, rank)) continue;
    memcpy((char*)output->data + (size_t)i * bytes,
           (const char*)dy->data + (size_t)kept++ * bytes, bytes);
  }
  if (kept == dy->shape.element_count) return leat_ok_status();
  return leat_kernel_error(c, LEAT_INTERNAL,
                           "Elements of backprop_val_grad aren't all propagated. Num elements: "
                           "%lld, used: %lld",
                           (long long)dy->shape.element_count, (long long)kept);
}

#define NUMBERS \
  "bfloat16, complex128, complex64, double, float, half, int16, int32, int64, int8, uint16, " \
  "uint32, uint64, uint8"
#define ALL "T: bool, resource, string, variant, " NUMBERS

const leat_kernel_row_t leat_sparse_slice_kernels_cpu[] = {
    LEAT_CPU_KERNEL("SparseSplit", ALL, int64_t, split_create, split__cpu),
    {.op = "SparseSlice", .device_type = "CPU", .constraints = ALL, .compute = slice__cpu},
    {.op = "SparseSliceGrad",
     .device_type = "CPU",
     .constraints = "T: " NUMBERS,
     .compute = slice_gradient__cpu},
    LEAT_KERNEL_ROWS_END,
};
