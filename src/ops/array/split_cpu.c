// The CPU kernels of Split and SplitV. Along dimension 0 the pieces are contiguous, so that they
// share the bytes of the whole where all of them are long enough to be worth keeping it alive
// (leat_pieces_should_share). Otherwise leat_pieces_split copies them (pieces_cpu.h). The only
// output of a split into one is the whole itself. Sizes that must add up are checked here, since
// they may be known only when the step runs.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/pieces_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// How long each piece is along the axis.
typedef struct lengths_s {
  const leat_tensor_t* sizes;  // NULL: all are |equal|
  int64_t equal;
  int64_t rest;  // what a size of -1 stands for
} lengths_t;

static int64_t length_at(const lengths_t* l, int index) {
  if (!l->sizes) return l->equal;
  int64_t size = leat_index_read(l->sizes, index);
  return size == -1 ? l->rest : size;
}

// Makes the outputs slices of |whole| along dimension 0, which share its bytes.
static leat_status_t share_pieces(leat_kernel_context_t* c, const leat_tensor_t* whole,
                                  const lengths_t* l) {
  int64_t begin = 0;
  for (int i = 0; i < c->kernel->output_count; ++i) {
    int64_t end = begin + length_at(l, i);
    leat_tensor_t piece;
    LEAT_RETURN_IF_ERROR(leat_tensor_slice(whole, begin, end, &piece));
    leat_kernel_set_output(c, i, piece);
    begin = end;
  }
  return leat_ok_status();
}

// Says whether all pieces along dimension 0 should share the bytes of |whole|.
static bool pieces_share(const leat_kernel_context_t* c, const leat_tensor_t* whole,
                         const lengths_t* l) {
  int64_t rows = leat_shape_dim(&whole->shape, 0), begin = 0;
  if (rows == 0) return false;
  int64_t row_bytes = (int64_t)leat_tensor_size_bytes(whole) / rows;
  for (int i = 0; i < c->kernel->output_count; ++i) {
    int64_t length = length_at(l, i);
    const char* at = (const char*)whole->data + begin * row_bytes;
    if (!leat_pieces_should_share(at, (size_t)(length * row_bytes))) return false;
    begin += length;
  }
  return true;
}

static leat_status_t allocate_piece(leat_kernel_context_t* c, const leat_shape_t* whole, int axis,
                                    int index, int64_t length) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  memcpy(dims, leat_shape_dims(whole), (size_t)whole->rank * sizeof(int64_t));
  dims[axis] = length;
  leat_tensor_t* output;
  return leat_kernel_allocate_sized(c, index, whole->rank, dims, &output);
}

// Takes input |value_input| apart; |l| adds up to its size along |axis|.
static leat_status_t split(leat_kernel_context_t* c, int value_input, int axis,
                           const lengths_t* l) {
  const leat_tensor_t* whole = leat_kernel_input(c, value_input);
  if (c->kernel->output_count == 1) {
    leat_kernel_pass_input(c, value_input, 0);
    return leat_ok_status();
  }
  if (axis == 0 && pieces_share(c, whole, l)) return share_pieces(c, whole, l);
  for (int i = 0; i < c->kernel->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(allocate_piece(c, &whole->shape, axis, i, length_at(l, i)));
  }
  if (whole->shape.element_count == 0) return leat_ok_status();
  return leat_pieces_split(c, value_input, leat_shape_product(&whole->shape, 0, axis));
}

static leat_status_t split__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 1)->shape;
  int axis, count = c->kernel->output_count;
  LEAT_RETURN_IF_ERROR(leat_axis_read(c, 0, shape->rank, &axis));
  int64_t size = leat_shape_dim(shape, axis);
  if (size % count != 0) {
    return leat_kernel_invalid(c, "dimension %d of shape %s must be divisible by num_split, %d",
                               axis, LEAT_SHAPE_TEXT(shape), count);
  }
  return split(c, 1, axis, &(lengths_t){.equal = size / count});
}

// Checks the sizes of SplitV, which must add up to |whole|, and finds what -1 stands for.
static leat_status_t read_lengths(const leat_kernel_context_t* c, int64_t whole, lengths_t* l) {
  int rests = 0, count = c->kernel->output_count;
  int64_t total = 0;
  if (l->sizes->shape.rank != 1 || l->sizes->shape.element_count != count) {
    return leat_kernel_invalid(c, "size_splits has shape %s, must be a vector of num_split items",
                               LEAT_SHAPE_TEXT(&l->sizes->shape));
  }
  for (int i = 0; i < count; ++i) {
    int64_t size = leat_index_read(l->sizes, i);
    if (size < -1 || (size == -1 && ++rests > 1) ||
        (size >= 0 && !leat_checked_add(total, size, &total))) {
      return leat_kernel_invalid(c, "size_splits[%d] is %lld, must be non-negative, or -1 once", i,
                                 (long long)size);
    }
  }
  if (rests ? total > whole : total != whole) {
    return leat_kernel_invalid(c, "sizes add up to %lld, must %s the size of the axis, %lld",
                               (long long)total, rests ? "not exceed" : "be", (long long)whole);
  }
  l->rest = whole - total;
  return leat_ok_status();
}

static leat_status_t split_v__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  int axis;
  lengths_t lengths = {.sizes = leat_kernel_input(c, 1)};
  LEAT_RETURN_IF_ERROR(leat_axis_read(c, 2, shape->rank, &axis));
  LEAT_RETURN_IF_ERROR(read_lengths(c, leat_shape_dim(shape, axis), &lengths));
  return split(c, 0, axis, &lengths);
}

#define SPLIT_TYPES "T: " LEAT_TYPES_ALL ", " LEAT_TYPES_FLOAT8 ", quint8, int4, uint4"

const leat_kernel_row_t leat_split_kernels_cpu[] = {
    {.op = "Split",
     .device_type = "CPU",
     .constraints = SPLIT_TYPES,
     .access = LEAT_ACCESS_SPLIT,
     .compute = split__cpu},
    {.op = "SplitV",
     .device_type = "CPU",
     .constraints = SPLIT_TYPES "; Tlen: int8, int32, int64",
     .access = LEAT_ACCESS_SPLIT,
     .compute = split_v__cpu},
    LEAT_KERNEL_ROWS_END,
};
