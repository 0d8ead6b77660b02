// Setting attributes of an operation under construction. Every value is copied into the
// description's arena. Tensors are copied as well, as in TensorFlow, because their owner may write
// into them or reuse their memory as soon as the call has returned; the node and all sessions that
// run it share this one copy. Most setters have no TF_Status: their errors are kept in the
// description and reported by TF_FinishOperation. The attribute _class is special: setting it
// replaces the colocations that TF_ColocateWith asked for.
#include <string.h>

#include "capi/graph/attr_message.h"
#include "capi/graph/description.h"
#include "graph/storage.h"

// Copies |count| items into the arena.
static leat_status_t copy_items(TF_OperationDescription* desc, const void* items, int count,
                                size_t item_bytes, void** out_items) {
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(&desc->arena, (size_t)count, item_bytes, out_items));
  if (count > 0) memcpy(*out_items, items, (size_t)count * item_bytes);
  return leat_ok_status();
}

// Sets |attr_name| to |value|, unless |status|, which is taken, is an error.
static leat_status_t set_unless(TF_OperationDescription* desc, leat_status_t status,
                                const char* attr_name, leat_attr_value_t value) {
  LEAT_RETURN_IF_ERROR(status);
  return leat_capi_description_set(desc, leat_string_view_from(attr_name), value);
}

// Sets a value that points to nothing outside itself, or only into the arena.
static void set_plain(TF_OperationDescription* desc, const char* attr_name,
                      leat_attr_value_t value) {
  if (desc) {
    leat_capi_description_note(desc, set_unless(desc, leat_ok_status(), attr_name, value));
  }
}

// Sets a list whose items contain no pointers.
static void set_plain_list(TF_OperationDescription* desc, const char* attr_name,
                           leat_attr_kind_t kind, const void* items, int count,
                           size_t item_bytes) {
  if (!desc) return;
  void* copy = NULL;
  if (count < 0) count = 0;
  leat_status_t status = copy_items(desc, items, count, item_bytes, &copy);
  leat_attr_value_t value = {
      .kind = (uint8_t)kind, .is_list = true, .count = (uint32_t)count, .items = copy};
  leat_capi_description_note(desc, set_unless(desc, status, attr_name, value));
}

// ---- Numbers, flags, types ----------------------------------------------------------------------

void TF_SetAttrInt(TF_OperationDescription* desc, const char* attr_name, int64_t value) {
  set_plain(desc, attr_name, (leat_attr_value_t){.kind = LEAT_ATTR_INT, .i = value});
}

void TF_SetAttrIntList(TF_OperationDescription* desc, const char* attr_name,
                       const int64_t* values, int num_values) {
  set_plain_list(desc, attr_name, LEAT_ATTR_INT, values, num_values, sizeof(int64_t));
}

void TF_SetAttrFloat(TF_OperationDescription* desc, const char* attr_name, float value) {
  set_plain(desc, attr_name, (leat_attr_value_t){.kind = LEAT_ATTR_FLOAT, .f = value});
}

void TF_SetAttrFloatList(TF_OperationDescription* desc, const char* attr_name,
                         const float* values, int num_values) {
  set_plain_list(desc, attr_name, LEAT_ATTR_FLOAT, values, num_values, sizeof(float));
}

void TF_SetAttrBool(TF_OperationDescription* desc, const char* attr_name, unsigned char value) {
  set_plain(desc, attr_name, (leat_attr_value_t){.kind = LEAT_ATTR_BOOL, .b = value != 0});
}

// The values are normalized to 0 and 1.
void TF_SetAttrBoolList(TF_OperationDescription* desc, const char* attr_name,
                        const unsigned char* values, int num_values) {
  if (!desc) return;
  void* memory = NULL;
  int count = num_values < 0 ? 0 : num_values;
  leat_status_t status = copy_items(desc, values, count, sizeof(bool), &memory);
  bool* flags = memory;
  for (int i = 0; !status && i < count; ++i) flags[i] = values[i] != 0;
  leat_attr_value_t value = {
      .kind = LEAT_ATTR_BOOL, .is_list = true, .count = (uint32_t)count, .bools = flags};
  leat_capi_description_note(desc, set_unless(desc, status, attr_name, value));
}

