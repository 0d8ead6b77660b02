// The CPU kernels of Pack and Unpack. Pack is a join of pieces (pieces_cpu.h) of size 1 along the
// new axis, Unpack takes them apart. A stack of one tensor is that tensor under another shape.
// Along dimension 0 the pieces of Unpack are contiguous and share the bytes of the whole where they
// are long enough to be worth keeping it alive; otherwise they are copied. The shapes of the inputs
// are checked here too, because the shape function may not have known them.
#include "ops/array/index_cpu.h"
#include "ops/array/pieces_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

typedef struct pack_state_s {
  int64_t axis;
} pack_state_t;

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  pack_state_t* state = memory;
  return leat_kernel_attr_int(creation, "axis", &state->axis);
}

// Resolves attribute "axis", which may be negative, for |rank| dimensions.
static leat_status_t find_axis(const leat_kernel_context_t* c, int rank, int* out_axis) {
  const pack_state_t* state = leat_kernel_state(c);
  int64_t axis = state->axis;
  if (!leat_axis_resolve(&axis, rank)) {
    return leat_kernel_invalid(c, "axis is %lld, must be in [%d, %d)", (long long)axis, -rank,
                               rank);
  }
  *out_axis = (int)axis;
  return leat_ok_status();
}

static leat_status_t pack__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* first = &leat_kernel_input(c, 0)->shape;
  int axis, count = leat_kernel_input_count(c);
  LEAT_RETURN_IF_ERROR(find_axis(c, first->rank + 1, &axis));
  for (int i = 1; i < count; ++i) {
    if (!leat_shape_equal(first, &leat_kernel_input(c, i)->shape)) {
      return leat_kernel_invalid(c, "value %d has shape %s, must have that of value 0, %s", i,
                                 LEAT_SHAPE_TEXT(&leat_kernel_input(c, i)->shape),
                                 LEAT_SHAPE_TEXT(first));
    }
  }
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1];
  const int64_t* from = leat_shape_dims(first);
  for (int d = 0; d <= first->rank; ++d) dims[d] = d == axis ? count : from[d < axis ? d : d - 1];
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(first->rank + 1, dims, &shape));
  leat_tensor_t* output;
  leat_status_t status = count == 1 ? leat_kernel_pass_input_reshaped(c, 0, 0, &shape)
                                    : leat_kernel_allocate_output(c, 0, &shape, &output);
  if (!status && count > 1 && shape.element_count > 0) {
    status = leat_pieces_join(c, 0, count, leat_shape_product(&shape, 0, axis));
  }
  leat_shape_release(&shape);
  return status;
}

// Makes output |index| the slice of the whole at |index| of dimension 0, which shares its bytes.
static leat_status_t share_piece(leat_kernel_context_t* c, const leat_shape_t* shape, int index) {
  leat_tensor_t row;
  LEAT_RETURN_IF_ERROR(leat_tensor_slice(leat_kernel_input(c, 0), index, index + 1, &row));
  leat_tensor_t piece;
  leat_status_t status = leat_tensor_reshape(&row, shape, &piece);
  leat_tensor_release(&row);
  if (!status) leat_kernel_set_output(c, index, piece);
  return status;
}

// All pieces have the same bytes, so that the alignment of the first two is that of all.
static bool pieces_share(const leat_tensor_t* whole, const leat_shape_t* piece) {
  size_t bytes = (size_t)piece->element_count * leat_dtype_size(whole->dtype);
  return leat_pieces_should_share(whole->data, bytes) &&
         leat_pieces_should_share((char*)whole->data + bytes, bytes);
}

// Makes all outputs, each of |shape|. |outer| is the product of the dimensions before the axis;
// where it is 1 the slices are contiguous.
static leat_status_t unpack_pieces(leat_kernel_context_t* c, const leat_shape_t* shape,
                                   int64_t outer) {
  int count = c->kernel->output_count;
  if (outer == 1 && pieces_share(leat_kernel_input(c, 0), shape)) {
    for (int i = 0; i < count; ++i) LEAT_RETURN_IF_ERROR(share_piece(c, shape, i));
    return leat_ok_status();
  }
  for (int i = 0; i < count; ++i) {
    leat_tensor_t* output;
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, i, shape, &output));
  }
  return count > 0 && shape->element_count > 0 ? leat_pieces_split(c, 0, outer) : leat_ok_status();
}

static leat_status_t unpack__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* whole = &leat_kernel_input(c, 0)->shape;
  int axis;
  LEAT_RETURN_IF_ERROR(find_axis(c, whole->rank, &axis));
  const int64_t* dims = leat_shape_dims(whole);
  if (dims[axis] != c->kernel->output_count) {
    return leat_kernel_invalid(c, "dimension %d of shape %s must be num, which is %d", axis,
                               LEAT_SHAPE_TEXT(whole), c->kernel->output_count);
  }
  int64_t piece[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < whole->rank - 1; ++d) piece[d] = dims[d < axis ? d : d + 1];
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(whole->rank - 1, piece, &shape));
  leat_status_t status = unpack_pieces(c, &shape, leat_shape_product(whole, 0, axis));
  leat_shape_release(&shape);
  return status;
}

const leat_kernel_row_t leat_pack_kernels_cpu[] = {
    {.op = "Pack",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_ALL ", " LEAT_TYPES_FLOAT8
                    ", qint8, qint16, qint32, quint8, quint16",
     .create = create,
     .state_bytes = sizeof(pack_state_t),
     .access = LEAT_ACCESS_PACK,
     .compute = pack__cpu},
    {.op = "Unpack",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_ALL ", " LEAT_TYPES_FLOAT8,
     .create = create,
     .state_bytes = sizeof(pack_state_t),
     .access = LEAT_ACCESS_UNPACK,
     .compute = unpack__cpu},
    LEAT_KERNEL_ROWS_END,
};
