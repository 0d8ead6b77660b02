// Kernels of three datasets that decide at run time which elements they give. None of them changes
// an element.
//
// DirectedInterleaveDataset reads a dataset of indices, its input 0, and gives for each index the
// next element of the data input with this index. IgnoreErrorsDataset leaves out the elements whose
// computation fails. AssertCardinalityDataset gives its input's elements and fails where their
// number is not the one that was promised; other datasets rely on that number through
// leat_dataset_cardinality. An input may answer PENDING (ops/dataset/pull_cpu.h), so that an
// iterator records what it has already decided, such as the index that it took.
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

// ---- Elements of inputs that a dataset of indices names
// ------------------------------------------

typedef struct directed_s {
  leat_dataset_t base;  // inputs[0] gives the indices, the others the elements
  bool stops_on_empty;
} directed_t;

typedef struct directed_iterator_s {
  leat_iterator_t base;
  leat_iterator_t** inputs;
  // index in |inputs| of the input asked now; 0: the next index has to be read first
  int64_t chosen;
  int64_t ended;  // data inputs that have given END
} directed_iterator_t;

static leat_status_t directed_start(leat_iterator_t* self) {
  return leat_iterator_create_all(self, &((directed_iterator_t*)self)->inputs);
}

static void directed_stop(leat_iterator_t* self) {
  leat_iterator_free_all(self, ((directed_iterator_t*)self)->inputs);
}

// Reads the next index into |it->chosen|, which is index + 1 because inputs[0] is the selector.
// |it->chosen| stays 0 when the selector has ended or is PENDING.
static leat_status_t choose(directed_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  leat_tensor_t number;
  int64_t count = it->base.dataset->input_count - 1;
  LEAT_RETURN_IF_ERROR(leat_iterator_next(it->inputs[0], pull, &number, out_poll));
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  bool is_scalar = number.shape.element_count == 1;
  int64_t chosen = is_scalar ? *leat_tensor_data(&number, const int64_t) : -1;
  leat_tensor_release(&number);
  if (chosen < 0 || chosen >= count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Selector index out of range: %lld >= %lld",
                            (long long)chosen, (long long)count);
  }
  it->chosen = chosen + 1;
  return leat_ok_status();
}

static leat_status_t directed_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  directed_iterator_t* it = (directed_iterator_t*)self;
  const directed_t* directed = (const directed_t*)self->dataset;
  for (;;) {
    if (!it->chosen) LEAT_RETURN_IF_ERROR(choose(it, pull, out_poll));
    if (!it->chosen) return leat_ok_status();
    leat_iterator_t* input = it->inputs[it->chosen];
    bool was_at_end = input->at_end;
    leat_status_t status = leat_iterator_next(input, pull, out, out_poll);
    if (!status && *out_poll == LEAT_POLL_PENDING) return leat_ok_status();
    it->chosen = 0;
    if (status || *out_poll == LEAT_POLL_ELEMENT) return status;
    // An input that had ended before is passed over: the selector goes on to its next index.
    it->ended += !was_at_end;
    bool all = it->ended == self->dataset->input_count - 1;
    if (all || (directed->stops_on_empty && !was_at_end)) return leat_ok_status();
  }
}

static int64_t directed_cardinality(const leat_dataset_t* self) {
  for (int i = 1; i < self->input_count; ++i) {
    int64_t n = leat_dataset_cardinality(self->inputs[i]);
    if (n == LEAT_CARDINALITY_INFINITE) return n;
  }
  return LEAT_CARDINALITY_UNKNOWN;
}

static const leat_dataset_kind_t kDirected = {.name = "DirectedInterleave",
                                              .dataset_bytes = sizeof(directed_t),
                                              .iterator_bytes = sizeof(directed_iterator_t),
                                              .start = directed_start,
                                              .next = directed_next,
                                              .stop = directed_stop,
                                              .cardinality = directed_cardinality};

// ExperimentalDirectedInterleaveDataset lacks the attribute.
static leat_status_t directed_create(leat_kernel_creation_t* c, void* state) {
  const leat_attr_value_t* stops = leat_attr_find(c->attrs, c->attr_count,
                                                  leat_string_view_from("stop_on_empty_dataset"));
  *(bool*)state = stops && stops->b;
  return leat_ok_status();
}

