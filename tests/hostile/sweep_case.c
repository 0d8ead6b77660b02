// One case of the sweep over operations: an op with attributes and inputs drawn from the edges of
// what they may be. Everything is drawn from a generator whose seed is the op's name and the number
// of the case, so that a case which ends the process can be made again from these two. Usual values
// are drawn more often than edges, because a case that is refused at its first check never reaches
// the kernel; and half of the cases give all inputs one shape, for the same reason. Attributes
// without a value that can be drawn, such as functions, and ops with too many inputs give no case.
// sweep_test.c runs the cases.
#include "hostile/sweep_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device/cpu/half.h"
#include "graph/signature.h"

// ---- Drawing ------------------------------------------------------------------------------------

static uint32_t draw(sweep_case_t* c, uint32_t below) {
  c->random = c->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((c->random >> 33) % below);
}
#define PICK(c, list) ((list)[draw((c), (uint32_t)(sizeof(list) / sizeof *(list)))])

static int64_t draw_integer(sweep_case_t* c) {
  static const int64_t usual[] = {0, 0, 1, 1, 1, 2, 2, 3};
  static const int64_t edges[] = {-1, -2, 4, 5, 7, 8, INT32_MAX, INT32_MIN, INT64_MIN, INT64_MAX,
                                  INT64_C(1) << 62, INT64_C(1) << 32, 255, -128};
  return draw(c, 3) ? PICK(c, usual) : PICK(c, edges);
}

static double draw_real(sweep_case_t* c) {
  static const double usual[] = {0, 1, -1, 0.5, 2, 3};
  const double edges[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, -0.0, 1e-40, 9.3e18, -9.3e18, 4e9};
  return draw(c, 3) ? PICK(c, usual) : PICK(c, edges);
}

static leat_string_view_t draw_text(sweep_case_t* c) {
  static const char* const texts[] = {"",    "a",     "NHWC", "VALID", "SAME", "1", "0", "%s%n",
                                      "a/b", "\xff\xfe", "12345678901234567890", "a,b"};
  return leat_string_view_from(PICK(c, texts));
}

static void draw_dims(sweep_case_t* c, int* out_rank, int64_t* out_dims) {
  static const struct {
    int rank;
    int64_t dims[9];
  } shapes[] = {
      {0, {0}},          {1, {0}},          {1, {1}},       {1, {2}},    {1, {3}},
      {2, {0, 1}},       {2, {2, 3}},       {2, {1, 1}},    {2, {3, 2}}, {3, {2, 0, 3}},
      {3, {1, 2, 3}},    {4, {1, 4, 4, 2}}, {4, {2, 3, 3, 1}}, {2, {0, INT64_C(1) << 40}},
      {5, {1, 3, 3, 3, 1}}, {8, {1, 1, 2, 1, 1, 1, 2, 1}}, {9, {1, 1, 1, 1, 2, 1, 1, 1, 1}},
      {1, {65}},
  };
  uint32_t at = draw(c, (uint32_t)(sizeof shapes / sizeof *shapes));
  *out_rank = shapes[at].rank;
  memcpy(out_dims, shapes[at].dims, sizeof shapes[at].dims);
}

// ---- Attributes ---------------------------------------------------------------------------------

static int draw_type(sweep_case_t* c, const leat_op_attr_t* attr) {
  static const int usual[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT, LEAT_DTYPE_INT32,
                              LEAT_DTYPE_INT64, LEAT_DTYPE_DOUBLE};
  static const int all[] = {
      LEAT_DTYPE_HALF,   LEAT_DTYPE_BFLOAT16, LEAT_DTYPE_INT8,  LEAT_DTYPE_UINT8,
      LEAT_DTYPE_INT16,  LEAT_DTYPE_UINT16,   LEAT_DTYPE_UINT32, LEAT_DTYPE_UINT64,
      LEAT_DTYPE_BOOL,   LEAT_DTYPE_STRING,   LEAT_DTYPE_COMPLEX64, LEAT_DTYPE_COMPLEX128,
      LEAT_DTYPE_QINT8,  LEAT_DTYPE_QUINT8,   LEAT_DTYPE_QINT32, LEAT_DTYPE_RESOURCE,
      LEAT_DTYPE_VARIANT};
  if (attr->allowed_type_count && draw(c, 50)) {
    return attr->allowed_type_list[draw(c, (uint32_t)attr->allowed_type_count)];
  }
  return draw(c, 2) ? PICK(c, usual) : PICK(c, all);
}

