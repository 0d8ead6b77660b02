// The file holds what a run is, first everything but the columns, then the columns as they lie in
// memory, so that they are used where they lie: the file is mapped, and only what somebody looks at
// takes memory. With it a thousand runs of a hundred tags cost what their names cost.
//
//   "LEATBRD2" | u32 crc of sizes and head | u32 crc of the columns | u64 bytes of the file |
//   u64 bytes of the head | head
//   head:    directory, state, files, series; the columns are named by their offset
//   columns: each at a multiple of 8; equal steps or times of neighbouring series are there once
//
// Numbers are this machine's: the file is a cache and never travels. It is written beside its place
// and renamed. Nothing waits for the disk, hence all of it is checked: the head before anything is
// used, the columns, which may be gigabytes in all runs, before the run is read on. Until then its
// charts show what lies there, so that a start waits for the heads only; no number of a column
// leads anywhere but those of places, whose files are checked with the head. Checking leaves no
// pages behind. The event files are recognised by the bytes around where they had been read to; one
// that was replaced makes the index void.
#include "board/run_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/crc32c.h"
#include "base/fingerprint.h"
#include "base/string_builder.h"

#define MAGIC "LEATBRD2"
#define FIXED_BYTES 32
#define PROBE_BYTES 4096
#define CHECK_BYTES ((size_t)1 << 20)  // at a time, a multiple of a page

static void name_index(const board_run_t* run, const char* cache, char* path, size_t room) {
  uint64_t print = leat_fingerprint64(leat_string_view_from(run->directory));
  snprintf(path, room, "%s/%016llx.run", cache, (unsigned long long)print);
}

void board_run_index_remove(const board_run_t* run, const char* cache) {
  char path[4096];
  name_index(run, cache, path, sizeof path);
  unlink(path);
}

// The checksum of the first bytes of an event file and of the last before |offset|: what was read
// of it is still there where they are. 0 where the file cannot be read.
static uint32_t probe(const char* path, uint64_t offset) {
  char bytes[PROBE_BYTES];
  uint32_t crc = 1;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  size_t size = offset < PROBE_BYTES ? (size_t)offset : PROBE_BYTES;
  bool whole = pread(file, bytes, size, 0) == (ssize_t)size;
  crc = leat_crc32c_extend(crc, bytes, whole ? size : 0);
  whole = whole && pread(file, bytes, size, (off_t)(offset - size)) == (ssize_t)size;
  crc = leat_crc32c_extend(crc, bytes, whole ? size : 0);
  close(file);
  return whole ? crc : 0;
}

// ---- Writing ------------------------------------------------------------------------------------
static void put(leat_string_builder_t* out, const void* data, size_t size) {
  leat_string_builder_append(out, leat_string_view_make(data, size));
}

static void put_word(leat_string_builder_t* out, uint64_t word) { put(out, &word, sizeof word); }

static void put_text(leat_string_builder_t* out, const char* data, size_t size) {
  put_word(out, size);
  put(out, data, size);
  put(out, "", 1);
}

// Where the columns of a series lie behind the head.
typedef struct columns_s {
  uint64_t steps, wall_times, items;
} columns_t;

// Appends a column unless it equals the one at |*inout_offset| of |count| items; sets its offset.
static void put_column(leat_string_builder_t* out, const void* data, size_t size, bool may_share,
                       uint64_t* inout_offset) {
  if (may_share && *inout_offset + size <= out->size &&
      !memcmp(out->data + *inout_offset, data, size)) {
    return;
  }
  while (!out->status && out->size % 8) leat_string_builder_append_char(out, 0);
  *inout_offset = out->size;
  if (size) put(out, data, size);
}

static void put_series(const board_series_t* series, const columns_t* at,
                       leat_string_builder_t* out) {
  put_text(out, series->tag, series->tag_size);
  put_text(out, series->plugin, strlen(series->plugin));
  put_text(out, series->display_name, strlen(series->display_name));
  put_text(out, series->description, strlen(series->description));
  put_text(out, series->content.data, series->content.size);
  uint32_t words[] = {series->data_class, series->form, series->number_kind, series->count,
                      series->reservoir.size, series->reservoir.seen,
                      board_reservoir_taken(&series->reservoir), 0};
  put(out, words, sizeof words);
  put(out, at, sizeof *at);
}

