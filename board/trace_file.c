// Every file of a recording in the cache ends with what tells where the rest lies, so that it is
// written from front to back:
//
//   image | body | section | magic | u64 bytes of the image | u64 of the body |
//   u64 of the section | u32 crc | u32 crc of the body
//   section: path, size and time of the recording, crc of its ends | sizes of the structs |
//            what the kind of file has there
//
// It is written under a temporary name, and gets its own once it is whole. The section's checksum,
// which covers the trailer too, is checked before anything of the section is used; image and body
// are checked by whoever uses them. Names are made of the recording's path, so that a recording has
// one file of a kind; a file is void when size, time, or the first or last bytes of the recording
// are others. Where no recording is left at the path that a file names, the file is removed when
// the next index is written: a cache whose log directories are deleted does not grow for ever.
#include "board/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/crc32c.h"
#include "base/fingerprint.h"
#include "trace/lane_run.h"

#define NAME_DIGITS 16
#define TRAILER_BYTES sizeof(board_trace_trailer_t)
#define PROBE_BYTES 4096
#define MAX_PATH_BYTES 4096

const board_trace_kind_t board_trace_index_kind = {"LEATTRX3", ".trace"};
const board_trace_kind_t board_trace_delays_kind = {"LEATTRD1", ".delays"};

static uint32_t section_crc(const board_trace_trailer_t* trailer, const void* section) {
  uint32_t crc = leat_crc32c(&trailer->image_bytes, 3 * sizeof(uint64_t));
  crc = leat_crc32c_extend(crc, &trailer->body_crc, sizeof trailer->body_crc);
  return leat_crc32c_extend(crc, section, (size_t)trailer->section_bytes);
}

// The path of the recording from the root, so that boards which were started elsewhere agree.
static bool find_path(const char* path, char out_path[PATH_MAX]) {
  return realpath(path, out_path) && strlen(out_path) < MAX_PATH_BYTES;
}

static leat_status_t name_file(const char* recording, const board_trace_kind_t* kind,
                               const char* directory, leat_arena_t* arena,
                               leat_string_view_t* out_name) {
  return leat_arena_print(arena, out_name, "%s/%0*llx%s", directory, NAME_DIGITS,
                          (unsigned long long)leat_fingerprint64(leat_string_view_from(recording)),
                          kind->suffix);
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
static void put_identity(const board_stored_trace_t* trace, const char* recording, uint32_t crc,
                         leat_string_builder_t* out) {
  const uint64_t words[] = {(uint64_t)trace->stat.size_bytes, (uint64_t)trace->stat.modified_ns,
                            crc, sizeof(board_trace_name_t), sizeof(leat_step_t),
                            sizeof(leat_step_group_t), sizeof(leat_delay_t), LEAT_DELAY_CAUSES,
                            sizeof(leat_lane_run_t)};
  leat_image_put_text(out, leat_string_view_from(recording));
  leat_image_put(out, words, sizeof words);
}

// ---- Reading ------------------------------------------------------------------------------------

// Maps the file at |path|, which stays mapped when it loses its name. False where it is empty or
// cannot be mapped.
static bool map_file(const char* path, board_trace_mapping_t* out_mapping) {
  struct stat stat;
  void* data = MAP_FAILED;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  if (!fstat(file, &stat) && S_ISREG(stat.st_mode) && stat.st_size > 0) {
    data = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_SHARED, file, 0);
  }
  close(file);
  if (data == MAP_FAILED) return false;
  *out_mapping = (board_trace_mapping_t){data, (size_t)stat.st_size};
  return true;
}

void board_trace_file_unmap(board_trace_mapping_t* mapping) {
  if (mapping->data) munmap(mapping->data, mapping->size_bytes);
  *mapping = (board_trace_mapping_t){0};
}

