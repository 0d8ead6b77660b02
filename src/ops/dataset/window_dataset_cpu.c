// Kernels of WindowDataset, WindowOp, UnbatchDataset, and the window dataset itself, a dataset of
// elements that lie in memory, which other kernels use too (ops/dataset/dataset_cpu.h).
//
// WindowDataset slides over its input. A window takes |size| elements that are |stride| apart, and
// the next window begins |shift| elements later; for size 3, stride 2 and shift 2:
//
//     input      0 1 2 3 4 5 6 7 8
//     window 0   *   *   *                 span = (size - 1) * stride + 1 = 5
//     window 1       *   *   *
//
// The iterator keeps the |span| elements of the current window. Each component of a window is a
// dataset of its own, held in a variant. An element that fails keeps its position, and fails the
// windows that contain it and no others. UnbatchDataset gives the rows of each element of its
// input, one after the other; RebatchDataset gives parts of them.
#include <string.h>

#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

// ---- A window -----------------------------------------------------------------------------------

typedef struct place_s {
  leat_iterator_t base;
  int64_t next;  // index of the next element
} place_t;

static int64_t elements_cardinality(const leat_dataset_t* self) {
  return self->spec->count ? self->tensor_count / self->spec->count : 0;
}

static leat_status_t elements_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  place_t* place = (place_t*)self;
  int components = self->dataset->spec->count;
  if (place->next == elements_cardinality(self->dataset)) return leat_ok_status();
  leat_element_share(self->dataset->tensors + place->next++ * components, out, components);
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static const leat_dataset_kind_t kElements = {.name = "Window",
                                              .dataset_bytes = sizeof(leat_dataset_t),
                                              .iterator_bytes = sizeof(place_t),
                                              .next = elements_next,
                                              .cardinality = elements_cardinality};

leat_status_t leat_window_create(leat_element_spec_t* spec, int64_t count,
                                 leat_dataset_t** out_dataset) {
  int64_t tensors;
  if (__builtin_mul_overflow(count, (int64_t)spec->count, &tensors) || tensors > INT32_MAX) {
    leat_element_spec_release(spec);
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "a window of %lld elements is too large",
                            (long long)count);
  }
  return leat_dataset_create(&kElements, spec, 0, (int)tensors, out_dataset);
}

// Sets |window|'s tensors to the inputs, which are the components of one element after the other.
static leat_status_t fill_window(leat_kernel_context_t* c, leat_dataset_t* window) {
  for (int i = 0; i < window->tensor_count; ++i) {
    const int component = i % window->spec->count;
    const int dtype = leat_kernel_input(c, i)->dtype;
    if (dtype != window->spec->types[component]) {
      return leat_kernel_invalid(c, "Data type mismatch at component %d: expected %s but got %s.",
                                 component, leat_dtype_name(window->spec->types[component]),
                                 leat_dtype_name(dtype));
    }
  }
  return leat_dataset_keep_inputs(c, 0, 0, window->tensor_count, window);
}

// Inputs beyond the last whole element are left out.
static leat_status_t window__cpu(leat_kernel_context_t* c) {
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  const int64_t count = leat_kernel_input_count(c) / state->spec->count;
  leat_dataset_t* window;
  LEAT_RETURN_IF_ERROR(leat_window_create(leat_element_spec_retain(state->spec), count, &window));
  leat_status_t status = fill_window(c, window);
  if (status) {
    leat_dataset_release(window);
    return status;
  }
  return leat_dataset_set_output(c, window);
}

// ---- Windows of a dataset -----------------------------------------------------------------------

typedef struct windows_s {
  leat_dataset_t base;
  int64_t size, shift, stride;
  // input elements from the first to the last element of a window: (size - 1) * stride + 1
  int64_t span;
  bool drop_remainder;
} windows_t;

typedef struct windows_iterator_s {
  leat_iterator_t base;
  leat_tensor_t* elements;  // the input's elements that were read, each with all its components
  leat_status_t* failures;  // failures[i] is the failure of element i, or OK
  size_t tensor_room, failure_room;  // tensors and statuses for which there is memory
  int64_t count;  // elements in |elements|
  // elements to drop before the next window begins, where |shift| is larger than the span
  int64_t to_skip;
} windows_iterator_t;

static const leat_element_spec_t* input_spec(const windows_iterator_t* it) {
  return it->base.input->dataset->spec;
}

static leat_tensor_t* element_at(const windows_iterator_t* it, int64_t index) {
  return it->elements + index * input_spec(it)->count;
}

