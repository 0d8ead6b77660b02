// Which points are kept of a long series must be TensorBoard's choice to the point. The expected
// numbers are those of CPython 3.11 and of TensorBoard 2.21's Reservoir and _downsample. A series
// draws ahead, shares what was drawn with others, and leaves holes where it took points out, none
// of which may show: it is compared with a plain list that follows the rule at once, while it is
// purged and looked at.
#include "board/reservoir.h"

#include <math.h>

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

static void expect_steps(board_series_t* series, const int64_t* steps, uint32_t count) {
  const board_columns_t columns = board_series_columns(series);
  assert_int_equal(columns.count, count);
  for (uint32_t i = 0; i < count; ++i) {
    assert_int_equal(columns.steps[i], steps[i]);
    // The other columns move along.
    assert_true(columns.wall_times[i] == (double)steps[i] / 2);
    assert_true(columns.values[i] == (double)-steps[i]);
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

// TensorBoard's rule, done as it is written: a list out of which the points are popped.
typedef struct model_s {
  int64_t steps[2000];
  uint32_t count, size, seen, taken;
} model_t;

static void offer_to_model(model_t* model, int64_t step) {
  uint32_t drawn = UINT32_MAX;
  if (model->count >= model->size) {
    LEAT_EXPECT_OK(board_python_random_below(model->seen + 1, &model->taken, &drawn));
    if (drawn >= model->size) drawn = model->count - 1;
    --model->count;
    memmove(model->steps + drawn, model->steps + drawn + 1,
            (model->count - drawn) * sizeof *model->steps);
  }
  model->steps[model->count++] = step;
  ++model->seen;
}

static void purge_model(model_t* model, int64_t step) {
  uint32_t before = model->count;
  model->count = 0;
  for (uint32_t i = 0; i < before; ++i) {
    if (model->steps[i] < step) model->steps[model->count++] = model->steps[i];
  }
  if (model->count == before) return;
  model->seen = (uint32_t)rint(model->seen * ((double)model->count / before));
}

static void expect_model(board_series_t* series, const model_t* model) {
  expect_steps(series, model->steps, model->count);
  assert_int_equal(series->reservoir.seen, model->seen);
  assert_int_equal(board_reservoir_taken(&series->reservoir), model->taken);
}

// Series of several sizes, which are looked at and purged now and then, in the quick way and in the
// other, two at a time that share what is drawn ahead.
static void a_series_is_its_model(void** state) {
  static const uint32_t sizes[] = {1, 2, 10, 100, 500, 1000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    board_series_t quick = {.form = BOARD_FORM_SCALAR, .reservoir = {.size = sizes[s]}};
    board_series_t slow = quick;
    model_t model = {.size = sizes[s]};
    int64_t step = 0;
    for (int i = 1; i <= 20000; ++i, ++step) {
      if (!board_series_add_quickly(&quick, step, (double)step / 2, (double)-step)) {
        add_range(&quick, step, step + 1);
      }
      add_range(&slow, step, step + 1);
      offer_to_model(&model, step);
      if (i % 777 == 0) expect_model(&quick, &model);
      if (i % 5003 == 0) {
        step -= step / 3;
        board_series_purge(&quick, step);
        board_series_purge(&slow, step);
        purge_model(&model, step);
        expect_model(&slow, &model);
      }
    }
    expect_model(&quick, &model);
    expect_model(&slow, &model);
    board_series_deinitialize(&quick);
    board_series_deinitialize(&slow);
  }
}

// Two that differ in what they have taken alone take turns.
static void draws_of_another_are_not_mixed_in(void** state) {
  board_reservoir_t reservoirs[] = {{.size = 10, .seen = 500, .taken = 100},
                                    {.size = 10, .seen = 500, .taken = 300}};
  uint32_t taken[] = {100, 300}, removed, drawn;
  for (uint32_t seen = 500; seen < 5000; ++seen) {
    for (int i = 0; i < 2; ++i) {
      LEAT_EXPECT_OK(board_reservoir_offer(&reservoirs[i], 10, &removed));
      LEAT_EXPECT_OK(board_python_random_below(seen + 1, &taken[i], &drawn));
      assert_int_equal(removed, drawn < 10 ? drawn : 9);
      assert_int_equal(board_reservoir_taken(&reservoirs[i]), taken[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_pythons),
      cmocka_unit_test(samples_are_pythons),
      cmocka_unit_test(the_reservoir_is_tensorboards),
      cmocka_unit_test(a_series_is_its_model),
      cmocka_unit_test(draws_of_another_are_not_mixed_in),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
