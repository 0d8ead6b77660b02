// The interface of a device (white paper, section 3, "Devices"): a name, memory, the pool that runs
// its kernels, and streams where it has them. The runtime sees only this table; the CPU, the
// simulated accelerator and third-party devices implement it. Devices are reference-counted,
// and any thread may call their functions.
#ifndef LEAT_DEVICE_DEVICE_H_
#define LEAT_DEVICE_DEVICE_H_

#include "base/speed.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

typedef struct leat_device_s leat_device_t;
// Called once with the result of an asynchronous call, on any thread. |status| passes to the
// callee.
typedef void (*leat_device_done_fn_t)(void* data, leat_status_t status);

typedef struct leat_device_vtable_s {
  // Copies between this device's memory and the host's. A target without a type ("no tensor")
  // becomes the copy; a target with bytes must have the same type and shape (INVALID_ARGUMENT
  // otherwise) and is filled. A device that enqueues work orders it itself: a tensor of its memory
  // may be given to the next kernel or copy, or be released, as soon as the call that makes or
  // reads it has returned.
  LEAT_MUST_USE leat_status_t (*copy_from_host)(leat_device_t* self, const leat_tensor_t* host,
                                                leat_tensor_t* device_tensor);
  // |*host| is complete when |done| is called, which may be before this returns. |done| is not
  // called when this returns a failure.
  LEAT_MUST_USE leat_status_t (*copy_to_host)(leat_device_t* self,
                                              const leat_tensor_t* device_tensor,
                                              leat_tensor_t* host, leat_device_done_fn_t done,
                                              void* data);
  // Calls |done| when all work that was enqueued before has ended. Every step that ran kernels
  // whose rows say |enqueues| ends with this. NULL: the device's kernels are synchronous.
  void (*synchronize)(leat_device_t* self, leat_device_done_fn_t done, void* data);
  // Frees the device when its last reference is released.
  void (*destroy)(leat_device_t* self);
} leat_device_vtable_t;

struct leat_device_s {
  const leat_device_vtable_t* vtable;
  leat_reference_count_t references;
  leat_string_view_t name;          // "/job:localhost/replica:0/task:0/device:CPU:0"
  leat_string_view_t type;          // "CPU"
  // Drawn at random when the device is made: a restarted device is another one.
  uint64_t incarnation;
  int64_t memory_limit_bytes;  // what the device states; only the device may enforce it
  leat_buffer_source_t* memory;     // where its tensors live
  leat_buffer_source_t* host_memory;  // staging buffers and host arguments of its kernels
  leat_thread_pool_t* pool;         // runs the shards of its kernels; may be NULL
  bool shares_host_memory;          // the host can read its tensors in place
  leat_speed_t speed;  // estimates for the cost model
};

// What a session asks for when it opens a device.
typedef struct leat_device_request_s {
  leat_string_view_t name;  // in full
  int number;               // which of the kind's devices it shall be
  double memory_fraction;   // the part of the device's memory that it may take; 0: it decides
  leat_thread_pool_t* pool;  // retained by the device; may be NULL
  leat_allocator_t* allocator;
} leat_device_request_t;

// A kind of devices; src/init.c lists the library's own, and plug-ins register others. A session
// opens as many devices of a kind as ConfigProto's device_count states under |name|; without a
// statement one CPU, all that a plug-in has, and none of the other kinds.
typedef struct leat_device_type_s leat_device_type_t;
struct leat_device_type_s {
  const char* name;  // "CPU"
  leat_status_t (*create)(const leat_device_type_t* type, const leat_device_request_t* request,
                          leat_device_t** out_device);
  // How many there are; NULL: as many as a session asks for.
  leat_status_t (*count)(const leat_device_type_t* type, int* out_count);
  const leat_device_type_t* next;  // in the list of those that were registered
};
extern const leat_device_type_t leat_cpu_device_type;

// Adds |type|, which must stay valid for ever and says how many devices there are, to what sessions
// that are opened from now on have. ALREADY_EXISTS where a type of that name was registered. Any
// thread.
LEAT_MUST_USE leat_status_t leat_device_type_register(leat_device_type_t* type);
// The list of those that were registered, the latest first; NULL: there are none.
const leat_device_type_t* leat_device_types(void);

// Add and drop a reference; the last one destroys the device.
static inline void leat_device_retain(leat_device_t* device) {
  leat_reference_count_retain(&device->references);
}
static inline void leat_device_release(leat_device_t* device) {  // NULL is allowed
  if (device && leat_reference_count_release(&device->references)) device->vtable->destroy(device);
}

// For devices with memory of their own: makes |to| the target of a copy of |from|. A tensor without
// a type is allocated from |source|; any other must have the type and shape of |from|
// (INVALID_ARGUMENT).
LEAT_MUST_USE leat_status_t leat_device_prepare_target(const leat_tensor_t* from,
                                                       leat_buffer_source_t* source,
                                                       leat_tensor_t* to);

// Creates a CPU device of this process, with the full name |name|. |pool| is retained.
// INVALID_ARGUMENT for a name that is not a CPU's.
LEAT_MUST_USE leat_status_t leat_cpu_device_create(leat_string_view_t name,
                                                   leat_thread_pool_t* pool,
                                                   leat_allocator_t* allocator,
                                                   leat_device_t** out_device);

#endif  // LEAT_DEVICE_DEVICE_H_
