// Building nodes in straight-line code (graph/builder.h). A builder adds three things to
// leat_graph_add_node: a name from the scope and the op, the attribute "_class" where nodes are to
// be colocated, and the sticky status. Attributes that follow from inputs are inferred, so that a
// gradient function writes leat_build_binary(b, "Mul", x, y) and no types.
//
// The second half makes scalar constants of any numeric type from a double. The two 16-bit formats
// are rounded here, to nearest with ties to even, because a graph is built without any device and
// the conversions of device/cpu/ may not be included from this room.
#include "graph/builder.h"

#include <stdio.h>

#define MAX_EXTRA_ATTRS 1  // "_class"

// The scope and the name, made unique. Short names are put together on the stack, since the
// unique name is copied into the arena anyway.
static leat_status_t make_name(leat_builder_t* builder, leat_string_view_t name,
                               leat_string_view_t* out_name) {
  char text[256];
  leat_string_view_t base;
  if (builder->scope.size + name.size < sizeof(text)) {
    if (builder->scope.size > 0) memcpy(text, builder->scope.data, builder->scope.size);
    memcpy(text + builder->scope.size, name.data, name.size);
    base = leat_string_view_make(text, builder->scope.size + name.size);
  } else {
    LEAT_RETURN_IF_ERROR(leat_arena_print(leat_graph_arena(builder->graph), &base, "%.*s%.*s",
                                          LEAT_SV_ARG(builder->scope), LEAT_SV_ARG(name)));
  }
  return leat_graph_unique_name(builder->graph, base, out_name);
}

// The given attributes, and behind them the colocation if the builder has one.
static leat_status_t make_attrs(leat_builder_t* builder, leat_attrs_t attrs,
                                leat_node_spec_t* spec) {
  LEAT_DCHECK(attrs.count >= 0 && (attrs.items || attrs.count == 0));
  spec->attrs = attrs.items;
  spec->attr_count = attrs.count;
  if (builder->colocate_with.size == 0) return leat_ok_status();
  leat_arena_t* arena = leat_graph_arena(builder->graph);
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, (size_t)attrs.count + MAX_EXTRA_ATTRS,
                                                 sizeof(leat_attr_t), &memory));
  leat_attr_t* all = memory;
  if (attrs.count > 0) memcpy(all, attrs.items, (size_t)attrs.count * sizeof(leat_attr_t));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(leat_string_view_t), &memory));
  leat_string_view_t* group = memory;
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(arena, group, "loc:@%.*s", LEAT_SV_ARG(builder->colocate_with)));
  all[attrs.count].name = LEAT_SV("_class");
  all[attrs.count].value = (leat_attr_value_t){
      .kind = LEAT_ATTR_STRING, .is_list = true, .count = 1, .strings = group};
  spec->attrs = all;
  spec->attr_count = attrs.count + 1;
  return leat_ok_status();
}

static leat_status_t build(leat_builder_t* builder, leat_string_view_t name,
                           leat_string_view_t op_name, leat_outputs_t inputs, leat_attrs_t attrs,
                           int32_t* out_node) {
  leat_node_spec_t spec = {
      .device = builder->device,
      .inputs = inputs.items,
      .input_count = inputs.count,
      .control_inputs = builder->control_inputs,
      .control_count = builder->control_count,
      .infer_attrs = true,
  };
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(builder->graph->ops, op_name, &spec.op));
  const leat_build_place_t* place = builder->place;
  if (place && place->prepare) LEAT_RETURN_IF_ERROR(place->prepare(place->data, &spec));
  LEAT_RETURN_IF_ERROR(make_name(builder, name, &spec.name));
  LEAT_RETURN_IF_ERROR(make_attrs(builder, attrs, &spec));
  LEAT_RETURN_IF_ERROR(leat_graph_add_node(builder->graph, &spec, out_node));
  return place ? place->placed(place->data, *out_node) : leat_ok_status();
}

int32_t leat_build_node(leat_builder_t* builder, const char* op, leat_outputs_t inputs,
                        leat_attrs_t attrs) {
  if (builder->status) return -1;
  int32_t node = -1;
  const leat_string_view_t op_name = leat_string_view_from(op);
  builder->status = build(builder, op_name, op_name, inputs, attrs, &node);
  return builder->status ? -1 : node;
}

leat_output_t leat_build_named(leat_builder_t* builder, const char* name, const char* op,
                               leat_outputs_t inputs, leat_attrs_t attrs) {
  if (builder->status) return LEAT_OUTPUT_NONE;
  int32_t node = -1;
  builder->status = build(builder, leat_string_view_from(name), leat_string_view_from(op), inputs,
                          attrs, &node);
  return leat_node_output(builder->status ? -1 : node, 0);
}

leat_output_t leat_build(leat_builder_t* builder, const char* op, leat_outputs_t inputs,
                         leat_attrs_t attrs) {
  return leat_node_output(leat_build_node(builder, op, inputs, attrs), 0);
}

static leat_output_t build_constant(leat_builder_t* builder, const char* name,
                                    const leat_tensor_t* tensor) {
  return leat_build_named(
      builder, name, "Const", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TENSOR("value", tensor), LEAT_TYPE("dtype", tensor->dtype)));
}

leat_output_t leat_build_constant(leat_builder_t* builder, const leat_tensor_t* tensor) {
  return build_constant(builder, "Const", tensor);
}

