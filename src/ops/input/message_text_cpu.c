// Reads messages of any type from their text form into values (ops/input/message_value_cpu.h). It
// takes what protobuf's own parser takes: `{}` or `<>`, `[a, b]` for lists, `;` or `,` behind a
// field, comments, enumerations by name or number, adjacent strings, extensions in brackets; but no
// Any messages that are spelled out. A singular field that is given twice, or beside another one of
// its oneof, is an error. leat_text_parse does the same for the messages that the library knows
// when it is built, whose values are structs.
#include <math.h>
#include <string.h>

#include "base/string_builder.h"
#include "formats/wire/text_scanner.h"
#include "ops/input/message_value_cpu.h"

typedef struct parser_s {
  leat_text_scanner_t scanner;
  leat_arena_t* arena;
  int depth;
} parser_t;

#define FAIL(parser, at, ...) leat_text_scanner_error(&(parser)->scanner, (at), __VA_ARGS__)

// ---- Numbers ------------------------------------------------------------------------------------

static bool is_wide(uint8_t kind) {
  return kind == LEAT_FIELD_INT64 || kind == LEAT_FIELD_UINT64 || kind == LEAT_FIELD_SINT64 ||
         kind == LEAT_FIELD_FIXED64 || kind == LEAT_FIELD_SFIXED64;
}

static bool is_unsigned(uint8_t kind) {
  return kind == LEAT_FIELD_UINT32 || kind == LEAT_FIELD_UINT64 || kind == LEAT_FIELD_FIXED32 ||
         kind == LEAT_FIELD_FIXED64;
}

static leat_status_t parse_integer(parser_t* parser, const leat_type_field_t* field,
                                   bool is_negative, uint64_t* out_bits) {
  const char* at = parser->scanner.next;
  const leat_string_view_t number = leat_text_scanner_number(&parser->scanner);
  uint64_t value = 0, top = is_wide(field->kind) ? UINT64_MAX : UINT32_MAX;
  if (!is_unsigned(field->kind)) top = (top >> 1) + is_negative;
  if (!number.size || !leat_text_to_uint64(number, &value) || value > top ||
      (is_negative && is_unsigned(field->kind))) {
    return FAIL(parser, at, "field %.*s must be an integer in its range",
                LEAT_SV_ARG(field->name));
  }
  *out_bits = is_negative ? ~value + 1 : value;
  return leat_ok_status();
}

// Whether |text| is |word|, in upper or lower case.
static bool is_word(leat_string_view_t text, const char* word) {
  if (text.size != strlen(word)) return false;
  for (size_t i = 0; i < text.size; ++i) {
    if ((text.data[i] | 0x20) != word[i]) return false;
  }
  return true;
}

static leat_status_t parse_floating(parser_t* parser, const leat_type_field_t* field,
                                    bool is_negative, uint64_t* out_bits) {
  const char* at = parser->scanner.next;
  double value = 0;
  leat_string_view_t text = leat_text_scanner_word(&parser->scanner);
  bool is_valid = true;
  if (!text.size) {
    text = leat_text_scanner_number(&parser->scanner);
    is_valid = text.size && leat_text_to_double(text, &value);
  } else if (is_word(text, "nan")) {
    value = (double)NAN;
  } else {
    is_valid = is_word(text, "inf") || is_word(text, "inff") || is_word(text, "infinity");
    value = (double)INFINITY;
  }
  if (!is_valid) {
    return FAIL(parser, at, "field %.*s must be a number", LEAT_SV_ARG(field->name));
  }
  if (is_negative) value = -value;
  const float single = (float)value;
  *out_bits = 0;
  if (field->kind == LEAT_FIELD_DOUBLE) {
    memcpy(out_bits, &value, sizeof value);
  } else {
    memcpy(out_bits, &single, sizeof single);
  }
  return leat_ok_status();
}

static leat_status_t parse_bool(parser_t* parser, const leat_type_field_t* field,
                                uint64_t* out_bits) {
  static const char* const kWords[] = {"false", "False", "f", "true", "True", "t"};
  const char* at = parser->scanner.next;
  leat_string_view_t text = leat_text_scanner_word(&parser->scanner);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kWords); ++i) {
    if (!leat_string_view_equals(text, kWords[i])) continue;
    *out_bits = i >= LEAT_ARRAY_SIZE(kWords) / 2;
    return leat_ok_status();
  }
  if (!text.size) {
    text = leat_text_scanner_number(&parser->scanner);
    if (text.size && leat_text_to_uint64(text, out_bits) && *out_bits <= 1) return leat_ok_status();
  }
  return FAIL(parser, at, "field %.*s must be true or false", LEAT_SV_ARG(field->name));
}

