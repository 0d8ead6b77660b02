// Graphs as TensorFlow's own rewriting leaves them: the functional ops under its private names, a
// Switch of many outputs, handles and reads of several variables in one node, a function mapped
// over rows. Each is run through a session, as a saved graph would be. _If and _While must do what
// If and While do, lowered or not. Of a _SwitchN exactly one output is alive, whatever the index
// says, and what waits for a dead one must not run, in loops and in bodies of functions too. Rows
// of a MapDefun are computed on many threads, so that its tests run it over more rows than there
// are threads, let calls fail in the middle, call other functions, and end it by a deadline. The
// graphs are text, built by the macros of capi/function_kit.h.
#include "capi/function_kit.h"

#include <stdio.h>
#include <string.h>

#define BODY(name, op, dtype, a, b) DEF(name, op, IN(a) IN(b), TYPE("T", dtype))
#define INT(key, value) " attr { key: '" key "' value { i: " value " } }"
#define X(dtype) NODE("x", "Placeholder", , TYPE("dtype", dtype))
#define UNARY(name, dtype, ret, body) \
  FUNCTION(name, ARG("a", dtype) OUT("r", dtype), body RET("r", ret))
#define VECTOR(dtype, field, size, values)                                                     \
  TYPE("dtype", dtype) " attr { key: 'value' value { tensor { dtype: DT_" dtype                \
  " tensor_shape { dim { size: " size " } } " field ": [" values "] } } }"

static void expect_floats(functions_t* f, const char* name, int index, int count,
                          const float* values) {
  TF_Tensor* tensor = functions_run(f, name, index, NULL, NULL);
  assert_int_equal(TF_TensorElementCount(tensor), count);
  for (int i = 0; i < count; ++i) {
    assert_true(((const float*)TF_TensorData(tensor))[i] == values[i]);
  }
  TF_DeleteTensor(tensor);
}

// The message of a run of |name| that must fail with |code|.
static void expect_failure(functions_t* f, const char* name, TF_Code code, const char* text) {
  assert_int_equal(functions_try(f, name, NULL, 0), code);
  if (!strstr(TF_Message(f->status), text)) {
    fail_msg("the message is '%s', must contain '%s'", TF_Message(f->status), text);
  }
}

// ---- _If and _While -----------------------------------------------------------------------------

#define IF(name, cond, tcond, lower)                                                         \
  NODE(name, "_If", IN(cond) IN("x"), TYPE("Tcond", tcond) TYPES("Tin", "DT_INT32")          \
       TYPES("Tout", "DT_INT32") FUNC("then_branch", "TenMore")                              \
       FUNC("else_branch", "TenLess") lower)

static void test_if(void** state) {
  functions_t f = functions_open(
      LIBRARY UNARY("TenMore", "INT32", "s:z:0",
                    DEF("c", "Const", , INT32("10")) BODY("s", "AddV2", "INT32", "a", "c:output:0"))
      UNARY("TenLess", "INT32", "s:z:0",
            DEF("c", "Const", , INT32("10")) BODY("s", "Sub", "INT32", "a", "c:output:0")) END
      X("INT32") NODE("zero", "Const", , INT32("0"))
      NODE("p", "Greater", IN("x") IN("zero"), TYPE("T", "INT32"))
      IF("native", "p", "BOOL", ) IF("lowered", "p", "BOOL", LOWER)
      IF("of_int", "x", "INT32", ) IF("of_int_lowered", "x", "INT32", LOWER));
  static const char* const names[] = {"native", "lowered", "of_int", "of_int_lowered"};
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(functions_int(&f, names[i], 3), 13);
    assert_int_equal(functions_int(&f, names[i], 0), -10);
  }
  functions_close(&f);
}

#define WHILE(name, lower) \
  NODE(name, "_While", IN("x"), TYPES("T", "DT_INT32") FUNC("cond", "Small") FUNC("body", "Twice") \
       lower)

