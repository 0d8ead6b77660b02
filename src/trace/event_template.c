// A table of templates. An event is compared with two of them at most: where they lie follows from
// what templates differ in, which are the last bytes, the op's, and the node's name. A new template
// takes the first of its two places, the second where that is taken, and in a full pair that of the
// older one at the first place.
//
// A template has its event's bytes but for the holes, in which the numbers stand. An event fits if
// its bytes between the holes are the template's and each hole has a number of the right kind. The
// name of a graph belongs to the process whose row the event has, so the process must be the same.
#include "trace/event_template.h"

#include "base/checked.h"
#include "formats/wire/wire.h"

#define PLACES 8192  // a power of two
#define MAX_BYTES 320
#define MAX_HOLES 6
#define MAX_REST 100  // so that the length of an annotation with a number has one byte
// Tags, each with its wire type.
#define TAG_NUMBER 0x20  // of an annotation
#define TAG_TEXT 0x32
#define TAG_NAME 0x52
#define TAG_ANNOTATION 0x22  // of an event
#define TAG_UUID 0x58

typedef enum { HOLE_UUID, HOLE_VALUE, HOLE_BY, HOLE_STEP } hole_kind_t;

typedef struct hole_s {
  uint16_t size;  // of the bytes between the hole before it and this one
  uint8_t kind;
  uint8_t rest;  // how many bytes of its annotation come behind the number
} hole_t;

typedef struct template_s {
  uint32_t name;
  uint32_t process;  // upper half of the row's number
  uint32_t hole_count, size;
  hole_t holes[MAX_HOLES];
  uint8_t bytes[MAX_BYTES];  // [size]: all but the holes
} template_t;

struct leat_event_templates_s {
  template_t* places[PLACES];
  leat_arena_t arena;
};

leat_status_t leat_event_templates_create(leat_event_templates_t** out_templates) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, out_templates));
  leat_arena_initialize(leat_allocator_system(), 0, &(*out_templates)->arena);
  return leat_ok_status();
}

void leat_event_templates_free(leat_event_templates_t* templates) {
  if (!templates) return;
  leat_arena_deinitialize(&templates->arena);
  leat_allocator_free(leat_allocator_system(), templates);
}

// The first of the two places of an event, which is |*out_place| and the one beside it; false where
// the event has no place.
static inline bool find_place(leat_string_view_t event, size_t* out_place) {
  const uint8_t *next = (const uint8_t*)event.data, *end = next + event.size;
  if (event.size < 16 || event.size > MAX_BYTES) return false;
  uint64_t word = leat_wire_load64(end - 8);
  leat_string_view_t node;
  size_t size;
  if (next[0] == TAG_ANNOTATION) {
    next = leat_wire_read_length(next + 1, end, &size);
    // What follows is the annotation's, or, where that is empty, the next field's.
    if (next && next < end && *next == TAG_TEXT) {
      next = leat_wire_read_bytes(next + 1, end, &node);
      if (next) word = leat_hash_mix(word, leat_string_view_hash(node));
    }
  }
  *out_place = leat_hash_mix(word, 0) & (PLACES - 2);
  return true;
}

static inline bool fits(const template_t* template, leat_string_view_t event,
                        leat_event_numbers_t* out_numbers) {
  const uint8_t *next = (const uint8_t*)event.data, *end = next + event.size;
  const uint8_t *wanted = template->bytes, *wanted_end = wanted + template->size;
  *out_numbers = (leat_event_numbers_t){.name = template->name};
  for (uint32_t i = 0; i < template->hole_count; ++i) {
    const hole_t hole = template->holes[i];
    uint64_t number;
    if (end - next < hole.size || memcmp(next, wanted, hole.size)) return false;
    next += hole.size;
    wanted += hole.size;
    if (hole.kind == HOLE_UUID) {
      next = leat_wire_read_varint(next, end, &out_numbers->uuid);
      if (!next || out_numbers->uuid >> 32 != template->process) return false;
      continue;
    }
    if (end - next < 2 || next[1] != TAG_NUMBER) return false;
    const uint8_t* behind = leat_wire_read_varint(next + 2, end, &number);
    if (!behind || next[0] != (size_t)(behind - (next + 1)) + hole.rest) return false;
    next = behind;
    switch (hole.kind) {
      case HOLE_BY: out_numbers->facts.by = (uint32_t)number; break;
      case HOLE_STEP: out_numbers->facts.step = (uint32_t)number; break;
      default: out_numbers->facts.value = (int64_t)number;
    }
  }
  return end - next == wanted_end - wanted && !memcmp(next, wanted, (size_t)(end - next));
}

