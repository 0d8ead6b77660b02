// The file begins with the image of the recording, whose slices are nearly all of it, and ends with
// what tells where the rest lies, so that it is written from front to back:
//
//   image | runs | section | "LEATTRX2" | u64 bytes of the image | u64 of the runs |
//   u64 of the section | u32 crc | u32 crc of the runs
//   runs:    of each lane those of trace/lane_run.h, one lane behind the other
//   section: path, size and time of the recording, crc of its ends | sizes of the structs |
//            how many runs each lane has | names | delays
//
// It is written under a temporary name, and once it is whole it is opened as any index is, and gets
// its name. The slices are in memory as far as the limit allows. While a thread writes them and
// makes the runs, others find the delays in them (leat_delays_find). Of a recording with more, the
// image is written first and mapped, and the same is done in the mapping; so no more of the slices
// is ever in memory that only this process has. Names are made of the recording's path, so that a
// recording has one index; an index is void when size, time, or the first or last bytes of the
// recording are others.
//
// The section's checksum, which covers the trailer too, is checked before anything of it is used,
// and the image checks itself; numbers in both are checked against what they count, since whoever
// can write to the cache can compute a checksum. Runs are checked when the slices are; a walk
// through them looks at each before it follows it (trace/lane_window.c). Where no recording is left
// at the path that an index names, it is removed when the next one is written: a cache whose log
// directories are deleted does not grow for ever.
#include "board/trace_index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/crc32c.h"
#include "base/fingerprint.h"
#include "base/thread.h"
#include "trace/delay_image.h"
#include "trace/lane_run.h"
#include "trace/lane_spill.h"
#include "trace/timeline_image.h"

#define MAGIC "LEATTRX2"
#define SUFFIX ".trace"
#define NAME_DIGITS 16
#define TRAILER_BYTES sizeof(trailer_t)
#define PROBE_BYTES 4096
#define MAX_PATH_BYTES 4096

typedef struct trailer_s {
  char magic[8];
  uint64_t image_bytes, runs_bytes, section_bytes;
  uint32_t crc;  // of the other numbers and the section
  uint32_t runs_crc;
} trailer_t;
_Static_assert(sizeof(trailer_t) == 40, "no byte of it is without meaning");

static uint32_t section_crc(const trailer_t* trailer, const void* section) {
  uint32_t crc = leat_crc32c(&trailer->image_bytes, 3 * sizeof(uint64_t));
  crc = leat_crc32c_extend(crc, &trailer->runs_crc, sizeof trailer->runs_crc);
  return leat_crc32c_extend(crc, section, (size_t)trailer->section_bytes);
}

// The path of the recording from the root, so that boards which were started elsewhere agree.
static bool find_path(const char* path, char out_path[PATH_MAX]) {
  return realpath(path, out_path) && strlen(out_path) < MAX_PATH_BYTES;
}

static leat_status_t name_index(const char* path, const char* cache, leat_arena_t* arena,
                                leat_string_view_t* out_name) {
  return leat_arena_print(arena, out_name, "%s/%0*llx" SUFFIX, cache, NAME_DIGITS,
                          (unsigned long long)leat_fingerprint64(leat_string_view_from(path)));
}

// The checksum of the first and the last bytes of a file; 0 where it cannot be read.
static uint32_t probe(const char* path, int64_t size_bytes) {
  char bytes[PROBE_BYTES];
  const size_t size = (size_t)LEAT_MIN(size_bytes, PROBE_BYTES);
  uint32_t crc = 1;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  bool is_whole = pread(file, bytes, size, 0) == (ssize_t)size;
  crc = leat_crc32c_extend(crc, bytes, is_whole ? size : 0);
  is_whole = is_whole && pread(file, bytes, size, (off_t)(size_bytes - (int64_t)size)) ==
                             (ssize_t)size;
  crc = leat_crc32c_extend(crc, bytes, is_whole ? size : 0);
  close(file);
  return is_whole ? crc : 0;
}

// Which recording it is, and of which version the structs are.
static void put_identity(const board_stored_trace_t* trace, const char* path, uint32_t crc,
                         leat_string_builder_t* out) {
  const uint64_t words[] = {(uint64_t)trace->stat.size_bytes, (uint64_t)trace->stat.modified_ns,
                            crc, sizeof(board_trace_name_t), sizeof(leat_step_t),
                            sizeof(leat_step_group_t), sizeof(leat_delay_t), LEAT_DELAY_CAUSES,
                            sizeof(leat_lane_run_t)};
  leat_image_put_text(out, leat_string_view_from(path));
  leat_image_put(out, words, sizeof words);
}

void board_trace_index_unmap(board_stored_trace_t* trace) {
  if (trace->mapping) munmap(trace->mapping, trace->mapping_bytes);
  trace->mapping = NULL;
}

