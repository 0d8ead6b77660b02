// CPU devices that each have memory of their own, counted and limited, as accelerators have
// (memory.h). A session is opened as always, and then each of its devices gets a source of buffers
// that counts; the kernel of Recv is replaced by one that copies what it receives into the device's
// memory. Values come in at once but are delivered by one thread, as by a network with a pace of
// its own, so that a test sees the memory which values take while nobody has asked for them yet.
// The runtime of the scene is a copy whose open_target() adds all this, which leaves other tests in
// the process alone.
#include "session/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "kernel/registry.h"

typedef struct memory_s {
  leat_buffer_source_t base;
  _Atomic size_t used, peak, limit;
} memory_t;

static memory_t memories[kMemoryDevices];
static leat_runtime_t runtime;
static const leat_runtime_t* below;
static leat_kernel_row_t rows[2];
static void (*receive)(leat_kernel_context_t* context, leat_kernel_done_fn_t done);
static _Atomic(leat_kernel_done_fn_t) received;

// ---- Memory -------------------------------------------------------------------------------------

static void release(void* data, size_t size_bytes, void* memory) {
  atomic_fetch_sub(&((memory_t*)memory)->used, size_bytes);
  free(data);
}

static leat_status_t allocate(leat_buffer_source_t* self, size_t size_bytes,
                              leat_buffer_t** out_buffer) {
  memory_t* memory = (memory_t*)self;
  void* data = NULL;
  size_t used = atomic_fetch_add(&memory->used, size_bytes) + size_bytes;
  size_t limit = atomic_load(&memory->limit), peak = atomic_load(&memory->peak);
  if ((limit && used > limit) || posix_memalign(&data, 64, size_bytes ? size_bytes : 1)) {
    atomic_fetch_sub(&memory->used, size_bytes);
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "the device has no %zu bytes left",
                            size_bytes);
  }
  while (used > peak && !atomic_compare_exchange_weak(&memory->peak, &peak, used)) continue;
  leat_status_t status = leat_buffer_wrap(data, size_bytes, release, memory, out_buffer);
  if (status) release(data, size_bytes, memory);
  return status;
}

static const leat_buffer_source_vtable_t vtable = {.allocate = allocate};

void memory_limit(int device, size_t bytes) { atomic_store(&memories[device].limit, bytes); }

size_t memory_peak(int device) {
  return atomic_exchange(&memories[device].peak, atomic_load(&memories[device].used));
}

size_t memory_used(int device) { return atomic_load(&memories[device].used); }

// ---- Receiving ----------------------------------------------------------------------------------

// A network of its own pace: values that were asked for come into the device's memory whether or
// not anybody has time for them, then they are handed over, one after another, by a thread.
typedef struct arrival_s {
  struct arrival_s* next;
  leat_kernel_context_t* context;
  leat_status_t status;
} arrival_t;

static leat_mutex_t mutex = {PTHREAD_MUTEX_INITIALIZER};
static leat_condition_t condition;
static arrival_t *first, **last = &first;

// The thread that plays the network: it delivers one tensor every 100 us, in the order of arrival.
static void hand_over(void* data) {
  for (;;) {
    leat_mutex_lock(&mutex);
    while (!first) leat_condition_wait(&condition, &mutex);
    arrival_t* arrival = first;
    first = arrival->next;
    if (!first) last = &first;
    leat_mutex_unlock(&mutex);
    atomic_load(&received)(arrival->context, arrival->status);
    free(arrival);
    usleep(100);
  }
}

// Copies what was received into the memory that the step has counted for, as a tensor from another
// machine would come, and leaves the delivery to the other thread.
static void arrive(leat_kernel_context_t* c, leat_status_t status) {
  leat_slot_t* slot = &c->outputs[0];
  if (c->services->memory->vtable != &vtable) {
    atomic_load(&received)(c, status);
    return;
  }
  if (!status && slot->alive) {
    leat_tensor_t copy = {0};
    status = leat_tensor_copy(c->services->memory, &slot->tensor, &copy);
    leat_tensor_release(&slot->tensor);
    slot->tensor = copy;
  }
  arrival_t* arrival = calloc(1, sizeof *arrival);
  *arrival = (arrival_t){NULL, c, status};
  leat_mutex_lock(&mutex);
  *last = arrival;
  last = &arrival->next;
  leat_condition_notify_one(&condition);
  leat_mutex_unlock(&mutex);
}

static void receive_copy(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  atomic_store(&received, done);  // the executor's, the same for all
  receive(c, arrive);
}

static void register_receive(void) {
  const leat_op_t* op;
  const leat_kernel_row_t* row;
  leat_attr_t attr = LEAT_TYPE("tensor_type", LEAT_DTYPE_FLOAT);
  if (receive) return;
  LEAT_EXPECT_OK(leat_op_registry_find(below->ops, LEAT_OP_NAME_RECV, &op));
  LEAT_EXPECT_OK(
      leat_kernel_registry_find(below->kernels, op, &attr, 1, LEAT_SV("CPU"), &row));
  rows[0] = *row;
  receive = row->compute_async;
  rows[0].compute_async = receive_copy;
  rows[0].priority = 100;
  leat_thread_t thread;
  leat_condition_initialize(&condition);
  LEAT_EXPECT_OK(leat_thread_start("network", hand_over, NULL, &thread));
  leat_thread_detach(thread);
  LEAT_EXPECT_OK(leat_kernel_registry_add(below->kernels, rows));
}

// ---- Sessions -----------------------------------------------------------------------------------

// Opens the real target, and then puts the counting memories under its devices.
static leat_status_t open_target(const leat_runtime_t* self, leat_string_view_t name,
                                 const leat_session_options_t* options, leat_target_t* target) {
  (void)self;
  LEAT_RETURN_IF_ERROR(below->open_target(below, name, options, target));
  for (int i = 0; i < target->device_count && i < kMemoryDevices; ++i) {
    target->devices[i]->memory = &memories[i].base;
  }
  return leat_ok_status();
}

void memory_open(scene_t* scene) {
  below = scene->runtime;
  runtime = *below;
  runtime.open_target = open_target;
  scene->runtime = &runtime;
  register_receive();
  for (int i = 0; i < kMemoryDevices; ++i) {
    memories[i].base.vtable = &vtable;
    atomic_store(&memories[i].limit, 0);
    memory_peak(i);
  }
}
