// CPU kernels of stacks. A stack is a resource of its step: it is made anew when the step runs the
// Stack op, and released with the step even when nothing closes it. Its mutex makes a push or a pop
// atomic; their order is the business of the graph, in which the gradient's loop counts down and
// each pop depends on the former one. Both versions of each op share a kernel, because the lookup
// reads either form of handle. A tensor is shared when it is pushed, and moved out when it is
// popped, so that its memory is freed as soon as the gradient has used it. swap_memory has no
// effect here.
#include "kernel/handle.h"
#include "ops/kernel_rows.h"

typedef struct stack_s {
  leat_resource_t resource;
  int32_t dtype;
  int64_t limit;  // of |count|
  leat_mutex_t mutex;
  // Under the mutex.
  leat_tensor_t* items;
  size_t count, room;
  bool closed;
} stack_t;

static void clear(stack_t* stack) {
  while (stack->count) leat_tensor_release(&stack->items[--stack->count]);
  leat_allocator_free(leat_allocator_system(), stack->items);
  stack->items = NULL;
  stack->room = 0;
}

static void stack_destroy(leat_resource_t* resource) {
  stack_t* stack = (stack_t*)resource;
  clear(stack);
  leat_mutex_deinitialize(&stack->mutex);
  leat_allocator_free(leat_allocator_system(), stack);
}

static const leat_resource_kind_t kStackKind = {.name = "Stack", .destroy = stack_destroy};

typedef struct stack_type_s {
  int dtype;
} stack_type_t;

static leat_status_t stack_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_type(c, "elem_type", &((stack_type_t*)state)->dtype);
}

// Reads max_size, which only StackV2 has; a negative one means no limit.
static leat_status_t read_limit(const leat_kernel_context_t* c, int64_t* out_limit) {
  *out_limit = INT64_MAX;
  if (c->kernel->input_count == 0) return leat_ok_status();
  const leat_tensor_t* size = leat_kernel_input(c, 0);
  if (size->shape.rank != 0) {
    return leat_kernel_invalid(c, "Stack size must be a scalar, but had shape: %s",
                               LEAT_SHAPE_TEXT(&size->shape));
  }
  int32_t limit = *leat_tensor_data(size, const int32_t);
  if (limit >= 0) *out_limit = limit;
  return leat_ok_status();
}

static leat_status_t stack__cpu(leat_kernel_context_t* c) {
  const stack_type_t* type = leat_kernel_state(c);
  int64_t limit;
  stack_t* stack;
  LEAT_RETURN_IF_ERROR(read_limit(c, &limit));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &stack));
  stack->resource.kind = &kStackKind;
  stack->resource.references = 1;
  stack->dtype = type->dtype;
  stack->limit = limit;
  leat_mutex_initialize(&stack->mutex);
  return leat_handle_make_of_step(c, 0, &stack->resource);
}

static leat_status_t find_stack(leat_kernel_context_t* c, stack_t** out_stack) {
  return leat_handle_find_of_step(c, 0, &kStackKind, (leat_resource_t**)out_stack);
}

static leat_status_t check_open(const leat_kernel_context_t* c, const stack_t* stack) {
  if (!stack->closed) return leat_ok_status();
  return leat_kernel_invalid(c, "Stack has already been closed.");
}

// Pushes |value|, with the mutex held; |value| is moved on success alone.
static leat_status_t push(leat_kernel_context_t* c, stack_t* stack, leat_tensor_t* value) {
  LEAT_RETURN_IF_ERROR(check_open(c, stack));
  if ((int64_t)stack->count >= stack->limit) {
    return leat_kernel_invalid(c, "Stack overflowed its max_size (%lld)",
                               (long long)stack->limit);
  }
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), stack->count + 1, &stack->items, &stack->room));
  stack->items[stack->count++] = leat_tensor_move(value);
  return leat_ok_status();
}

static leat_status_t push__cpu(leat_kernel_context_t* c) {
  stack_t* stack;
  leat_tensor_t value;
  LEAT_RETURN_IF_ERROR(find_stack(c, &stack));
  leat_status_t status = leat_ok_status();
  int32_t dtype = leat_kernel_input(c, 1)->dtype;
  if (dtype != stack->dtype) {
    status = leat_kernel_invalid(c, "Must have type %s but got %s", leat_dtype_name(stack->dtype),
                                 leat_dtype_name(dtype));
  }
  if (!status) status = leat_kernel_keep_input(c, 1, &value);
  if (!status) {
    leat_kernel_set_output(c, 0, leat_tensor_share(&value));
    leat_mutex_lock(&stack->mutex);
    status = push(c, stack, &value);
    leat_mutex_unlock(&stack->mutex);
    leat_tensor_release(&value);
  }
  leat_resource_release(&stack->resource);
  return status;
}

// Pops into |*out_value|, with the mutex held.
static leat_status_t pop(leat_kernel_context_t* c, stack_t* stack, leat_tensor_t* out_value) {
  LEAT_RETURN_IF_ERROR(check_open(c, stack));
  if (stack->count == 0) return leat_kernel_invalid(c, "Stack is empty when calling Pop().");
  if (stack->dtype != (int32_t)leat_dtype_base(c->kernel->output_types[0])) {
    return leat_kernel_invalid(c, "elem_type is %s, must be the stack's, %s",
                               leat_dtype_name(c->kernel->output_types[0]),
                               leat_dtype_name(stack->dtype));
  }
  *out_value = leat_tensor_move(&stack->items[--stack->count]);
  return leat_ok_status();
}

static leat_status_t pop__cpu(leat_kernel_context_t* c) {
  stack_t* stack;
  leat_tensor_t value;
  LEAT_RETURN_IF_ERROR(find_stack(c, &stack));
  leat_mutex_lock(&stack->mutex);
  leat_status_t status = pop(c, stack, &value);
  leat_mutex_unlock(&stack->mutex);
  leat_resource_release(&stack->resource);
  if (!status) leat_kernel_set_output(c, 0, value);
  return status;
}

static leat_status_t close__cpu(leat_kernel_context_t* c) {
  stack_t* stack;
  LEAT_RETURN_IF_ERROR(find_stack(c, &stack));
  leat_mutex_lock(&stack->mutex);
  clear(stack);
  stack->closed = true;
  leat_mutex_unlock(&stack->mutex);
  leat_resource_release(&stack->resource);
  return leat_ok_status();
}

#define STACK_STATE \
  .device_type = "CPU", .create = stack_create, .state_bytes = sizeof(stack_type_t)

const leat_kernel_row_t leat_stack_kernels_cpu[] = {
    {.op = "Stack", STACK_STATE, .compute = stack__cpu},
    {.op = "StackV2", STACK_STATE, .compute = stack__cpu},
    {.op = "StackPush", .device_type = "CPU", .compute = push__cpu},
    {.op = "StackPushV2", .device_type = "CPU", .compute = push__cpu},
    {.op = "StackPop", .device_type = "CPU", .compute = pop__cpu},
    {.op = "StackPopV2", .device_type = "CPU", .compute = pop__cpu},
    {.op = "StackClose", .device_type = "CPU", .compute = close__cpu},
    {.op = "StackCloseV2", .device_type = "CPU", .compute = close__cpu},
    LEAT_KERNEL_ROWS_END,
};
