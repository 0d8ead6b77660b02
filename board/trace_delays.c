// The file has nothing but the delays (trace/delay_image.h) in front of its section:
//
//   delays | section | trailer (board/trace_file.h)
//
// It is one of its own beside the index (board/trace_index.h), since the index has its name, and
// shows windows, before the delays are found. A board that ends in between leaves an index without
// delays, and the next one finds them in it. Both files name the recording and its state, and what
// is made of one state of a recording is always the same, so that the two belong together.
//
// The delays of a hundred million slices may take gigabytes: they are used where they lie in the
// file, so that the system may take their pages back, and what was found in memory is freed once it
// is written. They are checked when they are read from a file, and not when this process has
// written it.
#include "board/trace_delays.h"

#include "base/crc32c.h"
#include "board/trace_file.h"
#include "trace/delay_image.h"

bool board_trace_delays_read(board_stored_trace_t* trace, const char* cache) {
  board_trace_trailer_t trailer;
  leat_image_reader_t section;
  if (!board_trace_file_open(trace, &board_trace_delays_kind, cache, &trace->delays_file,
                             &trailer, &section)) {
    return false;
  }
  const char* bytes = trace->delays_file.data;
  leat_image_reader_t reader = {.next = bytes, .end = bytes + trailer.body_bytes};
  leat_status_t status = leat_ok_status();
  bool ok = !trailer.image_bytes && section.next == section.end &&
            leat_crc32c(bytes, (size_t)trailer.body_bytes) == trailer.body_crc;
  if (ok) status = leat_delays_take(&reader, trace->timeline, &trace->delays);
  ok = ok && !status && !reader.has_failed && reader.next == reader.end;
  leat_status_free(status);
  if (!ok) board_trace_delays_forget(trace);
  return ok;
}

void board_trace_delays_forget(board_stored_trace_t* trace) {
  leat_delays_free(trace->delays);
  board_trace_file_unmap(&trace->delays_file);
  trace->delays = NULL;
}

static leat_status_t write_part(void* data, const void* bytes, size_t size) {
  return board_trace_file_write(data, bytes, size);
}

static leat_status_t write_file(const board_stored_trace_t* trace, const leat_delays_t* delays,
                                board_trace_making_t* making,
                                board_trace_mapping_t* out_mapping) {
  leat_string_builder_t nothing;
  LEAT_RETURN_IF_ERROR(leat_delays_write(delays, write_part, making));
  leat_string_builder_initialize(leat_allocator_system(), &nothing);
  leat_status_t status = board_trace_file_finish(making, trace, &nothing, out_mapping);
  leat_string_builder_deinitialize(&nothing);
  return status;
}

// Moves the delays from memory to a file, if that can be written.
static void move_to_file(const board_stored_trace_t* trace, const char* cache,
                         leat_delays_t* delays, board_trace_mapping_t* out_mapping) {
  board_trace_making_t making;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      board_trace_file_begin(trace, &board_trace_delays_kind, cache, &arena, &making);
  if (!status) status = write_file(trace, delays, &making, out_mapping);
  board_trace_file_end(&making, !status);
  leat_arena_deinitialize(&arena);
  if (!status) leat_delays_borrow(delays, out_mapping->data, (size_t)making.trailer.body_bytes);
  leat_status_free(status);
}

leat_status_t board_trace_delays_find(const board_stored_trace_t* trace, const char* cache,
                                      const _Atomic bool* is_cancelled,
                                      leat_delays_t** out_delays,
                                      board_trace_mapping_t* out_file) {
  LEAT_DCHECK(trace->is_verified);
  *out_file = (board_trace_mapping_t){0};
  LEAT_RETURN_IF_ERROR(
      leat_delays_find_cancellable(trace->timeline, is_cancelled, out_delays));
  if (trace->index.data) move_to_file(trace, cache, *out_delays, out_file);
  return leat_ok_status();
}
