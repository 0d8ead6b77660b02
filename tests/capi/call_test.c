// Calls of functions (section 10): by name and through PartitionedCall, attributes, lists, effects,
// control edges, dead branches and loops, gradients, devices, partial fetches, traces. Each test
// imports a GraphDef in text form with a library of functions, runs it through the public C API,
// and compares with numbers worked out by hand. A variable that bodies add to (COUNTER) shows how
// often and in which order they ran. Making functions from graphs is tested in function_test.c, and
// functions that If, While and Case choose in branch_test.c.
#include "capi/function_kit.h"
#include "paper/counter.h"

#define BINARY(name, op, dtype, a, b) NODE(name, op, IN(a) IN(b), TYPE("T", dtype))
#define BODY(name, op, dtype, a, b) DEF(name, op, IN(a) IN(b), TYPE("T", dtype))
#define X(dtype) NODE("x", "Placeholder", , TYPE("dtype", dtype))
#define SQUARE                                                                     \
  FUNCTION("Square2", ARG("a", "FLOAT") OUT("r", "FLOAT"),                         \
           BODY("m", "Mul", "FLOAT", "a", "a") RET("r", "m:z:0"))
#define CALL(name, op, f, inputs, in, out) \
  NODE(name, op, inputs, TYPES("Tin", in) TYPES("Tout", out) FUNC("f", f))
// A variable of the runtime's, a counter: read by "read", set to 0 by "reset".
#define HANDLE TYPE("dtype", "FLOAT") " attr { key: 'shape' value { shape {} } }" \
  " attr { key: 'shared_name' value { s: 'v' } }"
#define COUNTER                                                          \
  NODE("v", "VarHandleOp", , HANDLE)                                     \
  NODE("zero", "Const", , FLOAT("0"))                                    \
  NODE("reset", "AssignVariableOp", IN("v") IN("zero"), TYPE("dtype", "FLOAT")) \
  NODE("read", "ReadVariableOp", IN("v"), TYPE("dtype", "FLOAT"))

static void test_by_name_and_through_partitioned_call(void** state) {
  functions_t f = functions_open(
      LIBRARY SQUARE END X("FLOAT") NODE("named", "Square2", IN("x"), )
      CALL("called", "PartitionedCall", "Square2", IN("x"), "DT_FLOAT", "DT_FLOAT")
      CALL("stateful", "StatefulPartitionedCall", "Square2", IN("named"), "DT_FLOAT", "DT_FLOAT"));
  assert_true(functions_float(&f, "named", 3) == 9);
  assert_true(functions_float(&f, "called", 4) == 16);
  assert_true(functions_float(&f, "stateful", 2) == 16);
  functions_close(&f);
}

static void test_nested_calls(void** state) {
  functions_t f = functions_open(
      LIBRARY SQUARE FUNCTION("Fourth", ARG("a", "FLOAT") OUT("r", "FLOAT"),
                      DEF("s", "Square2", IN("a"), )
                      DEF("t", "PartitionedCall", IN("s:r:0"), TYPES("Tin", "DT_FLOAT")
                          TYPES("Tout", "DT_FLOAT") FUNC("f", "Square2"))
                      RET("r", "t:output:0"))
      FUNCTION("Both", ARG("a", "FLOAT") OUT("p", "FLOAT") OUT("q", "FLOAT"),
               DEF("u", "Fourth", IN("a"), ) RET("p", "u:r:0") RET("q", "a"))
      END X("FLOAT") NODE("call", "Both", IN("x"), )
      BINARY("sum", "AddV2", "FLOAT", "call", "call:1"));
  assert_true(functions_float(&f, "sum", 2) == 18);
  TF_Tensor* q = functions_run(&f, "call", 1, kit_float(5), NULL);
  assert_true(kit_float_of(q) == 5);
  TF_DeleteTensor(q);
  functions_close(&f);
}

#define NUMBER_ATTR(name, n, t) \
  " input_arg { name: '" name "' number_attr: '" n "' type_attr: '" t "' }"