static leat_status_t parse_enum(parser_t* parser, const leat_type_member_t* member,
                                bool is_negative, uint64_t* out_bits) {
  const char* at = parser->scanner.next;
  const leat_string_view_t name = leat_text_scanner_word(&parser->scanner);
  int32_t number = 0;
  if (!name.size) {
    LEAT_RETURN_IF_ERROR(parse_integer(parser, &member->field, is_negative, out_bits));
    number = (int32_t)*out_bits;
    if (!member->is_closed || leat_type_enum_has(member, number)) return leat_ok_status();
  } else if (!is_negative && leat_type_enum_number(member, name, &number)) {
    *out_bits = (uint64_t)(int64_t)number;
    return leat_ok_status();
  }
  return FAIL(parser, at, "field %.*s must be a value of its enumeration",
              LEAT_SV_ARG(member->field.name));
}

// ---- Values -------------------------------------------------------------------------------------

// Makes room for a value, which must be the first of a singular field, and of a oneof. Where a
// field with the value 0 is absent, another value may follow it.
static leat_status_t put(parser_t* parser, leat_any_message_t* message,
                         const leat_type_member_t* member, leat_value_t** out_value) {
  const leat_value_t* first = message->fields[member - message->type->members].first;
  const bool is_there =
      first && (member->has_presence || first->item.bits || first->item.text.size);
  const bool is_taken = member->oneof >= 0 ? message->oneofs[member->oneof] != NULL
                                           : !member->field.is_repeated && is_there;
  if (is_taken) {
    return FAIL(parser, parser->scanner.next,
                "field %.*s must be given once, and no other one of its oneof",
                LEAT_SV_ARG(member->field.name));
  }
  return leat_message_put(message, member, parser->arena, out_value);
}

static leat_status_t parse_scalar(parser_t* parser, leat_any_message_t* message,
                                  const leat_type_member_t* member) {
  const leat_type_field_t* field = &member->field;
  leat_text_scanner_t* scanner = &parser->scanner;
  leat_value_t* value;
  LEAT_RETURN_IF_ERROR(put(parser, message, member, &value));
  leat_text_scanner_skip(scanner);
  if (field->wire_type == LEAT_WIRE_LENGTH) {
    return leat_text_scanner_string(scanner, parser->arena, &value->item.text);
  }
  if (field->kind == LEAT_FIELD_BOOL) return parse_bool(parser, field, &value->item.bits);
  const bool is_negative = leat_text_scanner_take(scanner, '-');
  leat_text_scanner_skip(scanner);
  switch (field->kind) {
    case LEAT_FIELD_DOUBLE:
    case LEAT_FIELD_FLOAT: return parse_floating(parser, field, is_negative, &value->item.bits);
    case LEAT_FIELD_ENUM: return parse_enum(parser, member, is_negative, &value->item.bits);
    default: return parse_integer(parser, field, is_negative, &value->item.bits);
  }
}

// Reads fields up to |closer|; 0: the end of the text.
static leat_status_t parse_fields(parser_t* parser, leat_any_message_t* message, char closer);

static leat_status_t parse_message(parser_t* parser, leat_any_message_t* message,
                                   const leat_type_member_t* member) {
  leat_value_t* value;
  const char closer = leat_text_scanner_take(&parser->scanner, '{')   ? '}'
                      : leat_text_scanner_take(&parser->scanner, '<') ? '>'
                                                                      : 0;
  if (!closer || parser->depth == LEAT_MESSAGE_MAX_DEPTH) {
    return FAIL(parser, parser->scanner.next, "{ or < must follow field %.*s, at most %d deep",
                LEAT_SV_ARG(member->field.name), LEAT_MESSAGE_MAX_DEPTH);
  }
  LEAT_RETURN_IF_ERROR(put(parser, message, member, &value));
  ++parser->depth;
  LEAT_RETURN_IF_ERROR(parse_fields(parser, value->message, closer));
  --parser->depth;
  return leat_ok_status();
}

