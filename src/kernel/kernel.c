// What a kernel asks of its context: outputs, forwarding, temporaries, references, errors.
//
// Forwarding lets an output take the memory of an input. The invariant is that nobody can tell: the
// input's slot is read by this input alone and never again (|last_readers|), the slot holds the
// only reference, the memory may be written, and element size and count agree. An input in a buffer
// of the memory plan is forwarded only where the plan names the same buffer for the output, because
// the plan has given these bytes a last reader and only the plan can prolong that.
//
// An output takes the buffer that the plan set aside for it if that is free and large enough, and
// else memory of the step's source. Values that outlive the step never lie in planned memory
// (take_input and keep_input copy then), since the plan uses it again.
#include "kernel/kernel.h"

#include "base/checked.h"
#include "kernel/resource.h"

void leat_slot_release(leat_slot_t* slot) {
  leat_tensor_release(&slot->tensor);
  if (slot->ref) leat_cell_release(slot->ref);
  slot->ref = NULL;
  slot->alive = false;
}

// ---- Outputs ------------------------------------------------------------------------------------

static inline leat_buffer_t* planned_buffer(const leat_kernel_context_t* c, int output) {
  return c->planned_outputs ? c->planned_outputs[output] : NULL;
}

static inline bool is_free(leat_buffer_t* buffer) {
  return atomic_load_explicit(&buffer->references, memory_order_acquire) == 0;
}

// Whether |buffer| is free and has room. Strings and other objects never lie in planned memory.
static inline bool planned_serves(leat_buffer_t* buffer, int dtype, const leat_shape_t* shape) {
  size_t bytes = 0;
  return is_free(buffer) && !leat_dtype_in(dtype, LEAT_DTYPES_OBJECT) &&
         leat_checked_multiply((size_t)shape->element_count, leat_dtype_size(dtype), &bytes) &&
         bytes <= buffer->size_bytes;
}

// The slot of output |index|, ready for a new value: a kernel may set an output twice.
static inline leat_slot_t* renewed_output(leat_kernel_context_t* c, int index) {
  LEAT_DCHECK(index >= 0 && index < c->kernel->output_count);
  leat_slot_t* slot = &c->outputs[index];
  if (LEAT_UNLIKELY(slot->tensor.dtype != 0)) leat_tensor_release(&slot->tensor);
  slot->alive = true;
  return slot;
}

leat_status_t leat_kernel_allocate_output(leat_kernel_context_t* c, int index,
                                          const leat_shape_t* shape, leat_tensor_t** out_tensor) {
  LEAT_DCHECK(shape->element_count >= 0);
  int dtype = leat_dtype_base(c->kernel->output_types[index]);
  leat_slot_t* slot = renewed_output(c, index);
  leat_buffer_t* planned = planned_buffer(c, index);
  *out_tensor = &slot->tensor;
  if (planned && LEAT_LIKELY(planned_serves(planned, dtype, shape))) {
    // The buffer was free, so nobody else counts references to it, and a plain store takes it.
    atomic_store_explicit(&planned->references, 1, memory_order_relaxed);
    slot->tensor.buffer = planned;
    slot->tensor.data = planned->data;
    slot->tensor.dtype = dtype;
    leat_shape_share(shape, &slot->tensor.shape);
    return leat_ok_status();
  }
  return leat_tensor_allocate(c->services->memory, dtype, shape, &slot->tensor);
}

leat_status_t leat_kernel_allocate_sized(leat_kernel_context_t* c, int index, int rank,
                                         const int64_t* dims, leat_tensor_t** out_tensor) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, index, &shape, out_tensor);
  leat_shape_release(&shape);
  return status;
}

// Whether no other input of the kernel has the same slot.
static bool is_read_once(const leat_kernel_context_t* c, int input) {
  uint32_t slot = c->input_slots[input];
  for (int i = 0; i < c->kernel->input_count; ++i) {
    if (c->input_slots[i] == slot && i != input) return false;
  }
  return true;
}

