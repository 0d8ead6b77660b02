// Reading the attributes of an operation. Each getter finds the value under the graph's lock,
// checks that it has the kind that the function is for, and copies it to the caller's memory.
// Getters of numbers, which differ only in types, are made by one macro.
//
// Error codes are TensorFlow's: a missing attribute is NOT_FOUND from the getters of one value and
// of lists of shapes and tensors, and INVALID_ARGUMENT from the others. A list is copied as far as
// the caller has room; strings and shapes of a list go one behind the other into a block of
// storage, and it is an error when that is too small.
#include <string.h>

#include "capi/handles.h"

static leat_status_t no_such_attr(const leat_node_t* node, leat_status_code_t code,
                                  leat_string_view_t name) {
  return leat_make_status(code, "Operation '%.*s' has no attr named '%.*s'.",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(name));
}

// Finds the attribute |attr_name|; |missing| is the error code where there is none.
static leat_status_t find_attr(const TF_Operation* oper, const char* attr_name,
                               leat_status_code_t missing, const leat_attr_value_t** out_value) {
  const leat_node_t* node = leat_capi_node(oper);
  leat_string_view_t name = leat_string_view_from(attr_name);
  *out_value = leat_node_attr(node, name);
  return *out_value ? leat_ok_status() : no_such_attr(node, missing, name);
}

// Finds the attribute and checks its kind. An empty list has no kind and fits any.
static leat_status_t find_typed(const TF_Operation* oper, const char* attr_name,
                                leat_status_code_t missing, leat_attr_kind_t kind, bool is_list,
                                const leat_attr_value_t** out_value) {
  LEAT_RETURN_IF_ERROR(find_attr(oper, attr_name, missing, out_value));
  const leat_attr_value_t* value = *out_value;
  bool fits = value->is_list == is_list &&
              (value->kind == kind || (is_list && value->count == 0));
  if (fits) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Attribute '%s' of node '%.*s' has type %s, must be %s", attr_name,
                          LEAT_SV_ARG(leat_capi_node(oper)->name),
                          leat_attr_kind_name((leat_attr_kind_t)value->kind, value->is_list),
                          leat_attr_kind_name(kind, is_list));
}

// The number of items of a list of |count| that fit in |room|.
static int fit(uint32_t count, int room) {
  if (room <= 0) return 0;
  return count < (uint32_t)room ? (int)count : room;
}

// ---- Metadata -----------------------------------------------------------------------------------

static TF_AttrType attr_type(leat_attr_kind_t kind) {
  static const uint8_t types[] = {
      [LEAT_ATTR_NONE] = TF_ATTR_STRING,   [LEAT_ATTR_STRING] = TF_ATTR_STRING,
      [LEAT_ATTR_INT] = TF_ATTR_INT,       [LEAT_ATTR_FLOAT] = TF_ATTR_FLOAT,
      [LEAT_ATTR_BOOL] = TF_ATTR_BOOL,     [LEAT_ATTR_TYPE] = TF_ATTR_TYPE,
      [LEAT_ATTR_SHAPE] = TF_ATTR_SHAPE,   [LEAT_ATTR_TENSOR] = TF_ATTR_TENSOR,
      [LEAT_ATTR_FUNCTION] = TF_ATTR_FUNC, [LEAT_ATTR_PLACEHOLDER] = TF_ATTR_PLACEHOLDER,
  };
  return (TF_AttrType)types[kind];
}

// The bytes of all strings, or the sizes of all shapes; -1 for other kinds and empty lists, as in
// TensorFlow.
static int64_t total_size(const leat_attr_value_t* value) {
  int64_t total = 0;
  if (value->kind == LEAT_ATTR_STRING) {
    if (!value->is_list) return (int64_t)value->s.size;
    for (uint32_t i = 0; i < value->count; ++i) total += (int64_t)value->strings[i].size;
    return value->count ? total : -1;
  }
  if (value->kind == LEAT_ATTR_SHAPE) {
    if (!value->is_list) return value->shape.rank;
    for (uint32_t i = 0; i < value->count; ++i) {
      if (value->shapes[i].rank > 0) total += value->shapes[i].rank;
    }
    return value->count ? total : -1;
  }
  return -1;
}

