// Parses, compares, merges and prints the names of devices, with TensorFlow's syntax and messages.
// A parsed name borrows from its text, so that parsing allocates nothing.
//
//   full:  parts in any order; of a part that is repeated the last one counts
//          "/job:J" "/replica:N" "/task:N" "/device:TYPE:N" "/cpu:N" "/gpu:N", N a number or '*'
//   local: "TYPE:N", as in "GPU:0"; "/" and "" state nothing
//
// The placer merges the constraints of nodes that must share a device (white paper, section 4.3,
// "Device Constraints"), and then looks for devices whose full name matches. A missing part and '*'
// are the same thing: any value.
#include "device/device_name.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool consume(leat_string_view_t* inout_text, leat_string_view_t prefix) {
  if (!leat_string_view_starts_with(*inout_text, prefix)) return false;
  *inout_text = leat_string_view_from_index(*inout_text, prefix.size);
  return true;
}

static bool consume_without_case(leat_string_view_t* inout_text, leat_string_view_t prefix) {
  if (inout_text->size < prefix.size) return false;
  for (size_t i = 0; i < prefix.size; ++i) {
    if (lower(inout_text->data[i]) != prefix.data[i]) return false;
  }
  *inout_text = leat_string_view_from_index(*inout_text, prefix.size);
  return true;
}

// Consumes a word: a letter, then letters, digits and '_', up to one of |terminators| or the end.
static bool consume_word(leat_string_view_t* inout_text, const char* terminators,
                         leat_string_view_t* out_word) {
  leat_string_view_t text = *inout_text;
  size_t size = 0;
  while (size < text.size && !strchr(terminators, text.data[size])) {
    char c = text.data[size];
    if (!is_letter(c) && (size == 0 || (!is_digit(c) && c != '_'))) return false;
    ++size;
  }
  if (size == 0) return false;
  *out_word = leat_string_view_make(text.data, size);
  *inout_text = leat_string_view_from_index(text, size);
  return true;
}

// Consumes digits or '*'.
static bool consume_number(leat_string_view_t* inout_text, int* out_number) {
  if (consume(inout_text, LEAT_SV("*"))) {
    *out_number = LEAT_DEVICE_ANY;
    return true;
  }
  size_t size = 0;
  int64_t number = 0;
  while (size < inout_text->size && is_digit(inout_text->data[size])) {
    number = number * 10 + (inout_text->data[size++] - '0');
    if (number > INT_MAX) return false;
  }
  if (size == 0) return false;
  *out_number = (int)number;
  *inout_text = leat_string_view_from_index(*inout_text, size);
  return true;
}

static bool consume_job(leat_string_view_t* inout_text, leat_device_name_t* inout_name) {
  inout_name->job = LEAT_SV("");
  return consume(inout_text, LEAT_SV("*")) || consume_word(inout_text, "/", &inout_name->job);
}

static bool consume_device(leat_string_view_t* inout_text, leat_device_name_t* inout_name) {
  inout_name->type = LEAT_SV("");
  inout_name->index = LEAT_DEVICE_ANY;
  if (!consume(inout_text, LEAT_SV("*")) && !consume_word(inout_text, "/:", &inout_name->type)) {
    return false;
  }
  return !consume(inout_text, LEAT_SV(":")) || consume_number(inout_text, &inout_name->index);
}

// Consumes the number of the old spelling "/cpu:N".
static bool consume_legacy(leat_string_view_t* inout_text, leat_string_view_t type,
                           leat_device_name_t* inout_name) {
  inout_name->type = type;
  return consume_number(inout_text, &inout_name->index);
}

static bool consume_part(leat_string_view_t* inout_text, leat_device_name_t* inout_name) {
  if (consume(inout_text, LEAT_SV("/job:"))) return consume_job(inout_text, inout_name);
  if (consume(inout_text, LEAT_SV("/replica:"))) {
    return consume_number(inout_text, &inout_name->replica);
  }
  if (consume(inout_text, LEAT_SV("/task:"))) {
    return consume_number(inout_text, &inout_name->task);
  }
  if (consume(inout_text, LEAT_SV("/device:"))) return consume_device(inout_text, inout_name);
  if (consume_without_case(inout_text, LEAT_SV("/cpu:"))) {
    return consume_legacy(inout_text, LEAT_SV("CPU"), inout_name);
  }
  if (consume_without_case(inout_text, LEAT_SV("/gpu:"))) {
    return consume_legacy(inout_text, LEAT_SV("GPU"), inout_name);
  }
  return false;
}

static const leat_device_name_t kAny = {
    .replica = LEAT_DEVICE_ANY, .task = LEAT_DEVICE_ANY, .index = LEAT_DEVICE_ANY};

static bool parse_full(leat_string_view_t text, leat_device_name_t* out_name) {
  *out_name = kAny;
  if (leat_string_view_equals(text, "/")) return true;
  while (text.size > 0) {
    if (!consume_part(&text, out_name)) return false;
  }
  return true;
}

// Parses "CPU:0" or "gpu:*".
static bool parse_local(leat_string_view_t text, leat_device_name_t* out_name) {
  *out_name = kAny;
  return consume_word(&text, ":", &out_name->type) && consume(&text, LEAT_SV(":")) &&
         consume_number(&text, &out_name->index) && text.size == 0;
}

