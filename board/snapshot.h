// A copy of what a series held at one moment, so that an answer is made without a lock; and the
// values that it did not hold, read from the event files.
#ifndef LEAT_BOARD_SNAPSHOT_H_
#define LEAT_BOARD_SNAPSHOT_H_

#include "base/arena.h"
#include "board/run.h"
#include "formats/generated/summary.h"

typedef struct board_snapshot_s {
  uint32_t count;
  const int64_t* steps;
  const double* wall_times;
  const double* values;  // of scalars, else NULL
  const board_place_t* places;
  const char** paths;  // of the files that |places| name
  board_form_t form;
  board_number_kind_t number_kind;
  leat_string_view_t content;  // of the metadata
} board_snapshot_t;

// Copies the series |tag| of |run| into |arena|. NOT_FOUND where the run has none of that plugin
// and class. Takes the run's lock.
LEAT_MUST_USE leat_status_t board_snapshot_take(board_run_t* run, leat_string_view_t tag,
                                                const char* plugin, board_data_class_t data_class,
                                                leat_arena_t* arena,
                                                board_snapshot_t* out_snapshot);
// Keeps |count| points, chosen by TensorBoard's rule.
LEAT_MUST_USE leat_status_t board_snapshot_thin(board_snapshot_t* snapshot, uint32_t count,
                                                leat_arena_t* arena);
// Orders the points of a blob sequence by step and keeps the first of each step.
LEAT_MUST_USE leat_status_t board_snapshot_sort(board_snapshot_t* snapshot, leat_arena_t* arena);
// The bytes that the point |index| points at.
LEAT_MUST_USE leat_status_t board_snapshot_bytes(const board_snapshot_t* snapshot, uint32_t index,
                                                 leat_arena_t* arena,
                                                 leat_string_view_t* out_bytes);
// The same, decoded.
LEAT_MUST_USE leat_status_t board_snapshot_value(const board_snapshot_t* snapshot, uint32_t index,
                                                 leat_arena_t* arena,
                                                 leat_pb_summary_value_t* out_value);

#endif  // LEAT_BOARD_SNAPSHOT_H_
