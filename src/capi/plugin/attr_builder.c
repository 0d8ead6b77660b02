// Three small parts of the C API that plugins and TensorFlow's tools use.
//
// TF_AttrBuilder answers whether a device has a kernel for an op with given types. A builder
// collects type attributes in an arena and asks the kernel registry; other kinds of attributes do
// not choose a kernel and are not kept. Its setters have no status, so the first failure is kept
// until the question is asked.
//
// TF_OpIsStateful and TF_GetNumberAttrForOpListInput answer questions about the declaration of an
// op.
//
// leat_capi_keep_name is the store of names that the C API hands out. Names of ops and attributes
// are views in Leat, which need not end in NUL, while callers of the C API get C strings that must
// stay valid for ever. Each name is therefore copied once and never freed; there are only as many
// as ops and attributes have names.
#include <string.h>

#include "base/map.h"
#include "capi/plugin/plugin.h"
#include "tensorflow/c/c_api_experimental.h"

struct TF_AttrBuilder {
  leat_arena_t arena;
  leat_string_view_t op;
  leat_attr_t* attrs;
  size_t count, capacity;
  // the first failure to keep an attribute; TF_AttrBuilderCheckCanRunOnDevice reports it
  leat_status_t status;
};

TF_AttrBuilder* TF_NewAttrBuilder(const char* op_name) {
  TF_AttrBuilder* builder = leat_capi_allocate(sizeof *builder);
  if (!builder) return NULL;
  leat_arena_initialize(leat_allocator_system(), 256, &builder->arena);
  builder->status = leat_arena_copy_string(
      &builder->arena, leat_string_view_from(op_name ? op_name : ""), &builder->op);
  return builder;
}

void TF_DeleteAttrBuilder(TF_AttrBuilder* builder) {
  if (!builder) return;
  leat_status_free(builder->status);
  leat_allocator_free(leat_allocator_system(), builder->attrs);
  leat_arena_deinitialize(&builder->arena);
  leat_allocator_free(leat_allocator_system(), builder);
}

// Keeps a type attribute or a list of types.
static leat_status_t add(TF_AttrBuilder* builder, const char* name, bool is_list,
                         const TF_DataType* values, int count) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), builder->count + 1, &builder->attrs, &builder->capacity));
  leat_attr_t attr = {.value = {.kind = LEAT_ATTR_TYPE, .is_list = is_list}};
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(
      &builder->arena, leat_string_view_from(name ? name : ""), &attr.name));
  if (is_list) {
    size_t items = count > 0 ? (size_t)count : 0;
    LEAT_RETURN_IF_ERROR(
        leat_arena_allocate_array(&builder->arena, items, sizeof(int32_t), &memory));
    for (size_t i = 0; i < items; ++i) ((int32_t*)memory)[i] = (int32_t)values[i];
    attr.value.types = memory;
    attr.value.count = (uint32_t)items;
  } else {
    attr.value.type = (int32_t)*values;
  }
  builder->attrs[builder->count++] = attr;
  return leat_ok_status();
}

void TF_AttrBuilderSetType(TF_AttrBuilder* builder, const char* attr_name, TF_DataType value) {
  builder->status = leat_status_join(builder->status, add(builder, attr_name, false, &value, 1));
}

void TF_AttrBuilderSetTypeList(TF_AttrBuilder* builder, const char* attr_name,
                               const TF_DataType* values, int num_values) {
  builder->status =
      leat_status_join(builder->status, add(builder, attr_name, true, values, num_values));
}

static leat_status_t find_op(leat_string_view_t name, const leat_op_t** out_op) {
  const leat_runtime_t* runtime = NULL;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  return leat_op_registry_find(runtime->ops, name, out_op);
}

// OK where |device_type| has a kernel for the op with the types that were set, and NOT_FOUND
// otherwise.
static leat_status_t check(const TF_AttrBuilder* builder, const char* device_type) {
  const leat_runtime_t* runtime = NULL;
  const leat_op_t* op = NULL;
  const leat_kernel_row_t* row = NULL;
  LEAT_RETURN_IF_ERROR(leat_status_clone(builder->status));
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(runtime->ops, builder->op, &op));
  return leat_kernel_registry_find(runtime->kernels, op, builder->attrs, (int)builder->count,
                                   leat_string_view_from(device_type ? device_type : ""), &row);
}

void TF_AttrBuilderCheckCanRunOnDevice(TF_AttrBuilder* builder, const char* device_type,
                                       TF_Status* status) {
  leat_capi_status_set(status, check(builder, device_type));
}

int TF_OpIsStateful(const char* op_type, TF_Status* status) {
  const leat_op_t* op = NULL;
  leat_status_t result = find_op(leat_string_view_from(op_type ? op_type : ""), &op);
  leat_capi_status_set(status, result);
  return op && (op->flags & LEAT_OP_STATEFUL) != 0;
}

// ---- Names that stay for ever -------------------------------------------------------------------

// Names of ops and attributes with a NUL, which the C API hands out for as long as the process
// lasts. There are at most as many as rows say. A key is the text that is its value.
static leat_mutex_t names_mutex = {PTHREAD_MUTEX_INITIALIZER};
static leat_string_map_t names;

leat_status_t leat_capi_allocate_with_texts(size_t size_bytes,
                                            const leat_string_builder_t* builders, int count,
                                            char** out_texts, void** out_memory) {
  size_t total = size_bytes;
  *out_memory = NULL;
  for (int i = 0; i < count; ++i) total += builders[i].size + 1;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), total, out_memory));
  char* at = (char*)*out_memory + size_bytes;
  for (int i = 0; i < count; ++i) {
    out_texts[i] = at;
    if (builders[i].size > 0) memcpy(at, builders[i].data, builders[i].size);
    at += builders[i].size + 1;
  }
  return leat_ok_status();
}

// A copy of |text| with a NUL, in the map of names, or NULL without memory. The mutex is held.
static const char* add_name(leat_string_view_t text) {
  char* name = leat_capi_allocate(text.size + 1);
  if (!name) return NULL;
  if (text.size > 0) memcpy(name, text.data, text.size);
  leat_status_t status = leat_string_map_set(&names, (leat_string_view_t){name, text.size},
                                             (uint64_t)(uintptr_t)name);
  if (!status) return name;
  leat_status_free(status);
  leat_allocator_free(leat_allocator_system(), name);
  return NULL;
}

const char* leat_capi_keep_name(leat_string_view_t text) {
  uint64_t found = 0;
  leat_mutex_lock(&names_mutex);
  if (!names.allocator) leat_string_map_initialize(leat_allocator_system(), &names);
  const char* name = leat_string_map_get(&names, text, &found) ? (const char*)(uintptr_t)found
                                                               : add_name(text);
  leat_mutex_unlock(&names_mutex);
  return name;
}

// Returns NULL for an input that is not a list with a number attribute.
const char* TF_GetNumberAttrForOpListInput(const char* op_name, int input_index,
                                           TF_Status* status) {
  const leat_op_t* op = NULL;
  leat_status_t result = find_op(leat_string_view_from(op_name ? op_name : ""), &op);
  if (!result && (input_index < 0 || input_index >= op->input_count)) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT, "input_index out of range for %.*s: %d",
                              LEAT_SV_ARG(op->name), input_index);
  }
  int attr = result ? -1 : op->inputs[input_index].number_attr;
  leat_capi_status_set(status, result);
  return attr < 0 ? NULL : leat_capi_keep_name(op->attrs[attr].name);
}
