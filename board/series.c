// Adds points to a series, and takes out those that the reservoir or a restart of the program
// drops. The slots are either memory of the series or, for a run whose index file was mapped, parts
// of that file, which nobody writes to: the first change copies them. They grow by doubling, up to
// the reservoir's size. Steps stay in the order in which they were written, so that a purge removes
// from the middle too.
//
// A full reservoir that takes out a point leaves a hole, because moving all points behind it costs
// more than reading the event did. The holes are closed when there is no slot left behind the
// points, of which a full series has some more than points, and when somebody looks. The last slot
// in use is never a hole.
#include "board/series.h"

#include "base/allocator.h"

#define FIRST_CAPACITY 4

static void free_slots(board_series_t* series) {
  leat_allocator_t* allocator = leat_allocator_system();
  if (series->capacity) {
    leat_allocator_free(allocator, series->slots.steps);
    leat_allocator_free(allocator, series->slots.wall_times);
    leat_allocator_free(allocator, series->slots.values);
    leat_allocator_free(allocator, series->slots.places);
  }
  leat_allocator_free(allocator, series->holes);
  series->holes = NULL;
  series->capacity = 0;
}

void board_series_borrow(board_series_t* series, int64_t* steps, double* wall_times, void* items) {
  free_slots(series);
  series->used = series->count;
  series->slots.steps = steps;
  series->slots.wall_times = wall_times;
  series->slots.values = series->form == BOARD_FORM_SCALAR ? items : NULL;
  series->slots.places = series->form == BOARD_FORM_SCALAR ? NULL : items;
}

void board_series_deinitialize(board_series_t* series) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_allocator_free(allocator, series->tag);
  leat_allocator_free(allocator, series->plugin);
  leat_allocator_free(allocator, series->display_name);
  leat_allocator_free(allocator, series->description);
  leat_allocator_free(allocator, (char*)series->content.data);
  free_slots(series);
  *series = (board_series_t){0};
}

// ---- Holes --------------------------------------------------------------------------------------
// How many holes a full series may have.
static uint32_t hole_limit(const board_series_t* series) {
  return series->reservoir.size / 16 + 1;
}

// Moves what lies behind each hole of one column. There is at least one hole.
static void close_holes_of(const board_series_t* series, void* column, size_t item_bytes) {
  uint32_t count = series->used - series->count, to = series->holes[0];
  char* slots = column;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t from = series->holes[i] + 1;
    uint32_t end = i + 1 < count ? series->holes[i + 1] : series->used;
    memmove(slots + to * item_bytes, slots + from * item_bytes, (end - from) * item_bytes);
    to += end - from;
  }
}

static void close_holes(board_series_t* series) {
  board_columns_t* slots = &series->slots;
  if (series->used == series->count) return;
  LEAT_DCHECK(series->used > series->count && series->capacity);
  close_holes_of(series, slots->steps, sizeof *slots->steps);
  close_holes_of(series, slots->wall_times, sizeof *slots->wall_times);
  if (slots->values) close_holes_of(series, slots->values, sizeof *slots->values);
  if (slots->places) close_holes_of(series, slots->places, sizeof *slots->places);
  series->used = series->count;
}

// Makes a hole of the point |index|, which is not the last one. There is room for it.
static void make_hole(board_series_t* series, uint32_t index) {
  uint32_t count = series->used - series->count, low = 0, high = count;
  LEAT_DCHECK(count < hole_limit(series) && index + 1 < series->count);
  // Before the hole i there are holes[i] - i points.
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (series->holes[middle] - middle > index) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  memmove(series->holes + low + 1, series->holes + low, (count - low) * sizeof *series->holes);
  series->holes[low] = index + low;
  --series->count;
}

board_columns_t board_series_columns(board_series_t* series) {
  close_holes(series);
  series->slots.count = series->count;
  return series->slots;
}

// ---- Adding -------------------------------------------------------------------------------------
// Moves one column into |capacity| slots; the old ones stay where they belong to a file.
static leat_status_t move_column(const board_series_t* series, uint32_t capacity, size_t item_bytes,
                                 void** inout_column) {
  void* grown = NULL;
  if (series->capacity) {
    return leat_allocator_reallocate(leat_allocator_system(), series->capacity * item_bytes,
                                     capacity * item_bytes, inout_column);
  }
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(
      leat_allocator_system(), 16, capacity * item_bytes, &grown));
  if (series->used) memcpy(grown, *inout_column, series->used * item_bytes);
  *inout_column = grown;
  return leat_ok_status();
}

