// Reads the JSON of chrome://tracing into a timeline. The list of events is found first, and then
// each event is read by itself through a window of memory, so that a file may be larger than the
// memory. Only whole spans ("X") and descriptions ("M") count; flows, counters and what other
// programs write besides are skipped. Spans of a row may come in any order: they are gathered, put
// into order (by begin, and the longer before the shorter), and then told to the builder as
// beginnings and ends, as a Perfetto file has them.
//
//   {"traceEvents":[ {"ph":"X","name":"MatMul","cat":"kernel","pid":7,"tid":11,"ts":1.150,...}, ...
//
// A file may come from anybody. An event of more than 64 KiB, or one that is no JSON, ends the
// reading with an error that names its place; a list that is cut off is read up to there.
#include <stddef.h>
#include <stdlib.h>

#include "base/checked.h"
#include "trace/file_window.h"
#include "trace/recording_file.h"
#include "trace/timeline.h"

#define MAX_EVENT_BYTES ((size_t)1 << 16)
#define MAX_PRODUCERS (MAX_EVENT_BYTES / 2)  // of a node: each takes a digit and a comma
#define MAX_NESTING 16

// A span that is not told yet.
typedef struct gathered_s {
  uint64_t uuid;
  int64_t begin_ns, end_ns;
  uint32_t name;
  leat_slice_facts_t facts;
} gathered_t;

typedef struct reader_s {
  leat_timeline_builder_t* builder;
  leat_file_window_t window;
  char* texts;         // [MAX_EVENT_BYTES] of the event that is read, without escapes
  size_t text_bytes;
  uint32_t* producers; // [MAX_PRODUCERS] of a node
  gathered_t* spans;
  size_t count, capacity;
} reader_t;

// ---- JSON ---------------------------------------------------------------------------------------
// A cursor stands within one event, all of which is in memory.

typedef struct cursor_s {
  const char *at, *end;
  reader_t* reader;
  bool is_malformed;
} cursor_t;

static void skip_space(cursor_t* c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\r' || *c->at == '\t')) {
    ++c->at;
  }
}

// Whether |wanted| comes next, which is taken then.
static bool take(cursor_t* c, char wanted) {
  skip_space(c);
  if (c->at == c->end || *c->at != wanted) return false;
  ++c->at;
  return true;
}

static void append_utf8(uint32_t code, char** inout_to) {
  char* to = *inout_to;
  if (code < 0x80) {
    *to++ = (char)code;
  } else if (code < 0x800) {
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 0x3f));
  } else {
    *to++ = (char)(0xe0 | code >> 12);
    *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
  }
  *inout_to = to;
}

// The character of an escape behind its backslash; halves of a pair are written one by one.
static void read_escape(cursor_t* c, char** inout_to) {
  static const char kEscapes[] = "b\bf\fn\nr\rt\t";
  const char escape = *c->at++;
  if (escape == 'u' && c->end - c->at >= 4) {
    char digits[5] = {c->at[0], c->at[1], c->at[2], c->at[3], 0};
    append_utf8((uint32_t)strtoul(digits, NULL, 16), inout_to);
    c->at += 4;
    return;
  }
  const char* found = strchr(kEscapes, escape);
  const bool is_known = found && (found - kEscapes) % 2 == 0;
  *(*inout_to)++ = is_known ? found[1] : escape;
}

// Reads a string, which lives as long as the event. An escape is no longer than what it stands for,
// so the room for the event has room for its texts.
static leat_string_view_t read_string(cursor_t* c) {
  char *text = c->reader->texts + c->reader->text_bytes, *to = text;
  if (!take(c, '"')) {
    c->is_malformed = true;
    return LEAT_SV("");
  }
  while (c->at < c->end && *c->at != '"') {
    if (*c->at != '\\') {
      *to++ = *c->at++;
    } else if (++c->at < c->end) {
      read_escape(c, &to);
    }
  }
  c->is_malformed |= !take(c, '"');
  c->reader->text_bytes += (size_t)(to - text);
  return leat_string_view_make(text, (size_t)(to - text));
}

