// What a plugin's kernel asks while it is created: the name of its node and the node's attributes.
// Each getter finds the attribute, checks its kind, and copies it; the codes and texts of errors
// are TensorFlow's. Getters that differ only in types are made by one macro from a list. Attributes
// are borrowed from the graph, and tensors are copied, because a plugin may keep and write into
// what it gets.
#include <string.h>

#include "base/checked.h"
#include "capi/plugin/plugin.h"
#include "formats/wire/encode.h"
#include "graph/import/export.h"
#include "graph/op/attr_proto.h"
#include "tensorflow/c/kernels_experimental.h"

leat_status_t leat_capi_attr_find(const leat_attr_t* attrs, int attr_count,
                                  leat_string_view_t node_name, const char* name,
                                  leat_attr_kind_t kind, bool is_list,
                                  const leat_attr_value_t** out_value) {
  const leat_attr_value_t* value =
      leat_attr_find(attrs, attr_count, leat_string_view_from(name ? name : ""));
  *out_value = value;
  if (!value) {
    return leat_make_status(LEAT_NOT_FOUND, "No attr named '%s' in node '%.*s'", name ? name : "",
                            LEAT_SV_ARG(node_name));
  }
  bool is_empty = is_list && value->is_list && value->count == 0;
  if ((value->kind == kind && value->is_list == is_list) || is_empty) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "AttrValue had value with type '%s' when '%s' expected for attr '%s'",
                          leat_attr_kind_name((leat_attr_kind_t)value->kind, value->is_list),
                          leat_attr_kind_name(kind, is_list), name);
}

static leat_status_t find(const TF_OpKernelConstruction* ctx, const char* name,
                          leat_attr_kind_t kind, bool is_list,
                          const leat_attr_value_t** out_value) {
  const leat_kernel_creation_t* c = ctx->creation;
  return leat_capi_attr_find(c->attrs, c->attr_count, c->kernel->node_name, name, kind, is_list,
                             out_value);
}

void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction* ctx, TF_Status* status) {
  if (status) ctx->failure = leat_status_join(ctx->failure, leat_status_clone(status->status));
}

TF_StringView TF_OpKernelConstruction_GetName(TF_OpKernelConstruction* ctx) {
  leat_string_view_t name = ctx->creation->kernel->node_name;
  return (TF_StringView){name.data, name.size};
}

bool TF_OpKernelConstruction_HasAttr(TF_OpKernelConstruction* ctx, const char* attr_name,
                                     TF_Status* status) {
  const leat_kernel_creation_t* c = ctx->creation;
  leat_capi_status_set(status, leat_ok_status());
  return attr_name &&
         leat_attr_find(c->attrs, c->attr_count, leat_string_view_from(attr_name)) != NULL;
}

// ---- Sizes --------------------------------------------------------------------------------------

// The bytes of a string or the sizes of a shape; -1 for other kinds and unknown ranks.
static int32_t total_of(const leat_attr_value_t* item) {
  if (item->kind == LEAT_ATTR_STRING) return (int32_t)item->s.size;
  return item->kind == LEAT_ATTR_SHAPE && item->shape.rank >= 0 ? item->shape.rank : -1;
}

void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction* ctx, const char* attr_name,
                                         int32_t* list_size, int32_t* total_size,
                                         TF_Status* status) {
  const leat_kernel_creation_t* c = ctx->creation;
  leat_string_view_t name = leat_string_view_from(attr_name ? attr_name : "");
  const leat_attr_value_t* value = leat_attr_find(c->attrs, c->attr_count, name);
  *list_size = *total_size = -1;
  leat_capi_status_set(
      status, value ? leat_ok_status()
                    : leat_make_status(LEAT_INVALID_ARGUMENT,
                                       "Operation '%.*s' has no attr named '%.*s'.",
                                       LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(name)));
  if (!value) return;
  if (!value->is_list) {
    *total_size = total_of(value);
    return;
  }
  *list_size = (int32_t)value->count;
  if (value->kind != LEAT_ATTR_STRING && value->kind != LEAT_ATTR_SHAPE) return;
  if (value->count > 0) *total_size = 0;
  for (uint32_t i = 0; i < value->count; ++i) {
    leat_attr_value_t item = leat_attr_value_item(value, i);
    *total_size += LEAT_MAX(total_of(&item), 0);
  }
}