static void test_while(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Small", ARG("a", "INT32") OUT("r", "BOOL"),
                       DEF("c", "Const", , INT32("100"))
                       BODY("s", "Less", "INT32", "a", "c:output:0") RET("r", "s:z:0"))
      UNARY("Twice", "INT32", "s:z:0", BODY("s", "AddV2", "INT32", "a", "a")) END
      X("INT32") WHILE("native", ) WHILE("lowered", LOWER));
  static const char* const names[] = {"native", "lowered"};
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(functions_int(&f, names[i], 3), 192);
    assert_int_equal(functions_int(&f, names[i], 100), 100);
  }
  functions_close(&f);
}

// ---- _SwitchN -----------------------------------------------------------------------------------

#define SWITCH(name, data, index) \
  NODE(name, "_SwitchN", IN(data) IN(index), INT("num_outs", "3") TYPE("T", "INT32"))
// "y" is 10, 200 or 3000 by "x"; the constants wait for the switch, and behind each output an
// addition to "v" waits, of 1, 10 or 100.
#define BRANCH(k, amount, count)                                                             \
  NODE("amount" k, "Const", IN("^s"), INT32(amount))                                         \
  NODE("alive" k, "Mul", IN("s:" k) IN("amount" k), TYPE("T", "INT32"))                      \
  NODE("count" k, "Const", IN("^alive" k), INT32(count))                                     \
  NODE("add" k, "AssignAddVariableOp", IN("v") IN("count" k), TYPE("dtype", "INT32"))
#define HANDLE TYPE("dtype", "INT32") " attr { key: 'shape' value { shape {} } }" \
  " attr { key: 'shared_name' value { s: 'v' } }"

static void test_switch_n(void** state) {
  functions_t f = functions_open(
      X("INT32") NODE("v", "VarHandleOp", , HANDLE) NODE("zero", "Const", , INT32("0"))
      NODE("reset", "AssignVariableOp", IN("v") IN("zero"), TYPE("dtype", "INT32"))
      NODE("read", "ReadVariableOp", IN("v"), TYPE("dtype", "INT32"))
      NODE("ten", "Const", , INT32("10")) SWITCH("s", "ten", "x")
      BRANCH("0", "1", "1") BRANCH("1", "20", "10") BRANCH("2", "300", "100")
      NODE("y", "Merge", IN("alive0") IN("alive1") IN("alive2"), INT("N", "3") TYPE("T", "INT32")));
  static const struct {
    int32_t index, result, count;
  } kRuns[] = {{0, 10, 1}, {1, 200, 10}, {2, 3000, 100}, {3, 3000, 100}, {-1, 3000, 100}};
  for (size_t i = 0; i < sizeof kRuns / sizeof *kRuns; ++i) {
    functions_target(&f, "reset");
    assert_int_equal(functions_int(&f, "y", kRuns[i].index), kRuns[i].result);
    TF_Output x = functions_output(&f, "x", 0);
    TF_Tensor* value = kit_int32(kRuns[i].index);
    const TF_Operation* targets[] = {TF_GraphOperationByName(f.graph, "add0"),
                                     TF_GraphOperationByName(f.graph, "add1"),
                                     TF_GraphOperationByName(f.graph, "add2")};
    TF_SessionRun(f.session, NULL, &x, &value, 1, NULL, NULL, 0, targets, 3, NULL, f.status);
    TF_DeleteTensor(value);
    assert_int_equal(TF_GetCode(f.status), TF_OK);
    TF_Tensor* count = functions_run(&f, "read", 0, NULL, NULL);
    assert_int_equal(kit_int32_of(count), kRuns[i].count);
    TF_DeleteTensor(count);
    // The outputs themselves: one is there, the others are dead.
    for (int k = 0; k < 3; ++k) {
      char name[8];
      snprintf(name, sizeof name, "alive%d", k);
      const bool is_alive = kRuns[i].count == (k == 0 ? 1 : k == 1 ? 10 : 100);
      assert_int_equal(functions_try(&f, name, kit_int32(kRuns[i].index), 0),
                       is_alive ? TF_OK : TF_INVALID_ARGUMENT);
    }
  }
  functions_close(&f);
}

