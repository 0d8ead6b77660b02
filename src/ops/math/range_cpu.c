// The CPU kernels of Range and LinSpace. Both fill a vector with first + i * step.
//
//   Range:     step = delta,  items [0, size) of leat_range_size_*
//   LinSpace:  step = (stop - start) / max(num - 1, 1), and the last item is exactly |stop|
//
// An item is computed from its index, not from the item before it: that needs no order, so that the
// vector is cut into shards, and rounding errors do not add up. Integers are computed as unsigned,
// because i * step may overflow where the item itself does not. half and bfloat16 are computed as
// float and rounded.
#include "base/checked.h"
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"
#include "ops/math/range_size.h"

// Allocates |size| items, or annotates the failure of computing the size with the node's name.
static leat_status_t allocate_range(leat_kernel_context_t* c, leat_status_t size_status,
                                    int64_t size, leat_tensor_t** out_output) {
  if (size_status) {
    return leat_status_annotate(size_status, "Compute failed for node '%.*s' (Range)",
                                LEAT_SV_ARG(c->kernel->node_name));
  }
  leat_shape_t shape = leat_shape_vector(size);
  return leat_kernel_allocate_output(c, 0, &shape, out_output);
}

// A vector whose item i is first + i * step, computed in the type's own arithmetic.
typedef struct line_s {
  void* elements;
  const void* first;
  const void* step;
} line_t;

#define ELEMENT_NS 0.5
// How long a range of floats or doubles is, with leat_range_size_integer's parameters.
#define FLOAT_SIZE(start, limit, delta, out_size) \
  leat_range_size_real(start, limit, delta, false, out_size)
#define DOUBLE_SIZE(start, limit, delta, out_size) \
  leat_range_size_real(start, limit, delta, true, out_size)

#define TYPE int32_t
#define WIDE uint32_t
#define SUFFIX(name) name##_i32__cpu
#define RANGE_SIZE leat_range_size_integer
#include "ops/math/range_kernels.inc"

#define TYPE int64_t
#define WIDE uint64_t
#define SUFFIX(name) name##_i64__cpu
#define RANGE_SIZE leat_range_size_integer
#include "ops/math/range_kernels.inc"

#define TYPE float
#define WIDE float
#define SUFFIX(name) name##_f32__cpu
#define RANGE_SIZE FLOAT_SIZE
#define HAS_LIN_SPACE
#include "ops/math/range_kernels.inc"

#define TYPE double
#define WIDE double
#define SUFFIX(name) name##_f64__cpu
#define RANGE_SIZE DOUBLE_SIZE
#define HAS_LIN_SPACE
#include "ops/math/range_kernels.inc"

#define TYPE uint16_t
#define WIDE float
#define SUFFIX(name) name##_half__cpu
#define LOAD leat_half_to_float
#define SAVE leat_half_from_float
#define RANGE_SIZE FLOAT_SIZE
#include "ops/math/range_kernels.inc"

#define TYPE uint16_t
#define WIDE float
#define SUFFIX(name) name##_bfloat16__cpu
#define LOAD leat_bfloat16_to_float
#define SAVE leat_bfloat16_from_float
#define RANGE_SIZE FLOAT_SIZE
#include "ops/math/range_kernels.inc"

#define ROW(name, types, compute_fn) \
  {.op = name, .device_type = "CPU", .constraints = types, .compute = compute_fn}

const leat_kernel_row_t leat_range_kernels_cpu[] = {
    ROW("Range", "Tidx: int32", range_i32__cpu),
    ROW("Range", "Tidx: int64", range_i64__cpu),
    ROW("Range", "Tidx: float", range_f32__cpu),
    ROW("Range", "Tidx: double", range_f64__cpu),
    ROW("Range", "Tidx: half", range_half__cpu),
    ROW("Range", "Tidx: bfloat16", range_bfloat16__cpu),
    ROW("LinSpace", "T: float", lin_space_f32__cpu),
    ROW("LinSpace", "T: double", lin_space_f64__cpu),
    LEAT_KERNEL_ROWS_END,
};
