// CPU kernels of the ops that make queues. The kernel reads the node's attributes once, when it is
// created, into options that live in an arena of its state. Each run finds the queue of the node's
// container and shared name, or makes it, checks that a queue found there has the same options, and
// outputs the handle. Nodes of several sessions, or of several workers that share a parameter
// server, reach one queue in this way (section 4.6); the check turns a mismatch into an error
// rather than letting tuples of one type be read as another.
#include "base/checked.h"
#include "kernel/handle.h"
#include "kernel/queue.h"
#include "ops/kernel_rows.h"
#include "ops/queue/tuple_queue_cpu.h"

typedef struct queue_handle_s {
  leat_handle_t handle;
  leat_arena_t arena;
  leat_queue_options_t options;
} queue_handle_t;

// Reads the attributes component_types and shapes. A priority queue's first component, the int64
// priority, is not in the attributes, and is added here.
static leat_status_t read_components(leat_kernel_creation_t* c, queue_handle_t* h) {
  const leat_attr_value_t *types, *shapes;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "component_types", &types));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "shapes", &shapes));
  uint32_t skipped = h->options.order == LEAT_QUEUE_PRIORITY;  // components before the attributes'
  int count = (int)(types->count + skipped);
  if (shapes->count && shapes->count != types->count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Different number of component types.  Types: %u, Shapes: %u",
                            types->count, shapes->count);
  }
  int32_t* own_types;
  leat_partial_shape_t* own_shapes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&h->arena, (size_t)count + 1, &own_types));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&h->arena, (size_t)count + 1, &own_shapes));
  own_types[0] = LEAT_DTYPE_INT64;
  own_shapes[0] = leat_partial_shape_scalar();
  for (uint32_t i = 0; i < types->count; ++i) own_types[i + skipped] = types->types[i];
  // As in TensorFlow, an unknown rank counts as a scalar where shapes must be known.
  int least_rank = h->options.order == LEAT_QUEUE_PADDING_FIFO ? -1 : 0;
  for (uint32_t i = 0; i < shapes->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_partial_shape_create(LEAT_MAX(shapes->shapes[i].rank, least_rank),
                                                   shapes->shapes[i].dims, &h->arena,
                                                   &own_shapes[i + skipped]));
  }
  h->options.types = own_types;
  h->options.count = count;
  h->options.shapes = shapes->count ? own_shapes : NULL;
  bool needs_shapes = h->options.order == LEAT_QUEUE_PADDING_FIFO && !h->options.shapes;
  if (!needs_shapes) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Shapes must be provided for all components, but received %u dtypes and "
                          "0 shapes.",
                          types->count);
}

// Fills in the options that all kinds have. A negative capacity means that the queue is unbounded.
static leat_status_t queue_create(leat_kernel_creation_t* c, queue_handle_t* h,
                                  leat_queue_order_t order) {
  h->options.order = order;
  leat_arena_initialize(c->allocator, 1024, &h->arena);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "capacity", &h->options.capacity));
  if (h->options.capacity < 0) h->options.capacity = INT64_MAX;
  LEAT_RETURN_IF_ERROR(read_components(c, h));
  LEAT_RETURN_IF_ERROR(leat_handle_initialize(c, &leat_queue_kind, false, &h->handle));
  h->options.name = h->handle.name;
  return leat_ok_status();
}

static leat_status_t fifo_create(leat_kernel_creation_t* c, void* state) {
  return queue_create(c, state, LEAT_QUEUE_FIFO);
}

static leat_status_t padding_create(leat_kernel_creation_t* c, void* state) {
  return queue_create(c, state, LEAT_QUEUE_PADDING_FIFO);
}

static leat_status_t priority_create(leat_kernel_creation_t* c, void* state) {
  return queue_create(c, state, LEAT_QUEUE_PRIORITY);
}

static leat_status_t shuffle_create(leat_kernel_creation_t* c, void* state) {
  queue_handle_t* h = state;
  int64_t seed, seed2;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_attr_int(c, "min_after_dequeue", &h->options.min_after_dequeue));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "seed", &seed));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "seed2", &seed2));
  h->options.seed = (uint64_t)seed;
  h->options.seed2 = (uint64_t)seed2;
  LEAT_RETURN_IF_ERROR(queue_create(c, h, LEAT_QUEUE_SHUFFLE));
  if (h->options.min_after_dequeue < h->options.capacity) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "min_after_dequeue %lld must be < capacity %lld",
                          (long long)h->options.min_after_dequeue,
                          (long long)h->options.capacity);
}

static void queue_destroy(void* state) {
  queue_handle_t* h = state;
  leat_handle_deinitialize(&h->handle);
  if (h->arena.allocator) leat_arena_deinitialize(&h->arena);
}

static leat_status_t make_queue(void* data, leat_resource_t** out_resource) {
  const queue_handle_t* h = data;
  leat_queue_t* queue;
  LEAT_RETURN_IF_ERROR(leat_tuple_queue_create(&h->options, &queue));
  *out_resource = &queue->resource;
  return leat_ok_status();
}

static leat_status_t queue__cpu(leat_kernel_context_t* c) {
  queue_handle_t* h = leat_kernel_state(c);
  leat_resource_t* queue;
  LEAT_RETURN_IF_ERROR(
      leat_handle_find_or_make(c, &h->handle, &leat_queue_kind, make_queue, h, &queue));
  leat_status_t status = leat_tuple_queue_check((leat_queue_t*)queue, &h->options);
  leat_resource_release(queue);
  if (!status) leat_handle_set_output(c, &h->handle);
  return status;
}

// Converts a resource handle to the older form, a reference to the container and the name.
static leat_status_t fake_queue__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* tensor = leat_kernel_input(c, 0);
  const leat_resource_handle_t* handle =
      tensor->shape.element_count == 1 ? *leat_tensor_data(tensor, leat_resource_handle_t*) : NULL;
  if (!handle) return leat_kernel_invalid(c, "handle is empty, must name a queue");
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(leat_handle_make_reference(handle->container, handle->name, &cell));
  leat_kernel_set_output_ref(c, 0, cell);
  leat_cell_release(cell);
  return leat_ok_status();
}

#define QUEUE_KERNEL(name, create_fn) \
  LEAT_CPU_KERNEL(name, NULL, queue_handle_t, create_fn, queue__cpu, .destroy = queue_destroy)
#define QUEUE_KERNELS(name, create_fn) \
  QUEUE_KERNEL(name, create_fn), QUEUE_KERNEL(name "V2", create_fn)

const leat_kernel_row_t leat_queue_handle_kernels_cpu[] = {
    QUEUE_KERNELS("FIFOQueue", fifo_create),
    QUEUE_KERNELS("PaddingFIFOQueue", padding_create),
    QUEUE_KERNELS("RandomShuffleQueue", shuffle_create),
    QUEUE_KERNELS("PriorityQueue", priority_create),
    {.op = "FakeQueue", .device_type = "CPU", .compute = fake_queue__cpu},
    LEAT_KERNEL_ROWS_END,
};