// ---- Numbers ------------------------------------------------------------------------------------

static leat_status_t check_int32(const char* name, int64_t value) {
  if (value >= INT32_MIN && value <= INT32_MAX) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Attr %s has value %lld out of range for an int32",
                          name, (long long)value);
}

#define GET TF_OpKernelConstruction_GetAttrType
#define GET_LIST TF_OpKernelConstruction_GetAttrTypeList
#define TYPE TF_DataType
#define KIND LEAT_ATTR_TYPE
#define ONE type
#define MANY types
#include "capi/plugin/construction_getters.inc"

#define GET TF_OpKernelConstruction_GetAttrInt32
#define GET_LIST TF_OpKernelConstruction_GetAttrInt32List
#define TYPE int32_t
#define KIND LEAT_ATTR_INT
#define ONE i
#define MANY ints
#include "capi/plugin/construction_getters.inc"

#define GET TF_OpKernelConstruction_GetAttrInt64
#define GET_LIST TF_OpKernelConstruction_GetAttrInt64List
#define TYPE int64_t
#define KIND LEAT_ATTR_INT
#define ONE i
#define MANY ints
#include "capi/plugin/construction_getters.inc"

#define GET TF_OpKernelConstruction_GetAttrFloat
#define GET_LIST TF_OpKernelConstruction_GetAttrFloatList
#define TYPE float
#define KIND LEAT_ATTR_FLOAT
#define ONE f
#define MANY floats
#include "capi/plugin/construction_getters.inc"

#define GET TF_OpKernelConstruction_GetAttrBool
#define GET_LIST TF_OpKernelConstruction_GetAttrBoolList
#define TYPE TF_Bool
#define KIND LEAT_ATTR_BOOL
#define ONE b
#define MANY bools
#include "capi/plugin/construction_getters.inc"

// ---- Strings, shapes, tensors, functions --------------------------------------------------------

void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction* ctx, const char* attr_name,
                                           char* val, size_t max_length, TF_Status* status) {
  const leat_attr_value_t* value = NULL;
  leat_status_t result = find(ctx, attr_name, LEAT_ATTR_STRING, false, &value);
  size_t size = result ? 0 : LEAT_MIN(value->s.size, max_length);
  if (size > 0) memcpy(val, value->s.data, size);
  leat_capi_status_set(status, result);
}

// The strings are copied one behind the other into |storage|, of which |left| bytes are left.
static leat_status_t copy_strings(const leat_attr_value_t* value, char** values, size_t* lengths,
                                  int max_values, char* storage, size_t left) {
  for (int i = 0; i < max_values && i < (int)value->count; ++i) {
    leat_string_view_t text = value->strings[i];
    values[i] = storage;
    lengths[i] = text.size;
    if (text.size > left) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Not enough storage to hold the requested list of strings");
    }
    if (text.size > 0) memcpy(storage, text.data, text.size);
    storage += text.size;
    left -= text.size;
  }
  return leat_ok_status();
}

void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction* ctx, const char* attr_name,
                                               char** values, size_t* lengths, int max_values,
                                               void* storage, size_t storage_size,
                                               TF_Status* status) {
  const leat_attr_value_t* value = NULL;
  leat_status_t result = find(ctx, attr_name, LEAT_ATTR_STRING, true, &value);
  if (!result) result = copy_strings(value, values, lengths, max_values, storage, storage_size);
  leat_capi_status_set(status, result);
}

