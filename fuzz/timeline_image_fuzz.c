// Images of recordings (trace/timeline_image.h) from arbitrary bytes. Their checksums are made to
// fit, since no fuzzer would find them, so that it is the numbers that are checked. What is opened
// may be looked at, whatever its slices are; what is verified must be in order, and its delays can
// be found.
#include <stdlib.h>

#include "base/crc32c.h"
#include "trace/delay.h"
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
  size_t at = leat_lane_find(lane, window->begin_ns);
  while (leat_lane_next(lane, window, &at, &item)) {
    if (at > lane->count || item.first + item.count > lane->count) __builtin_trap();
  }
}

static void check(const leat_timeline_t* timeline) {
  const leat_time_window_t window = {timeline->begin_ns, timeline->end_ns + 1,
                                     (timeline->end_ns - timeline->begin_ns) / 100 + 1};
  for (size_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      look_at(&timeline->rows[r]->lanes[l], &window);
    }
  }
  if (!leat_timeline_verify(timeline)) return;
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
