// Reads Perfetto's packets into a timeline. A file of ten million slices has a gigabyte, so its
// packets are walked field by field, without a message being made of them: what is not wanted is
// skipped, and texts are copied only when they are new. Nearly all packets are the beginnings and
// ends of slices. These are decoded on several threads (trace/packet_batches.h) into small records
// that name a slice by a number; each thread has numbers of its own, for the names that it has met,
// and tells with a batch which of them are new. One thread at a time adds what was decoded to the
// timeline, in the order of the file, and looks at the other packets itself. So the timeline is the
// same as if one thread had read the file.
//
// A file may come from anybody. Every length is checked against the bytes that are there, and a
// packet that breaks a rule ends the reading with an error that names its place; the last packet of
// a file may be cut off, since a program that died wrote only a part of it.
#include "base/checked.h"
#include "formats/generated/perfetto.h"
#include "formats/wire/wire.h"
#include "trace/event_template.h"
#include "trace/packet_batches.h"
#include "trace/timeline.h"

#define MAX_PRODUCERS LEAT_PACKET_MAX_BYTES  // of a node: each takes a byte at least

// What one of the threads that decode has.
typedef struct decoder_s {
  leat_timeline_builder_t* names;  // in which the names get the thread's numbers
  uint32_t name_count;
  leat_event_templates_t* templates;
  // Of who puts: of each of the thread's names the timeline's.
  uint32_t* indices;
  size_t index_count, index_capacity;
} decoder_t;

typedef struct reader_s {
  leat_file_t* file;
  leat_timeline_builder_t* builder;
  uint32_t* producers;  // [MAX_PRODUCERS] of a node
  decoder_t decoders[LEAT_PACKET_MAX_THREADS];
} reader_t;

// An event of a batch.
typedef struct record_s {
  uint64_t uuid;
  int64_t time_ns;
  int64_t value;  // of OTHER and MALFORMED: where the packet begins in the batch
  uint32_t by, step;
  uint32_t name;  // the thread's number, or a mark
} record_t;
#define MARK_END UINT32_MAX              // the end of a slice
#define MARK_OTHER (UINT32_MAX - 1)      // a packet that is not decoded
#define MARK_MALFORMED (UINT32_MAX - 2)  // one that cannot be

// What a batch is decoded into.
typedef struct records_s {
  record_t* items;
  size_t count, capacity;
  leat_slice_name_t* names;  // new ones of the thread, whose texts are the decoder's
  size_t name_count, name_capacity;
} records_t;

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
      case BYTES(4): node.device = walk.bytes; break;
      case BYTES(5): node.outputs = walk.bytes; break;
      case BYTES(6): node.source = walk.bytes; break;
      case NUMBER(7): node.flops = (int64_t)walk.value; break;
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

// A packet with something else than the beginning or end of a slice. |*out_ok| is false where it is
// malformed.
static leat_status_t put_other(reader_t* reader, leat_string_view_t packet, bool* out_ok) {
  walk_t walk = walk_from(packet);
  bool has_track = false, ok = true;
  event_t event = {0};
  track_t track = {0};
  while (ok && next_field(&walk)) {
    switch (walk.tag) {
      case BYTES(11): ok = read_event(walk.bytes, &event); break;
      case BYTES(60): ok = has_track = read_track(walk.bytes, &track); break;
    }
  }
  *out_ok = ok && !walk.is_malformed;
  if (!*out_ok) return leat_ok_status();
  if (has_track) LEAT_RETURN_IF_ERROR(put_track(reader, &track));
  if (event.graph_node.data) return put_node(reader, &event, out_ok);
  return event.clock_relation.data ? put_clock(reader, &event, out_ok) : leat_ok_status();
}

// ---- Decoding -----------------------------------------------------------------------------------

// The number that the thread has for the event's name.
static leat_status_t number_name(decoder_t* decoder, const event_t* event, records_t* records,
                                 uint32_t* out_number) {
  const leat_slice_name_t name = {event->name, event->node,
                                  leat_timeline_kind_of(event->category),
                                  graph_of(event->uuid, event->graph)};
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_name(decoder->names, &name, out_number));
  if (*out_number < decoder->name_count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), records->name_count + 1,
                                 &records->names, &records->name_capacity));
  records->names[records->name_count++] =
      *leat_timeline_builder_name_at(decoder->names, *out_number);
  ++decoder->name_count;
  return leat_ok_status();
}