// In a body: the switch is expanded with it, and so is one in a loop's body, where the index is the
// number of the iteration: a becomes a + 1 where that is a multiple of 3, 2 a elsewhere.
static void test_switch_n_in_a_loop(void** state) {
#define LOOP(name, lower)                                                                        \
  NODE(name, "While", IN("x") IN("zero"), TYPES("T", "DT_INT32, DT_INT32") FUNC("cond", "Six")   \
       FUNC("body", "Step") lower)
  functions_t f = functions_open(
      LIBRARY FUNCTION("Six", ARG("a", "INT32") ARG("i", "INT32") OUT("r", "BOOL"),
                       DEF("c", "Const", , INT32("6"))
                       BODY("s", "Less", "INT32", "i", "c:output:0") RET("r", "s:z:0"))
      FUNCTION("Step", ARG("a", "INT32") ARG("i", "INT32") OUT("r", "INT32") OUT("j", "INT32"),
               DEF("one", "Const", , INT32("1")) DEF("three", "Const", , INT32("3"))
               BODY("m", "FloorMod", "INT32", "i", "three:output:0")
               DEF("s", "_SwitchN", IN("a") IN("m:z:0"), INT("num_outs", "2") TYPE("T", "INT32"))
               DEF("here", "Const", IN("^s"), INT32("1"))
               BODY("more", "AddV2", "INT32", "s:outputs:0", "here:output:0")
               BODY("twice", "AddV2", "INT32", "s:outputs:1", "s:outputs:1")
               DEF("y", "Merge", IN("more:z:0") IN("twice:z:0"), INT("N", "2") TYPE("T", "INT32"))
               BODY("k", "AddV2", "INT32", "i", "one:output:0")
               RET("r", "y:output:0") RET("j", "k:z:0")) END
      X("INT32") NODE("zero", "Const", , INT32("0")) LOOP("native", ) LOOP("lowered", LOWER));
  // 3: +1 4, *2 8, *2 16, +1 17, *2 34, *2 68
  assert_int_equal(functions_int(&f, "native", 3), 68);
  assert_int_equal(functions_int(&f, "lowered", 3), 68);
  functions_close(&f);
}

// A call reads a dead output, and its body has a node that reads nothing: it must not run either,
// though the graph has no control flow but the _SwitchN.
static void test_a_call_behind_a_dead_output(void** state) {
  functions_t f = functions_open(
      LIBRARY UNARY("Seven", "INT32", "c:output:0", DEF("c", "Const", , INT32("7"))) END
      X("INT32") SWITCH("s", "x", "x")
      NODE("call", "PartitionedCall", IN("s:1"),
           TYPES("Tin", "DT_INT32") TYPES("Tout", "DT_INT32") FUNC("f", "Seven")));
  assert_int_equal(functions_int(&f, "call", 1), 7);
  assert_int_equal(functions_try(&f, "call", kit_int32(0), 0), TF_INVALID_ARGUMENT);
  functions_close(&f);
}

static void test_a_switch_n_by_a_vector(void** state) {
  functions_t f = {.graph = TF_NewGraph(), .status = TF_NewStatus()};
  assert_int_equal(functions_import(f.graph,
                                    NODE("i", "Const", , VECTOR("INT32", "int_val", "2", "0, 1"))
                                    SWITCH("s", "i", "i"), f.status), TF_INVALID_ARGUMENT);
  TF_DeleteGraph(f.graph);
  TF_DeleteStatus(f.status);
}

// ---- Variables ----------------------------------------------------------------------------------

#define TEXTS(key, ...) " attr { key: '" key "' value { list { s: [" __VA_ARGS__ "] } } }"
#define HANDLES(names)                                                                        \
  TEXTS("containers", "'', ''") TEXTS("shared_names", names) INT("N", "2")                    \
  TYPES("dtypes", "DT_FLOAT, DT_INT32")                                                       \
  " attr { key: 'shapes' value { list { shape { dim { size: 2 } } shape {} } } }"
