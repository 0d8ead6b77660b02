// CPU kernels of TopK, NthElement and InTopK, which look for large elements along the last
// dimension.
//
//   TopK        input [..., n], k -> values [..., k], indices [..., k]
//   NthElement  input [..., n], n -> values [...]
//   InTopK      predictions [batch, classes] float, targets [batch] -> precision [batch] bool
//
// TopK keeps the k largest elements of a row in a binary heap of their positions. The root of the
// heap is the smallest of the k, so that one comparison decides whether a further element comes in
// at all. Of two equal elements the one that stands earlier in the row counts as larger: this makes
// the result unique, as TensorFlow's is. With sorted=true the heap is then taken apart into
// descending order.
//
// With sorted=false TensorFlow returns its heap in the order in which the heap lies in memory. The
// order is not documented, but trained models came to depend on it, so top_unsorted makes exactly
// the same moves in its heap as TensorFlow's class does.
//
// Half and bfloat16 are compared as float (widen_cpu.h); the values that TopK returns are copied
// from the input itself. Rows are independent and are shared among the threads of the step's pool.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/nn/widen_cpu.h"

// ---- Loops --------------------------------------------------------------------------------------

typedef struct row_functions_s {
  bool (*is_greater)(const void* x, int32_t a, int32_t b);
  // Writes the positions of the k largest of the n elements of |x| to |places|, the largest first.
  void (*top)(const void* x, int64_t n, int32_t* places, int64_t k);
  // Reorders |x| and writes to |out| the element that would stand at |place| if |x| were sorted.
  void (*select)(void* x, int64_t n, int64_t place, void* out);
} row_functions_t;

// Says at every 8192nd item |i| of a row whether the step has been cancelled or is past its
// deadline. A loop that stops early leaves |places| partly unset, so its caller must not use them
// as positions.
static bool is_over(int64_t i) { return i % 8192 == 0 && leat_step_loop_is_over(); }

#define TYPE float
#define SUFFIX(name) name##_f32
#include "ops/nn/top_k_loops.inc"
#define TYPE double
#define SUFFIX(name) name##_f64
#include "ops/nn/top_k_loops.inc"
#define TYPE int8_t
#define SUFFIX(name) name##_i8
#include "ops/nn/top_k_loops.inc"
#define TYPE int16_t
#define SUFFIX(name) name##_i16
#include "ops/nn/top_k_loops.inc"
#define TYPE int32_t
#define SUFFIX(name) name##_i32
#include "ops/nn/top_k_loops.inc"
#define TYPE int64_t
#define SUFFIX(name) name##_i64
#include "ops/nn/top_k_loops.inc"
#define TYPE uint8_t
#define SUFFIX(name) name##_u8
#include "ops/nn/top_k_loops.inc"
#define TYPE uint16_t
#define SUFFIX(name) name##_u16
#include "ops/nn/top_k_loops.inc"
#define TYPE uint32_t
#define SUFFIX(name) name##_u32
#include "ops/nn/top_k_loops.inc"
#define TYPE uint64_t
#define SUFFIX(name) name##_u64
#include "ops/nn/top_k_loops.inc"

static const row_functions_t* functions_of(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_DOUBLE: return &functions_f64;
    case LEAT_DTYPE_INT8: return &functions_i8;
    case LEAT_DTYPE_INT16: return &functions_i16;
    case LEAT_DTYPE_INT32: return &functions_i32;
    case LEAT_DTYPE_INT64: return &functions_i64;
    case LEAT_DTYPE_UINT8: return &functions_u8;
    case LEAT_DTYPE_UINT16: return &functions_u16;
    case LEAT_DTYPE_UINT32: return &functions_u32;
    case LEAT_DTYPE_UINT64: return &functions_u64;
    default: return &functions_f32;
  }
}

// ---- TopK ---------------------------------------------------------------------------------------

typedef struct top_s {
  const row_functions_t* functions;
  const leat_tensor_t* wide;   // the input, as float where it is half or bfloat16
  const leat_tensor_t* input;
  leat_tensor_t* values;
  leat_tensor_t* indices;
  int32_t* places;             // [rows, k + 1]; top_unsorted needs the additional one
  int64_t columns, k;
  bool is_sorted;
} top_t;

static void store_indices(const int32_t* places, leat_tensor_t* indices, int64_t begin,
                          int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    switch (indices->dtype) {
      case LEAT_DTYPE_INT64: leat_tensor_data(indices, int64_t)[begin + i] = places[i]; break;
      case LEAT_DTYPE_INT16:
        leat_tensor_data(indices, int16_t)[begin + i] = (int16_t)places[i];
        break;
      default: leat_tensor_data(indices, int32_t)[begin + i] = places[i];
    }
  }
}

