// Adds points to a series, and takes out those that the reservoir or a restart of the program
// drops. The columns are either memory of the series or, for a run whose index file was mapped,
// parts of that file, which nobody writes to: the first change copies them. Columns grow by
// doubling, up to the reservoir's size, and stay at that, since from then on one point goes for
// each that comes. Steps stay in the order in which they were written, so that a purge removes from
// the middle too.
#include "board/series.h"

#include "base/allocator.h"

#define FIRST_CAPACITY 4

static void free_columns(board_series_t* series) {
  leat_allocator_t* allocator = leat_allocator_system();
  if (series->capacity) {
    leat_allocator_free(allocator, series->steps);
    leat_allocator_free(allocator, series->wall_times);
    leat_allocator_free(allocator, series->values);
    leat_allocator_free(allocator, series->places);
  }
  series->capacity = 0;
}

void board_series_borrow(board_series_t* series, int64_t* steps, double* wall_times, void* items) {
  free_columns(series);
  series->steps = steps;
  series->wall_times = wall_times;
  series->values = series->form == BOARD_FORM_SCALAR ? items : NULL;
  series->places = series->form == BOARD_FORM_SCALAR ? NULL : items;
}

void board_series_deinitialize(board_series_t* series) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_allocator_free(allocator, series->tag);
  leat_allocator_free(allocator, series->plugin);
  leat_allocator_free(allocator, series->display_name);
  leat_allocator_free(allocator, series->description);
  leat_allocator_free(allocator, (char*)series->content.data);
  free_columns(series);
  *series = (board_series_t){0};
}

// Moves one column into room for |capacity| items; the old room stays where it belongs to a file.
static leat_status_t move_column(const board_series_t* series, uint32_t capacity, size_t item_bytes,
                                 void** inout_column) {
  void* grown = NULL;
  if (series->capacity) {
    return leat_allocator_reallocate(leat_allocator_system(), series->capacity * item_bytes,
                                     capacity * item_bytes, inout_column);
  }
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(
      leat_allocator_system(), 16, capacity * item_bytes, &grown));
  if (series->count) memcpy(grown, *inout_column, series->count * item_bytes);
  *inout_column = grown;
  return leat_ok_status();
}

// Makes the columns the series's own, with room for one point more.
static leat_status_t make_room(board_series_t* series) {
  uint32_t capacity = series->count < FIRST_CAPACITY ? FIRST_CAPACITY : series->count * 2;
  if (series->count < series->capacity) return leat_ok_status();
  // Beyond the reservoir's size the columns never grow.
  if (capacity > series->reservoir.size) capacity = series->reservoir.size;
  if (capacity <= series->count) capacity = series->count + 1;
  board_series_t moved = *series;
  LEAT_RETURN_IF_ERROR(move_column(series, capacity, sizeof *series->steps, (void**)&moved.steps));
  series->steps = moved.steps;
  LEAT_RETURN_IF_ERROR(
      move_column(series, capacity, sizeof *series->wall_times, (void**)&moved.wall_times));
  series->wall_times = moved.wall_times;
  if (series->form == BOARD_FORM_SCALAR) {
    LEAT_RETURN_IF_ERROR(
        move_column(series, capacity, sizeof *series->values, (void**)&moved.values));
    series->values = moved.values;
  } else {
    LEAT_RETURN_IF_ERROR(
        move_column(series, capacity, sizeof *series->places, (void**)&moved.places));
    series->places = moved.places;
  }
  series->capacity = capacity;
  return leat_ok_status();
}

#define REMOVE_ITEM(column, index, count) \
  memmove((column) + (index), (column) + (index) + 1, ((count) - (index) - 1) * sizeof *(column))

leat_status_t board_series_add(board_series_t* series, int64_t step, double wall_time, double value,
                               board_place_t place) {
  uint32_t removed;
  LEAT_RETURN_IF_ERROR(board_reservoir_offer(&series->reservoir, series->count, &removed));
  // Where one goes, one comes, and the columns stay as long as they are.
  if (removed == BOARD_RESERVOIR_NONE || !series->capacity) {
    LEAT_RETURN_IF_ERROR(make_room(series));
  }
  if (removed != BOARD_RESERVOIR_NONE) {
    REMOVE_ITEM(series->steps, removed, series->count);
    REMOVE_ITEM(series->wall_times, removed, series->count);
    if (series->values) REMOVE_ITEM(series->values, removed, series->count);
    if (series->places) REMOVE_ITEM(series->places, removed, series->count);
    --series->count;
  }
  series->steps[series->count] = step;
  series->wall_times[series->count] = wall_time;
  if (series->form == BOARD_FORM_SCALAR) {
    series->values[series->count] = value;
  } else {
    series->places[series->count] = place;
  }
  ++series->count;
  return leat_ok_status();
}

uint32_t board_series_purge(board_series_t* series, int64_t step) {
  uint32_t before = series->count, kept = 0;
  for (uint32_t i = 0; i < before; ++i) kept += series->steps[i] < step;
  if (kept == before) return 0;
  // A column that belongs to a file is not written to.
  if (!series->capacity && make_room(series)) return 0;
  kept = 0;
  for (uint32_t i = 0; i < before; ++i) {
    if (series->steps[i] >= step) continue;
    series->steps[kept] = series->steps[i];
    series->wall_times[kept] = series->wall_times[i];
    if (series->values) series->values[kept] = series->values[i];
    if (series->places) series->places[kept] = series->places[i];
    ++kept;
  }
  series->count = kept;
  board_reservoir_purge(&series->reservoir, before, kept);
  return before - kept;
}
