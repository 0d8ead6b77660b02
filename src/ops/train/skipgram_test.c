// Skipgram against TensorFlow 2.21. It seeds its generator with zero, so that the examples of a
// text are TensorFlow's, word by word; the text here has words of different frequencies, because
// TensorFlow leaves the order of equally frequent ones open. The cases differ in what is left out
// and in the window, and one takes more examples in a step than are made ahead, which shows in the
// counters. A second plan of the session goes on where the first one stopped.
#include "dataset/pipeline.h"
#include "formats/test_directory.h"

// ---- Skipgram -----------------------------------------------------------------------------------

// Writes a text of 312 words w0 to w11, of which word k occurs 4 (k + 1) times, in an order that a
// linear congruential generator chooses.
static void write_text(void) {
  static const char* kSpaces[] = {" ", "\n", "\t ", " "};
  uint32_t state = 12345;
  int pool[312], count = 0;
  char text[2000];
  size_t size = 0;
  for (int k = 0; k < 12; ++k) {
    for (int i = 0; i < 4 * (k + 1); ++i) pool[count++] = k;
  }
  while (count > 0) {
    state = (state * 1103515245u + 12345u) & 0x7fffffff;
    const int at = (int)(state % (uint32_t)count);
    size += (size_t)snprintf(text + size, sizeof text - size, "w%d%s", pool[at],
                             kSpaces[state % 4]);
    --count;
    memmove(pool + at, pool + at + 1, (size_t)(count - at) * sizeof *pool);
  }
  test_write_file("text", text, size);
}

typedef struct skipgram_options_s {
  int64_t batch_size, window, min_count;
  float subsample;
} skipgram_options_t;

// The op was removed from newer graphs.
static leat_output_t skipgram(pipeline_t* p, const skipgram_options_t* o, const char* path) {
  p->graph->producer_version = 18;
  return leat_build(
      &p->b, "Skipgram", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_STRING("filename", leat_string_view_from(path)),
                 LEAT_INT("batch_size", o->batch_size), LEAT_INT("window_size", o->window),
                 LEAT_INT("min_count", o->min_count), LEAT_REAL("subsample", o->subsample)));
}

enum { OUTPUTS = 7 };

// A plan of all outputs of a Skipgram.
typedef struct run_s {
  leat_output_t fetches[OUTPUTS];
  leat_fixture_plan_t plan;
} run_t;

static leat_status_t run_open(pipeline_t* p, leat_output_t node, run_t* out_run) {
  LEAT_EXPECT_OK(p->b.status);
  for (int i = 0; i < OUTPUTS; ++i) out_run->fetches[i] = (leat_output_t){node.node, i};
  return leat_fixture_plan_initialize(&p->fixture, p->graph, out_run->fetches, OUTPUTS,
                                      &out_run->plan);
}

// Runs a step. |wanted|: the counters (outputs 2 to 4), then the last |count| examples and labels.
static void expect_step(const run_t* run, const int64_t* counters, int count,
                        const int64_t* examples, const int64_t* labels) {
  leat_tensor_t values[OUTPUTS];
  LEAT_EXPECT_OK(leat_fixture_plan_run(&run->plan, NULL, 0, values));
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(leat_tensor_index_at(&values[2 + i], 0), counters[i]);
  }
  const int64_t first = values[5].shape.element_count - count;
  for (int i = 0; i < count; ++i) {
    assert_int_equal(leat_tensor_index_at(&values[5], first + i), examples[i]);
    assert_int_equal(leat_tensor_index_at(&values[6], first + i), labels[i]);
  }
  for (int i = 0; i < OUTPUTS; ++i) leat_tensor_release(&values[i]);
}
#define EIGHT(...) ((const int64_t[8]){__VA_ARGS__})
#define COUNTERS(epoch, words) ((const int64_t[3]){312, (epoch), (words)})

static void words_are_numbered_by_frequency(void** state) {
  pipeline_t p;
  leat_tensor_t words, counts;
  write_text();
  pipeline_open(&p);
  const skipgram_options_t options = {.window = 5, .min_count = 12, .batch_size = 1};
  leat_output_t node = skipgram(&p, &options, test_path("text"));
  LEAT_EXPECT_OK(p.b.status);
  LEAT_EXPECT_OK(pipeline_fetch(&p, node, &words));
  LEAT_EXPECT_OK(pipeline_fetch(&p, (leat_output_t){node.node, 1}, &counts));
  assert_int_equal(words.shape.element_count, 11);
  assert_int_equal(counts.shape.element_count, 11);
  for (int i = 0; i < 11; ++i) {
    char word[8];
    snprintf(word, sizeof word, i == 0 ? "UNK" : "w%d", 12 - i);
    assert_true(leat_string_view_equals(leat_tensor_string_at(&words, i), word));
    // The rare words are w0 and w1, which come 4 and 8 times.
    assert_int_equal(leat_tensor_index_at(&counts, i), i == 0 ? 12 : 4 * (13 - i));
  }
  leat_tensor_release(&words);
  leat_tensor_release(&counts);
  pipeline_close(&p);
}

