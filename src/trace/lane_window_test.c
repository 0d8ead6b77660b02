// Windows of lanes, which are compared with a walk over all slices. The rule for windows is stated
// pixel by pixel: no pixel has more than two slices that are as long as it, and one item of shorter
// ones, and no slice and no nanosecond that a slice covers is missing. It is tested on lanes with
// and without runs, at all scales, of rows in which slices lie within slices and in bursts: with
// runs the answer must be the one without, item by item. Of what lies in runs a window must not
// look at the slices, so there they are taken away. Runs from anybody's bytes may make a picture
// wrong and nothing else.
#include "trace/lane_run.h"

#include "base/checked.h"
#include "base/random.h"
#include "base/test.h"

static uint32_t random_below(leat_philox_t* random, uint32_t limit) {
  uint32_t words[4];
  leat_philox_next(random, words);
  return words[0] % limit;
}

typedef struct row_maker_s {
  leat_timeline_builder_t* builder;
  leat_timeline_row_t* row;
  leat_philox_t* random;
  int64_t now_ns;
} row_maker_t;

// Slices within the one that is open: bursts of short ones, gaps, and long ones that have others
// within. Some have no length, and some begin where the one before ended.
static void add_slices(row_maker_t* maker, int count, int depth, uint32_t scale) {
  static const char* const kNames[] = {"a", "b", "c"};
  leat_philox_t* random = maker->random;
  uint32_t limit = 1;
  for (int i = 0; i < count; ++i) {
    if (random_below(random, 40) == 0 || i == 0) limit = 1u << random_below(random, scale);
    const leat_slice_name_t name = {leat_string_view_from(kNames[random_below(random, 3)]),
                                    LEAT_SV("n"), LEAT_SPAN_KERNEL, 0};
    const leat_slice_facts_t facts = {.value = i};
    maker->now_ns += random_below(random, 3) ? 0 : random_below(random, limit);
    LEAT_EXPECT_OK(
        leat_timeline_builder_begin(maker->builder, maker->row, maker->now_ns, &name, &facts));
    if (depth < 3 && random_below(random, 30) == 0) {
      add_slices(maker, (int)random_below(random, 300), depth + 1, LEAT_MAX(scale, 4) - 2);
    }
    maker->now_ns += random_below(random, limit);
    leat_timeline_builder_end(maker->builder, maker->row, maker->now_ns);
    if (random_below(random, 100) == 0) maker->now_ns += random_below(random, 1u << scale);
  }
}

static leat_timeline_t* make_row(leat_philox_t* random, int count, uint32_t scale) {
  row_maker_t maker = {.random = random, .now_ns = 1000};
  LEAT_EXPECT_OK(leat_timeline_builder_create(&maker.builder));
  LEAT_EXPECT_OK(leat_timeline_builder_row(maker.builder, 1, &maker.row));
  add_slices(&maker, count, 0, scale);
  leat_timeline_t* timeline = leat_timeline_builder_finish(maker.builder);
  leat_timeline_builder_free(maker.builder);
  return timeline;
}

// The lane with runs, which are freed with leat_allocator_free.
static leat_lane_t with_runs(const leat_lane_t* lane, leat_lane_run_t** out_runs) {
  leat_lane_t copy = *lane;
  LEAT_EXPECT_OK(leat_lane_runs_make(lane, out_runs, &copy.run_count));
  copy.runs = *out_runs;
  return copy;
}

// ---- The rule -----------------------------------------------------------------------------------

// Whether the slice has a nanosecond in the window, or lies in it without having one.
static bool is_in(const leat_slice_t* slice, const leat_time_window_t* window) {
  return slice->begin_ns < window->end_ns &&
         (slice->end_ns > window->begin_ns || slice->begin_ns >= window->begin_ns);
}

