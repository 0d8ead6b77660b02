// TF_ApiDefMap merges the descriptions of ops with texts that rename or document their parts, for
// programs that generate code from them. The op list is given as bytes and the override as text, as
// the C API takes them. The merged message is searched for the bytes that TensorFlow gives for the
// same input. The mistakes are texts that name an argument or attribute which the op does not have,
// or list the arguments incompletely; each has TensorFlow's code.
#include "capi/plugin_kit.h"

// OpList of one op: Mat(a: T, b: T) -> product: T, with flag: bool = false; documented.
static const char kOps[] =
    "\x0ai\x0a\x03Mat\x12\x0f\x0a\x01" "a\x12\x07the `a`\x22\x01T\x12\x06\x0a\x01" "b\x22"
    "\x01T\x1a\x0c\x0a\x07product\x22\x01T\x22\x10\x0a\x04" "flag\x12\x04" "bool\x1a\x02("
    "\x00\x22\x09\x0a\x01T\x12\x04type*\x07of `a`.2\x15long, `a` and `flag`.";

static const char kText[] =
    "op {\n"
    "  graph_op_name: \"Mat\"\n"
    "  endpoint { name: \"mat\" }\n"
    "  in_arg {\n"
    "    name: \"a\" rename_to: \"left\"\n"
    "  }\n"
    "  attr { name: \"flag\" rename_to: \"switch\" default_value { b: true } }\n"
    "  description: <<END\n"
    "About \"`a`\"\n"
    "and `flag`\n"
    "END\n"
    "  description_suffix: \"End.\"\n"
    "  arg_order: \"b\"\n"
    "  arg_order: \"a\"\n"
    "  visibility: HIDDEN\n"
    "}\n"
    "op { graph_op_name: \"Unknown\" in_arg { name: \"x\" } }\n";

static TF_ApiDefMap* make_map(void) {
  TF_Status* s = TF_NewStatus();
  TF_Buffer* ops = TF_NewBufferFromString(kOps, sizeof kOps - 1);
  TF_ApiDefMap* map = TF_NewApiDefMap(ops, s);
  kit_ok(s);
  TF_DeleteBuffer(ops);  // the map has its own copy
  TF_DeleteStatus(s);
  return map;
}

static void test_merging(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_ApiDefMap* map = make_map();
  TF_ApiDefMapPut(map, kText, sizeof kText - 1, s);
  kit_ok(s);
  TF_Buffer* def = TF_ApiDefMapGet(map, "Mat", 3, s);
  kit_ok(s);
  assert_true(holds(def->data, def->length, "\x0a\x03Mat\x10\x03\x1a\x05\x0a\x03mat"));
  assert_true(holds(def->data, def->length, "\x0a\x01" "a\x12\x04left"));
  assert_true(holds(def->data, def->length, "the `left`"));
  assert_true(holds(def->data, def->length, "\x12\x06switch\x1a\x02\x28\x01"));
  assert_true(holds(def->data, def->length, "About \"`left`\"\nand `switch`\nEnd."));
  assert_true(holds(def->data, def->length, "Z\x01" "bZ\x01" "a"));
  TF_DeleteBuffer(def);
  assert_null(TF_ApiDefMapGet(map, "Unknown", 7, s));
  kit_ok(s);
  assert_null(TF_ApiDefMapGet(map, NULL, 7, s));
  kit_ok(s);
  TF_ApiDefMapPut(map, kText, sizeof kText - 1, s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TF_DeleteApiDefMap(map);
  TF_DeleteStatus(s);
}

static void test_mistakes(void** state) {
  static const struct { const char* text; TF_Code code; } kTexts[] = {
      {"op { graph_op_name: 'Mat' in_arg { name: 'q' } }", TF_FAILED_PRECONDITION},
      {"op { graph_op_name: 'Mat' out_arg { name: 'a' } }", TF_FAILED_PRECONDITION},
      {"op { graph_op_name: 'Mat' attr { name: 'q' } }", TF_FAILED_PRECONDITION},
      {"op { graph_op_name: 'Mat' arg_order: 'a' }", TF_FAILED_PRECONDITION},
      {"op { graph_op_name: 'Mat' arg_order: 'a' arg_order: 'a' }", TF_FAILED_PRECONDITION},
      {"op { nonsense: 3 }", TF_INVALID_ARGUMENT},
      {"op { description: <<END\nnever ended", TF_INVALID_ARGUMENT},
      {"", TF_OK},
  };
  TF_Status* s = TF_NewStatus();
  TF_ApiDefMap* map = make_map();
  for (size_t i = 0; i < sizeof kTexts / sizeof *kTexts; ++i) {
    TF_ApiDefMapPut(map, kTexts[i].text, strlen(kTexts[i].text), s);
    kit_expect(s, kTexts[i].code);
  }
  TF_ApiDefMapPut(map, NULL, 5, s);
  kit_ok(s);
  TF_DeleteApiDefMap(map);
  TF_Buffer bad = {"\xff\xff", 2, NULL};
  assert_null(TF_NewApiDefMap(&bad, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  map = TF_NewApiDefMap(NULL, s);  // no ops
  kit_ok(s);
  TF_DeleteApiDefMap(map);
  TF_DeleteApiDefMap(NULL);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_merging),
      cmocka_unit_test(test_mistakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