static leat_status_t get_metadata(const TF_Operation* oper, const char* attr_name,
                                  TF_AttrMetadata* out_metadata) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_attr(oper, attr_name, LEAT_INVALID_ARGUMENT, &value));
  if (value->kind == LEAT_ATTR_NONE && !value->is_list) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Attribute '%s' has no value set", attr_name);
  }
  *out_metadata = (TF_AttrMetadata){
      .is_list = value->is_list,
      .list_size = value->is_list ? (int64_t)value->count : -1,
      .type = attr_type((leat_attr_kind_t)value->kind),
      .total_size = total_size(value),
  };
  return leat_ok_status();
}

TF_AttrMetadata TF_OperationGetAttrMetadata(TF_Operation* oper, const char* attr_name,
                                            TF_Status* status) {
  TF_AttrMetadata metadata = {0};
  leat_capi_lock(oper->graph);
  leat_capi_status_set(status, get_metadata(oper, attr_name, &metadata));
  leat_capi_unlock(oper->graph);
  return metadata;
}

// ---- Numbers, flags, types ----------------------------------------------------------------------

#define GET TF_OperationGetAttrInt
#define GET_LIST TF_OperationGetAttrIntList
#define TYPE int64_t
#define KIND LEAT_ATTR_INT
#define ONE i
#define MANY ints
#include "capi/graph/operation_attr_getters.inc"

#define GET TF_OperationGetAttrFloat
#define GET_LIST TF_OperationGetAttrFloatList
#define TYPE float
#define KIND LEAT_ATTR_FLOAT
#define ONE f
#define MANY floats
#include "capi/graph/operation_attr_getters.inc"

#define GET TF_OperationGetAttrBool
#define GET_LIST TF_OperationGetAttrBoolList
#define TYPE unsigned char
#define KIND LEAT_ATTR_BOOL
#define ONE b
#define MANY bools
#include "capi/graph/operation_attr_getters.inc"

#define GET TF_OperationGetAttrType
#define GET_LIST TF_OperationGetAttrTypeList
#define TYPE TF_DataType
#define KIND LEAT_ATTR_TYPE
#define ONE type
#define MANY types
#include "capi/graph/operation_attr_getters.inc"

// ---- Strings ------------------------------------------------------------------------------------

static leat_status_t get_string(const TF_Operation* oper, const char* attr_name, void* out,
                                size_t room) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(
      find_typed(oper, attr_name, LEAT_INVALID_ARGUMENT, LEAT_ATTR_STRING, false, &value));
  size_t size = value->s.size < room ? value->s.size : room;
  if (size > 0) memcpy(out, value->s.data, size);
  return leat_ok_status();
}

void TF_OperationGetAttrString(TF_Operation* oper, const char* attr_name, void* value,
                               size_t max_length, TF_Status* status) {
  leat_capi_lock(oper->graph);
  leat_capi_status_set(status, get_string(oper, attr_name, value, max_length));
  leat_capi_unlock(oper->graph);
}

static leat_status_t get_strings(const TF_Operation* oper, const char* attr_name, void** values,
                                 size_t* lengths, int room, void* storage, size_t storage_size) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(
      find_typed(oper, attr_name, LEAT_INVALID_ARGUMENT, LEAT_ATTR_STRING, true, &value));
  char* next = storage;
  for (int i = 0; i < fit(value->count, room); ++i) {
    leat_string_view_t text = value->strings[i];
    values[i] = next;
    lengths[i] = text.size;
    if (text.size > storage_size) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Not enough storage to hold the strings of attribute '%s'",
                              attr_name);
    }
    if (text.size > 0) memcpy(next, text.data, text.size);
    next += text.size;
    storage_size -= text.size;
  }
  return leat_ok_status();
}

void TF_OperationGetAttrStringList(TF_Operation* oper, const char* attr_name, void** values,
                                   size_t* lengths, int max_values, void* storage,
                                   size_t storage_size, TF_Status* status) {
  leat_capi_lock(oper->graph);
  leat_capi_status_set(status, get_strings(oper, attr_name, values, lengths, max_values, storage,
                                           storage_size));
  leat_capi_unlock(oper->graph);
}

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t get_shape(const TF_Operation* oper, const char* attr_name, int64_t* out,
                               int room) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(
      find_typed(oper, attr_name, LEAT_NOT_FOUND, LEAT_ATTR_SHAPE, false, &value));
  for (int i = 0; i < value->shape.rank && i < room; ++i) out[i] = value->shape.dims[i];
  return leat_ok_status();
}

void TF_OperationGetAttrShape(TF_Operation* oper, const char* attr_name, int64_t* value,
                              int num_dims, TF_Status* status) {
  leat_capi_lock(oper->graph);
  leat_capi_status_set(status, get_shape(oper, attr_name, value, num_dims));
  leat_capi_unlock(oper->graph);
}