// Releases the first |count| elements and moves the others to the front. The places behind them are
// zeroed, so that no tensor is released twice.
static void drop_first(windows_iterator_t* it, int64_t count) {
  size_t left = (size_t)(it->count - count), components = (size_t)input_spec(it)->count;
  if (!it->count) return;
  for (int64_t i = 0; i < count; ++i) {
    leat_element_release(element_at(it, i), (int)components);
    leat_status_free(it->failures[i]);
  }
  memmove(it->elements, element_at(it, count), left * components * sizeof *it->elements);
  memmove(it->failures, it->failures + count, left * sizeof *it->failures);
  memset(element_at(it, (int64_t)left), 0, (size_t)count * components * sizeof *it->elements);
  it->count = (int64_t)left;
}

static void windows_stop(leat_iterator_t* self) {
  windows_iterator_t* it = (windows_iterator_t*)self;
  if (self->input) drop_first(it, it->count);
  leat_allocator_free(leat_allocator_system(), it->elements);
  leat_allocator_free(leat_allocator_system(), it->failures);
}

// Reads the next element behind the others. A failure takes the element's place and counts as an
// element; only the failures that end the step are returned.
static leat_status_t read_element(windows_iterator_t* it, leat_pull_t* pull,
                                  leat_poll_t* out_poll) {
  size_t wanted = (size_t)it->count + 1;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), wanted * (size_t)input_spec(it)->count,
                                 &it->elements, &it->tensor_room));
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), wanted, &it->failures, &it->failure_room));
  leat_status_t status =
      leat_iterator_next(it->base.input, pull, element_at(it, it->count), out_poll);
  if (leat_pull_was_stopped(status)) return status;
  if (status) *out_poll = LEAT_POLL_ELEMENT;
  if (*out_poll == LEAT_POLL_ELEMENT) it->failures[it->count++] = status;
  return leat_ok_status();
}

// Reads until |elements| begins with the next window. |*out_poll| is ELEMENT when there is one,
// PENDING when the input waits, and END when too few elements are left.
static leat_status_t fill(windows_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  const windows_t* windows = (const windows_t*)it->base.dataset;
  *out_poll = LEAT_POLL_ELEMENT;
  while (*out_poll == LEAT_POLL_ELEMENT && (it->to_skip || it->count < windows->span)) {
    LEAT_RETURN_IF_ERROR(read_element(it, pull, out_poll));
    if (!it->to_skip || *out_poll != LEAT_POLL_ELEMENT) continue;
    --it->to_skip;
    drop_first(it, 1);
  }
  if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  int64_t least = windows->drop_remainder ? windows->span : 1;
  *out_poll = it->count < least ? LEAT_POLL_END : LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

// Makes the dataset of component |component| of the window's |count| elements, in a variant.
static leat_status_t make_component(const windows_iterator_t* it, int component, int64_t count,
                                    leat_tensor_t* out_tensor) {
  const windows_t* windows = (const windows_t*)it->base.dataset;
  const leat_element_spec_t* from = input_spec(it);
  leat_element_spec_t* spec;
  leat_dataset_t* window;
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(1, &spec));
  leat_status_t status =
      leat_element_spec_set(spec, 0, from->types[component], from->shapes[component]);
  if (status) {
    leat_element_spec_release(spec);
    return status;
  }
  LEAT_RETURN_IF_ERROR(leat_window_create(spec, count, &window));
  for (int64_t i = 0; i < count; ++i) {
    window->tensors[i] = leat_tensor_share(&element_at(it, i * windows->stride)[component]);
  }
  return leat_dataset_to_tensor(window, out_tensor);
}

// Makes a window of the collected elements; it fails where one of its elements has failed.
static leat_status_t make_window(const windows_iterator_t* it, leat_tensor_t* out) {
  const windows_t* windows = (const windows_t*)it->base.dataset;
  int64_t count = 1 + (it->count - 1) / windows->stride;
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_status_clone(it->failures[i * windows->stride]));
  }
  for (int i = 0; i < it->base.dataset->spec->count; ++i) {
    leat_status_t status = make_component(it, i, count, &out[i]);
    if (!status) continue;
    leat_element_release(out, i);
    return status;
  }
  return leat_ok_status();
}

static leat_status_t windows_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                  leat_poll_t* out_poll) {
  windows_iterator_t* it = (windows_iterator_t*)self;
  int64_t shift = ((const windows_t*)self->dataset)->shift;
  LEAT_RETURN_IF_ERROR(fill(it, pull, out_poll));
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  leat_status_t status = make_window(it, out);
  int64_t dropped = shift < it->count ? shift : it->count;
  it->to_skip = shift - dropped;
  drop_first(it, dropped);
  return status;
}