static leat_status_t draw_tensor(sweep_case_t* c, int dtype, int rank, const int64_t* dims,
                                 leat_tensor_t* out_tensor);

static leat_partial_shape_t draw_partial_shape(sweep_case_t* c) {
  int64_t* dims;
  int rank;
  leat_status_t status = LEAT_NEW(&c->arena, 9, &dims);
  if (status) leat_status_free(status);
  if (status || draw(c, 8) == 0) return leat_partial_shape_unknown();
  draw_dims(c, &rank, dims);
  for (int d = 0; d < rank; ++d) {
    if (draw(c, 8) == 0) dims[d] = -1;
    if (draw(c, 40) == 0) dims[d] = INT64_C(1) << 62;
  }
  return (leat_partial_shape_t){rank, rank ? dims : NULL};
}

static leat_string_view_t draw_allowed_text(sweep_case_t* c, const leat_op_attr_t* attr) {
  if (attr->allowed_string_count && draw(c, 20)) {
    return attr->allowed_strings[draw(c, (uint32_t)attr->allowed_string_count)];
  }
  return draw_text(c);
}

// An item of the attribute's kind at |out|; false for kinds that are not drawn.
static bool draw_item(sweep_case_t* c, const leat_op_attr_t* attr, leat_attr_value_t* out) {
  leat_tensor_t* tensor;
  int64_t dims[9];
  int rank;
  switch (attr->kind) {
    case LEAT_ATTR_STRING: out->s = draw_allowed_text(c, attr); return true;
    case LEAT_ATTR_INT: out->i = draw_integer(c); return true;
    case LEAT_ATTR_FLOAT: out->f = (float)draw_real(c); return true;
    case LEAT_ATTR_BOOL: out->b = draw(c, 2); return true;
    case LEAT_ATTR_TYPE: out->type = draw_type(c, attr); return true;
    case LEAT_ATTR_SHAPE: out->shape = draw_partial_shape(c); return true;
    case LEAT_ATTR_TENSOR:
      draw_dims(c, &rank, dims);
      leat_status_free(LEAT_NEW(&c->arena, 1, &tensor));
      leat_status_free(draw_tensor(c, draw_type(c, attr), rank, dims, tensor));
      out->tensor = tensor;
      return tensor->dtype != 0;
    default: return false;
  }
}

static void set_list_item(leat_attr_value_t* list, uint32_t index, const leat_attr_value_t* item) {
  switch (list->kind) {
    case LEAT_ATTR_STRING: ((leat_string_view_t*)list->items)[index] = item->s; break;
    case LEAT_ATTR_INT: ((int64_t*)list->items)[index] = item->i; break;
    case LEAT_ATTR_FLOAT: ((float*)list->items)[index] = item->f; break;
    case LEAT_ATTR_BOOL: ((bool*)list->items)[index] = item->b; break;
    case LEAT_ATTR_TYPE: ((int32_t*)list->items)[index] = item->type; break;
    case LEAT_ATTR_SHAPE: ((leat_partial_shape_t*)list->items)[index] = item->shape; break;
    case LEAT_ATTR_TENSOR: ((const leat_tensor_t**)list->items)[index] = item->tensor; break;
    default: break;
  }
}

