// The CPU kernels of Pad and PadV2. A row reaches from the last dimension that is padded to the end
// of the shape. It consists of the padding before, the data and the padding after, and each is
// written once:
//
//   x [2, 3], paddings [[1, 0], [2, 1]]     . . . . . .      a row outside the input is padding
//                                           . . a b c .      throughout
//                                           . . d e f .
//
// The dimensions before the row are walked, and shards are ranges of rows. The obvious way, to fill
// the whole output and copy the input over it, would write the part that the input covers twice.
// Without any padding the output shares the input's bytes. Objects such as strings are padded by
// strided copies on one thread, because copying them may fail. The other padding ops read their
// paddings by the functions that stand first.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/paddings_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/strided_isa.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

// ---- Paddings, for the kernels of all padding ops (paddings_cpu.h) ------------------------------

leat_status_t leat_paddings_read(const leat_kernel_context_t* c, int input, int rank,
                                 leat_paddings_t* out_paddings) {
  const leat_tensor_t* paddings = leat_kernel_input(c, input);
  const leat_shape_t* shape = &paddings->shape;
  if (shape->rank != 2 || leat_shape_dim(shape, 1) != 2 || leat_shape_dim(shape, 0) != rank) {
    return leat_kernel_invalid(c, "paddings has shape %s, must be [%d,2]", LEAT_SHAPE_TEXT(shape),
                               rank);
  }
  out_paddings->rank = rank;
  out_paddings->is_none = true;
  for (int d = 0; d < rank; ++d) {
    int64_t before = out_paddings->before[d] = leat_tensor_index_at(paddings, 2 * d);
    int64_t after = out_paddings->after[d] = leat_tensor_index_at(paddings, 2 * d + 1);
    if (before < 0 || after < 0) {
      return leat_kernel_invalid(c, "paddings[%d] is [%lld, %lld], must be non-negative", d,
                                 (long long)before, (long long)after);
    }
    if (before > 0 || after > 0) out_paddings->is_none = false;
  }
  return leat_ok_status();
}

leat_status_t leat_paddings_shape(const leat_kernel_context_t* c, const leat_paddings_t* paddings,
                                  const leat_shape_t* shape, leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < paddings->rank; ++d) {
    if (!leat_checked_add(leat_shape_dim(shape, d), paddings->before[d], &dims[d]) ||
        !leat_checked_add(dims[d], paddings->after[d], &dims[d])) {
      return leat_kernel_invalid(c, "dimension %d is too large when padded, must be below 2^63", d);
    }
  }
  return leat_shape_create(paddings->rank, dims, out_shape);
}

// ---- Pad and PadV2 ------------------------------------------------------------------------------

typedef struct pad_s {
  const leat_tensor_t* input;
  leat_tensor_t* output;
  const leat_paddings_t* paddings;
  const void* value;   // one element of padding; NULL: zero bytes
  int row_axis;        // the last dimension that is padded
  int64_t width;       // bytes of an element
  int64_t before, data, after;  // elements of a row: padding, input, padding
} pad_t;

// Writes |count| elements of padding.
static void fill(const pad_t* p, char* to, int64_t count) {
  if (count == 0) return;
  if (!p->value) {
    memset(to, 0, (size_t)(count * p->width));
    return;
  }
  leat_strided_plane_t plane = {.count = 1, .inner = count, .to_inner = 1, .from_inner = 0};
  LEAT_ISA_SELECT_AVX2(leat_strided_loops)
      ->elements[__builtin_ctzll((uint64_t)p->width)](&plane, p->value, to);
}

// Returns the row of the input that lies in row |index| of the output, or -1 for padding.
static int64_t source_row(const pad_t* p, int64_t index) {
  int64_t row = 0, stride = 1;
  for (int d = p->row_axis - 1; d >= 0; --d) {
    int64_t size = leat_shape_dim(&p->output->shape, d);
    int64_t inner = leat_shape_dim(&p->input->shape, d);
    int64_t at = index % size - p->paddings->before[d];
    if (at < 0 || at >= inner) return -1;
    row += at * stride;
    stride *= inner;
    index /= size;
  }
  return row;
}

// Writes rows [begin, end) of the output.
static void pad_rows(void* data, int64_t begin, int64_t end) {
  const pad_t* p = data;
  int64_t length = p->before + p->data + p->after;
  char* to = (char*)p->output->data + begin * length * p->width;
  for (int64_t i = begin; i < end; ++i, to += length * p->width) {
    int64_t row = p->data > 0 ? source_row(p, i) : -1;
    if (row < 0) {
      fill(p, to, length);
      continue;
    }
    char* middle = to + p->before * p->width;
    fill(p, to, p->before);
    memcpy(middle, (char*)p->input->data + row * p->data * p->width,
           (size_t)(p->data * p->width));
    fill(p, middle + p->data * p->width, p->after);
  }
}