#define READ(name, inputs, types) \
  NODE(name, "_ReadVariablesOp", inputs, INT("N", "2") TYPES("dtypes", types))

static void test_variables(void** state) {
  functions_t f = functions_open(
      NODE("h", "_VarHandlesOp", , HANDLES("'a', 'b'"))
      NODE("one", "Const", , VECTOR("FLOAT", "float_val", "2", "1, 2"))
      NODE("two", "Const", , INT32("7"))
      NODE("set_a", "AssignVariableOp", IN("h") IN("one"), TYPE("dtype", "FLOAT"))
      NODE("set_b", "AssignVariableOp", IN("h:1") IN("two"), TYPE("dtype", "INT32"))
      NODE("add_a", "AssignAddVariableOp", IN("h") IN("one"), TYPE("dtype", "FLOAT"))
      READ("r", IN("h") IN("h:1"), "DT_FLOAT, DT_INT32")
      // The same variable by a handle of its own.
      NODE("b", "VarHandleOp", , TYPE("dtype", "INT32") " attr { key: 'shape' value { shape {} } }"
           " attr { key: 'shared_name' value { s: 'b' } }")
      NODE("read_b", "ReadVariableOp", IN("b"), TYPE("dtype", "INT32")));
  expect_failure(&f, "r", TF_FAILED_PRECONDITION, "variable a");
  functions_target(&f, "set_a");
  expect_failure(&f, "r", TF_FAILED_PRECONDITION, "variable b");
  functions_target(&f, "set_b");
  functions_target(&f, "add_a");
  expect_floats(&f, "r", 0, 2, (const float[]){2, 4});
  static const char* const reads[] = {"r", "read_b"};
  for (int i = 0; i < 2; ++i) {
    TF_Tensor* tensor = functions_run(&f, reads[i], 1 - i, NULL, NULL);
    assert_int_equal(kit_int32_of(tensor), 7);
    TF_DeleteTensor(tensor);
  }
  // The shape is known before a step runs.
  int64_t size = 0;
  assert_int_equal(TF_GraphGetTensorNumDims(f.graph, functions_output(&f, "r", 0), f.status), 1);
  TF_GraphGetTensorShape(f.graph, functions_output(&f, "r", 0), &size, 1, f.status);
  assert_int_equal(size, 2);
  functions_close(&f);
}

static void expect_refusal(const char* text, const char* message) {
  TF_Graph* graph = TF_NewGraph();
  TF_Status* status = TF_NewStatus();
  assert_int_equal(functions_import(graph, text, status), TF_INVALID_ARGUMENT);
  if (!strstr(TF_Message(status), message)) {
    fail_msg("the message is '%s', must contain '%s'", TF_Message(status), message);
  }
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
}

static void test_lists_of_variables_that_do_not_agree(void** state) {
  expect_refusal(NODE("h", "_VarHandlesOp", , HANDLES("'a'")), "shared_names");
  expect_refusal(NODE("h", "_VarHandlesOp", , HANDLES("'a', 'b'"))
                 READ("r", IN("h") IN("h:1"), "DT_FLOAT"), "dtypes has 1 values");
  expect_refusal(NODE("h", "_VarHandlesOp", , HANDLES("'a', 'b'"))
                 READ("r", IN("h") IN("h:1"), "DT_FLOAT, DT_FLOAT"), "dtype is float");
}

// ---- MapDefun -----------------------------------------------------------------------------------

#define SIZES(...) " attr { key: 'output_shapes' value { list { " __VA_ARGS__ " } } }"
#define UNKNOWN "shape { unknown_rank: true }"
#define ROW(size) "shape { dim { size: " size " } }"
#define MAP(name, inputs, arguments, captured, results, shapes, f)                             \
  NODE(name, "MapDefun", inputs, TYPES("Targuments", arguments) TYPES("Tcaptured", captured)   \
       TYPES("output_types", results) SIZES(shapes) FUNC("f", f))