// Undoes what was filled in of |trace|.
static void forget(board_stored_trace_t* trace) {
  leat_delays_free(trace->delays);
  leat_timeline_free(trace->timeline);
  leat_allocator_free(leat_allocator_system(), trace->names);
  trace->delays = NULL;
  trace->timeline = NULL;
  trace->names = NULL;
  trace->runs = leat_string_view_make(NULL, 0);
  board_trace_index_unmap(trace);
}

// Maps the file at |path|, which stays mapped when it loses its name. False where it is empty or
// cannot be mapped.
static bool map_file(const char* path, board_stored_trace_t* trace) {
  struct stat stat;
  void* mapping = MAP_FAILED;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  if (!fstat(file, &stat) && S_ISREG(stat.st_mode) && stat.st_size > 0) {
    mapping = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_SHARED, file, 0);
  }
  close(file);
  if (mapping == MAP_FAILED) return false;
  trace->mapping = mapping;
  trace->mapping_bytes = (size_t)stat.st_size;
  return true;
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

// Finds the section of the mapped file; false where the trailer is not what it must be.
static bool find_section(const board_stored_trace_t* trace, trailer_t* out_trailer,
                         leat_image_reader_t* out_section) {
  const char* bytes = trace->mapping;
  if (trace->mapping_bytes < TRAILER_BYTES) return false;
  const uint64_t rest = trace->mapping_bytes - TRAILER_BYTES;
  memcpy(out_trailer, bytes + rest, TRAILER_BYTES);
  if (memcmp(out_trailer->magic, MAGIC, 8) || out_trailer->image_bytes > rest ||
      out_trailer->runs_bytes > rest - out_trailer->image_bytes ||
      out_trailer->section_bytes != rest - out_trailer->image_bytes - out_trailer->runs_bytes) {
    return false;
  }
  *out_section = (leat_image_reader_t){.next = bytes + rest - out_trailer->section_bytes,
                                       .end = bytes + rest};
  return section_crc(out_trailer, out_section->next) == out_trailer->crc;
}

// Whether the section is that of the recording as it is now.
static bool take_identity(const board_stored_trace_t* trace, const char* path,
                          leat_image_reader_t* section) {
  leat_string_builder_t wanted;
  leat_string_builder_initialize(leat_allocator_system(), &wanted);
  put_identity(trace, path, probe(path, trace->stat.size_bytes), &wanted);
  const char* got = leat_image_take(section, wanted.size);
  const bool is_same = !wanted.status && got && !memcmp(got, wanted.data, wanted.size);
  leat_string_builder_deinitialize(&wanted);
  return is_same;
}

static leat_status_t take_index(board_stored_trace_t* trace, const char* path, bool* out_ok) {
  trailer_t trailer;
  leat_image_reader_t section;
  size_t image_bytes;
  *out_ok = false;
  if (!find_section(trace, &trailer, &section) || !take_identity(trace, path, &section)) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_timeline_open_image(trace->mapping, (size_t)trailer.image_bytes,
                                                &trace->timeline, &image_bytes));
  // With other sizes runs and section would not lie at multiples of 8.
  if (image_bytes != trailer.image_bytes || trailer.runs_bytes % sizeof(leat_lane_run_t)) {
    return leat_ok_status();
  }
  trace->runs = leat_string_view_make((const char*)trace->mapping + image_bytes,
                                      (size_t)trailer.runs_bytes);
  trace->runs_crc = trailer.runs_crc;
  take_runs(&section, trace);
  LEAT_RETURN_IF_ERROR(take_names(&section, trace));
  if (section.has_failed) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_delays_take(&section, trace->timeline, &trace->delays));
  *out_ok = !section.has_failed;
  return leat_ok_status();
}

bool board_trace_index_verify(const board_stored_trace_t* trace) {
  return leat_timeline_verify(trace->timeline) &&
         (!trace->runs.size ||
          leat_crc32c(trace->runs.data, trace->runs.size) == trace->runs_crc);
}

bool board_trace_index_read(board_stored_trace_t* trace, const char* cache, size_t verify_bytes) {
  char path[PATH_MAX];
  leat_arena_t arena;
  leat_string_view_t name;
  bool ok = false;
  if (!find_path(trace->path, path)) return false;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = name_index(path, cache, &arena, &name);
  if (!status && map_file(name.data, trace)) status = take_index(trace, path, &ok);
  if (!status && ok && leat_timeline_lane_bytes(trace->timeline) <= verify_bytes) {
    ok = trace->is_verified = board_trace_index_verify(trace);
  }
  if (status || !ok) forget(trace);
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
  return ok;
}

// ---- Making -------------------------------------------------------------------------------------

