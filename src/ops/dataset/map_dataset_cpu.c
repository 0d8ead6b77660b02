// Kernels of the datasets that call a function for each element of their input:
//
//     map         gives what the function returns
//     filter      gives the elements for which the function returns true
//     take while  gives the elements before the first for which it returns false
//
// One call goes on at a time. |next| starts a call and answers PENDING; when it is called again, it
// takes the result (ops/dataset/pull_cpu.h). The element lies among the call's arguments meanwhile,
// from where the filters move it into their output. Those that make several calls at once are in
// parallel_map_dataset_cpu.c.
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef struct map_s {
  leat_dataset_t base;
  bool preserves_cardinality;
} map_t;

typedef struct map_iterator_s {
  leat_iterator_t base;
  leat_application_t application;
} map_iterator_t;

static void map_stop(leat_iterator_t* self) {
  leat_application_deinitialize(&((map_iterator_t*)self)->application);
}

// Asks the input for an element and starts a call with it. |*out_poll| is PENDING, or END where the
// input has ended.
static leat_status_t call_with_next(leat_iterator_t* self, leat_pull_t* pull,
                                    leat_poll_t* out_poll) {
  leat_application_t* application = &((map_iterator_t*)self)->application;
  LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, application->arguments, out_poll));
  if (*out_poll == LEAT_POLL_ELEMENT) {
    *out_poll = LEAT_POLL_PENDING;
    leat_application_start(application, pull, self->dataset->function);
  }
  return leat_ok_status();
}

// ---- Map ----------------------------------------------------------------------------------------

static leat_status_t map_start(leat_iterator_t* self) {
  return leat_iterator_prepare_calls(self, self->input->dataset->spec->count,
                                     self->dataset->spec->count,
                                     &((map_iterator_t*)self)->application);
}

static leat_status_t map_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                              leat_poll_t* out_poll) {
  leat_application_t* application = &((map_iterator_t*)self)->application;
  if (!application->pending) return call_with_next(self, pull, out_poll);
  leat_status_t status = leat_application_take(application, pull, out);
  leat_application_release_element(application);
  if (status) {
    bool preserves = ((const map_t*)self->dataset)->preserves_cardinality;
    return leat_function_failure(status, preserves, out_poll);
  }
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static int64_t map_cardinality(const leat_dataset_t* self) {
  return ((const map_t*)self)->preserves_cardinality ? leat_dataset_cardinality(self->inputs[0])
                                                     : LEAT_CARDINALITY_UNKNOWN;
}

static leat_status_t map_seek(leat_iterator_t* self, int64_t index) {
  return leat_iterator_seek(self->input, index);
}

static const leat_dataset_kind_t kMap = {.name = "Map",
                                         .dataset_bytes = sizeof(map_t),
                                         .iterator_bytes = sizeof(map_iterator_t),
                                         .opens_input = true,
                                         .start = map_start,
                                         .next = map_next,
                                         .stop = map_stop,
                                         .cardinality = map_cardinality,
                                         .seek = map_seek};

leat_status_t leat_map_dataset_kernel_create(leat_kernel_creation_t* c, void* state) {
  leat_dataset_function_t* function = state;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_attr_bool(c, "preserve_cardinality", &function->preserves_cardinality));
  return leat_dataset_function_create(c, "f", state);
}

static leat_status_t map__cpu(leat_kernel_context_t* c) {
  const leat_dataset_function_t* function = leat_kernel_state(c);
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_calling(c, &kMap, function->spec,
                                                   leat_kernel_input_count(c) - 1, &dataset));
  ((map_t*)dataset)->preserves_cardinality = function->preserves_cardinality;
  return leat_dataset_set_output(c, dataset);
}

// ---- Filter -------------------------------------------------------------------------------------

static leat_status_t filter_start(leat_iterator_t* self) {
  return leat_iterator_prepare_calls(self, self->dataset->spec->count, 1,
                                     &((map_iterator_t*)self)->application);
}

