// Functions that grow without measure, values of the wrong type on their way into a body, argument
// nodes of a client's: each gives a status, and the session goes on. Towers of functions that call
// each other once or twice are made as text and run; a node beside them is run afterwards, to see
// that the session still works. What has a bound must say RESOURCE_EXHAUSTED, and what takes too
// long must end at its time limit. Memory that runs out is tried in function_memory_test.c.
#include <stdlib.h>

#include "base/string_builder.h"
#include "capi/function_kit.h"

// |count| functions, each calling the one before |times| times; the first negates. Node "call"
// calls the last with "x".
static functions_t open_tower(int count, int times) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_print(&text, LIBRARY "%s",
                            FUNCTION("F0", ARG("a", "FLOAT") OUT("r", "FLOAT"),
                                     DEF("n", "Neg", IN("a"), TYPE("T", "FLOAT"))
                                     RET("r", "n:y:0")));
  for (int i = 1; i < count; ++i) {
    leat_string_builder_print(&text, "function { signature { name: 'F%d' %s } ", i,
                              ARG("a", "FLOAT") OUT("r", "FLOAT"));
    for (int k = 0; k < times; ++k) {
      leat_string_builder_print(&text, "node_def { name: 'n%d' op: 'F%d' input: '", k, i - 1);
      leat_string_builder_print(&text, k ? "n%d:r:0' } " : "a' } ", k - 1);
    }
    leat_string_builder_print(&text, "ret { key: 'r' value: 'n%d:r:0' } }\n", times - 1);
  }
  leat_string_builder_print(&text, END "%s node { name: 'call' op: 'F%d' input: 'x' }\n",
                            NODE("x", "Placeholder", , TYPE("dtype", "FLOAT")), count - 1);
  leat_string_builder_print(&text, "%s", NODE("neg", "Neg", IN("x"), TYPE("T", "FLOAT")));
  assert_null(text.status);
  functions_t f = functions_open(text.data);
  leat_string_builder_deinitialize(&text);
  return f;
}

static void test_ten_thousand_nested_functions(void** state) {
  functions_t f = open_tower(10000, 1);
  assert_true(functions_float(&f, "call", 3) == -3);
  assert_true(functions_float(&f, "neg", 3) == -3);
  functions_close(&f);
}

// 2^17 negations are run, 2^25 and 2^60 would be: memory has a bound, and so have calls, whether or
// not the caller has a deadline.
static void test_calls_that_double(void** state) {
  functions_t f = open_tower(18, 2);
  assert_true(functions_float(&f, "call", 3) == 3);
  functions_close(&f);
  f = open_tower(61, 2);
  assert_int_equal(functions_try(&f, "call", kit_float(3), 100), TF_DEADLINE_EXCEEDED);
  assert_true(functions_float(&f, "neg", 3) == -3);
  functions_close(&f);
  f = open_tower(26, 2);
  assert_int_equal(functions_try(&f, "call", kit_float(3), 0), TF_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(TF_Message(f.status), "calls of functions"));
  assert_true(functions_float(&f, "neg", 3) == -3);
  functions_close(&f);
}

// A function that calls itself is run call by call: thousands of calls are no rare sight.
static void test_recursion(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Leaf", ARG("n", "INT32") OUT("r", "INT32"),
                       DEF("one", "Const", , INT32("1")) RET("r", "one:output:0"))
      FUNCTION("Twice", ARG("n", "INT32") OUT("r", "INT32"),
               DEF("one", "Const", , INT32("1"))
               DEF("less", "Sub", IN("n") IN("one:output:0"), TYPE("T", "INT32"))
               DEF("a", "Tree", IN("less:z:0"), ) DEF("b", "Tree", IN("less:z:0"), )
               DEF("sum", "AddV2", IN("a:r:0") IN("b:r:0"), TYPE("T", "INT32"))
               RET("r", "sum:z:0"))
      FUNCTION("Tree", ARG("n", "INT32") OUT("r", "INT32"),
               DEF("if", "If", IN("n") IN("n"), TYPE("Tcond", "INT32") TYPES("Tin", "DT_INT32")
                   TYPES("Tout", "DT_INT32") FUNC("then_branch", "Twice")
                   FUNC("else_branch", "Leaf"))
               RET("r", "if:output:0")) END
      NODE("x", "Placeholder", , TYPE("dtype", "INT32")) NODE("tree", "Tree", IN("x"), ));
  assert_int_equal(functions_int(&f, "tree", 13), 1 << 13);
  functions_close(&f);
}

// ---- Types --------------------------------------------------------------------------------------

