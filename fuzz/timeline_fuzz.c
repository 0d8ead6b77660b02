// Recordings read back from arbitrary bytes. Whatever was read must be in order: slices of a lane
// do not overlap, their names exist, what is covered adds up, and a window loses no slice. Then the
// delays of the steps are found, whose paths must fill them, and reported.
#include <stdlib.h>

#include "memory_file.h"
#include "trace/delay.h"

static void check_lane(const leat_timeline_t* timeline, const leat_lane_t* lane) {
  int64_t covered_ns = 0, last_ns = timeline->begin_ns;
  for (size_t i = 0; i < lane->count; ++i) {
    const leat_slice_t* slice = &lane->slices[i];
    if (slice->begin_ns < last_ns || slice->end_ns < slice->begin_ns) __builtin_trap();
    if (slice->covered_ns != covered_ns || slice->name >= timeline->name_count) __builtin_trap();
    covered_ns += slice->end_ns - slice->begin_ns;
    last_ns = slice->end_ns;
  }
  const leat_time_window_t window = {timeline->begin_ns, timeline->end_ns + 1,
                                (timeline->end_ns - timeline->begin_ns) / 100 + 1};
  leat_lane_cursor_t at = leat_lane_seek(lane, window.begin_ns);
  size_t count = at.at;
  leat_time_window_item_t item;
  while (leat_lane_next(lane, &window, &at, &item)) count += item.count;
  if (count != lane->count) __builtin_trap();
}

static void check_paths(const leat_delays_t* delays) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  for (size_t i = 0; i < delays->step_count; ++i) {
    leat_path_piece_t* pieces;
    size_t count;
    leat_status_t status = leat_delays_path(delays, i, &arena, &pieces, &count);
    if (status) __builtin_trap();
    int64_t now_ns = delays->steps[i].begin_ns;
    for (size_t k = 0; k < count; ++k) {
      if (pieces[k].begin_ns != now_ns) __builtin_trap();
      now_ns = pieces[k].end_ns;
    }
    if (now_ns != delays->steps[i].end_ns) __builtin_trap();
  }
  leat_arena_deinitialize(&arena);
}

static void check_delays(const leat_timeline_t* timeline) {
  leat_delays_t* delays;
  leat_string_builder_t report;
  leat_status_t status = leat_delays_find(timeline, &delays);
  if (status) __builtin_trap();
  check_paths(delays);
  leat_string_builder_initialize(leat_allocator_system(), &report);
  leat_status_free(leat_delays_report(delays, &report));
  leat_string_builder_deinitialize(&report);
  leat_delays_free(delays);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory_file_system_t files;
  leat_timeline_t* timeline;
  memory_file_system_initialize(data, size, &files);
  leat_status_t status = leat_timeline_read(&files.base, "memory", &timeline);
  for (size_t i = 0; !status && i < timeline->row_count; ++i) {
    for (uint32_t lane = 0; lane < timeline->rows[i]->lane_count; ++lane) {
      check_lane(timeline, &timeline->rows[i]->lanes[lane]);
    }
  }
  if (!status) check_delays(timeline);
  if (!status) leat_timeline_free(timeline);
  leat_status_free(status);
  return 0;
}
