// Tensors to and from the message TensorProto, in which graphs hold constants and remote calls hold
// values. A message states elements in one of two ways: as raw bytes (tensor_content), or as a list
// of numbers, of which there is one for several dtypes. The table |value_lists| says which list
// holds a dtype's elements, and is read in both directions. A list may be wider than the dtype (an
// int8 is an int32 there), a complex number takes two items, and a list that is shorter than the
// tensor repeats its last item, so that a constant of a million zeros is one number.
//
// A message comes from a file or a peer, so its shape may be a lie. Raw bytes must have exactly the
// shape's size, which is tested before memory is taken. For a list no such test is possible, since
// it may be shorter; there the shape is only limited to 2^47 bytes, and a step's memory limits
// refuse the rest.
//
// Writing gives a single number as a list and more as raw bytes, which are borrowed from the tensor
// and not copied. A caller that knows that the last elements are equal may write a list.
#include "formats/wire/tensor_proto.h"

#include "base/checked.h"
#include "formats/wire/decode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/wire.h"
#include "tensor/number_variant.h"

#define MAX_VARIANT_DEPTH 32

typedef struct value_list_s {
  int32_t offset;      // of the list in TensorProto
  uint8_t item_bytes;  // 0: no list of numbers
  uint8_t items_each;  // per element
} value_list_t;

#define LIST(field, type, items) {offsetof(leat_pb_tensor_proto_t, field), sizeof(type), items}
static const value_list_t value_lists[LEAT_DTYPE_COUNT] = {
    [LEAT_DTYPE_FLOAT] = LIST(float_val, float, 1),
    [LEAT_DTYPE_DOUBLE] = LIST(double_val, double, 1),
    [LEAT_DTYPE_INT32] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_UINT8] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_INT16] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_INT8] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_COMPLEX64] = LIST(scomplex_val, float, 2),
    [LEAT_DTYPE_INT64] = LIST(int64_val, int64_t, 1),
    [LEAT_DTYPE_BOOL] = LIST(bool_val, bool, 1),
    [LEAT_DTYPE_QINT8] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_QUINT8] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_QINT32] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_BFLOAT16] = LIST(half_val, int32_t, 1),
    [LEAT_DTYPE_QINT16] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_QUINT16] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_UINT16] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_COMPLEX128] = LIST(dcomplex_val, double, 2),
    [LEAT_DTYPE_HALF] = LIST(half_val, int32_t, 1),
    [LEAT_DTYPE_UINT32] = LIST(uint32_val, uint32_t, 1),
    [LEAT_DTYPE_UINT64] = LIST(uint64_val, uint64_t, 1),
    // Bytes, not a list, but a view has the same two words.
    [LEAT_DTYPE_FLOAT8_E5M2] = LIST(float8_val, char, 1),
    [LEAT_DTYPE_FLOAT8_E4M3FN] = LIST(float8_val, char, 1),
    [LEAT_DTYPE_FLOAT8_E4M3FNUZ] = LIST(float8_val, char, 1),
    [LEAT_DTYPE_FLOAT8_E4M3B11FNUZ] = LIST(float8_val, char, 1),
    [LEAT_DTYPE_FLOAT8_E5M2FNUZ] = LIST(float8_val, char, 1),
    [LEAT_DTYPE_INT4] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_UINT4] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_INT2] = LIST(int_val, int32_t, 1),
    [LEAT_DTYPE_UINT2] = LIST(int_val, int32_t, 1),
};
_Static_assert(sizeof(leat_string_view_t) == sizeof(leat_pb_list_t), "a view is used as a list");

static leat_status_t refuse_content(const leat_tensor_t* tensor, size_t size) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor decode failed: tensor_content has %zu bytes, must have %zu for "
                          "shape %s of %s",
                          size, leat_tensor_size_bytes(tensor), LEAT_SHAPE_TEXT(&tensor->shape),
                          leat_dtype_name(tensor->dtype));
}

// Copies raw bytes; those of bools must be 0 or 1, since C code reads the elements as bool.
static leat_status_t read_content(const leat_pb_tensor_proto_t* proto, leat_tensor_t* tensor) {
  size_t size = leat_tensor_size_bytes(tensor);
  if (proto->tensor_content.size != size) return refuse_content(tensor, proto->tensor_content.size);
  const uint8_t* bytes = (const uint8_t*)proto->tensor_content.data;
  for (size_t i = 0; tensor->dtype == LEAT_DTYPE_BOOL && i < size; ++i) {
    if (bytes[i] > 1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Tensor decode failed: bool %zu is %d, must be 0 or 1", i, bytes[i]);
    }
  }
  memcpy(tensor->data, bytes, size);
  return leat_ok_status();
}