static int64_t windows_cardinality(const leat_dataset_t* self) {
  const windows_t* windows = (const windows_t*)self;
  int64_t n = leat_dataset_cardinality(self->inputs[0]);
  if (n < 0) return n;
  if (!windows->drop_remainder) return n / windows->shift + (n % windows->shift != 0);
  return n < windows->span ? 0 : (n - windows->span) / windows->shift + 1;
}

static const leat_dataset_kind_t kWindows = {.name = "Window",
                                             .dataset_bytes = sizeof(windows_t),
                                             .iterator_bytes = sizeof(windows_iterator_t),
                                             .opens_input = true,
                                             .next = windows_next,
                                             .stop = windows_stop,
                                             .cardinality = windows_cardinality};

// Reads the inputs of WindowDataset into |out_windows|. The span must be a number that int64 can
// hold.
static leat_status_t read_sizes(leat_kernel_context_t* c, windows_t* out_windows) {
  windows_t* w = out_windows;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "size", &w->size));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 2, "shift", &w->shift));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 3, "stride", &w->stride));
  LEAT_RETURN_IF_ERROR(leat_dataset_bool_input(c, 4, "drop_remainder", &w->drop_remainder));
  if (w->size <= 0 || w->shift <= 0 || w->stride <= 0) {
    return leat_kernel_invalid(
        c, "Window size, shift and stride are %lld, %lld, %lld, must be greater than zero.",
        (long long)w->size, (long long)w->shift, (long long)w->stride);
  }
  if (__builtin_mul_overflow(w->size - 1, w->stride, &w->span) || w->span == INT64_MAX) {
    return leat_kernel_invalid(c, "the window spans more elements than can be counted");
  }
  ++w->span;
  return leat_ok_status();
}

// The spec of windows: |count| scalar variants.
static leat_status_t datasets_spec(int count, leat_element_spec_t** out_spec) {
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(count, out_spec));
  for (int i = 0; i < count; ++i) {
    leat_status_t status =
        leat_element_spec_set(*out_spec, i, LEAT_DTYPE_VARIANT, leat_partial_shape_scalar());
    if (!status) continue;
    leat_element_spec_release(*out_spec);
    return status;
  }
  return leat_ok_status();
}

static leat_status_t windows__cpu(leat_kernel_context_t* c) {
  windows_t sizes;
  leat_dataset_t *input, *dataset;
  leat_element_spec_t* spec;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(read_sizes(c, &sizes));
  LEAT_RETURN_IF_ERROR(datasets_spec(input->spec->count, &spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&kWindows, spec, input, 0, &dataset));
  windows_t* windows = (windows_t*)dataset;
  windows->size = sizes.size;
  windows->shift = sizes.shift;
  windows->stride = sizes.stride;
  windows->span = sizes.span;
  windows->drop_remainder = sizes.drop_remainder;
  return leat_dataset_set_output(c, dataset);
}

// ---- Rows ---------------------------------------------------------------------------------------

typedef struct rows_iterator_s {
  leat_iterator_t base;
  // the input's element that is being split; it has |count| rows, and |place| is the next
  leat_tensor_t* element;
  int64_t place, count;
} rows_iterator_t;

static leat_status_t rows_start(leat_iterator_t* self) {
  rows_iterator_t* it = (rows_iterator_t*)self;
  return LEAT_ALLOCATE(leat_allocator_system(), (size_t)self->dataset->spec->count + 1,
                       &it->element);
}

static void rows_stop(leat_iterator_t* self) {
  rows_iterator_t* it = (rows_iterator_t*)self;
  if (it->element) leat_element_release(it->element, self->dataset->spec->count);
  leat_allocator_free(leat_allocator_system(), it->element);
}

// Checks that all components have a first dimension of the same size.
static leat_status_t check_rows(const leat_tensor_t* element, int components) {
  for (int i = 0; i < components; ++i) {
    const leat_shape_t* shape = &element[i].shape;
    if (shape->rank == 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Input element must have a non-scalar value in each component.");
    }
    int64_t first = leat_shape_dim(&element[0].shape, 0), own = leat_shape_dim(shape, 0);
    if (own == first) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Input element must have the same batch size in each component. "
                            "Component 0 had size %lld but component %d had size, %lld.",
                            (long long)first, i, (long long)own);
  }
  return leat_ok_status();
}

// Takes the next element when |it->place|, which counts rows or parts, has come to its end.
static leat_status_t take_element(rows_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  const int components = it->base.dataset->spec->count;
  leat_element_release(it->element, components);
  it->place = it->count = 0;
  LEAT_RETURN_IF_ERROR(leat_iterator_next(it->base.input, pull, it->element, out_poll));
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(check_rows(it->element, components));
  it->count = components ? leat_shape_dim(&it->element[0].shape, 0) : 0;
  return leat_ok_status();
}