leat_status_t leat_filter_read_answer(const leat_tensor_t* answer, bool* out_matches) {
  if (answer->dtype != LEAT_DTYPE_BOOL || answer->shape.element_count != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Filter predicate `f` must return a scalar bool.");
  }
  *out_matches = *leat_tensor_data(answer, const bool);
  return leat_ok_status();
}

// Takes the result of the predicate's call. |*out_matches| is set only on success.
static leat_status_t take_answer(leat_application_t* application, leat_pull_t* pull,
                                 bool* out_matches) {
  leat_tensor_t answer;
  LEAT_RETURN_IF_ERROR(leat_application_take(application, pull, &answer));
  leat_status_t status = leat_filter_read_answer(&answer, out_matches);
  leat_tensor_release(&answer);
  return status;
}

// The element stays in the call's arguments while the predicate runs; it is released if it does not
// match. Without a call, or after an element that did not match, the next call is started.
static leat_status_t filter_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                 leat_poll_t* out_poll) {
  leat_application_t* application = &((map_iterator_t*)self)->application;
  bool matches = false;
  if (application->pending) {
    leat_status_t status = take_answer(application, pull, &matches);
    if (!matches) leat_application_release_element(application);
    if (status) return status;
  }
  if (!matches) return call_with_next(self, pull, out_poll);
  leat_element_move(application->arguments, out, application->element_count);
  *out_poll = LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static const leat_dataset_kind_t kFilter = {.name = "Filter",
                                            .dataset_bytes = sizeof(leat_dataset_t),
                                            .iterator_bytes = sizeof(map_iterator_t),
                                            .opens_input = true,
                                            .start = filter_start,
                                            .next = filter_next,
                                            .stop = map_stop,
                                            .cardinality = leat_dataset_unknown_cardinality};

static leat_status_t take_while_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                     leat_poll_t* out_poll) {
  leat_application_t* application = &((map_iterator_t*)self)->application;
  bool matches = false;
  if (!application->pending) return call_with_next(self, pull, out_poll);
  leat_status_t status = take_answer(application, pull, &matches);
  if (matches) {
    leat_element_move(application->arguments, out, application->element_count);
    *out_poll = LEAT_POLL_ELEMENT;
  }
  leat_application_release_element(application);
  return status;
}

static const leat_dataset_kind_t kTakeWhile = {.name = "TakeWhile",
                                               .dataset_bytes = sizeof(leat_dataset_t),
                                               .iterator_bytes = sizeof(map_iterator_t),
                                               .opens_input = true,
                                               .start = filter_start,
                                               .next = take_while_next,
                                               .stop = map_stop,
                                               .cardinality = leat_dataset_unknown_cardinality};

static leat_status_t filter_create(leat_kernel_creation_t* c, void* state) {
  return leat_dataset_function_create(c, "predicate", state);
}

static leat_status_t make_filter(leat_kernel_context_t* c, const leat_dataset_kind_t* kind) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(
      leat_dataset_create_calling(c, kind, NULL, leat_kernel_input_count(c) - 1, &dataset));
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t filter__cpu(leat_kernel_context_t* c) { return make_filter(c, &kFilter); }

static leat_status_t take_while__cpu(leat_kernel_context_t* c) {
  return make_filter(c, &kTakeWhile);
}

#define KERNEL(name, make_state, how)                                   \
  LEAT_CPU_KERNEL(name, NULL, leat_dataset_function_t, make_state, how, \
                  .destroy = leat_dataset_function_destroy)

const leat_kernel_row_t leat_map_dataset_kernels_cpu[] = {
    KERNEL("MapDataset", leat_map_dataset_kernel_create, map__cpu),
    KERNEL("FilterDataset", filter_create, filter__cpu),
    KERNEL("TakeWhileDataset", filter_create, take_while__cpu),
    KERNEL("ExperimentalTakeWhileDataset", filter_create, take_while__cpu),
    LEAT_KERNEL_ROWS_END,
};
