// Parses protocol buffer text ("node { name: 'x' op: 'Const' }") into the structs of messages, by
// their descriptors. SavedModels and MetaGraphDefs in text form, API definitions, checkpoint state
// files and the messages that `leat convert` reads come through here.
//
// The parser uses no recursion: each message being read is a frame on a stack of fixed depth, so
// that a hostile text cannot overflow the thread's stack. Lists grow by doubling in the arena,
// which moves their items; the address of an item is nevertheless stable while the item is being
// read, since its own list does not grow in that time. When a message is complete, pop() removes
// repeated keys from its maps.
//
// A field that is given twice, two fields of one oneof and unknown fields are errors that name the
// line and column, because text is written by people, who make mistakes there.
#include <math.h>

#include "formats/wire/map_entries.h"
#include "formats/wire/text.h"
#include "formats/wire/text_scanner.h"
#include "formats/wire/utf8.h"

typedef struct frame_s {
  const leat_message_descriptor_t* descriptor;
  char* message;
  const leat_message_field_t* list;  // `field: [ {...}, ` is open: one message of it was read
  uint64_t seen;                     // singular fields, by index
  char closer;                       // '}', '>' or 0: the end of the text
} frame_t;

typedef struct parser_s {
  leat_text_scanner_t scanner;
  leat_arena_t* arena;
  size_t depth;
  frame_t frames[LEAT_TEXT_MAX_DEPTH + 1];
} parser_t;

#define FAIL(parser, at, ...) leat_text_scanner_error(&(parser)->scanner, (at), __VA_ARGS__)

// Begins a message of type |descriptor| at |message|, which |closer| will end.
static leat_status_t push(parser_t* parser, const leat_message_descriptor_t* descriptor,
                          void* message, char closer) {
  if (parser->depth > LEAT_TEXT_MAX_DEPTH) {
    return FAIL(parser, parser->scanner.next, "messages must nest at most %d deep",
                LEAT_TEXT_MAX_DEPTH);
  }
  parser->frames[parser->depth++] =
      (frame_t){.descriptor = descriptor, .message = (char*)message, .closer = closer};
  return leat_ok_status();
}

// Ends the current message. A map's entry without a value gets an empty message as its value, as
// the binary reader makes it.
static leat_status_t pop(parser_t* parser, frame_t* frame) {
  const leat_message_descriptor_t* descriptor = frame->descriptor;
  for (size_t i = 0; i < descriptor->field_count; ++i) {
    const leat_message_field_t* field = &descriptor->fields[i];
    char* slot = frame->message + field->offset;
    if (field->label == LEAT_FIELD_MAP && ((leat_pb_list_t*)slot)->count > 1) {
      LEAT_RETURN_IF_ERROR(leat_map_entries_drop_repeated(
          parser->arena->allocator, field->message, (leat_pb_list_t*)slot));
    } else if (descriptor->is_map_entry && field->kind == LEAT_FIELD_MESSAGE && !*(void**)slot) {
      LEAT_RETURN_IF_ERROR(
          leat_arena_allocate(parser->arena, field->message->size_bytes, (void**)slot));
    }
  }
  --parser->depth;
  return leat_ok_status();
}

// Finds the place of the next value of |field|: a new item of a list, or the field itself, which
// must not have been set before.
static leat_status_t make_slot(parser_t* parser, frame_t* frame,
                               const leat_message_field_t* field, void** out_slot) {
  char* slot = frame->message + field->offset;
  if (field->list_index >= 0) {
    return leat_message_list_append(parser->arena, slot, leat_message_field_size(field), out_slot);
  }
  uint64_t bit = UINT64_C(1) << (field - frame->descriptor->fields);
  if (frame->seen & bit) {
    return FAIL(parser, parser->scanner.next, "field %s of %s must be given once", field->name,
                frame->descriptor->name);
  }
  frame->seen |= bit;
  if (field->case_offset >= 0) {
    uint32_t* set = (uint32_t*)(frame->message + field->case_offset);
    if (*set) {
      return FAIL(parser, parser->scanner.next, "field %s of %s excludes field %s, given before",
                  field->name, frame->descriptor->name,
                  leat_message_find_field(frame->descriptor, *set)->name);
    }
    *set = field->number;
  }
  *out_slot = slot;
  return leat_ok_status();
}

// Reads the opening bracket of a message and begins it, in a new item of a list or in memory that
// the field will point to.
static leat_status_t begin_message(parser_t* parser, frame_t* frame,
                                   const leat_message_field_t* field) {
  char closer = leat_text_scanner_take(&parser->scanner, '{')   ? '}'
                : leat_text_scanner_take(&parser->scanner, '<') ? '>'
                                                                : 0;
  if (!closer) {
    return FAIL(parser, parser->scanner.next, "{ or < must follow field %s", field->name);
  }
  void* slot;
  LEAT_RETURN_IF_ERROR(make_slot(parser, frame, field, &slot));
  if (field->list_index < 0) {
    void** pointer = (void**)slot;
    LEAT_RETURN_IF_ERROR(leat_arena_allocate(parser->arena, field->message->size_bytes, pointer));
    slot = *pointer;
  }
  return push(parser, field->message, slot, closer);
}

