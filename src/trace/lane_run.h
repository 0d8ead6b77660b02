// The runs of a lane: a tree of sums over its slices, so that a window of any length is found
// without most of the slices being looked at. A run is a stretch of slices that lie close together
// in time, with what it covers and where it ends; within it lie the runs of its parts. Time is
// divided as a ruler is: a run's slices all begin between two neighbouring multiples of a power of
// two, and each is shorter than that distance.
//
//   slices    ||| || |||          |    ||||  ||||||  |||
//   runs     [----------]        [-]  [----------------]
//            [---]  [---]             [----]  [--------]
//
// The runs of a lane lie in one array, the longer before the shorter, so that those of about equal
// length, which a window needs, are neighbours in memory and on the disk. Links make the tree: the
// first run within, and the first one behind, which may be one behind the run around both. An index
// file keeps them (board/trace_index.c).
#ifndef LEAT_TRACE_LANE_RUN_H_
#define LEAT_TRACE_LANE_RUN_H_

#include "trace/timeline.h"

#define LEAT_NO_RUN UINT32_MAX
#define LEAT_LANE_RUN_SLICES 16  // that a run has at least, unless it lies beside one that has

struct leat_lane_run_s {
  int64_t begin_ns, end_ns;  // of the first slice, and of the last
  int64_t covered_ns;
  uint32_t first, count;  // slices of the lane
  uint32_t name;          // of the first slice
  // All slices are shorter than 2^bits, and begin where the times are alike but for so many bits.
  uint32_t bits;
  uint32_t inner, next;  // the first run within, and the first behind; LEAT_NO_RUN
};

// Makes the runs of a lane whose slices are in order. |*out_runs| is the caller's, of the system's
// allocator. A lane of few slices has none, and one of more than half a billion, for which the
// links are too short, neither.
LEAT_MUST_USE leat_status_t leat_lane_runs_make(const leat_lane_t* lane,
                                                leat_lane_run_t** out_runs, uint32_t* out_count);

#endif  // LEAT_TRACE_LANE_RUN_H_