static bool types_agree(int from, int to) {
  if (from == to) return true;
  return leat_dtype_size(from) == leat_dtype_size(to) &&
         !leat_dtype_in(from, LEAT_DTYPES_OBJECT) && !leat_dtype_in(to, LEAT_DTYPES_OBJECT);
}

static bool can_forward(const leat_kernel_context_t* c, int input, int output,
                        const leat_shape_t* shape) {
  LEAT_DCHECK(input >= 0 && input < c->kernel->input_count);
  if (input > 63 || !(c->last_readers >> input & 1)) return false;
  const leat_slot_t* slot = &c->slots[c->input_slots[input]];
  leat_buffer_t* buffer = slot->tensor.buffer;
  if (!buffer || slot->ref || !leat_buffer_is_exclusive(buffer)) return false;
  if (slot->tensor.shape.element_count != shape->element_count) return false;
  if (!types_agree(slot->tensor.dtype, leat_dtype_base(c->kernel->output_types[output]))) {
    return false;
  }
  if (buffer->planned && planned_buffer(c, output) != buffer) return false;
  // A slice may begin at any address, but outputs must begin aligned.
  if ((uintptr_t)slot->tensor.data % LEAT_BUFFER_ALIGNMENT != 0) return false;
  return is_read_once(c, input);
}

// Moves the input's buffer to the output. The input keeps its address, type and shape to be read
// by. A move changes no reference count.
static leat_tensor_t* forward(leat_kernel_context_t* c, int input, int output,
                              const leat_shape_t* shape) {
  leat_tensor_t* from = &c->slots[c->input_slots[input]].tensor;
  LEAT_DCHECK(from->buffer && leat_buffer_is_exclusive(from->buffer));
  leat_slot_t* slot = renewed_output(c, output);
  slot->tensor.buffer = from->buffer;
  slot->tensor.data = from->data;
  slot->tensor.dtype = leat_dtype_base(c->kernel->output_types[output]);
  leat_shape_share(shape, &slot->tensor.shape);
  from->buffer = NULL;
  return &slot->tensor;
}

leat_status_t leat_kernel_forward_or_allocate(leat_kernel_context_t* c, int input, int output,
                                              const leat_shape_t* shape,
                                              leat_tensor_t** out_tensor) {
  if (can_forward(c, input, output, shape)) {
    *out_tensor = forward(c, input, output, shape);
    return leat_ok_status();
  }
  return leat_kernel_allocate_output(c, output, shape, out_tensor);
}

leat_status_t leat_kernel_forward_any_or_allocate(leat_kernel_context_t* c, uint64_t inputs,
                                                  int output, const leat_shape_t* shape,
                                                  leat_tensor_t** out_tensor) {
  for (uint64_t left = inputs & c->last_readers; left; left &= left - 1) {
    int input = __builtin_ctzll(left);
    if (input >= c->kernel->input_count) break;
    if (can_forward(c, input, output, shape)) {
      *out_tensor = forward(c, input, output, shape);
      return leat_ok_status();
    }
  }
  return leat_kernel_allocate_output(c, output, shape, out_tensor);
}

leat_status_t leat_kernel_set_output_int32(leat_kernel_context_t* c, int index,
                                           int64_t value) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, index, &scalar, &output));
  *leat_tensor_data(output, int32_t) = (int32_t)value;
  return leat_ok_status();
}

leat_status_t leat_kernel_set_output_bool(leat_kernel_context_t* c, int index, bool value) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, index, &scalar, &output));
  *leat_tensor_data(output, bool) = value;
  return leat_ok_status();
}

void leat_kernel_pass_input(leat_kernel_context_t* c, int input, int output) {
  renewed_output(c, output)->tensor = leat_tensor_share(leat_kernel_input(c, input));
}

leat_status_t leat_kernel_pass_input_reshaped(leat_kernel_context_t* c, int input, int output,
                                              const leat_shape_t* shape) {
  leat_slot_t* slot = renewed_output(c, output);
  return leat_tensor_reshape(leat_kernel_input(c, input), shape, &slot->tensor);
}

