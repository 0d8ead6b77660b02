// The attributes of a TFE_Op: what kind they are, setting them, and carrying them from one op to
// another. A value is checked when the op is executed. Setters take what an operation's setters
// take (c_api_builder.h), and a function besides: the name and attributes of another TFE_Op.
#include "capi/eager/eager.h"
#include "formats/generated/graph.h"
#include "formats/wire/encode.h"
#include "graph/op/attr_proto.h"
#include "graph/storage.h"

// ---- Kinds --------------------------------------------------------------------------------------

static leat_status_t attr_type(const leat_op_t* op, const char* name, unsigned char* is_list,
                               TF_AttrType* out_type) {
  int index = leat_op_find_attr(op, leat_string_view_from(name ? name : ""));
  if (index < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Attribute '%s' does not exist for this op",
                            name ? name : "");
  }
  leat_attr_kind_t kind = op->attrs[index].kind;
  if (is_list) *is_list = op->attrs[index].is_list;
  *out_type = kind == LEAT_ATTR_FUNCTION ? TF_ATTR_FUNC : (TF_AttrType)(kind - LEAT_ATTR_STRING);
  return leat_ok_status();
}

TF_AttrType TFE_OpGetAttrType(TFE_Op* op, const char* attr_name, unsigned char* is_list,
                              TF_Status* status) {
  TF_AttrType type = TF_ATTR_STRING;
  leat_capi_status_set(status, attr_type(op->op, attr_name, is_list, &type));
  return type;
}

TF_AttrType TFE_OpNameGetAttrType(TFE_Context* ctx, const char* op_or_function_name,
                                  const char* attr_name, unsigned char* is_list,
                                  TF_Status* status) {
  TF_AttrType type = TF_ATTR_STRING;
  const leat_op_t* op = NULL;
  leat_status_t result = leat_eager_find_op(ctx, op_or_function_name, &op);
  if (!result) result = attr_type(op, attr_name, is_list, &type);
  leat_capi_status_set(status, result);
  return type;
}

// ---- Setting ------------------------------------------------------------------------------------

void TFE_OpSetAttrString(TFE_Op* op, const char* attr_name, const void* value, size_t length) {
  TF_SetAttrString(op->description, attr_name, value, length);
}
void TFE_OpSetAttrInt(TFE_Op* op, const char* attr_name, int64_t value) {
  TF_SetAttrInt(op->description, attr_name, value);
}
void TFE_OpSetAttrFloat(TFE_Op* op, const char* attr_name, float value) {
  TF_SetAttrFloat(op->description, attr_name, value);
}
void TFE_OpSetAttrBool(TFE_Op* op, const char* attr_name, unsigned char value) {
  TF_SetAttrBool(op->description, attr_name, value);
}
void TFE_OpSetAttrType(TFE_Op* op, const char* attr_name, TF_DataType value) {
  TF_SetAttrType(op->description, attr_name, value);
}
void TFE_OpSetAttrShape(TFE_Op* op, const char* attr_name, const int64_t* dims, const int num_dims,
                        TF_Status* out_status) {
  TF_SetAttrShape(op->description, attr_name, dims, num_dims);
  leat_capi_status_set(out_status, leat_ok_status());
}
void TFE_OpSetAttrTensor(TFE_Op* op, const char* attr_name, TF_Tensor* tensor, TF_Status* status) {
  TF_SetAttrTensor(op->description, attr_name, tensor, status);
}
void TFE_OpSetAttrStringList(TFE_Op* op, const char* attr_name, const void* const* values,
                             const size_t* lengths, int num_values) {
  TF_SetAttrStringList(op->description, attr_name, values, lengths, num_values);
}
void TFE_OpSetAttrIntList(TFE_Op* op, const char* attr_name, const int64_t* values,
                          int num_values) {
  TF_SetAttrIntList(op->description, attr_name, values, num_values);
}
void TFE_OpSetAttrFloatList(TFE_Op* op, const char* attr_name, const float* values,
                            int num_values) {
  TF_SetAttrFloatList(op->description, attr_name, values, num_values);
}
void TFE_OpSetAttrBoolList(TFE_Op* op, const char* attr_name, const unsigned char* values,
                           int num_values) {
  TF_SetAttrBoolList(op->description, attr_name, values, num_values);
}
void TFE_OpSetAttrTypeList(TFE_Op* op, const char* attr_name, const TF_DataType* values,
                           int num_values) {
  TF_SetAttrTypeList(op->description, attr_name, values, num_values);
}
void TFE_OpSetAttrShapeList(TFE_Op* op, const char* attr_name, const int64_t** dims,
                            const int* num_dims, int num_values, TF_Status* out_status) {
  TF_SetAttrShapeList(op->description, attr_name, dims, num_dims, num_values);
  leat_capi_status_set(out_status, leat_ok_status());
}