typedef struct heap_s {
  bool (*is_greater)(const void* x, int32_t a, int32_t b);
  const void* x;
  int32_t* items;  // the least first
} heap_t;

// Moves |item| up from |hole| towards |top| until its parent is not greater than it.
static void heap_raise(const heap_t* h, int64_t hole, int64_t top, int32_t item) {
  for (; hole > top && h->is_greater(h->x, h->items[(hole - 1) / 2], item); hole = (hole - 1) / 2) {
    h->items[hole] = h->items[(hole - 1) / 2];
  }
  h->items[hole] = item;
}

// Puts |item| into the heap of |count| items whose root or inner node |hole| is free. The hole
// first sinks to a leaf along the smaller children, without any comparison with |item|, and |item|
// then rises from there. This is how the C++ library's heap functions do it, and the order in which
// equal or unequal items end up depends on it.
static void heap_fill(const heap_t* h, int64_t hole, int64_t count, int32_t item) {
  const int64_t top = hole;
  for (int64_t child; (child = 2 * hole + 1) < count; hole = child) {
    if (child + 1 < count && !h->is_greater(h->x, h->items[child + 1], h->items[child])) ++child;
    h->items[hole] = h->items[child];
  }
  heap_raise(h, hole, top, item);
}

// Removes the root of a heap of |count| items; the last item takes its place.
static void heap_pop(const heap_t* h, int64_t count) {
  heap_fill(h, 0, count - 1, h->items[count - 1]);
}

// Leaves the positions of the k largest of n elements in h->items[0..k), in the order of
// TensorFlow's heap. The heap holds k + 1 items for a moment, so h->items has k + 1; 1 < k < n must
// hold, because for other k TensorFlow takes another way, which is the sorted one.
static void top_unsorted(const heap_t* h, int64_t n, int64_t k) {
  for (int64_t i = 0; i <= k; ++i) h->items[i] = (int32_t)i;
  for (int64_t parent = (k - 1) / 2; parent >= 0; --parent) {
    heap_fill(h, parent, k + 1, h->items[parent]);
  }
  heap_pop(h, k + 1);
  for (int64_t i = k + 1; i < n; ++i) {
    if (is_over(i)) return;
    if (!h->is_greater(h->x, (int32_t)i, h->items[0])) continue;
    heap_pop(h, k);
    heap_raise(h, k - 1, 0, (int32_t)i);
  }
}

// Computes rows [begin, end) of the outputs.
static void run_top(void* data, int64_t begin, int64_t end) {
  const top_t* top = data;
  const size_t item = leat_dtype_size(top->input->dtype);
  const size_t wide_item = leat_dtype_size(top->wide->dtype);
  for (int64_t r = begin; r < end; ++r) {
    int32_t* places = top->places + r * (top->k + 1);
    const char* row = (const char*)top->input->data + (size_t)(r * top->columns) * item;
    const char* wide = (const char*)top->wide->data + (size_t)(r * top->columns) * wide_item;
    if (top->is_sorted || top->k == top->columns || top->k < 2) {
      top->functions->top(wide, top->columns, places, top->k);
    } else {
      top_unsorted(&(heap_t){top->functions->is_greater, wide, places}, top->columns, top->k);
    }
    if (leat_step_loop_is_over()) return;  // some of |places| may not be set
    char* values = (char*)top->values->data + (size_t)(r * top->k) * item;
    for (int64_t i = 0; i < top->k; ++i) {
      memcpy(values + (size_t)i * item, row + (size_t)places[i] * item, item);
    }
    store_indices(places, top->indices, r * top->k, top->k);
  }
}

typedef struct top_options_s {
  int64_t k;  // where it is an attribute
  bool is_sorted;
} top_options_t;

// Reads k from input 1 where there is one (TopKV2); |inout_k| holds the attribute otherwise.
static leat_status_t read_k(const leat_kernel_context_t* c, int64_t* inout_k) {
  if (leat_kernel_input_count(c) > 1) {
    const leat_tensor_t* k = leat_kernel_input(c, 1);
    *inout_k = k->dtype == LEAT_DTYPE_INT16 ? *leat_tensor_data(k, const int16_t)
                                            : leat_tensor_index_at(k, 0);
  }
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  const int64_t columns = leat_shape_dim(shape, shape->rank - 1);
  if (*inout_k < 0) {
    return leat_kernel_invalid(c, "Need k >= 0, got %lld", (long long)*inout_k);
  }
  if (*inout_k > columns) {
    return leat_kernel_invalid(c, "input must have at least k columns. k is %lld, the last "
                               "dimension has %lld",
                               (long long)*inout_k, (long long)columns);
  }
  return leat_ok_status();
}

