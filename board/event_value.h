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

// Each returns false where the bytes are malformed.
bool board_event_read(leat_string_view_t bytes, board_event_t* out_event);
// Takes the next value off the front of a Summary's bytes; false at the end too, where |*summary|
// is empty.
bool board_value_next(leat_string_view_t* summary, board_value_t* out_value);
// Takes the next value off the front of |*summary| only where it is a tag of less than 100 bytes
// and a simple_value, written in this order and nothing else: the form that writers of scalars give
// it. Where it is false nothing was taken.
static inline bool board_simple_next(leat_string_view_t* summary, leat_string_view_t* out_tag,
                                     float* out_number) {
  const char* data = summary->data;
  // value (1) | its size | tag (1) | its size | the tag | simple_value (2) | four bytes
  if (summary->size < 9 || data[0] != 0x0a || data[2] != 0x0a) return false;
  size_t tag_size = (uint8_t)data[3];
  if (tag_size >= 100 || (uint8_t)data[1] != tag_size + 7) return false;
  if (summary->size < tag_size + 9 || data[4 + tag_size] != 0x15) return false;
  *out_tag = (leat_string_view_t){data + 4, tag_size};
  uint32_t bits = leat_wire_load32(data + 5 + tag_size);
  memcpy(out_number, &bits, sizeof bits);
  summary->data += tag_size + 9;
  summary->size -= tag_size + 9;
  return true;
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