static bool draw_value(sweep_case_t* c, const leat_op_attr_t* attr, leat_attr_value_t* out) {
  *out = (leat_attr_value_t){.kind = (uint8_t)attr->kind};
  if (!attr->is_list) return draw_item(c, attr, out);
  // A window or stride of a picture, most often.
  static const uint32_t lengths[] = {4, 4, 4, 0, 1, 2, 3, 5};
  out->is_list = true;
  out->count = PICK(c, lengths);
  void* items;
  leat_status_t status = leat_arena_allocate(
      &c->arena, (out->count + 1) * leat_attr_item_bytes(attr->kind), &items);
  if (status) leat_status_free(status);
  if (status) return false;
  out->items = items;
  bool ones = attr->kind == LEAT_ATTR_INT && draw(c, 2);
  for (uint32_t i = 0; i < out->count; ++i) {
    leat_attr_value_t item = {.kind = out->kind};
    if (!draw_item(c, attr, &item)) return false;
    if (ones) item.i = i == 0 || i == 3 ? 1 : 1 + (int64_t)draw(c, 2);
    set_list_item(out, i, &item);
  }
  return true;
}

static bool is_number(const leat_op_t* op, int attr) {
  for (int a = 0; a < op->input_count; ++a) {
    if (op->inputs[a].number_attr == attr) return true;
  }
  return false;
}

static bool draw_attrs(sweep_case_t* c) {
  if (c->op->attr_count > kSweepAttrs) return false;
  for (int i = 0; i < c->op->attr_count; ++i) {
    const leat_op_attr_t* attr = &c->op->attrs[i];
    leat_attr_t* out = &c->attrs[c->attr_count++];
    out->name = attr->name;
    if (attr->has_default && draw(c, 4)) {
      out->value = attr->default_value;
    } else if (!draw_value(c, attr, &out->value)) {
      return false;
    }
    if (is_number(c->op, i)) out->value.i = 1 + (int64_t)draw(c, 3);
  }
  return true;
}

// ---- Tensors ------------------------------------------------------------------------------------

static void set_number(sweep_case_t* c, leat_tensor_t* t, int64_t i) {
  int64_t whole = draw_integer(c);
  double real = draw_real(c);
  switch (t->dtype) {
    case LEAT_DTYPE_FLOAT: leat_tensor_data(t, float)[i] = (float)real; break;
    case LEAT_DTYPE_DOUBLE: leat_tensor_data(t, double)[i] = real; break;
    case LEAT_DTYPE_COMPLEX64: leat_tensor_data(t, leat_complex64_t)[i] = (float)real; break;
    case LEAT_DTYPE_COMPLEX128: leat_tensor_data(t, leat_complex128_t)[i] = real; break;
    case LEAT_DTYPE_HALF:
      leat_tensor_data(t, leat_half_t)[i] = leat_half_from_float((float)real);
      break;
    case LEAT_DTYPE_BFLOAT16:
      leat_tensor_data(t, leat_bfloat16_t)[i] = leat_bfloat16_from_float((float)real);
      break;
    case LEAT_DTYPE_BOOL: leat_tensor_data(t, bool)[i] = whole & 1; break;
    default: memcpy((char*)t->data + (size_t)i * leat_dtype_size(t->dtype), &whole,
                    leat_dtype_size(t->dtype));
  }
}

static leat_status_t set_object(sweep_case_t* c, leat_tensor_t* t, int64_t i) {
  if (t->dtype == LEAT_DTYPE_STRING) return leat_tensor_set_string(t, i, draw_text(c));
  if (t->dtype != LEAT_DTYPE_RESOURCE || draw(c, 3) == 0) return leat_ok_status();
  static const char* const kinds[] = {"Var", "Var", "FIFOQueue", "tensorflow::Var", ""};
  return leat_resource_handle_create(LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"),
                                     LEAT_SV("localhost"), LEAT_SV("v"),
                                     leat_string_view_from(PICK(c, kinds)),
                                     &leat_tensor_data(t, leat_resource_handle_t*)[i]);
}

static leat_status_t draw_tensor(sweep_case_t* c, int dtype, int rank, const int64_t* dims,
                                 leat_tensor_t* out_tensor) {
  leat_shape_t shape;
  *out_tensor = (leat_tensor_t){0};
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  leat_status_t status =
      leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, out_tensor);
  leat_shape_release(&shape);
  bool objects = leat_dtype_in(dtype, LEAT_DTYPES_OBJECT);
  for (int64_t i = 0; !status && i < out_tensor->shape.element_count; ++i) {
    if (objects) {
      status = set_object(c, out_tensor, i);
    } else {
      set_number(c, out_tensor, i);
    }
  }
  if (status) leat_tensor_release(out_tensor);
  return status;
}