void TF_SetAttrType(TF_OperationDescription* desc, const char* attr_name, TF_DataType value) {
  set_plain(desc, attr_name, (leat_attr_value_t){.kind = LEAT_ATTR_TYPE, .type = (int32_t)value});
}

void TF_SetAttrTypeList(TF_OperationDescription* desc, const char* attr_name,
                        const TF_DataType* values, int num_values) {
  _Static_assert(sizeof(TF_DataType) == sizeof(int32_t), "copied as they are");
  set_plain_list(desc, attr_name, LEAT_ATTR_TYPE, values, num_values, sizeof(int32_t));
}

// ---- Strings ------------------------------------------------------------------------------------

// Sets a string or the name of a placeholder attribute.
static void set_text(TF_OperationDescription* desc, const char* attr_name, leat_attr_kind_t kind,
                     leat_string_view_t text) {
  if (!desc) return;
  leat_attr_value_t value = {.kind = (uint8_t)kind};
  leat_status_t status = leat_arena_copy_string(&desc->arena, text, &value.s);
  leat_capi_description_note(desc, set_unless(desc, status, attr_name, value));
}

void TF_SetAttrString(TF_OperationDescription* desc, const char* attr_name, const void* value,
                      size_t length) {
  set_text(desc, attr_name, LEAT_ATTR_STRING, leat_string_view_make(value, length));
}

void TF_SetAttrPlaceholder(TF_OperationDescription* desc, const char* attr_name,
                           const char* placeholder) {
  set_text(desc, attr_name, LEAT_ATTR_PLACEHOLDER, leat_string_view_from(placeholder));
}

// Sets a list of strings; that of _class replaces the colocations.
static leat_status_t set_strings(TF_OperationDescription* desc, const char* attr_name,
                                 const void* const* values, const size_t* lengths, int count) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&desc->arena, (size_t)count,
                                                 sizeof(leat_string_view_t), &memory));
  leat_string_view_t* texts = memory;
  for (int i = 0; i < count; ++i) {
    leat_string_view_t text = leat_string_view_make(values[i], lengths[i]);
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&desc->arena, text, &texts[i]));
  }
  if (strcmp(attr_name, "_class") == 0) {
    return leat_capi_description_set_colocations(desc, texts, (size_t)count);
  }
  return set_unless(desc, leat_ok_status(), attr_name,
                    (leat_attr_value_t){.kind = LEAT_ATTR_STRING,
                                        .is_list = true,
                                        .count = (uint32_t)count,
                                        .strings = texts});
}

void TF_SetAttrStringList(TF_OperationDescription* desc, const char* attr_name,
                          const void* const* values, const size_t* lengths, int num_values) {
  if (!desc) return;
  int count = num_values < 0 ? 0 : num_values;
  leat_capi_description_note(desc, set_strings(desc, attr_name, values, lengths, count));
}

// ---- Functions ----------------------------------------------------------------------------------

static leat_status_t set_function(TF_OperationDescription* desc, const char* attr_name,
                                  leat_string_view_t name) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&desc->arena, sizeof(leat_function_name_t), &memory));
  leat_function_name_t* function = memory;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&desc->arena, name, &function->name));
  return set_unless(desc, leat_ok_status(), attr_name,
                    (leat_attr_value_t){.kind = LEAT_ATTR_FUNCTION, .function = function});
}

void TF_SetAttrFuncName(TF_OperationDescription* desc, const char* attr_name, const char* value,
                        size_t length) {
  if (!desc) return;
  leat_capi_description_note(
      desc, set_function(desc, attr_name, leat_string_view_make(value, length)));
}

// ---- Shapes -------------------------------------------------------------------------------------

