// The fast path of decoding attribute values. There is one function for each plain form of a value:
// a single field that fills the message, or a list whose items are all written in the same way. A
// form is plain if it is what every protobuf encoder writes: known fields, one byte tags, in order,
// packed numbers.
//
//   AttrValue bytes --read_plain--> value          the usual case
//           |  not plain
//           '--leat_message_decode--> message --leat_attr_value_from_proto--> value
//
// Each function gives up at the first byte that is not plain (|*out_plain| false) and never reports
// an error of the input: the general decoder then reads the same bytes and has the last word on
// whether they are malformed and how the message sounds. What is accepted here must therefore be
// accepted by the decoder too, with the same value. A status other than OK means that memory ran
// out or that a tensor is invalid, which both paths report alike. Values that are short and equal
// byte for byte are read once and shared (the last section).
#include "graph/import/attr_wire.h"

#include "formats/wire/decode.h"
#include "formats/wire/tensor_proto.h"
#include "formats/wire/wire.h"
#include "graph/op/attr_proto.h"
#include "graph/storage.h"

// Tags of the fields: field number << 3 | wire type. All of them fit one byte.
enum { VALUE_LIST = 0x0a, VALUE_S = 0x12, VALUE_I = 0x18, VALUE_F = 0x25, VALUE_B = 0x28,
       VALUE_TYPE = 0x30, VALUE_SHAPE = 0x3a, VALUE_TENSOR = 0x42 };
enum { LIST_S = 0x12, LIST_I = 0x1a, LIST_TYPE = 0x32, LIST_SHAPE = 0x3a };
enum { SHAPE_DIM = 0x12, SHAPE_UNKNOWN_RANK = 0x18, DIM_SIZE = 0x08 };
enum { TENSOR_DTYPE = 0x08, TENSOR_SHAPE = 0x12, TENSOR_CONTENT = 0x22, TENSOR_FLOAT = 0x2a,
       TENSOR_INT = 0x3a, TENSOR_STRING = 0x42, TENSOR_INT64 = 0x52, TENSOR_BOOL = 0x5a };

#define NOT_PLAIN (-2)  // instead of a rank
#define MAX_RANK LEAT_WIRE_SHAPES
#define TEXTS_AHEAD_BYTES 512  // distance of the prefetch while strings are counted
#define MAX_PACKED 16          // numbers in the typed fields of a tensor; more is not plain

static const uint8_t* begin_of(leat_string_view_t bytes) { return (const uint8_t*)bytes.data; }
static const uint8_t* end_of(leat_string_view_t bytes) { return begin_of(bytes) + bytes.size; }

// ---- shapes -------------------------------------------------------------------------------------

// The rank of an encoded TensorShapeProto: -1 where it is unknown, or NOT_PLAIN.
static int read_shape(leat_string_view_t bytes, int64_t dims[MAX_RANK]) {
  const uint8_t *next = begin_of(bytes), *end = end_of(bytes);
  if (bytes.size == 2 && next[0] == SHAPE_UNKNOWN_RANK && next[1] == 1) return -1;
  int rank = 0;
  for (; next < end; ++rank) {
    uint64_t size = 0;
    leat_string_view_t dim;
    if (rank == MAX_RANK || *next != SHAPE_DIM) return NOT_PLAIN;
    next = leat_wire_read_bytes(next + 1, end, &dim);
    if (!next) return NOT_PLAIN;
    const uint8_t* field = begin_of(dim);
    if (dim.size > 0) {
      if (*field != DIM_SIZE) return NOT_PLAIN;
      if (leat_wire_read_varint(field + 1, next, &size) != next) return NOT_PLAIN;
    }
    dims[rank] = (int64_t)size;
    if (dims[rank] < LEAT_DIM_UNKNOWN) return NOT_PLAIN;
  }
  return rank;
}