static bool draw_inputs(sweep_case_t* c) {
  int64_t common[9], dims[9];
  int common_rank, rank;
  bool alike = draw(c, 2);
  draw_dims(c, &common_rank, common);
  for (int a = 0; a < c->op->input_count; ++a) {
    const leat_op_argument_t* argument = &c->op->inputs[a];
    int64_t count = leat_signature_argument_count(argument, c->attrs);
    if (count < 0 || count > 8 || c->input_count + count > kSweepInputs) return false;
    for (int64_t k = 0; k < count; ++k) {
      sweep_input_t* input = &c->inputs[c->input_count];
      int type = leat_signature_argument_type(argument, c->attrs, k);
      if (!leat_dtype_is_valid(leat_dtype_base(type))) return false;
      bool small = leat_dtype_base(type) == LEAT_DTYPE_RESOURCE;
      draw_dims(c, &rank, dims);
      if (alike && draw(c, 4)) memcpy(dims, common, sizeof common), rank = common_rank;
      if (small) rank = draw(c, 20) ? 0 : 1, dims[0] = 1;
      input->dtype = type;
      input->fed = draw(c, 2);
      leat_status_t status = draw_tensor(c, leat_dtype_base(type), rank, dims, &input->value);
      if (status) leat_status_free(status);
      if (status) return false;
      ++c->input_count;
    }
  }
  return true;
}

bool sweep_case_draw(const leat_op_t* op, uint64_t number, sweep_case_t* out_case) {
  memset(out_case, 0, sizeof *out_case);
  out_case->op = op;
  out_case->random = leat_string_view_hash(op->name) ^ number * UINT64_C(0x9e3779b97f4a7c15);
  leat_arena_initialize(leat_allocator_system(), 0, &out_case->arena);
  draw(out_case, 2);
  return draw_attrs(out_case) && draw_inputs(out_case);
}

static void release_attr_tensors(leat_attr_value_t* value, const leat_attr_value_t* of_op) {
  if (value->kind != LEAT_ATTR_TENSOR || value->items == of_op->items) return;
  if (!value->is_list) {
    leat_tensor_release((leat_tensor_t*)value->tensor);
    return;
  }
  for (uint32_t i = 0; i < value->count; ++i) {
    if (value->tensors[i]) leat_tensor_release((leat_tensor_t*)value->tensors[i]);
  }
}

void sweep_case_free(sweep_case_t* c) {
  for (int i = 0; i < c->input_count; ++i) leat_tensor_release(&c->inputs[i].value);
  for (int i = 0; i < c->attr_count; ++i) {
    release_attr_tensors(&c->attrs[i].value, &c->op->attrs[i].default_value);
  }
  leat_arena_deinitialize(&c->arena);
}

void sweep_case_print(const sweep_case_t* c, char* text, size_t size) {
  int at = snprintf(text, size, "%.*s(", LEAT_SV_ARG(c->op->name));
  for (int i = 0; i < c->input_count && (size_t)at < size; ++i) {
    const sweep_input_t* input = &c->inputs[i];
    at += snprintf(text + at, size - (size_t)at, "%s%s%s%s", i ? ", " : "",
                   leat_dtype_name(input->dtype), LEAT_SHAPE_TEXT(&input->value.shape),
                   input->fed ? " fed" : "");
  }
  for (int i = 0; i < c->attr_count && (size_t)at < size; ++i) {
    const leat_attr_t* attr = &c->attrs[i];
    if (attr->value.is_list) continue;
    if (attr->value.kind == LEAT_ATTR_INT) {
      at += snprintf(text + at, size - (size_t)at, "; %.*s=%lld", LEAT_SV_ARG(attr->name),
                     (long long)attr->value.i);
    } else if (attr->value.kind == LEAT_ATTR_TYPE) {
      at += snprintf(text + at, size - (size_t)at, "; %.*s=%s", LEAT_SV_ARG(attr->name),
                     leat_dtype_name(attr->value.type));
    }
  }
  if ((size_t)at < size) snprintf(text + at, size - (size_t)at, ")");
}