#define ATTR(name, type) " attr { name: '" name "' type: '" type "' }"
#define INT(key, value) " attr { key: '" key "' value { i: " value " } }"

// One body for all N and T; the numbers of a call fill the placeholders.
static void test_attributes_are_bound(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("SumN", NUMBER_ATTR("xs", "N", "T")
               " output_arg { name: 'r' type_attr: 'T' }"
               ATTR("N", "int") ATTR("T", "type"),
               DEF("s", "AddN", IN("xs"), PLACEHOLDER("N", "N") PLACEHOLDER("T", "T"))
               RET("r", "s:sum:0"))
      FUNCTION("Outer", ARG("a", "INT32") " output_arg { name: 'r' type: DT_INT32 }"
               ATTR("K", "int"),
               DEF("k", "SumN", IN("a") IN("a") IN("a"), PLACEHOLDER("N", "K") TYPE("T", "INT32"))
               RET("r", "k:r:0"))
      END X("INT32") NODE("two", "SumN", IN("x") IN("x"), INT("N", "2") TYPE("T", "INT32"))
      NODE("three", "Outer", IN("x"), INT("K", "3"))
      NODE("f", "Cast", IN("x"), TYPE("SrcT", "INT32") TYPE("DstT", "FLOAT"))
      NODE("four", "SumN", IN("f") IN("f") IN("f") IN("f"), INT("N", "4") TYPE("T", "FLOAT"))
      NODE("by_call", "PartitionedCall", IN("x") IN("x"), TYPES("Tin", "DT_INT32, DT_INT32")
           TYPES("Tout", "DT_INT32") " attr { key: 'f' value { func { name: 'SumN' attr { key: 'N' "
           "value { i: 2 } } attr { key: 'T' value { type: DT_INT32 } } } } }"));
  assert_int_equal(functions_int(&f, "two", 7), 14);
  assert_int_equal(functions_int(&f, "three", 7), 21);
  assert_int_equal(functions_int(&f, "by_call", 8), 16);
  TF_Tensor* four = functions_run(&f, "four", 0, kit_int32(3), NULL);
  assert_true(kit_float_of(four) == 12);
  TF_DeleteTensor(four);
  functions_close(&f);
}

// list(type): the arguments of a list are one name of the body, "xs:1" is the second of them.
static void test_lists_of_types(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Swap", " input_arg { name: 'xs' type_list_attr: 'Ts' }"
               " output_arg { name: 'r' type: DT_FLOAT } output_arg { name: 'all' type_list_attr: "
               "'Ts' }" ATTR("Ts", "list(type)"),
               DEF("c", "Cast", IN("xs:1"), TYPE("SrcT", "INT32") TYPE("DstT", "FLOAT"))
               DEF("s", "AddV2", IN("xs:0") IN("c:y:0"), TYPE("T", "FLOAT"))
               DEF("id", "IdentityN", IN("xs"), PLACEHOLDER("T", "Ts"))
               RET("r", "s:z:0") RET("all", "id:output"))
      END X("FLOAT") NODE("y", "Placeholder", , TYPE("dtype", "INT32"))
      NODE("swap", "Swap", IN("x") IN("y"), TYPES("Ts", "DT_FLOAT, DT_INT32")));
  TF_Tensor* sum = functions_run(&f, "swap", 0, kit_float(0.5f), kit_int32(2));
  assert_true(kit_float_of(sum) == 2.5f);
  TF_Tensor* second = functions_run(&f, "swap", 2, kit_float(0.5f), kit_int32(2));
  assert_int_equal(kit_int32_of(second), 2);
  TF_DeleteTensor(sum);
  TF_DeleteTensor(second);
  functions_close(&f);
}

// ---- Effects ------------------------------------------------------------------------------------

#define ADD_TO(name, amount)                                                                   \
  FUNCTION(name, ARG("h", "RESOURCE") " is_stateful: true",                                    \
           DEF("one", "Const", , FLOAT(amount))                                                \
           DEF("add", "AssignAddVariableOp", IN("h") IN("one:output:0"), TYPE("dtype", "FLOAT")) \
           CONTROL_RET("c", "add"))
