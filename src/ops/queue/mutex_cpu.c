// CPU kernels of mutexes. A MutexLock that finds the mutex locked waits in its wait queue, without
// a thread, and is served in the order of coming. The lock that it outputs is a variant value that
// counts its holders: tensors that are copied share it, and releasing the last one unlocks the
// mutex and lets the next call try. Tying the lock to a value rather than to an unlock op means
// that no path through the graph, nor a failure of the step, can leave the mutex locked. The value
// holds a reference to the mutex, which therefore outlives its locks. A lock cannot be encoded,
// hence not sent to another process. ConsumeMutexLock checks that it sees the only holder, so that
// the tensor's release right after it unlocks the mutex.
#include "kernel/handle.h"
#include "kernel/wait_queue.h"
#include "ops/kernel_rows.h"

typedef struct mutex_s {
  leat_resource_t resource;
  leat_wait_queue_t wait_queue;
  bool locked;  // under the wait queue's lock
} mutex_t;

static void mutex_destroy(leat_resource_t* resource) {
  mutex_t* mutex = (mutex_t*)resource;
  leat_wait_queue_deinitialize(&mutex->wait_queue);
  leat_allocator_free(leat_allocator_system(), mutex);
}

static const leat_resource_kind_t kMutexKind = {.name = "Mutex", .destroy = mutex_destroy};

static leat_status_t make_mutex(void* data, leat_resource_t** out_resource) {
  (void)data;
  mutex_t* mutex;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &mutex));
  mutex->resource.kind = &kMutexKind;
  mutex->resource.references = 1;
  leat_wait_queue_initialize(&mutex->resource, &mutex->wait_queue);
  *out_resource = &mutex->resource;
  return leat_ok_status();
}

// ---- The lock as a value ------------------------------------------------------------------------

typedef struct lock_s {
  leat_reference_count_t references;
  mutex_t* mutex;
} lock_t;

static void lock_retain(void* self) {
  leat_reference_count_retain(&((lock_t*)self)->references);
}

static void unlock(void* data) { ((mutex_t*)data)->locked = false; }

// Releases one holder's reference; the last one unlocks the mutex, which lets the first waiting
// call try again.
static void lock_release(void* self) {
  lock_t* lock = self;
  if (!leat_reference_count_release(&lock->references)) return;
  leat_wait_queue_change(&lock->mutex->wait_queue, unlock, lock->mutex, 0);
  leat_resource_release(&lock->mutex->resource);
  leat_allocator_free(leat_allocator_system(), lock);
}

// A lock that is sent says only what it was; the receiver cannot make one of it, as in TensorFlow.
static leat_status_t lock_encode(void* self, char** out_metadata, size_t* out_metadata_size,
                                 struct leat_tensor_s** out_tensors, size_t* out_tensor_count) {
  *out_metadata = NULL;
  *out_tensors = NULL;
  *out_metadata_size = *out_tensor_count = 0;
  return leat_ok_status();
}

static const leat_variant_vtable_t kLockVtable = {
    .type_name = "tensorflow::SharedPtrVariant<tensorflow::(anonymous namespace)::"
                 "Mutex::LockReleaser>",
    .retain = lock_retain,
    .release = lock_release,
    .encode = lock_encode,
};

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t mutex_create(leat_kernel_creation_t* c, void* state) {
  return leat_handle_initialize(c, &kMutexKind, true, state);
}

static void handle_destroy(void* state) { leat_handle_deinitialize(state); }

static leat_status_t mutex__cpu(leat_kernel_context_t* c) {
  leat_resource_t* mutex;
  LEAT_RETURN_IF_ERROR(leat_handle_find_or_make(c, leat_kernel_state(c), &kMutexKind, make_mutex,
                                                NULL, &mutex));
  leat_resource_release(mutex);
  leat_handle_set_output(c, leat_kernel_state(c));
  return leat_ok_status();
}

typedef struct locking_s {
  leat_attempt_t base;
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  mutex_t* mutex;
} locking_t;

static leat_passage_t attempt_lock(leat_attempt_t* self) {
  mutex_t* mutex = ((locking_t*)self)->mutex;
  if (mutex->locked) return LEAT_PASSAGE_WAITS;
  mutex->locked = true;
  return LEAT_PASSAGE_DONE;
}

// Outputs a lock value for |mutex|, which is locked in the name of this kernel.
static leat_status_t set_lock(leat_kernel_context_t* c, mutex_t* mutex) {
  lock_t* lock;
  leat_tensor_t* output;
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &lock));
  lock->references = 1;
  lock->mutex = mutex;
  leat_resource_retain(&mutex->resource);
  *leat_tensor_data(output, leat_variant_t) = (leat_variant_t){&kLockVtable, lock};
  return leat_ok_status();
}

// Runs with the wait queue's lock free. Where the value cannot be made, nobody could ever unlock
// the mutex, so that is done here.
static void finish_lock(leat_attempt_t* self) {
  locking_t* a = (locking_t*)self;
  if (!self->status) {
    self->status = set_lock(a->context, a->mutex);
    if (self->status) leat_wait_queue_change(&a->mutex->wait_queue, unlock, a->mutex, 0);
  }
  a->done(a->context, self->status);
}

static void lock__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  locking_t a = {.base = leat_attempt_of(c, sizeof a), .context = c, .done = done};
  a.base.attempt = attempt_lock;
  a.base.finish = finish_lock;
  leat_status_t status = leat_handle_find(c, 0, &kMutexKind, (leat_resource_t**)&a.mutex);
  if (status) {
    done(c, status);
    return;
  }
  mutex_t* mutex = a.mutex;
  leat_wait_queue_enter(&mutex->wait_queue, LEAT_LINE_OUT, &a.base);
  leat_resource_release(&mutex->resource);
}

static leat_status_t consume__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  if (input->shape.rank != 0) {
    return leat_kernel_invalid(c, "Expected input to be a scalar, saw shape: %s",
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  const leat_variant_t* value = leat_tensor_data(input, const leat_variant_t);
  if (value->vtable != &kLockVtable) {
    return leat_kernel_invalid(c, "mutex_lock is no lock of a mutex");
  }
  const lock_t* lock = value->self;
  uint32_t holders = atomic_load(&lock->references);
  if (holders == 1) return leat_ok_status();
  return leat_kernel_invalid(c, "Expected use count of lock to be 1, but saw: %u", holders);
}

const leat_kernel_row_t leat_mutex_kernels_cpu[] = {
    {.op = "MutexV2", .device_type = "CPU", .create = mutex_create, .destroy = handle_destroy,
     .state_bytes = sizeof(leat_handle_t), .compute = mutex__cpu},
    {.op = "MutexLock", .device_type = "CPU", .compute_async = lock__cpu},
    {.op = "ConsumeMutexLock", .device_type = "CPU", .compute = consume__cpu},
    LEAT_KERNEL_ROWS_END,
};
