// What the board needs of an Event, taken from its bytes without decoding the rest: a log of
// scalars is mostly small events, and a whole decoder would cost several times what is read. A
// field that is not known is skipped, and one that comes twice counts as protobuf has it, the last
// one. board/run_event.c reads events with these functions and counts as skipped what they refuse.
//
// All views are of the event's bytes.
#ifndef LEAT_BOARD_EVENT_VALUE_H_
#define LEAT_BOARD_EVENT_VALUE_H_

#include <stdbool.h>

#include "base/string_view.h"
#include "board/json_writer.h"
#include "formats/wire/wire.h"

// Numbers of the fields of Event that the board knows.
enum {
  BOARD_EVENT_FILE_VERSION = 3,
  BOARD_EVENT_GRAPH_DEF = 4,
  BOARD_EVENT_SUMMARY = 5,
  BOARD_EVENT_SESSION_LOG = 7,
  BOARD_EVENT_RUN_METADATA = 8,
};

typedef struct board_event_s {
  double wall_time;
  int64_t step;
  uint32_t what;  // the number of the last field that is not a time or a step; 0 for none
  leat_string_view_t body;  // of that field
} board_event_t;

// Which field of a Summary.Value holds it.
enum {
  BOARD_VALUE_NONE = 0,
  BOARD_VALUE_SIMPLE = 2,
  BOARD_VALUE_IMAGE = 4,
  BOARD_VALUE_HISTOGRAM = 5,
  BOARD_VALUE_AUDIO = 6,
  BOARD_VALUE_TENSOR = 8,
};

typedef struct board_value_s {
  leat_string_view_t tag;
  leat_string_view_t metadata;  // a SummaryMetadata
  bool has_metadata;
  uint32_t kind;
  float simple;
  leat_string_view_t body;  // of an image, a histogram, a sound or a tensor
  leat_string_view_t bytes;  // of the whole value
} board_value_t;

typedef struct board_metadata_s {
  leat_string_view_t plugin, content, display_name, description;
  uint32_t data_class;
} board_metadata_t;

// Whether |size| bytes are equal. Tags are short, and for those a call costs more than comparing
// words, of which the last may overlap the one before.
static inline bool board_bytes_equal(const char* a, const char* b, size_t size) {
  if (size < 8) {
    if (size < 4) return !size || (a[0] == b[0] && a[size / 2] == b[size / 2] &&
                                   a[size - 1] == b[size - 1]);
    return leat_wire_load32(a) == leat_wire_load32(b) &&
           leat_wire_load32(a + size - 4) == leat_wire_load32(b + size - 4);
  }
  for (size_t at = 0; at + 8 < size; at += 8) {
    if (leat_wire_load64(a + at) != leat_wire_load64(b + at)) return false;
  }
  return leat_wire_load64(a + size - 8) == leat_wire_load64(b + size - 8);
}

// Each returns false where the bytes are malformed.
bool board_event_read(leat_string_view_t bytes, board_event_t* out_event);
// Takes the next value off the front of a Summary's bytes; false at the end too, where |*summary|
// is empty.
bool board_value_next(leat_string_view_t* summary, board_value_t* out_value);
// Takes the next value off the front of |*summary| only where it is a number of the tag |tag| in
// one of the two forms that writers of scalars give it: the tag and a simple_value, or the tag, a
// tensor of one float, and perhaps metadata, in this order and with nothing else. Where it is false
// nothing was taken.
static inline bool board_scalar_next(leat_string_view_t* summary, const char* tag, size_t tag_size,
                                     float* out_number) {
  // value (1) | its size | tag (1) | its size | the tag
  // and then: simple_value (2) | four bytes
  //       or: tensor (8) | 10 | dtype (1) | DT_FLOAT | shape (2) | 0 | content (4) | 4 | four bytes
  //           and perhaps: metadata (9) | its size | the metadata
  const char* data = summary->data;
  if (tag_size >= 80 || summary->size < tag_size + 9) return false;
  if ((leat_wire_load32(data) | 0xff00) != (0x0aff0a | (uint32_t)tag_size << 24)) return false;
  if (!board_bytes_equal(tag, data + 4, tag_size)) return false;
  const size_t size = (uint8_t)data[1];
  const char* rest = data + 4 + tag_size;
  if (size == tag_size + 7 && rest[0] == 0x15) {
    ++rest;
  } else if (size < 128 && size >= tag_size + 14 && summary->size >= size + 2 &&
             leat_wire_load64(rest) == UINT64_C(0x0422001201080a42) &&
             (size == tag_size + 14 || (size >= tag_size + 16 && rest[12] == 0x4a &&
                                        size == tag_size + 16 + (uint8_t)rest[13]))) {
    rest += 8;
  } else {
    return false;
  }
  uint32_t bits = leat_wire_load32(rest);
  memcpy(out_number, &bits, sizeof bits);
  summary->data += size + 2;
  summary->size -= size + 2;
  return true;
}

// The tag of the value at the front of |summary|, where that begins with a tag of less than 80
// bytes; false where it does not.
static inline bool board_usual_tag(leat_string_view_t summary, leat_string_view_t* out_tag) {
  const char* data = summary.data;
  if (summary.size < 9 || data[0] != 0x0a || data[2] != 0x0a) return false;
  if ((uint8_t)data[3] >= 80) return false;
  *out_tag = leat_string_view_make(data + 4, (uint8_t)data[3]);
  return out_tag->size + 9 <= summary.size;
}

bool board_metadata_read(leat_string_view_t bytes, board_metadata_t* out_metadata);
// SessionLog.status.
bool board_session_status_read(leat_string_view_t bytes, uint32_t* out_status);
// TaggedRunMetadata.
bool board_run_metadata_read(leat_string_view_t bytes, leat_string_view_t* out_tag,
                             leat_string_view_t* out_metadata);
// The number that a TensorProto of one element holds, of any numeric type. |*out_elements| is the
// product of the shape's sizes; the number is set only where it is 1.
bool board_scalar_read(leat_string_view_t tensor, uint64_t* out_elements, uint32_t* out_dtype,
                       double* out_number);
// How numbers of |dtype| are printed.
board_number_kind_t board_number_kind(uint32_t dtype);
// The elements of a TensorProto by its shape, its first size, and whether it has a shape of one or
// more dimensions.
bool board_shape_read(leat_string_view_t tensor, uint64_t* out_elements, uint64_t* out_first,
                      uint32_t* out_rank);

#endif  // LEAT_BOARD_EVENT_VALUE_H_
