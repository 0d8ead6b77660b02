// The CPU kernels of MirrorPad and MirrorPadGrad. MirrorPad puts the input into the middle of the
// output; then, from the innermost dimension to the outermost, the two slabs beside the middle are
// copied in reverse from what is already there:
//
//   paddings 2, 2            a b c d          the middle
//   REFLECT              c b a b c d c b      the border itself is not repeated (offset 1)
//   SYMMETRIC            b a a b c d d c      the border is repeated (offset 0)
//
// A slab of an outer dimension covers the inner dimensions with their padding, so that corners need
// no case of their own. MirrorPadGrad goes the other way: from the outermost dimension to the
// innermost, slabs are added to what they mirror, in a temporary copy of the input; its middle is
// then the output. The additions run on the calling thread, in a fixed order, so that a sum of
// floats has the same bits each time.
#include "base/checked.h"
#include "device/cpu/combine.h"
#include "ops/array/index_cpu.h"
#include "ops/array/mirror_pad_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

typedef struct mirror_state_s {
  bool reflects;
} mirror_state_t;

// One kernel run. Sizes are those of the tensor without padding, strides those of the padded one.
typedef struct mirror_s {
  leat_kernel_context_t* c;
  const leat_paddings_t* paddings;
  int64_t offset;  // 1: the border is not repeated
  int64_t sizes[LEAT_SHAPE_MAX_RANK];
  int64_t strides[LEAT_SHAPE_MAX_RANK];
} mirror_t;

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  mirror_state_t* state = memory;
  leat_string_view_t mode;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(creation, "mode", &mode));
  state->reflects = leat_string_view_equals(mode, "REFLECT");
  return leat_ok_status();
}

static void begin(mirror_t* m, leat_kernel_context_t* c, const leat_paddings_t* paddings,
                  const leat_shape_t* shape, bool reflects) {
  m->c = c;
  m->paddings = paddings;
  m->offset = reflects;
  for (int d = 0; d < paddings->rank; ++d) m->sizes[d] = leat_shape_dim(shape, d);
}

// Checks that each side has enough elements to mirror.
static leat_status_t check_mirror(const mirror_t* m) {
  for (int d = 0; d < m->paddings->rank; ++d) {
    int64_t most = m->sizes[d] - m->offset;
    if (m->paddings->before[d] > most || m->paddings->after[d] > most) {
      return leat_kernel_invalid(m->c, "paddings[%d] is [%lld, %lld], must be at most %lld", d,
                                 (long long)m->paddings->before[d],
                                 (long long)m->paddings->after[d], (long long)most);
    }
  }
  return leat_ok_status();
}

// Returns the offset in the padded tensor of the element whose index is the first of the middle in
// the dimensions before |axis|, and 0 in the others.
static int64_t middle_of(const mirror_t* m, int axis) {
  int64_t first = 0;
  for (int d = 0; d < axis; ++d) first += m->paddings->before[d] * m->strides[d];
  return first;
}

// Copies |count| slices of |axis|, for every index of the middle in the dimensions before it: slice
// |from| to |to|, |from| - 1 to |to| + 1, and so on.
static leat_status_t copy_slab(const mirror_t* m, leat_tensor_t* tensor, int axis, int64_t count,
                               int64_t to, int64_t from) {
  if (count == 0) return leat_ok_status();
  leat_strided_t block;
  leat_strided_begin(&block, tensor->dtype);
  for (int d = 0; d < axis; ++d) {
    leat_strided_add(&block, m->sizes[d], m->strides[d], m->strides[d]);
  }
  leat_strided_add(&block, count, m->strides[axis], -m->strides[axis]);
  leat_strided_add(&block, m->strides[axis], 1, 1);
  int64_t first = middle_of(m, axis);
  return leat_strided_copy(
      m->c, &block,
      leat_element_at(tensor->data, tensor->dtype, first + from * m->strides[axis]),
      leat_element_at(tensor->data, tensor->dtype, first + to * m->strides[axis]));
}

// Copies all of |small| to the middle of |large|, or if not |inward| the other way.
static leat_status_t copy_middle(const mirror_t* m, const leat_tensor_t* small,
                                 const leat_tensor_t* large, bool inward) {
  int64_t strides[LEAT_SHAPE_MAX_RANK];
  leat_shape_strides(&small->shape, strides);
  leat_strided_t block;
  leat_strided_begin(&block, small->dtype);
  for (int d = 0; d < m->paddings->rank; ++d) {
    leat_strided_add(&block, m->sizes[d], inward ? m->strides[d] : strides[d],
                     inward ? strides[d] : m->strides[d]);
  }
  void* middle = leat_element_at(large->data, large->dtype, middle_of(m, m->paddings->rank));
  return leat_strided_copy(m->c, &block, inward ? small->data : middle,
                           inward ? middle : small->data);
}

leat_status_t leat_mirror_pad_check(leat_kernel_context_t* c, const leat_paddings_t* paddings,
                                    const leat_shape_t* shape, bool reflects) {
  mirror_t m;
  begin(&m, c, paddings, shape, reflects);
  return check_mirror(&m);
}