static bool is_unsigned(uint8_t kind) {
  return kind == LEAT_FIELD_UINT32 || kind == LEAT_FIELD_UINT64 || kind == LEAT_FIELD_FIXED32 ||
         kind == LEAT_FIELD_FIXED64;
}

// An integer of the field's kind, with its sign taken already.
static leat_status_t parse_integer(parser_t* parser, const leat_message_field_t* field,
                                   bool negative, void* slot) {
  const char* at = parser->scanner.next;
  leat_string_view_t number = leat_text_scanner_number(&parser->scanner);
  uint64_t value = 0;
  bool is_wide = leat_message_field_size(field) == 8;
  uint64_t top = is_wide ? UINT64_MAX : UINT32_MAX;
  if (!is_unsigned(field->kind)) top = (top >> 1) + negative;
  if (!number.size || !leat_text_to_uint64(number, &value) || value > top ||
      (negative && is_unsigned(field->kind))) {
    return FAIL(parser, at, "field %s must be an integer in its range", field->name);
  }
  if (negative) value = ~value + 1;
  if (is_wide) {
    *(uint64_t*)slot = value;
  } else {
    *(uint32_t*)slot = (uint32_t)value;
  }
  return leat_ok_status();
}

// |text| is |word|, written in any case.
static bool is_word(leat_string_view_t text, const char* word) {
  size_t size = strlen(word);
  if (text.size != size) return false;
  for (size_t i = 0; i < size; ++i) {
    if ((text.data[i] | 0x20) != word[i]) return false;
  }
  return true;
}

// A number, or a word such as "inf" or "nan" in upper or lower case.
static leat_status_t parse_floating(parser_t* parser, const leat_message_field_t* field,
                                    bool negative, void* slot) {
  const char* at = parser->scanner.next;
  double value = 0;
  leat_string_view_t text = leat_text_scanner_word(&parser->scanner);
  bool valid = true;
  if (text.size == 0) {
    text = leat_text_scanner_number(&parser->scanner);
    valid = text.size > 0 && leat_text_to_double(text, &value);
  } else if (is_word(text, "nan")) {
    value = (double)NAN;
  } else {
    valid = is_word(text, "inf") || is_word(text, "inff") || is_word(text, "infinity");
    value = (double)INFINITY;
  }
  if (!valid) return FAIL(parser, at, "field %s must be a number", field->name);
  if (negative) value = -value;
  if (field->kind == LEAT_FIELD_DOUBLE) {
    *(double*)slot = value;
  } else {
    *(float*)slot = (float)value;
  }
  return leat_ok_status();
}

static leat_status_t parse_bool(parser_t* parser, const leat_message_field_t* field, bool* slot) {
  const char* at = parser->scanner.next;
  leat_string_view_t text = leat_text_scanner_word(&parser->scanner);
  uint64_t number = 0;
  if (text.size == 0) {
    text = leat_text_scanner_number(&parser->scanner);
    if (text.size && leat_text_to_uint64(text, &number) && number <= 1) {
      *slot = number == 1;
      return leat_ok_status();
    }
  } else if (leat_string_view_equals(text, "true") || leat_string_view_equals(text, "True") ||
             leat_string_view_equals(text, "t")) {
    *slot = true;
    return leat_ok_status();
  } else if (leat_string_view_equals(text, "false") || leat_string_view_equals(text, "False") ||
             leat_string_view_equals(text, "f")) {
    *slot = false;
    return leat_ok_status();
  }
  return FAIL(parser, at, "field %s must be true or false", field->name);
}

// The name of a value, or its number. Numbers without a name are accepted, because a newer version
// of the message may have named them.
static leat_status_t parse_enum(parser_t* parser, const leat_message_field_t* field, bool negative,
                                int32_t* slot) {
  const char* at = parser->scanner.next;
  leat_string_view_t name = leat_text_scanner_word(&parser->scanner);
  if (name.size == 0) return parse_integer(parser, field, negative, slot);
  if (negative || !leat_enum_number(field->enumeration, name, slot)) {
    return FAIL(parser, at, "field %s is %.*s, must be a value of %s", field->name,
                LEAT_SV_ARG(name), field->enumeration->name);
  }
  return leat_ok_status();
}

static leat_status_t parse_string(parser_t* parser, const leat_message_field_t* field,
                                  leat_string_view_t* slot) {
  const char* at = parser->scanner.next;
  LEAT_RETURN_IF_ERROR(leat_text_scanner_string(&parser->scanner, parser->arena, slot));
  if (field->kind == LEAT_FIELD_STRING && !leat_utf8_is_valid(*slot)) {
    return FAIL(parser, at, "field %s must be UTF-8", field->name);
  }
  return leat_ok_status();
}

