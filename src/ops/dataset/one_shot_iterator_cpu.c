// The kernel of OneShotIterator, an iterator that needs no initializer: the first step that asks
// for its handle calls the function dataset_factory and sets the iterator to the dataset that it
// returns. The dataset is made once for the life of the resource. A failure is kept too: later
// steps get it without another call, unless the first step was only cancelled or ran out of time.
// Steps that come meanwhile wait for the turn at the iterator (ops/dataset/iterator_cpu.h) and find
// it settled. Once it is settled, a step reads one atomic flag and takes no turn.
#include "ops/dataset/iterator_cpu.h"
#include "ops/kernel_rows.h"

typedef struct one_shot_node_s {
  leat_handle_t handle;
  leat_element_spec_t* spec;
  leat_callee_t factory;
} one_shot_node_t;

static leat_status_t one_shot_create(leat_kernel_creation_t* c, void* state) {
  one_shot_node_t* node = state;
  leat_string_view_t shared_name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "shared_name", &shared_name));
  if (shared_name.size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "OneShotIteratorOp does not currently support the 'shared_name' attr.");
  }
  LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "dataset_factory", 0, &node->factory));
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_attrs(c, "output_types", &node->spec));
  return leat_handle_initialize(c, &leat_iterator_kind, false, &node->handle);
}

static void one_shot_destroy(void* state) {
  one_shot_node_t* node = state;
  leat_element_spec_release(node->spec);
  leat_handle_deinitialize(&node->handle);
}

typedef struct making_s {
  leat_turn_t turn;
  leat_application_t application;  // the call of dataset_factory
} making_t;

static leat_status_t take_dataset(making_t* making) {
  leat_tensor_t returned;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_application_take(&making->application, &making->turn.pull, &returned));
  leat_status_t status = leat_dataset_of(&returned, &dataset);
  if (!status) status = leat_iterator_resource_set(making->turn.resource, dataset);
  leat_tensor_release(&returned);
  return status;
}

// Records, for good, that the dataset was made or why it could not be made. A step that was
// cancelled or ran out of time says nothing about the dataset: the next step tries again.
static leat_status_t settle(leat_iterator_resource_t* resource, leat_status_t status) {
  if (leat_pull_was_stopped(status)) return status;
  resource->failure = leat_status_clone(status);
  atomic_store_explicit(&resource->settled, true, memory_order_release);
  return status;
}

static leat_status_t make_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  making_t* making = (making_t*)pull;
  one_shot_node_t* node = leat_kernel_state(pull->context);
  leat_iterator_resource_t* resource = making->turn.resource;
  uint64_t factory;
  if (resource->settled) return leat_ok_status();
  if (making->application.pending) return settle(resource, take_dataset(making));
  LEAT_RETURN_IF_ERROR(leat_callee_find(pull->context, &node->factory, &factory));
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(&making->application, pull, factory);
  return leat_ok_status();
}

// Gives the handle, or the failure that was recorded. |resource| is settled.
static void produce(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                    const leat_iterator_resource_t* resource) {
  const one_shot_node_t* node = leat_kernel_state(c);
  leat_status_t status = leat_status_clone(resource->failure);
  if (!status) leat_handle_set_output(c, &node->handle);
  done(c, status);
}

// The resource is retained across the end of the turn, because produce() reads it and another step
// may release the last other reference.
static void make_finish(leat_pull_t* pull, leat_status_t status) {
  making_t* making = (making_t*)pull;
  leat_kernel_context_t* context = pull->context;
  leat_kernel_done_fn_t done = pull->done;
  leat_iterator_resource_t* resource = making->turn.resource;
  if (resource) leat_resource_retain(&resource->resource);
  leat_turn_end(&making->turn);
  leat_application_deinitialize(&making->application);
  leat_allocator_free(leat_allocator_system(), making);
  if (status) {
    done(context, status);
  } else {
    produce(context, done, resource);
  }
  if (resource) leat_resource_release(&resource->resource);
}

static leat_status_t begin_making(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                                  leat_iterator_resource_t* resource, making_t** out_making) {
  making_t* making;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &making));
  leat_status_t status = leat_application_initialize(NULL, 0, 0, 1, &making->application);
  if (status) {
    leat_allocator_free(leat_allocator_system(), making);
    return status;
  }
  making->turn.pull =
      (leat_pull_t){.services = c->services,
                    .context = c,
                    .done = done,
                    .step = make_step,
                    .finish = make_finish};
  making->turn.resource = resource;
  *out_making = making;
  return leat_ok_status();
}

static void one_shot__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  const one_shot_node_t* node = leat_kernel_state(c);
  leat_iterator_resource_t* resource = NULL;
  making_t* making = NULL;
  leat_status_t status =
      leat_handle_find_or_make(c, &node->handle, &leat_iterator_kind, leat_iterator_resource_create,
                               node->spec, (leat_resource_t**)&resource);
  if (!status && atomic_load_explicit(&resource->settled, memory_order_acquire)) {
    produce(c, done, resource);
    leat_resource_release(&resource->resource);
    return;
  }
  if (!status) status = begin_making(c, done, resource, &making);
  if (status) {
    if (resource) leat_resource_release(&resource->resource);
    done(c, status);
    return;
  }
  leat_turn_take(&making->turn);
}

const leat_kernel_row_t leat_one_shot_iterator_kernels_cpu[] = {
    {.op = "OneShotIterator",
     .device_type = "CPU",
     .create = one_shot_create,
     .destroy = one_shot_destroy,
     .state_bytes = sizeof(one_shot_node_t),
     .compute_async = one_shot__cpu},
    LEAT_KERNEL_ROWS_END,
};