// Checks that input 0 gives int64 scalars and makes the spec that the elements of all data inputs
// satisfy. |*out_spec| is released before a failure is returned.
static leat_status_t join_specs(leat_kernel_context_t* c, leat_element_spec_t** out_spec) {
  leat_dataset_t *numbers, *first, *other;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &numbers));
  if (numbers->spec->count != 1 || numbers->spec->types[0] != LEAT_DTYPE_INT64) {
    return leat_kernel_invalid(c, "The selector input must be a dataset of scalar int64 elements.");
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 1), &first));
  leat_status_t status = leat_ok_status();
  *out_spec = leat_element_spec_retain(first->spec);
  for (int i = 2; i < leat_kernel_input_count(c) && !status; ++i) {
    leat_element_spec_t* so_far = *out_spec;
    status = leat_dataset_of(leat_kernel_input(c, i), &other);
    if (!status) status = leat_element_spec_common(so_far, other->spec, out_spec);
    leat_element_spec_release(so_far);
  }
  return status;
}

static leat_status_t directed__cpu(leat_kernel_context_t* c) {
  leat_element_spec_t* spec;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(join_specs(c, &spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_all(c, &kDirected, spec, &dataset));
  ((directed_t*)dataset)->stops_on_empty = *(const bool*)leat_kernel_state(c);
  return leat_dataset_set_output(c, dataset);
}

// ---- Without the elements that fail -------------------------------------------------------------

static leat_status_t ignore_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                 leat_poll_t* out_poll) {
  for (;;) {
    leat_status_t status = leat_iterator_next(self->input, pull, out, out_poll);
    // CANCELLED and DEADLINE_EXCEEDED end the step and do not say that the element is faulty.
    if (!status || leat_pull_was_stopped(status)) return status;
    leat_status_free(status);
  }
}

static int64_t ignore_cardinality(const leat_dataset_t* self) {
  int64_t n = leat_dataset_cardinality(self->inputs[0]);
  return n == LEAT_CARDINALITY_INFINITE ? n : LEAT_CARDINALITY_UNKNOWN;
}

static const leat_dataset_kind_t kIgnore = {.name = "IgnoreErrors",
                                            .dataset_bytes = sizeof(leat_dataset_t),
                                            .iterator_bytes = sizeof(leat_iterator_t),
                                            .opens_input = true,
                                            .next = ignore_next,
                                            .cardinality = ignore_cardinality};

static leat_status_t ignore__cpu(leat_kernel_context_t* c) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kIgnore, &dataset));
  return leat_dataset_set_output(c, dataset);
}

// ---- With a checked number of elements ----------------------------------------------------------

typedef struct asserted_s {
  leat_dataset_t base;
  int64_t cardinality;
} asserted_t;

typedef struct asserted_iterator_s {
  leat_iterator_t base;
  int64_t seen;  // elements given so far in this pass
} asserted_iterator_t;

static leat_status_t wrong_count(int64_t wanted, const char* but, int64_t seen) {
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Input dataset was expected to contain %lld elements but contained %s "
                          "%lld.",
                          (long long)wanted, but, (long long)seen);
}

static leat_status_t asserted_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  asserted_iterator_t* it = (asserted_iterator_t*)self;
  int64_t wanted = ((const asserted_t*)self->dataset)->cardinality;
  LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, out, out_poll));
  if (*out_poll == LEAT_POLL_END && it->seen != wanted) {
    return wrong_count(wanted, "only", it->seen);
  }
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  if (++it->seen <= wanted || wanted == LEAT_CARDINALITY_INFINITE) return leat_ok_status();
  leat_element_release(out, self->dataset->spec->count);
  return wrong_count(wanted, "at least", it->seen);
}

static int64_t asserted_cardinality(const leat_dataset_t* self) {
  return ((const asserted_t*)self)->cardinality;
}

static const leat_dataset_kind_t kAsserted = {.name = "AssertCardinality",
                                              .dataset_bytes = sizeof(asserted_t),
                                              .iterator_bytes = sizeof(asserted_iterator_t),
                                              .opens_input = true,
                                              .next = asserted_next,
                                              .cardinality = asserted_cardinality};

static leat_status_t asserted__cpu(leat_kernel_context_t* c) {
  int64_t cardinality;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "cardinality", &cardinality));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kAsserted, &dataset));
  ((asserted_t*)dataset)->cardinality = cardinality;
  return leat_dataset_set_output(c, dataset);
}

const leat_kernel_row_t leat_choice_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("DirectedInterleaveDataset", NULL, bool, directed_create, directed__cpu),
    LEAT_CPU_KERNEL("ExperimentalDirectedInterleaveDataset", NULL, bool, directed_create,
                    directed__cpu),
    {.op = "IgnoreErrorsDataset", .device_type = "CPU", .compute = ignore__cpu},
    {.op = "ExperimentalIgnoreErrorsDataset", .device_type = "CPU", .compute = ignore__cpu},
    {.op = "AssertCardinalityDataset", .device_type = "CPU", .compute = asserted__cpu},
    LEAT_KERNEL_ROWS_END,
};