#define COUNT ADD_TO("Count", "1")

static void test_effects_run(void** state) {
  functions_t f = functions_open(
      LIBRARY COUNT FUNCTION("Twice", ARG("h", "RESOURCE") ARG("a", "FLOAT") OUT("r", "FLOAT")
                     " is_stateful: true",
                     DEF("p", "Count", IN("h"), ) DEF("q", "Count", IN("h") IN("^p"), )
                     RET("r", "a"))
      END COUNTER X("FLOAT") NODE("once", "Count", IN("v"), )
      NODE("twice", "Twice", IN("v") IN("x"), )
      NODE("after", "ReadVariableOp", IN("v") IN("^once"), TYPE("dtype", "FLOAT")));
  functions_target(&f, "reset");
  functions_target(&f, "once");
  assert_true(functions_fetch(&f, "read") == 1);
  assert_true(functions_fetch(&f, "after") == 2);
  assert_true(functions_float(&f, "twice", 8) == 8);  // what is fetched needs no effect
  assert_true(functions_fetch(&f, "read") == 4);
  functions_close(&f);
}

// A call waits for its control inputs, and what comes after it for all of the call.
static void test_control_inputs_keep_the_order(void** state) {
  functions_t f = functions_open(
      LIBRARY COUNT FUNCTION("Read", ARG("h", "RESOURCE") OUT("r", "FLOAT") " is_stateful: true",
                     DEF("get", "ReadVariableOp", IN("h"), TYPE("dtype", "FLOAT"))
                     RET("r", "get:value:0"))
      FUNCTION("Five", OUT("r", "FLOAT"), DEF("c", "Const", , FLOAT("5")) RET("r", "c:output:0"))
      END COUNTER NODE("a", "Count", IN("v") IN("^reset"), ) NODE("b", "Count", IN("v") IN("^a"), )
      NODE("get", "Read", IN("v") IN("^b"), ) NODE("c", "Count", IN("v") IN("^get"), )
      NODE("five", "Five", IN("^c"), )
      NODE("last", "ReadVariableOp", IN("v") IN("^five"), TYPE("dtype", "FLOAT")));
  for (int i = 0; i < 50; ++i) {
    TF_Output fetches[] = {functions_output(&f, "get", 0), functions_output(&f, "last", 0)};
    TF_Tensor* results[2];
    TF_SessionRun(f.session, NULL, NULL, NULL, 0, fetches, results, 2, NULL, 0, NULL, f.status);
    kit_ok(f.status);
    assert_true(kit_float_of(results[0]) == 2);
    assert_true(kit_float_of(results[1]) == 3);
    TF_DeleteTensor(results[0]);
    TF_DeleteTensor(results[1]);
  }
  functions_close(&f);
}

// A call of a function that gives nothing and has no effect is still between what it waits for and
// who waits for it: what it waits for runs, and first.
static void test_a_call_that_does_nothing_is_waited_for(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Nothing", ARG("a", "FLOAT"), DEF("n", "Neg", IN("a"), TYPE("T", "FLOAT")))
      END COUNTER NODE("five", "Const", , FLOAT("5"))
      NODE("add", "AssignAddVariableOp", IN("v") IN("five") IN("^reset"), TYPE("dtype", "FLOAT"))
      NODE("nothing", "Nothing", IN("five") IN("^add"), )
      NODE("last", "ReadVariableOp", IN("v") IN("^nothing"), TYPE("dtype", "FLOAT")));
  assert_true(functions_fetch(&f, "last") == 5);
  functions_target(&f, "reset");
  functions_target(&f, "nothing");
  assert_true(functions_fetch(&f, "read") == 5);
  functions_close(&f);
}

// ---- Dead calls, calls in loops -----------------------------------------------------------------