// A number, or one of true, false and null, as it is written.
static leat_string_view_t read_word(cursor_t* c) {
  skip_space(c);
  const char* first = c->at;
  while (c->at < c->end && !strchr(",]} \n\r\t", *c->at)) ++c->at;
  c->is_malformed |= c->at == first;
  return leat_string_view_make(first, (size_t)(c->at - first));
}

static void skip_value(cursor_t* c, int nesting) {
  skip_space(c);
  const char kind = c->at < c->end ? *c->at : 0;
  if (nesting > MAX_NESTING) c->is_malformed = true;
  if (c->is_malformed) return;
  if (kind == '"') {
    read_string(c);
  } else if (kind == '{' || kind == '[') {
    const char close = kind == '{' ? '}' : ']';
    ++c->at;
    if (take(c, close)) return;
    do {
      if (kind == '{') {
        read_string(c);
        c->is_malformed |= !take(c, ':');
      }
      skip_value(c, nesting + 1);
    } while (!c->is_malformed && take(c, ','));
    c->is_malformed |= !take(c, close);
  } else {
    read_word(c);
  }
}

static double to_double(leat_string_view_t word) {
  char text[64];
  const size_t size = LEAT_MIN(word.size, sizeof text - 1);
  memcpy(text, word.data, size);
  text[size] = 0;
  return strtod(text, NULL);
}

static int64_t limit(double value) {
  return value > 9e18 ? INT64_MAX : value < -9e18 ? INT64_MIN : (int64_t)value;
}

// A whole number, or the whole part of another one.
static int64_t to_int(leat_string_view_t word) {
  char text[24];
  if (word.size >= sizeof text || memchr(word.data, '.', word.size) ||
      memchr(word.data, 'e', word.size)) {
    return limit(to_double(word));
  }
  memcpy(text, word.data, word.size);
  text[word.size] = 0;
  return strtoll(text, NULL, 10);
}

// Microseconds, with up to three digits behind the point, as nanoseconds. Through a double a time
// since the machine's start would lose nanoseconds after some months.
static int64_t to_ns(leat_string_view_t word) {
  const size_t point = leat_string_view_find(word, '.');
  const size_t digits = point == SIZE_MAX ? 0 : word.size - point - 1;
  if (memchr(word.data, 'e', word.size) || digits > 3 || word.size > 16) {
    return limit(to_double(word) * 1e3);
  }
  int64_t ns = to_int(leat_string_view_make(word.data, point == SIZE_MAX ? word.size : point));
  int64_t part = digits ? to_int(leat_string_view_from_index(word, point + 1)) : 0;
  for (size_t i = digits; i < 3; ++i) part *= 10;
  return ns * 1000 + (word.data[0] == '-' ? -part : part);
}

// ---- Events -------------------------------------------------------------------------------------

typedef struct event_s {
  leat_string_view_t phase, name, category;
  int64_t process, thread, begin_ns, length_ns;
  // Of "args": of a description the name that it gives.
  leat_string_view_t node, given_name;
  leat_timeline_node_t described;  // the texts and flops of a node of a graph
  leat_slice_facts_t facts;
  uint64_t graph;
  uint32_t producer_count;
} event_t;

static void read_producers(cursor_t* c, event_t* event) {
  if (!take(c, '[')) {
    skip_value(c, 0);
    return;
  }
  while (!c->is_malformed && !take(c, ']')) {
    const uint32_t producer = (uint32_t)to_int(read_word(c));
    if (event->producer_count < MAX_PRODUCERS) {
      c->reader->producers[event->producer_count++] = producer;
    }
    take(c, ',');
  }
}

