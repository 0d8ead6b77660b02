// The expected numbers are those of CPython 3.11 and of TensorBoard 2.21's Reservoir and
// _downsample.
#include "board/reservoir.h"

#include "base/test.h"
#include "board/python_random.h"
#include "board/series.h"

static void words_are_pythons(void** state) {
  static const uint32_t bounds[] = {1, 2, 3, 1000, 4000000000u, 7};
  static const uint32_t expected[] = {0, 1, 0, 265, 2195908194u, 3};
  uint32_t taken = 0, value;
  for (size_t i = 0; i < 6; ++i) {
    LEAT_EXPECT_OK(board_python_random_below(bounds[i], &taken, &value));
    assert_int_equal(value, expected[i]);
  }
  // The word 49,999, which lies in another block than the first.
  taken = 49999;
  LEAT_EXPECT_OK(board_python_random_below(1u << 31, &taken, &value));
  assert_int_equal(value, 848992757u);
}

static void samples_are_pythons(void** state) {
  // The last two lie on either side of the border between the two ways of drawing.
  static const uint32_t expected[][21] = {
      {197, 215, 388, 432, 455},
      {1, 8, 12, 13, 15},
      {331, 2121, 3155, 3445},
      {5, 12, 17, 18, 27, 32, 33, 36, 38, 39, 45,
       49, 51, 53, 61, 62, 64, 65, 68, 71, 74},
      {5, 12, 17, 18, 27, 32, 33, 36, 38, 45, 49,
       51, 53, 61, 62, 64, 65, 68, 74, 77, 79}};
  static const uint32_t counts[] = {499, 19, 4999, 85, 86}, chosen[] = {5, 5, 4, 21, 21};
  uint32_t indices[21];
  for (size_t i = 0; i < 5; ++i) {
    LEAT_EXPECT_OK(board_python_random_sample(counts[i], chosen[i], indices));
    assert_memory_equal(indices, expected[i], chosen[i] * sizeof *indices);
  }
}

static void add_range(board_series_t* series, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    LEAT_EXPECT_OK(board_series_add(series, i, (double)i / 2, (double)-i, (board_place_t){0}));
  }
}

static void expect_steps(const board_series_t* series, const int64_t* steps, uint32_t count) {
  assert_int_equal(series->count, count);
  for (uint32_t i = 0; i < count; ++i) {
    assert_int_equal(series->steps[i], steps[i]);
    // The other columns move along.
    assert_true(series->wall_times[i] == (double)steps[i] / 2);
    assert_true(series->values[i] == (double)-steps[i]);
  }
}

static void the_reservoir_is_tensorboards(void** state) {
  static const int64_t first[] = {264, 1356, 1584, 2191, 2309, 2695, 2963, 2999};
  static const int64_t last[] = {1356, 1503, 2048, 2182, 2207, 2311, 2389, 2499};
  board_series_t series = {.form = BOARD_FORM_SCALAR, .reservoir = {.size = 8}};
  add_range(&series, 0, 3000);
  expect_steps(&series, first, 8);
  assert_int_equal(board_series_purge(&series, 1500), 6);
  expect_steps(&series, first, 2);
  assert_int_equal(series.reservoir.seen, 750);
  add_range(&series, 1500, 2500);
  expect_steps(&series, last, 8);
  board_series_deinitialize(&series);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_pythons),
      cmocka_unit_test(samples_are_pythons),
      cmocka_unit_test(the_reservoir_is_tensorboards),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