// Fills |count| elements of |bytes| each, from |data| on, with the element before |data|. Each copy
// doubles the filled part.
static void repeat_last(char* data, size_t bytes, size_t count) {
  size_t filled = bytes, total = bytes * (count + 1);
  char* first = data - bytes;
  while (filled < total) {
    size_t step = filled < total - filled ? filled : total - filled;
    memcpy(first + filled, first, step);
    filled += step;
  }
}

// Copies a list into the elements, narrowed where the list is wider, and repeats its last item. An
// empty list means zeros.
static void read_values(const leat_pb_tensor_proto_t* proto, leat_tensor_t* tensor) {
  const value_list_t* where = &value_lists[tensor->dtype];
  const leat_pb_list_t* list = (const leat_pb_list_t*)((const char*)proto + where->offset);
  size_t wanted = (size_t)tensor->shape.element_count, bytes = leat_dtype_size(tensor->dtype);
  size_t count = list->count / where->items_each;
  char* data = (char*)tensor->data;
  if (count > wanted) count = wanted;
  if (where->item_bytes * where->items_each == bytes) {
    if (count > 0) memcpy(data, list->items, count * bytes);
  } else {
    const int32_t* wide = (const int32_t*)list->items;
    for (size_t i = 0; i < count; ++i) memcpy(data + i * bytes, &wide[i], bytes);
  }
  if (count == 0) {
    memset(data, 0, wanted * bytes);
  } else if (count < wanted) {
    repeat_last(data + count * bytes, bytes, wanted - count);
  }
}

// Makes a tensor of the strings in |list|; the texts lie in the block of the elements.
static leat_status_t make_texts(const leat_pb_string_list_t* list, leat_buffer_source_t* source,
                                const leat_shape_t* shape, leat_tensor_t* out_tensor) {
  size_t count = (size_t)shape->element_count, given = LEAT_MIN(list->count, count);
  size_t text_bytes = 0;
  char* text = NULL;
  for (size_t i = 0; i < given; ++i) text_bytes += leat_tensor_text_bytes(list->items[i]);
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate_texts(source, shape, text_bytes, out_tensor, &text));
  TF_TString* elements = leat_tensor_data(out_tensor, TF_TString);
  for (size_t i = 0; i < given; ++i) leat_tensor_place_text(&elements[i], list->items[i], &text);
  // The last string is repeated by copying its element, which owns no memory of its own: its text
  // lies in the element or in the tensor's block.
  for (size_t i = given; i < count && given > 0; ++i) elements[i] = elements[given - 1];
  return leat_ok_status();
}

leat_status_t leat_string_elements_decode(leat_string_view_t bytes, int64_t count,
                                          TF_TString* out_strings) {
  const uint8_t* next = (const uint8_t*)bytes.data;
  const uint8_t* end = next + bytes.size;
  const uint8_t* text = next;
  uint64_t size = 0;
  for (int64_t i = 0; i < count && text; ++i) text = leat_wire_read_varint(text, end, &size);
  for (int64_t i = 0; i < count && text; ++i) {
    next = leat_wire_read_varint(next, end, &size);
    if (size > (uint64_t)(end - text)) {
      text = NULL;
      break;
    }
    leat_string_view_t element = {(const char*)text, (size_t)size};
    LEAT_RETURN_IF_ERROR(leat_object_set_string(&out_strings[i], element));
    text += size;
  }
  if (text == end) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "String decode failed: %zu bytes hold something else than %lld sizes and "
                          "strings, must be exactly that", bytes.size, (long long)count);
}

// Refuses a shape whose sizes are all known and whose product is 2^63 or more.
static leat_status_t check_shape(const leat_pb_tensor_shape_proto_t* proto) {
  int64_t count = 1;
  bool fits = true;
  for (size_t i = 0; proto && !proto->unknown_rank && i < proto->dim.count; ++i) {
    int64_t size = proto->dim.items[i].size;
    if (size < 0) return leat_ok_status();  // an unknown size; TensorFlow accepts any negative one
    fits &= leat_checked_multiply(count, size, &count);
  }
  if (fits) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor decode failed: a handle's shape must have fewer than 2^63 "
                          "elements");
}