static leat_status_t parse_value(parser_t* parser, leat_any_message_t* message,
                                 const leat_type_member_t* member) {
  return member->message ? parse_message(parser, message, member)
                         : parse_scalar(parser, message, member);
}

// The value of a field, or several of them in brackets where the field is repeated.
static leat_status_t parse_values(parser_t* parser, leat_any_message_t* message,
                                  const leat_type_member_t* member) {
  leat_text_scanner_t* scanner = &parser->scanner;
  if (!member->field.is_repeated || !leat_text_scanner_take(scanner, '[')) {
    return parse_value(parser, message, member);
  }
  if (leat_text_scanner_take(scanner, ']')) return leat_ok_status();
  do {
    LEAT_RETURN_IF_ERROR(parse_value(parser, message, member));
  } while (leat_text_scanner_take(scanner, ','));
  if (leat_text_scanner_take(scanner, ']')) return leat_ok_status();
  return FAIL(parser, scanner->next, "the list of field %.*s must go on with , or ]",
              LEAT_SV_ARG(member->field.name));
}

// Takes the full name of an extension up to its closing bracket, without spaces between its parts.
// It is empty where that is malformed.
static leat_status_t take_full_name(parser_t* parser, leat_string_view_t* out_name) {
  leat_text_scanner_t* scanner = &parser->scanner;
  leat_string_builder_t name;
  leat_string_builder_initialize(leat_allocator_system(), &name);
  do {
    leat_text_scanner_skip(scanner);
    if (name.size) leat_string_builder_append(&name, LEAT_SV("."));
    leat_string_builder_append(&name, leat_text_scanner_word(scanner));
  } while (leat_text_scanner_take(scanner, '.'));
  if (!leat_text_scanner_take(scanner, ']')) name.size = 0;
  leat_status_t status = leat_status_clone(name.status);
  if (!status) {
    status = leat_arena_copy_string(parser->arena, leat_string_builder_view(&name), out_name);
  }
  leat_string_builder_deinitialize(&name);
  return status;
}

static leat_status_t parse_field(parser_t* parser, leat_any_message_t* message) {
  leat_text_scanner_t* scanner = &parser->scanner;
  leat_text_scanner_skip(scanner);
  const char* at = scanner->next;
  const bool is_extension = leat_text_scanner_take(scanner, '[');
  leat_string_view_t name;
  if (is_extension) {
    LEAT_RETURN_IF_ERROR(take_full_name(parser, &name));
  } else {
    name = leat_text_scanner_word(scanner);
  }
  const leat_type_member_t* member = leat_type_member_by_name(message->type, name, is_extension);
  if (!member) {
    return FAIL(parser, at, "message type %.*s has no field %.*s",
                LEAT_SV_ARG(message->type->name), LEAT_SV_ARG(name));
  }
  if (!leat_text_scanner_take(scanner, ':') && !member->message) {
    return FAIL(parser, scanner->next, ": must follow field %.*s", LEAT_SV_ARG(name));
  }
  LEAT_RETURN_IF_ERROR(parse_values(parser, message, member));
  if (!leat_text_scanner_take(scanner, ';')) leat_text_scanner_take(scanner, ',');
  return leat_ok_status();
}

static leat_status_t parse_fields(parser_t* parser, leat_any_message_t* message, char closer) {
  leat_text_scanner_t* scanner = &parser->scanner;
  for (;;) {
    const bool has_ended =
        closer ? leat_text_scanner_take(scanner, closer) : !leat_text_scanner_skip(scanner);
    if (has_ended) return leat_ok_status();
    LEAT_RETURN_IF_ERROR(parse_field(parser, message));
  }
}

leat_status_t leat_message_read_text(leat_any_message_t* message, leat_string_view_t text,
                                     leat_arena_t* arena) {
  const char* begin = text.size ? text.data : "";
  parser_t parser = {.scanner = {begin, begin, begin + text.size}, .arena = arena};
  leat_status_t status = parse_fields(&parser, message, 0);
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  leat_status_t lost = leat_make_status(LEAT_DATA_LOSS, "Unable to parse text protobuf: %s",
                                        leat_status_message(status));
  leat_status_free(status);
  return lost;
}