// Finds the section; false where the trailer is not what it must be.
static bool find_section(const board_trace_mapping_t* mapping, const board_trace_kind_t* kind,
                         board_trace_trailer_t* out_trailer, leat_image_reader_t* out_section) {
  const char* bytes = mapping->data;
  if (mapping->size_bytes < TRAILER_BYTES) return false;
  const uint64_t rest = mapping->size_bytes - TRAILER_BYTES;
  memcpy(out_trailer, bytes + rest, TRAILER_BYTES);
  if (memcmp(out_trailer->magic, kind->magic, 8) || out_trailer->image_bytes > rest ||
      out_trailer->body_bytes > rest - out_trailer->image_bytes ||
      out_trailer->section_bytes != rest - out_trailer->image_bytes - out_trailer->body_bytes) {
    return false;
  }
  *out_section = (leat_image_reader_t){.next = bytes + rest - out_trailer->section_bytes,
                                       .end = bytes + rest};
  return section_crc(out_trailer, out_section->next) == out_trailer->crc;
}

bool board_trace_file_take(const board_stored_trace_t* trace, const board_trace_kind_t* kind,
                           const char* recording, const board_trace_mapping_t* mapping,
                           board_trace_trailer_t* out_trailer, leat_image_reader_t* out_section) {
  leat_string_builder_t wanted;
  if (!find_section(mapping, kind, out_trailer, out_section)) return false;
  leat_string_builder_initialize(leat_allocator_system(), &wanted);
  put_identity(trace, recording, probe(recording, trace->stat.size_bytes), &wanted);
  const char* got = leat_image_take(out_section, wanted.size);
  const bool is_same = !wanted.status && got && !memcmp(got, wanted.data, wanted.size);
  leat_string_builder_deinitialize(&wanted);
  return is_same;
}

bool board_trace_file_open(const board_stored_trace_t* trace, const board_trace_kind_t* kind,
                           const char* cache, board_trace_mapping_t* out_mapping,
                           board_trace_trailer_t* out_trailer, leat_image_reader_t* out_section) {
  char recording[PATH_MAX];
  leat_arena_t arena;
  leat_string_view_t name;
  *out_mapping = (board_trace_mapping_t){0};
  if (!find_path(trace->path, recording)) return false;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = name_file(recording, kind, cache, &arena, &name);
  const bool ok = !status && map_file(name.data, out_mapping) &&
                  board_trace_file_take(trace, kind, recording, out_mapping, out_trailer,
                                        out_section);
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
  if (!ok) board_trace_file_unmap(out_mapping);
  return ok;
}

// ---- Making -------------------------------------------------------------------------------------

leat_status_t board_trace_file_begin(const board_stored_trace_t* trace,
                                     const board_trace_kind_t* kind, const char* cache,
                                     leat_arena_t* arena, board_trace_making_t* out_making) {
  const char* temporary = getenv("TMPDIR");
  *out_making = (board_trace_making_t){.kind = kind, .is_kept = cache != NULL};
  if (!cache) cache = temporary && *temporary ? temporary : "/tmp";
  if (!find_path(trace->path, out_making->recording)) {
    return leat_make_status(LEAT_NOT_FOUND, "Finding the path failed for '%s'", trace->path);
  }
  out_making->recording_crc = probe(out_making->recording, trace->stat.size_bytes);
  LEAT_RETURN_IF_ERROR(name_file(out_making->recording, kind, cache, arena, &out_making->name));
  LEAT_RETURN_IF_ERROR(
      leat_file_temporary_path(out_making->name.data, arena, &out_making->temporary));
  return leat_file_open(leat_file_system_posix(), out_making->temporary, LEAT_FILE_WRITE,
                        leat_allocator_system(), &out_making->file);
}

leat_status_t board_trace_file_write(board_trace_making_t* making, const void* data, size_t size) {
  board_trace_trailer_t* trailer = &making->trailer;
  if (!size) return leat_ok_status();
  trailer->body_bytes += size;
  trailer->body_crc = leat_crc32c_extend(trailer->body_crc, data, size);
  return making->file->vtable->write(making->file, data, size);
}

