// Kernels that read a whole dataset in one step. DatasetCardinality tells the number of its
// elements without reading any. DatasetToSingleElement gives its only element and fails where there
// is none or a second one. GetElementAtIndex gives one by its number; where the dataset cannot
// seek, the elements before it are made and dropped. ReduceDataset is a left fold: the function f
// is called for each element with the state so far, and the last state is the output,
//
//     state[i + 1] = f(state[i], element[i], other_arguments)
//
// The readers are asynchronous kernels that run a pull (ops/dataset/pull_cpu.h): no thread waits
// while a function of the pipeline, or f, is called. What a reader keeps from one step of its pull
// to the next is a reading_t, which is allocated when the kernel starts and freed before it reports
// that it is done.
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

// ---- Cardinality --------------------------------------------------------------------------------

static leat_status_t cardinality__cpu(leat_kernel_context_t* c) {
  leat_dataset_t* dataset;
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  *leat_tensor_data(output, int64_t) = leat_dataset_cardinality(dataset);
  return leat_ok_status();
}

// ---- Reading ------------------------------------------------------------------------------------

// A kernel's read in progress. Both kernels' states begin as leat_element_spec_state_t does, so
// that finish() can read the spec from either.
typedef struct reading_s {
  leat_pull_t pull;
  leat_iterator_t* iterator;
  // ReduceDataset's call of f: its arguments are the state, an element, then other_arguments
  leat_application_t application;
  int64_t left;                    // elements to drop before the one that is wanted
  bool has_value;                  // |values| hold tensors
  int value_count;
  leat_tensor_t* values;  // the only element, or the state: what becomes the outputs
  leat_tensor_t room[];   // memory of |values|, then of one more element
} reading_t;

static void end_reading(reading_t* r, leat_status_t status) {
  leat_kernel_context_t* context = r->pull.context;
  leat_kernel_done_fn_t done = r->pull.done;
  if (r->has_value) leat_element_release(r->values, r->value_count);
  leat_application_deinitialize(&r->application);
  leat_iterator_free(r->iterator);
  leat_allocator_free(leat_allocator_system(), r);
  done(context, status);
}

static void finish(leat_pull_t* pull, leat_status_t status) {
  reading_t* r = (reading_t*)pull;
  const leat_element_spec_state_t* state = leat_kernel_state(pull->context);
  if (!status) status = leat_element_spec_check_element(state->spec, r->values, r->value_count);
  if (!status) {
    for (int i = 0; i < r->value_count; ++i) {
      leat_kernel_set_output(pull->context, i, leat_tensor_move(&r->values[i]));
    }
  }
  end_reading(r, status);
}

// Makes a reading of the dataset at input 0. |value_count| is the number of outputs; 0 stands for
// as many as an element has components.
static leat_status_t begin_reading(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                                   leat_status_t (*step)(leat_pull_t*, leat_poll_t*),
                                   int value_count, reading_t** out_reading) {
  leat_dataset_t* dataset;
  reading_t* r;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  int components = dataset->spec->count;
  if (!value_count) value_count = components;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(),
      sizeof *r + ((size_t)value_count + (size_t)components) * sizeof(leat_tensor_t), (void**)&r));
  r->pull = (leat_pull_t){
      .services = c->services, .context = c, .done = done, .step = step, .finish = finish};
  r->value_count = value_count;
  r->values = r->room;
  leat_status_t status = leat_iterator_create(dataset, NULL, &r->iterator);
  if (status) {
    leat_allocator_free(leat_allocator_system(), r);
    return status;
  }
  *out_reading = r;
  return leat_ok_status();
}

// ---- The only element ---------------------------------------------------------------------------

// Reads the first element, and then asks for a second one to see that there is none.
static leat_status_t single_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  reading_t* r = (reading_t*)pull;
  leat_tensor_t* second = r->room + r->value_count;
  if (!r->has_value) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(r->iterator, pull, r->values, out_poll));
    if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
    if (*out_poll == LEAT_POLL_END) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Dataset was empty.");
    }
    r->has_value = true;
  }
  LEAT_RETURN_IF_ERROR(leat_iterator_next(r->iterator, pull, second, out_poll));
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  leat_element_release(second, r->value_count);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Dataset had more than one element.");
}

static void single__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  reading_t* r;
  leat_status_t status = begin_reading(c, done, single_step, 0, &r);
  if (status) {
    done(c, status);
  } else {
    leat_pull_run(&r->pull);
  }
}

// ---- An element by its index --------------------------------------------------------------------

// Drops the elements before the one that is wanted, where the dataset cannot seek. |left| counts
// them.
static leat_status_t at_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  reading_t* r = (reading_t*)pull;
  for (;;) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(r->iterator, pull, r->values, out_poll));
    if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
    if (*out_poll == LEAT_POLL_END) {
      return leat_make_status(LEAT_OUT_OF_RANGE, "the dataset ends before the element at index");
    }
    if (!r->left) break;
    --r->left;
    leat_element_release(r->values, r->value_count);
  }
  r->has_value = true;
  return leat_ok_status();
}