// switch ? count(1), 10 + x : count(100), 20 + x. Constants of the bodies must know their branch.
static void test_calls_in_a_cond(void** state) {
  functions_t f = functions_open(
      LIBRARY COUNT ADD_TO("Count100", "100")
      FUNCTION("Add10", ARG("a", "FLOAT") ARG("h", "RESOURCE") OUT("r", "FLOAT")
               " is_stateful: true",
               DEF("ten", "Const", , FLOAT("10")) BODY("s", "AddV2", "FLOAT", "a", "ten:output:0")
               DEF("n", "Count", IN("h"), ) RET("r", "s:z:0"))
      FUNCTION("Add20", ARG("a", "FLOAT") ARG("h", "RESOURCE") OUT("r", "FLOAT")
               " is_stateful: true",
               DEF("ten", "Const", , FLOAT("20")) BODY("s", "AddV2", "FLOAT", "a", "ten:output:0")
               DEF("n", "Count100", IN("h"), ) RET("r", "s:z:0"))
      FUNCTION("Three", OUT("r", "FLOAT"), DEF("c", "Const", , FLOAT("3")) RET("r", "c:output:0"))
      END COUNTER X("FLOAT") BINARY("p", "Greater", "FLOAT", "x", "zero")
      BINARY("sx", "Switch", "FLOAT", "x", "p") BINARY("sv", "Switch", "RESOURCE", "v", "p")
      NODE("yes", "Add10", IN("sx:1") IN("sv:1"), )
      NODE("pivot", "Identity", IN("sx"), TYPE("T", "FLOAT"))
      NODE("three", "Three", IN("^pivot"), )
      NODE("no0", "Add20", IN("sx") IN("sv"), ) BINARY("no", "AddV2", "FLOAT", "no0", "three")
      NODE("m", "Merge", IN("no") IN("yes"), TYPE("T", "FLOAT") INT("N", "2")));
  functions_target(&f, "reset");
  for (int i = 1; i <= 20; ++i) {
    assert_true(functions_float(&f, "m", 1) == 11);
    assert_true(functions_float(&f, "m", -1) == 22);
    assert_true(functions_fetch(&f, "read") == 101.0f * (float)i);
  }
  functions_close(&f);
}

// while (i < x) i += Five() - 4, counting each.
static void test_calls_in_a_loop(void** state) {
  functions_t f = functions_open(
      LIBRARY COUNT FUNCTION("Five", OUT("r", "FLOAT"), DEF("c", "Const", , FLOAT("5"))
                     RET("r", "c:output:0"))
      FUNCTION("Under", ARG("a", "FLOAT") ARG("b", "FLOAT") OUT("r", "BOOL"),
               BODY("l", "Less", "FLOAT", "a", "b") RET("r", "l:z:0"))
      FUNCTION("Next", ARG("a", "FLOAT") ARG("h", "RESOURCE") OUT("r", "FLOAT")
               " is_stateful: true",
               DEF("four", "Const", , FLOAT("4")) DEF("f", "Five", , )
               BODY("d", "Sub", "FLOAT", "f:r:0", "four:output:0")
               BODY("s", "AddV2", "FLOAT", "a", "d:z:0") DEF("n", "Count", IN("h"), )
               RET("r", "s:z:0"))
      END COUNTER X("FLOAT")
#define ENTER(name, of, dtype, constant)                                                     \
  NODE(name, "Enter", IN(of), TYPE("T", dtype) " attr { key: 'frame_name' value { s: 'w' } }" \
       " attr { key: 'is_constant' value { b: " constant " } }")
      ENTER("ei", "zero", "FLOAT", "false") ENTER("ex", "x", "FLOAT", "true")
      ENTER("ev", "v", "RESOURCE", "true")
      NODE("m", "Merge", IN("ei") IN("next"), TYPE("T", "FLOAT") INT("N", "2"))
      NODE("less", "Under", IN("m") IN("ex"), ) NODE("cond", "LoopCond", IN("less"), )
      BINARY("s", "Switch", "FLOAT", "m", "cond")
      NODE("i", "Identity", IN("s:1"), TYPE("T", "FLOAT"))
      NODE("step", "Next", IN("i") IN("ev"), )
      NODE("next", "NextIteration", IN("step"), TYPE("T", "FLOAT"))
      NODE("exit", "Exit", IN("s"), TYPE("T", "FLOAT")));
  functions_target(&f, "reset");
  assert_true(functions_float(&f, "exit", 7) == 7);
  assert_true(functions_fetch(&f, "read") == 7);
  assert_true(functions_float(&f, "exit", -3) == 0);
  assert_true(functions_fetch(&f, "read") == 7);
  assert_true(functions_float(&f, "exit", 1000) == 1000);
  functions_close(&f);
}

