// Reads Perfetto's packets into a timeline. A file of ten million slices has a gigabyte, so it is
// read through a window of memory and its packets are walked field by field, without a message
// being made of them: what is not wanted is skipped, and texts are copied only when they are new.
// A file may come from anybody. Every length is checked against the bytes that are there, and a
// packet that breaks a rule ends the reading with an error that names its place; the last packet of
// a file may be cut off, since a program that died wrote only a part of it.
#include "formats/generated/perfetto.h"
#include "formats/wire/wire.h"
#include "trace/file_window.h"
#include "trace/timeline.h"

#define MAX_PACKET_BYTES ((size_t)1 << 16)
#define HEAD_BYTES 11  // a tag and a length of ten bytes
#define MAX_PRODUCERS MAX_PACKET_BYTES  // of a node: each takes a byte at least

typedef struct reader_s {
  leat_timeline_builder_t* builder;
  leat_file_window_t window;
  uint32_t* producers;  // [MAX_PRODUCERS] of a node
} reader_t;

// A message that is walked field by field.
typedef struct walk_s {
  const uint8_t *next, *end;
  bool is_malformed;
  uint64_t tag;              // of the field that was read last: its number and wire type
  uint64_t value;            // of a varint
  leat_string_view_t bytes;  // of what has a length
} walk_t;

// Tags of fields; the numbers below are those of formats/proto/perfetto.proto.
#define NUMBER(field) ((field) << 3 | LEAT_WIRE_VARINT)
#define BYTES(field) ((field) << 3 | LEAT_WIRE_LENGTH)

static walk_t walk_from(leat_string_view_t message) {
  const uint8_t* data = (const uint8_t*)message.data;
  return (walk_t){.next = data, .end = data + message.size};
}

// Passes over a field whose value is neither a number nor has a length.
static LEAT_COLD const uint8_t* skip_other(const uint8_t* next, const uint8_t* end, uint64_t tag) {
  return leat_wire_skip(next, end, (uint32_t)(tag >> 3), tag & 7);
}

// Reads the next field; false at the end of the message, and where it is malformed. Nearly all of
// the time goes into this, so that it is a part of each of its callers.
static inline __attribute__((always_inline)) bool next_field(walk_t* walk) {
  const uint8_t *next = walk->next, *end = walk->end;
  if (next == end || walk->is_malformed) return false;
  if (end - next >= 2 && next[0] >= 0x80 && next[1] < 0x80) {
    walk->tag = (next[0] & 0x7fu) | (uint64_t)next[1] << 7;
    next += 2;
  } else {
    next = leat_wire_read_varint(next, end, &walk->tag);
  }
  if (LEAT_LIKELY(next != NULL)) {
    switch (walk->tag & 7) {
      case LEAT_WIRE_VARINT: next = leat_wire_read_varint(next, end, &walk->value); break;
      case LEAT_WIRE_LENGTH: next = leat_wire_read_bytes(next, end, &walk->bytes); break;
      default: next = skip_other(next, end, walk->tag);
    }
  }
  walk->is_malformed = !next;
  if (next) walk->next = next;
  return next != NULL;
}

// What a packet tells of a slice.
typedef struct event_s {
  uint64_t uuid, type;
  leat_slice_facts_t facts;
  uint32_t graph;
  leat_string_view_t name, category, node;
  leat_string_view_t graph_node, clock_relation;  // messages; |data| NULL: there is none
} event_t;

// |wanted| is a constant, so that the comparison becomes a few instructions: with a call for each
// annotation the reading took a twelfth longer.
static inline bool is_name(leat_string_view_t name, leat_string_view_t wanted) {
  return name.size == wanted.size && !memcmp(name.data, wanted.data, wanted.size);
}

static bool read_annotation(leat_string_view_t message, event_t* event) {
  walk_t walk = walk_from(message);
  uint64_t number = 0;
  leat_string_view_t text = {0}, name = {0};
  while (next_field(&walk)) {
    switch (walk.tag) {
      case NUMBER(4): number = walk.value; break;
      case BYTES(6): text = walk.bytes; break;
      case BYTES(10): name = walk.bytes; break;
    }
  }
  if (is_name(name, LEAT_SV("node"))) {
    event->node = text;
  } else if (is_name(name, LEAT_SV("by"))) {
    event->facts.by = (uint32_t)number;
  } else if (is_name(name, LEAT_SV("graph"))) {
    event->graph = (uint32_t)number;
  } else if (is_name(name, LEAT_SV("in step"))) {
    event->facts.step = (uint32_t)number;
  } else {
    event->facts.value = (int64_t)number;
  }
  return !walk.is_malformed;
}