// "rows" are 0 to 999 as floats, "matrix" the same as [500, 2].
#define ROWS                                                                                    \
  NODE("start", "Const", , FLOAT("0")) NODE("limit", "Const", , FLOAT("1000"))                  \
  NODE("step", "Const", , FLOAT("1"))                                                           \
  NODE("rows", "Range", IN("start") IN("limit") IN("step"), TYPE("Tidx", "FLOAT"))              \
  NODE("shape", "Const", , VECTOR("INT32", "int_val", "2", "500, 2"))                           \
  NODE("matrix", "Reshape", IN("rows") IN("shape"), TYPE("T", "FLOAT") TYPE("Tshape", "INT32"))
#define ADD FUNCTION("Plus", ARG("a", "FLOAT") ARG("b", "FLOAT") OUT("r", "FLOAT"),  \
                     BODY("s", "AddV2", "FLOAT", "a", "b") RET("r", "s:z:0"))

static void test_a_map(void** state) {
  functions_t f = functions_open(
      LIBRARY ADD
      FUNCTION("Both", ARG("a", "FLOAT") ARG("b", "FLOAT") OUT("r", "FLOAT") OUT("q", "STRING"),
               BODY("s", "AddV2", "FLOAT", "a", "b")
               DEF("t", "AsString", IN("a"), TYPE("T", "FLOAT"))
               RET("r", "s:z:0") RET("q", "t:output:0")) END ROWS
      NODE("two", "Const", , VECTOR("FLOAT", "float_val", "2", "10000, 20000"))
      MAP("y", IN("matrix") IN("two"), "DT_FLOAT", "DT_FLOAT", "DT_FLOAT", ROW("2"), "Plus")
      MAP("unsaid", IN("matrix") IN("two"), "DT_FLOAT", "DT_FLOAT", "DT_FLOAT", UNKNOWN, "Plus")
      MAP("both", IN("rows") IN("two"), "DT_FLOAT", "DT_FLOAT", "DT_FLOAT, DT_STRING",
          UNKNOWN UNKNOWN, "Both"));
  static const char* const names[] = {"y", "unsaid"};
  for (int k = 0; k < 2; ++k) {
    TF_Tensor* y = functions_run(&f, names[k], 0, NULL, NULL);
    assert_int_equal(TF_NumDims(y), 2);
    assert_int_equal(TF_Dim(y, 0), 500);
    for (int i = 0; i < 1000; ++i) {
      const float expected = (float)i + (i % 2 ? 20000 : 10000);
      assert_true(((const float*)TF_TensorData(y))[i] == expected);
    }
    TF_DeleteTensor(y);
  }
  TF_Tensor* texts = functions_run(&f, "both", 1, NULL, NULL);
  assert_int_equal(TF_TensorElementCount(texts), 1000);
  const TF_TString* text = (const TF_TString*)TF_TensorData(texts) + 999;
  assert_int_equal(TF_StringGetSize(text), strlen("999.000000"));
  assert_memory_equal(TF_StringGetDataPointer(text), "999.000000", strlen("999.000000"));
  TF_DeleteTensor(texts);
  functions_close(&f);
}

