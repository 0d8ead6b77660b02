// White paper, section 4.5: input operations.
#include "capi/function_kit.h"
#include "scratch.h"

static functions_t f;

// Numbers in three files; nothing of them passes through the client.
static int set_up(void** state) {
  scratch_set_up(state);
  scratch_write_text("one", "1\n2\n");
  scratch_write_text("two", "3\n4\n");
  scratch_write_text("three", "5\n6\n");
  f = functions_open(
      NODE("work", "FIFOQueueV2", "", TYPES("component_types", "DT_STRING")
           " attr { key: 'shapes' value { list { shape {} } } }")
      NODE("files", "Const", "", TYPE("dtype", "STRING")
           " attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 3 } }"
           " string_val: ['one', 'two', 'three'] } } }")
      NODE("put", "QueueEnqueueManyV2", IN("work") IN("files"), TYPES("Tcomponents", "DT_STRING"))
      NODE("close", "QueueCloseV2", IN("work"), "")
      NODE("reader", "TextLineReaderV2", "", "")
      NODE("two_at_once", "Const", "", TYPE("dtype", "INT64")
           " attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape {}"
           " int64_val: 2 } } }")
      NODE("read", "ReaderReadV2", IN("reader") IN("work"), "")
      NODE("read_many", "ReaderReadUpToV2", IN("reader") IN("work") IN("two_at_once"), "")
      NODE("one", "StringToNumber", IN("read:1"), TYPE("out_type", "FLOAT"))
      NODE("many", "StringToNumber", IN("read_many:1"), TYPE("out_type", "FLOAT")));
  return 0;
}

static int tear_down(void** state) {
  functions_close(&f);
  return scratch_tear_down(state);
}

static void run(const char* name) {
  const TF_Operation* target = functions_output(&f, name, 0).oper;
  TF_SessionRun(f.session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, f.status);
  kit_ok(f.status);
}

// "... special input operation nodes in the graph, which are typically configured with a set of
// filenames and which yield a tensor containing one or more examples from the data stored in that
// set of files each time they are executed."
static void paper_4_5__input_nodes_yield_examples_each_time(void** state) {
  run("put");
  for (int i = 1; i <= 2; ++i) assert_true(functions_fetch(&f, "one") == (float)i);
  for (int i = 3; i <= 5; i += 2) {
    TF_Tensor* pair = functions_run(&f, "many", 0, NULL, NULL);
    assert_int_equal(TF_TensorElementCount(pair), 2);
    const float* values = TF_TensorData(pair);
    assert_true(values[0] == (float)i && values[1] == (float)(i + 1));
    TF_DeleteTensor(pair);
  }
}

// The end of the set is no example.
static void paper_4_5__the_set_of_files_ends(void** state) {
  run("put");
  run("close");
  for (int i = 1; i <= 6; ++i) assert_true(functions_fetch(&f, "one") == (float)i);
  assert_int_equal(functions_try(&f, "one", NULL, 0), TF_OUT_OF_RANGE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_4_5__input_nodes_yield_examples_each_time),
      TEST(paper_4_5__the_set_of_files_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