static void put_state(const board_run_t* run, leat_string_builder_t* out) {
  double numbers[] = {run->first_wall_time, run->file_version};
  uint64_t words[] = {run->has_events, run->seen_start, (uint64_t)run->latest_step, run->purged,
                      run->skipped, run->file_count, run->series_count};
  put_text(out, run->directory, strlen(run->directory));
  put(out, numbers, sizeof numbers);
  put(out, words, sizeof words);
  for (size_t i = 0; i < run->file_count; ++i) {
    const board_event_file_t* file = run->files[i];
    uint64_t place[] = {file->offset, file->damaged, file->searched,
                        probe(file->path, file->offset)};
    put_text(out, file->path, strlen(file->path));
    put(out, place, sizeof place);
  }
}

static void put_run(const board_run_t* run, leat_string_builder_t* head,
                    leat_string_builder_t* body) {
  columns_t at = {0};
  uint32_t before = UINT32_MAX;
  put_state(run, head);
  for (size_t i = 0; i < run->series_count; ++i) {
    board_series_t* series = run->series[i];
    const board_columns_t columns = board_series_columns(series);
    bool may_share = columns.count == before;
    put_column(body, columns.steps, columns.count * sizeof(int64_t), may_share, &at.steps);
    put_column(body, columns.wall_times, columns.count * sizeof(double), may_share,
               &at.wall_times);
    if (series->form == BOARD_FORM_SCALAR) {
      put_column(body, columns.values, columns.count * sizeof(double), false, &at.items);
    } else {
      put_column(body, columns.places, columns.count * sizeof(board_place_t), false, &at.items);
    }
    before = columns.count;
    put_series(series, &at, head);
  }
}

static bool write_all(int file, const char* data, size_t size) {
  while (size) {
    ssize_t written = write(file, data, size);
    if (written <= 0) return false;
    data += written;
    size -= (size_t)written;
  }
  return true;
}

static bool write_file(const char* path, leat_string_builder_t* head,
                       leat_string_builder_t* body) {
  char temporary[4200], fixed[FIXED_BYTES] = MAGIC;
  while (!head->status && (head->size + FIXED_BYTES) % 8) leat_string_builder_append_char(head, 0);
  if (head->status || body->status) return false;
  uint64_t sizes[] = {FIXED_BYTES + head->size + body->size, head->size};
  uint32_t crc = leat_crc32c(sizes, sizeof sizes);
  crc = leat_crc32c_extend(crc, head->data, head->size);
  const uint32_t columns_crc = body->size ? leat_crc32c(body->data, body->size) : 0;
  memcpy(fixed + 8, &crc, sizeof crc);
  memcpy(fixed + 12, &columns_crc, sizeof columns_crc);
  memcpy(fixed + 16, sizes, sizeof sizes);
  snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
  int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool done = write_all(file, fixed, sizeof fixed) && write_all(file, head->data, head->size) &&
              write_all(file, body->data, body->size);
  done = !close(file) && done && !rename(temporary, path);
  if (!done) unlink(temporary);
  return done;
}

// ---- Reading ------------------------------------------------------------------------------------
typedef struct cursor_s {
  const char *next, *end;  // of the head
  const char* base;        // of the mapping
  uint64_t columns;        // offset of the columns in it
  uint64_t size;           // of the mapping
  bool failed;
} cursor_t;

static const char* take(cursor_t* cursor, uint64_t size) {
  const char* at = cursor->next;
  if (cursor->failed || size > (uint64_t)(cursor->end - cursor->next)) {
    cursor->failed = true;
    return NULL;
  }
  cursor->next += size;
  return at;
}

static void take_into(cursor_t* cursor, void* out, size_t size) {
  const char* at = take(cursor, size);
  memset(out, 0, size);
  if (at) memcpy(out, at, size);
}

// A text, which a NUL follows.
static leat_string_view_t take_text(cursor_t* cursor) {
  uint64_t size;
  take_into(cursor, &size, sizeof size);
  const char* data = size < SIZE_MAX / 2 ? take(cursor, size + 1) : NULL;
  cursor->failed |= !data;
  return leat_string_view_make(data ? data : "", data ? (size_t)size : 0);
}

// A column of |count| items in the mapping.
static void* column_at(cursor_t* cursor, uint64_t offset, uint32_t count, size_t item_bytes) {
  uint64_t begin = cursor->columns + offset;
  if (offset > cursor->size || begin % 8 || begin > cursor->size ||
      count * (uint64_t)item_bytes > cursor->size - begin) {
    cursor->failed = true;
    return NULL;
  }
  return (void*)(cursor->base + begin);
}

static leat_status_t copy_text(leat_string_view_t text, char** out_copy) {
  return leat_allocator_clone_string(leat_allocator_system(), text.data, text.size, out_copy);
}

