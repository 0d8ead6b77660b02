// Each reader walks over the fields of one message and keeps those that it knows, as the decoder of
// formats/wire/ does for all of them: unknown fields are skipped, and the last of several wins.
// They follow the wire format of event.proto, summary.proto and tensor.proto. Strings are views and
// may hold any bytes; whoever keeps one makes UTF-8 of it. The run calls them for each record.
#include "board/event_value.h"

#include <math.h>

#include "formats/generated/tensor.h"
#include "formats/generated/types.h"

// One field. |number| is its varint or fixed value, |bytes| what a length is of.
typedef struct field_s {
  uint32_t number, type;
  uint64_t word;
  leat_string_view_t bytes;
} field_t;

// Takes a field off the front of |*message|; false at the end, and where it is malformed, when
// |*message| is not empty.
static bool take_field(leat_string_view_t* message, field_t* out_field) {
  if (!message->size) return false;
  const uint8_t* next = (const uint8_t*)message->data;
  const uint8_t* end = next + message->size;
  next = leat_wire_read_tag(next, end, &out_field->number, &out_field->type);
  if (!next) return false;
  switch (out_field->type) {
    case LEAT_WIRE_VARINT:
      next = leat_wire_read_varint(next, end, &out_field->word);
      break;
    case LEAT_WIRE_LENGTH:
      next = leat_wire_read_bytes(next, end, &out_field->bytes);
      break;
    case LEAT_WIRE_FIXED64:
      if (end - next < 8) return false;
      out_field->word = leat_wire_load64(next);
      next += 8;
      break;
    case LEAT_WIRE_FIXED32:
      if (end - next < 4) return false;
      out_field->word = leat_wire_load32(next);
      next += 4;
      break;
    default:
      next = leat_wire_skip(next, end, out_field->number, out_field->type);
  }
  if (!next) return false;
  *message = leat_string_view_make((const char*)next, (size_t)(end - next));
  return true;
}

static double double_of(uint64_t word) {
  double number;
  memcpy(&number, &word, sizeof number);
  return number;
}

static float float_of(uint32_t word) {
  float number;
  memcpy(&number, &word, sizeof number);
  return number;
}

// The form that writers give an event with a summary: time, step (unless it is 0), summary. false
// where it is another.
static bool read_usual_event(leat_string_view_t bytes, board_event_t* out_event) {
  if (bytes.size < 12 || bytes.data[0] != 0x09) return false;
  const uint8_t* next = (const uint8_t*)bytes.data;
  const uint8_t* end = next + bytes.size;
  uint64_t step = 0;
  out_event->wall_time = double_of(leat_wire_load64(next + 1));
  next += 9;
  if (*next == 0x10) {
    // Steps of two bytes are read here; bytes.size has room for them.
    if (next[1] >= 0x80 && next[2] < 0x80) {
      step = (next[1] & 0x7fu) | (uint64_t)next[2] << 7;
      next += 3;
    } else {
      next = leat_wire_read_varint(next + 1, end, &step);
    }
  }
  if (!next || next >= end || *next != 0x2a) return false;
  next = leat_wire_read_bytes(next + 1, end, &out_event->body);
  out_event->step = (int64_t)step;
  out_event->what = BOARD_EVENT_SUMMARY;
  return next == end;
}

bool board_event_read(leat_string_view_t bytes, board_event_t* out_event) {
  field_t field;
  if (read_usual_event(bytes, out_event)) return true;
  *out_event = (board_event_t){0};
  while (take_field(&bytes, &field)) {
    if (field.number == 1 && field.type == LEAT_WIRE_FIXED64) {
      out_event->wall_time = double_of(field.word);
    } else if (field.number == 2 && field.type == LEAT_WIRE_VARINT) {
      out_event->step = (int64_t)field.word;
    } else if (field.number >= 3 && field.number <= 9 && field.type == LEAT_WIRE_LENGTH) {
      out_event->what = field.number;
      out_event->body = field.bytes;
    }
  }
  return bytes.size == 0;
}

// Reads the fields of one Summary.Value.
static bool read_value(leat_string_view_t bytes, board_value_t* value) {
  field_t field;
  *value = (board_value_t){.bytes = bytes};
  while (take_field(&bytes, &field)) {
    if (field.type == LEAT_WIRE_FIXED32 && field.number == BOARD_VALUE_SIMPLE) {
      value->kind = field.number;
      value->simple = float_of((uint32_t)field.word);
    }
    if (field.type != LEAT_WIRE_LENGTH) continue;
    switch (field.number) {
      case 1:
        value->tag = field.bytes;
        break;
      case 3:  // a histogram of before 2015, which nobody shows
        value->kind = BOARD_VALUE_NONE;
        break;
      case BOARD_VALUE_IMAGE: case BOARD_VALUE_HISTOGRAM: case BOARD_VALUE_AUDIO:
      case BOARD_VALUE_TENSOR:
        value->kind = field.number;
        value->body = field.bytes;
        break;
      case 9:
        value->metadata = field.bytes;
        value->has_metadata = true;
        break;
      default:
        break;
    }
  }
  return bytes.size == 0;
}