// An index that is being made.
typedef struct making_s {
  board_stored_trace_t found;  // the slices, in memory or in the mapped image, and what is found
  leat_lane_spill_t spill;
  leat_file_t* file;
  bool has_image;
  trailer_t trailer;
  leat_string_builder_t run_counts;  // words
  leat_status_t status;              // of the writing
} making_t;

static leat_status_t write_image(making_t* making) {
  size_t bytes;
  LEAT_RETURN_IF_ERROR(leat_timeline_write_image(making->found.timeline, &making->spill,
                                                 making->file, &bytes));
  making->trailer.image_bytes = bytes;
  making->has_image = true;
  return leat_ok_status();
}

static leat_status_t write_lane_runs(making_t* making, const leat_lane_t* lane) {
  leat_lane_run_t* runs;
  uint32_t count;
  LEAT_RETURN_IF_ERROR(leat_lane_runs_make(lane, &runs, &count));
  const size_t bytes = count * sizeof *runs;
  leat_status_t status = leat_ok_status();
  if (count) {
    status = making->file->vtable->write(making->file, runs, bytes);
    making->trailer.runs_crc = leat_crc32c_extend(making->trailer.runs_crc, runs, bytes);
  }
  making->trailer.runs_bytes += bytes;
  leat_image_put_word(&making->run_counts, count);
  leat_allocator_free(leat_allocator_system(), runs);
  return status;
}

static leat_status_t write_slices(making_t* making) {
  const leat_timeline_t* timeline = making->found.timeline;
  if (!making->has_image) LEAT_RETURN_IF_ERROR(write_image(making));
  for (size_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      LEAT_RETURN_IF_ERROR(write_lane_runs(making, &timeline->rows[r]->lanes[l]));
    }
  }
  return leat_ok_status();
}

static void run_writer(void* data) {
  making_t* making = data;
  making->status = write_slices(making);
}

// Writes the slices on a thread, and finds meanwhile what the index tells of them.
static leat_status_t write_and_find(making_t* making) {
  leat_thread_t writer;
  leat_status_t unstarted = leat_thread_start("leat-index", run_writer, making, &writer);
  leat_status_t status = leat_delays_find(making->found.timeline, &making->found.delays);
  if (!status) status = board_trace_count_names(&making->found);
  if (unstarted) {
    leat_status_free(unstarted);
    run_writer(making);
  } else {
    leat_thread_join(writer);
  }
  return leat_status_join(status, making->status);
}

static leat_status_t write_section(making_t* making, const char* path, uint32_t crc) {
  const board_stored_trace_t* found = &making->found;
  trailer_t* trailer = &making->trailer;
  leat_string_builder_t section;
  leat_string_builder_initialize(leat_allocator_system(), &section);
  put_identity(found, path, crc, &section);
  leat_image_put(&section, making->run_counts.data, making->run_counts.size);
  leat_image_put_word(&section, found->timeline->name_count);
  leat_image_put(&section, found->names, found->timeline->name_count * sizeof *found->names);
  leat_delays_put(found->delays, &section);
  memcpy(trailer->magic, MAGIC, sizeof trailer->magic);
  trailer->section_bytes = section.size;
  trailer->crc = section_crc(trailer, section.data ? section.data : "");
  leat_status_t status = leat_status_clone(
      making->run_counts.status ? making->run_counts.status : section.status);
  if (!status) status = making->file->vtable->write(making->file, section.data, section.size);
  if (!status) status = making->file->vtable->write(making->file, trailer, sizeof *trailer);
  leat_string_builder_deinitialize(&section);
  return status;
}

// Goes on with the slices in the file at |temporary| in place of those in memory, which lack what
// was spilled.
static leat_status_t map_image(making_t* making, const char* temporary) {
  size_t image_bytes;
  LEAT_RETURN_IF_ERROR(write_image(making));
  LEAT_RETURN_IF_ERROR(leat_file_flush(making->file));
  leat_timeline_free(making->found.timeline);
  making->found.timeline = NULL;
  if (!map_file(temporary, &making->found)) {
    return leat_make_status(LEAT_UNKNOWN, "Mapping failed for '%s'", temporary);
  }
  return leat_timeline_open_image(making->found.mapping, making->found.mapping_bytes,
                                  &making->found.timeline, &image_bytes);
}

// Writes the index of the recording at |path| to the file at |temporary|.
static leat_status_t write_index(making_t* making, const char* path, const char* temporary) {
  const uint32_t crc = probe(path, making->found.stat.size_bytes);
  LEAT_RETURN_IF_ERROR(leat_timeline_read_spilled(leat_file_system_default(), making->found.path,
                                                  &making->spill, &making->found.timeline));
  if (making->spill.piece_count) LEAT_RETURN_IF_ERROR(map_image(making, temporary));
  LEAT_RETURN_IF_ERROR(write_and_find(making));
  return write_section(making, path, crc);
}