// A loop in a body: its constants and calls are of the loop.
static void test_a_loop_in_a_body(void** state) {
#define BODY_ENTER(name, of)                                                                   \
  DEF(name, "Enter", IN(of), TYPE("T", "FLOAT") " attr { key: 'frame_name' value { s: 'w' } }")
  functions_t f = functions_open(
      LIBRARY SQUARE FUNCTION(
          "Grow", ARG("a", "FLOAT") OUT("r", "FLOAT"),
          BODY_ENTER("e", "a")
          DEF("m", "Merge", IN("e:output:0") IN("n:output:0"), TYPE("T", "FLOAT") INT("N", "2"))
          DEF("limit", "Const", IN("^m"), FLOAT("100"))
          BODY("less", "Less", "FLOAT", "m:output:0", "limit:output:0")
          DEF("c", "LoopCond", IN("less:z:0"), )
          BODY("s", "Switch", "FLOAT", "m:output:0", "c:output:0")
          DEF("sq", "Square2", IN("s:output_true:0"), )
          DEF("n", "NextIteration", IN("sq:r:0"), TYPE("T", "FLOAT"))
          DEF("x", "Exit", IN("s:output_false:0"), TYPE("T", "FLOAT")) RET("r", "x:output:0"))
      END X("FLOAT") NODE("one", "Grow", IN("x"), ) NODE("two", "Grow", IN("x"), )
      BINARY("sum", "AddV2", "FLOAT", "one", "two"));
  assert_true(functions_float(&f, "sum", 2) == 512);
  assert_true(functions_float(&f, "sum", 3) == 13122);
  functions_close(&f);
}

// ---- Gradients ----------------------------------------------------------------------------------

#define GRADIENT_OF(f) \
  NODE("g", "SymbolicGradient", IN("x") IN("x"), TYPES("Tin", "DT_FLOAT, DT_FLOAT") \
       TYPES("Tout", "DT_FLOAT") FUNC("f", f))

static void test_symbolic_gradients(void** state) {
  functions_t f = functions_open(LIBRARY SQUARE END X("FLOAT") GRADIENT_OF("Square2"));
  assert_true(functions_float(&f, "g", 3) == 18);  // 2 x * dy, dy = x
  functions_close(&f);
  // A function whose gradient another computes.
  f = functions_open(
      LIBRARY SQUARE FUNCTION("Mine", ARG("a", "FLOAT") ARG("dy", "FLOAT") OUT("da", "FLOAT"),
                      BODY("s", "AddV2", "FLOAT", "a", "dy") RET("da", "s:z:0"))
      " gradient { function_name: 'Square2' gradient_func: 'Mine' }\n"
      END X("FLOAT") GRADIENT_OF("Square2"));
  assert_true(functions_float(&f, "g", 3) == 6);
  functions_close(&f);
}

static void test_gradients_of_nested_calls(void** state) {
  functions_t f = functions_open(
      LIBRARY SQUARE FUNCTION("Fourth", ARG("a", "FLOAT") OUT("r", "FLOAT"),
                              DEF("s", "Square2", IN("a"), ) DEF("t", "Square2", IN("s:r:0"), )
                              RET("r", "t:r:0"))
      END X("FLOAT") GRADIENT_OF("Fourth"));
  assert_true(functions_float(&f, "g", 2) == 64);  // 4 x^3 * x
  functions_close(&f);
}

// ---- Devices, fetches, traces -------------------------------------------------------------------