// What a row gives may be of its own shape, may be an error, or may be nothing at all.
static void test_maps_that_fail(void** state) {
  functions_t f = functions_open(
      LIBRARY ADD
      UNARY("Count", "FLOAT", "s:output:0",
            DEF("zero", "Const", , FLOAT("0")) DEF("one", "Const", , FLOAT("1"))
            DEF("s", "Range", IN("zero:output:0") IN("a") IN("one:output:0"),
                TYPE("Tidx", "FLOAT")))
      UNARY("Below", "FLOAT", "i:output:0",
            DEF("most", "Const", , FLOAT("500"))
            BODY("s", "Less", "FLOAT", "a", "most:output:0")
            DEF("check", "Assert", IN("s:z:0") IN("a"), TYPES("T", "DT_FLOAT"))
            DEF("i", "Identity", IN("a") IN("^check"), TYPE("T", "FLOAT"))) END ROWS
      NODE("none", "Const", , VECTOR("FLOAT", "float_val", "0", ""))
      NODE("scalar", "Placeholder", , TYPE("dtype", "FLOAT"))
      MAP("lengths", IN("rows"), "DT_FLOAT", "", "DT_FLOAT", UNKNOWN, "Count")
      MAP("other", IN("rows") IN("rows"), "DT_FLOAT, DT_FLOAT", "", "DT_FLOAT", ROW("2"), "Plus")
      MAP("type", IN("rows") IN("rows"), "DT_FLOAT, DT_FLOAT", "", "DT_INT32", UNKNOWN, "Plus")
      MAP("fails", IN("rows"), "DT_FLOAT", "", "DT_FLOAT", UNKNOWN, "Below")
      MAP("few", IN("rows"), "DT_FLOAT", "", "DT_FLOAT", UNKNOWN, "Plus")
      MAP("lost", IN("rows"), "DT_FLOAT", "", "DT_FLOAT", UNKNOWN, "Nobody")
      MAP("empty", IN("none") IN("none"), "DT_FLOAT, DT_FLOAT", "", "DT_FLOAT", ROW("2"), "Plus")
      MAP("shapeless", IN("none") IN("none"), "DT_FLOAT, DT_FLOAT", "", "DT_FLOAT", UNKNOWN, "Plus")
      MAP("y", IN("rows") IN("rows"), "DT_FLOAT, DT_FLOAT", "", "DT_FLOAT", "shape {}", "Plus"));
  expect_failure(&f, "lengths", TF_INVALID_ARGUMENT, "Mismatch in function retval shape");
  expect_failure(&f, "other", TF_INVALID_ARGUMENT, "[], and expected output shape, [2]");
  expect_failure(&f, "type", TF_INVALID_ARGUMENT, "expected output type for output: 0");
  expect_failure(&f, "fails", TF_INVALID_ARGUMENT, "assertion failed");
  expect_failure(&f, "few", TF_INVALID_ARGUMENT, "");
  assert_int_not_equal(functions_try(&f, "lost", NULL, 0), TF_OK);
  expect_floats(&f, "empty", 0, 0, NULL);
  expect_failure(&f, "shapeless", TF_INTERNAL, "output 0 has no shape");
  TF_Tensor* y = functions_run(&f, "y", 0, NULL, NULL);  // the session goes on
  assert_true(((const float*)TF_TensorData(y))[999] == 1998);
  TF_DeleteTensor(y);
  functions_close(&f);
}

// Shapes that are only known when the step runs.
static void test_a_map_over_what_has_no_rows(void** state) {
  functions_t f = functions_open(
      LIBRARY ADD END X("FLOAT") ROWS
      MAP("scalar", IN("rows") IN("x"), "DT_FLOAT, DT_FLOAT", "", "DT_FLOAT", UNKNOWN, "Plus")
      MAP("others", IN("rows") IN("y"), "DT_FLOAT, DT_FLOAT", "", "DT_FLOAT", UNKNOWN, "Plus")
      NODE("y", "Fill", IN("dims") IN("x"), TYPE("T", "FLOAT") TYPE("index_type", "INT32"))
      NODE("dims", "Cast", IN("vector"), TYPE("SrcT", "FLOAT") TYPE("DstT", "INT32"))
      NODE("vector", "ExpandDims", IN("x") IN("axis"), TYPE("T", "FLOAT") TYPE("Tdim", "INT32"))
      NODE("axis", "Const", , INT32("0")));
  assert_int_equal(functions_try(&f, "scalar", kit_float(3), 0), TF_INVALID_ARGUMENT);
  assert_non_null(strstr(TF_Message(f.status), "Input 1 has a rank of 0"));
  assert_int_equal(functions_try(&f, "others", kit_float(3), 0), TF_INVALID_ARGUMENT);
  assert_non_null(strstr(TF_Message(f.status), "Input 1 has 3 rows, input 0 has 1000"));
  functions_close(&f);
}