static leat_status_t make_handle(const leat_pb_resource_handle_proto_t* proto,
                                 leat_resource_handle_t** out_handle) {
  // The dtypes and shapes of what a handle names are not kept, but shapes must be valid.
  for (size_t i = 0; i < proto->dtypes_and_shapes.count; ++i) {
    LEAT_RETURN_IF_ERROR(check_shape(proto->dtypes_and_shapes.items[i].shape));
  }
  LEAT_RETURN_IF_ERROR(leat_resource_handle_create(proto->device, proto->container, proto->name,
                                                   proto->maybe_type_name, out_handle));
  (*out_handle)->type_hash = proto->hash_code;
  return leat_ok_status();
}

// Reads handles of resources. Those that the list does not have stay empty, and nothing is
// repeated.
static leat_status_t read_handles(const leat_pb_tensor_proto_t* proto, leat_tensor_t* tensor) {
  leat_resource_handle_t** handles = leat_tensor_data(tensor, leat_resource_handle_t*);
  const leat_pb_resource_handle_proto_list_t* list = &proto->resource_handle_val;
  if (proto->tensor_content.size > 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor decode failed: resource handles are in tensor_content, must be "
                            "in resource_handle_val");
  }
  for (size_t i = 0; i < list->count && i < (size_t)tensor->shape.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(make_handle(&list->items[i], &handles[i]));
  }
  return leat_ok_status();
}

static leat_status_t read_tensor(const leat_pb_tensor_proto_t* proto, leat_buffer_source_t* source,
                                 int depth, leat_tensor_t* out_tensor);

// Makes a variant of a kind that is no number, of its own bytes and the tensors in it. These may be
// tensors of variants, so that this recurses, up to MAX_VARIANT_DEPTH.
static leat_status_t read_variant(const leat_pb_variant_tensor_data_proto_t* proto,
                                  const leat_variant_vtable_t* kind, leat_buffer_source_t* source,
                                  int depth, leat_variant_t* out_variant) {
  leat_tensor_t* tensors;
  const size_t count = proto->tensors.count;
  if (depth == MAX_VARIANT_DEPTH) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor decode failed: variants are nested deeper than %d",
                            MAX_VARIANT_DEPTH);
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count + 1, &tensors));
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < count && !status; ++i) {
    status = read_tensor(&proto->tensors.items[i], source, depth + 1, &tensors[i]);
  }
  if (!status) status = kind->decode(proto->metadata, tensors, count, out_variant);
  for (size_t i = 0; i < count; ++i) leat_tensor_release(&tensors[i]);
  leat_allocator_free(leat_allocator_system(), tensors);
  return status;
}

// Reads variants: empty ones, numbers, and those of the kinds that leat_variant_kinds_set listed.
static leat_status_t read_variants(const leat_pb_tensor_proto_t* proto,
                                   leat_buffer_source_t* source, int depth,
                                   const leat_tensor_t* tensor) {
  leat_variant_t* variants = leat_tensor_data(tensor, leat_variant_t);
  const leat_pb_variant_tensor_data_proto_list_t* list = &proto->variant_val;
  if (proto->tensor_content.size > 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor decode failed: variants are in tensor_content, must be in "
                            "variant_val");
  }
  for (size_t i = 0; i < list->count && i < (size_t)tensor->shape.element_count; ++i) {
    const leat_string_view_t type_name = list->items[i].type_name;
    if (type_name.size == 0) continue;
    const leat_variant_vtable_t* kind = leat_variant_kind_find(type_name);
    LEAT_RETURN_IF_ERROR(
        kind ? read_variant(&list->items[i], kind, source, depth, &variants[i])
             : leat_number_variant_decode(type_name, list->items[i].metadata, &variants[i]));
  }
  return leat_ok_status();
}

static leat_status_t read_elements(const leat_pb_tensor_proto_t* proto,
                                   leat_buffer_source_t* source, int depth,
                                   leat_tensor_t* tensor) {
  switch (tensor->dtype) {
    case LEAT_DTYPE_STRING:
      return leat_string_elements_decode(proto->tensor_content, tensor->shape.element_count,
                                         leat_tensor_data(tensor, TF_TString));
    case LEAT_DTYPE_RESOURCE:
      return read_handles(proto, tensor);
    case LEAT_DTYPE_VARIANT:
      return read_variants(proto, source, depth, tensor);
    default:
      break;
  }
  if (proto->tensor_content.size > 0) return read_content(proto, tensor);
  read_values(proto, tensor);
  return leat_ok_status();
}

