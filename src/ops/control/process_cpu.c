// CPU kernels of ops about the process. TensorFlow's Abort ends the process, which this library
// never does: the step ends with ABORTED, also where exit_without_error asks for an end that looks
// like success, because nothing that should follow the node has run.
#include "base/clock.h"
#include "ops/kernel_rows.h"

typedef struct abort_s {
  leat_string_view_t message;  // owned
} abort_t;

static leat_status_t abort_create(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t message;
  char* copy;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "error_msg", &message));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), message.size + 1, &copy));
  memcpy(copy, message.data, message.size);
  ((abort_t*)state)->message = leat_string_view_make(copy, message.size);
  return leat_ok_status();
}

static void abort_destroy(void* state) {
  leat_allocator_free(leat_allocator_system(), (void*)((abort_t*)state)->message.data);
}

static leat_status_t abort__cpu(leat_kernel_context_t* c) {
  const abort_t* node = leat_kernel_state(c);
  return leat_kernel_error(c, LEAT_ABORTED, "Abort_op intentional failure; %.*s",
                           LEAT_SV_ARG(node->message));
}

// The place is worked out when the kernel is made; a kind that is not in the list has the place
// behind its last item.
static leat_status_t device_index_create(leat_kernel_creation_t* c, void* state) {
  const leat_attr_value_t* names;
  uint32_t index = 0;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "device_names", &names));
  leat_string_view_t type = leat_string_view_from(c->kernel->row->device_type);
  while (index < names->count && !leat_string_view_equal(names->strings[index], type)) ++index;
  *(int*)state = (int)index;
  return leat_ok_status();
}

static leat_status_t device_index__cpu(leat_kernel_context_t* c) {
  return leat_kernel_set_output_int32(c, 0, *(const int*)leat_kernel_state(c));
}

static leat_status_t fact__cpu(leat_kernel_context_t* c) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return leat_tensor_set_string(output, 0, LEAT_SV("0! == 1"));
}

static leat_status_t timestamp__cpu(leat_kernel_context_t* c) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  *leat_tensor_data(output, double) = (double)leat_clock_wall_ns() * 1e-9;
  return leat_ok_status();
}

const leat_kernel_row_t leat_process_kernels_cpu[] = {
    LEAT_CPU_KERNEL("Abort", NULL, abort_t, abort_create, abort__cpu, .destroy = abort_destroy),
    LEAT_CPU_KERNEL("DeviceIndex", NULL, int, device_index_create, device_index__cpu),
    {.op = "Fact", .device_type = "CPU", .compute = fact__cpu},
    {.op = "Timestamp", .device_type = "CPU", .compute = timestamp__cpu},
    LEAT_KERNEL_ROWS_END,
};