static void check_window(const leat_lane_t* lane, const leat_time_window_t* window) {
  size_t first = 0, end;
  leat_lane_cursor_t at = leat_lane_seek(lane, window->begin_ns);
  int64_t last_pixel = INT64_MIN;
  leat_time_window_item_t item;
  while (first < lane->count && !is_in(&lane->slices[first], window)) ++first;
  for (end = first; end < lane->count && is_in(&lane->slices[end], window); ++end) {
  }
  if (first < end) assert_int_equal(at.at, first);
  assert_int_equal(at.at, leat_lane_find(lane, window->begin_ns));
  while (leat_lane_next(lane, window, &at, &item)) {
    assert_int_equal(item.first, first);  // none is left out
    const leat_slice_t *from = &lane->slices[first], *to = &lane->slices[first + item.count - 1];
    int64_t covered = 0;
    for (size_t i = 0; i < item.count; ++i) {
      const int64_t length = from[i].end_ns - from[i].begin_ns;
      if (item.count > 1) assert_true(length < window->pixel_ns);
      covered += length;
    }
    assert_int_equal(item.covered_ns, covered);
    assert_int_equal(item.begin_ns, from->begin_ns);
    assert_int_equal(item.end_ns, to->end_ns);
    assert_int_equal(item.name, from->name);
    const bool is_short = from->end_ns - from->begin_ns < window->pixel_ns;
    if (!is_short) assert_int_equal(item.count, 1);
    if (is_short) {
      // They begin in one pixel, which has no other such item.
      const int64_t pixel = from->begin_ns < window->begin_ns
                                ? -1
                                : (from->begin_ns - window->begin_ns) / window->pixel_ns;
      assert_true(pixel > last_pixel);
      last_pixel = pixel;
      const int64_t limit = window->begin_ns + (pixel + 1) * window->pixel_ns;
      assert_true(to->begin_ns < limit || item.count == 1);
    }
    first += item.count;
  }
  assert_true(first >= end);
}

static leat_time_window_t random_window(const leat_timeline_t* timeline, leat_philox_t* random) {
  const int64_t length = timeline->end_ns - timeline->begin_ns + 1;
  leat_time_window_t window;
  window.pixel_ns = 1 + random_below(random, 1u << random_below(random, 24));
  window.begin_ns = timeline->begin_ns - 50 + random_below(random, (uint32_t)length + 100);
  window.end_ns = window.begin_ns + 1 + random_below(random, (uint32_t)length);
  if (random_below(random, 2)) leat_time_window_align(&window);
  return window;
}

static void windows_have_a_few_items_a_pixel_and_lose_nothing(void** state) {
  leat_philox_t random = leat_philox_make(3, 4);
  for (int trial = 0; trial < 40; ++trial) {
    leat_timeline_t* timeline = make_row(&random, 1 + (int)random_below(&random, 600), 12);
    leat_lane_run_t* runs;
    const leat_lane_t lane = with_runs(&timeline->rows[0]->lanes[0], &runs);
    for (int i = 0; i < 30; ++i) {
      const leat_time_window_t window = random_window(timeline, &random);
      check_window(&timeline->rows[0]->lanes[0], &window);
      check_window(&lane, &window);
    }
    leat_allocator_free(leat_allocator_system(), runs);
    leat_timeline_free(timeline);
  }
}

// ---- Runs ---------------------------------------------------------------------------------------

static void expect_same_window(const leat_lane_t* lane, const leat_lane_t* plain,
                               const leat_time_window_t* window) {
  leat_time_window_item_t got, wanted;
  leat_lane_cursor_t at = leat_lane_seek(lane, window->begin_ns);
  leat_lane_cursor_t plain_at = leat_lane_seek(plain, window->begin_ns);
  assert_int_equal(at.at, plain_at.at);
  while (leat_lane_next(plain, window, &plain_at, &wanted)) {
    assert_true(leat_lane_next(lane, window, &at, &got));
    assert_int_equal(got.first, wanted.first);
    assert_int_equal(got.count, wanted.count);
    assert_int_equal(got.begin_ns, wanted.begin_ns);
    assert_int_equal(got.end_ns, wanted.end_ns);
    assert_int_equal(got.covered_ns, wanted.covered_ns);
    assert_int_equal(got.name, wanted.name);
  }
  assert_false(leat_lane_next(lane, window, &at, &got));
}