// Makes the tensor and fills it. Strings are measured before they are allocated, so that elements
// and texts are one block.
static leat_status_t make_elements(const leat_pb_tensor_proto_t* proto,
                                   leat_buffer_source_t* source, int depth,
                                   const leat_shape_t* shape, leat_tensor_t* out_tensor) {
  if (proto->dtype == LEAT_DTYPE_STRING && proto->tensor_content.size == 0) {
    return make_texts(&proto->string_val, source, shape, out_tensor);
  }
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(source, proto->dtype, shape, out_tensor));
  if (shape->element_count == 0) return leat_ok_status();
  return read_elements(proto, source, depth, out_tensor);
}

// A larger shape is an error in the message and not a lack of memory, since no process can address
// so much.
#define MAX_TENSOR_BYTES (INT64_C(1) << 47)

static bool is_absurd(const leat_shape_t* shape, size_t item_bytes) {
  int64_t bytes;
  return __builtin_mul_overflow(shape->element_count, (int64_t)item_bytes, &bytes) ||
         bytes > MAX_TENSOR_BYTES;
}

// Reads a tensor that lies within |depth| variants.
static leat_status_t read_tensor(const leat_pb_tensor_proto_t* proto, leat_buffer_source_t* source,
                                 int depth, leat_tensor_t* out_tensor) {
  leat_shape_t shape;
  *out_tensor = (leat_tensor_t){0};
  if (!leat_dtype_is_valid(proto->dtype) || leat_dtype_is_ref(proto->dtype)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor decode failed: dtype is %d, must be a known type",
                            proto->dtype);
  }
  LEAT_RETURN_IF_ERROR(leat_shape_from_proto(proto->tensor_shape, &shape));
  // Content of the wrong size is refused before memory is taken for a shape that lies.
  size_t item_bytes = leat_dtype_size(proto->dtype), size_bytes;
  leat_status_t status = leat_ok_status();
  if (proto->tensor_content.size > 0 && shape.element_count > 0 &&
      !leat_dtype_in(proto->dtype, LEAT_DTYPES_OBJECT) &&
      (__builtin_mul_overflow((size_t)shape.element_count, item_bytes, &size_bytes) ||
       size_bytes != proto->tensor_content.size)) {
    leat_tensor_t claimed = {.dtype = proto->dtype, .shape = shape};
    status = refuse_content(&claimed, proto->tensor_content.size);
  } else if (is_absurd(&shape, item_bytes)) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Tensor decode failed: shape is %s of %s, must be of at most 2^47 "
                              "bytes",
                              LEAT_SHAPE_TEXT(&shape), leat_dtype_name(proto->dtype));
  } else {
    status = make_elements(proto, source, depth, &shape, out_tensor);
  }
  leat_shape_release(&shape);
  if (!leat_status_is_ok(status)) leat_tensor_release(out_tensor);
  return status;
}

leat_status_t leat_tensor_from_proto(const leat_pb_tensor_proto_t* proto,
                                     leat_buffer_source_t* source, leat_tensor_t* out_tensor) {
  return read_tensor(proto, source, 0, out_tensor);
}

size_t leat_tensor_proto_listed(const leat_pb_tensor_proto_t* proto, int64_t element_count) {
  if (proto->tensor_content.size > 0 || !leat_dtype_is_valid(proto->dtype)) return 0;
  size_t count = proto->string_val.count;
  if (proto->dtype != LEAT_DTYPE_STRING) {
    const value_list_t* where = &value_lists[proto->dtype];
    if (where->item_bytes == 0) return 0;
    const leat_pb_list_t* list = (const leat_pb_list_t*)((const char*)proto + where->offset);
    count = list->count / where->items_each;
  }
  return LEAT_MIN(count, (size_t)element_count);
}