static bool read_event(leat_string_view_t message, event_t* out_event) {
  walk_t walk = walk_from(message);
  bool ok = true;
  while (ok && next_field(&walk)) {
    switch (walk.tag) {
      case BYTES(4): ok = read_annotation(walk.bytes, out_event); break;
      case NUMBER(9): out_event->type = walk.value; break;
      case NUMBER(11): out_event->uuid = walk.value; break;
      case BYTES(22): out_event->category = walk.bytes; break;
      case BYTES(23): out_event->name = walk.bytes; break;
      case BYTES(9900): out_event->graph_node = walk.bytes; break;
      case BYTES(9901): out_event->clock_relation = walk.bytes; break;
    }
  }
  return ok && !walk.is_malformed;
}

// A graph among those of all processes. The number of the row of a process, and so of those that
// belong to it, has the process's in its upper half.
static uint64_t graph_of(uint64_t uuid, uint64_t graph) {
  return graph ? uuid >> 32 << 32 | (uint32_t)graph : 0;
}

static leat_status_t put_node(reader_t* reader, const event_t* event, bool* out_ok) {
  uint32_t* producers = reader->producers;
  leat_timeline_node_t node = {.producers = producers};
  walk_t walk = walk_from(event->graph_node);
  while (next_field(&walk)) {
    switch (walk.tag) {
      case NUMBER(1): node.graph = graph_of(event->uuid, walk.value); break;
      case BYTES(2): node.name = walk.bytes; break;
      case NUMBER(3):
        if (node.producer_count < MAX_PRODUCERS) {
          producers[node.producer_count++] = (uint32_t)walk.value;
        }
        break;
      case BYTES(3): {
        const uint8_t *next = (const uint8_t*)walk.bytes.data, *end = next + walk.bytes.size;
        uint64_t number;
        while (next && next < end && node.producer_count < MAX_PRODUCERS) {
          next = leat_wire_read_varint(next, end, &number);
          if (next) producers[node.producer_count++] = (uint32_t)number;
        }
        walk.is_malformed |= !next;
        break;
      }
    }
  }
  *out_ok = !walk.is_malformed;
  return *out_ok ? leat_timeline_builder_node(reader->builder, &node) : leat_ok_status();
}

static leat_status_t put_clock(reader_t* reader, const event_t* event, bool* out_ok) {
  leat_timeline_clock_t clock = {0};
  walk_t walk = walk_from(event->clock_relation);
  while (next_field(&walk)) {
    switch (walk.tag) {
      case NUMBER(1): clock.process = (int64_t)walk.value; break;
      case NUMBER(3): clock.offset_ns = (int64_t)walk.value; break;
      case NUMBER(4): clock.drift_ppb = (int64_t)walk.value; break;
      case NUMBER(5): clock.residual_ns = (int64_t)walk.value; break;
    }
  }
  *out_ok = !walk.is_malformed;
  return *out_ok ? leat_timeline_builder_clock(reader->builder, &clock) : leat_ok_status();
}

static leat_status_t put_event(reader_t* reader, const event_t* event, int64_t time_ns) {
  leat_timeline_row_t* row;
  if (event->type != LEAT_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN &&
      event->type != LEAT_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_row(reader->builder, event->uuid, &row));
  if (event->type == LEAT_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END) {
    leat_timeline_builder_end(reader->builder, row, time_ns);
    return leat_ok_status();
  }
  const leat_slice_name_t name = {event->name, event->node,
                                  leat_timeline_kind_of(event->category),
                                  graph_of(event->uuid, event->graph)};
  return leat_timeline_builder_begin(reader->builder, row, time_ns, &name, &event->facts);
}

// The description of a row, which names it by itself or by its thread.
typedef struct track_s {
  uint64_t uuid, parent;
  uint64_t process, thread;  // numbers of the system
  leat_string_view_t name;
  bool is_process;
} track_t;

static bool read_thread(leat_string_view_t message, track_t* out_track) {
  walk_t walk = walk_from(message);
  while (next_field(&walk)) {
    switch (walk.tag) {
      case NUMBER(1): out_track->process = walk.value; break;
      case NUMBER(2): out_track->thread = walk.value; break;
      case BYTES(5): out_track->name = walk.bytes; break;
    }
  }
  return !walk.is_malformed;
}

static bool read_process(leat_string_view_t message, track_t* out_track) {
  walk_t walk = walk_from(message);
  while (next_field(&walk)) {
    switch (walk.tag) {
      case NUMBER(1): out_track->process = walk.value; break;
      case BYTES(6): out_track->name = walk.bytes; break;
    }
  }
  return !walk.is_malformed;
}

