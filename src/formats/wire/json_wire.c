// Turns JSON into the binary form of a message, by the message's descriptor, which can then be
// decoded like any other; the op DecodeJSONExample does so with the message Example. The rules are
// those of protocol buffers' JSON mapping: names in snake case or camel case, 64-bit integers and
// numbers of any kind also as strings, bytes as base64, null for an absent field, maps as objects,
// and google.protobuf.Value as the value that it holds.
//
// The text is read once, from front to back, and the bytes are written as it is read. The size of a
// nested message stands before its bytes but is known only afterwards; close_message() then moves
// the bytes back by as many as the size takes. Nested messages recurse, at most MAX_DEPTH deep, so
// hostile text cannot overflow the stack.
#include "formats/wire/json_wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/wire/json_scanner.h"
#include "formats/wire/wire.h"

enum { MAX_DEPTH = 100 };

typedef struct parser_s {
  leat_json_scanner_t in;
  int depth;
  leat_string_builder_t* out;
} parser_t;

static leat_status_t broken(const parser_t* p, const char* what) {
  return leat_json_broken(&p->in, what);
}

// ---- Scalars ------------------------------------------------------------------------------------

static void put_varint(parser_t* p, uint64_t value) {
  uint8_t bytes[LEAT_WIRE_MAX_VARINT_BYTES];
  size_t size = (size_t)(leat_wire_write_varint(bytes, value) - bytes);
  leat_string_builder_append(p->out, leat_string_view_make((const char*)bytes, size));
}

static void put_fixed(parser_t* p, uint64_t value, size_t size) {
  char bytes[8];
  leat_wire_store64(bytes, value);
  leat_string_builder_append(p->out, leat_string_view_make(bytes, size));
}

static bool parse_fraction(leat_string_view_t text, double* out_value) {
  if (leat_string_view_equals(text, "NaN")) {
    *out_value = NAN;
    return true;
  }
  bool negative = leat_string_view_equals(text, "-Infinity");
  if (negative || leat_string_view_equals(text, "Infinity")) {
    *out_value = negative ? -INFINITY : INFINITY;
    return true;
  }
  return leat_string_view_to_double(text, out_value) && isfinite(*out_value);
}

static leat_status_t put_fraction(parser_t* p, bool is_float) {
  leat_string_view_t text;
  double value;
  LEAT_RETURN_IF_ERROR(leat_json_take_number(&p->in, &text));
  if (!parse_fraction(text, &value)) return broken(p, "an invalid number");
  if (!is_float) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_fixed(p, bits, 8);
    return leat_ok_status();
  }
  float narrow = (float)value;
  uint32_t bits;
  if (isinf(narrow) && !isinf(value)) return broken(p, "a number does not fit a float");
  memcpy(&bits, &narrow, sizeof bits);
  put_fixed(p, bits, 4);
  return leat_ok_status();
}

// Reads a whole number; "1.0" and "1e3" are whole too.
static bool parse_whole(leat_string_view_t text, bool is_signed, uint64_t* out_bits) {
  int64_t value;
  double fraction;
  char* end;
  char buffer[24];
  if (leat_string_view_to_int64(text, &value)) {
    *out_bits = (uint64_t)value;
    return is_signed || value >= 0;
  }
  if (!is_signed && text.size && text.size < sizeof buffer && text.data[0] >= '0' &&
      text.data[0] <= '9') {
    memcpy(buffer, text.data, text.size);
    buffer[text.size] = 0;
    unsigned long long wide = strtoull(buffer, &end, 10);
    *out_bits = wide;
    if (*end == 0 && (wide != UINT64_MAX || !strcmp(buffer, "18446744073709551615"))) return true;
  }
  bool fits = leat_string_view_to_double(text, &fraction) && fraction == floor(fraction) &&
              fraction >= (is_signed ? -0x1p63 : 0) && fraction < (is_signed ? 0x1p63 : 0x1p64);
  if (fits) *out_bits = is_signed ? (uint64_t)(int64_t)fraction : (uint64_t)fraction;
  return fits;
}