// Positions are kept as int32 whatever the type of the indices, and TensorFlow refuses more rows
// than its index type can count.
static leat_status_t check_index_range(const leat_kernel_context_t* c, int64_t rows,
                                       int64_t columns, int dtype) {
  const int64_t limit = dtype == LEAT_DTYPE_INT16 ? INT16_MAX : INT32_MAX;
  if (columns <= limit && (rows <= limit || dtype == LEAT_DTYPE_INT64)) return leat_ok_status();
  return leat_kernel_invalid(c, "flattened input is [%lld, %lld], sizes must be <= %lld",
                             (long long)rows, (long long)columns, (long long)limit);
}

static leat_status_t top_k__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const int last = input->shape.rank - 1;
  const int64_t columns = leat_shape_dim(&input->shape, last);
  int64_t k = 0;
  const top_options_t* options = leat_kernel_state(c);
  if (leat_kernel_input_count(c) == 1) k = options->k;
  LEAT_RETURN_IF_ERROR(read_k(c, &k));
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  for (int d = 0; d < last; ++d) dims[d] = leat_shape_dim(&input->shape, d);
  dims[last] = k;
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(last + 1, dims, &shape));
  leat_tensor_t *values, *indices, wide, places;
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &values);
  if (!status) status = leat_kernel_allocate_output(c, 1, &shape, &indices);
  leat_shape_release(&shape);
  if (status || values->shape.element_count == 0) return status;
  const int64_t rows = input->shape.element_count / columns;
  LEAT_RETURN_IF_ERROR(check_index_range(c, rows, columns, indices->dtype));
  LEAT_RETURN_IF_ERROR(leat_widen(c, input, &wide));
  const leat_shape_t flat = leat_shape_vector(rows * (k + 1));
  status = leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT32, &flat, &places);
  if (!status) {
    top_t top = {functions_of(wide.dtype), &wide,   input, values,
                 indices,                  places.data, columns, k, options->is_sorted};
    leat_kernel_parallel_for(c, rows, (double)columns * 1.5 + (double)k * 10, run_top, &top);
    leat_tensor_release(&places);
  }
  leat_tensor_release(&wide);
  return status;
}

static leat_status_t create_top_k_v2(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "sorted", &((top_options_t*)state)->is_sorted);
}

static leat_status_t create_top_k(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(create_top_k_v2(c, state));
  return leat_kernel_attr_int32(c, "k", &((top_options_t*)state)->k);
}

// As in TensorFlow, the CPU has a kernel for the largest elements along the last dimension only.
static leat_status_t create_approximate(leat_kernel_creation_t* c, void* state) {
  top_options_t* options = state;
  int64_t dimension;
  bool is_max;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "reduction_dimension", &dimension));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "is_max_k", &is_max));
  if (dimension != -1 || !is_max) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Create failed for node '%.*s' (ApproxTopK): reduction_dimension is "
                            "%lld and is_max_k is %s, must be -1 and true",
                            LEAT_SV_ARG(c->kernel->node_name), (long long)dimension,
                            is_max ? "true" : "false");
  }
  options->is_sorted = true;
  return leat_kernel_attr_int32(c, "k", &options->k);
}

static leat_status_t create_in_top_k(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_int32(c, "k", state);
}

// ---- NthElement ---------------------------------------------------------------------------------

static leat_status_t create_nth_element(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "reverse", state);
}

typedef struct select_s {
  const row_functions_t* functions;
  char* rows;  // scratch, reordered
  char* values;
  int64_t columns, place;
  size_t item_bytes;
} select_t;

static void run_select(void* data, int64_t begin, int64_t end) {
  const select_t* s = data;
  for (int64_t r = begin; r < end; ++r) {
    s->functions->select(s->rows + (size_t)(r * s->columns) * s->item_bytes, s->columns, s->place,
                         s->values + (size_t)r * s->item_bytes);
  }
}