// What is to be removed of a cache directory.
typedef struct sweep_s {
  const char* cache;
  leat_arena_t arena;
  leat_string_view_t* files;
  size_t count, capacity;
} sweep_t;

// Whether the index at |path| is of a recording that is gone, or of none.
static bool is_orphan(const char* path) {
  board_stored_trace_t index = {0};
  trailer_t trailer;
  leat_image_reader_t section;
  struct stat stat;
  if (!map_file(path, &index)) return false;
  const bool is_whole = find_section(&index, &trailer, &section);
  const leat_string_view_t recording =
      is_whole ? leat_image_take_text(&section) : LEAT_SV("");
  const bool is_gone =
      !is_whole || section.has_failed ||
      (lstat(recording.data, &stat) && (errno == ENOENT || errno == ENOTDIR));
  board_trace_index_unmap(&index);
  return is_gone;
}

static leat_status_t note_orphan(void* data, const char* name) {
  sweep_t* sweep = data;
  leat_string_view_t path;
  if (strspn(name, "0123456789abcdef") != NAME_DIGITS || strcmp(name + NAME_DIGITS, SUFFIX)) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_arena_print(&sweep->arena, &path, "%s/%s", sweep->cache, name));
  if (!is_orphan(path.data)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), sweep->count + 1, &sweep->files, &sweep->capacity));
  sweep->files[sweep->count++] = path;
  return leat_ok_status();
}

// Removes the indexes of recordings that are gone, and what boards that died had begun to write.
static void sweep_cache(const char* cache) {
  leat_file_system_t* fs = leat_file_system_posix();
  sweep_t sweep = {.cache = cache};
  leat_arena_initialize(leat_allocator_system(), 0, &sweep.arena);
  // Removing waits until the listing is over: a directory that changes may be listed wrongly.
  leat_status_free(fs->vtable->list(fs, cache, note_orphan, &sweep));
  for (size_t i = 0; i < sweep.count; ++i) unlink(sweep.files[i].data);
  leat_allocator_free(leat_allocator_system(), sweep.files);
  leat_arena_deinitialize(&sweep.arena);
  leat_file_sweep_temporaries(fs, cache);
}

// Fills |trace| from the index at |temporary|, which was just written.
static leat_status_t open_index(board_stored_trace_t* trace, const char* path,
                                const char* temporary) {
  bool ok = false;
  leat_status_t status = leat_ok_status();
  if (map_file(temporary, trace)) status = take_index(trace, path, &ok);
  if (!status && !ok) {
    status = leat_make_status(LEAT_UNKNOWN, "Opening failed for '%s': it was changed", temporary);
  }
  if (status) forget(trace);
  trace->is_verified = !status;
  return status;
}

static leat_status_t make_in(board_stored_trace_t* trace, const char* directory, bool is_kept,
                             size_t limit_bytes, leat_arena_t* arena) {
  leat_file_system_t* fs = leat_file_system_posix();
  char path[PATH_MAX];
  leat_string_view_t name;
  const char *temporary, *spill;
  making_t making = {.found = {.path = trace->path, .stat = trace->stat}};
  if (!find_path(trace->path, path)) {
    return leat_make_status(LEAT_NOT_FOUND, "Finding the path failed for '%s'", trace->path);
  }
  LEAT_RETURN_IF_ERROR(name_index(path, directory, arena, &name));
  LEAT_RETURN_IF_ERROR(leat_file_temporary_path(name.data, arena, &temporary));
  LEAT_RETURN_IF_ERROR(leat_file_temporary_path(name.data, arena, &spill));
  LEAT_RETURN_IF_ERROR(
      leat_file_open(fs, temporary, LEAT_FILE_WRITE, leat_allocator_system(), &making.file));
  leat_lane_spill_initialize(leat_file_system_default(), spill, limit_bytes, &making.spill);
  leat_string_builder_initialize(leat_allocator_system(), &making.run_counts);
  leat_status_t status = write_index(&making, path, temporary);
  status = leat_status_join(status, leat_file_close(making.file));
  leat_string_builder_deinitialize(&making.run_counts);
  leat_lane_spill_deinitialize(&making.spill);
  forget(&making.found);
  if (!status) status = open_index(trace, path, temporary);
  // What is mapped stays so when it has lost its name.
  if (status || !is_kept || rename(temporary, name.data)) unlink(temporary);
  return status;
}

leat_status_t board_trace_index_make(board_stored_trace_t* trace, const char* cache,
                                     size_t limit_bytes) {
  const char* temporary = getenv("TMPDIR");
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      make_in(trace, cache ? cache : temporary && *temporary ? temporary : "/tmp", cache != NULL,
              limit_bytes, &arena);
  leat_arena_deinitialize(&arena);
  if (cache) sweep_cache(cache);
  return status;
}