static void test_two_devices(void** state) {
  functions_t f = functions_open_on(
      LIBRARY FUNCTION("Far", ARG("a", "FLOAT") OUT("r", "FLOAT"),
               "node_def { name: 'm' op: 'Mul' input: 'a' input: 'a' device: '/cpu:1'"
               TYPE("T", "FLOAT") "}"
               "node_def { name: 'n' op: 'Neg' input: 'm:z:0' device: '/cpu:0'"
               TYPE("T", "FLOAT") "}" RET("r", "n:y:0"))
      FUNCTION("Yes", ARG("a", "FLOAT") OUT("r", "FLOAT"),
               DEF("f", "Far", IN("a"), ) RET("r", "f:r:0"))
      FUNCTION("No", ARG("a", "FLOAT") OUT("r", "FLOAT"), RET("r", "a"))
      END X("FLOAT") "node { name: 'call' op: 'Far' input: 'x' device: '/cpu:1' }"
      NODE("zero", "Const", , FLOAT("0")) BINARY("p", "Greater", "FLOAT", "x", "zero")
      NODE("if", "If", IN("p") IN("x"), TYPE("Tcond", "BOOL") TYPES("Tin", "DT_FLOAT")
           TYPES("Tout", "DT_FLOAT") FUNC("then_branch", "Yes") FUNC("else_branch", "No")), 2);
  for (int i = 0; i < 20; ++i) {
    assert_true(functions_float(&f, "call", 3) == -9);
    assert_true(functions_float(&f, "if", 3) == -9);
    assert_true(functions_float(&f, "if", -3) == -3);
  }
  functions_close(&f);
}

static void test_partial_fetches(void** state) {
  // The body's second return needs a placeholder of nothing: it must not be run for the first.
  functions_t f = functions_open(
      LIBRARY FUNCTION("Two", ARG("a", "FLOAT") ARG("b", "FLOAT") OUT("p", "FLOAT")
               OUT("q", "FLOAT"),
               DEF("n", "Neg", IN("a"), TYPE("T", "FLOAT")) BODY("m", "Mul", "FLOAT", "b", "b")
               RET("p", "n:y:0") RET("q", "m:z:0"))
      END X("FLOAT") NODE("y", "Placeholder", , TYPE("dtype", "FLOAT"))
      NODE("two", "Two", IN("x") IN("y"), ));
  TF_Tensor* q = functions_run(&f, "two", 1, kit_float(1), kit_float(3));
  assert_true(kit_float_of(q) == 9);
  TF_DeleteTensor(q);
  // A fed output of the call.
  TF_Output feed = functions_output(&f, "two", 0), fetch = feed;
  functions_close(&f);
  f = functions_open(
      LIBRARY SQUARE END X("FLOAT") NODE("call", "Square2", IN("x"), )
      NODE("neg", "Neg", IN("call"), TYPE("T", "FLOAT")));
  feed = functions_output(&f, "call", 0), fetch = functions_output(&f, "neg", 0);
  TF_Tensor* result = kit_run(f.session, feed, kit_float(4), fetch);
  assert_true(kit_float_of(result) == -4);
  TF_DeleteTensor(result);
  functions_close(&f);
}