// Checks the index and moves to it, or leaves it to at_step.
static leat_status_t find_index(const leat_kernel_context_t* c, reading_t* r) {
  leat_dataset_t* dataset = r->iterator->dataset;
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  const int64_t count = leat_dataset_cardinality(dataset);
  int64_t index;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "index", &index));
  LEAT_RETURN_IF_ERROR(leat_element_spec_check_types(state->spec, dataset->spec));
  if (count < 0) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "the dataset has %s cardinality, which does not support random access",
                             count == LEAT_CARDINALITY_INFINITE ? "infinite" : "unknown");
  }
  if (index < 0 || index >= count) {
    return leat_kernel_error(c, LEAT_OUT_OF_RANGE, "Index out of range [0, %lld):%lld",
                             (long long)count, (long long)index);
  }
  if (dataset->seeks) return leat_iterator_seek(r->iterator, index);
  r->left = index;
  return leat_ok_status();
}

static void at__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  reading_t* r = NULL;
  leat_status_t status = begin_reading(c, done, at_step, 0, &r);
  if (!status) status = find_index(c, r);
  if (!status) {
    leat_pull_run(&r->pull);
  } else if (r) {
    end_reading(r, status);
  } else {
    done(c, status);
  }
}

// ---- Reduction ----------------------------------------------------------------------------------

// One step of the fold. The state is in |values| between calls; while f is called it is among the
// call's arguments, and |has_value| is false.
static leat_status_t reduce_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  reading_t* r = (reading_t*)pull;
  leat_application_t* application = &r->application;
  leat_dataset_fold_t* node = leat_kernel_state(pull->context);
  uint64_t function;
  if (application->pending) {
    leat_status_t status = leat_application_take(application, pull, r->values);
    leat_application_release_element(application);
    if (status) return status;
    r->has_value = true;
  }
  LEAT_RETURN_IF_ERROR(
      leat_iterator_next(r->iterator, pull, application->arguments + r->value_count, out_poll));
  if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_callee_find(pull->context, &node->function.callee, &function));
  leat_element_move(r->values, application->arguments, r->value_count);
  r->has_value = false;
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(application, pull, function);
  return leat_ok_status();
}

// Makes the reading of a ReduceDataset, with the initial state in place. The arguments of f are the
// state, an element, and the captured inputs, which are set once.
static leat_status_t begin_reduction(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                                     reading_t** out_reading) {
  const leat_dataset_fold_t* node = leat_kernel_state(c);
  int state = node->state_count, captured = leat_kernel_input_count(c) - 1 - state;
  reading_t* r;
  LEAT_RETURN_IF_ERROR(begin_reading(c, done, reduce_step, state, &r));
  int arguments = state + r->iterator->dataset->spec->count;
  leat_status_t status = leat_application_initialize(r->iterator->draw_counts, arguments, captured,
                                                     state, &r->application);
  if (status) {
    leat_iterator_free(r->iterator);
    leat_allocator_free(leat_allocator_system(), r);
    return status;
  }
  for (int i = 0; i < state; ++i) {
    r->values[i] = leat_tensor_share(leat_kernel_input(c, 1 + i));
  }
  for (int i = 0; i < captured; ++i) {
    r->application.arguments[arguments + i] = *leat_kernel_input(c, 1 + state + i);
  }
  r->has_value = true;
  *out_reading = r;
  return leat_ok_status();
}

static void reduce__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  reading_t* r;
  leat_status_t status = begin_reduction(c, done, &r);
  if (status) {
    done(c, status);
  } else {
    leat_pull_run(&r->pull);
  }
}

const leat_kernel_row_t leat_dataset_reader_kernels_cpu[] = {
    {.op = "DatasetCardinality", .device_type = "CPU", .compute = cardinality__cpu},
    {.op = "ExperimentalDatasetCardinality", .device_type = "CPU", .compute = cardinality__cpu},
    {.op = "DatasetToSingleElement",
     .device_type = "CPU",
     .create = leat_element_spec_state_create,
     .destroy = leat_element_spec_state_destroy,
     .state_bytes = sizeof(leat_element_spec_state_t),
     .compute_async = single__cpu},
    {.op = "GetElementAtIndex",
     .device_type = "CPU",
     .create = leat_element_spec_state_create,
     .destroy = leat_element_spec_state_destroy,
     .state_bytes = sizeof(leat_element_spec_state_t),
     .compute_async = at__cpu},
    {.op = "ReduceDataset",
     .device_type = "CPU",
     .create = leat_dataset_fold_create,
     .destroy = leat_dataset_function_destroy,
     .state_bytes = sizeof(leat_dataset_fold_t),
     .compute_async = reduce__cpu},
    LEAT_KERNEL_ROWS_END,
};