static leat_status_t get_shapes(const TF_Operation* oper, const char* attr_name, int64_t** dims,
                                int* num_dims, int room, int64_t* storage, int storage_size) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(
      find_typed(oper, attr_name, LEAT_NOT_FOUND, LEAT_ATTR_SHAPE, true, &value));
  for (int i = 0; i < fit(value->count, room); ++i) {
    leat_partial_shape_t shape = value->shapes[i];
    num_dims[i] = shape.rank;
    dims[i] = storage;
    if (shape.rank <= 0) continue;
    if (shape.rank > storage_size) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Not enough storage to hold the shapes of attribute '%s'",
                              attr_name);
    }
    memcpy(storage, shape.dims, (size_t)shape.rank * sizeof(int64_t));
    storage += shape.rank;
    storage_size -= shape.rank;
  }
  return leat_ok_status();
}

void TF_OperationGetAttrShapeList(TF_Operation* oper, const char* attr_name, int64_t** dims,
                                  int* num_dims, int num_shapes, int64_t* storage,
                                  int storage_size, TF_Status* status) {
  leat_capi_lock(oper->graph);
  leat_capi_status_set(status, get_shapes(oper, attr_name, dims, num_dims, num_shapes, storage,
                                          storage_size));
  leat_capi_unlock(oper->graph);
}

// ---- Tensors ------------------------------------------------------------------------------------

// A tensor is given as a copy, as in TensorFlow: the caller may write into it, and the graph must
// not change by that.

static leat_status_t get_tensor(const TF_Operation* oper, const char* attr_name,
                                TF_Tensor** out_handle) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(
      find_typed(oper, attr_name, LEAT_NOT_FOUND, LEAT_ATTR_TENSOR, false, &value));
  return leat_capi_tensor_wrap_copy(value->tensor, out_handle);
}

void TF_OperationGetAttrTensor(TF_Operation* oper, const char* attr_name, TF_Tensor** value,
                               TF_Status* status) {
  *value = NULL;
  leat_capi_lock(oper->graph);
  leat_capi_status_set(status, get_tensor(oper, attr_name, value));
  leat_capi_unlock(oper->graph);
}

static leat_status_t get_tensors(const TF_Operation* oper, const char* attr_name,
                                 TF_Tensor** handles, int room) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(
      find_typed(oper, attr_name, LEAT_NOT_FOUND, LEAT_ATTR_TENSOR, true, &value));
  for (int i = 0; i < fit(value->count, room); ++i) {
    leat_status_t status = leat_capi_tensor_wrap_copy(value->tensors[i], &handles[i]);
    if (!status) continue;
    while (i > 0) TF_DeleteTensor(handles[--i]);
    return status;
  }
  return leat_ok_status();
}

void TF_OperationGetAttrTensorList(TF_Operation* oper, const char* attr_name, TF_Tensor** values,
                                   int max_values, TF_Status* status) {
  leat_capi_lock(oper->graph);
  leat_capi_status_set(status, get_tensors(oper, attr_name, values, max_values));
  leat_capi_unlock(oper->graph);
}

// ---- Names --------------------------------------------------------------------------------------

int TF_OperationGetNumAttrs(TF_Operation* oper) {
  leat_capi_lock(oper->graph);
  int count = leat_capi_node(oper)->attr_count;
  leat_capi_unlock(oper->graph);
  return count;
}

int TF_OperationGetAttrNameLength(TF_Operation* oper, int i) {
  leat_capi_lock(oper->graph);
  const leat_node_t* node = leat_capi_node(oper);
  int length = i >= 0 && i < node->attr_count ? (int)node->attrs[i].name.size : -1;
  leat_capi_unlock(oper->graph);
  return length;
}

void TF_OperationGetAttrName(TF_Operation* oper, int i, char* output, TF_Status* status) {
  leat_status_t result = leat_ok_status();
  leat_capi_lock(oper->graph);
  const leat_node_t* node = leat_capi_node(oper);
  if (i >= 0 && i < node->attr_count) {
    memcpy(output, node->attrs[i].name.data, node->attrs[i].name.size);
  } else {
    result = leat_make_status(LEAT_OUT_OF_RANGE,
                              "Operation only has %d attributes, can't get the %dth",
                              node->attr_count, i);
  }
  leat_capi_unlock(oper->graph);
  leat_capi_status_set(status, result);
}