static void read_argument(cursor_t* c, leat_string_view_t key, event_t* event) {
  skip_space(c);
  const char kind = c->at < c->end ? *c->at : 0;
  if (kind == '"') {
    const leat_string_view_t text = read_string(c);
    if (leat_string_view_equals(key, "node")) event->node = text;
    if (leat_string_view_equals(key, "name")) event->given_name = text;
    if (leat_string_view_equals(key, "device")) event->described.device = text;
    if (leat_string_view_equals(key, "outputs")) event->described.outputs = text;
    if (leat_string_view_equals(key, "source")) event->described.source = text;
  } else if (leat_string_view_equals(key, "producers")) {
    read_producers(c, event);
  } else if (kind == '{' || kind == '[') {
    skip_value(c, 0);
  } else {
    const int64_t number = to_int(read_word(c));
    if (leat_string_view_equals(key, "by")) {
      event->facts.by = (uint32_t)number;
    } else if (leat_string_view_equals(key, "flops")) {
      event->described.flops = number;
    } else if (leat_string_view_equals(key, "graph")) {
      event->graph = (uint32_t)number;
    } else if (leat_string_view_equals(key, "in step")) {
      event->facts.step = (uint32_t)number;
    } else {
      event->facts.value = number;
    }
  }
}

typedef enum { FIELD_TEXT, FIELD_NUMBER, FIELD_TIME } field_kind_t;

static void read_field(cursor_t* c, leat_string_view_t key, event_t* event) {
  static const struct {
    const char* key;
    field_kind_t kind;
    size_t place;  // in event_t
  } kFields[] = {{"ph", FIELD_TEXT, offsetof(event_t, phase)},
                 {"name", FIELD_TEXT, offsetof(event_t, name)},
                 {"cat", FIELD_TEXT, offsetof(event_t, category)},
                 {"pid", FIELD_NUMBER, offsetof(event_t, process)},
                 {"tid", FIELD_NUMBER, offsetof(event_t, thread)},
                 {"ts", FIELD_TIME, offsetof(event_t, begin_ns)},
                 {"dur", FIELD_TIME, offsetof(event_t, length_ns)}};
  skip_space(c);
  const char first = c->at < c->end ? *c->at : 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFields); ++i) {
    if (!leat_string_view_equals(key, kFields[i].key)) continue;
    void* place = (char*)event + kFields[i].place;
    if ((kFields[i].kind == FIELD_TEXT) != (first == '"') || first == '{' || first == '[') break;
    if (kFields[i].kind == FIELD_TEXT) {
      *(leat_string_view_t*)place = read_string(c);
    } else {
      const leat_string_view_t word = read_word(c);
      *(int64_t*)place = kFields[i].kind == FIELD_TIME ? to_ns(word) : to_int(word);
    }
    return;
  }
  skip_value(c, 0);
}

// Reads the members of an object, each by |read|.
static void read_object(cursor_t* c, void (*read)(cursor_t*, leat_string_view_t, event_t*),
                        event_t* event) {
  c->is_malformed |= !take(c, '{');
  if (take(c, '}')) return;
  do {
    const leat_string_view_t key = read_string(c);
    c->is_malformed |= !take(c, ':');
    if (c->is_malformed) return;
    if (read == read_field && leat_string_view_equals(key, "args")) {
      skip_space(c);
      if (c->at < c->end && *c->at == '{') {
        read_object(c, read_argument, event);
        continue;
      }
    }
    read(c, key, event);
  } while (!c->is_malformed && take(c, ','));
  c->is_malformed |= !take(c, '}');
}

static uint64_t uuid_of(const event_t* event) {
  return (uint64_t)event->process << 32 | (uint32_t)event->thread;
}

static uint64_t graph_of(const event_t* event) {
  return event->graph ? (uint64_t)event->process << 32 | event->graph : 0;
}

static leat_status_t find_row(reader_t* reader, const event_t* event,
                              leat_timeline_row_t** out_row) {
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_row(reader->builder, uuid_of(event), out_row));
  (*out_row)->process = event->process;
  // Rows of no thread had numbers below 0 once.
  (*out_row)->thread = event->thread >= LEAT_RECORDING_NO_THREAD ? 0 : LEAT_MAX(event->thread, 0);
  return leat_ok_status();
}