static void runs_do_not_change_an_answer(void** state) {
  leat_philox_t random = leat_philox_make(5, 6);
  size_t lanes = 0, runs_seen = 0;
  for (int trial = 0; trial < 12; ++trial) {
    leat_timeline_t* timeline = make_row(&random, 2000, 6 + (uint32_t)trial);
    const leat_timeline_row_t* row = timeline->rows[0];
    for (uint32_t l = 0; l < row->lane_count; ++l, ++lanes) {
      leat_lane_run_t* runs;
      const leat_lane_t lane = with_runs(&row->lanes[l], &runs);
      runs_seen += lane.run_count;
      assert_true(lane.run_count <= lane.count / 3);
      // The whole at each scale, and some of its parts.
      for (int64_t pixel_ns = 1; pixel_ns < 4 * timeline->end_ns;
           pixel_ns += pixel_ns * 3 / 4 + 1) {
        leat_time_window_t window = {timeline->begin_ns, timeline->end_ns + 1, pixel_ns};
        expect_same_window(&lane, &row->lanes[l], &window);
        leat_time_window_align(&window);
        expect_same_window(&lane, &row->lanes[l], &window);
      }
      for (int i = 0; i < 40; ++i) {
        const leat_time_window_t window = random_window(timeline, &random);
        expect_same_window(&lane, &row->lanes[l], &window);
      }
      leat_allocator_free(leat_allocator_system(), runs);
    }
    leat_timeline_free(timeline);
  }
  assert_true(lanes > 24 && runs_seen > 500);
}

// Steps of a thousand short slices, a long one and three stray ones, with gaps. From a sixth of a
// step in a pixel on, a window of 300 steps looks at fewer slices than one step has.
static void a_window_of_many_slices_reads_runs_alone(void** state) {
  enum { STEPS = 300, PER_STEP = 1004, COUNT = STEPS * PER_STEP };
  static leat_slice_t slices[COUNT], nothing[COUNT];
  int64_t now_ns = 0, covered_ns = 0;
  for (int i = 0; i < COUNT; ++i) {
    const int k = i % PER_STEP;
    const int64_t length = k < 1000 ? 900 : k == 1000 ? 700000 : 3000;
    if (k > 1000) now_ns += 40000;
    slices[i] = (leat_slice_t){now_ns, now_ns + length, covered_ns, 0, 0};
    covered_ns += length;
    now_ns += length + 100;
  }
  leat_lane_run_t* runs;
  const leat_lane_t whole = {.slices = slices, .count = COUNT};
  const leat_lane_t lane = with_runs(&whole, &runs);
  leat_lane_t blind = lane;
  blind.slices = nothing;  // what is looked at there is missing in the sums
  for (int64_t pixel_ns = 300000; pixel_ns < now_ns; pixel_ns += pixel_ns / 2) {
    leat_time_window_t window = {pixel_ns * 3 / 2, now_ns, pixel_ns};
    leat_time_window_item_t item;
    leat_time_window_align(&window);
    leat_lane_cursor_t at = leat_lane_seek(&lane, window.begin_ns);
    int64_t missing_ns = covered_ns - slices[at.at].covered_ns;
    while (leat_lane_next(&blind, &window, &at, &item)) missing_ns -= item.covered_ns;
    assert_int_equal(at.at, COUNT);
    assert_true(missing_ns >= 0 && missing_ns <= 1000 * 900);
  }
  leat_allocator_free(leat_allocator_system(), runs);
}