bool board_value_next(leat_string_view_t* summary, board_value_t* out_value) {
  field_t field;
  while (take_field(summary, &field)) {
    if (field.number == 1 && field.type == LEAT_WIRE_LENGTH) {
      return read_value(field.bytes, out_value);
    }
  }
  return false;
}

static bool read_plugin(leat_string_view_t bytes, board_metadata_t* metadata) {
  field_t field;
  while (take_field(&bytes, &field)) {
    if (field.type != LEAT_WIRE_LENGTH) continue;
    if (field.number == 1) metadata->plugin = field.bytes;
    if (field.number == 2) metadata->content = field.bytes;
  }
  return bytes.size == 0;
}

bool board_metadata_read(leat_string_view_t bytes, board_metadata_t* out_metadata) {
  field_t field;
  *out_metadata = (board_metadata_t){.plugin = leat_string_view_make("", 0)};
  while (take_field(&bytes, &field)) {
    if (field.number == 4 && field.type == LEAT_WIRE_VARINT) {
      out_metadata->data_class = (uint32_t)field.word;
    }
    if (field.type != LEAT_WIRE_LENGTH) continue;
    if (field.number == 1 && !read_plugin(field.bytes, out_metadata)) return false;
    if (field.number == 2) out_metadata->display_name = field.bytes;
    if (field.number == 3) out_metadata->description = field.bytes;
  }
  return bytes.size == 0;
}

bool board_session_status_read(leat_string_view_t bytes, uint32_t* out_status) {
  field_t field;
  *out_status = 0;
  while (take_field(&bytes, &field)) {
    if (field.number == 1 && field.type == LEAT_WIRE_VARINT) *out_status = (uint32_t)field.word;
  }
  return bytes.size == 0;
}

bool board_run_metadata_read(leat_string_view_t bytes, leat_string_view_t* out_tag,
                             leat_string_view_t* out_metadata) {
  field_t field;
  *out_tag = *out_metadata = leat_string_view_make("", 0);
  while (take_field(&bytes, &field)) {
    if (field.type != LEAT_WIRE_LENGTH) continue;
    if (field.number == 1) *out_tag = field.bytes;
    if (field.number == 2) *out_metadata = field.bytes;
  }
  return bytes.size == 0;
}

// ---- Tensors ------------------------------------------------------------------------------------
static bool read_dimension(leat_string_view_t bytes, uint64_t* out_size) {
  field_t field;
  *out_size = 0;
  while (take_field(&bytes, &field)) {
    if (field.number == 1 && field.type == LEAT_WIRE_VARINT) *out_size = field.word;
  }
  return bytes.size == 0;
}

// The product saturates: it is only ever compared with small numbers.
static bool read_shape(leat_string_view_t bytes, uint64_t* elements, uint64_t* first,
                       uint32_t* rank) {
  field_t field;
  uint64_t size;
  while (take_field(&bytes, &field)) {
    if (field.number != 2 || field.type != LEAT_WIRE_LENGTH) continue;
    if (!read_dimension(field.bytes, &size)) return false;
    if ((*rank)++ == 0) *first = size;
    if (__builtin_mul_overflow(*elements, size, elements)) *elements = UINT64_MAX;
  }
  return bytes.size == 0;
}

bool board_shape_read(leat_string_view_t tensor, uint64_t* out_elements, uint64_t* out_first,
                      uint32_t* out_rank) {
  field_t field;
  *out_elements = 1;
  *out_first = 0;
  *out_rank = 0;
  while (take_field(&tensor, &field)) {
    if (field.number == 2 && field.type == LEAT_WIRE_LENGTH &&
        !read_shape(field.bytes, out_elements, out_first, out_rank)) {
      return false;
    }
  }
  return tensor.size == 0;
}

static double half_of(uint32_t bits) {
  int exponent = bits >> 10 & 31;
  double fraction = bits & 1023;
  double size = exponent == 31  ? (fraction > 0 ? NAN : INFINITY)
                : exponent == 0 ? ldexp(fraction, -24)
                                : ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -size : size;
}

// The number that |word| is in a list of a TensorProto.
static double number_of(uint32_t dtype, uint64_t word) {
  switch (dtype) {
    case LEAT_PB_DATA_TYPE_DT_FLOAT: return float_of((uint32_t)word);
    case LEAT_PB_DATA_TYPE_DT_DOUBLE: return double_of(word);
    case LEAT_PB_DATA_TYPE_DT_HALF: return half_of((uint32_t)word & 0xffff);
    case LEAT_PB_DATA_TYPE_DT_BFLOAT16: return float_of((uint32_t)word << 16);
    case LEAT_PB_DATA_TYPE_DT_UINT64: return (double)word;
    case LEAT_PB_DATA_TYPE_DT_UINT32: return (uint32_t)word;
    case LEAT_PB_DATA_TYPE_DT_INT64: return (double)(int64_t)word;
    case LEAT_PB_DATA_TYPE_DT_UINT8: case LEAT_PB_DATA_TYPE_DT_BOOL: return (uint8_t)word;
    case LEAT_PB_DATA_TYPE_DT_INT8: return (int8_t)word;
    case LEAT_PB_DATA_TYPE_DT_INT16: return (int16_t)word;
    case LEAT_PB_DATA_TYPE_DT_UINT16: return (uint16_t)word;
    default: return (int32_t)word;
  }
}