// Pads objects, by two strided copies. Pad gives no value: the output is allocated with empty
// objects, which are the padding then.
static leat_status_t pad_objects(const leat_kernel_context_t* c, const pad_t* p) {
  int dtype = p->input->dtype;
  leat_strided_t block;
  if (p->value) {
    leat_strided_begin(&block, dtype);
    leat_strided_add(&block, p->output->shape.element_count, 1, 0);
    LEAT_RETURN_IF_ERROR(leat_strided_copy(c, &block, p->value, p->output->data));
  }
  if (p->input->shape.element_count == 0) return leat_ok_status();
  int64_t from[LEAT_SHAPE_MAX_RANK], to[LEAT_SHAPE_MAX_RANK], first = 0;
  leat_shape_strides(&p->input->shape, from);
  leat_shape_strides(&p->output->shape, to);
  leat_strided_begin(&block, dtype);
  for (int d = 0; d < p->paddings->rank; ++d) {
    first += p->paddings->before[d] * to[d];
    leat_strided_add(&block, leat_shape_dim(&p->input->shape, d), to[d], from[d]);
  }
  return leat_strided_copy(c, &block, p->input->data,
                           leat_element_at(p->output->data, dtype, first));
}

static bool is_zero(const void* value, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    if (((const char*)value)[i]) return false;
  }
  return true;
}

// Writes output 0, which is allocated. Some dimension is padded: the search for the last one relies
// on it.
static leat_status_t fill_output(leat_kernel_context_t* c, const leat_paddings_t* paddings,
                                 const void* value) {
  pad_t p = {.input = leat_kernel_input(c, 0),
             .output = leat_kernel_output(c, 0),
             .paddings = paddings,
             .value = value};
  p.width = (int64_t)leat_dtype_size(p.input->dtype);
  const leat_shape_t* shape = &p.output->shape;
  if (shape->element_count == 0) return leat_ok_status();
  if (leat_dtype_is_object(p.input->dtype)) return pad_objects(c, &p);
  if (value && is_zero(value, p.width)) p.value = NULL;
  p.row_axis = paddings->rank - 1;
  while (paddings->before[p.row_axis] == 0 && paddings->after[p.row_axis] == 0) --p.row_axis;
  int64_t inner = leat_shape_product(shape, p.row_axis + 1, shape->rank);
  p.before = paddings->before[p.row_axis] * inner;
  p.after = paddings->after[p.row_axis] * inner;
  p.data = leat_shape_dim(&p.input->shape, p.row_axis) * inner;
  double cost = 3 + 0.06 * (double)((p.before + p.data + p.after) * p.width);
  leat_kernel_parallel_for(c, leat_shape_product(shape, 0, p.row_axis), cost, pad_rows, &p);
  return leat_ok_status();
}

// Pads input 0 with |value|, or with zero if it is NULL. Without padding the input is the output.
static leat_status_t pad(leat_kernel_context_t* c, const void* value) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_paddings_t paddings;
  LEAT_RETURN_IF_ERROR(leat_paddings_read(c, 1, input->shape.rank, &paddings));
  if (paddings.is_none) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  leat_shape_t shape;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_paddings_shape(c, &paddings, &input->shape, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  leat_shape_release(&shape);
  return status ? status : fill_output(c, &paddings, value);
}

static leat_status_t pad__cpu(leat_kernel_context_t* c) { return pad(c, NULL); }

static leat_status_t pad_v2__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* value = leat_kernel_input(c, 2);
  if (value->shape.rank != 0) {
    return leat_kernel_invalid(c, "constant_values has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(&value->shape));
  }
  return pad(c, value->data);
}

#define PAD_TYPES "T: " LEAT_TYPES_STRINGS ", qint8, qint32, quint8; Tpaddings: " LEAT_TYPES_INDEX

const leat_kernel_row_t leat_pad_kernels_cpu[] = {
    {.op = "Pad", .device_type = "CPU", .constraints = PAD_TYPES, .compute = pad__cpu},
    {.op = "PadV2", .device_type = "CPU", .constraints = PAD_TYPES, .compute = pad_v2__cpu},
    LEAT_KERNEL_ROWS_END,
};
