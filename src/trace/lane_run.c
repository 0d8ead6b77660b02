// Runs are made from the whole of a lane downwards. A stretch of slices is parted where the highest
// bit changes in which its first and its last beginning differ; a last slice that is longer than
// the distance that this bit stands for is parted from the rest first. Only the last one can be
// that long, since the next one begins behind its end. So each parting costs a search, and parts of
// fewer than LEAT_LANE_RUN_SLICES slices are not looked into: making the runs touches a small part
// of the slices.
//
// Of stretches within each other, as they come where the slices lie at one end, a run is kept of
// those only whose level (the logarithm of their number of slices) is below that of the run around
// them. Those of one level are hence disjoint, and all levels together have at most an eighth as
// many runs as the lane has slices, but for the following. Where a part of many slices lies beside
// one of few, the latter gets a run too, on the level of the other: a window that takes the one as
// a whole finds the few slices beside it there, and not at a distant place of the lane. If they lie
// much farther apart than those of the other, a window may show each by itself and yet many of the
// others as one; then the few are parted further, down to single slices. Of a stretch of which
// neither part has enough slices for a run, the parts get some if they differ so much.
//
// Runs come in the order of their beginnings, the outer before the inner. Those that are open lie
// on a stack; when one comes that begins behind them it is their next.
#include "trace/lane_run.h"

#include "base/checked.h"

#define MAX_LEVELS 32
#define MAX_OPEN (MAX_LEVELS + LEAT_LANE_RUN_SLICES)  // one of each level, and parts of a short one
#define FAR_BITS 4  // by how much the distances of slices differ that lie much farther apart
#define MAX_SLICES ((size_t)1 << 29)
// While runs are made a link has the level in its upper bits and the place there in its lower.
#define PLACE_BITS 27

typedef struct level_s {
  leat_lane_run_t* items;
  size_t count, capacity;
} level_t;

typedef struct maker_s {
  const leat_lane_t* lane;
  level_t levels[MAX_LEVELS];
  uint32_t open[MAX_OPEN];
  uint32_t open_count;
} maker_t;

static uint32_t bits_of(int64_t number) {
  return number ? 64 - (uint32_t)__builtin_clzll((uint64_t)number) : 0;
}

static uint32_t level_of(size_t slices) {
  LEAT_DCHECK(slices >= LEAT_LANE_RUN_SLICES);
  return bits_of((int64_t)(slices / LEAT_LANE_RUN_SLICES)) - 1;
}

static leat_lane_run_t* run_of(maker_t* maker, uint32_t link) {
  return &maker->levels[link >> PLACE_BITS].items[link & (((uint32_t)1 << PLACE_BITS) - 1)];
}

static int64_t duration(const leat_slice_t* slice) { return slice->end_ns - slice->begin_ns; }

// The stretch from |first| to |end|, and how far its times differ.
typedef struct stretch_s {
  size_t first, end;
  uint32_t begin_bits, last_bits;  // of the beginnings; of the length of the last slice
} stretch_t;

static stretch_t stretch_of(const leat_lane_t* lane, size_t first, size_t end) {
  const leat_slice_t* slices = lane->slices;
  LEAT_DCHECK(first < end && end <= lane->count);
  return (stretch_t){first, end, bits_of(slices[first].begin_ns ^ slices[end - 1].begin_ns),
                     bits_of(duration(&slices[end - 1]))};
}

static uint32_t run_bits(const stretch_t* stretch) {
  return LEAT_MAX(stretch->begin_bits, stretch->last_bits);
}

static leat_status_t add_run(maker_t* maker, const stretch_t* stretch, uint32_t level_index) {
  level_t* level = &maker->levels[level_index];
  const leat_slice_t* first = &maker->lane->slices[stretch->first];
  const leat_slice_t* last = &maker->lane->slices[stretch->end - 1];
  const uint32_t link = level_index << PLACE_BITS | (uint32_t)level->count;
  LEAT_DCHECK(level->count < (size_t)1 << PLACE_BITS);
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), level->count + 1, &level->items,
                                 &level->capacity));
  level->items[level->count++] = (leat_lane_run_t){
      .begin_ns = first->begin_ns,
      .end_ns = last->end_ns,
      .covered_ns = last->covered_ns + duration(last) - first->covered_ns,
      .first = (uint32_t)stretch->first,
      .count = (uint32_t)(stretch->end - stretch->first),
      .name = first->name,
      .bits = run_bits(stretch),
      .inner = LEAT_NO_RUN,
      .next = LEAT_NO_RUN};
  for (; maker->open_count > 0; --maker->open_count) {
    leat_lane_run_t* before = run_of(maker, maker->open[maker->open_count - 1]);
    if (before->first + before->count > stretch->first) {
      if (before->inner == LEAT_NO_RUN) before->inner = link;
      break;
    }
    before->next = link;
  }
  LEAT_DCHECK(maker->open_count < MAX_OPEN);
  maker->open[maker->open_count++] = link;
  return leat_ok_status();
}