// Writes the elements as the list of their dtype, widened where the list is wider.
static leat_status_t write_values(const leat_tensor_t* tensor, leat_arena_t* arena,
                                  leat_pb_tensor_proto_t* proto) {
  const value_list_t* where = &value_lists[tensor->dtype];
  leat_pb_list_t* list = (leat_pb_list_t*)((char*)proto + where->offset);
  size_t count = (size_t)tensor->shape.element_count, bytes = leat_dtype_size(tensor->dtype);
  size_t items = count * where->items_each;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, items, where->item_bytes, &list->items));
  list->count = items;
  if (where->item_bytes * where->items_each == bytes) {
    memcpy(list->items, tensor->data, count * bytes);
    return leat_ok_status();
  }
  bool is_signed = leat_dtype_in(tensor->dtype, LEAT_DTYPES_SIGNED) ||
                   tensor->dtype == LEAT_DTYPE_QINT8 || tensor->dtype == LEAT_DTYPE_QINT16 ||
                   tensor->dtype == LEAT_DTYPE_INT4 || tensor->dtype == LEAT_DTYPE_INT2;
  int32_t* wide = (int32_t*)list->items;
  for (size_t i = 0; i < count; ++i) {
    const char* element = (const char*)tensor->data + i * bytes;
    if (bytes == 1) {
      wide[i] = is_signed ? *(const int8_t*)element : *(const uint8_t*)element;
    } else {
      wide[i] = is_signed ? *(const int16_t*)element : *(const uint16_t*)element;
    }
  }
  return leat_ok_status();
}

// The strings are borrowed from the tensor, which must outlive the message.
static leat_status_t write_strings(const leat_tensor_t* tensor, leat_arena_t* arena,
                                   leat_pb_tensor_proto_t* proto) {
  size_t count = (size_t)tensor->shape.element_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &proto->string_val.items));
  proto->string_val.count = count;
  for (size_t i = 0; i < count; ++i) {
    proto->string_val.items[i] = leat_tensor_string_at(tensor, (int64_t)i);
  }
  return leat_ok_status();
}

static leat_status_t write_handles(const leat_tensor_t* tensor, leat_arena_t* arena,
                                   leat_pb_tensor_proto_t* proto) {
  leat_resource_handle_t* const* handles =
      leat_tensor_data(tensor, leat_resource_handle_t* const);
  size_t count = (size_t)tensor->shape.element_count;
  leat_pb_resource_handle_proto_list_t* list = &proto->resource_handle_val;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &list->items));
  list->count = count;
  for (size_t i = 0; i < count; ++i) {
    if (!handles[i]) continue;
    list->items[i].device = handles[i]->device;
    list->items[i].container = handles[i]->container;
    list->items[i].name = handles[i]->name;
    list->items[i].hash_code = handles[i]->type_hash;
    list->items[i].maybe_type_name = handles[i]->type_name;
  }
  return leat_ok_status();
}

static leat_status_t write_tensor(const leat_tensor_t* tensor, leat_arena_t* arena, int depth,
                                  leat_pb_tensor_proto_t* proto);

// What the variant encoded lives only until its tensors are released, so bytes are copied.
static leat_status_t copy_strings(leat_arena_t* arena, leat_pb_tensor_proto_t* proto) {
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, proto->tensor_content,
                                              &proto->tensor_content));
  for (size_t i = 0; i < proto->string_val.count; ++i) {
    leat_string_view_t* string = &proto->string_val.items[i];
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, *string, string));
  }
  for (size_t i = 0; i < proto->resource_handle_val.count; ++i) {
    leat_pb_resource_handle_proto_t* handle = &proto->resource_handle_val.items[i];
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, handle->device, &handle->device));
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, handle->container, &handle->container));
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, handle->name, &handle->name));
    LEAT_RETURN_IF_ERROR(
        leat_arena_copy_string(arena, handle->maybe_type_name, &handle->maybe_type_name));
  }
  return leat_ok_status();
}

// A variant may hold tensors of variants, so that this recurses, up to MAX_VARIANT_DEPTH.
static leat_status_t write_variant(const leat_variant_t* variant, leat_arena_t* arena, int depth,
                                   leat_pb_variant_tensor_data_proto_t* proto) {
  char* metadata = NULL;
  leat_tensor_t* tensors = NULL;
  size_t metadata_size = 0, tensor_count = 0;
  if (!variant->vtable) return leat_ok_status();
  if (!variant->vtable->encode || depth == MAX_VARIANT_DEPTH) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor encode failed: variant is of type %s, must be one that can be "
                            "encoded, at most %d deep",
                            variant->vtable->type_name, MAX_VARIANT_DEPTH);
  }
  leat_status_t status = variant->vtable->encode(variant->self, &metadata, &metadata_size,
                                                 &tensors, &tensor_count);
  if (!leat_status_is_ok(status)) return status;
  proto->type_name = leat_string_view_from(variant->vtable->type_name);
  LEAT_GOTO_IF_ERROR(status, leat_arena_copy_string(
                                 arena, leat_string_view_make(metadata, metadata_size),
                                 &proto->metadata));
  LEAT_GOTO_IF_ERROR(status, LEAT_NEW(arena, tensor_count, &proto->tensors.items));
  proto->tensors.count = tensor_count;
  for (size_t i = 0; i < tensor_count; ++i) {
    leat_pb_tensor_proto_t* item = &proto->tensors.items[i];
    LEAT_GOTO_IF_ERROR(status, write_tensor(&tensors[i], arena, depth + 1, item));
    LEAT_GOTO_IF_ERROR(status, copy_strings(arena, item));
  }