static bool read_track(leat_string_view_t message, track_t* out_track) {
  walk_t walk = walk_from(message);
  bool ok = true;
  while (ok && next_field(&walk)) {
    switch (walk.tag) {
      case NUMBER(1): out_track->uuid = walk.value; break;
      case BYTES(2): out_track->name = walk.bytes; break;
      case BYTES(3): ok = out_track->is_process = read_process(walk.bytes, out_track); break;
      case BYTES(4): ok = read_thread(walk.bytes, out_track); break;
      case NUMBER(5): out_track->parent = walk.value; break;
    }
  }
  return ok && !walk.is_malformed;
}

static leat_status_t put_track(reader_t* reader, const track_t* track) {
  leat_timeline_row_t* row;
  if (track->is_process) {
    return track->name.size ? leat_timeline_builder_process(
                                  reader->builder, (int64_t)track->process, track->name)
                            : leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_row(reader->builder, track->uuid, &row));
  // The number of the row of a process, which those below it name, has the process's in its upper
  // half.
  row->process = (int64_t)(track->process ? track->process : track->parent >> 32);
  row->thread = (int64_t)track->thread;
  return leat_timeline_builder_copy(reader->builder, track->name, &row->name);
}

// |*out_ok| is false where the packet is malformed.
static leat_status_t put_packet(reader_t* reader, leat_string_view_t packet, bool* out_ok) {
  walk_t walk = walk_from(packet);
  uint64_t time_ns = 0;
  bool has_event = false, has_track = false, ok = true;
  event_t event = {0};
  track_t track = {0};
  while (ok && next_field(&walk)) {
    switch (walk.tag) {
      case NUMBER(8): time_ns = walk.value; break;
      case BYTES(11): ok = has_event = read_event(walk.bytes, &event); break;
      case BYTES(60): ok = has_track = read_track(walk.bytes, &track); break;
    }
  }
  *out_ok = ok && !walk.is_malformed;
  if (!*out_ok) return leat_ok_status();
  if (has_track) LEAT_RETURN_IF_ERROR(put_track(reader, &track));
  if (event.graph_node.data) return put_node(reader, &event, out_ok);
  if (event.clock_relation.data) return put_clock(reader, &event, out_ok);
  return has_event ? put_event(reader, &event, (int64_t)time_ns) : leat_ok_status();
}

// Reads the packet at |*inout_at|. |*out_is_whole| is false where the window holds only a part.
static leat_status_t read_packet(reader_t* reader, size_t* inout_at, bool* out_is_whole) {
  const leat_file_window_t* w = &reader->window;
  const uint8_t* bytes = (const uint8_t*)w->bytes;
  const uint8_t *start = bytes + *inout_at, *end = bytes + w->size;
  const uint8_t* next = start;
  uint32_t number, type;
  uint64_t size = 0;
  bool ok = true;
  *out_is_whole = true;
  next = leat_wire_read_tag(next, end, &number, &type);
  if (next && type == LEAT_WIRE_LENGTH) next = leat_wire_read_varint(next, end, &size);
  if (!next && end - start < HEAD_BYTES) {
    *out_is_whole = false;
    return leat_ok_status();
  }
  if (next && type == LEAT_WIRE_LENGTH && size <= MAX_PACKET_BYTES) {
    if (size > (uint64_t)(end - next)) {
      *out_is_whole = false;
      return leat_ok_status();
    }
    const leat_string_view_t packet = leat_string_view_make((const char*)next, (size_t)size);
    *inout_at = (size_t)(next - bytes) + (size_t)size;
    if (number == 1) LEAT_RETURN_IF_ERROR(put_packet(reader, packet, &ok));
    if (ok) return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading failed for '%s': the bytes at %llu are no packet of a trace, "
                          "must be Perfetto's format",
                          w->file->path,
                          (unsigned long long)(w->offset + (size_t)(start - bytes)));
}

static leat_status_t read_packets(reader_t* reader) {
  bool is_end = false, is_whole;
  size_t at = 0;
  while (!is_end) {
    LEAT_RETURN_IF_ERROR(leat_file_window_refill(&reader->window, at, &is_end));
    at = 0;
    do {
      LEAT_RETURN_IF_ERROR(read_packet(reader, &at, &is_whole));
    } while (is_whole && at < reader->window.size);
    if (is_end && at < reader->window.size) leat_timeline_builder_add_damage(reader->builder);
  }
  return leat_ok_status();
}

leat_status_t leat_timeline_read_perfetto(leat_file_t* file, leat_timeline_builder_t* builder) {
  leat_allocator_t* a = leat_allocator_system();
  reader_t reader = {.builder = builder};
  leat_status_t status = leat_file_window_initialize(file, &reader.window);
  if (!status) {
    status = leat_allocator_allocate_uninitialized(a, 16, MAX_PRODUCERS * sizeof(uint32_t),
                                                   (void**)&reader.producers);
  }
  if (!status) status = read_packets(&reader);
  leat_allocator_free(a, reader.producers);
  leat_file_window_deinitialize(&reader.window);
  return status;
}
