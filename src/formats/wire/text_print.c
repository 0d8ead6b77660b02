// Prints messages as protocol buffer text, by their descriptors: fields in the order of their
// numbers, maps in the order of their keys, and each number with the fewest digits that read back
// as the same number. Equal messages therefore give equal texts. The tool `leat` shows graphs in
// this form, checkpoint state files are written in it, and people compare such texts with diff.
//
// Printing is recursive, unlike reading. A message that is printed was built or decoded by this
// process, and its depth is limited to LEAT_TEXT_MAX_DEPTH. Appended text goes to a string builder
// that keeps the first failure, so only the depth and the order of a map's entries return a status.
#include <math.h>
#include <stdlib.h>

#include "base/locale.h"
#include "formats/wire/map_entries.h"
#include "formats/wire/text.h"

typedef struct printer_s {
  leat_string_builder_t* out;
  leat_text_style_t style;
  int depth;
} printer_t;

static leat_status_t print_message(printer_t* printer, const leat_message_descriptor_t* descriptor,
                                   const char* message);

static void print_string(leat_string_builder_t* out, leat_string_view_t string) {
  static const char plain[] = "\n\r\t\"'\\", escaped[] = "nrt\"'\\";
  leat_string_builder_append_char(out, '"');
  size_t begin = 0;
  for (size_t i = 0; i < string.size; ++i) {
    unsigned char c = (unsigned char)string.data[i];
    const char* special = c ? strchr(plain, c) : NULL;
    if (c >= 0x20 && c < 0x7f && !special) continue;
    leat_string_builder_append(out, leat_string_view_make(string.data + begin, i - begin));
    begin = i + 1;
    if (special) {
      leat_string_builder_append_char(out, '\\');
      leat_string_builder_append_char(out, escaped[special - plain]);
    } else {
      leat_string_builder_print(out, "\\%03o", c);
    }
  }
  if (string.size > begin) {
    leat_string_builder_append(out, leat_string_view_from_index(string, begin));
  }
  leat_string_builder_append_char(out, '"');
}

// Prints the fewest digits that read back as the same number: those that the type always keeps,
// then one more at a time up to those that always suffice.
static void print_floating(leat_string_builder_t* out, double value, bool is_float) {
  if (isnan(value)) {
    leat_string_builder_append(out, LEAT_SV("nan"));
    return;
  }
  if (isinf(value)) {
    leat_string_builder_append(out, value < 0 ? LEAT_SV("-inf") : LEAT_SV("inf"));
    return;
  }
  char text[40];
  int digits = is_float ? 6 : 15, most = is_float ? 9 : 17;
  for (;; ++digits) {
    leat_locale_print(text, sizeof(text), "%.*g", digits, value);
    double back = leat_locale_read_double(text, NULL);
    if (digits == most || (is_float ? (float)back == (float)value : back == value)) break;
  }
  leat_string_builder_append(out, leat_string_view_from(text));
}

static void print_enum(leat_string_builder_t* out, const leat_message_field_t* field,
                       int32_t number) {
  const char* name = leat_enum_name(field->enumeration, number);
  if (name) {
    leat_string_builder_append(out, leat_string_view_from(name));
  } else {
    leat_string_builder_print(out, "%d", number);
  }
}

// Prints the value in |slot|, whose C type follows from the field's kind.
static void print_scalar(leat_string_builder_t* out, const leat_message_field_t* field,
                         const void* slot) {
  switch ((leat_field_kind_t)field->kind) {
    case LEAT_FIELD_DOUBLE:
      print_floating(out, *(const double*)slot, false);
      break;
    case LEAT_FIELD_FLOAT:
      print_floating(out, *(const float*)slot, true);
      break;
    case LEAT_FIELD_BOOL:
      leat_string_builder_append(out, *(const bool*)slot ? LEAT_SV("true") : LEAT_SV("false"));
      break;
    case LEAT_FIELD_ENUM:
      print_enum(out, field, *(const int32_t*)slot);
      break;
    case LEAT_FIELD_STRING:
    case LEAT_FIELD_BYTES:
      print_string(out, *(const leat_string_view_t*)slot);
      break;
    case LEAT_FIELD_UINT32:
    case LEAT_FIELD_FIXED32:
      leat_string_builder_print(out, "%u", *(const uint32_t*)slot);
      break;
    case LEAT_FIELD_INT32:
    case LEAT_FIELD_SINT32:
    case LEAT_FIELD_SFIXED32:
      leat_string_builder_print(out, "%d", *(const int32_t*)slot);
      break;
    case LEAT_FIELD_UINT64:
    case LEAT_FIELD_FIXED64:
      leat_string_builder_print(out, "%llu", (unsigned long long)*(const uint64_t*)slot);
      break;
    default:
      leat_string_builder_print(out, "%lld", (long long)*(const int64_t*)slot);
      break;
  }
}