bool leat_wire_shapes_read(leat_string_view_t bytes, leat_wire_shapes_t* out_shapes) {
  out_shapes->count = 0;
  leat_string_view_t list, shape;
  if (bytes.size == 0 || *begin_of(bytes) != VALUE_LIST) return false;
  if (leat_wire_read_bytes(begin_of(bytes) + 1, end_of(bytes), &list) != end_of(bytes)) {
    return false;
  }
  const uint8_t* next = begin_of(list);
  while (next < end_of(list)) {
    int i = out_shapes->count++;
    if (*next != LIST_SHAPE || i == LEAT_WIRE_SHAPES) return false;
    next = leat_wire_read_bytes(next + 1, end_of(list), &shape);
    int rank = next ? read_shape(shape, out_shapes->dims[i]) : NOT_PLAIN;
    if (rank == NOT_PLAIN) return false;
    out_shapes->shapes[i] = (leat_partial_shape_t){rank, rank > 0 ? out_shapes->dims[i] : NULL};
  }
  return true;
}

static leat_status_t read_single_shape(leat_string_view_t bytes, leat_graph_storage_t* storage,
                                       leat_attr_value_t* value, bool* out_plain) {
  int64_t dims[MAX_RANK];
  int rank = read_shape(bytes, dims);
  *out_plain = rank != NOT_PLAIN;
  if (!*out_plain) return leat_ok_status();
  value->kind = LEAT_ATTR_SHAPE;
  return leat_partial_shape_create(rank, dims, &storage->arena, &value->shape);
}

// ---- tensors ------------------------------------------------------------------------------------

// A TensorProto message on the stack, with everything that it points to.
typedef struct plain_tensor_s {
  leat_pb_tensor_proto_t message;
  leat_pb_tensor_shape_proto_t shape;
  leat_pb_tensor_shape_proto_dim_t dims[MAX_RANK];
  int64_t numbers[MAX_PACKED];
} plain_tensor_t;

static bool read_tensor_shape(leat_string_view_t bytes, plain_tensor_t* tensor) {
  int64_t dims[MAX_RANK];
  int rank = read_shape(bytes, dims);
  if (rank < 0 || tensor->message.tensor_shape) return false;
  for (int i = 0; i < rank; ++i) tensor->dims[i].size = dims[i];
  tensor->shape = (leat_pb_tensor_shape_proto_t){.dim = {tensor->dims, (size_t)rank}};
  tensor->message.tensor_shape = &tensor->shape;
  return true;
}

// Reads the numbers of the one packed field that the tensor has.
static bool read_packed(uint8_t tag, leat_string_view_t bytes, plain_tensor_t* tensor) {
  const uint8_t *next = begin_of(bytes), *end = end_of(bytes);
  size_t count = 0;
  for (; next && next < end; ++count) {
    uint64_t number = 0;
    if (count == MAX_PACKED) return false;
    if (tag == TENSOR_FLOAT) {
      if (end - next < 4) return false;
      ((uint32_t*)tensor->numbers)[count] = leat_wire_load32(next);
      next += 4;
      continue;
    }
    next = leat_wire_read_varint(next, end, &number);
    if (tag == TENSOR_INT64) tensor->numbers[count] = (int64_t)number;
    else if (tag == TENSOR_INT) ((int32_t*)tensor->numbers)[count] = (int32_t)number;
    else ((bool*)tensor->numbers)[count] = number != 0;
  }
  leat_pb_tensor_proto_t* message = &tensor->message;
  void* items = tensor->numbers;
  if (tag == TENSOR_FLOAT) message->float_val = (leat_pb_float_list_t){items, count};
  else if (tag == TENSOR_INT) message->int_val = (leat_pb_int32_list_t){items, count};
  else if (tag == TENSOR_INT64) message->int64_val = (leat_pb_int64_list_t){items, count};
  else message->bool_val = (leat_pb_bool_list_t){items, count};
  return next == end;
}

// Reads one field of values: raw content, or numbers in a typed field.
static bool read_values(uint8_t tag, leat_string_view_t bytes, plain_tensor_t* tensor) {
  switch (tag) {
    case TENSOR_CONTENT: tensor->message.tensor_content = bytes; return true;
    case TENSOR_FLOAT:
    case TENSOR_INT:
    case TENSOR_INT64:
    case TENSOR_BOOL: return read_packed(tag, bytes, tensor);
    default: return false;
  }
}