// One value. The slot is made first, so that a field that is given twice is reported before its
// second value is read.
static leat_status_t parse_scalar(parser_t* parser, frame_t* frame,
                                  const leat_message_field_t* field) {
  void* slot;
  LEAT_RETURN_IF_ERROR(make_slot(parser, frame, field, &slot));
  leat_text_scanner_skip(&parser->scanner);
  if (field->kind == LEAT_FIELD_STRING || field->kind == LEAT_FIELD_BYTES) {
    return parse_string(parser, field, (leat_string_view_t*)slot);
  }
  if (field->kind == LEAT_FIELD_BOOL) return parse_bool(parser, field, (bool*)slot);
  bool negative = leat_text_scanner_take(&parser->scanner, '-');
  leat_text_scanner_skip(&parser->scanner);
  switch ((leat_field_kind_t)field->kind) {
    case LEAT_FIELD_DOUBLE:
    case LEAT_FIELD_FLOAT:
      return parse_floating(parser, field, negative, slot);
    case LEAT_FIELD_ENUM:
      return parse_enum(parser, field, negative, (int32_t*)slot);
    default:
      return parse_integer(parser, field, negative, slot);
  }
}

// The value of a field, or several of them in brackets where the field is a list.
static leat_status_t parse_scalars(parser_t* parser, frame_t* frame,
                                   const leat_message_field_t* field) {
  leat_text_scanner_t* scanner = &parser->scanner;
  if (field->list_index < 0 || !leat_text_scanner_take(scanner, '[')) {
    return parse_scalar(parser, frame, field);
  }
  if (leat_text_scanner_take(scanner, ']')) return leat_ok_status();
  do {
    LEAT_RETURN_IF_ERROR(parse_scalar(parser, frame, field));
  } while (leat_text_scanner_take(scanner, ','));
  if (!leat_text_scanner_take(scanner, ']')) {
    return FAIL(parser, scanner->next, "list of field %s must go on with , or ]", field->name);
  }
  return leat_ok_status();
}

static void take_separator(parser_t* parser) {
  if (!leat_text_scanner_take(&parser->scanner, ';')) {
    leat_text_scanner_take(&parser->scanner, ',');
  }
}

// A field up to its end, or to the inside of the message that it begins.
static leat_status_t parse_field(parser_t* parser, frame_t* frame) {
  leat_text_scanner_t* scanner = &parser->scanner;
  leat_text_scanner_skip(scanner);
  const char* at = scanner->next;
  leat_string_view_t name = leat_text_scanner_word(scanner);
  if (name.size == 0) {
    return FAIL(parser, at, "a field of %s must follow", frame->descriptor->name);
  }
  const leat_message_field_t* field = leat_message_find_field_by_name(frame->descriptor, name);
  if (!field) {
    return FAIL(parser, at, "%s has no field %.*s", frame->descriptor->name, LEAT_SV_ARG(name));
  }
  bool colon = leat_text_scanner_take(scanner, ':');
  if (field->kind != LEAT_FIELD_MESSAGE) {
    if (!colon) return FAIL(parser, scanner->next, ": must follow field %s", field->name);
    LEAT_RETURN_IF_ERROR(parse_scalars(parser, frame, field));
    take_separator(parser);
    return leat_ok_status();
  }
  if (field->list_index >= 0 && leat_text_scanner_take(scanner, '[')) {
    if (leat_text_scanner_take(scanner, ']')) {
      take_separator(parser);
      return leat_ok_status();
    }
    frame->list = field;
  }
  return begin_message(parser, frame, field);
}

// After a message in `[ ... ]`: the next one, or the end of the list.
static leat_status_t continue_list(parser_t* parser, frame_t* frame) {
  if (leat_text_scanner_take(&parser->scanner, ',')) {
    return begin_message(parser, frame, frame->list);
  }
  if (!leat_text_scanner_take(&parser->scanner, ']')) {
    return FAIL(parser, parser->scanner.next, "list of field %s must go on with , or ]",
                frame->list->name);
  }
  frame->list = NULL;
  take_separator(parser);
  return leat_ok_status();
}

// Takes the next step in the innermost message: one field, one more message of an open list, or its
// end.
static leat_status_t parse_next(parser_t* parser) {
  frame_t* frame = &parser->frames[parser->depth - 1];
  if (frame->list) return continue_list(parser, frame);
  if (!frame->closer) {
    if (leat_text_scanner_skip(&parser->scanner)) return parse_field(parser, frame);
    return pop(parser, frame);
  }
  if (!leat_text_scanner_take(&parser->scanner, frame->closer)) return parse_field(parser, frame);
  LEAT_RETURN_IF_ERROR(pop(parser, frame));
  if (!parser->frames[parser->depth - 1].list) take_separator(parser);
  return leat_ok_status();
}

leat_status_t leat_text_parse(const leat_message_descriptor_t* descriptor, leat_string_view_t text,
                              leat_arena_t* arena, void* out_message) {
  parser_t parser;
  const char* begin = text.size ? text.data : "";
  parser.scanner = (leat_text_scanner_t){begin, begin, begin + text.size};
  parser.arena = arena;
  parser.depth = 0;
  memset(out_message, 0, descriptor->size_bytes);
  leat_status_t status = push(&parser, descriptor, out_message, 0);
  while (leat_status_is_ok(status) && parser.depth > 0) status = parse_next(&parser);
  return leat_status_annotate(status, "parse failed for message '%s'", descriptor->name);
}
