// The file begins with the image of the recording, whose slices are nearly all of it:
//
//   image | runs | section | trailer (board/trace_file.h)
//   runs:    of each lane those of trace/lane_run.h, one lane behind the other
//   section: how many runs each lane has | names
//
// While a thread writes the slices, the names are counted and runs are made. The slices are in
// memory as far as the limit allows; of a recording with more, the image is written first and
// mapped, and the rest is done in the mapping; so no more of the slices is ever in memory that only
// this process has. Once the file is whole it is opened as any index is. The delays of the steps,
// which take much longer to find, have a file of their own (board/trace_delays.h), so that windows
// are shown before they are found.
//
// The image checks itself; numbers in the section are checked against what they count, since
// whoever can write to the cache can compute a checksum. Runs are checked when the slices are; a
// walk through them looks at each before it follows it (trace/lane_window.c).
#include "board/trace_index.h"

#include "base/checked.h"
#include "base/crc32c.h"
#include "base/thread.h"
#include "board/trace_delays.h"
#include "board/trace_file.h"
#include "trace/lane_run.h"
#include "trace/lane_spill.h"
#include "trace/timeline_image.h"

// So much memory runs may take that are made while the slices are written.
#define MAX_RUN_BYTES ((size_t)64 << 20)

// Undoes what was filled in of |trace|.
static void forget(board_stored_trace_t* trace) {
  board_trace_delays_forget(trace);
  leat_timeline_free(trace->timeline);
  leat_allocator_free(leat_allocator_system(), trace->names);
  trace->timeline = NULL;
  trace->names = NULL;
  trace->runs = leat_string_view_make(NULL, 0);
  trace->is_verified = false;
  board_trace_file_unmap(&trace->index);
}

// ---- Reading ------------------------------------------------------------------------------------

// Gives each lane its runs.
static void take_runs(leat_image_reader_t* reader, board_stored_trace_t* trace) {
  leat_image_reader_t runs = {.next = trace->runs.data, .end = trace->runs.data + trace->runs.size};
  for (size_t r = 0; r < trace->timeline->row_count; ++r) {
    for (uint32_t l = 0; l < trace->timeline->rows[r]->lane_count; ++l) {
      leat_lane_t* lane = &trace->timeline->rows[r]->lanes[l];
      const uint64_t count = leat_image_take_word(reader);
      reader->has_failed |= count >= LEAT_NO_RUN;
      if (reader->has_failed) return;
      lane->runs = leat_image_take_in_place(&runs, (size_t)count, sizeof *lane->runs);
      lane->run_count = lane->runs ? (uint32_t)count : 0;
    }
  }
  reader->has_failed |= runs.has_failed || runs.next != runs.end;
}

static leat_status_t take_names(leat_image_reader_t* reader, board_stored_trace_t* trace) {
  const leat_timeline_t* timeline = trace->timeline;
  const size_t count = leat_image_take_count(reader, sizeof *trace->names);
  reader->has_failed |= count != timeline->name_count;
  if (reader->has_failed) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count + 1, &trace->names));
  leat_image_take_items(reader, trace->names, count, sizeof *trace->names);
  for (size_t i = 0; i < count && !reader->has_failed; ++i) {
    const board_trace_name_t* name = &trace->names[i];
    if (!name->count) continue;  // slices that lay too deep had it
    reader->has_failed = name->row >= timeline->row_count ||
                         name->lane >= timeline->rows[name->row]->lane_count ||
                         name->slice >= timeline->rows[name->row]->lanes[name->lane].count;
  }
  return leat_ok_status();
}

// Fills |trace| from its mapped index.
static leat_status_t take_index(board_stored_trace_t* trace, const board_trace_trailer_t* trailer,
                                leat_image_reader_t* section, bool* out_ok) {
  size_t image_bytes;
  *out_ok = false;
  LEAT_RETURN_IF_ERROR(leat_timeline_open_image(trace->index.data, (size_t)trailer->image_bytes,
                                                &trace->timeline, &image_bytes));
  // With other sizes the runs would not lie at multiples of 8.
  if (image_bytes != trailer->image_bytes || trailer->body_bytes % sizeof(leat_lane_run_t)) {
    return leat_ok_status();
  }
  trace->runs = leat_string_view_make((const char*)trace->index.data + image_bytes,
                                      (size_t)trailer->body_bytes);
  trace->runs_crc = trailer->body_crc;
  take_runs(section, trace);
  LEAT_RETURN_IF_ERROR(take_names(section, trace));
  *out_ok = !section->has_failed && section->next == section->end;
  return leat_ok_status();
}