// Reads strings from |begin| to |end|, which must be nothing but strings. They are counted first,
// so that their array is allocated once.
static leat_status_t read_texts(leat_attr_reader_t* reader, const uint8_t* begin,
                                const uint8_t* end, plain_tensor_t* tensor, bool* out_plain) {
  leat_pb_string_list_t* list = &tensor->message.string_val;
  leat_string_view_t text;
  for (const uint8_t* next = begin; next != end; ++list->count) {
    __builtin_prefetch(next + TEXTS_AHEAD_BYTES);  // each string tells where the next one is
    next = *next == TENSOR_STRING ? leat_wire_read_bytes(next + 1, end, &text) : NULL;
    *out_plain = next != NULL;
    if (!next) return leat_ok_status();
  }
  void* texts = reader->texts;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(reader->scratch->allocator, list->count,
                                                 sizeof(leat_string_view_t), &texts,
                                                 &reader->text_capacity));
  list->items = reader->texts = texts;
  for (size_t i = 0; i < list->count; ++i) {
    begin = leat_wire_read_bytes(begin + 1, end, &list->items[i]);
  }
  return leat_ok_status();
}

// Reads a TensorProto of a type, a shape, and the values in one field or as strings at the end.
// Fills |tensor|, whose strings lie in |reader|.
static leat_status_t read_tensor(leat_attr_reader_t* reader, leat_string_view_t bytes,
                                 plain_tensor_t* tensor, bool* out_plain) {
  const uint8_t *next = begin_of(bytes), *end = end_of(bytes);
  uint64_t dtype = 0;
  bool has_values = false;
  if (next < end && *next == TENSOR_DTYPE) next = leat_wire_read_varint(next + 1, end, &dtype);
  tensor->message = (leat_pb_tensor_proto_t){.dtype = (int32_t)dtype};
  while (next && next < end) {
    uint8_t tag = *next;
    leat_string_view_t text;
    if (tag == TENSOR_STRING && !has_values) {
      return read_texts(reader, next, end, tensor, out_plain);
    }
    next = leat_wire_read_bytes(next + 1, end, &text);
    *out_plain = next && !has_values;
    if (*out_plain && tag == TENSOR_SHAPE) {
      *out_plain = read_tensor_shape(text, tensor);
    } else if (*out_plain) {
      has_values = true;
      *out_plain = read_values(tag, text, tensor);
    }
    if (!*out_plain) return leat_ok_status();
  }
  *out_plain = next != NULL;
  return leat_ok_status();
}

static leat_status_t read_single_tensor(leat_attr_reader_t* reader, leat_string_view_t bytes,
                                        leat_attr_value_t* value, bool* out_plain) {
  plain_tensor_t plain;
  LEAT_RETURN_IF_ERROR(read_tensor(reader, bytes, &plain, out_plain));
  if (!*out_plain) return leat_ok_status();
  leat_tensor_t tensor;
  value->kind = LEAT_ATTR_TENSOR;
  LEAT_RETURN_IF_ERROR(leat_tensor_from_proto(&plain.message, leat_buffer_source_host(), &tensor));
  value->count = leat_attr_tensor_listed(&plain.message, &tensor);
  return leat_graph_storage_keep_tensor_move(reader->storage, &tensor, &value->tensor);
}

// ---- lists --------------------------------------------------------------------------------------

static leat_status_t allocate_items(leat_graph_storage_t* storage, leat_attr_kind_t kind,
                                    size_t count, leat_attr_value_t* value, void** out_items) {
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&storage->arena, count,
                                                 leat_attr_item_bytes(kind), out_items));
  value->kind = (uint8_t)kind;
  value->count = (uint32_t)count;
  value->items = *out_items;
  return leat_ok_status();
}