// Reads a whole number that must fit the field's kind, and writes it in the field's wire form.
static leat_status_t put_whole(parser_t* p, const leat_message_field_t* field) {
  leat_field_kind_t kind = field->kind;
  bool is_unsigned = kind == LEAT_FIELD_UINT32 || kind == LEAT_FIELD_UINT64 ||
                     kind == LEAT_FIELD_FIXED32 || kind == LEAT_FIELD_FIXED64;
  bool is_narrow = kind == LEAT_FIELD_INT32 || kind == LEAT_FIELD_UINT32 ||
                   kind == LEAT_FIELD_SINT32 || kind == LEAT_FIELD_FIXED32 ||
                   kind == LEAT_FIELD_SFIXED32;
  leat_string_view_t text;
  uint64_t bits;
  LEAT_RETURN_IF_ERROR(leat_json_take_number(&p->in, &text));
  if (!parse_whole(text, !is_unsigned, &bits)) return broken(p, "an invalid whole number");
  bool fits = !is_narrow || (is_unsigned ? bits <= UINT32_MAX : (int64_t)bits == (int32_t)bits);
  if (!fits) return broken(p, "a number does not fit 32 bits");
  if (kind == LEAT_FIELD_SINT32 || kind == LEAT_FIELD_SINT64) {
    // Zigzag: numbers near zero, of either sign, get short varints.
    bits = bits << 1 ^ (uint64_t)((int64_t)bits >> 63);
  }
  if (field->wire_type == LEAT_WIRE_VARINT) {
    put_varint(p, bits);
  } else {
    put_fixed(p, bits, field->wire_type == LEAT_WIRE_FIXED32 ? 4 : 8);
  }
  return leat_ok_status();
}

// Writes an enum given by name or number. On the wire it is a varint of 64 bits with the sign
// extended, as for int32.
static leat_status_t put_enum(parser_t* p, const leat_message_field_t* field) {
  int32_t number;
  if (leat_json_peek(&p->in) != '"') return put_whole(p, field);
  LEAT_RETURN_IF_ERROR(leat_json_take_string(&p->in));
  if (!leat_enum_number(field->enumeration, leat_string_builder_view(&p->in.text), &number)) {
    return broken(p, "an unknown enum value");
  }
  put_varint(p, (uint64_t)(int64_t)number);
  return leat_ok_status();
}

static int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

// Decodes the string in place, which is possible because the bytes are fewer than the digits. Both
// alphabets, with "+/" and with "-_", are accepted.
static leat_status_t decode_base64(parser_t* p) {
  char* text = p->in.text.data;
  size_t size = p->in.text.size, used = 0;
  uint32_t bits = 0;
  int bit_count = 0;
  while (size && text[size - 1] == '=') --size;
  for (size_t i = 0; i < size; ++i) {
    int digit = base64_digit(text[i]);
    if (digit < 0) return broken(p, "invalid base64");
    bits = bits << 6 | (uint32_t)digit;
    bit_count += 6;
    if (bit_count >= 8) {
      bit_count -= 8;
      text[used++] = (char)(bits >> bit_count);
    }
  }
  if (size % 4 == 1) return broken(p, "invalid base64");
  p->in.text.size = used;
  return leat_ok_status();
}

static leat_status_t put_text(parser_t* p, bool is_bytes) {
  LEAT_RETURN_IF_ERROR(leat_json_take_string(&p->in));
  if (is_bytes) LEAT_RETURN_IF_ERROR(decode_base64(p));
  put_varint(p, p->in.text.size);
  leat_string_builder_append(p->out, leat_string_builder_view(&p->in.text));
  return leat_ok_status();
}

static leat_status_t put_bool(parser_t* p) {
  bool yes = leat_json_take_word(&p->in, "true");
  if (!yes && !leat_json_take_word(&p->in, "false")) return broken(p, "true or false is expected");
  put_varint(p, yes);
  return leat_ok_status();
}

// ---- Messages -----------------------------------------------------------------------------------

static leat_status_t put_message(parser_t* p, const leat_message_descriptor_t* descriptor);

