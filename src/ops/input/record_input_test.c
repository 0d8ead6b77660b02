// RecordInput. Where all records of an epoch fit half the buffer and one shard reads them, their
// order follows from the seed alone, in TensorFlow too: these cases hold what TensorFlow 2.21
// gives, for one file over two epochs and for an even and an odd number of files, which it shuffles
// differently. Whatever the order, an epoch has each record once, also with several shards, a small
// buffer and compression. Bad files, patterns without files, and files without records fail, and go
// on failing.
#include "dataset/pipeline.h"
#include "formats/record/record.h"
#include "formats/test_directory.h"

// Writes the file |name| with the records "<letter>0" to "<letter><count - 1>", the letter left out
// where it is 0.
static void write_records(const char* name, char letter, int count) {
  leat_string_builder_t b;
  leat_string_builder_initialize(leat_allocator_system(), &b);
  for (int i = 0; i < count; ++i) {
    char text[16];
    snprintf(text, sizeof text, "%.*s%d", letter != 0, &letter, i);
    leat_record_append(&b, leat_string_view_from(text));
  }
  test_write_file(name, b.data ? b.data : "", b.size);
  leat_string_builder_deinitialize(&b);
}

typedef struct options_s {
  int64_t seed, shards, batch, buffer;
  float shift;
  const char* compression;
} options_t;

static leat_output_t records(pipeline_t* p, const char* pattern, const options_t* o) {
  const char* compression = o->compression ? o->compression : "";
  return leat_build(
      &p->b, "RecordInput", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_STRING("file_pattern", leat_string_view_from(pattern)),
                 LEAT_INT("file_random_seed", o->seed), LEAT_INT("file_parallelism", o->shards),
                 LEAT_INT("batch_size", o->batch), LEAT_INT("file_buffer_size", o->buffer),
                 LEAT_REAL("file_shuffle_shift_ratio", o->shift),
                 LEAT_STRING("compression_type", leat_string_view_from(compression))));
}

// The pattern of the files m0, m1, ..., one by one.
static const char* each_of(int count) {
  static char pattern[4000];
  size_t size = 0;
  for (int i = 0; i < count; ++i) {
    char name[16];
    snprintf(name, sizeof name, "m%d", i);
    size += (size_t)snprintf(pattern + size, sizeof pattern - size, "%s%s", i ? "," : "",
                             test_path(name));
  }
  return pattern;
}

static void write_letters(int count) {
  for (int i = 0; i < count; ++i) {
    char name[16];
    snprintf(name, sizeof name, "m%d", i);
    write_records(name, (char)('a' + i), 3);
  }
}

// The next batch is |wanted|, words with spaces between them.
static void expect_batch(pipeline_t* p, leat_output_t output, const char* wanted) {
  char got[400];
  size_t size = 0;
  leat_tensor_t value;
  LEAT_EXPECT_OK(p->b.status);
  LEAT_EXPECT_OK(pipeline_fetch(p, output, &value));
  for (int64_t i = 0; i < value.shape.element_count; ++i) {
    size += (size_t)snprintf(got + size, sizeof got - size, "%s%.*s", i ? " " : "",
                             LEAT_SV_ARG(leat_tensor_string_at(&value, i)));
  }
  leat_tensor_release(&value);
  assert_string_equal(got, wanted);
}

static void order_is_tensorflows(void** state) {
  pipeline_t p;
  write_records("one", 0, 20);
  write_letters(7);
  pipeline_open(&p);
  leat_output_t one = records(&p, test_path("one"), &(options_t){301, 1, 20, 40, 0, NULL});
  expect_batch(&p, one, "6 15 12 18 2 0 10 9 4 7 5 19 3 8 16 17 13 1 11 14");
  expect_batch(&p, one, "13 10 9 1 17 11 4 14 16 8 18 3 19 2 7 0 12 6 5 15");
  leat_output_t odd = records(&p, each_of(7), &(options_t){301, 1, 21, 100, 0, NULL});
  expect_batch(&p, odd, "c0 g0 c1 d0 a1 f2 f0 e1 e0 b1 g1 b2 a2 b0 g2 c2 a0 d1 f1 e2 d2");
  leat_output_t even = records(&p, each_of(6), &(options_t){5, 1, 18, 100, .5, NULL});
  expect_batch(&p, even, "a1 e1 e2 b1 b2 e0 c2 a2 d0 d1 a0 c0 c1 f0 f1 b0 f2 d2");
  pipeline_close(&p);
}

// Counts the records of |epochs| batches, each of which is an epoch of |count| different ones.
static void expect_epochs(pipeline_t* p, leat_output_t output, int epochs, int count) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    leat_tensor_t value;
    LEAT_EXPECT_OK(p->b.status);
    LEAT_EXPECT_OK(pipeline_fetch(p, output, &value));
    assert_int_equal(value.shape.element_count, count);
    for (int i = 0; i < count; ++i) {
      for (int k = 0; k < i; ++k) {
        assert_false(leat_string_view_equal(leat_tensor_string_at(&value, i),
                                            leat_tensor_string_at(&value, k)));
      }
    }
    leat_tensor_release(&value);
  }
}

static void an_epoch_has_each_record_once(void** state) {
  static const options_t kOptions[] = {
      {301, 1, 23, 100, 0, NULL}, {301, 3, 23, 100, 0, NULL},  {301, 16, 23, 5, 0, NULL},
      {1, 2, 23, 1, .3f, NULL},   {2, 4, 23, 20, 2, "WHAT"},   {3, 5, 23, 7, -1, NULL},
  };
  write_letters(6);
  write_records("m6", 'x', 5);
  write_records("m7", 0, 0);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kOptions); ++i) {
    pipeline_t p;
    pipeline_open(&p);
    expect_epochs(&p, records(&p, test_path("m*"), &kOptions[i]), 3, 23);
    pipeline_close(&p);
  }
}

static void failures_stay(void** state) {
  static const options_t kUsual = {301, 2, 4, 10, 0, NULL};
  pipeline_t p;
  write_records("empty", 0, 0);
  write_records("good", 'a', 3);
  test_write_file("broken", "this is no record at all", 24);
  pipeline_open(&p);
  leat_output_t broken = records(&p, test_path("broken"), &kUsual);
  pipeline_expect_failure(&p, broken, LEAT_DATA_LOSS);
  write_records("broken", 'a', 3);
  pipeline_expect_failure(&p, broken, LEAT_DATA_LOSS);
  pipeline_expect_failure(&p, records(&p, test_path("none*"), &kUsual), LEAT_NOT_FOUND);
  pipeline_expect_failure(&p, records(&p, test_path("empty"), &kUsual), LEAT_NOT_FOUND);
  pipeline_close(&p);
}

static void bad_options_are_refused(void** state) {
  static const options_t kOptions[] = {{301, -1, 4, 10, 0, NULL},
                                       {301, 0, 4, 10, 0, NULL},
                                       {301, 1, -4, 10, 0, NULL},
                                       {301, 1, 4, 0, 0, NULL}};
  write_records("good", 'a', 3);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kOptions); ++i) {
    pipeline_t p;
    pipeline_open(&p);
    pipeline_expect_failure(&p, records(&p, test_path("good"), &kOptions[i]),
                            LEAT_INVALID_ARGUMENT);
    pipeline_close(&p);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_directory_make, test_directory_remove)
  const struct CMUnitTest tests[] = {
      TEST(order_is_tensorflows),
      TEST(an_epoch_has_each_record_once),
      TEST(failures_stay),
      TEST(bad_options_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