bool leat_event_templates_find(const leat_event_templates_t* templates, leat_string_view_t event,
                               leat_event_numbers_t* out_numbers) {
  size_t place;
  if (!find_place(event, &place)) return false;
  const template_t *first = templates->places[place], *second = templates->places[place + 1];
  return (first && fits(first, event, out_numbers)) ||
         (second && fits(second, event, out_numbers));
}

// ---- Making -------------------------------------------------------------------------------------

// Ends the bytes before a hole at |hole|, and goes on behind it.
static bool add_hole(template_t* template, const uint8_t** inout_from, const uint8_t* hole,
                     const uint8_t* behind, hole_kind_t kind, size_t rest) {
  const size_t size = (size_t)(hole - *inout_from);
  if (template->hole_count == MAX_HOLES) return false;
  template->holes[template->hole_count++] =
      (hole_t){(uint16_t)size, (uint8_t)kind, (uint8_t)rest};
  memcpy(template->bytes + template->size, *inout_from, size);
  template->size += (uint32_t)size;
  *inout_from = behind;
  return true;
}

// Looks at the annotation [next, end), in front of which is its length. Either it has a number and
// then its name, or a node's name in its text and then "node".
static bool add_annotation(template_t* template, const uint8_t** inout_from, const uint8_t* next,
                           const uint8_t* end) {
  const uint8_t *length = next - 1, *behind;
  leat_string_view_t text, name;
  uint64_t number;
  const bool has_number = next < end && *next == TAG_NUMBER;
  if (next == end || (!has_number && *next != TAG_TEXT)) return false;
  behind = has_number ? leat_wire_read_varint(next + 1, end, &number)
                      : leat_wire_read_bytes(next + 1, end, &text);
  if (!behind || behind == end || *behind != TAG_NAME ||
      leat_wire_read_bytes(behind + 1, end, &name) != end) {
    return false;
  }
  if (!has_number) return leat_string_view_equals(name, "node");
  if (leat_string_view_equals(name, "graph")) return true;  // a part of the slice's name
  if (leat_string_view_equals(name, "node") || end - behind > MAX_REST ||
      *length != end - next) {
    return false;
  }
  const hole_kind_t kind = leat_string_view_equals(name, "by")        ? HOLE_BY
                           : leat_string_view_equals(name, "in step") ? HOLE_STEP
                                                                      : HOLE_VALUE;
  return add_hole(template, inout_from, length, behind, kind, (size_t)(end - behind));
}

// Makes |template| of an event of at most MAX_BYTES; false where there cannot be one.
static bool make(leat_string_view_t event, template_t* template) {
  const uint8_t *next = (const uint8_t*)event.data, *end = next + event.size, *from = next;
  while (next < end) {
    const uint8_t tag = *next;
    uint32_t number, type;
    uint64_t uuid;
    leat_string_view_t bytes;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (!next) return false;
    if (number == 11 && type == LEAT_WIRE_VARINT) {
      const uint8_t* behind = leat_wire_read_varint(next, end, &uuid);
      if (!behind || tag != TAG_UUID || template->process) return false;
      template->process = (uint32_t)(uuid >> 32);
      if (!add_hole(template, &from, next, behind, HOLE_UUID, 0)) return false;
      next = behind;
    } else if (type == LEAT_WIRE_LENGTH && (number == 4 || number == 22 || number == 23)) {
      next = leat_wire_read_bytes(next, end, &bytes);
      if (!next) return false;
      const uint8_t* message = (const uint8_t*)bytes.data;
      if (number == 4 && (tag != TAG_ANNOTATION ||
                          !add_annotation(template, &from, message, message + bytes.size))) {
        return false;
      }
    } else if (number == 9 && type == LEAT_WIRE_VARINT) {
      next = leat_wire_read_varint(next, end, &uuid);
      if (!next) return false;
    } else {
      return false;
    }
  }
  memcpy(template->bytes + template->size, from, (size_t)(end - from));
  template->size += (uint32_t)(end - from);
  return true;
}

leat_status_t leat_event_templates_add(leat_event_templates_t* templates, leat_string_view_t event,
                                       uint32_t name) {
  template_t made = {.name = name};
  size_t place;
  if (!find_place(event, &place) || !make(event, &made)) return leat_ok_status();
  if (templates->places[place] && !templates->places[place + 1]) ++place;
  if (!templates->places[place]) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&templates->arena, 1, &templates->places[place]));
  }
  *templates->places[place] = made;
  return leat_ok_status();
}