// Moves the columns into |capacity| slots of the series's own.
static leat_status_t move_slots(board_series_t* series, uint32_t capacity) {
  board_columns_t* slots = &series->slots;
  board_columns_t moved = *slots;
  LEAT_RETURN_IF_ERROR(move_column(series, capacity, sizeof *slots->steps, (void**)&moved.steps));
  slots->steps = moved.steps;
  LEAT_RETURN_IF_ERROR(
      move_column(series, capacity, sizeof *slots->wall_times, (void**)&moved.wall_times));
  slots->wall_times = moved.wall_times;
  if (series->form == BOARD_FORM_SCALAR) {
    LEAT_RETURN_IF_ERROR(
        move_column(series, capacity, sizeof *slots->values, (void**)&moved.values));
    slots->values = moved.values;
  } else {
    LEAT_RETURN_IF_ERROR(
        move_column(series, capacity, sizeof *slots->places, (void**)&moved.places));
    slots->places = moved.places;
  }
  series->capacity = capacity;
  return leat_ok_status();
}

// Makes the slots the series's own, with room for one point more.
static leat_status_t make_room(board_series_t* series) {
  uint32_t capacity = series->used < FIRST_CAPACITY ? FIRST_CAPACITY : series->used * 2;
  if (series->used < series->capacity) return leat_ok_status();
  if (capacity > series->reservoir.size) capacity = series->reservoir.size;
  if (capacity <= series->used) capacity = series->used + 1;
  return move_slots(series, capacity);
}

// Takes out the point |removed| of a series that is full, and makes room for the one that comes.
static leat_status_t displace(board_series_t* series, uint32_t removed) {
  uint32_t limit = hole_limit(series);
  if (!series->holes) {
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), limit, &series->holes));
  }
  if (series->capacity < series->used + 1) {
    close_holes(series);
    if (series->capacity < series->count + limit) {
      LEAT_RETURN_IF_ERROR(move_slots(series, series->count + limit));
    }
  }
  make_hole(series, removed);
  return leat_ok_status();
}

leat_status_t board_series_add(board_series_t* series, int64_t step, double wall_time, double value,
                               board_place_t place) {
  uint32_t removed;
  LEAT_RETURN_IF_ERROR(board_reservoir_offer(&series->reservoir, series->count, &removed));
  if (removed == BOARD_RESERVOIR_NONE || !series->capacity) {
    LEAT_RETURN_IF_ERROR(make_room(series));
  }
  if (removed != BOARD_RESERVOIR_NONE) {
    if (removed + 1 < series->count) {
      LEAT_RETURN_IF_ERROR(displace(series, removed));
    } else {
      --series->used;
      --series->count;
    }
  }
  series->slots.steps[series->used] = step;
  series->slots.wall_times[series->used] = wall_time;
  if (series->form == BOARD_FORM_SCALAR) {
    series->slots.values[series->used] = value;
  } else {
    series->slots.places[series->used] = place;
  }
  ++series->used;
  ++series->count;
  return leat_ok_status();
}

uint32_t board_series_purge(board_series_t* series, int64_t step) {
  board_columns_t* slots = &series->slots;
  uint32_t before = series->count, kept = 0;
  close_holes(series);
  for (uint32_t i = 0; i < before; ++i) kept += slots->steps[i] < step;
  if (kept == before) return 0;
  // A column that belongs to a file is not written to.
  if (!series->capacity && make_room(series)) return 0;
  kept = 0;
  for (uint32_t i = 0; i < before; ++i) {
    if (slots->steps[i] >= step) continue;
    slots->steps[kept] = slots->steps[i];
    slots->wall_times[kept] = slots->wall_times[i];
    if (slots->values) slots->values[kept] = slots->values[i];
    if (slots->places) slots->places[kept] = slots->places[i];
    ++kept;
  }
  series->count = series->used = kept;
  board_reservoir_purge(&series->reservoir, before, kept);
  return before - kept;
}
