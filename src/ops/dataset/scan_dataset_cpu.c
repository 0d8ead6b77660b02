// The kernel of ScanDataset. Its function takes a state and an element, and returns the next state
// and what the dataset gives:
//
//     (state[i + 1], output[i]) = f(state[i], element[i], other_arguments)
//
// The first state is an input of the op. Each iterator begins with it again, so that all passes
// give the same elements. The current state lives in the first arguments of the iterator's call,
// where the next call finds it. The types of the state must not change; its shapes may.
// OUT_OF_RANGE from the function ends the dataset (leat_function_failure).
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef struct scan_s {
  leat_dataset_t base;  // tensors: the first state, then other_arguments
  int state_count;
  bool preserves_cardinality;
} scan_t;

typedef struct scan_iterator_s {
  leat_iterator_t base;
  leat_application_t application;  // its arguments and its returns begin with the state
  leat_tensor_t* returns;  // room for the next state, then an output
} scan_iterator_t;

static leat_status_t scan_start(leat_iterator_t* self) {
  scan_iterator_t* it = (scan_iterator_t*)self;
  const leat_dataset_t* dataset = self->dataset;
  int state = ((const scan_t*)dataset)->state_count, captured = dataset->tensor_count - state;
  int element = state + self->input->dataset->spec->count, returns = state + dataset->spec->count;
  LEAT_RETURN_IF_ERROR(leat_application_initialize(self->draw_counts, element, captured, returns,
                                                   &it->application));
  leat_element_share(dataset->tensors, it->application.arguments, state);
  for (int i = 0; i < captured; ++i) {
    it->application.arguments[element + i] = dataset->tensors[state + i];
  }
  return LEAT_ALLOCATE(leat_allocator_system(), (size_t)returns, &it->returns);
}

static void scan_stop(leat_iterator_t* self) {
  scan_iterator_t* it = (scan_iterator_t*)self;
  leat_application_deinitialize(&it->application);
  leat_allocator_free(leat_allocator_system(), it->returns);
}

// Takes the result of a call: the new state replaces the old one among the arguments, and the rest
// goes to |out|. INVALID_ARGUMENT where the state's types have changed.
static leat_status_t take_returns(scan_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out) {
  const leat_dataset_t* dataset = it->base.dataset;
  int state = ((const scan_t*)dataset)->state_count, outputs = dataset->spec->count;
  leat_application_t* application = &it->application;
  LEAT_RETURN_IF_ERROR(leat_application_take(application, pull, it->returns));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < state && !status; ++i) {
    if (it->returns[i].dtype == dataset->tensors[i].dtype) continue;
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Got wrong type for scan_func return value %d (expected %s, got %s).",
                              i, leat_dtype_name(dataset->tensors[i].dtype),
                              leat_dtype_name(it->returns[i].dtype));
  }
  if (status) {
    leat_element_release(it->returns, state + outputs);
    return status;
  }
  leat_element_release(application->arguments, state);
  leat_element_move(it->returns, application->arguments, state);
  leat_element_move(it->returns + state, out, outputs);
  return leat_ok_status();
}

static leat_status_t scan_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  scan_iterator_t* it = (scan_iterator_t*)self;
  const scan_t* scan = (const scan_t*)self->dataset;
  leat_application_t* application = &it->application;
  leat_tensor_t* element = application->arguments + scan->state_count;
  if (application->pending) {
    leat_status_t status = take_returns(it, pull, out);
    leat_element_release(element, application->element_count - scan->state_count);
    if (status) return leat_function_failure(status, scan->preserves_cardinality, out_poll);
    *out_poll = LEAT_POLL_ELEMENT;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, element, out_poll));
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(application, pull, self->dataset->function);
  return leat_ok_status();
}

static int64_t scan_cardinality(const leat_dataset_t* self) {
  return ((const scan_t*)self)->preserves_cardinality ? leat_dataset_cardinality(self->inputs[0])
                                                      : LEAT_CARDINALITY_UNKNOWN;
}

static const leat_dataset_kind_t kScan = {.name = "Scan",
                                          .dataset_bytes = sizeof(scan_t),
                                          .iterator_bytes = sizeof(scan_iterator_t),
                                          .opens_input = true,
                                          .start = scan_start,
                                          .next = scan_next,
                                          .stop = scan_stop,
                                          .cardinality = scan_cardinality};

static leat_status_t scan_create(leat_kernel_creation_t* c, void* state) {
  leat_dataset_fold_t* fold = state;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_attr_bool(c, "preserve_cardinality", &fold->function.preserves_cardinality));
  return leat_dataset_fold_create(c, state);
}

static leat_status_t scan__cpu(leat_kernel_context_t* c) {
  const leat_dataset_fold_t* fold = leat_kernel_state(c);
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_calling(c, &kScan, fold->function.spec,
                                                   leat_kernel_input_count(c) - 1, &dataset));
  scan_t* scan = (scan_t*)dataset;
  scan->state_count = fold->state_count;
  scan->preserves_cardinality = fold->function.preserves_cardinality;
  return leat_dataset_set_output(c, dataset);
}

#define KERNEL(name)                                                          \
  LEAT_CPU_KERNEL(name, NULL, leat_dataset_fold_t, scan_create, scan__cpu, \
                  .destroy = leat_dataset_function_destroy)

const leat_kernel_row_t leat_scan_dataset_kernels_cpu[] = {
    KERNEL("ScanDataset"),
    KERNEL("ExperimentalScanDataset"),
    LEAT_KERNEL_ROWS_END,
};