static size_t item_bytes_of(uint32_t dtype) {
  switch (dtype) {
    case LEAT_PB_DATA_TYPE_DT_DOUBLE: case LEAT_PB_DATA_TYPE_DT_INT64:
    case LEAT_PB_DATA_TYPE_DT_UINT64:
      return 8;
    case LEAT_PB_DATA_TYPE_DT_FLOAT: case LEAT_PB_DATA_TYPE_DT_INT32:
    case LEAT_PB_DATA_TYPE_DT_UINT32:
      return 4;
    case LEAT_PB_DATA_TYPE_DT_HALF: case LEAT_PB_DATA_TYPE_DT_BFLOAT16:
    case LEAT_PB_DATA_TYPE_DT_INT16: case LEAT_PB_DATA_TYPE_DT_UINT16:
      return 2;
    case LEAT_PB_DATA_TYPE_DT_INT8: case LEAT_PB_DATA_TYPE_DT_UINT8:
    case LEAT_PB_DATA_TYPE_DT_BOOL:
      return 1;
    default:
      return 0;
  }
}

// The little-endian word at the front of |bytes|.
static uint64_t load_word(leat_string_view_t bytes, size_t item_bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < item_bytes; ++i) word |= (uint64_t)(uint8_t)bytes.data[i] << 8 * i;
  return word;
}

// The list of a TensorProto in which numbers of |dtype| are.
static uint32_t list_of(uint32_t dtype) {
  switch (dtype) {
    case LEAT_PB_DATA_TYPE_DT_FLOAT: return 5;
    case LEAT_PB_DATA_TYPE_DT_DOUBLE: return 6;
    case LEAT_PB_DATA_TYPE_DT_INT64: return 10;
    case LEAT_PB_DATA_TYPE_DT_BOOL: return 11;
    case LEAT_PB_DATA_TYPE_DT_HALF: case LEAT_PB_DATA_TYPE_DT_BFLOAT16: return 13;
    case LEAT_PB_DATA_TYPE_DT_UINT32: return 16;
    case LEAT_PB_DATA_TYPE_DT_UINT64: return 17;
    default: return 7;
  }
}

board_number_kind_t board_number_kind(uint32_t dtype) {
  switch (dtype) {
    case LEAT_PB_DATA_TYPE_DT_FLOAT: case LEAT_PB_DATA_TYPE_DT_DOUBLE:
    case LEAT_PB_DATA_TYPE_DT_HALF: case LEAT_PB_DATA_TYPE_DT_BFLOAT16:
      return BOARD_NUMBER_FLOAT;
    case LEAT_PB_DATA_TYPE_DT_BOOL:
      return BOARD_NUMBER_BOOL;
    default:
      return BOARD_NUMBER_INT;
  }
}

bool board_scalar_read(leat_string_view_t tensor, uint64_t* out_elements, uint32_t* out_dtype,
                       double* out_number) {
  field_t field, list = {0};
  uint64_t first, word = 0;
  uint32_t dtype = 0, rank = 0;
  leat_string_view_t content = {0};
  *out_elements = 1;
  while (take_field(&tensor, &field)) {
    if (field.number == 1 && field.type == LEAT_WIRE_VARINT) dtype = (uint32_t)field.word;
    if (field.number == 2 && field.type == LEAT_WIRE_LENGTH &&
        !read_shape(field.bytes, out_elements, &first, &rank)) {
      return false;
    }
    if (field.number == 4 && field.type == LEAT_WIRE_LENGTH) content = field.bytes;
    // Of lists of several numbers the first counts, of those of one number also the last.
    if (field.number >= 5 && !list.number && field.number == list_of(dtype)) list = field;
  }
  size_t item_bytes = item_bytes_of(dtype);
  *out_dtype = dtype;
  if (tensor.size || !item_bytes) return false;
  if (*out_elements != 1) return true;
  if (content.size) {
    if (content.size != item_bytes) return false;
    word = load_word(content, item_bytes);
  } else if (list.number && list.type != LEAT_WIRE_LENGTH) {
    word = list.word;
  } else if (list.number && list.bytes.size) {
    const uint8_t* data = (const uint8_t*)list.bytes.data;
    if (list.number == 5 || list.number == 6) {
      if (list.bytes.size < item_bytes) return false;
      word = load_word(list.bytes, item_bytes);
    } else if (!leat_wire_read_varint(data, data + list.bytes.size, &word)) {
      return false;
    }
  }
  *out_number = number_of(dtype, word);
  return true;
}
