// The CPU as a device (white paper, section 3, "Devices"): its memory is the host's, its kernels
// are synchronous, and copying a tensor to or from it only adds a reference, unless the target has
// bytes of its own. Because kernels are synchronous there is no |synchronize| function, and a copy
// is complete when it returns.
//
// The figures of speed are rough ones of a single core. They serve the cost model that places
// operations; several CPU devices of one process share the machine's memory, so that a transfer
// between them costs only its start.
#include <string.h>

#include "base/random.h"
#include "device/device.h"
#include "device/device_name.h"

typedef struct leat_cpu_device_s {
  leat_device_t device;
  leat_allocator_t* allocator;
} leat_cpu_device_t;

// About what a present-day core does, for the cost model. A transfer has no cost per byte.
static const leat_speed_t kSpeed = {
    .flops_per_ns = 30, .bytes_per_ns = 8, .start_ns = 500, .transfer_ns = 2000};

// The limit that TensorFlow states for CPU devices; nothing enforces it.
#define MEMORY_LIMIT_BYTES (INT64_C(256) << 20)

// Makes |to| a tensor with the elements of |from|: a reference if |to| has no type, else a copy
// into the bytes of |to|. INVALID_ARGUMENT when its type or shape differs.
static leat_status_t copy(const leat_tensor_t* from, leat_tensor_t* to) {
  if (to->dtype == 0) {
    *to = leat_tensor_share(from);
    return leat_ok_status();
  }
  if (from->dtype != to->dtype || !leat_shape_equal(&from->shape, &to->shape)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Copy between devices failed: target is %s of shape %s, must be %s of "
                            "shape %s",
                            leat_dtype_name(to->dtype), LEAT_SHAPE_TEXT(&to->shape),
                            leat_dtype_name(from->dtype), LEAT_SHAPE_TEXT(&from->shape));
  }
  if (from->data == to->data) return leat_ok_status();
  return leat_tensor_copy_elements(from->dtype, from->data, to->data, from->shape.element_count);
}

static leat_status_t copy_from_host(leat_device_t* self, const leat_tensor_t* host,
                                    leat_tensor_t* device_tensor) {
  return copy(host, device_tensor);
}

static leat_status_t copy_to_host(leat_device_t* self, const leat_tensor_t* device_tensor,
                                  leat_tensor_t* host, leat_device_done_fn_t done, void* data) {
  LEAT_RETURN_IF_ERROR(copy(device_tensor, host));
  done(data, leat_ok_status());
  return leat_ok_status();
}

static void destroy(leat_device_t* self) {
  leat_cpu_device_t* cpu = (leat_cpu_device_t*)self;
  leat_thread_pool_release(self->pool);
  leat_allocator_free(cpu->allocator, cpu);
}

static const leat_device_vtable_t cpu_vtable = {
    .copy_from_host = copy_from_host,
    .copy_to_host = copy_to_host,
    .destroy = destroy,
};

// INVALID_ARGUMENT unless |name| is the full name of a CPU.
static leat_status_t check_name(leat_string_view_t name) {
  leat_device_name_t parsed;
  LEAT_RETURN_IF_ERROR(leat_device_name_parse(name, &parsed));
  bool is_full = parsed.job.size > 0 && parsed.replica >= 0 && parsed.task >= 0 &&
                 parsed.index >= 0 && leat_string_view_equals(parsed.type, "CPU");
  if (is_full) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Device creation failed: name is '%.*s', must be the full name of a CPU",
                          LEAT_SV_ARG(name));
}

leat_status_t leat_cpu_device_create(leat_string_view_t name, leat_thread_pool_t* pool,
                                     leat_allocator_t* allocator, leat_device_t** out_device) {
  void* memory = NULL;
  *out_device = NULL;
  LEAT_RETURN_IF_ERROR(check_name(name));
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(allocator, sizeof(leat_cpu_device_t) + name.size + 1, &memory));
  leat_cpu_device_t* cpu = memory;
  char* text = (char*)(cpu + 1);
  memcpy(text, name.data, name.size);
  cpu->allocator = allocator;
  cpu->device = (leat_device_t){
      .vtable = &cpu_vtable,
      .references = 1,
      .name = leat_string_view_make(text, name.size),
      .type = LEAT_SV("CPU"),
      .incarnation = leat_random_seed() | 1,  // 0 means "none" in rendezvous keys
      .memory_limit_bytes = MEMORY_LIMIT_BYTES,
      .memory = leat_buffer_source_host(),
      .host_memory = leat_buffer_source_host(),
      .pool = pool,
      .shares_host_memory = true,
      .speed = kSpeed,
  };
  if (pool) leat_thread_pool_retain(pool);
  *out_device = &cpu->device;
  return leat_ok_status();
}

static leat_status_t create(const leat_device_type_t* type, const leat_device_request_t* request,
                            leat_device_t** out_device) {
  return leat_cpu_device_create(request->name, request->pool, request->allocator, out_device);
}

const leat_device_type_t leat_cpu_device_type = {.name = "CPU", .create = create};
