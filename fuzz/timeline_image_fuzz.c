// Images of recordings (trace/timeline_image.h) from arbitrary bytes. Their checksums are made to
// fit, since no fuzzer would find them, so that it is the numbers that are checked. What is opened
// may be looked at, whatever its slices are, and with whatever runs: all bytes of the image are
// taken for those of a lane. What is verified must be in order, its delays can be found, and the
// runs that are made of a lane change no item of its windows.
#include <stdlib.h>

#include "base/crc32c.h"
#include "trace/delay.h"
#include "trace/lane_run.h"
#include "trace/timeline_image.h"

#define HEAD_AT 12  // where the bytes begin that the first checksum covers

// Makes the two checksums fit, where the sizes of head and lanes do.
static void fit(char* data, size_t size) {
  uint64_t sizes[2];
  memcpy(sizes, data + 16, sizeof sizes);
  if (sizes[0] > size - 40 || sizes[1] > size - 40 - sizes[0]) return;
  char* lanes = data + 32 + sizes[0];
  const uint32_t crc = leat_crc32c(data + HEAD_AT, 32 - HEAD_AT + sizes[0]);
  const uint64_t lanes_crc = sizes[1] ? leat_crc32c(lanes, sizes[1]) : 0;
  memcpy(data + 8, &crc, sizeof crc);
  memcpy(lanes + sizes[1], &lanes_crc, sizeof lanes_crc);
}

static void look_at(const leat_lane_t* lane, const leat_time_window_t* window) {
  leat_time_window_item_t item;
  leat_lane_cursor_t at = leat_lane_seek(lane, window->begin_ns);
  while (leat_lane_next(lane, window, &at, &item)) {
    if (at.at > lane->count || item.first + item.count > lane->count) __builtin_trap();
  }
}

static void compare(const leat_lane_t* lane, const leat_time_window_t* window) {
  leat_time_window_item_t item, wanted;
  leat_lane_t with = *lane;
  leat_lane_run_t* runs;
  if (leat_lane_runs_make(lane, &runs, &with.run_count)) __builtin_trap();
  with.runs = runs;
  leat_lane_cursor_t at = leat_lane_seek(&with, window->begin_ns);
  leat_lane_cursor_t plain = leat_lane_seek(lane, window->begin_ns);
  while (leat_lane_next(lane, window, &plain, &wanted)) {
    if (!leat_lane_next(&with, window, &at, &item) || item.first != wanted.first ||
        item.count != wanted.count || item.end_ns != wanted.end_ns ||
        item.covered_ns != wanted.covered_ns) {
      __builtin_trap();
    }
  }
  if (leat_lane_next(&with, window, &at, &item)) __builtin_trap();
  leat_allocator_free(leat_allocator_system(), runs);
}

static void check(const leat_timeline_t* timeline) {
  leat_time_window_t window = {timeline->begin_ns, timeline->end_ns + 1,
                               (timeline->end_ns - timeline->begin_ns) / 100 + 1};
  leat_time_window_align(&window);
  const bool is_sound = leat_timeline_verify(timeline);
  for (size_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      leat_lane_t lane = timeline->rows[r]->lanes[l];
      look_at(&lane, &window);
      if (is_sound) compare(&lane, &window);
      lane.runs = (const leat_lane_run_t*)timeline->image.data;
      lane.run_count = (uint32_t)(timeline->image.size / sizeof *lane.runs);
      look_at(&lane, &window);
    }
  }
  if (!is_sound) return;
  leat_delays_t* delays;
  leat_status_t status = leat_delays_find(timeline, &delays);
  if (status) __builtin_trap();
  leat_delays_free(delays);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  leat_timeline_t* timeline;
  size_t used;
  char* image = malloc(size + 1);
  if (!image) return 0;
  memcpy(image, data, size);
  if (size >= 40) fit(image, size);
  leat_status_t status = leat_timeline_open_image(image, size, &timeline, &used);
  if (!status) {
    if (used > size) __builtin_trap();
    check(timeline);
    leat_timeline_free(timeline);
  }
  leat_status_free(status);
  free(image);
  return 0;
}
