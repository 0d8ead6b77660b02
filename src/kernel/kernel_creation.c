// Making a kernel for a node. One block of memory holds the instance and, aligned to a cache line
// behind it, its state:
//
//   | leat_kernel_t | allocator | padding | state (row->state_bytes, zeroed) |
//
// The attribute getters trust the graph, which has checked every declared attribute and filled in
// defaults; what they refuse is a mistake of the op's row, so it is INTERNAL. If a row's |create|
// fails, its |destroy| is called on the state as far as it was made, so |create| needs no cleaning
// up. Stateful kernels get a wrapper around |compute| that checks the types of their outputs, since
// a queue or another device may hold something else than the node declares; the decision is made
// here once and costs other kernels nothing.
#include <string.h>

#include "base/checked.h"
#include "graph/op/shape_pattern.h"
#include "kernel/call.h"

// An instance as it is allocated. The state follows at STATE_OFFSET.
typedef struct leat_kernel_block_s {
  leat_kernel_t kernel;
  leat_allocator_t* allocator;
} leat_kernel_block_t;

#define STATE_ALIGNMENT 64
#define STATE_OFFSET \
  ((sizeof(leat_kernel_block_t) + STATE_ALIGNMENT - 1) & ~(size_t)(STATE_ALIGNMENT - 1))

// ---- Attributes ---------------------------------------------------------------------------------

leat_status_t leat_kernel_attr(const leat_kernel_creation_t* c, const char* name,
                               const leat_attr_value_t** out_value) {
  LEAT_DCHECK(c->attrs || c->attr_count == 0);
  *out_value = leat_attr_find(c->attrs, c->attr_count, leat_string_view_from(name));
  if (LEAT_LIKELY(*out_value != NULL)) return leat_ok_status();
  return leat_make_status(LEAT_INTERNAL,
                          "Kernel creation failed for node '%.*s' (%s): attribute %s is missing",
                          LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op, name);
}

// The attribute |name|, which must be of |kind|; an empty list may be of any kind.
static leat_status_t find_of_kind(const leat_kernel_creation_t* c, const char* name,
                                  leat_attr_kind_t kind, bool is_list,
                                  const leat_attr_value_t** out_value) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, name, out_value));
  const leat_attr_value_t* value = *out_value;
  bool is_empty_list = is_list && value->is_list && value->count == 0;
  if (LEAT_LIKELY((value->kind == kind && value->is_list == is_list) || is_empty_list)) {
    return leat_ok_status();
  }
  return leat_make_status(
      LEAT_INTERNAL, "Kernel creation failed for node '%.*s' (%s): attribute %s is %s, must be %s",
      LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op, name,
      leat_attr_kind_name((leat_attr_kind_t)value->kind, value->is_list),
      leat_attr_kind_name(kind, is_list));
}

leat_status_t leat_kernel_attr_bool(const leat_kernel_creation_t* c, const char* name,
                                    bool* out_value) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_of_kind(c, name, LEAT_ATTR_BOOL, false, &value));
  *out_value = value->b;
  return leat_ok_status();
}

leat_status_t leat_kernel_attr_int(const leat_kernel_creation_t* c, const char* name,
                                   int64_t* out_value) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_of_kind(c, name, LEAT_ATTR_INT, false, &value));
  *out_value = value->i;
  return leat_ok_status();
}

leat_status_t leat_kernel_attr_int32(const leat_kernel_creation_t* c, const char* name,
                                     int64_t* out_value) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, name, out_value));
  if (*out_value == (int32_t)*out_value) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (%.*s): %s is %lld, must fit into an "
                          "int32",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(c->kernel->op->name),
                          name, (long long)*out_value);
}

leat_status_t leat_kernel_attr_float(const leat_kernel_creation_t* c, const char* name,
                                     float* out_value) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_of_kind(c, name, LEAT_ATTR_FLOAT, false, &value));
  *out_value = value->f;
  return leat_ok_status();
}

leat_status_t leat_kernel_attr_type(const leat_kernel_creation_t* c, const char* name,
                                    int* out_dtype) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_of_kind(c, name, LEAT_ATTR_TYPE, false, &value));
  *out_dtype = value->type;
  return leat_ok_status();
}

leat_status_t leat_kernel_attr_string(const leat_kernel_creation_t* c, const char* name,
                                      leat_string_view_t* out_value) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_of_kind(c, name, LEAT_ATTR_STRING, false, &value));
  *out_value = value->s;
  return leat_ok_status();
}

leat_status_t leat_kernel_attr_ints(const leat_kernel_creation_t* c, const char* name,
                                    const int64_t** out_values, int* out_count) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_of_kind(c, name, LEAT_ATTR_INT, true, &value));
  *out_values = value->ints;
  *out_count = (int)value->count;
  return leat_ok_status();
}