// Where the stretch is parted; its end: all slices begin at one moment and have no length.
static size_t part(const leat_lane_t* lane, const stretch_t* stretch) {
  if (stretch->last_bits > stretch->begin_bits) return stretch->end - 1;
  if (stretch->begin_bits == 0) return stretch->end;
  const int64_t step = (int64_t)1 << (stretch->begin_bits - 1);
  const int64_t border_ns = lane->slices[stretch->end - 1].begin_ns & -step;
  size_t low = stretch->first + 1, high = stretch->end - 1;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (lane->slices[middle].begin_ns < border_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// About the logarithm of how far the slices lie apart.
static int distance_bits(const stretch_t* stretch) {
  return (int)run_bits(stretch) - (int)bits_of((int64_t)(stretch->end - stretch->first)) + 1;
}

// Adds the runs of a stretch of few slices, which lies beside one of |level| whose slices are as
// far apart as |near_bits| says.
static leat_status_t add_short(maker_t* maker, const stretch_t* stretch, uint32_t level,
                               int near_bits) {
  LEAT_RETURN_IF_ERROR(add_run(maker, stretch, level));
  if (distance_bits(stretch) < near_bits + FAR_BITS) return leat_ok_status();
  const size_t middle = part(maker->lane, stretch);
  if (middle == stretch->first || middle == stretch->end) return leat_ok_status();
  const stretch_t left = stretch_of(maker->lane, stretch->first, middle);
  const stretch_t right = stretch_of(maker->lane, middle, stretch->end);
  LEAT_RETURN_IF_ERROR(add_short(maker, &left, level, near_bits));
  return add_short(maker, &right, level, near_bits);
}

// Adds the runs of a stretch that has enough slices for one; |around| is the level of the run in
// which it lies. Each call parts by a lower bit than the one around it, so that they nest no deeper
// than there are bits.
static leat_status_t add_stretch(maker_t* maker, size_t first, size_t end, uint32_t around) {
  const stretch_t stretch = stretch_of(maker->lane, first, end);
  const uint32_t level = level_of(end - first);
  if (level < around) {
    LEAT_RETURN_IF_ERROR(add_run(maker, &stretch, level));
    around = level;
  }
  const size_t middle = part(maker->lane, &stretch);
  if (middle == end) return leat_ok_status();
  const stretch_t halves[] = {stretch_of(maker->lane, first, middle),
                              stretch_of(maker->lane, middle, end)};
  const int near_bits = LEAT_MIN(distance_bits(&halves[0]), distance_bits(&halves[1]));
  const int far_bits = LEAT_MAX(distance_bits(&halves[0]), distance_bits(&halves[1]));
  const size_t most = LEAT_MAX(middle - first, end - middle);
  if (most < LEAT_LANE_RUN_SLICES && far_bits < near_bits + FAR_BITS) return leat_ok_status();
  for (int i = 0; i < 2; ++i) {
    const stretch_t* half = &halves[i];
    leat_status_t status =
        half->end - half->first >= LEAT_LANE_RUN_SLICES
            ? add_stretch(maker, half->first, half->end, around)
            : add_short(maker, half, level_of(LEAT_MAX(most, LEAT_LANE_RUN_SLICES)), near_bits);
    if (status) return status;
  }
  return leat_ok_status();
}

// Lays the levels one behind the other, the highest first.
static leat_status_t join_levels(maker_t* maker, leat_lane_run_t** out_runs,
                                 uint32_t* out_count) {
  size_t offsets[MAX_LEVELS], count = 0;
  for (int i = MAX_LEVELS; i-- > 0;) {
    offsets[i] = count;
    count += maker->levels[i].count;
  }
  leat_lane_run_t* runs;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(
      leat_allocator_system(), 16, (count + 1) * sizeof *runs, (void**)&runs));
  for (int i = 0; i < MAX_LEVELS; ++i) {
    for (size_t k = 0; k < maker->levels[i].count; ++k) {
      leat_lane_run_t* run = &runs[offsets[i] + k];
      *run = maker->levels[i].items[k];
      uint32_t* const links[] = {&run->inner, &run->next};
      for (int l = 0; l < 2; ++l) {
        if (*links[l] == LEAT_NO_RUN) continue;
        const uint32_t place = *links[l] & (((uint32_t)1 << PLACE_BITS) - 1);
        *links[l] = (uint32_t)offsets[*links[l] >> PLACE_BITS] + place;
      }
    }
  }
  *out_runs = runs;
  *out_count = (uint32_t)count;
  return leat_ok_status();
}

leat_status_t leat_lane_runs_make(const leat_lane_t* lane, leat_lane_run_t** out_runs,
                                  uint32_t* out_count) {
  maker_t maker = {.lane = lane};
  *out_runs = NULL;
  *out_count = 0;
  if (lane->count < LEAT_LANE_RUN_SLICES || lane->count > MAX_SLICES) return leat_ok_status();
  leat_status_t status = add_stretch(&maker, 0, lane->count, MAX_LEVELS);
  if (!status) status = join_levels(&maker, out_runs, out_count);
  for (int i = 0; i < MAX_LEVELS; ++i) {
    leat_allocator_free(leat_allocator_system(), maker.levels[i].items);
  }
  return status;
}