static bool type_equal(leat_string_view_t a, leat_string_view_t b) {
  if (a.size != b.size) return false;
  for (size_t i = 0; i < a.size; ++i) {
    if (lower(a.data[i]) != lower(b.data[i])) return false;
  }
  return true;
}

// Spells the types "cpu" and "gpu" in capitals; other types keep their spelling.
static void capitalize_known_type(leat_device_name_t* inout_name) {
  if (type_equal(inout_name->type, LEAT_SV("CPU"))) inout_name->type = LEAT_SV("CPU");
  if (type_equal(inout_name->type, LEAT_SV("GPU"))) inout_name->type = LEAT_SV("GPU");
}

leat_status_t leat_device_name_parse(leat_string_view_t text, leat_device_name_t* out_name) {
  if (parse_full(text, out_name) || parse_local(text, out_name)) {
    capitalize_known_type(out_name);
    return leat_ok_status();
  }
  *out_name = kAny;
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Malformed device specification '%.*s'",
                          LEAT_SV_ARG(text));
}

// ---- Matching and merging -----------------------------------------------------------------------

static bool number_matches(int constraint, int full) {
  return constraint == LEAT_DEVICE_ANY || constraint == full;
}

bool leat_device_name_matches(const leat_device_name_t* constraint,
                              const leat_device_name_t* full) {
  if (constraint->job.size > 0 && !leat_string_view_equal(constraint->job, full->job)) {
    return false;
  }
  if (constraint->type.size > 0 && !type_equal(constraint->type, full->type)) return false;
  return number_matches(constraint->replica, full->replica) &&
         number_matches(constraint->task, full->task) &&
         number_matches(constraint->index, full->index);
}

static LEAT_COLD leat_status_t conflict(const leat_device_name_t* a, const leat_device_name_t* b,
                                        const char* parts) {
  char text_a[256], text_b[256];
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Cannot merge devices with incompatible %s: '%s' and '%s'", parts,
                          leat_device_name_print(a, text_a, sizeof(text_a)),
                          leat_device_name_print(b, text_b, sizeof(text_b)));
}

// false when both numbers are stated and differ.
static bool merge_number(int a, int b, int* out_number) {
  *out_number = b == LEAT_DEVICE_ANY ? a : b;
  return a == LEAT_DEVICE_ANY || b == LEAT_DEVICE_ANY || a == b;
}

// Merges job, replica and task, on which a conflict is always an error.
static leat_status_t merge_task(const leat_device_name_t* a, const leat_device_name_t* b,
                                leat_device_name_t* out_name) {
  if (a->job.size > 0 && b->job.size > 0 && !leat_string_view_equal(a->job, b->job)) {
    return conflict(a, b, "jobs");
  }
  out_name->job = b->job.size > 0 ? b->job : a->job;
  if (!merge_number(a->replica, b->replica, &out_name->replica)) {
    return conflict(a, b, "replicas");
  }
  if (!merge_number(a->task, b->task, &out_name->task)) return conflict(a, b, "tasks");
  return leat_ok_status();
}

leat_status_t leat_device_name_merge(const leat_device_name_t* a, const leat_device_name_t* b,
                                     bool soft, leat_device_name_t* out_name) {
  leat_device_name_t merged = kAny;
  LEAT_RETURN_IF_ERROR(merge_task(a, b, &merged));
  bool types_conflict = a->type.size > 0 && b->type.size > 0 && !type_equal(a->type, b->type);
  if (types_conflict && !soft) return conflict(a, b, "types");
  merged.type = b->type.size > 0 ? b->type : a->type;
  bool indices_agree = merge_number(a->index, b->index, &merged.index);
  if (!indices_agree && !types_conflict && !soft) return conflict(a, b, "ids");
  if (types_conflict) merged.type = kAny.type;
  if (types_conflict || !indices_agree) merged.index = LEAT_DEVICE_ANY;
  *out_name = merged;
  return leat_ok_status();
}

// ---- Printing -----------------------------------------------------------------------------------

typedef struct writer_s {
  char* buffer;
  size_t size;
  size_t used;
} writer_t;

// Appends a part; text that does not fit is cut.
static void write_part(writer_t* writer, const char* label, leat_string_view_t word, int number) {
  char digits[16] = "";
  if (number >= 0) snprintf(digits, sizeof(digits), "%d", number);
  if (writer->used >= writer->size) return;
  int written = snprintf(writer->buffer + writer->used, writer->size - writer->used, "%s%.*s%s",
                         label, LEAT_SV_ARG(word), digits);
  if (written > 0) writer->used += (size_t)written;
}

const char* leat_device_name_print(const leat_device_name_t* name, char* buffer, size_t size) {
  writer_t writer = {buffer, size, 0};
  const leat_string_view_t none = {0};
  if (size > 0) buffer[0] = '\0';
  if (name->job.size > 0) write_part(&writer, "/job:", name->job, -1);
  if (name->replica >= 0) write_part(&writer, "/replica:", none, name->replica);
  if (name->task >= 0) write_part(&writer, "/task:", none, name->task);
  if (name->type.size > 0) {
    write_part(&writer, "/device:", name->type, -1);
    write_part(&writer, name->index >= 0 ? ":" : ":*", none, name->index);
  }
  return buffer;
}