void TFE_OpSetAttrValueProto(const TFE_Op* op, const char* attr_name, const void* proto,
                             size_t proto_len, TF_Status* status) {
  TF_SetAttrValueProto(op->description, attr_name, proto, proto_len, status);
}

// ---- Functions ----------------------------------------------------------------------------------

// All attributes of |op| that have a value: those that were set, and the defaults of the others.
// The array lies in |arena|, the values where they are.
static leat_status_t all_attrs(const TFE_Op* op, leat_arena_t* arena, leat_attr_t** out_attrs,
                               int* out_count) {
  const TF_OperationDescription* desc = op->description;
  size_t count = desc->attr_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + (size_t)op->op->attr_count + 1, out_attrs));
  leat_attr_t* attrs = *out_attrs;
  for (size_t i = 0; i < count; ++i) attrs[i] = desc->attrs[i];
  for (int i = 0; i < op->op->attr_count; ++i) {
    const leat_op_attr_t* declared = &op->op->attrs[i];
    bool is_set = leat_attr_find(desc->attrs, (int)desc->attr_count, declared->name);
    if (is_set || !declared->has_default) continue;
    attrs[count++] = (leat_attr_t){declared->name, declared->default_value};
  }
  *out_count = (int)count;
  return leat_ok_status();
}

// Describes the function that |value| calls: an op's or function's name with its attributes.
static leat_status_t function_of(const TFE_Op* value, leat_arena_t* arena,
                                 leat_function_name_t* out_function) {
  leat_attr_t* attrs = NULL;
  LEAT_RETURN_IF_ERROR(leat_status_clone(value->description->status));
  LEAT_RETURN_IF_ERROR(all_attrs(value, arena, &attrs, &out_function->attr_count));
  out_function->name = value->op->name;
  out_function->attrs = attrs;
  return leat_ok_status();
}

static leat_status_t set_functions(TFE_Op* op, const char* attr_name, const TFE_Op** values,
                                   int count, bool is_list) {
  leat_arena_t* arena = &op->description->arena;
  leat_function_name_t* functions = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count + 1, &functions));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(function_of(values[i], arena, &functions[i]));
  }
  leat_attr_value_t value = {.kind = LEAT_ATTR_FUNCTION, .is_list = is_list};
  if (is_list) {
    value.count = (uint32_t)count;
    value.functions = functions;
  } else {
    value.function = functions;
  }
  return leat_capi_description_set_copy(op->description, leat_string_view_from(attr_name), &value);
}

void TFE_OpSetAttrFunction(TFE_Op* op, const char* attr_name, const TFE_Op* value) {
  leat_capi_description_note(op->description, set_functions(op, attr_name, &value, 1, false));
}

void TFE_OpSetAttrFunctionName(TFE_Op* op, const char* attr_name, const char* data,
                               size_t length) {
  TF_SetAttrFuncName(op->description, attr_name, data, length);
}

void TFE_OpSetAttrFunctionList(TFE_Op* op, const char* attr_name, const TFE_Op** value,
                               int num_values) {
  int count = num_values < 0 ? 0 : num_values;
  leat_capi_description_note(op->description, set_functions(op, attr_name, value, count, true));
}

// ---- From op to op ------------------------------------------------------------------------------

// A TFE_OpAttrs is the op whose attributes it stands for.
const TFE_OpAttrs* TFE_OpGetAttrs(const TFE_Op* op) { return (const TFE_OpAttrs*)op; }

static const TFE_Op* op_of(const TFE_OpAttrs* attrs) { return (const TFE_Op*)attrs; }

void TFE_OpAddAttrs(TFE_Op* op, const TFE_OpAttrs* attrs) {
  const TF_OperationDescription* source = op_of(attrs)->description;
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < source->attr_count && !status; ++i) {
    status = leat_capi_description_set_copy(op->description, source->attrs[i].name,
                                            &source->attrs[i].value);
  }
  leat_capi_description_note(op->description, status);
}

static leat_status_t serialize(const TFE_Op* op, leat_arena_t* arena, TF_Buffer* out_buffer) {
  leat_pb_attr_value_t proto = {0};
  leat_function_name_t function = {0};
  leat_string_builder_t bytes;
  LEAT_RETURN_IF_ERROR(leat_capi_buffer_check_empty(out_buffer));
  LEAT_RETURN_IF_ERROR(function_of(op, arena, &function));
  leat_attr_value_t value = {.kind = LEAT_ATTR_FUNCTION, .function = &function};
  LEAT_RETURN_IF_ERROR(leat_attr_value_to_proto(&value, arena, &proto));
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status =
      leat_message_encode(&leat_pb_name_attr_list_descriptor, proto.func, &bytes);
  if (!status) status = leat_capi_buffer_take(&bytes, out_buffer);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

void TFE_OpAttrsSerialize(const TFE_OpAttrs* attrs, TF_Buffer* buf, TF_Status* status) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_capi_status_set(status, serialize(op_of(attrs), &arena, buf));
  leat_arena_deinitialize(&arena);
}
