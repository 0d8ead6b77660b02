// Lanes with few slices stay in memory, because a piece of a few slices would cost a write each and
// save nothing. If they are so many that they alone exceed the limit, the next writing waits until
// the memory has doubled: otherwise each slice that comes would lead to one.
#include "trace/lane_spill.h"

#include <stdlib.h>

#include "base/checked.h"

#define LEAST_SLICES 256  // of a lane that is written
#define KEPT_SLICES 16    // the room that it has afterwards

void leat_lane_spill_initialize(leat_file_system_t* files, const char* path, size_t limit_bytes,
                                leat_lane_spill_t* out_spill) {
  *out_spill = (leat_lane_spill_t){
      .files = files, .path = path, .limit_bytes = limit_bytes, .next_bytes = limit_bytes};
}

void leat_lane_spill_deinitialize(leat_lane_spill_t* spill) {
  leat_status_free(leat_file_close(spill->file));
  if (spill->is_made) leat_status_free(spill->files->vtable->remove(spill->files, spill->path));
  leat_allocator_free(leat_allocator_system(), spill->pieces);
  *spill = (leat_lane_spill_t){0};
}

static leat_status_t put(leat_lane_spill_t* spill, const void* data, size_t size) {
  LEAT_RETURN_IF_ERROR(spill->file->vtable->write(spill->file, data, size));
  spill->file_bytes += size;
  return leat_ok_status();
}

// Leaves the lane its last slice, in memory of its own.
static leat_status_t shorten(leat_lane_t* lane) {
  leat_allocator_t* a = leat_allocator_system();
  const size_t last = lane->count - 1;
  leat_lane_t rest = {.count = 1, .capacity = KEPT_SLICES};
  leat_status_t status = LEAT_ALLOCATE(a, KEPT_SLICES, &rest.slices);
  if (!status) status = LEAT_ALLOCATE(a, KEPT_SLICES, &rest.values);
  if (!status) status = LEAT_ALLOCATE(a, KEPT_SLICES, &rest.steps);
  leat_lane_t* freed = status ? &rest : lane;
  if (!status) {
    rest.slices[0] = lane->slices[last];
    rest.values[0] = lane->values[last];
    rest.steps[0] = lane->steps[last];
  }
  leat_allocator_free(a, freed->slices);
  leat_allocator_free(a, freed->values);
  leat_allocator_free(a, freed->steps);
  if (!status) *lane = rest;
  return status;
}

static leat_status_t write_lane(leat_lane_spill_t* spill, uint32_t row, uint32_t index,
                                leat_lane_t* lane) {
  const size_t count = lane->count - 1, before = lane->capacity;
  const leat_lane_piece_t piece = {row, index, spill->file_bytes, count};
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), spill->piece_count + 1, &spill->pieces,
                                 &spill->piece_capacity));
  LEAT_RETURN_IF_ERROR(put(spill, lane->slices, count * sizeof *lane->slices));
  LEAT_RETURN_IF_ERROR(put(spill, lane->values, count * sizeof *lane->values));
  LEAT_RETURN_IF_ERROR(put(spill, lane->steps, count * sizeof *lane->steps));
  LEAT_RETURN_IF_ERROR(shorten(lane));
  spill->pieces[spill->piece_count++] = piece;
  spill->held_bytes -= (before - lane->capacity) * LEAT_LANE_ITEM_BYTES;
  return leat_ok_status();
}

leat_status_t leat_lane_spill_write(leat_lane_spill_t* spill, leat_timeline_t* timeline) {
  if (!spill->file) {
    LEAT_RETURN_IF_ERROR(leat_file_open(spill->files, spill->path, LEAT_FILE_WRITE,
                                        leat_allocator_system(), &spill->file));
    spill->is_made = true;
  }
  for (uint32_t r = 0; r < timeline->row_count; ++r) {
    leat_timeline_row_t* row = timeline->rows[r];
    for (uint32_t l = 0; l < LEAT_TIMELINE_MAX_DEPTH; ++l) {
      if (row->lanes[l].count < LEAST_SLICES) continue;
      LEAT_RETURN_IF_ERROR(write_lane(spill, r, l, &row->lanes[l]));
    }
  }
  spill->next_bytes = LEAT_MAX(spill->limit_bytes, 2 * spill->held_bytes);
  return leat_ok_status();
}

static int compare_pieces(const void* a, const void* b) {
  const leat_lane_piece_t *x = a, *y = b;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

leat_status_t leat_lane_spill_finish(leat_lane_spill_t* spill) {
  leat_status_t status = leat_file_close(spill->file);
  spill->file = NULL;
  if (spill->piece_count) {
    qsort(spill->pieces, spill->piece_count, sizeof *spill->pieces, compare_pieces);
  }
  return status;
}
