// A window is walked from pixel to pixel. Where the lane has runs (trace/lane_run.h), each one that
// lies within a pixel is taken as a whole, and one that does not is replaced by those within it; so
// a window costs as much as it has pixels, whether they show a thousand slices or a billion, and
// what it reads lies close together. Slices that are in no run are walked themselves: the next
// pixel's first one is found by a search that doubles its stride. The answer does not depend on the
// runs, only its cost does.
//
// A run is only taken where all of its slices begin in one pixel and are shorter than it. When
// borders of pixels lie at multiples of a power of two, no run that is so short crosses them: for
// that a window is aligned. The sixteenth to the eighth part of a pixel is such a power.
//
// The lanes and runs of an image may be any bytes until they are verified. So times are subtracted
// without overflow, and a run that leads back or beyond the lane counts as none.
#include "base/checked.h"
#include "trace/lane_run.h"

#define MAX_DESCENTS 128       // more than a true lane's runs nest
#define LEAST_ALIGNED_NS 1024  // shorter pixels hold few slices
#define GRAIN_BITS 3           // by which the power of two is smaller than a pixel

// The first slice from |low| on, and before |high|, that begins at |time_ns| or later.
static size_t bisect(const leat_lane_t* lane, size_t low, size_t high, int64_t time_ns) {
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (lane->slices[middle].begin_ns < time_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The same, for one that is near |from|.
static size_t find_begin(const leat_lane_t* lane, size_t from, size_t limit, int64_t time_ns) {
  size_t stride = 1, low = from, high = from;
  while (high < limit && lane->slices[high].begin_ns < time_ns) {
    low = high + 1;
    high += stride;
    stride *= 2;
  }
  return bisect(lane, low, LEAT_MIN(high, limit), time_ns);
}

// The first slice from |from| on, and before |limit|, that ends after |time_ns| or begins there.
static size_t find_end(const leat_lane_t* lane, size_t from, size_t limit, int64_t time_ns) {
  const size_t next = bisect(lane, from, limit, time_ns);
  return next > from && lane->slices[next - 1].end_ns > time_ns ? next - 1 : next;
}

size_t leat_lane_find(const leat_lane_t* lane, int64_t time_ns) {
  return find_end(lane, 0, lane->count, time_ns);
}

// The run at |cursor|, which begins there or behind it; NULL: there is none.
static const leat_lane_run_t* run_of(const leat_lane_t* lane, const leat_lane_cursor_t* cursor) {
  if (cursor->run >= lane->run_count) return NULL;
  const leat_lane_run_t* run = &lane->runs[cursor->run];
  const bool is_sound = run->first >= cursor->at && run->count > 0 && run->bits < 63 &&
                        (uint64_t)run->first + run->count <= lane->count;
  return is_sound ? run : NULL;
}

static leat_lane_cursor_t cursor_at_begin(const leat_lane_t* lane) {
  return (leat_lane_cursor_t){0, lane->run_count ? 0 : LEAT_NO_RUN};
}

leat_lane_cursor_t leat_lane_seek(const leat_lane_t* lane, int64_t time_ns) {
  leat_lane_cursor_t cursor = cursor_at_begin(lane);
  const leat_lane_run_t* run;
  size_t limit = lane->count;
  int descents = 0;
  while ((run = run_of(lane, &cursor)) != NULL && descents < MAX_DESCENTS) {
    if (run->end_ns < time_ns) {
      cursor.at = run->first + run->count;
      cursor.run = run->next;
      continue;
    }
    limit = run->first;
    if (run->begin_ns >= time_ns) break;
    cursor.at = run->first;
    limit = run->first + run->count;
    cursor.run = run->inner != LEAT_NO_RUN ? run->inner : run->next;
    if (run->inner == LEAT_NO_RUN) break;
    ++descents;
  }
  cursor.at = find_end(lane, cursor.at, limit, time_ns);
  return cursor;
}

static int64_t difference(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static int64_t duration(const leat_slice_t* slice) {
  return difference(slice->end_ns, slice->begin_ns);
}

// Where the pixel ends in which |time_ns| lies, which is before the window's end.
static int64_t pixel_end(const leat_time_window_t* window, int64_t time_ns) {
  if (time_ns < window->begin_ns) return window->begin_ns;
  const int64_t pixel = (time_ns - window->begin_ns) / window->pixel_ns;
  return window->begin_ns + (pixel + 1) * window->pixel_ns;
}

// A portion of an item: a run, a slice, or slices one behind the other.
typedef struct portion_s {
  size_t count;
  int64_t end_ns, covered_ns;
  bool is_long;  // one slice, not shorter than a pixel
} portion_t;

// Whether all slices of the run begin before |end_ns|, as its first one does, and are shorter than
// a pixel.
static bool is_within(const leat_lane_run_t* run, const leat_time_window_t* window,
                      int64_t end_ns) {
  const int64_t step = (int64_t)1 << run->bits;
  return step <= window->pixel_ns && (run->begin_ns | (step - 1)) < end_ns;
}

// Slices that are in no run, from |at| on up to |limit| or the end of the pixel at |end_ns|.
static portion_t loose_part(const leat_lane_t* lane, const leat_time_window_t* window, size_t at,
                         size_t limit, int64_t end_ns) {
  const leat_slice_t* first = &lane->slices[at];
  if (duration(first) >= window->pixel_ns) {
    return (portion_t){1, first->end_ns, duration(first), true};
  }
  size_t end = find_begin(lane, at + 1, limit, end_ns);
  // Of those that begin in one pixel only the last can be longer than it.
  if (end - at > 1 && duration(&lane->slices[end - 1]) >= window->pixel_ns) --end;
  const leat_slice_t* last = &lane->slices[end - 1];
  return (portion_t){end - at, last->end_ns,
                  (int64_t)((uint64_t)last->covered_ns + (uint64_t)duration(last) -
                            (uint64_t)first->covered_ns), false};
}

// What comes at the cursor, in the pixel that ends at |end_ns|; moves to the run that it is, or
// that comes behind it. |*out_next| is the run behind the part.
static portion_t next_part(const leat_lane_t* lane, const leat_time_window_t* window,
                        leat_lane_cursor_t* cursor, int64_t end_ns) {
  const leat_lane_run_t* run = run_of(lane, cursor);
  for (int i = 0; run && run->first == cursor->at; ++i, run = run_of(lane, cursor)) {
    if (i == MAX_DESCENTS) {
      run = NULL;
      break;
    }
    if (is_within(run, window, end_ns) || run->count == 1) {
      const bool is_long = run->count == 1 &&
                           difference(run->end_ns, run->begin_ns) >= window->pixel_ns;
      cursor->run = run->next;
      return (portion_t){run->count, run->end_ns, run->covered_ns, is_long};
    }
    cursor->run = run->inner != LEAT_NO_RUN ? run->inner : run->next;
  }
  if (!run) cursor->run = LEAT_NO_RUN;
  return loose_part(lane, window, cursor->at, run ? run->first : lane->count, end_ns);
}

bool leat_lane_next(const leat_lane_t* lane, const leat_time_window_t* window,
                    leat_lane_cursor_t* inout_cursor, leat_time_window_item_t* out_item) {
  leat_lane_cursor_t* cursor = inout_cursor;
  leat_time_window_item_t item = {.first = cursor->at};
  int64_t end_ns = window->end_ns;
  LEAT_DCHECK(window->pixel_ns > 0);
  while (cursor->at < lane->count) {
    const leat_lane_run_t* run = run_of(lane, cursor);
    const bool has_run = run && run->first == cursor->at;
    const int64_t begin_ns = has_run ? run->begin_ns : lane->slices[cursor->at].begin_ns;
    if (begin_ns >= end_ns) break;
    if (item.count == 0) {
      end_ns = pixel_end(window, begin_ns);
      item.begin_ns = begin_ns;
      item.name = has_run ? run->name : lane->slices[cursor->at].name;
    }
    const leat_lane_cursor_t before = *cursor;
    const portion_t part = next_part(lane, window, cursor, end_ns);
    if (part.is_long && item.count) {
      *cursor = before;
      break;
    }
    cursor->at += part.count;
    item.count += part.count;
    item.end_ns = part.end_ns;
    item.covered_ns = (int64_t)((uint64_t)item.covered_ns + (uint64_t)part.covered_ns);
    if (part.is_long) break;
  }
  *out_item = item;
  return item.count > 0;
}

void leat_time_window_align(leat_time_window_t* window) {
  if (window->pixel_ns < LEAST_ALIGNED_NS) return;
  const int bits = 63 - __builtin_clzll((uint64_t)window->pixel_ns) - GRAIN_BITS;
  const int64_t grain = (int64_t)1 << bits;
  window->pixel_ns = (window->pixel_ns + grain - 1) & -grain;
  const int64_t rest = window->begin_ns % window->pixel_ns;
  window->begin_ns -= rest < 0 ? rest + window->pixel_ns : rest;
}