// Inserts the size of the message that was written from |begin| on, and moves its bytes to make
// room.
static void close_message(parser_t* p, size_t begin) {
  size_t size = p->out->size - begin, head = leat_wire_varint_size(size);
  if (!leat_string_builder_reserve(p->out, head)) return;
  memmove(p->out->data + begin + head, p->out->data + begin, size);
  leat_wire_write_varint((uint8_t*)p->out->data + begin, size);
}

static leat_status_t put_value(parser_t* p, const leat_message_field_t* field) {
  switch (field->kind) {
    case LEAT_FIELD_FLOAT:
    case LEAT_FIELD_DOUBLE: return put_fraction(p, field->kind == LEAT_FIELD_FLOAT);
    case LEAT_FIELD_STRING:
    case LEAT_FIELD_BYTES: return put_text(p, field->kind == LEAT_FIELD_BYTES);
    case LEAT_FIELD_BOOL: return put_bool(p);
    case LEAT_FIELD_ENUM: return put_enum(p, field);
    case LEAT_FIELD_MESSAGE: {
      size_t begin = p->out->size;
      LEAT_RETURN_IF_ERROR(put_message(p, field->message));
      close_message(p, begin);
      return leat_ok_status();
    }
    default: return put_whole(p, field);
  }
}

static leat_status_t put_tagged(parser_t* p, const leat_message_field_t* field) {
  put_varint(p, (uint64_t)field->number << 3 | field->wire_type);
  return put_value(p, field);
}

static bool is_value(const leat_message_descriptor_t* descriptor) {
  return descriptor && !strcmp(descriptor->name, "google.protobuf.Value");
}

static bool is_list_value(const leat_message_descriptor_t* descriptor) {
  return !strcmp(descriptor->name, "google.protobuf.Value.ListValue");
}

// Writes the fields of a Value: the one whose kind the JSON has.
static leat_status_t put_any(parser_t* p, const leat_message_descriptor_t* descriptor) {
  enum { NULL_VALUE = 1, NUMBER_VALUE = 2, STRING_VALUE = 3, BOOL_VALUE = 4 };
  char c = leat_json_peek(&p->in);
  if (leat_json_take_word(&p->in, "null")) {
    put_varint(p, (uint64_t)NULL_VALUE << 3 | LEAT_WIRE_VARINT);
    put_varint(p, 0);
    return leat_ok_status();
  }
  if (c == '{' || c == '[') return broken(p, "an object or a list is no supported value");
  return put_tagged(p, leat_message_find_field(descriptor, c == '"'               ? STRING_VALUE
                                                           : c == 't' || c == 'f' ? BOOL_VALUE
                                                                                  : NUMBER_VALUE));
}

static leat_status_t put_list(parser_t* p, const leat_message_field_t* field) {
  if (!leat_json_take(&p->in, '[')) return broken(p, "'[' is expected");
  if (leat_json_take(&p->in, ']')) return leat_ok_status();
  do {
    LEAT_RETURN_IF_ERROR(put_tagged(p, field));
  } while (leat_json_take(&p->in, ','));
  return leat_json_take(&p->in, ']') ? leat_ok_status() : broken(p, "']' is expected");
}

// Writes an entry of a map. Its key is in quotes whatever its type is.
static leat_status_t put_entry(parser_t* p, const leat_message_field_t* field) {
  const leat_message_field_t *key = leat_message_find_field(field->message, 1),
                             *value = leat_message_find_field(field->message, 2);
  put_varint(p, (uint64_t)field->number << 3 | field->wire_type);
  size_t begin = p->out->size;
  if (key->kind == LEAT_FIELD_BOOL) return broken(p, "keys that are bools are not supported");
  LEAT_RETURN_IF_ERROR(put_tagged(p, key));
  if (!leat_json_take(&p->in, ':')) return broken(p, "':' is expected");
  LEAT_RETURN_IF_ERROR(put_tagged(p, value));
  close_message(p, begin);
  return leat_ok_status();
}

static leat_status_t put_map(parser_t* p, const leat_message_field_t* field) {
  if (!leat_json_take(&p->in, '{')) return broken(p, "'{' is expected");
  if (leat_json_take(&p->in, '}')) return leat_ok_status();
  do {
    if (leat_json_peek(&p->in) != '"') return broken(p, "a key is expected");
    LEAT_RETURN_IF_ERROR(put_entry(p, field));
  } while (leat_json_take(&p->in, ','));
  return leat_json_take(&p->in, '}') ? leat_ok_status() : broken(p, "'}' is expected");
}