leat_status_t leat_mirror_pad_fill(leat_kernel_context_t* c, const leat_paddings_t* paddings,
                                   bool reflects, const leat_tensor_t* input,
                                   leat_tensor_t* output) {
  if (output->shape.element_count == 0) return leat_ok_status();
  mirror_t m;
  begin(&m, c, paddings, &input->shape, reflects);
  leat_shape_strides(&output->shape, m.strides);
  LEAT_RETURN_IF_ERROR(copy_middle(&m, input, output, true));
  for (int d = m.paddings->rank - 1; d >= 0; --d) {
    int64_t before = m.paddings->before[d], end = before + m.sizes[d];
    LEAT_RETURN_IF_ERROR(
        copy_slab(&m, output, d, before, 0, 2 * before - 1 + m.offset));
    LEAT_RETURN_IF_ERROR(
        copy_slab(&m, output, d, m.paddings->after[d], end, end - 1 - m.offset));
  }
  return leat_ok_status();
}

static leat_status_t mirror_pad__cpu(leat_kernel_context_t* c) {
  const mirror_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_paddings_t paddings;
  LEAT_RETURN_IF_ERROR(leat_paddings_read(c, 1, input->shape.rank, &paddings));
  LEAT_RETURN_IF_ERROR(leat_mirror_pad_check(c, &paddings, &input->shape, state->reflects));
  if (paddings.is_none) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  leat_shape_t shape;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_paddings_shape(c, &paddings, &input->shape, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  leat_shape_release(&shape);
  return status ? status : leat_mirror_pad_fill(c, &paddings, state->reflects, input, output);
}

// ---- The gradient -------------------------------------------------------------------------------

// Adds |count| slices of |axis|, for every index of the middle in the dimensions before it: slice
// |from| to slice |to|, |from| + 1 to |to| - 1, and so on.
static void add_slab(const mirror_t* m, leat_tensor_t* tensor, leat_combine_fn_t add, int axis,
                     int64_t count, int64_t from, int64_t to) {
  int64_t index[LEAT_SHAPE_MAX_RANK] = {0}, at = middle_of(m, axis), run = m->strides[axis];
  while (count > 0) {
    for (int64_t k = 0; k < count; ++k) {
      add(leat_element_at(tensor->data, tensor->dtype, at + (to - k) * run),
          leat_element_at(tensor->data, tensor->dtype, at + (from + k) * run), run);
    }
    int d = axis - 1;
    for (; d >= 0; --d) {
      at += m->strides[d];
      if (++index[d] < m->sizes[d]) break;
      at -= m->sizes[d] * m->strides[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

// Adds all slabs of |sum| to what they mirror; its middle becomes the output.
static leat_status_t fold_back(const mirror_t* m, leat_tensor_t* sum, leat_tensor_t* output) {
  leat_combine_fn_t add = leat_combine_find(LEAT_COMBINE_ADD, sum->dtype);
  for (int d = 0; d < m->paddings->rank; ++d) {
    int64_t before = m->paddings->before[d], end = before + m->sizes[d];
    add_slab(m, sum, add, d, before, 0, 2 * before - 1 + m->offset);
    add_slab(m, sum, add, d, m->paddings->after[d], end, end - 1 - m->offset);
  }
  return copy_middle(m, output, sum, false);
}

// Finds the sizes without the paddings, which must not be larger than what is there.
static leat_status_t take_sizes(mirror_t* m, const leat_shape_t* padded) {
  for (int d = 0; d < m->paddings->rank; ++d) {
    m->sizes[d] = leat_shape_dim(padded, d) - m->paddings->before[d] - m->paddings->after[d];
    // leat_paddings_read has refused negative paddings, but their sum may be too large.
    if (m->paddings->before[d] > leat_shape_dim(padded, d) ||
        m->paddings->after[d] > leat_shape_dim(padded, d) - m->paddings->before[d]) {
      return leat_kernel_invalid(m->c, "paddings[%d] must be less than dimension %d of shape %s", d,
                                 d, LEAT_SHAPE_TEXT(padded));
    }
  }
  return check_mirror(m);
}

static leat_status_t mirror_pad_grad__cpu(leat_kernel_context_t* c) {
  const mirror_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_paddings_t paddings;
  LEAT_RETURN_IF_ERROR(leat_paddings_read(c, 1, input->shape.rank, &paddings));
  mirror_t m = {.c = c, .paddings = &paddings, .offset = state->reflects};
  LEAT_RETURN_IF_ERROR(take_sizes(&m, &input->shape));
  leat_shape_strides(&input->shape, m.strides);
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_allocate_sized(c, 0, m.paddings->rank, m.sizes, &output);
  if (status || output->shape.element_count == 0) return status;
  leat_tensor_t sum;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, input->dtype, &input->shape, &sum));
  status = leat_tensor_copy_elements(input->dtype, input->data, sum.data,
                                     input->shape.element_count);
  if (!status) status = fold_back(&m, &sum, output);
  leat_tensor_release(&sum);
  return status;
}

#define MIRROR_TYPES "T: " LEAT_TYPES_STRINGS ", qint8, qint32, quint8"

const leat_kernel_row_t leat_mirror_pad_kernels_cpu[] = {
    {.op = "MirrorPad",
     .device_type = "CPU",
     .constraints = MIRROR_TYPES,
     .create = create,
     .state_bytes = sizeof(mirror_state_t),
     .compute = mirror_pad__cpu},
    {.op = "MirrorPadGrad",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_NUMBER,
     .create = create,
     .state_bytes = sizeof(mirror_state_t),
     .compute = mirror_pad_grad__cpu},
    LEAT_KERNEL_ROWS_END,
};
