// CPU kernels of the ops of debuggers. The copies share the input's memory, which nobody writes
// while it is shared. Two ops describe a value by numbers; one pass over its elements counts them
// by kind, and a second one over the finite elements sums the squares of the distances from their
// mean:
//
//   DebugNumericSummary    [1, count, NaN, low, negative, zero, positive, high, least, most, mean,
//                           variance, type, rank, dims...]
//   DebugNumericSummaryV2  by tensor_debug_mode, see describe()
//
// low and high are elements at or beyond the bounds, and the infinities; negative, zero and
// positive are those between. The elements are read as double, which rounds integers above 2^53:
// neither their sign nor, but for the last digits, the mean depends on that.
#include <math.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"

// The modes of DebugNumericSummaryV2, with TensorFlow's numbers and names.
typedef enum debug_mode_e {
  CURT_HEALTH = 2,
  CONCISE_HEALTH = 3,
  FULL_HEALTH = 4,
  SHAPE = 5,
  REDUCE_INF_NAN_THREE_SLOTS = 8,
} debug_mode_t;
enum { SHAPE_DIMS = 6, MOST_SLOTS = 11 };
#define ELEMENT_NS 3.0  // about what a pass takes for an element

typedef struct watch_s {
  float lower_bound, upper_bound;  // of DebugNumericSummary
  int64_t mode, tensor_id;         // of DebugNumericSummaryV2
  bool is_gated;                   // says nothing until a debugger opens the gate
} watch_t;

// ---- Copies -------------------------------------------------------------------------------------

static leat_status_t copy__cpu(leat_kernel_context_t* c) {
  leat_kernel_pass_input(c, 0, 0);
  return leat_ok_status();
}

static leat_status_t ref_copy__cpu(leat_kernel_context_t* c) {
  leat_kernel_pass_ref(c, 0, 0);
  return leat_ok_status();
}

static leat_status_t check_urls(leat_kernel_creation_t* c) {
  const leat_attr_value_t* urls;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "debug_urls", &urls));
  if (urls->count == 0) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Create failed for node '%.*s' (%.*s): debug_urls has %d items, must be "
                          "empty, because this library has no debugger's files and servers",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name),
                          (int)urls->count);
}

// tensor_name is a node's name, and perhaps the number of its output: "node:0".
static leat_status_t check_name(leat_kernel_creation_t* c) {
  leat_string_view_t name;
  int64_t slot;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "tensor_name", &name));
  size_t colon = leat_string_view_find(name, ':');
  bool valid = name.size > 0;
  if (valid && colon != SIZE_MAX) {
    valid = leat_string_view_to_int64(leat_string_view_from_index(name, colon + 1), &slot);
  }
  if (valid) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (%.*s): tensor_name is '%.*s', must be "
                          "the name of a node, perhaps with ':' and the number of an output",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name),
                          LEAT_SV_ARG(name));
}

static leat_status_t create_second(leat_kernel_creation_t* c, void* state) {
  (void)state;
  return check_urls(c);
}

static leat_status_t create_named(leat_kernel_creation_t* c, void* state) {
  watch_t* watch = state;
  LEAT_RETURN_IF_ERROR(check_name(c));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "gated_grpc", &watch->is_gated));
  return check_urls(c);
}

// Gives no elements, as a gated op does: a debugger's server opens gates, and there is none.
static leat_status_t give_nothing(leat_kernel_context_t* c) {
  leat_tensor_t* output;
  return leat_kernel_allocate_sized(c, 0, 1, (const int64_t[]){0}, &output);
}

static leat_status_t watched_copy__cpu(leat_kernel_context_t* c) {
  return ((const watch_t*)leat_kernel_state(c))->is_gated ? give_nothing(c) : copy__cpu(c);
}

// ---- Counts -------------------------------------------------------------------------------------

// How many elements are of each kind; the last four are of the finite ones.
typedef struct counts_s {
  int64_t nan, negative_inf, positive_inf, low, negative, zero, positive, high;
  double least, most, sum, square_sum;
} counts_t;

static double number_at(const leat_tensor_t* tensor, int64_t index) {
#define AS(type) (double)leat_tensor_data(tensor, const type)[index]
  switch (tensor->dtype) {
    case LEAT_DTYPE_FLOAT: return AS(float);
    case LEAT_DTYPE_DOUBLE: return AS(double);
    case LEAT_DTYPE_HALF:
      return (double)leat_half_to_float(leat_tensor_data(tensor, const uint16_t)[index]);
    case LEAT_DTYPE_BFLOAT16:
      return (double)leat_bfloat16_to_float(leat_tensor_data(tensor, const uint16_t)[index]);
    case LEAT_DTYPE_INT8: return AS(int8_t);
    case LEAT_DTYPE_INT16: return AS(int16_t);
    case LEAT_DTYPE_INT32: return AS(int32_t);
    case LEAT_DTYPE_INT64: return AS(int64_t);
    case LEAT_DTYPE_BOOL:
    case LEAT_DTYPE_UINT8: return AS(uint8_t);
    case LEAT_DTYPE_UINT16: return AS(uint16_t);
    case LEAT_DTYPE_UINT32: return AS(uint32_t);
    default: return AS(uint64_t);
  }
#undef AS
}

