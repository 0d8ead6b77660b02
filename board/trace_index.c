// The file begins with the image of the recording, whose slices are nearly all of it, and ends with
// what tells where the rest lies, so that it is written from front to back:
//
//   image | section | "LEATTRX1" | u64 bytes of the image | u64 of the section | u32 crc | u32 0
//   section: path, size and time of the recording, crc of its ends | sizes of the structs |
//            names | delays
//
// It is written under a temporary name. Once the image is there it is mapped, the delays are found
// in the mapping, and the section is appended; then the file gets its name. So the slices are never
// in memory that only this process has, but for those that wait to be written. Names are made of
// the recording's path, so that a recording has one index; an index is void when size, time, or the
// first or last bytes of the recording are others.
//
// The section's checksum, which covers the trailer too, is checked before anything of it is used,
// and the image checks itself; numbers in both are checked against what they count, since whoever
// can write to the cache can compute a checksum. Where no recording is left at the path that an
// index names, it is removed when the next one is written: a cache whose log directories are
// deleted does not grow for ever.
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
#include "trace/delay_image.h"
#include "trace/timeline_image.h"

#define MAGIC "LEATTRX1"
#define SUFFIX ".trace"
#define NAME_DIGITS 16
#define TRAILER_BYTES 32
#define PROBE_BYTES 4096
#define MAX_PATH_BYTES 4096

typedef struct trailer_s {
  char magic[8];
  uint64_t image_bytes, section_bytes;
  uint32_t crc;  // of the section and the two sizes
  uint32_t zero;
} trailer_t;

static uint32_t section_crc(const trailer_t* trailer, const void* section) {
  const uint32_t crc = leat_crc32c(&trailer->image_bytes, 2 * sizeof(uint64_t));
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
                            sizeof(leat_step_group_t), sizeof(leat_delay_t), LEAT_DELAY_CAUSES};
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
  if (memcmp(out_trailer->magic, MAGIC, 8) || out_trailer->zero ||
      out_trailer->image_bytes > rest ||
      out_trailer->section_bytes != rest - out_trailer->image_bytes) {
    return false;
  }
  *out_section = (leat_image_reader_t){.next = bytes + out_trailer->image_bytes,
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
  // With another size the section would not lie at a multiple of 8.
  if (image_bytes != trailer.image_bytes) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(take_names(&section, trace));
  if (section.has_failed) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_delays_take(&section, trace->timeline, &trace->delays));
  *out_ok = !section.has_failed;
  return leat_ok_status();
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
    ok = trace->is_verified = leat_timeline_verify(trace->timeline);
  }
  if (status || !ok) forget(trace);
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
  return ok;
}

// ---- Making -------------------------------------------------------------------------------------

static leat_status_t write_section(const board_stored_trace_t* trace, const char* path,
                                   uint32_t crc, leat_file_t* out) {
  leat_string_builder_t section;
  trailer_t trailer = {.magic = MAGIC, .image_bytes = trace->timeline->image.size};
  leat_string_builder_initialize(leat_allocator_system(), &section);
  put_identity(trace, path, crc, &section);
  leat_image_put_word(&section, trace->timeline->name_count);
  leat_image_put(&section, trace->names, trace->timeline->name_count * sizeof *trace->names);
  leat_delays_put(trace->delays, &section);
  trailer.section_bytes = section.size;
  trailer.crc = section_crc(&trailer, section.data ? section.data : "");
  leat_status_t status = leat_status_clone(section.status);
  if (!status) status = out->vtable->write(out, section.data, section.size);
  if (!status) status = out->vtable->write(out, &trailer, sizeof trailer);
  leat_string_builder_deinitialize(&section);
  return status;
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

// Converts the recording into |file| at |temporary|, maps it, and finds in it what the index has
// besides.
static leat_status_t convert(board_stored_trace_t* trace, const char* temporary,
                             const char* spill, size_t limit_bytes, leat_file_t* file) {
  size_t image_bytes;
  LEAT_RETURN_IF_ERROR(leat_timeline_convert(leat_file_system_default(), trace->path, spill,
                                             limit_bytes, file));
  LEAT_RETURN_IF_ERROR(leat_file_flush(file));
  if (!map_file(temporary, trace)) {
    return leat_make_status(LEAT_UNKNOWN, "Mapping failed for '%s'", temporary);
  }
  LEAT_RETURN_IF_ERROR(leat_timeline_open_image(trace->mapping, trace->mapping_bytes,
                                                &trace->timeline, &image_bytes));
  LEAT_RETURN_IF_ERROR(leat_delays_find(trace->timeline, &trace->delays));
  return board_trace_count_names(trace);
}

static leat_status_t make_in(board_stored_trace_t* trace, const char* directory, bool is_kept,
                             size_t limit_bytes, leat_arena_t* arena) {
  leat_file_system_t* fs = leat_file_system_posix();
  char path[PATH_MAX];
  leat_string_view_t name;
  const char *temporary, *spill;
  leat_file_t* file = NULL;
  if (!find_path(trace->path, path)) {
    return leat_make_status(LEAT_NOT_FOUND, "Finding the path failed for '%s'", trace->path);
  }
  const uint32_t crc = probe(path, trace->stat.size_bytes);
  LEAT_RETURN_IF_ERROR(name_index(path, directory, arena, &name));
  LEAT_RETURN_IF_ERROR(leat_file_temporary_path(name.data, arena, &temporary));
  LEAT_RETURN_IF_ERROR(leat_file_temporary_path(name.data, arena, &spill));
  LEAT_RETURN_IF_ERROR(
      leat_file_open(fs, temporary, LEAT_FILE_WRITE, leat_allocator_system(), &file));
  leat_status_t status = convert(trace, temporary, spill, limit_bytes, file);
  // Where the index cannot be completed or get its name, it serves this once.
  leat_status_t kept = leat_ok_status();
  if (!status && is_kept) kept = write_section(trace, path, crc, file);
  if (!kept) {
    kept = leat_file_close(file);
  } else {
    leat_status_free(leat_file_close(file));
  }
  if (status || kept || !is_kept || rename(temporary, name.data)) unlink(temporary);
  leat_status_free(kept);
  if (status) {
    forget(trace);
  } else {
    trace->is_verified = true;
  }
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