// Each row runs a loop that is a kernel of its own, in calls of calls.
static void test_a_map_of_loops(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Small", ARG("a", "FLOAT") OUT("r", "BOOL"),
                       DEF("c", "Const", , FLOAT("2000"))
                       BODY("s", "Less", "FLOAT", "a", "c:output:0") RET("r", "s:z:0"))
      UNARY("More", "FLOAT", "s:z:0",
            DEF("c", "Const", , FLOAT("1000")) BODY("s", "AddV2", "FLOAT", "a", "c:output:0"))
      UNARY("Loop", "FLOAT", "w:output:0",
            DEF("w", "While", IN("a"), TYPES("T", "DT_FLOAT") FUNC("cond", "Small")
                FUNC("body", "More")))
      UNARY("Endless", "FLOAT", "w:output:0",
            DEF("w", "While", IN("a"), TYPES("T", "DT_FLOAT") FUNC("cond", "Always")
                FUNC("body", "More")))
      FUNCTION("Always", ARG("a", "FLOAT") OUT("r", "BOOL"),
               DEF("c", "Const", , TYPE("dtype", "BOOL") " attr { key: 'value' value { tensor { "
                   "dtype: DT_BOOL tensor_shape {} bool_val: true } } }") RET("r", "c:output:0"))
      END ROWS MAP("y", IN("rows"), "DT_FLOAT", "", "DT_FLOAT", UNKNOWN, "Loop")
      MAP("forever", IN("rows"), "DT_FLOAT", "", "DT_FLOAT", UNKNOWN, "Endless"));
  TF_Tensor* y = functions_run(&f, "y", 0, NULL, NULL);
  for (int i = 0; i < 1000; ++i) {
    assert_true(((const float*)TF_TensorData(y))[i] == (float)i + 2000);
  }
  TF_DeleteTensor(y);
  assert_int_equal(functions_try(&f, "forever", NULL, 50), TF_DEADLINE_EXCEEDED);
  functions_close(&f);
}

// ---- Constants and arguments --------------------------------------------------------------------

static void test_a_constant_of_the_host(void** state) {
  functions_t f = functions_open(
      NODE("c", "HostConst", , VECTOR("FLOAT", "float_val", "2", "1, 2"))
      NODE("y", "AddV2", IN("c") IN("c"), TYPE("T", "FLOAT"))
      NODE("wait", "NoOp", , ) NODE("late", "HostConst", IN("^wait"), FLOAT("3")));
  expect_floats(&f, "y", 0, 2, (const float[]){2, 4});
  expect_floats(&f, "c", 0, 2, (const float[]){1, 2});
  expect_floats(&f, "late", 0, 1, (const float[]){3});
  functions_close(&f);
  expect_refusal(NODE("c", "HostConst", , TYPE("dtype", "INT32")
                      " attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} "
                      "float_val: 1 } } }"), "between value (float) and dtype (int32)");
}

// As _Arg and _Retval, they are ends of a function's body and nothing that a graph can run.
static void test_arguments_outside_functions(void** state) {
  functions_t f = functions_open(
      NODE("x", "_DeviceArg", , TYPE("T", "FLOAT") INT("index", "0"))
      NODE("one", "Const", , FLOAT("1"))
      NODE("r", "_DeviceRetval", IN("one"), TYPE("T", "FLOAT") INT("index", "0"))
      NODE("y", "Identity", IN("one") IN("^r"), TYPE("T", "FLOAT")));
  assert_int_not_equal(functions_try(&f, "x", NULL, 0), TF_OK);
  assert_int_not_equal(functions_try(&f, "y", NULL, 0), TF_OK);
  assert_true(functions_fetch(&f, "one") == 1);
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test(test_##name)
      TEST(if),
      TEST(while),
      TEST(switch_n),
      TEST(switch_n_in_a_loop),
      TEST(a_call_behind_a_dead_output),
      TEST(a_switch_n_by_a_vector),
      TEST(variables),
      TEST(lists_of_variables_that_do_not_agree),
      TEST(a_map),
      TEST(maps_that_fail),
      TEST(a_map_over_what_has_no_rows),
      TEST(a_map_of_loops),
      TEST(a_constant_of_the_host),
      TEST(arguments_outside_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
