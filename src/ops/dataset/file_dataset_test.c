// Datasets that read files: lines, TFRecord files, records of one size, and a cache that is itself
// a file. The files are written by the test into a directory of its own. Lines end with or without
// a carriage return, and the last one need not end at all. A damaged record or a missing file is an
// error of the element that is asked for and not of the iterator. A cache must not exist before a
// pass over its input has come to the end; another cache of the same name that is complete is then
// read instead, and two passes may not write the same one at once.
#include "dataset/pipeline.h"
#include "formats/record/record.h"
#include "formats/test_directory.h"

static leat_output_t write_file(pipeline_t* p, const char* name, leat_string_view_t bytes) {
  LEAT_EXPECT_OK(leat_file_write_atomically(leat_file_system_posix(), test_path(name), bytes.data,
                                            bytes.size));
  return pipeline_text(p, test_path(name));
}

// A dataset of files: no attributes say what its elements are.
static leat_output_t files(pipeline_t* p, const char* op, leat_outputs_t inputs) {
  return leat_build(&p->b, op, inputs, LEAT_NO_ATTRS);
}

static leat_output_t lines(pipeline_t* p, leat_output_t name) {
  return files(p, "TextLineDataset",
               LEAT_INPUTS(name, pipeline_text(p, ""), pipeline_number(p, 0)));
}

static void lines_end_as_on_any_system(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t name = write_file(&p, "lines", LEAT_SV("one\ntwo\r\n\nfour"));
  PIPELINE_EXPECT_TEXTS(&p, lines(&p, name), "one", "two", "", "four");
  leat_output_t missing = pipeline_text(&p, test_path("missing"));
  pipeline_expect_bad_elements(&p, lines(&p, missing), LEAT_DTYPE_STRING, LEAT_NOT_FOUND);
  pipeline_expect_failure(
      &p,
      files(&p, "TextLineDataset",
            LEAT_INPUTS(name, pipeline_text(&p, "RAR"), pipeline_number(&p, 0))),
      LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static leat_output_t compressed_records(pipeline_t* p, leat_output_t name,
                                        const char* compression) {
  return files(p, "TFRecordDataset",
               LEAT_INPUTS(name, pipeline_text(p, compression), pipeline_number(p, -1)));
}

static leat_output_t records(pipeline_t* p, leat_output_t name) {
  return compressed_records(p, name, "");
}

static void records_are_checked(void** state) {
  pipeline_t p;
  leat_string_builder_t bytes;
  pipeline_open(&p);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_record_append(&bytes, LEAT_SV("first"));
  leat_record_append(&bytes, LEAT_SV(""));
  leat_record_append(&bytes, LEAT_SV("last"));
  leat_output_t name = write_file(&p, "records", leat_string_builder_view(&bytes));
  PIPELINE_EXPECT_TEXTS(&p, records(&p, name), "first", "", "last");
  // TensorFlow logs that it does not know the compression, and reads the records as they are.
  PIPELINE_EXPECT_TEXTS(&p, compressed_records(&p, name, "RAR"), "first", "", "last");
  bytes.data[14] ^= 1;
  leat_output_t broken = write_file(&p, "broken", leat_string_builder_view(&bytes));
  pipeline_expect_bad_elements(&p, records(&p, broken), LEAT_DTYPE_STRING, LEAT_DATA_LOSS);
  leat_string_builder_deinitialize(&bytes);
  pipeline_close(&p);
}

static leat_output_t fixed(pipeline_t* p, leat_output_t name, int64_t record_bytes) {
  return files(p, "FixedLengthRecordDataset",
               LEAT_INPUTS(name, pipeline_number(p, 2), pipeline_number(p, record_bytes),
                           pipeline_number(p, 1), pipeline_number(p, 0)));
}

static void records_of_one_size_lie_between_header_and_footer(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t name = write_file(&p, "fixed", LEAT_SV("hhaaabbbf"));
  PIPELINE_EXPECT_TEXTS(&p, fixed(&p, name, 3), "aaa", "bbb");
  PIPELINE_EXPECT_TEXTS(&p, fixed(&p, name, 6), "aaabbb");
  pipeline_expect_bad_elements(&p, fixed(&p, name, 4), LEAT_DTYPE_STRING, LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, fixed(&p, name, 0), LEAT_INVALID_ARGUMENT);
  pipeline_expect_failure(&p, fixed(&p, name, INT64_MAX), LEAT_INVALID_ARGUMENT);
  pipeline_close(&p);
}

static leat_output_t cached(pipeline_t* p, leat_output_t input, leat_output_t name) {
  return pipeline_dataset(p, "CacheDataset", LEAT_INPUTS(input, name));
}

static void a_cache_in_files_is_there_when_a_pass_has_ended(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t name = pipeline_text(&p, test_path("cache"));
  leat_output_t first = cached(&p, pipeline_range(&p, 0, 4), name);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "TakeDataset", first, 2), 0, 1);
  leat_output_t other = cached(&p, pipeline_range(&p, 5, 8), name);
  PIPELINE_EXPECT(&p, other, 5, 6, 7);
  PIPELINE_EXPECT(&p, pipeline_counted(&p, "RepeatDataset", first, 2), 5, 6, 7, 5, 6, 7);
  pipeline_close(&p);
}

static void one_pass_at_a_time_writes_a_cache(void** state) {
  pipeline_t p;
  pipeline_open(&p);
  leat_output_t name = pipeline_text(&p, test_path("cache"));
  leat_output_t inner = cached(&p, pipeline_range(&p, 0, 4), name);
  leat_output_t outer = cached(&p, inner, name);
  pipeline_expect_bad_elements(&p, outer, LEAT_DTYPE_INT64, LEAT_ALREADY_EXISTS);
  PIPELINE_EXPECT(&p, inner, 0, 1, 2, 3);
  pipeline_close(&p);
}

#define IN_DIRECTORY(test) \
  cmocka_unit_test_setup_teardown(test, test_directory_make, test_directory_remove)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIRECTORY(lines_end_as_on_any_system),
      IN_DIRECTORY(records_are_checked),
      IN_DIRECTORY(a_cache_in_files_is_there_when_a_pass_has_ended),
      IN_DIRECTORY(one_pass_at_a_time_writes_a_cache),
      IN_DIRECTORY(records_of_one_size_lie_between_header_and_footer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