static void examples_are_tensorflows(void** state) {
  static const struct {
    skipgram_options_t options;
    int64_t epochs[2], words[2], examples[2][8], labels[2][8];
  } kCases[] = {
      {{8, 5, 5, 0.001f}, {27, 27}, {497, 497},
       {{11, 11, 11, 11, 11, 1, 1, 1}, {1, 1, 1, 7, 7, 7, 7, 7}},
       {{1, 7, 3, 3, 8, 11, 7, 3}, {3, 8, 8, 11, 1, 3, 3, 8}}},
      {{8, 2, 5, 0}, {6, 6}, {1016, 1016},
       {{5, 5, 1, 1, 1, 2, 2, 11}, {11, 3, 3, 2, 2, 2, 2, 1}},
       {{1, 2, 5, 2, 11, 1, 11, 2}, {3, 11, 2, 11, 3, 1, 4, 3}}},
      {{8, 0, 5, 0.001f}, {56, 56}, {1502, 1502},
       {{11, 1, 1, 7, 7, 3, 3, 3}, {3, 8, 8, 8, 8, 10, 10, 11}},
       {{1, 11, 7, 1, 3, 7, 3, 3}, {8, 3, 8, 8, 10, 8, 11, 10}}},
      // The last eight of batches that are longer than what is made ahead.
      {{3002, 5, 5, 0.001f}, {56, 56}, {1005, 1511},
       {{6, 6, 6, 6, 10, 10, 10, 10}, {3, 3, 3, 3, 3, 3, 3, 3}},
       {{6, 10, 7, 7, 3, 6, 6, 10}, {11, 2, 4, 3, 1, 7, 1, 6}}},
  };
  write_text();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    pipeline_t p;
    run_t run;
    pipeline_open(&p);
    LEAT_EXPECT_OK(run_open(&p, skipgram(&p, &kCases[i].options, test_path("text")), &run));
    for (int step = 0; step < 2; ++step) {
      expect_step(&run, COUNTERS(kCases[i].epochs[step], kCases[i].words[step]), 8,
                  kCases[i].examples[step], kCases[i].labels[step]);
    }
    leat_fixture_plan_deinitialize(&run.plan);
    pipeline_close(&p);
  }
}

static void plans_of_a_session_share_the_place(void** state) {
  pipeline_t p;
  run_t first, second;
  const skipgram_options_t options = {8, 5, 5, 0.001f};
  write_text();
  pipeline_open(&p);
  leat_output_t node = skipgram(&p, &options, test_path("text"));
  LEAT_EXPECT_OK(run_open(&p, node, &first));
  LEAT_EXPECT_OK(run_open(&p, node, &second));
  expect_step(&first, COUNTERS(27, 497), 8, EIGHT(11, 11, 11, 11, 11, 1, 1, 1),
              EIGHT(1, 7, 3, 3, 8, 11, 7, 3));
  expect_step(&second, COUNTERS(27, 497), 8, EIGHT(1, 1, 1, 7, 7, 7, 7, 7),
              EIGHT(3, 8, 8, 11, 1, 3, 3, 8));
  leat_fixture_plan_deinitialize(&first.plan);
  leat_fixture_plan_deinitialize(&second.plan);
  pipeline_close(&p);
}

static void bad_texts_and_options_are_refused(void** state) {
  static const struct {
    skipgram_options_t options;
    const char* file;
    leat_status_code_t code;
    const char* message;
  } kCases[] = {
      {{8, 5, 5, 0}, "none", LEAT_NOT_FOUND, "none"},
      {{8, 32, 5, 0}, "text", LEAT_INVALID_ARGUMENT, "too little data: 312 words"},
      {{8, 0, 5, 0}, "blank", LEAT_INVALID_ARGUMENT, "too little data: 0 words"},
      {{-1, 5, 5, 0}, "text", LEAT_INVALID_ARGUMENT, "batch_size is -1"},
      {{8, -2, 5, 0}, "text", LEAT_INVALID_ARGUMENT, "window_size is -2"},
  };
  write_text();
  test_write_file("blank", " \n\t ", 4);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    pipeline_t p;
    run_t run;
    pipeline_open(&p);
    leat_output_t node = skipgram(&p, &kCases[i].options, test_path(kCases[i].file));
    leat_status_t status = run_open(&p, node, &run);
    assert_non_null(strstr(leat_status_message(status), kCases[i].message));
    LEAT_EXPECT_CODE(kCases[i].code, status);
    pipeline_close(&p);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_directory_make, test_directory_remove)
  const struct CMUnitTest tests[] = {
      TEST(words_are_numbered_by_frequency),
      TEST(examples_are_tensorflows),
      TEST(plans_of_a_session_share_the_place),
      TEST(bad_texts_and_options_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