bool board_trace_index_verify(const board_stored_trace_t* trace) {
  return leat_timeline_verify(trace->timeline) &&
         (!trace->runs.size ||
          leat_crc32c(trace->runs.data, trace->runs.size) == trace->runs_crc);
}

bool board_trace_index_read(board_stored_trace_t* trace, const char* cache, size_t verify_bytes) {
  board_trace_trailer_t trailer;
  leat_image_reader_t section;
  bool ok = false;
  if (!board_trace_file_open(trace, &board_trace_index_kind, cache, &trace->index, &trailer,
                             &section)) {
    return false;
  }
  leat_status_t status = take_index(trace, &trailer, &section, &ok);
  if (!status && ok) {
    // To find the delays, all slices are walked.
    const bool has_delays = board_trace_delays_read(trace, cache);
    if (!has_delays || leat_timeline_lane_bytes(trace->timeline) <= verify_bytes) {
      ok = trace->is_verified = board_trace_index_verify(trace);
    }
  }
  if (status || !ok) forget(trace);
  leat_status_free(status);
  return ok;
}

// ---- Making -------------------------------------------------------------------------------------

typedef struct lane_runs_s {
  leat_lane_run_t* items;
  uint32_t count;
} lane_runs_t;

// An index that is being made.
typedef struct making_s {
  board_stored_trace_t found;  // the slices, in memory or in the mapped image, and the names
  leat_lane_spill_t spill;
  board_trace_making_t file;
  bool has_image;
  lane_runs_t* runs;              // of the first lanes
  size_t run_lanes;               // how many
  leat_string_builder_t section;  // as far as it is made
  leat_status_t status;           // of the writing
} making_t;

static leat_status_t write_image(making_t* making) {
  size_t bytes;
  LEAT_RETURN_IF_ERROR(leat_timeline_write_image(making->found.timeline, &making->spill,
                                                 making->file.file, &bytes));
  making->file.trailer.image_bytes = bytes;
  making->has_image = true;
  return leat_ok_status();
}

static void run_writer(void* data) {
  making_t* making = data;
  making->status = write_image(making);
}

// Makes runs of the lanes, from the first on, as far as the memory is meant for that.
static leat_status_t make_runs(making_t* making) {
  const leat_timeline_t* timeline = making->found.timeline;
  size_t lanes = 0, bytes = 0;
  for (size_t r = 0; r < timeline->row_count; ++r) lanes += timeline->rows[r]->lane_count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), lanes + 1, &making->runs));
  for (size_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count && bytes < MAX_RUN_BYTES; ++l) {
      lane_runs_t* runs = &making->runs[making->run_lanes];
      LEAT_RETURN_IF_ERROR(
          leat_lane_runs_make(&timeline->rows[r]->lanes[l], &runs->items, &runs->count));
      ++making->run_lanes;
      bytes += runs->count * sizeof *runs->items;
    }
  }
  return leat_ok_status();
}

static void free_runs(making_t* making) {
  for (size_t i = 0; i < making->run_lanes; ++i) {
    leat_allocator_free(leat_allocator_system(), making->runs[i].items);
  }
  leat_allocator_free(leat_allocator_system(), making->runs);
}

// Writes those that are made, and makes the others.
static leat_status_t write_runs(making_t* making) {
  const leat_timeline_t* timeline = making->found.timeline;
  size_t lane = 0;
  for (size_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l, ++lane) {
      const bool is_made = lane < making->run_lanes;
      lane_runs_t runs = is_made ? making->runs[lane] : (lane_runs_t){0};
      if (!is_made) {
        LEAT_RETURN_IF_ERROR(
            leat_lane_runs_make(&timeline->rows[r]->lanes[l], &runs.items, &runs.count));
      }
      leat_status_t status = board_trace_file_write(&making->file, runs.items,
                                                    runs.count * sizeof *runs.items);
      if (!is_made) leat_allocator_free(leat_allocator_system(), runs.items);
      if (status) return status;
      leat_image_put_word(&making->section, runs.count);
    }
  }
  return leat_ok_status();
}