// A negative rank is the unknown shape; a size below -1 is an error.
static leat_status_t copy_shape(TF_OperationDescription* desc, const char* attr_name,
                                const int64_t* dims, int rank, leat_partial_shape_t* out_shape) {
  *out_shape = leat_partial_shape_unknown();
  if (rank < 0) return leat_ok_status();
  for (int i = 0; i < rank; ++i) {
    if (dims[i] >= -1) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Adding node '%.*s' (%.*s) failed: dimension %d of attribute '%s' is "
                            "%lld, must be >= -1",
                            LEAT_SV_ARG(desc->name), LEAT_SV_ARG(desc->op), i, attr_name,
                            (long long)dims[i]);
  }
  return leat_partial_shape_create(rank, dims, &desc->arena, out_shape);
}

void TF_SetAttrShape(TF_OperationDescription* desc, const char* attr_name, const int64_t* dims,
                     int num_dims) {
  if (!desc) return;
  leat_attr_value_t value = {.kind = LEAT_ATTR_SHAPE};
  leat_status_t status = copy_shape(desc, attr_name, dims, num_dims, &value.shape);
  leat_capi_description_note(desc, set_unless(desc, status, attr_name, value));
}

static leat_status_t set_shapes(TF_OperationDescription* desc, const char* attr_name,
                                const int64_t* const* dims, const int* num_dims, int count) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&desc->arena, (size_t)count,
                                                 sizeof(leat_partial_shape_t), &memory));
  leat_partial_shape_t* shapes = memory;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(copy_shape(desc, attr_name, dims[i], num_dims[i], &shapes[i]));
  }
  return set_unless(desc, leat_ok_status(), attr_name,
                    (leat_attr_value_t){.kind = LEAT_ATTR_SHAPE,
                                        .is_list = true,
                                        .count = (uint32_t)count,
                                        .shapes = shapes});
}

void TF_SetAttrShapeList(TF_OperationDescription* desc, const char* attr_name,
                         const int64_t* const* dims, const int* num_dims, int num_shapes) {
  if (!desc) return;
  int count = num_shapes < 0 ? 0 : num_shapes;
  leat_capi_description_note(desc, set_shapes(desc, attr_name, dims, num_dims, count));
}

// Decodes serialized shapes into a list; the message of an error names the shape by number.
static leat_status_t decode_shapes(TF_OperationDescription* desc, const void* const* protos,
                                   const size_t* proto_lens, int count,
                                   leat_attr_value_t* out_value) {
  void* memory = NULL;
  if (!desc) return leat_capi_description_missing();
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&desc->arena, (size_t)count,
                                                 sizeof(leat_partial_shape_t), &memory));
  leat_partial_shape_t* shapes = memory;
  for (int i = 0; i < count; ++i) {
    leat_status_t status = leat_capi_shape_decode(leat_string_view_make(protos[i], proto_lens[i]),
                                                  &desc->arena, &shapes[i]);
    if (status) return leat_status_annotate(status, "Shape %d", i);
  }
  *out_value = (leat_attr_value_t){
      .kind = LEAT_ATTR_SHAPE, .is_list = true, .count = (uint32_t)count, .shapes = shapes};
  return leat_ok_status();
}

void TF_SetAttrTensorShapeProto(TF_OperationDescription* desc, const char* attr_name,
                                const void* proto, size_t proto_len, TF_Status* status) {
  leat_attr_value_t value = {.kind = LEAT_ATTR_SHAPE};
  leat_status_t result =
      desc ? leat_capi_shape_decode(leat_string_view_make(proto, proto_len), &desc->arena,
                                    &value.shape)
           : leat_capi_description_missing();
  if (!result) set_plain(desc, attr_name, value);
  leat_capi_status_set(status, result);
}

void TF_SetAttrTensorShapeProtoList(TF_OperationDescription* desc, const char* attr_name,
                                    const void* const* protos, const size_t* proto_lens,
                                    int num_shapes, TF_Status* status) {
  leat_attr_value_t value = {0};
  leat_status_t result =
      decode_shapes(desc, protos, proto_lens, num_shapes < 0 ? 0 : num_shapes, &value);
  if (!result) set_plain(desc, attr_name, value);
  leat_capi_status_set(status, result);
}

// ---- Any kind -----------------------------------------------------------------------------------

static leat_status_t make_storage(TF_OperationDescription* desc) {
  if (desc->storage) return leat_ok_status();
  return leat_graph_storage_create(leat_allocator_system(), NULL, &desc->storage);
}