static void count_element(const watch_t* watch, double value, counts_t* counts) {
  if (isnan(value)) {
    ++counts->nan;
    return;
  }
  counts->negative_inf += value == -INFINITY;
  counts->positive_inf += value == INFINITY;
  if (isfinite(value)) {
    counts->least = LEAT_MIN(counts->least, value);
    counts->most = LEAT_MAX(counts->most, value);
    counts->sum += value;
  }
  if (value == -INFINITY || value <= (double)watch->lower_bound) ++counts->low;
  else if (value == INFINITY || value >= (double)watch->upper_bound) ++counts->high;
  else if (value < 0) ++counts->negative;
  else if (value == 0) ++counts->zero;
  else ++counts->positive;
}

// Counts the elements of input 0. Looks now and then whether the step is to end.
static leat_status_t count_elements(const leat_kernel_context_t* c, const watch_t* watch,
                                    counts_t* out_counts) {
  leat_step_pace_t pace = leat_step_pace_of(c);
  const leat_tensor_t* tensor = leat_kernel_input(c, 0);
  int64_t size = tensor->shape.element_count;
  *out_counts = (counts_t){.least = INFINITY, .most = -INFINITY};
  for (int64_t i = 0; i < size; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, ELEMENT_NS));
    count_element(watch, number_at(tensor, i), out_counts);
  }
  return leat_ok_status();
}

static int64_t finite_count(const counts_t* counts, int64_t size) {
  return size - counts->nan - counts->negative_inf - counts->positive_inf;
}

static leat_status_t sum_squares(const leat_kernel_context_t* c, double mean, counts_t* counts) {
  leat_step_pace_t pace = leat_step_pace_of(c);
  const leat_tensor_t* tensor = leat_kernel_input(c, 0);
  for (int64_t i = 0; i < tensor->shape.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, ELEMENT_NS));
    double value = number_at(tensor, i);
    if (isfinite(value)) counts->square_sum += (value - mean) * (value - mean);
  }
  return leat_ok_status();
}

static const watch_t kNoBounds = {.lower_bound = -INFINITY, .upper_bound = INFINITY};

static leat_status_t nan_count__cpu(leat_kernel_context_t* c) {
  counts_t counts;
  leat_tensor_t* output;
  if (((const watch_t*)leat_kernel_state(c))->is_gated) return give_nothing(c);
  LEAT_RETURN_IF_ERROR(count_elements(c, &kNoBounds, &counts));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 1, (const int64_t[]){1}, &output));
  *leat_tensor_data(output, int64_t) = counts.nan;
  return leat_ok_status();
}

// ---- DebugNumericSummary ------------------------------------------------------------------------

static leat_status_t create_summary(leat_kernel_creation_t* c, void* state) {
  watch_t* watch = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "lower_bound", &watch->lower_bound));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "upper_bound", &watch->upper_bound));
  return create_named(c, state);
}

static leat_status_t numeric_summary__cpu(leat_kernel_context_t* c) {
  const watch_t* watch = leat_kernel_state(c);
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  counts_t n;
  leat_tensor_t* output;
  if (watch->is_gated) return give_nothing(c);
  LEAT_RETURN_IF_ERROR(count_elements(c, watch, &n));
  int64_t finite = finite_count(&n, shape->element_count);
  double mean = finite ? n.sum / (double)finite : NAN;
  LEAT_RETURN_IF_ERROR(sum_squares(c, mean, &n));
  const double values[] = {
      1,                  (double)shape->element_count,
      (double)n.nan,      (double)n.low,
      (double)n.negative, (double)n.zero,
      (double)n.positive, (double)n.high,
      n.least,            n.most,
      mean,               finite ? n.square_sum / (double)finite : NAN,
      leat_kernel_input(c, 0)->dtype,
      shape->rank,
  };
  int64_t count = (int64_t)LEAT_ARRAY_SIZE(values);
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, 0, 1, (const int64_t[]){count + shape->rank}, &output));
  double* out = leat_tensor_data(output, double);
  memcpy(out, values, sizeof values);
  for (int i = 0; i < shape->rank; ++i) out[count + i] = (double)leat_shape_dim(shape, i);
  return leat_ok_status();
}

// ---- DebugNumericSummaryV2 ----------------------------------------------------------------------

static leat_status_t create_summary_v2(leat_kernel_creation_t* c, void* state) {
  watch_t* watch = state;
  *watch = kNoBounds;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "tensor_debug_mode", &watch->mode));
  return leat_kernel_attr_int(c, "tensor_id", &watch->tensor_id);
}

