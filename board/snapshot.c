// Values that lie in event files are read after the lock was let go, and a file may have been cut
// or replaced in between. Then the bytes are not what the place meant: they do not decode, or are
// those of another value. The former gives an error, and the latter is harmless, since the run is
// read anew at its next round. What a series holds itself is copied under the lock, paths included,
// because the run goes on growing while an answer is made of the copy.
#include "board/snapshot.h"

#include <stdlib.h>

#include "board/python_random.h"
#include "formats/wire/decode.h"

static leat_status_t copy_items(leat_arena_t* arena, const void* items, size_t bytes,
                                const void** out_copy) {
  void* copy;
  *out_copy = NULL;
  if (!items) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, bytes + 1, &copy));
  memcpy(copy, items, bytes);
  *out_copy = copy;
  return leat_ok_status();
}

// Copies the columns and the paths. The lock is held.
static leat_status_t copy_locked(const board_run_t* run, board_series_t* series,
                                 leat_arena_t* arena, board_snapshot_t* out) {
  const board_columns_t columns = board_series_columns(series);
  const size_t count = columns.count;
  out->count = columns.count;
  out->form = series->form;
  out->number_kind = series->number_kind;
  LEAT_RETURN_IF_ERROR(
      copy_items(arena, columns.steps, count * sizeof(int64_t), (const void**)&out->steps));
  LEAT_RETURN_IF_ERROR(copy_items(arena, columns.wall_times, count * sizeof(double),
                                  (const void**)&out->wall_times));
  LEAT_RETURN_IF_ERROR(
      copy_items(arena, columns.values, count * sizeof(double), (const void**)&out->values));
  LEAT_RETURN_IF_ERROR(copy_items(arena, columns.places, count * sizeof(board_place_t),
                                  (const void**)&out->places));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, series->content, &out->content));
  if (!columns.places) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, run->file_count, &out->paths));
  for (size_t i = 0; i < run->file_count; ++i) {
    leat_string_view_t path;
    LEAT_RETURN_IF_ERROR(
        leat_arena_copy_string(arena, leat_string_view_from(run->files[i]->path), &path));
    out->paths[i] = path.data;
  }
  return leat_ok_status();
}

leat_status_t board_snapshot_take(board_run_t* run, leat_string_view_t tag, const char* plugin,
                                  board_data_class_t data_class, leat_arena_t* arena,
                                  board_snapshot_t* out_snapshot) {
  *out_snapshot = (board_snapshot_t){0};
  board_run_lock(run);
  board_series_t* series = board_run_find_of(run, tag, plugin, data_class);
  leat_status_t status = series ? copy_locked(run, series, arena, out_snapshot)
                                : leat_make_status(LEAT_NOT_FOUND, "No %s data for run '%s', tag "
                                                   "'%.*s'", plugin, run->name,
                                                   LEAT_SV_ARG(tag));
  leat_mutex_unlock(&run->lock);
  return status;
}

// Replaces the points by those that |indices| names.
static leat_status_t pick(board_snapshot_t* snapshot, const uint32_t* indices, uint32_t count,
                          leat_arena_t* arena) {
  int64_t* steps = NULL;
  double *wall_times = NULL, *values = NULL;
  board_place_t* places = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &steps));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &wall_times));
  if (snapshot->values) LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &values));
  if (snapshot->places) LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &places));
  for (uint32_t i = 0; i < count; ++i) {
    steps[i] = snapshot->steps[indices[i]];
    wall_times[i] = snapshot->wall_times[indices[i]];
    if (values) values[i] = snapshot->values[indices[i]];
    if (places) places[i] = snapshot->places[indices[i]];
  }
  snapshot->count = count;
  snapshot->steps = steps;
  snapshot->wall_times = wall_times;
  snapshot->values = values;
  snapshot->places = places;
  return leat_ok_status();
}

leat_status_t board_snapshot_thin(board_snapshot_t* snapshot, uint32_t count,
                                  leat_arena_t* arena) {
  uint32_t* indices = NULL;
  if (count >= snapshot->count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &indices));
  if (!count) return pick(snapshot, indices, 0, arena);
  LEAT_RETURN_IF_ERROR(board_python_random_sample(snapshot->count - 1, count - 1, indices));
  indices[count - 1] = snapshot->count - 1;
  return pick(snapshot, indices, count, arena);
}

typedef struct rank_s {
  int64_t step;
  uint32_t index;
} rank_t;

static int compare_ranks(const void* a, const void* b) {
  const rank_t *x = a, *y = b;
  if (x->step != y->step) return x->step < y->step ? -1 : 1;
  return x->index < y->index ? -1 : 1;
}

leat_status_t board_snapshot_sort(board_snapshot_t* snapshot, leat_arena_t* arena) {
  rank_t* ranks = NULL;
  uint32_t *indices = NULL, count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, snapshot->count + 1, &ranks));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, snapshot->count + 1, &indices));
  for (uint32_t i = 0; i < snapshot->count; ++i) ranks[i] = (rank_t){snapshot->steps[i], i};
  qsort(ranks, snapshot->count, sizeof *ranks, compare_ranks);
  for (uint32_t i = 0; i < snapshot->count; ++i) {
    if (i == 0 || ranks[i].step != ranks[i - 1].step) indices[count++] = ranks[i].index;
  }
  return pick(snapshot, indices, count, arena);
}

leat_status_t board_snapshot_bytes(const board_snapshot_t* snapshot, uint32_t index,
                                   leat_arena_t* arena, leat_string_view_t* out_bytes) {
  board_place_t place = snapshot->places[index];
  char* bytes;
  LEAT_DCHECK(index < snapshot->count);
  LEAT_RETURN_IF_ERROR(
      board_event_file_read(snapshot->paths[place.file], place.offset, place.size, &bytes));
  leat_status_t status =
      leat_arena_copy_string(arena, leat_string_view_make(bytes, place.size), out_bytes);
  leat_allocator_free(leat_allocator_system(), bytes);
  return status;
}

leat_status_t board_snapshot_value(const board_snapshot_t* snapshot, uint32_t index,
                                   leat_arena_t* arena, leat_pb_summary_value_t* out_value) {
  leat_decode_limits_t limits = {.max_memory_bytes = (uint64_t)1 << 30};
  leat_string_view_t bytes;
  LEAT_RETURN_IF_ERROR(board_snapshot_bytes(snapshot, index, arena, &bytes));
  return leat_message_decode(&leat_pb_summary_value_descriptor, bytes, arena, &limits, out_value);
}