// Reads a list of strings in two passes: the first counts them and sees whether the list is plain,
// the second copies them.
static leat_status_t read_strings(leat_string_view_t list, leat_graph_storage_t* storage,
                                  leat_attr_value_t* value, bool* out_plain) {
  const uint8_t *next = begin_of(list), *end = end_of(list);
  size_t count = 0;
  leat_string_view_t text;
  for (; next && next < end; ++count) {
    next = *next == LIST_S ? leat_wire_read_bytes(next + 1, end, &text) : NULL;
  }
  *out_plain = next && count <= UINT32_MAX;
  if (!*out_plain) return leat_ok_status();
  void* items = NULL;
  LEAT_RETURN_IF_ERROR(allocate_items(storage, LEAT_ATTR_STRING, count, value, &items));
  next = begin_of(list);
  for (size_t i = 0; i < count; ++i) {
    next = leat_wire_read_bytes(next + 1, end, &text);
    LEAT_RETURN_IF_ERROR(
        leat_graph_storage_copy_text(storage, text, (leat_string_view_t*)items + i));
  }
  return leat_ok_status();
}

// Reads a list of numbers that are packed into one field. A varint ends at a byte below 0x80, so
// counting those counts the numbers.
static leat_status_t read_numbers(leat_string_view_t list, leat_attr_kind_t kind,
                                  leat_graph_storage_t* storage, leat_attr_value_t* value,
                                  bool* out_plain) {
  leat_string_view_t packed = {NULL, 0};
  const uint8_t* next = leat_wire_read_bytes(begin_of(list) + 1, end_of(list), &packed);
  *out_plain = next == end_of(list) && packed.size <= UINT32_MAX &&
               (packed.size == 0 || *(end_of(packed) - 1) < 0x80);
  if (!*out_plain || packed.size == 0) return leat_ok_status();
  size_t count = 0;
  for (size_t i = 0; i < packed.size; ++i) count += begin_of(packed)[i] < 0x80;
  void* items = NULL;
  LEAT_RETURN_IF_ERROR(allocate_items(storage, kind, count, value, &items));
  next = begin_of(packed);
  for (size_t i = 0; i < count; ++i) {
    uint64_t number = 0;
    next = leat_wire_read_varint(next, end_of(packed), &number);
    *out_plain = next != NULL;
    if (!next) return leat_ok_status();
    if (kind == LEAT_ATTR_INT) ((int64_t*)items)[i] = (int64_t)number;
    else ((int32_t*)items)[i] = (int32_t)number;
  }
  return leat_ok_status();
}

static leat_status_t read_list(leat_string_view_t list, leat_graph_storage_t* storage,
                               leat_attr_value_t* value, bool* out_plain) {
  value->is_list = true;
  if (list.size == 0) return leat_ok_status();
  switch (*begin_of(list)) {
    case LIST_S: return read_strings(list, storage, value, out_plain);
    case LIST_I: return read_numbers(list, LEAT_ATTR_INT, storage, value, out_plain);
    case LIST_TYPE: return read_numbers(list, LEAT_ATTR_TYPE, storage, value, out_plain);
    default: *out_plain = false;
  }
  return leat_ok_status();
}

// ---- values -------------------------------------------------------------------------------------

// Reads a number, truth value or type that fills |bytes| behind its tag.
static bool read_number(leat_string_view_t bytes, leat_attr_value_t* value) {
  const uint8_t *next = begin_of(bytes) + 1, *end = end_of(bytes);
  uint64_t number = 0;
  uint32_t bits = 0;
  switch (*begin_of(bytes)) {
    case VALUE_I:
      value->kind = LEAT_ATTR_INT;
      next = leat_wire_read_varint(next, end, &number);
      value->i = (int64_t)number;
      return next == end;
    case VALUE_B:
      value->kind = LEAT_ATTR_BOOL;
      next = leat_wire_read_varint(next, end, &number);
      value->b = number != 0;
      return next == end;
    case VALUE_TYPE:
      value->kind = LEAT_ATTR_TYPE;
      next = leat_wire_read_varint(next, end, &number);
      value->type = (int32_t)number;
      return next == end;
    case VALUE_F:
      if (end - next != 4) return false;
      value->kind = LEAT_ATTR_FLOAT;
      bits = leat_wire_load32(next);
      memcpy(&value->f, &bits, sizeof(bits));
      return true;
    default: return false;
  }
}

