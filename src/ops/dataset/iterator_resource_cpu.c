// The iterator resource, and the turns that pulls take at it (ops/dataset/iterator_cpu.h). A turn
// is an attempt in the resource's wait queue: it succeeds when |busy| is false, and sets it. A pull
// may have to wait for an element that comes from a file or a function, so the turn cannot be a
// mutex, which a thread would have to hold meanwhile. Setting an iterator to another dataset checks
// the types of the elements first and begins at position 0. Kernels of iterators call these
// functions and never touch the wait queue themselves.
#include "base/random.h"
#include "ops/dataset/iterator_cpu.h"

// ---- Numbers ------------------------------------------------------------------------------------

static leat_mutex_t numbering = {PTHREAD_MUTEX_INITIALIZER};
static leat_iterator_resource_t* numbered;  // a list; it owns none of them

int64_t leat_iterator_resource_number(leat_iterator_resource_t* resource) {
  leat_mutex_lock(&numbering);
  if (!resource->number) {
    resource->number = (int64_t)(leat_random_seed() >> 1) | 1;
    resource->next_numbered = numbered;
    numbered = resource;
  }
  const int64_t number = resource->number;
  leat_mutex_unlock(&numbering);
  return number;
}

leat_resource_t* leat_iterator_resource_by_number(const leat_resource_kind_t* kind,
                                                  int64_t number) {
  leat_mutex_lock(&numbering);
  leat_iterator_resource_t* found = numbered;
  while (found && !(found->number == number && found->resource.kind == kind)) {
    found = found->next_numbered;
  }
  // It may have lost its last owner, and wait for the lock in order to leave the list.
  if (found && !leat_reference_count_retain_live(&found->resource.references)) found = NULL;
  leat_mutex_unlock(&numbering);
  return found ? &found->resource : NULL;
}

static void give_number_back(leat_iterator_resource_t* resource) {
  leat_mutex_lock(&numbering);
  leat_iterator_resource_t** place = &numbered;
  while (*place && *place != resource) place = &(*place)->next_numbered;
  if (*place) *place = resource->next_numbered;
  leat_mutex_unlock(&numbering);
}

// ---- The resource -------------------------------------------------------------------------------

void leat_iterator_resource_deinitialize(leat_iterator_resource_t* resource) {
  if (resource->number) give_number_back(resource);
  leat_iterator_free(resource->iterator);
  leat_status_free(resource->failure);
  leat_element_spec_release(resource->spec);
  leat_wait_queue_deinitialize(&resource->wait_queue);
}

static void destroy(leat_resource_t* self) {
  leat_iterator_resource_deinitialize((leat_iterator_resource_t*)self);
  leat_allocator_free(leat_allocator_system(), self);
}

const leat_resource_kind_t leat_iterator_kind = {.name = "Iterator", .destroy = destroy};

void leat_iterator_resource_initialize(const leat_resource_kind_t* kind, leat_element_spec_t* spec,
                                       leat_iterator_resource_t* resource) {
  resource->resource.kind = kind;
  resource->resource.references = 1;
  resource->spec = leat_element_spec_retain(spec);
  leat_wait_queue_initialize(&resource->resource, &resource->wait_queue);
}

leat_status_t leat_iterator_resource_create(void* data, leat_resource_t** out_resource) {
  leat_iterator_resource_t* resource;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &resource));
  leat_iterator_resource_initialize(&leat_iterator_kind, data, resource);
  *out_resource = &resource->resource;
  return leat_ok_status();
}

leat_status_t leat_iterator_resource_set(leat_iterator_resource_t* resource,
                                         leat_dataset_t* dataset) {
  leat_iterator_t* iterator;
  LEAT_RETURN_IF_ERROR(leat_element_spec_check(resource->spec, dataset->spec));
  LEAT_RETURN_IF_ERROR(leat_iterator_create(dataset, NULL, &iterator));
  leat_iterator_free(resource->iterator);
  resource->iterator = iterator;
  resource->position = 0;
  return leat_ok_status();
}

// ---- Turns --------------------------------------------------------------------------------------

typedef struct waiting_s {
  leat_attempt_t base;
  leat_turn_t* turn;
} waiting_t;

static leat_passage_t attempt_turn(leat_attempt_t* self) {
  leat_iterator_resource_t* resource = ((waiting_t*)self)->turn->resource;
  if (resource->busy) return LEAT_PASSAGE_WAITS;
  resource->busy = true;
  return LEAT_PASSAGE_DONE;
}

// Runs on whatever thread gave the turn, without a lock. A cancelled turn never had the iterator,
// so that it gives nothing back.
static void finish_waiting(leat_attempt_t* self) {
  leat_turn_t* turn = ((waiting_t*)self)->turn;
  if (!self->status) {
    leat_pull_run(&turn->pull);
    return;
  }
  leat_resource_release(&turn->resource->resource);
  turn->resource = NULL;
  turn->pull.finish(&turn->pull, self->status);
}

void leat_turn_take(leat_turn_t* turn) {
  waiting_t waiting = {.base = leat_attempt_of(turn->pull.context, sizeof waiting), .turn = turn};
  waiting.base.attempt = attempt_turn;
  waiting.base.finish = finish_waiting;
  leat_wait_queue_enter(&turn->resource->wait_queue, LEAT_LINE_OUT, &waiting.base);
}

static void leave(void* data) { ((leat_iterator_resource_t*)data)->busy = false; }

void leat_turn_end(leat_turn_t* turn) {
  leat_iterator_resource_t* resource = turn->resource;
  if (!resource) return;
  turn->resource = NULL;
  leat_wait_queue_change(&resource->wait_queue, leave, resource, 0);
  leat_resource_release(&resource->resource);
}

void leat_turn_begin(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                     const leat_resource_kind_t* kind, int input, size_t bytes,
                     leat_status_t (*step)(leat_pull_t*, leat_poll_t*),
                     void (*finish)(leat_pull_t*, leat_status_t)) {
  leat_turn_t* turn = NULL;
  leat_resource_t* resource = NULL;
  leat_status_t status = leat_handle_find(c, input, kind, &resource);
  if (!status) status = leat_allocator_allocate(leat_allocator_system(), bytes, (void**)&turn);
  if (status) {
    leat_resource_release(resource);
    done(c, status);
    return;
  }
  turn->pull = (leat_pull_t){
      .services = c->services, .context = c, .done = done, .step = step, .finish = finish};
  turn->resource = (leat_iterator_resource_t*)resource;
  leat_turn_take(turn);
}

void leat_turn_finish(leat_turn_t* turn, leat_status_t status) {
  leat_kernel_context_t* context = turn->pull.context;
  leat_kernel_done_fn_t done = turn->pull.done;
  leat_turn_end(turn);
  leat_allocator_free(leat_allocator_system(), turn);
  done(context, status);
}
