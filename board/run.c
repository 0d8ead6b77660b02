// A run is loaded in rounds. Each round lists the directory, opens the files that are longer than
// what was read of them, and takes in their new records in the order of the files' names, since a
// program that starts again begins a new file with a later name. The lock is held for some dozens
// of records at a time and then let go for whoever waits, so that who reads the run waits for
// microseconds and not for gigabytes.
//
// A file that became shorter was replaced: nothing that was read of the run can be trusted to stand
// in it, and the run is read from its beginning.
#include "board/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "board/run_event.h"

#define RECORDS_A_LOCK 64
#define READER_WAITS 50
#define READER_WAIT_US 20

leat_status_t board_run_create(const char* name, const char* directory, board_run_t** out_run) {
  leat_allocator_t* allocator = leat_allocator_system();
  board_run_t* run = NULL;
  *out_run = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &run));
  leat_mutex_initialize(&run->lock);
  leat_string_map_initialize(allocator, &run->by_tag);
  run->latest_step = -1;
  leat_status_t status = leat_allocator_clone_string(allocator, name, strlen(name), &run->name);
  if (!status) {
    status = leat_allocator_clone_string(allocator, directory, strlen(directory), &run->directory);
  }
  if (status) {
    board_run_free(run);
    return status;
  }
  *out_run = run;
  return status;
}

void board_run_forget(board_run_t* run) {
  for (size_t i = 0; i < run->series_count; ++i) {
    board_series_deinitialize(run->series[i]);
    leat_allocator_free(leat_allocator_system(), run->series[i]);
  }
  run->series_count = run->latest = 0;
  leat_string_map_deinitialize(&run->by_tag);
  if (run->mapping) munmap(run->mapping, run->mapping_bytes);
  run->mapping = NULL;
  run->is_unchecked = false;
  for (size_t i = 0; i < run->file_count; ++i) {
    run->files[i]->offset = run->files[i]->damaged = run->files[i]->searched = 0;
  }
  run->has_events = run->seen_start = false;
  run->file_version = run->first_wall_time = 0;
  run->latest_step = -1;
  run->purged = run->skipped = 0;
  ++run->version;
}

void board_run_free(board_run_t* run) {
  leat_allocator_t* allocator = leat_allocator_system();
  if (!run) return;
  board_run_forget(run);
  for (size_t i = 0; i < run->file_count; ++i) {
    board_event_file_deinitialize(run->files[i]);
    leat_allocator_free(allocator, run->files[i]);
  }
  leat_allocator_free(allocator, run->files);
  leat_allocator_free(allocator, run->series);
  leat_allocator_free(allocator, run->name);
  leat_allocator_free(allocator, run->directory);
  leat_mutex_deinitialize(&run->lock);
  leat_allocator_free(allocator, run);
}

bool board_run_is_event_file(const char* name) {
  const char* ending = ".profile-empty";
  size_t size = strlen(name), ending_size = strlen(ending);
  return strstr(name, "tfevents") &&
         (size < ending_size || strcmp(name + size - ending_size, ending));
}

leat_status_t board_run_add_series(board_run_t* run, board_series_t* series_move,
                                   board_series_t** out_series) {
  leat_allocator_t* allocator = leat_allocator_system();
  board_series_t* series = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(allocator, run->series_count + 1,
                                                 sizeof *run->series, (void**)&run->series,
                                                 &run->series_capacity));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &series));
  leat_status_t status = leat_string_map_set(
      &run->by_tag, leat_string_view_make(series_move->tag, series_move->tag_size),
      run->series_count);
  if (status) {
    leat_allocator_free(allocator, series);
    return status;
  }
  *series = *series_move;
  *series_move = (board_series_t){0};
  run->series[run->series_count++] = series;
  *out_series = series;
  return status;
}

leat_status_t board_run_add_file(board_run_t* run, const char* path,
                                 board_event_file_t** out_file) {
  leat_allocator_t* allocator = leat_allocator_system();
  board_event_file_t* file = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(allocator, run->file_count + 1,
                                                 sizeof *run->files, (void**)&run->files,
                                                 &run->file_capacity));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &file));
  leat_status_t status = board_event_file_initialize(path, file);
  if (status) {
    leat_allocator_free(allocator, file);
    return status;
  }
  run->files[run->file_count++] = file;
  *out_file = file;
  return status;
}

board_series_t* board_run_find(const board_run_t* run, leat_string_view_t tag) {
  uint64_t index;
  return leat_string_map_get(&run->by_tag, tag, &index) ? run->series[index] : NULL;
}

board_series_t* board_run_find_of(const board_run_t* run, leat_string_view_t tag,
                                  const char* plugin, board_data_class_t data_class) {
  board_series_t* series = board_run_find(run, tag);
  bool fits = series && series->data_class == data_class && !strcmp(series->plugin, plugin);
  return fits ? series : NULL;
}