// Indents a line, or separates two fields on one line by a space.
static void begin_line(printer_t* printer) {
  if (printer->style == LEAT_TEXT_LINES) {
    for (int i = 0; i < printer->depth; ++i) {
      leat_string_builder_append(printer->out, LEAT_SV("  "));
    }
  } else if (printer->out->size > 0 && printer->out->data[printer->out->size - 1] != ' ') {
    leat_string_builder_append_char(printer->out, ' ');
  }
}

static void end_line(printer_t* printer) {
  if (printer->style == LEAT_TEXT_LINES) leat_string_builder_append_char(printer->out, '\n');
}

// Prints the field's name and one value. |slot| is the scalar, or the struct of the message, where
// NULL stands for an empty one.
static leat_status_t print_value(printer_t* printer, const leat_message_field_t* field,
                                 const void* slot) {
  begin_line(printer);
  leat_string_builder_append(printer->out, leat_string_view_from(field->name));
  if (field->kind != LEAT_FIELD_MESSAGE) {
    leat_string_builder_append(printer->out, LEAT_SV(": "));
    print_scalar(printer->out, field, slot);
    end_line(printer);
    return leat_ok_status();
  }
  leat_string_builder_append(printer->out, LEAT_SV(" {"));
  end_line(printer);
  if (++printer->depth > LEAT_TEXT_MAX_DEPTH) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "print failed for message '%s': depth is over %d, must be within it",
                            field->message->name, LEAT_TEXT_MAX_DEPTH);
  }
  if (slot) LEAT_RETURN_IF_ERROR(print_message(printer, field->message, (const char*)slot));
  --printer->depth;
  begin_line(printer);
  leat_string_builder_append_char(printer->out, '}');
  end_line(printer);
  return leat_ok_status();
}

static leat_status_t print_list(printer_t* printer, const leat_message_field_t* field,
                                const leat_pb_list_t* list) {
  size_t item_bytes = leat_message_field_size(field);
  size_t* order = NULL;
  leat_status_t status = leat_ok_status();
  if (field->label == LEAT_FIELD_MAP && list->count > 1) {
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(printer->out->allocator, list->count, &order));
    leat_map_entries_order(field->message, list, order);
  }
  for (size_t i = 0; i < list->count; ++i) {
    const char* item = (const char*)list->items + (order ? order[i] : i) * item_bytes;
    LEAT_GOTO_IF_ERROR(status, print_value(printer, field, item));
  }
cleanup:
  leat_allocator_free(printer->out->allocator, order);
  return status;
}

// Whether the field has another value than zero; proto3 neither writes nor prints the others.
static bool is_set(const leat_message_field_t* field, const void* slot) {
  static const leat_string_view_t zero;
  if (field->kind == LEAT_FIELD_STRING || field->kind == LEAT_FIELD_BYTES) {
    return ((const leat_string_view_t*)slot)->size > 0;
  }
  return memcmp(slot, &zero, leat_message_field_size(field)) != 0;
}

static leat_status_t print_message(printer_t* printer, const leat_message_descriptor_t* descriptor,
                                   const char* message) {
  for (size_t i = 0; i < descriptor->field_count; ++i) {
    const leat_message_field_t* field = &descriptor->fields[i];
    const char* slot = message + field->offset;
    if (field->list_index >= 0) {
      LEAT_RETURN_IF_ERROR(print_list(printer, field, (const leat_pb_list_t*)slot));
      continue;
    }
    bool present = field->case_offset >= 0
                       ? *(const uint32_t*)(message + field->case_offset) == field->number
                       : descriptor->is_map_entry || is_set(field, slot);
    if (!present) continue;
    const void* value = field->kind == LEAT_FIELD_MESSAGE ? *(void* const*)slot : slot;
    LEAT_RETURN_IF_ERROR(print_value(printer, field, value));
  }
  return leat_ok_status();
}

leat_status_t leat_text_print(const leat_message_descriptor_t* descriptor, const void* message,
                              leat_text_style_t style, leat_string_builder_t* out) {
  printer_t printer = {.out = out, .style = style};
  return print_message(&printer, descriptor, (const char*)message);
}