bool leat_kernel_owns_input(const leat_kernel_context_t* c, int index) {
  const leat_slot_t* slot = &c->slots[c->input_slots[index]];
  LEAT_DCHECK(index >= 0 && index < c->kernel->input_count);
  const leat_buffer_t* buffer = slot->tensor.buffer;
  const bool last = index < 64 && (c->last_readers >> index & 1) && is_read_once(c, index);
  return last && !slot->ref && buffer && !buffer->planned && leat_buffer_is_exclusive(buffer) &&
         slot->tensor.data == buffer->data;
}

leat_status_t leat_kernel_take_input(leat_kernel_context_t* c, int index,
                                     leat_tensor_t* out_tensor) {
  leat_slot_t* slot = &c->slots[c->input_slots[index]];
  if (leat_kernel_owns_input(c, index)) {
    *out_tensor = leat_tensor_move(&slot->tensor);
    return leat_ok_status();
  }
  return leat_tensor_copy(c->services->memory, &slot->tensor, out_tensor);
}

// A small part of a large buffer would keep the whole alive.
static bool is_wasteful(const leat_tensor_t* tensor) {
  LEAT_DCHECK(tensor->buffer);
  size_t bytes = tensor->buffer->size_bytes;
  return bytes > 4096 && leat_tensor_size_bytes(tensor) < bytes / 4;
}

leat_status_t leat_kernel_keep_input(leat_kernel_context_t* c, int index,
                                     leat_tensor_t* out_tensor) {
  leat_slot_t* slot = &c->slots[c->input_slots[index]];
  leat_buffer_t* buffer = slot->tensor.buffer;
  if (buffer && (buffer->planned || buffer->read_only || is_wasteful(&slot->tensor))) {
    return leat_tensor_copy(c->services->memory, &slot->tensor, out_tensor);
  }
  bool last = index < 64 && (c->last_readers >> index & 1) && !slot->ref && is_read_once(c, index);
  *out_tensor = last ? leat_tensor_move(&slot->tensor) : leat_tensor_share(&slot->tensor);
  return leat_ok_status();
}

leat_status_t leat_kernel_allocate_temporary(leat_kernel_context_t* c, int dtype,
                                             const leat_shape_t* shape,
                                             leat_tensor_t* out_tensor) {
  return leat_tensor_allocate(c->services->memory, dtype, shape, out_tensor);
}

// ---- References ---------------------------------------------------------------------------------

leat_cell_t* leat_kernel_input_ref(leat_kernel_context_t* c, int index) {
  LEAT_DCHECK(index >= 0 && index < c->kernel->input_count);
  return c->slots[c->input_slots[index]].ref;
}

void leat_kernel_set_output_ref(leat_kernel_context_t* c, int index, leat_cell_t* cell) {
  LEAT_DCHECK(cell);
  leat_slot_t* slot = renewed_output(c, index);
  leat_cell_t* former = slot->ref;
  leat_cell_retain(cell);
  slot->ref = cell;
  leat_cell_release(former);
}

void leat_kernel_pass_ref(leat_kernel_context_t* c, int input, int output) {
  leat_kernel_set_output_ref(c, output, leat_kernel_input_ref(c, input));
}

// ---- Errors -------------------------------------------------------------------------------------

leat_status_t leat_kernel_error_create(const leat_kernel_context_t* c, leat_status_code_t code,
                                       const char* file, int line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  leat_status_t status = leat_status_create_v(code, file, line, format, arguments);
  va_end(arguments);
  return leat_status_annotate(status, "Compute failed for node '%.*s' (%.*s)",
                              LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name));
}

leat_status_t leat_kernel_annotate(const leat_kernel_t* kernel, leat_status_t status) {
  if (!status || strstr(leat_status_message(status), "node '")) return status;
  return leat_status_annotate(status, "Compute failed for node '%.*s' (%.*s)",
                              LEAT_SV_ARG(kernel->node_name), LEAT_SV_ARG(kernel->op->name));
}