static leat_status_t take_texts(cursor_t* cursor, board_series_t* series) {
  char* content;
  leat_string_view_t tag = take_text(cursor);
  series->tag_size = tag.size;
  LEAT_RETURN_IF_ERROR(copy_text(tag, &series->tag));
  LEAT_RETURN_IF_ERROR(copy_text(take_text(cursor), &series->plugin));
  LEAT_RETURN_IF_ERROR(copy_text(take_text(cursor), &series->display_name));
  LEAT_RETURN_IF_ERROR(copy_text(take_text(cursor), &series->description));
  leat_string_view_t bytes = take_text(cursor);
  LEAT_RETURN_IF_ERROR(copy_text(bytes, &content));
  series->content = leat_string_view_make(content, bytes.size);
  return leat_ok_status();
}

static leat_status_t take_series(cursor_t* cursor, board_run_t* run) {
  board_series_t series = {0}, *added;
  uint32_t words[8];
  columns_t at;
  leat_status_t status = take_texts(cursor, &series);
  take_into(cursor, words, sizeof words);
  take_into(cursor, &at, sizeof at);
  series.data_class = words[0];
  series.form = words[1];
  series.number_kind = words[2];
  series.count = series.used = words[3];
  series.reservoir = (board_reservoir_t){.size = words[4], .seen = words[5], .taken = words[6]};
  cursor->failed |= !words[4] || series.count > words[4];
  const size_t item_bytes = series.form == BOARD_FORM_SCALAR ? sizeof(double)
                                                             : sizeof(board_place_t);
  int64_t* steps = column_at(cursor, at.steps, series.count, sizeof *steps);
  double* wall_times = column_at(cursor, at.wall_times, series.count, sizeof *wall_times);
  board_series_borrow(&series, steps, wall_times,
                      column_at(cursor, at.items, series.count, item_bytes));
  for (uint32_t i = 0; !cursor->failed && series.slots.places && i < series.count; ++i) {
    cursor->failed |= series.slots.places[i].file >= run->file_count;
  }
  if (!status && !cursor->failed) status = board_run_add_series(run, &series, &added);
  board_series_deinitialize(&series);
  return status;
}

static leat_status_t take_run(cursor_t* cursor, board_run_t* run) {
  double numbers[2];
  uint64_t words[7], place[4];
  board_event_file_t* file;
  cursor->failed |= !leat_string_view_equals(take_text(cursor), run->directory);
  take_into(cursor, numbers, sizeof numbers);
  take_into(cursor, words, sizeof words);
  for (uint64_t i = 0; i < words[5] && !cursor->failed; ++i) {
    leat_string_view_t path = take_text(cursor);
    take_into(cursor, place, sizeof place);
    if (cursor->failed || !place[3] || probe(path.data, place[0]) != place[3]) {
      cursor->failed = true;
      break;
    }
    LEAT_RETURN_IF_ERROR(board_run_add_file(run, path.data, &file));
    file->offset = place[0];
    file->damaged = place[1];
    file->searched = place[2];
  }
  for (uint64_t i = 0; i < words[6] && !cursor->failed; ++i) {
    LEAT_RETURN_IF_ERROR(take_series(cursor, run));
  }
  run->first_wall_time = numbers[0];
  run->file_version = numbers[1];
  run->has_events = words[0];
  run->seen_start = words[1];
  run->latest_step = (int64_t)words[2];
  run->purged = words[3];
  run->skipped = words[4];
  return leat_ok_status();
}

static bool is_head_sound(const char* mapping, uint64_t head_bytes) {
  uint32_t expected;
  memcpy(&expected, mapping + 8, sizeof expected);
  return leat_crc32c(mapping + 16, FIXED_BYTES - 16 + (size_t)head_bytes) == expected;
}

// Whether the columns of an index whose head is sound are what was written.
static bool are_columns_sound(const char* mapping, size_t size) {
  uint64_t head_bytes;
  uint32_t expected, crc = 0;
  memcpy(&expected, mapping + 12, sizeof expected);
  memcpy(&head_bytes, mapping + 24, sizeof head_bytes);
  for (size_t at = FIXED_BYTES + (size_t)head_bytes, end; at < size; at = end) {
    const size_t begin = at / CHECK_BYTES * CHECK_BYTES;
    end = LEAT_MIN(begin + CHECK_BYTES, size);
    crc = leat_crc32c_extend(crc, mapping + at, end - at);
    // The system keeps the bytes, and the process has no pages of them. Who looks at them meanwhile
    // gets them again.
    (void)madvise((char*)mapping + begin, end - begin, MADV_DONTNEED);
  }
  return crc == expected;
}