static leat_status_t rows_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  rows_iterator_t* it = (rows_iterator_t*)self;
  while (it->place == it->count) {
    LEAT_RETURN_IF_ERROR(take_element(it, pull, out_poll));
    if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(
      leat_element_rows(it->element, it->place, out, self->dataset->spec->count));
  ++it->place;
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static int64_t rows_cardinality(const leat_dataset_t* self) {
  const leat_element_spec_t* batches = self->inputs[0]->spec;
  int64_t n = leat_dataset_cardinality(self->inputs[0]), size = LEAT_DIM_UNKNOWN;
  for (int i = 0; i < batches->count && size < 0; ++i) {
    if (batches->shapes[i].rank > 0) size = batches->shapes[i].dims[0];
  }
  if (n < 0) return n;
  return size < 0 ? LEAT_CARDINALITY_UNKNOWN : (int64_t)((uint64_t)n * (uint64_t)size);
}

static const leat_dataset_kind_t kRows = {.name = "Unbatch",
                                          .dataset_bytes = sizeof(leat_dataset_t),
                                          .iterator_bytes = sizeof(rows_iterator_t),
                                          .opens_input = true,
                                          .start = rows_start,
                                          .next = rows_next,
                                          .stop = rows_stop,
                                          .cardinality = rows_cardinality};

leat_status_t leat_unbatch_create(leat_dataset_t* input, leat_dataset_t** out_dataset) {
  leat_element_spec_t* spec;
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_rows(input->spec, &spec));
  return leat_dataset_create_over(&kRows, spec, input, 0, out_dataset);
}

// ---- Parts of elements --------------------------------------------------------------------------

typedef struct divided_s {
  leat_dataset_t base;
  int64_t count;  // parts of each element
} divided_t;

// All parts have as many rows, but for the last ones, which may have fewer or none.
static leat_status_t parts_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  rows_iterator_t* it = (rows_iterator_t*)self;
  const int64_t parts = ((const divided_t*)self->dataset)->count;
  if (it->place == 0 || it->place == parts) {
    LEAT_RETURN_IF_ERROR(take_element(it, pull, out_poll));
    if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  }
  const int64_t size = it->count / parts + (it->count % parts != 0);
  const int64_t part = it->place++;
  // Behind the rows, part * size might be more than int64 holds.
  const int64_t begin = size == 0 || part > it->count / size ? it->count : part * size;
  const int64_t end = it->count - begin < size ? it->count : begin + size;
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_element_slice(it->element, begin, end, out, self->dataset->spec->count);
}

static const leat_dataset_kind_t kParts = {.name = "Rebatch",
                                           .dataset_bytes = sizeof(divided_t),
                                           .iterator_bytes = sizeof(rows_iterator_t),
                                           .opens_input = true,
                                           .start = rows_start,
                                           .next = parts_next,
                                           .stop = rows_stop,
                                           .cardinality = leat_dataset_unknown_cardinality};

static leat_status_t parts__cpu(leat_kernel_context_t* c) {
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  int64_t count;
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "num_replicas", &count));
  if (count <= 0) return leat_kernel_invalid(c, "num_replicas must be greater than zero.");
  LEAT_RETURN_IF_ERROR(leat_element_spec_check_types(state->spec, input->spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&kParts, leat_element_spec_retain(state->spec),
                                                input, 0, &dataset));
  ((divided_t*)dataset)->count = count;
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t unbatch__cpu(leat_kernel_context_t* c) {
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_unbatch_create(input, &dataset));
  return leat_dataset_set_output(c, dataset);
}

#define PARTS(name)                                                                              \
  LEAT_CPU_KERNEL(name, NULL, leat_element_spec_state_t, leat_element_spec_state_create,         \
                  parts__cpu, .destroy = leat_element_spec_state_destroy)

const leat_kernel_row_t leat_window_dataset_kernels_cpu[] = {
    LEAT_DATASET_KERNEL("WindowDataset", windows__cpu),
    LEAT_CPU_KERNEL("WindowOp", NULL, leat_element_spec_state_t, leat_element_spec_state_create,
                    window__cpu, .destroy = leat_element_spec_state_destroy),
    PARTS("RebatchDataset"),
    PARTS("ExperimentalRebatchDataset"),
    LEAT_DATASET_KERNEL("UnbatchDataset", unbatch__cpu),
    LEAT_DATASET_KERNEL("ExperimentalUnbatchDataset", unbatch__cpu),
    LEAT_KERNEL_ROWS_END,
};