// A float where a body wants a string: no kernel may see it.
static void test_arguments_of_other_types(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Length", ARG("s", "STRING") OUT("r", "INT32"),
                       DEF("n", "StringLength", IN("s"), ) RET("r", "n:output:0"))
      FUNCTION("True", ARG("a", "FLOAT") OUT("r", "BOOL"),
               DEF("z", "Const", , FLOAT("0")) DEF("p", "Greater", IN("a") IN("z:output:0"),
                                                   TYPE("T", "FLOAT")) RET("r", "p:z:0"))
      FUNCTION("Cast2", ARG("a", "FLOAT") OUT("r", "INT64"),
               DEF("c", "Cast", IN("a"), TYPE("SrcT", "FLOAT") TYPE("DstT", "INT64"))
               RET("r", "c:y:0")) END
      NODE("x", "Placeholder", , TYPE("dtype", "FLOAT"))
      NODE("if", "If", IN("x") IN("x"), TYPE("Tcond", "FLOAT") TYPES("Tin", "DT_FLOAT")
           TYPES("Tout", "DT_INT32") FUNC("then_branch", "Length") FUNC("else_branch", "Length"))
      NODE("if_lowered", "If", IN("x") IN("x"), TYPE("Tcond", "FLOAT") TYPES("Tin", "DT_FLOAT")
           TYPES("Tout", "DT_INT32") FUNC("then_branch", "Length") FUNC("else_branch", "Length")
           LOWER)
      NODE("call", "PartitionedCall", IN("x"), TYPES("Tin", "DT_FLOAT") TYPES("Tout", "DT_INT32")
           FUNC("f", "Length"))
      NODE("while", "While", IN("x"), TYPES("T", "DT_FLOAT") FUNC("cond", "True")
           FUNC("body", "Cast2"))
      NODE("while_lowered", "While", IN("x"), TYPES("T", "DT_FLOAT") FUNC("cond", "True")
           FUNC("body", "Cast2") LOWER)
      NODE("returns", "If", IN("x") IN("x"), TYPE("Tcond", "FLOAT") TYPES("Tin", "DT_FLOAT")
           TYPES("Tout", "DT_STRING") FUNC("then_branch", "Cast2") FUNC("else_branch", "Cast2"))
      NODE("neg", "Neg", IN("x"), TYPE("T", "FLOAT")));
  static const char* const names[] = {"if",    "if_lowered",    "call",
                                      "while", "while_lowered", "returns"};
  for (int i = 0; i < 6; ++i) {
    TF_Code code = functions_try(&f, names[i], kit_float(3), 0);
    assert_int_equal(code, i == 5 ? TF_INTERNAL : TF_INVALID_ARGUMENT);
    assert_true(functions_float(&f, "neg", 3) == -3);
  }
  functions_close(&f);
}

// A client's node that claims to be an argument would take what is fed elsewhere.
static void test_argument_nodes_of_a_client(void** state) {
  functions_t f = functions_open(
      NODE("x", "Placeholder", , TYPE("dtype", "FLOAT"))
      NODE("mine", "_Arg", , TYPE("T", "STRING") " attr { key: 'index' value { i: 0 } }")
      NODE("length", "StringLength", IN("mine"), )
      NODE("cast", "Cast", IN("length"), TYPE("SrcT", "INT32") TYPE("DstT", "FLOAT"))
      NODE("sum", "AddV2", IN("cast") IN("x"), TYPE("T", "FLOAT"))
      NODE("neg", "Neg", IN("x"), TYPE("T", "FLOAT")));
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(functions_try(&f, "sum", kit_float(3), 0), TF_INVALID_ARGUMENT);
    assert_int_equal(functions_try(&f, "length", NULL, 0), TF_INVALID_ARGUMENT);
    assert_true(functions_float(&f, "neg", 3) == -3);
  }
  functions_close(&f);
}

// Attributes that TF_SetAttr changed no longer fit the edges.
static void set_attr(functions_t* f, const char* name, const char* attr, const char* value,
                     size_t size) {
  TF_Buffer* bytes = TF_NewBufferFromString(value, size);
  TF_SetAttr(f->graph, functions_output(f, name, 0).oper, attr, bytes, f->status);
  TF_DeleteBuffer(bytes);
}

static void test_attributes_that_change(void** state) {
  static const char three[] = {0x18, 3}, types[] = {0x0a, 5, 0x32, 3, TF_FLOAT, TF_FLOAT, TF_FLOAT};
  static const char string_type[] = {0x30, TF_STRING};
  functions_t f = functions_open(
      LIBRARY FUNCTION("Same", ARG("a", "FLOAT") OUT("r", "FLOAT"), RET("r", "a")) END
      NODE("x", "Placeholder", , TYPE("dtype", "FLOAT"))
      NODE("sum", "AddN", IN("x") IN("x"), TYPE("T", "FLOAT") " attr { key: 'N' value { i: 2 } }")
      NODE("while", "While", IN("x"), TYPES("T", "DT_FLOAT") FUNC("cond", "Same")
           FUNC("body", "Same"))
      NODE("lowered", "While", IN("x"), TYPES("T", "DT_FLOAT") FUNC("cond", "Same")
           FUNC("body", "Same") LOWER)
      NODE("call", "PartitionedCall", IN("x"), TYPES("Tin", "DT_FLOAT") TYPES("Tout", "DT_FLOAT")
           FUNC("f", "Same"))
      NODE("id", "Identity", IN("x"), TYPE("T", "FLOAT"))
      NODE("pack", "Pack", IN("x") IN("x"), TYPE("T", "FLOAT") " attr { key: 'N' value { i: 2 } }")
      NODE("neg", "Neg", IN("x"), TYPE("T", "FLOAT")));
  set_attr(&f, "sum", "N", three, 2);
  set_attr(&f, "pack", "N", three, 2);
  set_attr(&f, "while", "T", types, sizeof types);
  set_attr(&f, "lowered", "T", types, sizeof types);
  set_attr(&f, "call", "Tout", types, sizeof types);
  set_attr(&f, "id", "T", string_type, 2);
  static const char* const names[] = {"sum", "pack", "while", "lowered", "call", "id"};
  for (int i = 0; i < 6; ++i) {
    functions_try(&f, names[i], kit_float(0), 0);
    assert_true(functions_float(&f, "neg", 3) == -3);
  }
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test(test_##name)
      TEST(ten_thousand_nested_functions),
      TEST(calls_that_double),
      TEST(recursion),
      TEST(arguments_of_other_types),
      TEST(argument_nodes_of_a_client),
      TEST(attributes_that_change),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