// Writes what the mode says of the elements into |out| [MOST_SLOTS] and returns how many numbers
// these are; -1 for a mode that there is not.
static int describe(const leat_kernel_context_t* c, const counts_t* n, double* out) {
  const watch_t* watch = leat_kernel_state(c);
  const leat_tensor_t* tensor = leat_kernel_input(c, 0);
  const leat_shape_t* shape = &tensor->shape;
  double id = (double)watch->tensor_id, size = (double)shape->element_count;
  double negative_inf = (double)n->negative_inf, positive_inf = (double)n->positive_inf;
  double nan = (double)n->nan;
#define GIVE(...)                                  \
  do {                                             \
    const double values[] = {__VA_ARGS__};         \
    memcpy(out, values, sizeof values);            \
    return (int)LEAT_ARRAY_SIZE(values);           \
  } while (0)
  switch ((int)watch->mode) {
    case CURT_HEALTH: GIVE(id, nan + negative_inf + positive_inf > 0);
    case CONCISE_HEALTH: GIVE(id, size, negative_inf, positive_inf, nan);
    case FULL_HEALTH:
      // There is no number for the device: -1.
      GIVE(id, -1, tensor->dtype, shape->rank, size, negative_inf, positive_inf, nan,
           (double)n->negative, (double)n->zero, (double)n->positive);
    case REDUCE_INF_NAN_THREE_SLOTS:
      GIVE(n->negative_inf ? -INFINITY : 0, n->positive_inf ? INFINITY : 0, n->nan ? NAN : 0);
    case SHAPE: break;
    default: return -1;
  }
#undef GIVE
  // The last six dimensions, or all and zeros behind them.
  int first = LEAT_MAX(shape->rank - SHAPE_DIMS, 0);
  const double head[] = {id, tensor->dtype, shape->rank, size};
  memcpy(out, head, sizeof head);
  for (int i = 0; i < SHAPE_DIMS; ++i) {
    out[4 + i] = first + i < shape->rank ? (double)leat_shape_dim(shape, first + i) : 0;
  }
  return 4 + SHAPE_DIMS;
}

// The largest integer n such that the output's type holds all from 0 to n must not be below the
// tensor's number, which would become another one.
static leat_status_t check_id(const leat_kernel_context_t* c) {
  const watch_t* watch = leat_kernel_state(c);
  int bits = c->kernel->output_types[0] == LEAT_DTYPE_FLOAT ? 24 : 53;
  if (watch->mode == REDUCE_INF_NAN_THREE_SLOTS || watch->tensor_id <= INT64_C(1) << bits) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "tensor_id is %lld, must be at most 2^%d",
                             (long long)watch->tensor_id, bits);
}

static leat_status_t numeric_summary_v2__cpu(leat_kernel_context_t* c) {
  const watch_t* watch = leat_kernel_state(c);
  counts_t counts = {0};
  double values[MOST_SLOTS];
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(check_id(c));
  if (watch->mode != SHAPE) LEAT_RETURN_IF_ERROR(count_elements(c, watch, &counts));
  int count = describe(c, &counts, values);
  if (count < 0) {
    return leat_kernel_error(c, LEAT_UNIMPLEMENTED, "Unimplemented tensor debug mode: %lld",
                             (long long)watch->mode);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 1, (const int64_t[]){count}, &output));
  for (int i = 0; i < count; ++i) {
    if (output->dtype == LEAT_DTYPE_FLOAT) leat_tensor_data(output, float)[i] = (float)values[i];
    else leat_tensor_data(output, double)[i] = values[i];
  }
  return leat_ok_status();
}

#define INTEGERS "int16, int32, int64, int8, uint16, uint32, uint64, uint8"
#define HALVES "bfloat16, half"

const leat_kernel_row_t leat_watch_kernels_cpu[] = {
    {.op = "Copy", .device_type = "CPU", .compute = copy__cpu},
    {.op = "CopyHost", .device_type = "CPU", .compute = copy__cpu},
    LEAT_CPU_KERNEL("DebugIdentity", NULL, watch_t, create_named, watched_copy__cpu),
    {.op = "DebugIdentityV2", .device_type = "CPU", .create = create_second, .compute = copy__cpu},
    LEAT_CPU_KERNEL("DebugIdentityV3", NULL, watch_t, create_named, watched_copy__cpu),
    {.op = "DebugGradientRefIdentity", .device_type = "CPU", .compute = ref_copy__cpu},
    LEAT_CPU_KERNEL("DebugNanCount", "T: float, double, " HALVES ", " INTEGERS, watch_t,
                    create_named, nan_count__cpu),
    LEAT_CPU_KERNEL("DebugNumericSummary", "T: bool, float, double, " INTEGERS, watch_t,
                    create_summary, numeric_summary__cpu),
    LEAT_CPU_KERNEL("DebugNumericSummaryV2", "T: bool, float, double, " HALVES ", " INTEGERS,
                    watch_t, create_summary_v2, numeric_summary_v2__cpu),
    LEAT_KERNEL_ROWS_END,
};