leat_status_t board_trace_file_map(board_trace_making_t* making,
                                   board_trace_mapping_t* out_mapping) {
  LEAT_RETURN_IF_ERROR(leat_file_flush(making->file));
  if (map_file(making->temporary, out_mapping)) return leat_ok_status();
  return leat_make_status(LEAT_UNKNOWN, "Mapping failed for '%s'", making->temporary);
}

leat_status_t board_trace_file_finish(board_trace_making_t* making,
                                      const board_stored_trace_t* trace,
                                      const leat_string_builder_t* rest,
                                      board_trace_mapping_t* out_mapping) {
  board_trace_trailer_t* trailer = &making->trailer;
  leat_string_builder_t section;
  leat_string_builder_initialize(leat_allocator_system(), &section);
  put_identity(trace, making->recording, making->recording_crc, &section);
  leat_image_put(&section, rest->data, rest->size);
  memcpy(trailer->magic, making->kind->magic, sizeof trailer->magic);
  trailer->section_bytes = section.size;
  trailer->crc = section_crc(trailer, section.data ? section.data : "");
  leat_status_t status = leat_status_clone(rest->status ? rest->status : section.status);
  if (!status) status = making->file->vtable->write(making->file, section.data, section.size);
  if (!status) status = making->file->vtable->write(making->file, trailer, sizeof *trailer);
  leat_string_builder_deinitialize(&section);
  if (!status) status = board_trace_file_map(making, out_mapping);
  return status;
}

void board_trace_file_end(board_trace_making_t* making, bool is_whole) {
  if (!making->file) return;
  // What cannot be closed may lack bytes that were written.
  leat_status_t status = leat_file_close(making->file);
  making->file = NULL;
  if (status || !is_whole || !making->is_kept ||
      rename(making->temporary, making->name.data)) {
    unlink(making->temporary);
  }
  leat_status_free(status);
}

// ---- Removing -----------------------------------------------------------------------------------

// What is to be removed of a cache directory.
typedef struct sweep_s {
  const char* cache;
  leat_arena_t arena;
  leat_string_view_t* files;
  size_t count, capacity;
} sweep_t;

// Whether the file at |path| is of a recording that is gone, or of none.
static bool is_orphan(const char* path, const board_trace_kind_t* kind) {
  board_trace_mapping_t mapping = {0};
  board_trace_trailer_t trailer;
  leat_image_reader_t section;
  struct stat stat;
  if (!map_file(path, &mapping)) return false;
  const bool is_whole = find_section(&mapping, kind, &trailer, &section);
  const leat_string_view_t recording =
      is_whole ? leat_image_take_text(&section) : LEAT_SV("");
  const bool is_gone =
      !is_whole || section.has_failed ||
      (lstat(recording.data, &stat) && (errno == ENOENT || errno == ENOTDIR));
  board_trace_file_unmap(&mapping);
  return is_gone;
}

// The kind of the file |name|; NULL: it is none of ours.
static const board_trace_kind_t* kind_of(const char* name) {
  const board_trace_kind_t* const kinds[] = {&board_trace_index_kind, &board_trace_delays_kind};
  if (strspn(name, "0123456789abcdef") != NAME_DIGITS) return NULL;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kinds); ++i) {
    if (!strcmp(name + NAME_DIGITS, kinds[i]->suffix)) return kinds[i];
  }
  return NULL;
}

static leat_status_t note_orphan(void* data, const char* name) {
  sweep_t* sweep = data;
  leat_string_view_t path;
  const board_trace_kind_t* kind = kind_of(name);
  if (!kind) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_print(&sweep->arena, &path, "%s/%s", sweep->cache, name));
  if (!is_orphan(path.data, kind)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), sweep->count + 1, &sweep->files, &sweep->capacity));
  sweep->files[sweep->count++] = path;
  return leat_ok_status();
}

void board_trace_file_sweep(const char* cache) {
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