static leat_status_t add_record(records_t* records, const record_t* record) {
  if (LEAT_UNLIKELY(records->count == records->capacity)) {
    LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), records->count + 1, &records->items,
                                   &records->capacity));
  }
  records->items[records->count++] = *record;
  return leat_ok_status();
}

static void set_numbers(uint64_t uuid, const leat_slice_facts_t* facts, record_t* record) {
  record->uuid = uuid;
  record->value = facts->value;
  record->by = facts->by;
  record->step = facts->step;
}

// Finds the parts of a packet in the form in which recordings are written: a time, a number, an
// event, and another number. False for any other, of which nothing is known.
static inline bool read_usual_packet(leat_string_view_t packet, int64_t* out_time_ns,
                                     leat_string_view_t* out_event) {
  const uint8_t *next = (const uint8_t*)packet.data, *end = next + packet.size;
  uint64_t time;
  if (end - next < 8 || *next != NUMBER(8)) return false;
  next = leat_wire_read_varint(next + 1, end, &time);
  if (!next || end - next < 6 || next[0] != NUMBER(10) || next[1] >= 0x80 ||
      next[2] != BYTES(11)) {
    return false;
  }
  *out_time_ns = (int64_t)time;
  next = leat_wire_read_bytes(next + 3, end, out_event);
  // The tag of field 58 has two bytes.
  return next && end - next == 3 && next[0] == 0xd0 && next[1] == 0x03 && next[2] < 0x80;
}

// Whether |event| is the end of a slice and has its row's number besides, and nothing else.
static inline bool read_end(leat_string_view_t event, uint64_t* out_uuid) {
  const uint8_t *next = (const uint8_t*)event.data, *end = next + event.size;
  return end - next > 3 && next[0] == NUMBER(9) &&
         next[1] == LEAT_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END && next[2] == NUMBER(11) &&
         leat_wire_read_varint(next + 3, end, out_uuid) == end;
}

// Walks the packet that begins at |at| of the batch.
static leat_status_t walk_packet(decoder_t* decoder, leat_string_view_t packet, size_t at,
                                 records_t* records) {
  walk_t walk = walk_from(packet);
  record_t record = {.value = (int64_t)at};
  event_t event = {0};
  leat_string_view_t event_bytes = {0};
  bool has_event = false, has_track = false, ok = true;
  while (ok && next_field(&walk)) {
    switch (walk.tag) {
      case NUMBER(8): record.time_ns = (int64_t)walk.value; break;
      case BYTES(11):
        // Several events count as one with the fields of all, of which there is no template.
        event_bytes = has_event ? LEAT_SV("") : walk.bytes;
        ok = has_event = read_event(walk.bytes, &event);
        break;
      case BYTES(60): has_track = true; break;
    }
  }
  if (!ok || walk.is_malformed) {
    record.name = MARK_MALFORMED;
  } else if (has_track || event.graph_node.data || event.clock_relation.data) {
    record.name = MARK_OTHER;
  } else if (has_event && event.type == LEAT_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END) {
    record.name = MARK_END;
    record.uuid = event.uuid;
  } else if (has_event && event.type == LEAT_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN) {
    set_numbers(event.uuid, &event.facts, &record);
    LEAT_RETURN_IF_ERROR(number_name(decoder, &event, records, &record.name));
    LEAT_RETURN_IF_ERROR(leat_event_templates_add(decoder->templates, event_bytes, record.name));
  } else {
    return leat_ok_status();
  }
  return add_record(records, &record);
}

static leat_status_t decode_packet(decoder_t* decoder, leat_string_view_t packet, size_t at,
                                   records_t* records) {
  record_t record = {0};
  leat_string_view_t event;
  leat_event_numbers_t numbers;
  if (!read_usual_packet(packet, &record.time_ns, &event)) {
    return walk_packet(decoder, packet, at, records);
  }
  if (read_end(event, &record.uuid)) {
    record.name = MARK_END;
  } else if (leat_event_templates_find(decoder->templates, event, &numbers)) {
    record.name = numbers.name;
    set_numbers(numbers.uuid, &numbers.facts, &record);
  } else {
    return walk_packet(decoder, packet, at, records);
  }
  return add_record(records, &record);
}