// Writes the slices on a thread, if they are not yet, and does the rest with them meanwhile.
static leat_status_t write_slices(making_t* making) {
  leat_thread_t writer;
  const bool has_image = making->has_image;
  leat_status_t unstarted =
      has_image ? leat_ok_status()
                : leat_thread_start("leat-index", run_writer, making, &writer);
  leat_status_t status = board_trace_count_names(&making->found);
  if (!status) status = make_runs(making);
  if (unstarted) {
    leat_status_free(unstarted);
    run_writer(making);
  } else if (!has_image) {
    leat_thread_join(writer);
  }
  status = leat_status_join(status, making->status);
  return status ? status : write_runs(making);
}

// Goes on with the slices in the file in place of those in memory, which lack what was spilled.
static leat_status_t map_image(making_t* making) {
  size_t image_bytes;
  LEAT_RETURN_IF_ERROR(write_image(making));
  leat_timeline_free(making->found.timeline);
  making->found.timeline = NULL;
  LEAT_RETURN_IF_ERROR(board_trace_file_map(&making->file, &making->found.index));
  return leat_timeline_open_image(making->found.index.data, making->found.index.size_bytes,
                                  &making->found.timeline, &image_bytes);
}

// Reads the recording and writes all of its index, which is mapped as that of |trace|.
static leat_status_t write_index(making_t* making, board_stored_trace_t* trace) {
  board_stored_trace_t* found = &making->found;
  LEAT_RETURN_IF_ERROR(leat_timeline_read_spilled(leat_file_system_default(), found->path,
                                                  &making->spill, &found->timeline));
  if (making->spill.piece_count) LEAT_RETURN_IF_ERROR(map_image(making));
  LEAT_RETURN_IF_ERROR(write_slices(making));
  leat_image_put_word(&making->section, found->timeline->name_count);
  leat_image_put(&making->section, found->names,
                 found->timeline->name_count * sizeof *found->names);
  return board_trace_file_finish(&making->file, found, &making->section, &trace->index);
}

// Fills |trace| from its mapped index, which was just written.
static leat_status_t take_written(board_stored_trace_t* trace, const making_t* making) {
  board_trace_trailer_t trailer;
  leat_image_reader_t section;
  bool ok = false;
  leat_status_t status = leat_ok_status();
  if (board_trace_file_take(trace, &board_trace_index_kind, making->file.recording, &trace->index,
                            &trailer, &section)) {
    status = take_index(trace, &trailer, &section, &ok);
  }
  if (!status && !ok) {
    status = leat_make_status(LEAT_UNKNOWN, "Opening failed for '%s': it was changed",
                              making->file.temporary);
  }
  trace->is_verified = !status;
  return status;
}

static leat_status_t make_in(board_stored_trace_t* trace, const char* cache, size_t limit_bytes,
                             leat_arena_t* arena) {
  const char* spill;
  making_t making = {.found = {.path = trace->path, .stat = trace->stat}};
  LEAT_RETURN_IF_ERROR(board_trace_file_begin(trace, &board_trace_index_kind, cache, arena,
                                              &making.file));
  leat_status_t status = leat_file_temporary_path(making.file.name.data, arena, &spill);
  if (!status) {
    leat_lane_spill_initialize(leat_file_system_default(), spill, limit_bytes, &making.spill);
    leat_string_builder_initialize(leat_allocator_system(), &making.section);
    status = write_index(&making, trace);
    leat_string_builder_deinitialize(&making.section);
    free_runs(&making);
    leat_lane_spill_deinitialize(&making.spill);
    forget(&making.found);
  }
  if (!status) status = take_written(trace, &making);
  board_trace_file_end(&making.file, !status);
  if (status) forget(trace);
  return status;
}

leat_status_t board_trace_index_make(board_stored_trace_t* trace, const char* cache,
                                     size_t limit_bytes) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = make_in(trace, cache, limit_bytes, &arena);
  leat_arena_deinitialize(&arena);
  if (cache) board_trace_file_sweep(cache);
  return status;
}