// Maps the file at |path|; NULL where it is not what it should be. |*out_head| is the head's size.
static void* map_index(const char* path, uint64_t* out_size, uint64_t* out_head) {
  char fixed[FIXED_BYTES];
  struct stat stat;
  void* mapping = MAP_FAILED;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  if (!fstat(file, &stat) && read(file, fixed, sizeof fixed) == (ssize_t)sizeof fixed &&
      !memcmp(fixed, MAGIC, 8)) {
    memcpy(out_size, fixed + 16, 8);
    memcpy(out_head, fixed + 24, 8);
    if (*out_size == (uint64_t)stat.st_size && *out_head <= *out_size - FIXED_BYTES) {
      mapping = mmap(NULL, *out_size, PROT_READ, MAP_SHARED, file, 0);
    }
  }
  close(file);
  return mapping == MAP_FAILED ? NULL : mapping;
}

void board_run_index_read(board_run_t* run, const char* cache) {
  char path[4096];
  uint64_t size, head;
  name_index(run, cache, path, sizeof path);
  char* mapping = map_index(path, &size, &head);
  if (!mapping) return;
  if (!is_head_sound(mapping, head)) {
    munmap(mapping, size);
    return;
  }
  cursor_t cursor = {mapping + FIXED_BYTES, mapping + FIXED_BYTES + head, mapping,
                     FIXED_BYTES + head, size, false};
  leat_mutex_lock(&run->lock);
  leat_status_t status = take_run(&cursor, run);
  if (status || cursor.failed) {
    board_run_forget(run);
    munmap(mapping, size);
  } else {
    run->mapping = mapping;
    run->mapping_bytes = size;
    run->is_unchecked = true;
    ++run->version;
  }
  leat_status_free(status);
  leat_mutex_unlock(&run->lock);
}

bool board_run_index_check(board_run_t* run, const char* cache) {
  if (!run->is_unchecked) return true;
  run->is_unchecked = false;
  if (are_columns_sound(run->mapping, run->mapping_bytes)) return true;
  leat_mutex_lock(&run->lock);
  board_run_forget(run);
  leat_mutex_unlock(&run->lock);
  board_run_index_remove(run, cache);
  return false;
}

// Frees the columns of memory and points at those of |mapping|. The lock is held.
static void move_columns(board_run_t* run, cursor_t* cursor) {
  take_text(cursor);
  uint64_t words[7], place[4];
  double numbers[2];
  take_into(cursor, numbers, sizeof numbers);
  take_into(cursor, words, sizeof words);
  for (size_t i = 0; i < run->file_count; ++i) {
    take_text(cursor);
    take_into(cursor, place, sizeof place);
  }
  for (size_t i = 0; i < run->series_count && !cursor->failed; ++i) {
    board_series_t* series = run->series[i];
    uint32_t counts[8];
    columns_t at;
    for (int text = 0; text < 5; ++text) take_text(cursor);
    take_into(cursor, counts, sizeof counts);
    take_into(cursor, &at, sizeof at);
    size_t item_bytes = series->slots.values ? sizeof(double) : sizeof(board_place_t);
    int64_t* steps = column_at(cursor, at.steps, series->count, sizeof *steps);
    double* wall_times = column_at(cursor, at.wall_times, series->count, sizeof *wall_times);
    void* items = column_at(cursor, at.items, series->count, item_bytes);
    if (cursor->failed) return;
    board_series_borrow(series, steps, wall_times, items);
  }
}

void board_run_index_write(board_run_t* run, const char* cache) {
  char path[4096];
  leat_string_builder_t head, body;
  uint64_t size, head_size;
  name_index(run, cache, path, sizeof path);
  leat_string_builder_initialize(leat_allocator_system(), &head);
  leat_string_builder_initialize(leat_allocator_system(), &body);
  // Only this thread adds to the run. Who reads it closes the holes of a series, hence that is done
  // before, and then no lock is needed to read the run.
  leat_mutex_lock(&run->lock);
  for (size_t i = 0; i < run->series_count; ++i) (void)board_series_columns(run->series[i]);
  leat_mutex_unlock(&run->lock);
  put_run(run, &head, &body);
  bool done = write_file(path, &head, &body);
  leat_string_builder_deinitialize(&head);
  leat_string_builder_deinitialize(&body);
  char* mapping = done ? map_index(path, &size, &head_size) : NULL;
  if (!mapping) return;
  cursor_t cursor = {mapping + FIXED_BYTES, mapping + FIXED_BYTES + head_size, mapping,
                     FIXED_BYTES + head_size, size, false};
  leat_mutex_lock(&run->lock);
  move_columns(run, &cursor);
  // Where that did not go through, both mappings stay: some columns may lie in each.
  if (!cursor.failed) {
    if (run->mapping) munmap(run->mapping, run->mapping_bytes);
    run->mapping = mapping;
    run->mapping_bytes = size;
    run->is_unchecked = false;
  }
  leat_mutex_unlock(&run->lock);
}