cleanup:
  for (size_t i = 0; i < tensor_count; ++i) leat_tensor_release(&tensors[i]);
  leat_allocator_free(leat_allocator_system(), tensors);
  leat_allocator_free(leat_allocator_system(), metadata);
  return status;
}

static leat_status_t write_variants(const leat_tensor_t* tensor, leat_arena_t* arena, int depth,
                                    leat_pb_tensor_proto_t* proto) {
  const leat_variant_t* variants = leat_tensor_data(tensor, const leat_variant_t);
  size_t count = (size_t)tensor->shape.element_count;
  leat_pb_variant_tensor_data_proto_list_t* list = &proto->variant_val;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &list->items));
  list->count = count;
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(write_variant(&variants[i], arena, depth, &list->items[i]));
  }
  return leat_ok_status();
}

static leat_status_t write_tensor(const leat_tensor_t* tensor, leat_arena_t* arena, int depth,
                                  leat_pb_tensor_proto_t* proto) {
  *proto = (leat_pb_tensor_proto_t){.dtype = tensor->dtype};
  LEAT_RETURN_IF_ERROR(leat_partial_shape_to_proto(leat_partial_shape_of(&tensor->shape), arena,
                                                   &proto->tensor_shape));
  if (tensor->shape.element_count == 0) return leat_ok_status();
  switch (tensor->dtype) {
    case LEAT_DTYPE_STRING:
      return write_strings(tensor, arena, proto);
    case LEAT_DTYPE_RESOURCE:
      return write_handles(tensor, arena, proto);
    case LEAT_DTYPE_VARIANT:
      return write_variants(tensor, arena, depth, proto);
    default:
      break;
  }
  if (tensor->shape.element_count == 1) return write_values(tensor, arena, proto);
  proto->tensor_content =
      leat_string_view_make((const char*)tensor->data, leat_tensor_size_bytes(tensor));
  return leat_ok_status();
}

leat_status_t leat_tensor_to_proto(const leat_tensor_t* tensor, leat_arena_t* arena,
                                   leat_pb_tensor_proto_t* out_proto) {
  if (!leat_dtype_is_valid(tensor->dtype) || leat_dtype_is_ref(tensor->dtype)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor encode failed: dtype is %d, must be a known type",
                            tensor->dtype);
  }
  return write_tensor(tensor, arena, 0, out_proto);
}

leat_status_t leat_tensor_elements_to_proto(const leat_tensor_t* tensor, leat_arena_t* arena,
                                            leat_pb_tensor_proto_t* out_proto) {
  *out_proto = (leat_pb_tensor_proto_t){0};
  if (tensor->dtype == LEAT_DTYPE_STRING) return write_strings(tensor, arena, out_proto);
  if (!leat_dtype_is_valid(tensor->dtype) || value_lists[tensor->dtype].item_bytes == 0) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Tensor encode failed: dtype is %s, must be numbers or strings",
                            leat_dtype_name(tensor->dtype));
  }
  return write_values(tensor, arena, out_proto);
}

leat_status_t leat_tensor_to_listed_proto(const leat_tensor_t* tensor, size_t listed,
                                          leat_arena_t* arena, leat_pb_tensor_proto_t* out_proto) {
  LEAT_DCHECK(listed > 0 && listed <= (size_t)tensor->shape.element_count);
  leat_tensor_t first = *tensor;  // borrows the elements
  first.shape = leat_shape_vector((int64_t)listed);
  LEAT_RETURN_IF_ERROR(leat_tensor_elements_to_proto(&first, arena, out_proto));
  out_proto->dtype = tensor->dtype;
  return leat_partial_shape_to_proto(leat_partial_shape_of(&tensor->shape), arena,
                                     &out_proto->tensor_shape);
}