static leat_status_t decode(void* data, leat_packet_batch_t* batch) {
  reader_t* reader = data;
  decoder_t* decoder = &reader->decoders[batch->thread];
  records_t* records = batch->decoded;
  leat_string_view_t packet;
  uint32_t number;
  records->count = records->name_count = 0;
  for (size_t at = 0, start = 0; leat_packet_batch_next(batch, &at, &number, &packet);
       start = at) {
    if (number == 1) LEAT_RETURN_IF_ERROR(decode_packet(decoder, packet, start, records));
  }
  return leat_ok_status();
}

// ---- Putting ------------------------------------------------------------------------------------

static leat_status_t no_packet(const reader_t* reader, uint64_t offset) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading failed for '%s': the bytes at %llu are no packet of a trace, "
                          "must be Perfetto's format",
                          reader->file->path, (unsigned long long)offset);
}

static leat_status_t put_record(reader_t* reader, const leat_packet_batch_t* batch,
                                const record_t* record) {
  const decoder_t* decoder = &reader->decoders[batch->thread];
  leat_timeline_row_t* row;
  if (record->name == MARK_OTHER || record->name == MARK_MALFORMED) {
    size_t at = (size_t)record->value;
    leat_string_view_t packet;
    uint32_t number;
    bool ok = record->name == MARK_OTHER &&
              leat_packet_batch_next(batch, &at, &number, &packet);
    if (ok) LEAT_RETURN_IF_ERROR(put_other(reader, packet, &ok));
    return ok ? leat_ok_status() : no_packet(reader, batch->offset + (uint64_t)record->value);
  }
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_row(reader->builder, record->uuid, &row));
  if (record->name == MARK_END) {
    leat_timeline_builder_end(reader->builder, row, record->time_ns);
    return leat_ok_status();
  }
  LEAT_DCHECK(record->name < decoder->index_count);
  const leat_slice_facts_t facts = {record->value, record->by, record->step};
  return leat_timeline_builder_begin_named(reader->builder, row, record->time_ns,
                                           decoder->indices[record->name], &facts);
}

static leat_status_t put(void* data, const leat_packet_batch_t* batch) {
  reader_t* reader = data;
  decoder_t* decoder = &reader->decoders[batch->thread];
  const records_t* records = batch->decoded;
  for (size_t i = 0; i < records->name_count; ++i) {
    LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), decoder->index_count + 1,
                                   &decoder->indices, &decoder->index_capacity));
    LEAT_RETURN_IF_ERROR(leat_timeline_builder_name(reader->builder, &records->names[i],
                                                    &decoder->indices[decoder->index_count]));
    ++decoder->index_count;
  }
  for (size_t i = 0; i < records->count; ++i) {
    leat_status_t status = put_record(reader, batch, &records->items[i]);
    if (status) return status;
  }
  if (batch->is_broken) return no_packet(reader, batch->offset + batch->size);
  if (batch->is_cut) leat_timeline_builder_add_damage(reader->builder);
  return leat_ok_status();
}

static void free_records(void* data, void* decoded) {
  records_t* records = decoded;
  leat_allocator_free(leat_allocator_system(), records->items);
  leat_allocator_free(leat_allocator_system(), records->names);
}

static leat_status_t make_decoder(decoder_t* decoder) {
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_create(&decoder->names));
  return leat_event_templates_create(&decoder->templates);
}

leat_status_t leat_timeline_read_perfetto(leat_file_t* file, leat_timeline_builder_t* builder) {
  leat_allocator_t* a = leat_allocator_system();
  reader_t reader = {.file = file, .builder = builder};
  const leat_packet_user_t user = {&reader, sizeof(records_t), decode, put, free_records};
  leat_status_t status = leat_allocator_allocate_uninitialized(
      a, 16, MAX_PRODUCERS * sizeof(uint32_t), (void**)&reader.producers);
  for (int i = 0; i < LEAT_PACKET_MAX_THREADS && !status; ++i) {
    status = make_decoder(&reader.decoders[i]);
  }
  if (!status) status = leat_packet_batches_read(file, &user);
  for (int i = 0; i < LEAT_PACKET_MAX_THREADS; ++i) {
    leat_timeline_builder_free(reader.decoders[i].names);
    leat_event_templates_free(reader.decoders[i].templates);
    leat_allocator_free(a, reader.decoders[i].indices);
  }
  leat_allocator_free(a, reader.producers);
  return status;
}