uint64_t board_run_damaged(const board_run_t* run) {
  uint64_t damaged = 0;
  for (size_t i = 0; i < run->file_count; ++i) damaged += run->files[i]->damaged;
  return damaged;
}

// ---- Loading ------------------------------------------------------------------------------------
// Adds the event file |name| of the directory, unless it is known.
static leat_status_t note_file(void* data, const char* name) {
  board_run_t* run = data;
  board_event_file_t* file;
  size_t folder = strlen(run->directory);
  char* path = NULL;
  if (!board_run_is_event_file(name)) return leat_ok_status();
  size_t room = folder + strlen(name) + 2;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), room, (void**)&path));
  snprintf(path, room, "%s/%s", run->directory, name);
  bool known = false;
  for (size_t i = 0; i < run->file_count && !known; ++i) {
    known = !strcmp(run->files[i]->path, path);
  }
  leat_status_t status = known ? leat_ok_status() : board_run_add_file(run, path, &file);
  leat_allocator_free(leat_allocator_system(), path);
  return status;
}

typedef struct turn_s {
  board_event_file_t* file;
  uint32_t index;
} turn_t;

static int compare_turns(const void* a, const void* b) {
  return strcmp(((const turn_t*)a)->file->path, ((const turn_t*)b)->file->path);
}

// Waits while somebody waits for the lock, which was just let go, but not for long: where many read
// all the time, loading goes on all the same.
static void let_readers_pass(board_run_t* run) {
  for (int i = 0; i < READER_WAITS && atomic_load(&run->waiting); ++i) usleep(READER_WAIT_US);
}

// Takes in what a file has that is new, but stops behind |*inout_left| bytes, from which it takes
// off what it read. A file that went away is not an error: its points stay.
static leat_status_t load_file(board_run_t* run, turn_t turn, uint64_t* inout_left,
                               bool* out_changed, bool* out_replaced) {
  board_record_t record;
  leat_status_t status = board_event_file_open(turn.file);
  if (status && leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return leat_ok_status();
  }
  *out_replaced = !status && turn.file->size < turn.file->offset;
  bool more = !status && !*out_replaced && turn.file->size > turn.file->offset;
  uint64_t begin = turn.file->offset;
  while (more && turn.file->offset - begin < *inout_left) {
    leat_mutex_lock(&run->lock);
    for (int i = 0; more && i < RECORDS_A_LOCK && turn.file->offset - begin < *inout_left; ++i) {
      more = board_event_file_next(turn.file, &record);
      if (more) status = board_run_take(run, turn.index, record);
      more = more && !status;
    }
    ++run->version;
    leat_mutex_unlock(&run->lock);
    let_readers_pass(run);
  }
  uint64_t read = turn.file->offset - begin;
  *inout_left -= read < *inout_left ? read : *inout_left;
  *out_changed |= read > 0;
  if (!status) {
    status = turn.file->broken;
    turn.file->broken = leat_ok_status();
  }
  board_event_file_close(turn.file);
  return status;
}

static leat_status_t load_up_to(board_run_t* run, uint64_t left, bool* out_changed) {
  leat_file_system_t* fs = leat_file_system_default();
  turn_t* turns = NULL;
  *out_changed = false;
  leat_mutex_lock(&run->lock);
  leat_status_t status = fs->vtable->list(fs, run->directory, note_file, run);
  if (!status && run->file_count) {
    status = LEAT_ALLOCATE(leat_allocator_system(), run->file_count, &turns);
  }
  for (size_t i = 0; turns && i < run->file_count; ++i) {
    turns[i] = (turn_t){run->files[i], (uint32_t)i};
  }
  size_t count = turns ? run->file_count : 0;
  leat_mutex_unlock(&run->lock);
  if (count) qsort(turns, count, sizeof *turns, compare_turns);
  for (size_t i = 0; i < count && left && !status; ++i) {
    bool replaced = false;
    status = load_file(run, turns[i], &left, out_changed, &replaced);
    if (replaced) {
      leat_mutex_lock(&run->lock);
      board_run_forget(run);
      leat_mutex_unlock(&run->lock);
      *out_changed = true;
      i = (size_t)-1;  // all files, from the first
    }
  }
  leat_allocator_free(leat_allocator_system(), turns);
  return status;
}

leat_status_t board_run_load(board_run_t* run, bool* out_changed) {
  return load_up_to(run, UINT64_MAX, out_changed);
}

leat_status_t board_run_begin(board_run_t* run, uint64_t bytes, bool* out_changed) {
  *out_changed = false;
  return run->has_events ? leat_ok_status() : load_up_to(run, bytes, out_changed);
}
