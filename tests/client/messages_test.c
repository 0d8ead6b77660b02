// leat_messages_json: what the messages consist of. The expected rows are those of TensorFlow's
// .proto files.
#define _GNU_SOURCE  // memmem
#include "capi/kit.h"
#include "leat/inspect.h"

static void expect_text(const TF_Buffer* json, const char* expected) {
  if (!memmem(json->data, json->length, expected, strlen(expected))) fail_msg("no %s", expected);
}

static void test_fields(void** state) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* json = leat_messages_json(status);
  assert_int_equal(TF_GetCode(status), TF_OK);
  expect_text(json, "\"tensorflow.NodeDef\": [[\"name\", 1, \"string\", \"singular\", null, -1], "
                    "[\"op\", 2, \"string\", \"singular\", null, -1], "
                    "[\"input\", 3, \"string\", \"repeated\", null, -1]");
  expect_text(json, "[\"attr\", 5, \"message\", \"map\", \"tensorflow.NodeDef.attr_entry\", -1]");
  // Reached from ConfigProto only.
  expect_text(json, "\"tensorflow.OptimizerOptions\": [");
  expect_text(json, "\"tensorflow.OptimizerOptions.Level\": {\"L1\": 0, \"L0\": -1}");
  expect_text(json, "\"tensorflow.QueueRunnerDef\": [");
  TF_DeleteBuffer(json);
  TF_DeleteStatus(status);
}

// Each message stands there once, though many refer to it, and so does an enum.
static void test_once_each(void** state) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* json = leat_messages_json(status);
  const char* names[] = {"\"tensorflow.TensorShapeProto\": [", "\"tensorflow.DataType\": {"};
  for (size_t i = 0; i < 2; ++i) {
    const char* first = memmem(json->data, json->length, names[i], strlen(names[i]));
    assert_non_null(first);
    size_t rest = json->length - (size_t)(first + 1 - (const char*)json->data);
    assert_null(memmem(first + 1, rest, names[i], strlen(names[i])));
  }
  TF_DeleteBuffer(json);
  TF_DeleteStatus(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fields),
      cmocka_unit_test(test_once_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
