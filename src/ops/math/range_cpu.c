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
#define ARGUMENT(index, type) *leat_tensor_data(leat_kernel_input(c, index), const type)
#define LINE(name, type, wide, save)                                                            \
  static void name(void* data, int64_t begin, int64_t end) {                                    \
    const line_t* line = data;                                                                  \
    type* y = line->elements;                                                                   \
    const wide first = *(const wide*)line->first, step = *(const wide*)line->step;              \
    for (int64_t i = begin; i < end; ++i) y[i] = save(first + (wide)i * step);                  \
  }
#define AS_IS(x) (x)
#define INTEGER_RANGE(name, type, wide)                                                         \
  LINE(fill_##name, type, wide, (type))                                                         \
  static leat_status_t range_##name##__cpu(leat_kernel_context_t* c) {                          \
    const type start = ARGUMENT(0, type), delta = ARGUMENT(2, type);                            \
    const wide first = (wide)start, step = (wide)delta;                                         \
    int64_t size = 0;                                                                           \
    leat_tensor_t* output;                                                                      \
    leat_status_t status = leat_range_size_integer(start, ARGUMENT(1, type), delta, &size);     \
    LEAT_RETURN_IF_ERROR(allocate_range(c, status, size, &output));                             \
    line_t line = {output->data, &first, &step};                                                \
    leat_kernel_parallel_for(c, size, ELEMENT_NS, fill_##name, &line);                          \
    return leat_ok_status();                                                                    \
  }
INTEGER_RANGE(i32, int32_t, uint32_t)
INTEGER_RANGE(i64, int64_t, uint64_t)

#define REAL_RANGE(name, type, value_type, load, save)                                          \
  LINE(fill_##name, type, value_type, save)                                                     \
  static leat_status_t range_##name##__cpu(leat_kernel_context_t* c) {                          \
    const value_type start = load(ARGUMENT(0, type)), delta = load(ARGUMENT(2, type));          \
    const value_type limit = load(ARGUMENT(1, type));                                           \
    int64_t size = 0;                                                                           \
    leat_tensor_t* output;                                                                      \
    leat_status_t status =                                                                      \
        leat_range_size_real(start, limit, delta, sizeof(value_type) == 8, &size);              \
    LEAT_RETURN_IF_ERROR(allocate_range(c, status, size, &output));                             \
    line_t line = {output->data, &start, &delta};                                               \
    leat_kernel_parallel_for(c, size, ELEMENT_NS, fill_##name, &line);                          \
    return leat_ok_status();                                                                    \
  }
REAL_RANGE(f32, float, float, AS_IS, AS_IS)
REAL_RANGE(f64, double, double, AS_IS, AS_IS)
REAL_RANGE(half, uint16_t, float, leat_half_to_float, leat_half_from_float)
REAL_RANGE(bfloat16, uint16_t, float, leat_bfloat16_to_float, leat_bfloat16_from_float)

#define LIN_SPACE(name, type)                                                       \
  static leat_status_t lin_space_##name##__cpu(leat_kernel_context_t* c) {          \
    const type start = ARGUMENT(0, type), stop = ARGUMENT(1, type);                 \
    const int64_t count = leat_tensor_index_at(leat_kernel_input(c, 2), 0);         \
    if (count <= 0) {                                                               \
      return leat_kernel_invalid(c, "num is %lld, must be > 0", (long long)count);  \
    }                                                                               \
    leat_shape_t shape = leat_shape_vector(count);                                  \
    leat_tensor_t* output;                                                          \
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));       \
    type* y = output->data;                                                         \
    const type step = (stop - start) / (type)LEAT_MAX(count - 1, 1);                \
    line_t line = {y, &start, &step};                                               \
    leat_kernel_parallel_for(c, count, ELEMENT_NS, fill_##name, &line);             \
    y[0] = start;                                                                   \
    if (count > 1) y[count - 1] = stop;                                             \
    return leat_ok_status();                                                        \
  }
LIN_SPACE(f32, float)
LIN_SPACE(f64, double)

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