// Copies the input to scratch memory, because the selection reorders it, and selects in each row.
// |values| has the type that the kernel computes in.
static leat_status_t select_rows(leat_kernel_context_t* c, int64_t columns, int64_t place,
                                 leat_tensor_t* values) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t rows;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, values->dtype, &input->shape, &rows));
  if (leat_is_narrow(input->dtype)) {
    leat_widen_elements(input->dtype, input->data, rows.data, input->shape.element_count);
  } else {
    memcpy(rows.data, input->data, leat_tensor_size_bytes(input));
  }
  select_t select = {functions_of(values->dtype), rows.data, values->data, columns, place,
                     leat_dtype_size(values->dtype)};
  leat_kernel_parallel_for(c, input->shape.element_count / columns, 4 * (double)columns,
                           run_select, &select);
  leat_tensor_release(&rows);
  return leat_ok_status();
}

// With the attribute reverse the n-th largest element is wanted, which is the one at n from the
// end.
static leat_status_t nth_element__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const int last = input->shape.rank - 1;
  const int64_t columns = leat_shape_dim(&input->shape, last);
  int64_t place = leat_tensor_index_at(leat_kernel_input(c, 1), 0);
  if (place < 0 || place >= columns) {
    return leat_kernel_invalid(c, "n is %lld, must be in [0, %lld), the size of the last dimension",
                               (long long)place, (long long)columns);
  }
  if (*(const bool*)leat_kernel_state(c)) place = columns - 1 - place;
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(last, leat_shape_dims(&input->shape), &shape));
  leat_tensor_t *values, wide;
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &values);
  leat_shape_release(&shape);
  if (status || values->shape.element_count == 0) return status;
  LEAT_RETURN_IF_ERROR(leat_widen_output(c, values, &wide));
  status = select_rows(c, columns, place, &wide);
  if (!status) leat_narrow(c, &wide, values);
  leat_tensor_release(&wide);
  return status;
}

// ---- InTopK -------------------------------------------------------------------------------------

// Says whether fewer than |k| of the |n| elements of |x| are greater than x[target]. The answer is
// false when the target is out of range, or when an element that was looked at is not finite.
static bool is_in_top(const float* x, int64_t n, int64_t target, int64_t k) {
  if (target < 0 || target >= n || !isfinite(x[target])) return false;
  int64_t more = 0;
  for (int64_t i = 0; i < n && more <= k; ++i) {
    if (!isfinite(x[i])) return false;
    more += x[i] > x[target];
  }
  return more < k;
}

static leat_status_t in_top_k__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* predictions = leat_kernel_input(c, 0);
  const leat_tensor_t* targets = leat_kernel_input(c, 1);
  const int64_t k = leat_kernel_input_count(c) > 2
                        ? leat_tensor_index_at(leat_kernel_input(c, 2), 0)
                        : *(const int64_t*)leat_kernel_state(c);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &targets->shape, &output));
  const int64_t classes = leat_shape_dim(&predictions->shape, 1);
  for (int64_t r = 0; r < targets->shape.element_count; ++r) {
    leat_tensor_data(output, bool)[r] =
        is_in_top(leat_tensor_data(predictions, const float) + r * classes, classes,
                  leat_tensor_index_at(targets, r), k);
  }
  return leat_ok_status();
}

#define REAL                                                                                   \
  "T: half, bfloat16, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64"

const leat_kernel_row_t leat_top_k_kernels_cpu[] = {
    {.op = "ApproxTopK",
     .device_type = "CPU",
     .create = create_approximate,
     .state_bytes = sizeof(top_options_t),
     .compute = top_k__cpu},
    {.op = "TopK",
     .device_type = "CPU",
     .constraints = REAL,
     .create = create_top_k,
     .state_bytes = sizeof(top_options_t),
     .compute = top_k__cpu},
    {.op = "TopKV2",
     .device_type = "CPU",
     .constraints = REAL "; index_type: int16, int32, int64",
     .create = create_top_k_v2,
     .state_bytes = sizeof(top_options_t),
     .compute = top_k__cpu},
    {.op = "NthElement",
     .device_type = "CPU",
     .constraints = REAL,
     .create = create_nth_element,
     .state_bytes = sizeof(bool),
     .compute = nth_element__cpu},
    {.op = "InTopK",
     .device_type = "CPU",
     .constraints = "T: int32, int64",
     .create = create_in_top_k,
     .state_bytes = sizeof(int64_t),
     .compute = in_top_k__cpu},
    {.op = "InTopKV2",
     .device_type = "CPU",
     .constraints = "T: int32, int64",
     .compute = in_top_k__cpu},
    LEAT_KERNEL_ROWS_END,
};