void TF_OpKernelConstruction_GetAttrTensorShape(TF_OpKernelConstruction* ctx,
                                                const char* attr_name, int64_t* dims,
                                                size_t num_dims, TF_Status* status) {
  const leat_attr_value_t* value = NULL;
  leat_status_t result = find(ctx, attr_name, LEAT_ATTR_SHAPE, false, &value);
  for (size_t i = 0; !result && i < num_dims && (int64_t)i < value->shape.rank; ++i) {
    dims[i] = value->shape.dims[i];
  }
  leat_capi_status_set(status, result);
}

// The kernel may write into the tensors, so that they are copies.
void TF_OpKernelConstruction_GetAttrTensor(TF_OpKernelConstruction* ctx, const char* attr_name,
                                           TF_Tensor** val, TF_Status* status) {
  const leat_attr_value_t* value = NULL;
  *val = NULL;
  leat_status_t result = find(ctx, attr_name, LEAT_ATTR_TENSOR, false, &value);
  if (!result) result = leat_capi_tensor_wrap_copy(value->tensor, val);
  leat_capi_status_set(status, result);
}

void TF_OpKernelConstruction_GetAttrTensorList(TF_OpKernelConstruction* ctx, const char* attr_name,
                                               TF_Tensor** vals, int max_values,
                                               TF_Status* status) {
  const leat_attr_value_t* value = NULL;
  leat_status_t result = find(ctx, attr_name, LEAT_ATTR_TENSOR, true, &value);
  for (int i = 0; !result && i < max_values && i < (int)value->count; ++i) {
    result = leat_capi_tensor_wrap_copy(value->tensors[i], &vals[i]);
  }
  leat_capi_status_set(status, result);
}

// ---- Messages -----------------------------------------------------------------------------------

typedef leat_status_t (*encode_t)(const TF_OpKernelConstruction* ctx, const char* name,
                                  leat_arena_t* arena, leat_string_builder_t* bytes);

// Returns the message that |fn| encodes, in a new buffer.
static TF_Buffer* encode(const TF_OpKernelConstruction* ctx, const char* name, encode_t fn,
                         TF_Status* status) {
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t result = fn(ctx, name, &arena, &bytes);
  TF_Buffer* buffer = leat_capi_buffer_return(result, &bytes, status);
  leat_arena_deinitialize(&arena);
  return buffer;
}

static leat_status_t encode_function(const TF_OpKernelConstruction* ctx, const char* name,
                                     leat_arena_t* arena, leat_string_builder_t* bytes) {
  const leat_attr_value_t* value = NULL;
  leat_pb_attr_value_t proto;
  LEAT_RETURN_IF_ERROR(find(ctx, name, LEAT_ATTR_FUNCTION, false, &value));
  LEAT_RETURN_IF_ERROR(leat_attr_value_to_proto(value, arena, &proto));
  return leat_message_encode(&leat_pb_name_attr_list_descriptor, proto.func, bytes);
}

TF_Buffer* TF_OpKernelConstruction_GetAttrFunction(TF_OpKernelConstruction* ctx,
                                                   const char* attr_name, TF_Status* status) {
  return encode(ctx, attr_name, encode_function, status);
}

// Encodes the node. A kernel knows its node's attributes but not where its inputs come from, so
// that the NodeDef has no inputs.
static leat_status_t encode_node(const TF_OpKernelConstruction* ctx, const char* name,
                                 leat_arena_t* arena, leat_string_builder_t* bytes) {
  const leat_kernel_creation_t* c = ctx->creation;
  leat_pb_node_def_t def = {.name = c->kernel->node_name,
                            .op = c->kernel->op->name,
                            .device = c->kernel->device->name};
  LEAT_RETURN_IF_ERROR(leat_attrs_to_def(c->attrs, c->attr_count, arena, &def.attr));
  return leat_message_encode(&leat_pb_node_def_descriptor, &def, bytes);
}

TF_Buffer* TF_OpKernelConstruction_GetNodeDef(TF_OpKernelConstruction* ctx, TF_Status* status) {
  return encode(ctx, NULL, encode_node, status);
}