static leat_status_t put_span(reader_t* reader, const event_t* event) {
  const leat_slice_name_t name = {event->name, event->node,
                                  leat_timeline_kind_of(event->category), graph_of(event)};
  leat_timeline_row_t* row;
  int64_t end_ns;
  LEAT_RETURN_IF_ERROR(find_row(reader, event, &row));
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), reader->count + 1, &reader->spans,
                                 &reader->capacity));
  gathered_t* span = &reader->spans[reader->count];
  if (__builtin_add_overflow(event->begin_ns, LEAT_MAX(event->length_ns, 0), &end_ns)) {
    end_ns = INT64_MAX;
  }
  *span = (gathered_t){.uuid = uuid_of(event), .begin_ns = event->begin_ns, .end_ns = end_ns,
                       .facts = event->facts};
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_name(reader->builder, &name, &span->name));
  ++reader->count;
  return leat_ok_status();
}

static leat_status_t put_event(reader_t* reader, const event_t* event) {
  if (leat_string_view_equals(event->phase, "X")) return put_span(reader, event);
  if (!leat_string_view_equals(event->phase, "M")) return leat_ok_status();
  if (leat_string_view_equals(event->name, "thread_name")) {
    leat_timeline_row_t* row;
    LEAT_RETURN_IF_ERROR(find_row(reader, event, &row));
    return leat_timeline_builder_copy(reader->builder, event->given_name, &row->name);
  }
  if (leat_string_view_equals(event->name, "process_name")) {
    return leat_timeline_builder_process(reader->builder, event->process, event->given_name);
  }
  if (leat_string_view_equals(event->name, "leat_graph_node")) {
    leat_timeline_node_t node = event->described;
    node.graph = graph_of(event);
    node.name = event->node;
    node.producers = reader->producers;
    node.producer_count = event->producer_count;
    return leat_timeline_builder_node(reader->builder, &node);
  }
  return leat_ok_status();
}

// ---- The file -----------------------------------------------------------------------------------

static leat_status_t malformed(const reader_t* reader, size_t at) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading failed for '%s': the bytes at %llu are no event of a trace, "
                          "must be JSON of chrome://tracing",
                          reader->window.file->path,
                          (unsigned long long)(reader->window.offset + at));
}