// Reads |bytes| if they are plain. Only fields with a length can hold messages; the others are
// numbers.
static leat_status_t read_plain(leat_attr_reader_t* reader, leat_string_view_t bytes,
                                leat_attr_value_t* value, bool* out_plain) {
  leat_graph_storage_t* storage = reader->storage;
  *value = (leat_attr_value_t){.kind = LEAT_ATTR_NONE};
  *out_plain = true;
  if (bytes.size == 0) return leat_ok_status();
  uint8_t tag = *begin_of(bytes);
  if ((tag & 7) != LEAT_WIRE_LENGTH) {
    *out_plain = read_number(bytes, value);
    return leat_ok_status();
  }
  leat_string_view_t inner;
  *out_plain = leat_wire_read_bytes(begin_of(bytes) + 1, end_of(bytes), &inner) == end_of(bytes);
  if (!*out_plain) return leat_ok_status();
  switch (tag) {
    case VALUE_LIST: return read_list(inner, storage, value, out_plain);
    case VALUE_S:
      value->kind = LEAT_ATTR_STRING;
      return leat_graph_storage_copy_text(storage, inner, &value->s);
    case VALUE_SHAPE: return read_single_shape(inner, storage, value, out_plain);
    case VALUE_TENSOR: return read_single_tensor(reader, inner, value, out_plain);
    default: *out_plain = false;
  }
  return leat_ok_status();
}

leat_status_t leat_attr_reader_read_apart(leat_attr_reader_t* reader, leat_string_view_t bytes,
                                          leat_attr_value_t* out_value) {
  bool is_plain = false;
  LEAT_RETURN_IF_ERROR(read_plain(reader, bytes, out_value, &is_plain));
  if (LEAT_LIKELY(is_plain)) return leat_ok_status();
  leat_pb_attr_value_t message;
  LEAT_RETURN_IF_ERROR(
      leat_message_decode(&leat_pb_attr_value_descriptor, bytes, reader->scratch, NULL, &message));
  return leat_attr_value_from_proto(&message, reader->storage, out_value);
}

// ---- equal values -------------------------------------------------------------------------------

#define MAX_SHARED_BYTES 256  // longer values seldom repeat, and hashing them costs

void leat_attr_reader_initialize(leat_graph_storage_t* storage, leat_arena_t* scratch,
                                 leat_attr_reader_t* out_reader) {
  memset(out_reader, 0, sizeof(*out_reader));
  out_reader->storage = storage;
  out_reader->scratch = scratch;
}

void leat_attr_reader_deinitialize(leat_attr_reader_t* reader) {
  leat_allocator_free(reader->scratch->allocator, reader->texts);
}

// Numbers are not looked up, because reading them again is faster than hashing them. The table is
// direct mapped: a value that loses its slot is merely read again.
leat_status_t leat_attr_reader_read(leat_attr_reader_t* reader, leat_string_view_t bytes,
                                    leat_attr_value_t* out_value) {
  bool is_number = bytes.size > 0 && (*begin_of(bytes) & 7) != LEAT_WIRE_LENGTH;
  if (bytes.size == 0 || is_number || bytes.size > MAX_SHARED_BYTES) {
    return leat_attr_reader_read_apart(reader, bytes, out_value);
  }
  size_t slot = leat_string_view_hash(bytes) % LEAT_ATTR_READER_SLOTS;
  if (leat_string_view_equal(reader->slots[slot].bytes, bytes)) {
    *out_value = reader->slots[slot].value;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_attr_reader_read_apart(reader, bytes, out_value));
  reader->slots[slot].bytes = bytes;
  reader->slots[slot].value = *out_value;
  return leat_ok_status();
}
