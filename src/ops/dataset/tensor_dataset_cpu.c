// Kernels of the datasets that are sources and read no file: TensorDataset (its inputs are the only
// element), TensorSliceDataset (the rows of its inputs are the elements) and RangeDataset (start,
// start + step, ... up to and without stop). A dataset keeps shares of its input tensors; rows
// share their buffers where the alignment allows it (leat_element_row). Their cardinality is known
// exactly. A range counts in int64 and converts each number to the type that the node declares; it
// stops where the next number would overflow.
#include "device/cpu/half.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

// ---- Tensors and their slices -------------------------------------------------------------------

typedef struct place_s {
  leat_iterator_t base;
  int64_t next;  // TensorSlice: index of the next row; Range: the next number
} place_t;

static leat_status_t slice_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  place_t* place = (place_t*)self;
  leat_dataset_t* dataset = self->dataset;
  if (place->next == leat_dataset_cardinality(dataset)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_element_rows(dataset->tensors, place->next, out, dataset->tensor_count));
  ++place->next;
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static int64_t slice_cardinality(const leat_dataset_t* self) {
  return leat_shape_dim(&self->tensors[0].shape, 0);
}

static leat_status_t slice_seek(leat_iterator_t* self, int64_t index) {
  ((place_t*)self)->next = index;
  return leat_ok_status();
}

static const leat_dataset_kind_t kSlices = {.name = "TensorSlice",
                                            .dataset_bytes = sizeof(leat_dataset_t),
                                            .iterator_bytes = sizeof(place_t),
                                            .next = slice_next,
                                            .cardinality = slice_cardinality,
                                            .seek = slice_seek};

static leat_status_t state_create(leat_kernel_creation_t* c, void* state) {
  leat_element_spec_state_t* kept = state;
  return leat_element_spec_of_attrs(c, "Toutput_types", &kept->spec);
}

// Makes the spec of the inputs, or of their rows, and checks it against the node's attributes.
static leat_status_t make_spec(const leat_kernel_context_t* c, bool rows,
                               leat_element_spec_t** out_spec) {
  leat_element_spec_t* spec;
  int count = leat_kernel_input_count(c);
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(count, &spec));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count && !status; ++i) {
    const leat_tensor_t* input = leat_kernel_input(c, i);
    leat_partial_shape_t shape = leat_partial_shape_of(&input->shape);
    status =
        leat_element_spec_set(spec, i, input->dtype, rows ? leat_element_row_shape(shape) : shape);
  }
  const leat_element_spec_state_t* stated = leat_kernel_state(c);
  if (!status) status = leat_element_spec_check(spec, stated->spec);
  if (status) {
    leat_element_spec_release(spec);
    return status;
  }
  *out_spec = spec;
  return leat_ok_status();
}