// The end of the object that begins at |at|; 0: the window holds only a part.
static size_t find_end(const reader_t* reader, size_t at) {
  int depth = 0;
  bool is_in_string = false;
  for (size_t i = at; i < reader->window.size && i - at < MAX_EVENT_BYTES; ++i) {
    const char c = reader->window.bytes[i];
    if (is_in_string) {
      if (c == '\\') ++i;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

// Reads the event at |*inout_at|, or skips what stands between events. |*out_is_whole| is false
// where the window holds only a part of one, |*out_is_over| true where the list ends.
static leat_status_t read_event(reader_t* reader, size_t* inout_at, bool* out_is_whole,
                                bool* out_is_over) {
  const char c = reader->window.bytes[*inout_at];
  *out_is_whole = true;
  *out_is_over = c == ']';
  if (c == ']' || c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t') {
    ++*inout_at;
    return leat_ok_status();
  }
  const size_t end = c == '{' ? find_end(reader, *inout_at) : 0;
  *out_is_whole = c != '{' || end > 0;
  if (c != '{' || (!end && reader->window.size - *inout_at >= MAX_EVENT_BYTES)) {
    return malformed(reader, *inout_at);
  }
  if (!end) return leat_ok_status();
  event_t event = {0};
  cursor_t cursor = {.at = reader->window.bytes + *inout_at, .end = reader->window.bytes + end,
                     .reader = reader};
  reader->text_bytes = 0;
  read_object(&cursor, read_field, &event);
  if (cursor.is_malformed) return malformed(reader, *inout_at);
  *inout_at = end;
  return put_event(reader, &event);
}

// Moves behind the bracket that opens the list of events: the first one of the file, or the one
// behind "traceEvents", which stands before any other list that we write.
static leat_status_t find_list(reader_t* reader, size_t* out_at) {
  static const char kKey[] = "\"traceEvents\"";
  const size_t key_bytes = sizeof kKey - 1;
  const leat_file_window_t* w = &reader->window;
  size_t at = 0;
  if (w->bytes[0] == '{') {
    while (at + key_bytes < w->size && memcmp(w->bytes + at, kKey, key_bytes)) ++at;
    at += key_bytes;
  }
  while (at < w->size && w->bytes[at] != '[') ++at;
  if (at >= w->size) return malformed(reader, 0);
  *out_at = at + 1;
  return leat_ok_status();
}

static leat_status_t read_events(reader_t* reader) {
  bool is_end = false, is_whole, is_over = false;
  size_t at = 0;
  LEAT_RETURN_IF_ERROR(leat_file_window_refill(&reader->window, 0, &is_end));
  LEAT_RETURN_IF_ERROR(find_list(reader, &at));
  for (;;) {
    is_whole = true;
    while (is_whole && !is_over && at < reader->window.size) {
      LEAT_RETURN_IF_ERROR(read_event(reader, &at, &is_whole, &is_over));
    }
    if (is_over) return leat_ok_status();
    if (is_end) break;
    LEAT_RETURN_IF_ERROR(leat_file_window_refill(&reader->window, at, &is_end));
    at = 0;
  }
  leat_timeline_builder_add_damage(reader->builder);
  return leat_ok_status();
}

static int compare_spans(const void* a, const void* b) {
  const gathered_t *x = a, *y = b;
  if (x->uuid != y->uuid) return x->uuid < y->uuid ? -1 : 1;
  if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
  return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

// Tells the builder the spans of a row, |count| from |first| on.
static leat_status_t tell_row(reader_t* reader, size_t first, size_t end, const gathered_t** open) {
  leat_timeline_row_t* row;
  size_t depth = 0;
  LEAT_RETURN_IF_ERROR(
      leat_timeline_builder_row(reader->builder, reader->spans[first].uuid, &row));
  for (size_t i = first; i < end; ++i) {
    const gathered_t* span = &reader->spans[i];
    while (depth && open[depth - 1]->end_ns <= span->begin_ns) {
      leat_timeline_builder_end(reader->builder, row, open[--depth]->end_ns);
    }
    LEAT_RETURN_IF_ERROR(leat_timeline_builder_begin_named(
        reader->builder, row, span->begin_ns, span->name, &span->facts));
    open[depth++] = span;
  }
  while (depth) leat_timeline_builder_end(reader->builder, row, open[--depth]->end_ns);
  return leat_ok_status();
}

static leat_status_t tell_spans(reader_t* reader) {
  const gathered_t** open;  // the spans that the last one lies in
  if (!reader->count) return leat_ok_status();
  qsort(reader->spans, reader->count, sizeof *reader->spans, compare_spans);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), reader->count, &open));
  leat_status_t status = leat_ok_status();
  for (size_t first = 0, end; first < reader->count && !status; first = end) {
    for (end = first; end < reader->count &&
                      reader->spans[end].uuid == reader->spans[first].uuid; ++end) {
    }
    status = tell_row(reader, first, end, open);
  }
  leat_allocator_free(leat_allocator_system(), open);
  return status;
}

leat_status_t leat_timeline_read_chrome(leat_file_t* file, leat_timeline_builder_t* builder) {
  leat_allocator_t* a = leat_allocator_system();
  reader_t reader = {.builder = builder};
  leat_status_t status = leat_file_window_initialize(file, &reader.window);
  if (!status) {
    status = leat_allocator_allocate_uninitialized(a, 16, MAX_EVENT_BYTES, (void**)&reader.texts);
  }
  if (!status) {
    status = leat_allocator_allocate_uninitialized(a, 16, MAX_PRODUCERS * sizeof(uint32_t),
                                                   (void**)&reader.producers);
  }
  if (!status) status = read_events(&reader);
  if (!status) status = tell_spans(&reader);
  leat_allocator_free(a, reader.spans);
  leat_allocator_free(a, reader.producers);
  leat_allocator_free(a, reader.texts);
  leat_file_window_deinitialize(&reader.window);
  return status;
}