// Outputs of calls have the shapes that the bodies' returns have for those arguments.
static void test_shapes(void** state) {
  functions_t f = functions_open(
      LIBRARY SQUARE
      FUNCTION("Outer", ARG("a", "FLOAT") ARG("b", "FLOAT") OUT("p", "FLOAT") OUT("q", "FLOAT"),
               DEF("s", "Square2", IN("a"), ) BODY("m", "MatMul", "FLOAT", "s:r:0", "b")
               DEF("again", "Outer", IN("a") IN("b"), )
               RET("p", "m:product:0") RET("q", "again:p:0")) END
      NODE("x", "Placeholder", , TYPE("dtype", "FLOAT")
           " attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 3 } } } }")
      NODE("y", "Placeholder", , TYPE("dtype", "FLOAT")
           " attr { key: 'shape' value { shape { dim { size: 3 } dim { size: 5 } } } }")
      NODE("named", "Outer", IN("x") IN("y"), )
      CALL("called", "PartitionedCall", "Square2", IN("y"), "DT_FLOAT", "DT_FLOAT")
      NODE("off", "Square2", IN("y"),
           " attr { key: '_disable_call_shape_inference' value { b: true } }"));
  static const struct {
    const char* name;
    int index, rank;
    int64_t dims[2];
  } cases[] = {{"named", 0, 2, {-1, 5}}, {"named", 1, -1, {0}}, {"called", 0, 2, {3, 5}},
               {"off", 0, -1, {0}}};
  for (int i = 0; i < 4; ++i) {
    TF_Output output = functions_output(&f, cases[i].name, cases[i].index);
    assert_int_equal(TF_GraphGetTensorNumDims(f.graph, output, f.status), cases[i].rank);
    kit_ok(f.status);
    int64_t dims[2] = {0};
    if (cases[i].rank < 0) continue;
    TF_GraphGetTensorShape(f.graph, output, dims, 2, f.status);
    kit_ok(f.status);
    assert_memory_equal(dims, cases[i].dims, sizeof dims);
  }
  functions_close(&f);
}

static void expect_import(const char* text, TF_Code code, const char* named) {
  TF_Graph* graph = TF_NewGraph();
  TF_Status* status = TF_NewStatus();
  functions_import(graph, text, status);
  assert_int_equal(TF_GetCode(status), code);
  assert_non_null(strstr(TF_Message(status), named));
  TF_DeleteStatus(status);
  TF_DeleteGraph(graph);
}

// A body that cannot take what the call gives is refused when the call is made.
static void test_wrong_shapes(void** state) {
  expect_import(LIBRARY FUNCTION("Product", ARG("a", "FLOAT") ARG("b", "FLOAT") OUT("p", "FLOAT"),
                                 BODY("m", "MatMul", "FLOAT", "a", "b") RET("p", "m:product:0"))
                END NODE("y", "Placeholder", , TYPE("dtype", "FLOAT")
                         " attr { key: 'shape' value { shape { dim { size: 3 } "
                         "dim { size: 5 } } } }")
                NODE("wrong", "Product", IN("y") IN("y"), ),
                TF_INVALID_ARGUMENT, "'Product'");
}

#define ODD                                                                                    \
  FUNCTION("Odd", ARG("a", "FLOAT") OUT("r", "FLOAT"),                                         \
           DEF("o", "Oddity", IN("a"), ) RET("r", "o:y:0"))

// So is one with an op that nobody registered; as long as nothing calls it, it may be there. A
// function that nobody defined is found to be missing when it is called.
static void test_unknown_ops(void** state) {
  expect_import(LIBRARY ODD END X("FLOAT") NODE("call", "Odd", IN("x"), ), TF_NOT_FOUND,
                "'Oddity'");
  expect_import(LIBRARY ODD END X("FLOAT") CALL("call", "PartitionedCall", "Odd", IN("x"),
                                                "DT_FLOAT", "DT_FLOAT"),
                TF_NOT_FOUND, "'Oddity'");
  expect_import(LIBRARY ODD END X("FLOAT"), TF_OK, "");
  expect_import(X("FLOAT") CALL("call", "PartitionedCall", "Lost", IN("x"), "DT_FLOAT", "DT_FLOAT"),
                TF_OK, "");
}

#define LARGEST                                                                              \
  FUNCTION("Largest", ARG("a", "FLOAT") OUT("r", "FLOAT"),                                   \
           DEF("zero", "Const", , INT32("0"))                                                \
           DEF("row", "ExpandDims", IN("a") IN("zero:output:0"), TYPE("T", "FLOAT"))         \
           DEF("top", "TopK", IN("row:output:0"), TYPE("T", "FLOAT") INT("k", "1"))          \
           RET("r", "top:values:0"))
#define VERSION(producer) "versions { producer: " producer " }\n"

