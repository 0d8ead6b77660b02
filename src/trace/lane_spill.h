// A file for the slices of lanes that are more than the memory is meant to hold while a recording
// is read (trace/timeline_image.h). When the lanes take more than the limit, all but the last slice
// of each is written to the file's end, one piece for each lane, and the lane goes on with that one
// slice, the only one that still changes. So a large recording makes few and large pieces.
#ifndef LEAT_TRACE_LANE_SPILL_H_
#define LEAT_TRACE_LANE_SPILL_H_

#include "trace/timeline.h"

// Slices of a lane in the file: |count| slices at |offset|, behind them their values, then their
// steps. The pieces of a lane are in the order of its slices.
typedef struct leat_lane_piece_s {
  uint32_t row, lane;
  uint64_t offset;
  size_t count;
} leat_lane_piece_t;

struct leat_lane_spill_s {
  leat_file_system_t* files;  // borrowed, as |path| is
  const char* path;           // created when it is first needed
  leat_file_t* file;          // while it is written
  bool is_made;
  uint64_t file_bytes;
  size_t held_bytes;  // the memory of the lanes
  size_t limit_bytes;
  size_t next_bytes;  // from which on it is written
  leat_lane_piece_t* pieces;
  size_t piece_count, piece_capacity;
};

void leat_lane_spill_initialize(leat_file_system_t* files, const char* path, size_t limit_bytes,
                                leat_lane_spill_t* out_spill);
// Removes the file too.
void leat_lane_spill_deinitialize(leat_lane_spill_t* spill);
static inline bool leat_lane_spill_is_full(const leat_lane_spill_t* spill) {
  return spill->held_bytes > spill->next_bytes;
}
// Writes what |timeline|, which is being made, has in memory. Blocks on the disk; the file system's
// errors and RESOURCE_EXHAUSTED, after which the timeline lacks nothing but cannot be trusted to be
// whole and is to be freed.
LEAT_MUST_USE leat_status_t leat_lane_spill_write(leat_lane_spill_t* spill,
                                                  leat_timeline_t* timeline);
// Closes the file for writing, and sorts the pieces by row, lane and place.
LEAT_MUST_USE leat_status_t leat_lane_spill_finish(leat_lane_spill_t* spill);

#endif  // LEAT_TRACE_LANE_SPILL_H_