// Keeps all inputs in |dataset|, which is moved in, and sets it as the output.
static leat_status_t set_output(leat_kernel_context_t* c, leat_dataset_t* dataset) {
  leat_status_t status = leat_dataset_keep_inputs(c, 0, 0, leat_kernel_input_count(c), dataset);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

// A window dataset of one element (ops/dataset/dataset_cpu.h) is what TensorDataset asks
// for.
static leat_status_t tensor__cpu(leat_kernel_context_t* c) {
  leat_element_spec_t* spec;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(make_spec(c, false, &spec));
  LEAT_RETURN_IF_ERROR(leat_window_create(spec, 1, &dataset));
  return set_output(c, dataset);
}

// The inputs are the components of one element after those of the other.
static leat_status_t list__cpu(leat_kernel_context_t* c) {
  const leat_element_spec_state_t* node = leat_kernel_state(c);
  leat_element_spec_t* stated = node->spec;
  const int inputs = leat_kernel_input_count(c);
  leat_dataset_t* dataset;
  if (inputs % stated->count) {
    return leat_kernel_invalid(c, "there are %d inputs, must be as many for each of %d components",
                               inputs, stated->count);
  }
  for (int i = 0; i < inputs; ++i) {
    const int wanted = stated->types[i % stated->count], dtype = leat_kernel_input(c, i)->dtype;
    if (dtype == wanted) continue;
    return leat_kernel_invalid(c, "input %d is of type %s, must be %s", i, leat_dtype_name(dtype),
                               leat_dtype_name(wanted));
  }
  LEAT_RETURN_IF_ERROR(leat_window_create(leat_element_spec_retain(stated),
                                          inputs / stated->count, &dataset));
  return set_output(c, dataset);
}

static leat_status_t check_slices(leat_kernel_context_t* c) {
  for (int i = 0; i < leat_kernel_input_count(c); ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    if (shape->rank == 0) {
      return leat_kernel_invalid(c, "All components must be at least 1-dimensional");
    }
    if (leat_shape_dim(shape, 0) != leat_shape_dim(&leat_kernel_input(c, 0)->shape, 0)) {
      return leat_kernel_invalid(c, "All components must have the same size in the 0th dimension");
    }
  }
  return leat_ok_status();
}

static leat_status_t slices__cpu(leat_kernel_context_t* c) {
  leat_element_spec_t* spec;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(check_slices(c));
  LEAT_RETURN_IF_ERROR(make_spec(c, true, &spec));
  LEAT_RETURN_IF_ERROR(
      leat_dataset_create(&kSlices, spec, 0, leat_kernel_input_count(c), &dataset));
  return set_output(c, dataset);
}

// ---- Ranges -------------------------------------------------------------------------------------

typedef struct range_s {
  leat_dataset_t base;
  int64_t start, stop, step;
} range_t;

// X(dtype, C type) for the types of a range that a cast can make; leat_range_make_number handles
// the 16-bit floating-point types itself.
#define RANGE_TYPES(X) \
  X(INT64, int64_t)    \
  X(INT32, int32_t)    \
  X(INT16, int16_t)    \
  X(INT8, int8_t)      \
  X(UINT64, uint64_t)  \
  X(UINT32, uint32_t) X(UINT16, uint16_t) X(UINT8, uint8_t) X(FLOAT, float) X(DOUBLE, double)

leat_status_t leat_range_make_number(int dtype, int64_t value, leat_tensor_t* out_tensor) {
  switch (dtype) {
#define NUMBER(name, type) \
  case LEAT_DTYPE_##name:  \
    return leat_tensor_scalar(LEAT_DTYPE_##name, &(type){(type)value}, out_tensor);
    RANGE_TYPES(NUMBER)
#undef NUMBER
    case LEAT_DTYPE_HALF:
      return leat_tensor_scalar(dtype, &(uint16_t){leat_half_from_float((float)value)}, out_tensor);
    case LEAT_DTYPE_BFLOAT16:
      return leat_tensor_scalar(dtype, &(uint16_t){leat_bfloat16_from_float((float)value)},
                                out_tensor);
    default:
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Unsupported data type: %s",
                              leat_dtype_name(dtype));
  }
}

static leat_status_t range_start(leat_iterator_t* self) {
  ((place_t*)self)->next = ((const range_t*)self->dataset)->start;
  return leat_ok_status();
}

static leat_status_t range_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  place_t* place = (place_t*)self;
  const range_t* range = (const range_t*)self->dataset;
  if (range->step > 0 ? place->next >= range->stop : place->next <= range->stop) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(
      leat_range_make_number(range->base.spec->types[0], place->next, out));
  // Where the next number overflows, this one was the last: the range ends at |stop|.
  if (__builtin_add_overflow(place->next, range->step, &place->next)) place->next = range->stop;
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static int64_t range_cardinality(const leat_dataset_t* self) {
  const range_t* range = (const range_t*)self;
  if (range->stop == INT64_MAX) return LEAT_CARDINALITY_INFINITE;
  bool up = range->step > 0;
  // The number of elements is ceil(|stop - start| / |step|), in unsigned arithmetic because the
  // difference of two int64 need not be one.
  if (up ? range->start >= range->stop : range->start <= range->stop) return 0;
  uint64_t span = up ? (uint64_t)range->stop - (uint64_t)range->start
                     : (uint64_t)range->start - (uint64_t)range->stop;
  uint64_t step = up ? (uint64_t)range->step : -(uint64_t)range->step;
  return (int64_t)((span - 1) / step + 1);
}

// The number lies between start and stop, so that the wrapping of the product is made good by that
// of the sum.
static leat_status_t range_seek(leat_iterator_t* self, int64_t index) {
  const range_t* range = (const range_t*)self->dataset;
  ((place_t*)self)->next =
      (int64_t)((uint64_t)range->start + (uint64_t)index * (uint64_t)range->step);
  return leat_ok_status();
}

static const leat_dataset_kind_t kRange = {.name = "Range",
                                           .dataset_bytes = sizeof(range_t),
                                           .iterator_bytes = sizeof(place_t),
                                           .start = range_start,
                                           .next = range_next,
                                           .cardinality = range_cardinality,
                                           .seek = range_seek};

static leat_status_t make_range_spec(const leat_kernel_context_t* c,
                                     leat_element_spec_t** out_spec) {
  const leat_element_spec_state_t* stated = leat_kernel_state(c);
  if (stated->spec->count != 1) {
    return leat_kernel_invalid(c, "output_types has %d items, must have 1", stated->spec->count);
  }
  return leat_element_spec_of_scalar(stated->spec->types[0], out_spec);
}

static leat_status_t range__cpu(leat_kernel_context_t* c) {
  int64_t start, stop, step;
  leat_element_spec_t* spec;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 0, "start", &start));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "stop", &stop));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 2, "step", &step));
  if (step == 0) return leat_kernel_invalid(c, "step must be a non-zero integer.");
  LEAT_RETURN_IF_ERROR(make_range_spec(c, &spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kRange, spec, 0, 0, &dataset));
  range_t* range = (range_t*)dataset;
  range->start = start;
  range->stop = stop;
  range->step = step;
  return leat_dataset_set_output(c, dataset);
}

#define KERNEL(name, make_state, how)                                     \
  LEAT_CPU_KERNEL(name, NULL, leat_element_spec_state_t, make_state, how, \
                  .destroy = leat_element_spec_state_destroy)

const leat_kernel_row_t leat_tensor_dataset_kernels_cpu[] = {
    KERNEL("TensorDataset", state_create, tensor__cpu),
    KERNEL("ListDataset", leat_element_spec_state_create, list__cpu),
    KERNEL("TensorSliceDataset", state_create, slices__cpu),
    KERNEL("RangeDataset", leat_element_spec_state_create, range__cpu),
    LEAT_KERNEL_ROWS_END,
};