// Adds the constant |tensor| and releases it; does neither when |status| says that making it
// failed.
static leat_output_t build_made_constant(leat_builder_t* builder, const char* name,
                                         leat_status_t status, leat_tensor_t* tensor) {
  if (status) {
    builder->status = status;
    return LEAT_OUTPUT_NONE;
  }
  leat_output_t output = build_constant(builder, name, tensor);
  leat_tensor_release(tensor);
  return output;
}

// ---- scalars ------------------------------------------------------------------------------------

// The binary16 number nearest to |value|, ties to even. Below 2^-14 the result is subnormal, and
// the shift that drops mantissa bits grows with the distance.
static leat_half_t half_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (leat_half_t)(sign | 0x7e00);       // NaN
  if (magnitude >= 0x477ff000) return (leat_half_t)(sign | 0x7c00);      // rounds to infinity
  uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return (leat_half_t)sign;                          // rounds to zero
  uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  uint32_t shift = exponent < 113 ? 126 - exponent : 13;                 // subnormal: more is lost
  uint32_t kept = mantissa >> shift, lost = mantissa & ((1u << shift) - 1), tie = 1u << (shift - 1);
  if (exponent >= 113) kept += (exponent - 113) << 10;
  kept += lost > tie || (lost == tie && (kept & 1));
  return (leat_half_t)(sign | kept);
}

// The bfloat16 number nearest to |value|, ties to even: the upper half of the float's bits,
// rounded. A NaN gets the quiet bit, so that rounding cannot make it an infinity.
static leat_bfloat16_t bfloat16_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000) return (leat_bfloat16_t)(bits >> 16 | 0x40);
  return (leat_bfloat16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Writes |value| as an element of |dtype|; false for types that are not numbers.
static bool store_scalar(int dtype, double value, void* target) {
  switch (dtype) {
#define STORE_CASE(NAME, type) \
  case LEAT_DTYPE_##NAME: *(type*)target = (type)value; return true
    STORE_CASE(FLOAT, float);
    STORE_CASE(DOUBLE, double);
    STORE_CASE(INT8, int8_t);
    STORE_CASE(INT16, int16_t);
    STORE_CASE(INT32, int32_t);
    STORE_CASE(INT64, int64_t);
    STORE_CASE(UINT8, uint8_t);
    STORE_CASE(UINT16, uint16_t);
    STORE_CASE(UINT32, uint32_t);
    STORE_CASE(UINT64, uint64_t);
    STORE_CASE(COMPLEX64, leat_complex64_t);
    STORE_CASE(COMPLEX128, leat_complex128_t);
    STORE_CASE(QINT8, int8_t);
    STORE_CASE(QUINT8, uint8_t);
    STORE_CASE(QINT16, int16_t);
    STORE_CASE(QUINT16, uint16_t);
    STORE_CASE(QINT32, int32_t);
#undef STORE_CASE
    case LEAT_DTYPE_BOOL: *(bool*)target = value != 0; return true;
    case LEAT_DTYPE_HALF: *(leat_half_t*)target = half_from_float((float)value); return true;
    case LEAT_DTYPE_BFLOAT16:
      *(leat_bfloat16_t*)target = bfloat16_from_float((float)value);
      return true;
    default: return false;
  }
}

leat_output_t leat_build_scalar(leat_builder_t* builder, int dtype, double value) {
  if (builder->status) return LEAT_OUTPUT_NONE;
  LEAT_DCHECK(leat_dtype_size(dtype) <= 16);
  char element[16] LEAT_ALIGNED(16) = {0};
  if (!store_scalar(dtype, value, element)) {
    builder->status = leat_make_status(LEAT_INVALID_ARGUMENT,
                                       "Building a constant failed: dtype is %s, must be numeric",
                                       leat_dtype_name(dtype));
    return LEAT_OUTPUT_NONE;
  }
  leat_tensor_t tensor;
  return build_made_constant(builder, "Const", leat_tensor_scalar(dtype, element, &tensor),
                             &tensor);
}

static leat_output_t build_vector(leat_builder_t* builder, const char* name, const int32_t* values,
                                  int count) {
  if (builder->status) return LEAT_OUTPUT_NONE;
  leat_tensor_t tensor;
  return build_made_constant(
      builder, name, leat_tensor_vector(LEAT_DTYPE_INT32, values, count, &tensor), &tensor);
}

leat_output_t leat_build_int32_vector(leat_builder_t* builder, const int32_t* values, int count) {
  return build_vector(builder, "Const", values, count);
}

// A known shape is a constant at once, with the name of a Shape node, as in TensorFlow's builders:
// the node would only be folded.
leat_output_t leat_build_shape_of(leat_builder_t* builder, leat_output_t x) {
  if (builder->status || !leat_output_exists(x)) return LEAT_OUTPUT_NONE;
  leat_partial_shape_t shape = leat_graph_output_shape(builder->graph, x);
  int32_t dims[LEAT_SHAPE_MAX_RANK];
  bool is_known = leat_partial_shape_is_full(shape);
  for (int i = 0; is_known && i < shape.rank; ++i) {
    is_known = shape.dims[i] <= INT32_MAX;
    dims[i] = (int32_t)shape.dims[i];
  }
  if (is_known) return build_vector(builder, "Shape", dims, shape.rank);
  return leat_build_unary(builder, "Shape", x);
}

int leat_build_type_of(const leat_builder_t* builder, leat_output_t x) {
  if (builder->status || !leat_output_exists(x)) return LEAT_DTYPE_INVALID;
  return leat_dtype_base(leat_graph_output_type(builder->graph, x));
}
