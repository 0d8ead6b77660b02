// A device (section 3): a name, memory of its own, a way to run kernels, streams where it has them.
// The runtime sees this table only; CPU, simulated and third-party devices implement it.
#ifndef LEAT_DEVICE_DEVICE_H_
#define LEAT_DEVICE_DEVICE_H_

#include "base/speed.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

typedef struct leat_device_s leat_device_t;
typedef void (*leat_device_done_fn_t)(void* data, leat_status_t status);

typedef struct leat_device_vtable_s {
  // Copies between this device's memory and the host's. A target without a type ("no tensor")
  // becomes the copy; one with bytes of its own (same type and shape: INVALID_ARGUMENT otherwise)
  // is filled. What a device enqueues it orders itself: a tensor of its memory may be given to the
  // next kernel or copy, or released, as soon as the call that makes or reads it has returned.
  LEAT_MUST_USE leat_status_t (*copy_from_host)(leat_device_t* self, const leat_tensor_t* host,
                                                leat_tensor_t* device_tensor);
  // |*host| is there when |done| is called, perhaps before this returns; |done| is not called when
  // this returns a failure.
  LEAT_MUST_USE leat_status_t (*copy_to_host)(leat_device_t* self,
                                              const leat_tensor_t* device_tensor,
                                              leat_tensor_t* host, leat_device_done_fn_t done,
                                              void* data);
  // All work enqueued so far is finished when |done| is called: so ends every step that ran kernels
  // whose rows say |enqueues|. NULL: kernels are synchronous.
  void (*synchronize)(leat_device_t* self, leat_device_done_fn_t done, void* data);
  void (*destroy)(leat_device_t* self);
} leat_device_vtable_t;

struct leat_device_s {
  const leat_device_vtable_t* vtable;
  leat_reference_count_t references;
  leat_string_view_t name;          // "/job:localhost/replica:0/task:0/device:CPU:0"
  leat_string_view_t type;          // "CPU"
  uint64_t incarnation;             // drawn at creation: a restarted device is another one
  int64_t memory_limit_bytes;
  leat_buffer_source_t* memory;     // where its tensors live
  leat_buffer_source_t* host_memory;  // staging and host arguments of its kernels
  leat_thread_pool_t* pool;         // where its kernels' shards run; may be NULL
  bool shares_host_memory;          // its tensors can be read by the host as they are
  leat_speed_t speed;
};

// A kind of devices; src/init.c lists them. A session opens as many as ConfigProto's device_count
// says under |name| (CPU: 1 where it says nothing, others: none).
typedef struct leat_device_type_s {
  const char* name;  // "CPU"
  // |name| is the device's full name. |pool| is retained.
  leat_status_t (*create)(leat_string_view_t name, leat_thread_pool_t* pool,
                          leat_allocator_t* allocator, leat_device_t** out_device);
} leat_device_type_t;
extern const leat_device_type_t leat_cpu_device_type;

void leat_device_retain(leat_device_t* device);
void leat_device_release(leat_device_t* device);  // NULL is allowed

// The CPU devices of this process. |pool| is retained.
LEAT_MUST_USE leat_status_t leat_cpu_device_create(leat_string_view_t name,
                                                   leat_thread_pool_t* pool,
                                                   leat_allocator_t* allocator,
                                                   leat_device_t** out_device);

#endif  // LEAT_DEVICE_DEVICE_H_