// TopK was removed in version 7. A function may use it where the graph that calls it is older,
// whether its body is inlined or runs as a call.
static void test_functions_are_of_their_graph_s_version(void** state) {
  functions_t f = functions_open(
      LIBRARY LARGEST FUNCTION("Indirect", ARG("a", "FLOAT") OUT("r", "FLOAT"),
                               DEF("c", "PartitionedCall", IN("a"), TYPES("Tin", "DT_FLOAT")
                                   TYPES("Tout", "DT_FLOAT") FUNC("f", "Largest"))
                               RET("r", "c:output:0"))
      END VERSION("6") X("FLOAT")
      CALL("call", "PartitionedCall", "Largest", IN("x"), "DT_FLOAT", "DT_FLOAT")
      NODE("if", "If", IN("x") IN("x"), TYPE("Tcond", "FLOAT") TYPES("Tin", "DT_FLOAT")
           TYPES("Tout", "DT_FLOAT") FUNC("then_branch", "Indirect")
           FUNC("else_branch", "Largest")));
  assert_true(functions_float(&f, "call", 3) == 3);
  assert_true(functions_float(&f, "if", 4) == 4);
  assert_true(functions_float(&f, "if", 0) == 0);
  functions_close(&f);
  expect_import(LIBRARY LARGEST END VERSION("7") X("FLOAT")
                CALL("call", "PartitionedCall", "Largest", IN("x"), "DT_FLOAT", "DT_FLOAT"),
                TF_UNIMPLEMENTED, "removed in version 7");
  f = functions_open(
      LIBRARY LARGEST END VERSION("7") X("FLOAT")
      NODE("if", "If", IN("x") IN("x"), TYPE("Tcond", "FLOAT") TYPES("Tin", "DT_FLOAT")
           TYPES("Tout", "DT_FLOAT") FUNC("then_branch", "Largest")
           FUNC("else_branch", "Largest")));
  assert_int_equal(functions_try(&f, "if", kit_float(3), 0), TF_UNIMPLEMENTED);
  functions_close(&f);
}

// The statistics of a step name the nodes of the bodies that it ran.
static void test_traces(void** state) {
  functions_t f = functions_open(
      LIBRARY SQUARE FUNCTION("No", ARG("a", "FLOAT") OUT("r", "FLOAT"), RET("r", "a"))
      END NODE("three", "Placeholder", , TYPE("dtype", "FLOAT")) NODE("yes", "Const", , FLOAT("3"))
      NODE("noise", "RandomUniform", IN("shape"), TYPE("dtype", "FLOAT") TYPE("T", "INT32"))
      NODE("shape", "Const", , TYPE("dtype", "INT32")
           " attr { key: 'value' value { tensor { dtype: DT_INT32 "
           "tensor_shape { dim { size: 0 } } } } }")
      NODE("call", "Square2", IN("noise"), )
      NODE("if", "If", IN("yes") IN("noise"), TYPE("Tcond", "FLOAT") TYPES("Tin", "DT_FLOAT")
           TYPES("Tout", "DT_FLOAT") FUNC("then_branch", "Square2") FUNC("else_branch", "No")));
  TF_Output fetches[] = {functions_output(&f, "call", 0), functions_output(&f, "if", 0)};
  assert_true(paper_traced(f.session, fetches, 1, "m = Mul(") >= 1);
  assert_true(paper_traced(f.session, fetches + 1, 1, "if = If(") >= 1);
  assert_true(paper_traced(f.session, fetches + 1, 1, "m = Mul(") >= 1);
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test(test_##name)
      TEST(by_name_and_through_partitioned_call),
      TEST(nested_calls),
      TEST(attributes_are_bound),
      TEST(lists_of_types),
      TEST(effects_run),
      TEST(control_inputs_keep_the_order),
      TEST(a_call_that_does_nothing_is_waited_for),
      TEST(calls_in_a_cond),
      TEST(calls_in_a_loop),
      TEST(a_loop_in_a_body),
      TEST(symbolic_gradients),
      TEST(gradients_of_nested_calls),
      TEST(two_devices),
      TEST(partial_fetches),
      TEST(shapes),
      TEST(wrong_shapes),
      TEST(unknown_ops),
      TEST(functions_are_of_their_graph_s_version),
      TEST(traces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