leat_status_t leat_capi_description_set_copy(TF_OperationDescription* desc,
                                             leat_string_view_t attr_name,
                                             const leat_attr_value_t* value) {
  leat_attr_value_t copy;
  LEAT_RETURN_IF_ERROR(make_storage(desc));
  LEAT_RETURN_IF_ERROR(leat_graph_storage_copy_value(desc->storage, value, &copy));
  return leat_capi_description_set(desc, attr_name, copy);
}

// Sets an attribute of any kind from a serialized AttrValue.
static leat_status_t set_message(TF_OperationDescription* desc, const char* attr_name,
                                 leat_string_view_t bytes) {
  leat_attr_value_t value = {0};
  if (!desc) return leat_capi_description_missing();
  LEAT_RETURN_IF_ERROR(make_storage(desc));
  LEAT_RETURN_IF_ERROR(leat_capi_attr_decode(bytes, desc->storage, &value));
  if (strcmp(attr_name, "_class") != 0) {
    set_plain(desc, attr_name, value);
    return leat_ok_status();
  }
  bool is_names = value.kind == LEAT_ATTR_NONE || (value.is_list && value.kind == LEAT_ATTR_STRING);
  if (!is_names) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Expected \"list\" field for \"_class\" attribute");
  }
  return leat_capi_description_set_colocations(desc, value.strings, value.count);
}

void TF_SetAttrValueProto(TF_OperationDescription* desc, const char* attr_name, const void* proto,
                          size_t proto_len, TF_Status* status) {
  leat_capi_status_set(status,
                       set_message(desc, attr_name, leat_string_view_make(proto, proto_len)));
}

// ---- Tensors ------------------------------------------------------------------------------------

// Copies |handle|'s value; the copy belongs to the description until that is freed.
static leat_status_t hold_tensor(TF_OperationDescription* desc, const TF_Tensor* handle,
                                 const leat_tensor_t** out_tensor) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate(&desc->arena, sizeof(leat_capi_held_tensor_t), &memory));
  leat_capi_held_tensor_t* held = memory;
  leat_tensor_t value;
  LEAT_RETURN_IF_ERROR(leat_capi_tensor_value(handle, &value));
  leat_status_t status = leat_tensor_copy(leat_buffer_source_host(), &value, &held->tensor);
  leat_tensor_release(&value);
  LEAT_RETURN_IF_ERROR(status);
  held->next = desc->tensors;
  desc->tensors = held;
  *out_tensor = &held->tensor;
  return leat_ok_status();
}

void TF_SetAttrTensor(TF_OperationDescription* desc, const char* attr_name, TF_Tensor* value,
                      TF_Status* status) {
  leat_attr_value_t attr = {.kind = LEAT_ATTR_TENSOR};
  leat_status_t result =
      desc ? hold_tensor(desc, value, &attr.tensor) : leat_capi_description_missing();
  if (!result) set_plain(desc, attr_name, attr);
  leat_capi_status_set(status, result);
}

// Copies the values of |count| handles.
static leat_status_t hold_tensors(TF_OperationDescription* desc, TF_Tensor* const* values,
                                  int count, leat_attr_value_t* out_value) {
  void* memory = NULL;
  if (!desc) return leat_capi_description_missing();
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&desc->arena, (size_t)count,
                                                 sizeof(leat_tensor_t*), &memory));
  const leat_tensor_t** tensors = memory;
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(hold_tensor(desc, values[i], &tensors[i]));
  }
  *out_value = (leat_attr_value_t){
      .kind = LEAT_ATTR_TENSOR, .is_list = true, .count = (uint32_t)count, .tensors = tensors};
  return leat_ok_status();
}

void TF_SetAttrTensorList(TF_OperationDescription* desc, const char* attr_name,
                          TF_Tensor* const* values, int num_values, TF_Status* status) {
  leat_attr_value_t attr = {0};
  leat_status_t result = hold_tensors(desc, values, num_values < 0 ? 0 : num_values, &attr);
  if (!result) set_plain(desc, attr_name, attr);
  leat_capi_status_set(status, result);
}
