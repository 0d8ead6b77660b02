// What all kinds of readers share: going from one work unit to the next, counting, and saving where
// a reader is. A reader is in the middle of a work unit exactly when it has begun more of them than
// it has finished. The state that is saved is TensorFlow's ReaderBaseState message (work units
// begun and finished, records produced, and the current work unit), so that either library reads
// the other's. A state can only be saved between the records of kinds whose work units have a
// single record, and only a state between two work units can be restored. As in TensorFlow, such a
// state may claim more work units finished than begun.
#include "formats/wire/encode.h"
#include "formats/wire/wire.h"
#include "ops/input/reader_cpu.h"

static void end_work(leat_reader_resource_t* reader) {
  if (reader->vtable->end) reader->vtable->end(reader);
}

static void reader_destroy(leat_resource_t* resource) {
  leat_reader_resource_t* reader = (leat_reader_resource_t*)resource;
  end_work(reader);
  leat_string_builder_deinitialize(&reader->name);
  leat_string_builder_deinitialize(&reader->work);
  leat_wait_queue_deinitialize(&reader->wait_queue);
  leat_allocator_free(leat_allocator_system(), reader);
}

const leat_resource_kind_t leat_reader_kind = {.name = "tensorflow::ReaderInterface",
                                               .destroy = reader_destroy};

void leat_reader_initialize(const leat_reader_vtable_t* vtable, leat_string_view_t node_name,
                            leat_reader_resource_t* out_reader) {
  out_reader->resource.kind = &leat_reader_kind;
  out_reader->resource.references = 1;
  out_reader->vtable = vtable;
  leat_wait_queue_initialize(&out_reader->resource, &out_reader->wait_queue);
  leat_string_builder_initialize(leat_allocator_system(), &out_reader->work);
  leat_string_builder_initialize(leat_allocator_system(), &out_reader->name);
  leat_string_builder_print(&out_reader->name, "%s '%.*s'", vtable->name, LEAT_SV_ARG(node_name));
}

// Copies |work| and puts a NUL behind it that is not counted: it is used as a file name.
static leat_status_t set_work(leat_reader_resource_t* reader, leat_string_view_t work) {
  reader->work.size = 0;
  leat_string_builder_append(&reader->work, work);
  leat_string_builder_append_char(&reader->work, 0);
  if (!reader->work.status) --reader->work.size;
  return leat_status_clone(reader->work.status);
}

leat_status_t leat_reader_begin_work(leat_reader_resource_t* reader, leat_string_view_t work) {
  end_work(reader);
  LEAT_RETURN_IF_ERROR(set_work(reader, work));
  if (reader->vtable->begin) LEAT_RETURN_IF_ERROR(reader->vtable->begin(reader));
  ++reader->work_started;
  // A restored state may have more work units finished than begun; the reader is in this one now.
  if (reader->work_finished >= reader->work_started) {
    reader->work_finished = reader->work_started - 1;
  }
  return leat_ok_status();
}

leat_status_t leat_reader_read(leat_reader_resource_t* reader, leat_string_builder_t* key,
                               leat_string_view_t* out_value, bool* out_produced) {
  bool is_last = false;
  *out_produced = false;
  LEAT_RETURN_IF_ERROR(reader->vtable->read(reader, key, out_value, out_produced, &is_last));
  if (is_last || !*out_produced) reader->work_finished = reader->work_started;
  reader->records_produced += *out_produced;
  return leat_ok_status();
}

void leat_reader_reset(leat_reader_resource_t* reader) {
  end_work(reader);
  reader->work.size = 0;
  reader->work_started = 0;
  reader->work_finished = 0;
  reader->records_produced = 0;
}

// ---- State --------------------------------------------------------------------------------------

// Field numbers of ReaderBaseState.
enum { STARTED_FIELD = 1, FINISHED_FIELD, PRODUCED_FIELD, WORK_FIELD };

static void append_varint(leat_string_builder_t* out, uint64_t value) {
  uint8_t bytes[LEAT_WIRE_MAX_VARINT_BYTES];
  size_t size = (size_t)(leat_wire_write_varint(bytes, value) - bytes);
  leat_string_builder_append(out, leat_string_view_make((const char*)bytes, size));
}

static void append_number(leat_string_builder_t* out, uint32_t number, int64_t value) {
  if (value == 0) return;
  append_varint(out, number << 3 | LEAT_WIRE_VARINT);
  append_varint(out, (uint64_t)value);
}

leat_status_t leat_reader_save(leat_reader_resource_t* reader, leat_string_builder_t* out) {
  if (!reader->vtable->has_state) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "Reader SerializeState");
  }
  append_number(out, STARTED_FIELD, reader->work_started);
  append_number(out, FINISHED_FIELD, reader->work_finished);
  append_number(out, PRODUCED_FIELD, reader->records_produced);
  if (reader->work.size) {
    leat_message_append_field(out, WORK_FIELD, leat_string_builder_view(&reader->work));
  }
  return leat_status_clone(out->status);
}

// Reads a serialized ReaderBaseState. numbers[i] is the value of field i; index 0 is not used.
// false where the bytes are malformed.
static bool parse_state(leat_string_view_t state, int64_t numbers[WORK_FIELD],
                        leat_string_view_t* out_work) {
  const uint8_t *next = (const uint8_t*)state.data, *end = next + state.size;
  while (next && next < end) {
    uint32_t number, type;
    uint64_t value;
    size_t size;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (!next) return false;
    if (number < WORK_FIELD && type == LEAT_WIRE_VARINT) {
      next = leat_wire_read_varint(next, end, &value);
      numbers[number] = (int64_t)value;
    } else if (number == WORK_FIELD && type == LEAT_WIRE_LENGTH) {
      next = leat_wire_read_length(next, end, &size);
      if (!next) return false;
      *out_work = leat_string_view_make((const char*)next, size);
      next += size;
    } else {
      next = leat_wire_skip(next, end, number, type);
    }
  }
  return next != NULL || state.size == 0;
}

static leat_status_t restore(leat_reader_resource_t* reader, leat_string_view_t state) {
  int64_t numbers[WORK_FIELD] = {0};
  leat_string_view_t work = {0};
  leat_string_view_t name = leat_string_builder_view(&reader->name);
  if (!reader->vtable->has_state) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "Reader RestoreState");
  }
  if (!parse_state(state, numbers, &work)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Could not parse state for %.*s",
                            LEAT_SV_ARG(name));
  }
  if (numbers[STARTED_FIELD] < 0 || numbers[FINISHED_FIELD] < 0 || numbers[PRODUCED_FIELD] < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Unexpected negative value when restoring in %.*s",
                            LEAT_SV_ARG(name));
  }
  if (numbers[STARTED_FIELD] > numbers[FINISHED_FIELD]) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Inconsistent work started vs. finished when restoring in %.*s",
                            LEAT_SV_ARG(name));
  }
  reader->work_started = numbers[STARTED_FIELD];
  reader->work_finished = numbers[FINISHED_FIELD];
  reader->records_produced = numbers[PRODUCED_FIELD];
  return set_work(reader, work);
}

leat_status_t leat_reader_restore(leat_reader_resource_t* reader, leat_string_view_t state) {
  leat_status_t status = restore(reader, state);
  if (status && reader->vtable->has_state) leat_reader_reset(reader);
  return status;
}