// Runs of which any byte is another one: the walk ends, within the lane.
static void damaged_runs_lead_nowhere(void** state) {
  leat_philox_t random = leat_philox_make(7, 8);
  leat_timeline_t* timeline = make_row(&random, 2000, 8);
  leat_lane_run_t* runs;
  const leat_lane_t lane = with_runs(&timeline->rows[0]->lanes[0], &runs);
  unsigned char* bytes = (unsigned char*)runs;
  for (size_t i = 0; i < 20000; ++i) {
    const size_t at_byte = random_below(&random, (uint32_t)(lane.run_count * sizeof *runs));
    const unsigned char before = bytes[at_byte];
    bytes[at_byte] ^= (unsigned char)(1 + random_below(&random, 255));
    const leat_time_window_t window = random_window(timeline, &random);
    leat_lane_cursor_t at = leat_lane_seek(&lane, window.begin_ns);
    leat_time_window_item_t item;
    size_t last = at.at;
    assert_true(last <= lane.count);
    while (leat_lane_next(&lane, &window, &at, &item)) {
      assert_true(item.first == last && item.count > 0 && at.at == last + item.count);
      last = at.at;
      assert_true(last <= lane.count);
    }
    if (i % 4 == 0) bytes[at_byte] = before;  // and otherwise it is one more
    if (i % 64 == 0) {
      leat_allocator_free(leat_allocator_system(), runs);
      const leat_lane_t again = with_runs(&timeline->rows[0]->lanes[0], &runs);
      assert_int_equal(again.run_count, lane.run_count);
      ((leat_lane_t*)&lane)->runs = runs;
      bytes = (unsigned char*)runs;
    }
  }
  leat_allocator_free(leat_allocator_system(), runs);
  leat_timeline_free(timeline);
}

static void short_lanes_have_no_runs(void** state) {
  leat_slice_t slices[LEAT_LANE_RUN_SLICES] = {{0}};
  leat_lane_t lane = {.slices = slices, .count = LEAT_LANE_RUN_SLICES - 1};
  leat_lane_run_t* runs;
  uint32_t count;
  LEAT_EXPECT_OK(leat_lane_runs_make(&lane, &runs, &count));
  assert_true(!runs && !count);
  // All at one moment: they are one run, in whatever pixel.
  lane.count = LEAT_LANE_RUN_SLICES;
  LEAT_EXPECT_OK(leat_lane_runs_make(&lane, &runs, &count));
  assert_int_equal(count, 1);
  assert_int_equal(runs[0].count, LEAT_LANE_RUN_SLICES);
  assert_int_equal(runs[0].bits, 0);
  leat_allocator_free(leat_allocator_system(), runs);
}

static void windows_are_aligned_within_an_eighth(void** state) {
  leat_philox_t random = leat_philox_make(9, 10);
  for (int i = 0; i < 10000; ++i) {
    const int64_t pixel_ns = 1 + random_below(&random, 1u << random_below(&random, 31));
    const int64_t begin_ns = (int64_t)random_below(&random, 1u << 31) - (1 << 30);
    leat_time_window_t window = {begin_ns, begin_ns + 100, pixel_ns};
    leat_time_window_align(&window);
    assert_true(window.pixel_ns >= pixel_ns && window.pixel_ns <= pixel_ns + pixel_ns / 8);
    assert_true(window.begin_ns <= begin_ns && begin_ns - window.begin_ns < window.pixel_ns);
    assert_int_equal(window.end_ns, begin_ns + 100);
    // The border of pixels is that of a moved window too.
    leat_time_window_t moved = {begin_ns + pixel_ns / 3, begin_ns + 100, pixel_ns};
    leat_time_window_align(&moved);
    if (pixel_ns >= 1024) {
      assert_int_equal((moved.begin_ns - window.begin_ns) % window.pixel_ns, 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_have_a_few_items_a_pixel_and_lose_nothing),
      cmocka_unit_test(runs_do_not_change_an_answer),
      cmocka_unit_test(a_window_of_many_slices_reads_runs_alone),
      cmocka_unit_test(damaged_runs_lead_nowhere),
      cmocka_unit_test(short_lanes_have_no_runs),
      cmocka_unit_test(windows_are_aligned_within_an_eighth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