// Whether |text| is |name| in camel case: "floatList" for "float_list".
static bool is_camel_case_of(const char* name, leat_string_view_t text) {
  size_t i = 0;
  for (; *name; ++name) {
    char c = *name;
    if (c == '_' && name[1]) {
      c = *++name;
      if (c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
    }
    if (i == text.size || text.data[i++] != c) return false;
  }
  return i == text.size;
}

// Finds a field by its name in the .proto file or by that name in camel case.
static const leat_message_field_t* find_field(const leat_message_descriptor_t* descriptor,
                                              leat_string_view_t name) {
  for (int i = 0; i < descriptor->field_count; ++i) {
    const leat_message_field_t* field = &descriptor->fields[i];
    if (leat_string_view_equals(name, field->name) || is_camel_case_of(field->name, name)) {
      return field;
    }
  }
  return NULL;
}

// Whether |field|, or another field of its oneof, was given before. |seen| has a bit for each
// field.
static bool is_repeated(const leat_message_descriptor_t* descriptor,
                        const leat_message_field_t* field, uint64_t seen) {
  for (int i = 0; i < descriptor->field_count; ++i) {
    const leat_message_field_t* other = &descriptor->fields[i];
    bool same = other == field ||
                (field->case_offset >= 0 && other->case_offset == field->case_offset);
    if (same && seen >> i & 1) return true;
  }
  return false;
}

static leat_status_t put_field(parser_t* p, const leat_message_descriptor_t* descriptor,
                               uint64_t* seen) {
  LEAT_RETURN_IF_ERROR(leat_json_take_string(&p->in));
  const leat_message_field_t* field = find_field(descriptor, leat_string_builder_view(&p->in.text));
  if (!field) return broken(p, "an unknown field");
  if (!leat_json_take(&p->in, ':')) return broken(p, "':' is expected");
  // A null counts as an absent field, so that the field may still come with a value; a Value holds
  // it.
  if (!is_value(field->message) && leat_json_take_word(&p->in, "null")) return leat_ok_status();
  if (is_repeated(descriptor, field, *seen)) return broken(p, "a field comes twice");
  *seen |= UINT64_C(1) << (field - descriptor->fields);
  if (field->label == LEAT_FIELD_MAP) return put_map(p, field);
  return field->label == LEAT_FIELD_SINGULAR ? put_tagged(p, field) : put_list(p, field);
}

static leat_status_t put_fields(parser_t* p, const leat_message_descriptor_t* descriptor) {
  uint64_t seen = 0;
  if (++p->depth > MAX_DEPTH) return broken(p, "messages are nested too deep");
  if (!leat_json_take(&p->in, '{')) return broken(p, "'{' is expected");
  if (!leat_json_take(&p->in, '}')) {
    do {
      LEAT_RETURN_IF_ERROR(put_field(p, descriptor, &seen));
    } while (leat_json_take(&p->in, ','));
    if (!leat_json_take(&p->in, '}')) return broken(p, "'}' is expected");
  }
  --p->depth;
  return leat_ok_status();
}

static leat_status_t put_message(parser_t* p, const leat_message_descriptor_t* descriptor) {
  if (is_value(descriptor)) return put_any(p, descriptor);
  if (is_list_value(descriptor)) return put_list(p, leat_message_find_field(descriptor, 1));
  return put_fields(p, descriptor);
}

leat_status_t leat_json_to_wire(const leat_message_descriptor_t* descriptor,
                                leat_string_view_t json, leat_string_builder_t* out) {
  parser_t p = {.out = out};
  leat_json_scanner_initialize(json, out->allocator, &p.in);
  leat_status_t status = put_message(&p, descriptor);
  leat_json_peek(&p.in);
  if (!status && p.in.next != p.in.end) status = leat_json_broken(&p.in, "more text");
  if (!status) status = leat_status_clone(out->status);
  leat_json_scanner_deinitialize(&p.in);
  return status;
}