leat_status_t leat_kernel_attr_shape(const leat_kernel_creation_t* c, const char* name,
                                     leat_partial_shape_t* out_shape) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_of_kind(c, name, LEAT_ATTR_SHAPE, false, &value));
  *out_shape = value->shape;
  return leat_ok_status();
}

leat_status_t leat_kernel_attr_tensor(const leat_kernel_creation_t* c, const char* name,
                                      const leat_tensor_t** out_tensor) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_of_kind(c, name, LEAT_ATTR_TENSOR, false, &value));
  *out_tensor = value->tensor;
  return leat_ok_status();
}

// ---- Instances ----------------------------------------------------------------------------------

static leat_status_t allocate_block(leat_allocator_t* allocator, size_t state_bytes,
                                    leat_kernel_block_t** out_block) {
  size_t size = 0;
  void* memory = NULL;
  if (!leat_checked_add(STATE_OFFSET, state_bytes, &size)) {
    return leat_make_status(LEAT_INTERNAL, "Kernel creation failed: state_bytes is %zu",
                            state_bytes);
  }
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate_aligned(allocator, STATE_ALIGNMENT, size, &memory));
  *out_block = memory;
  (*out_block)->allocator = allocator;
  return leat_ok_status();
}

// The compute function of stateful kernels.
static leat_status_t compute_verified(leat_kernel_context_t* context) {
  LEAT_RETURN_IF_ERROR(context->kernel->row->compute(context));
  return leat_kernel_verify_outputs(context, false);
}

static bool has_ref_inputs(const leat_kernel_spec_t* spec) {
  for (int i = 0; i < spec->input_count; ++i) {
    if (leat_dtype_is_ref(spec->input_types[i])) return true;
  }
  return false;
}

// Two threads that ask first make two copies, one of which is dropped.
leat_status_t leat_kernel_keep_attrs(const leat_kernel_t* kernel, leat_attr_list_t** out_attrs) {
  _Atomic(leat_attr_list_t*)* kept = (_Atomic(leat_attr_list_t*)*)&kernel->kept_attrs;
  leat_attr_list_t* known = atomic_load_explicit(kept, memory_order_acquire);
  if (!known) {
    leat_attr_list_t* made;
    LEAT_RETURN_IF_ERROR(leat_attr_list_create(kernel->attrs, kernel->attr_count, &made));
    if (atomic_compare_exchange_strong(kept, &known, made)) {
      known = made;
    } else {
      leat_attr_list_release(made);
    }
  }
  leat_attr_list_retain(known);
  *out_attrs = known;
  return leat_ok_status();
}

leat_status_t leat_kernel_create(const leat_kernel_spec_t* spec, leat_kernel_t** out_kernel) {
  const leat_kernel_row_t* row = spec->row;
  leat_kernel_block_t* block = NULL;
  *out_kernel = NULL;
  LEAT_DCHECK(spec->input_count >= 0 && spec->output_count >= 0 && spec->op->row);
  LEAT_RETURN_IF_ERROR(allocate_block(spec->allocator, row->state_bytes, &block));
  bool is_verified = row->compute && (spec->op->flags & LEAT_OP_STATEFUL) && spec->output_count;
  block->kernel = (leat_kernel_t){
      .row = row,
      .compute = is_verified ? compute_verified : row->compute,
      .op = spec->op,
      .node_name = spec->node_name,
      .device = spec->device,
      .state = row->state_bytes ? (char*)block + STATE_OFFSET : NULL,
      .input_types = spec->input_types,
      .output_types = spec->output_types,
      .input_count = spec->input_count,
      .output_count = spec->output_count,
      .contract = spec->op->row->contract,
      .shapes = spec->op->shapes && spec->op->shapes->input_count ? spec->op->shapes : NULL,
      .has_ref_inputs = has_ref_inputs(spec),
      .attrs = spec->attrs,
      .attr_count = spec->attr_count,
  };
  leat_kernel_creation_t creation = {
      .kernel = &block->kernel,
      .attrs = spec->attrs,
      .attr_count = spec->attr_count,
      .allocator = spec->allocator,
      .resources = spec->resources,
      .session_resources = spec->session_resources ? spec->session_resources : spec->resources,
  };
  leat_status_t status = row->create ? row->create(&creation, block->kernel.state)
                                     : leat_ok_status();
  if (status) {
    // The state began zeroed, so |destroy| can end what |create| made before it failed.
    leat_kernel_free(&block->kernel);
    return status;
  }
  *out_kernel = &block->kernel;
  return leat_ok_status();
}

void leat_kernel_free(leat_kernel_t* kernel) {
  if (!kernel) return;
  leat_kernel_block_t* block = (leat_kernel_block_t*)kernel;
  if (kernel->row->destroy) kernel->row->destroy(kernel->state);
  leat_attr_list_release(kernel->kept_attrs);
  leat_allocator_free(block->allocator, block);
}
