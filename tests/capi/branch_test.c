// If, Case and While as ops whose branches are functions. Each graph is written twice, with the
// node run by the function runtime and with the attribute that has it lowered to Switch and Merge;
// both must give the same values and the same effects. Effects are counted by a variable to which
// each branch adds another power of ten, so that one number tells which branches ran and how often.
// Recursion must end where the function says so, and end in an error where it never does; a loop
// without end must meet its deadline or a cancellation. The graphs are text, built by the macros of
// capi/function_kit.h.
#include "capi/function_kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "leat/trace.h"
#include "scratch.h"

#define BODY(name, op, dtype, a, b) DEF(name, op, IN(a) IN(b), TYPE("T", dtype))
#define INT(key, value) " attr { key: '" key "' value { i: " value " } }"
#define X(dtype) NODE("x", "Placeholder", , TYPE("dtype", dtype))
// Functions of an int32 "a" that return "r".
#define UNARY(name, ret, body) \
  FUNCTION(name, ARG("a", "INT32") OUT("r", "INT32"), body RET("r", ret))
#define IF_ATTRS(then, or_else)                                                        \
  TYPE("Tcond", "BOOL") TYPES("Tin", "DT_INT32") TYPES("Tout", "DT_INT32")             \
  FUNC("then_branch", then) FUNC("else_branch", or_else)
#define WHILE_ATTRS(types, cond, body) TYPES("T", types) FUNC("cond", cond) FUNC("body", body)
#define HANDLE TYPE("dtype", "INT32") " attr { key: 'shape' value { shape {} } }" \
  " attr { key: 'shared_name' value { s: 'v' } }"
#define COUNTER                                                               \
  NODE("v", "VarHandleOp", , HANDLE)                                          \
  NODE("zero", "Const", , INT32("0"))                                         \
  NODE("reset", "AssignVariableOp", IN("v") IN("zero"), TYPE("dtype", "INT32")) \
  NODE("read", "ReadVariableOp", IN("v"), TYPE("dtype", "INT32"))
#define ADD(name, amount)                                                      \
  DEF(name "/amount", "Const", , INT32(amount))                                \
  DEF(name, "AssignAddVariableOp", IN("h") IN(name "/amount:output:0"), TYPE("dtype", "INT32"))

static int32_t read_counter(functions_t* f) {
  TF_Tensor* tensor = functions_run(f, "read", 0, NULL, NULL);
  int32_t value = kit_int32_of(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

// ---- If and Case --------------------------------------------------------------------------------

#define BRANCH(name, amount, count)                                                          \
  FUNCTION(name, ARG("a", "INT32") ARG("h", "RESOURCE") OUT("r", "INT32") " is_stateful: true", \
           DEF("c", "Const", , INT32(amount)) BODY("s", "AddV2", "INT32", "a", "c:output:0")     \
           ADD("n", count) RET("r", "s:z:0"))
#define IF(name, op, cond, tcond, lower)                                             \
  NODE(name, op, IN(cond) IN("x") IN("v"), TYPE("Tcond", tcond)                      \
       TYPES("Tin", "DT_INT32, DT_RESOURCE") TYPES("Tout", "DT_INT32") FUNC("then_branch", "Ten") \
       FUNC("else_branch", "Twenty") lower)

static void test_if(void** state) {
  functions_t f = functions_open(
      LIBRARY BRANCH("Ten", "10", "1") BRANCH("Twenty", "20", "100") END COUNTER X("INT32")
      NODE("p", "Greater", IN("x") IN("zero"), TYPE("T", "INT32"))
      IF("native", "If", "p", "BOOL", ) IF("lowered", "If", "p", "BOOL", LOWER)
      IF("of_int", "If", "x", "INT32", ) IF("of_int_lowered", "If", "x", "INT32", LOWER));
  static const char* const names[] = {"native", "lowered", "of_int", "of_int_lowered"};
  for (int i = 0; i < 4; ++i) {
    functions_target(&f, "reset");
    assert_int_equal(functions_int(&f, names[i], 3), 13);
    assert_int_equal(read_counter(&f), 1);
    assert_int_equal(functions_int(&f, names[i], 0), 20);
    assert_int_equal(read_counter(&f), 101);
  }
  functions_close(&f);
}

#define CASE(name, lower)                                                              \
  NODE(name, "Case", IN("x") IN("x") IN("v"), TYPES("Tin", "DT_INT32, DT_RESOURCE")    \
       TYPES("Tout", "DT_INT32") " attr { key: 'branches' value { list { func { name: 'A' } " \
       "func { name: 'B' } func { name: 'C' } } } }" lower)

// An index that is none takes the last branch.
static void test_case(void** state) {
  functions_t f = functions_open(
      LIBRARY BRANCH("A", "10", "1") BRANCH("B", "20", "10") BRANCH("C", "30", "100") END COUNTER
      X("INT32") CASE("native", ) CASE("lowered", LOWER));
  static const int32_t indices[] = {0, 1, 2, 3, -1, 1000}, expected[] = {10, 21, 32, 33, 29, 1030};
  for (int k = 0; k < 2; ++k) {
    functions_target(&f, "reset");
    for (int i = 0; i < 6; ++i) {
      assert_int_equal(functions_int(&f, k ? "lowered" : "native", indices[i]), expected[i]);
    }
    assert_int_equal(read_counter(&f), 411);
  }
  functions_close(&f);
}

// Ifs in the branches of Ifs, constants and arguments handed through.
#define SIGN(lower)                                                                       \
  UNARY("Same", "a", ) UNARY("One", "c:output:0", DEF("c", "Const", , INT32("1")))        \
  UNARY("MinusOne", "c:output:0", DEF("c", "Const", , INT32("-1")))                       \
  UNARY("NotPositive", "i:output:0",                                                      \
        DEF("z", "Const", , INT32("0")) BODY("p", "Less", "INT32", "a", "z:output:0")     \
        DEF("i", "If", IN("p:z:0") IN("a"), IF_ATTRS("MinusOne", "Same") lower))          \
  UNARY("Sign2", "i:output:0",                                                            \
        DEF("z", "Const", , INT32("0")) BODY("p", "Greater", "INT32", "a", "z:output:0")  \
        DEF("i", "If", IN("p:z:0") IN("a"), IF_ATTRS("One", "NotPositive") lower))

static void check_sign(functions_t f) {
  assert_int_equal(functions_int(&f, "sign", 7), 1);
  assert_int_equal(functions_int(&f, "sign", 0), 0);
  assert_int_equal(functions_int(&f, "sign", -9), -1);
  functions_close(&f);
}

static void test_ifs_in_ifs(void** state) {
  check_sign(functions_open(LIBRARY SIGN() END X("INT32") NODE("sign", "Sign2", IN("x"), )));
  check_sign(functions_open(LIBRARY SIGN(LOWER) END X("INT32") NODE("sign", "Sign2", IN("x"), )));
}

// A conditional waits for its control inputs, whether it stays a call or not.
static void test_control_inputs_of_an_if(void** state) {
#define GET_IF(name, lower)                                                             \
  NODE(name, "If", IN("x") IN("v") IN("^add"), TYPE("Tcond", "INT32")                   \
       TYPES("Tin", "DT_RESOURCE") TYPES("Tout", "DT_INT32") FUNC("then_branch", "Get") \
       FUNC("else_branch", "Get") lower)
  functions_t f = functions_open(
      LIBRARY FUNCTION("Get", ARG("h", "RESOURCE") OUT("r", "INT32") " is_stateful: true",
                       DEF("g", "ReadVariableOp", IN("h"), TYPE("dtype", "INT32"))
                       RET("r", "g:value:0")) END COUNTER X("INT32")
      NODE("five", "Const", , INT32("5"))
      NODE("add", "AssignAddVariableOp", IN("v") IN("five") IN("^reset"), TYPE("dtype", "INT32"))
      GET_IF("native", ) GET_IF("lowered", LOWER));
  for (int i = 0; i < 2; ++i) {
    functions_target(&f, "reset");
    assert_int_equal(functions_int(&f, i ? "lowered" : "native", i), 5);
  }
  functions_close(&f);
}

// ---- While --------------------------------------------------------------------------------------

#define STATE ARG("a", "INT32") ARG("s", "INT32") ARG("h", "RESOURCE")
#define WHILE_FUNCTIONS                                                                      \
  FUNCTION("Positive", STATE OUT("r", "BOOL"),                                               \
           DEF("z", "Const", , INT32("0")) BODY("p", "Greater", "INT32", "a", "z:output:0")  \
           RET("r", "p:z:0"))                                                                \
  FUNCTION("Down", STATE OUT("p", "INT32") OUT("q", "INT32") OUT("g", "RESOURCE")            \
           " is_stateful: true",                                                             \
           DEF("one", "Const", , INT32("1")) BODY("d", "Sub", "INT32", "a", "one:output:0")  \
           BODY("t", "AddV2", "INT32", "s", "a") ADD("n", "1")                               \
           RET("p", "d:z:0") RET("q", "t:z:0") RET("g", "h"))
#define WHILE(name, lower)                                                       \
  NODE(name, "While", IN("x") IN("zero") IN("v"),                                \
       WHILE_ATTRS("DT_INT32, DT_INT32, DT_RESOURCE", "Positive", "Down") lower)

static int32_t second_of(functions_t* f, const char* name, int32_t x) {
  TF_Tensor* result = functions_run(f, name, 1, kit_int32(x), NULL);
  int32_t value = kit_int32_of(result);
  TF_DeleteTensor(result);
  return value;
}

static void test_while(void** state) {
  functions_t f = functions_open(
      LIBRARY WHILE_FUNCTIONS END COUNTER X("INT32") WHILE("native", ) WHILE("lowered", LOWER));
  for (int k = 0; k < 2; ++k) {
    const char* name = k ? "lowered" : "native";
    functions_target(&f, "reset");
    assert_int_equal(second_of(&f, name, 10), 55);
    assert_int_equal(functions_int(&f, name, 10), 0);
    assert_int_equal(read_counter(&f), 20);
    assert_int_equal(functions_int(&f, name, -4), -4);  // no iteration
    assert_int_equal(read_counter(&f), 20);
    assert_int_equal(second_of(&f, name, 3000), 4501500);
    assert_int_equal(read_counter(&f), 3020);
  }
  functions_close(&f);
}

// Recordings have each iteration, with the last, which only finds that the condition is false.
static void test_iterations_are_recorded(void** state) {
  functions_t f = functions_open(
      LIBRARY WHILE_FUNCTIONS END COUNTER X("INT32") WHILE("native", ) WHILE("lowered", LOWER));
  TF_Status* status = TF_NewStatus();
  for (int k = 0; k < 2; ++k) {
    functions_target(&f, "reset");
    leat_trace_start(0, status);
    assert_int_equal(TF_GetCode(status), TF_OK);
    assert_int_equal(second_of(&f, k ? "lowered" : "native", 10), 55);
    leat_trace_stop("while.json", status);
    assert_int_equal(TF_GetCode(status), TF_OK);
    char* text = scratch_read_text("while.json");
    assert_non_null(text);
    assert_int_equal(scratch_count_text(text, "\"cat\":\"iteration\""), 11);
    assert_int_equal(scratch_count_text(text, "\"iteration\":10,"), 1);
    free(text);
  }
  TF_DeleteStatus(status);
  functions_close(&f);
}

// A While in a While, and an If in it.
#define TRIANGLE(lower)                                                                       \
  WHILE_FUNCTIONS                                                                             \
  FUNCTION("Inner", STATE OUT("p", "INT32") OUT("q", "INT32") OUT("g", "RESOURCE")            \
           " is_stateful: true",                                                              \
           DEF("z", "Const", , INT32("0")) DEF("one", "Const", , INT32("1"))                  \
           DEF("w", "While", IN("a") IN("z:output:0") IN("h"),                                \
               WHILE_ATTRS("DT_INT32, DT_INT32, DT_RESOURCE", "Positive", "Down") lower)      \
           BODY("t", "AddV2", "INT32", "s", "w:output:1")                                     \
           BODY("d", "Sub", "INT32", "a", "one:output:0")                                     \
           RET("p", "d:z:0") RET("q", "t:z:0") RET("g", "h"))
#define OUTER(lower)                                                                  \
  NODE("w", "While", IN("x") IN("zero") IN("v"),                                      \
       WHILE_ATTRS("DT_INT32, DT_INT32, DT_RESOURCE", "Positive", "Inner") lower)

static void check_triangle(functions_t f) {
  functions_target(&f, "reset");
  assert_int_equal(second_of(&f, "w", 6), 56);
  assert_int_equal(read_counter(&f), 21);
  functions_close(&f);
}

static void test_whiles_in_whiles(void** state) {
  check_triangle(functions_open(LIBRARY TRIANGLE() END COUNTER X("INT32") OUTER()));
  check_triangle(functions_open(LIBRARY TRIANGLE(LOWER) END COUNTER X("INT32") OUTER()));
  check_triangle(functions_open(LIBRARY TRIANGLE() END COUNTER X("INT32") OUTER(LOWER)));
  check_triangle(functions_open(LIBRARY TRIANGLE(LOWER) END COUNTER X("INT32") OUTER(LOWER)));
}

// What a variable's shape is may change from one iteration to the next: a, [a a], [a a a a], ...
static void test_shapes_that_grow(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Small", ARG("a", "FLOAT") OUT("r", "BOOL"),
                       DEF("n", "Const", , INT32("6")) DEF("s", "Size", IN("a"), TYPE("T", "FLOAT"))
                       BODY("p", "Less", "INT32", "s:output:0", "n:output:0") RET("r", "p:z:0"))
      FUNCTION("Twice", ARG("a", "FLOAT") OUT("r", "FLOAT"),
               DEF("zero", "Const", , INT32("0"))
               DEF("c", "ConcatV2", IN("a") IN("a") IN("zero:output:0"),
                   TYPE("T", "FLOAT") TYPE("Tidx", "INT32") INT("N", "2"))
               RET("r", "c:output:0")) END
      NODE("start", "Const", , TYPE("dtype", "FLOAT")
           " attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: "
           "1 } } float_val: 1 } } }")
      NODE("native", "While", IN("start"), WHILE_ATTRS("DT_FLOAT", "Small", "Twice"))
      NODE("lowered", "While", IN("start"), WHILE_ATTRS("DT_FLOAT", "Small", "Twice") LOWER)
      NODE("native_size", "Size", IN("native"), TYPE("T", "FLOAT"))
      NODE("lowered_size", "Size", IN("lowered"), TYPE("T", "FLOAT")));
  for (int i = 0; i < 2; ++i) {
    TF_Tensor* size = functions_run(&f, i ? "lowered_size" : "native_size", 0, NULL, NULL);
    assert_int_equal(kit_int32_of(size), 8);
    TF_DeleteTensor(size);
  }
  functions_close(&f);
}

// [1 1] grows to [1 8] in a body whose next node needs 8: what the loop starts with says nothing.
static void test_nodes_after_loops_that_grow(void** state) {
#define MATRIX(name, rows, columns, values)                                                \
  DEF(name, "Const", , TYPE("dtype", "FLOAT") " attr { key: 'value' value { tensor { dtype: " \
      "DT_FLOAT tensor_shape { dim { size: " rows " } dim { size: " columns " } } float_val: "   \
      values " } } }")
  functions_t f = functions_open(
      LIBRARY FUNCTION("Small", ARG("a", "FLOAT") OUT("r", "BOOL"),
                       DEF("n", "Const", , INT32("6")) DEF("s", "Size", IN("a"), TYPE("T", "FLOAT"))
                       BODY("p", "Less", "INT32", "s:output:0", "n:output:0") RET("r", "p:z:0"))
      FUNCTION("Twice", ARG("a", "FLOAT") OUT("r", "FLOAT"),
               DEF("one", "Const", , INT32("1"))
               DEF("c", "ConcatV2", IN("a") IN("a") IN("one:output:0"),
                   TYPE("T", "FLOAT") TYPE("Tidx", "INT32") INT("N", "2"))
               RET("r", "c:output:0"))
      FUNCTION("Product", OUT("r", "FLOAT"),
               MATRIX("start", "1", "1", "3") MATRIX("k", "8", "1", "1")
               DEF("w", "While", IN("start:output:0"), WHILE_ATTRS("DT_FLOAT", "Small", "Twice")
                   LOWER)
               BODY("m", "MatMul", "FLOAT", "w:output:0", "k:output:0")
               DEF("z", "Const", , TYPE("dtype", "INT32") " attr { key: 'value' value { tensor { "
                   "dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: [0, 1] } } }")
               DEF("s", "Sum", IN("m:product:0") IN("z:output:0"),
                   TYPE("T", "FLOAT") TYPE("Tidx", "INT32"))
               RET("r", "s:output:0")) END
      NODE("y", "Product", , ));
  assert_true(functions_fetch(&f, "y") == 24);
  functions_close(&f);
}

// A TensorArray of the step is the body's too: their container is one.
#define ARRAY_STATE ARG("a", "INT32") ARG("t", "RESOURCE") ARG("f", "FLOAT")
#define ARRAY_WHILE(name, array, lower)                                              \
  NODE(array, "TensorArrayV3", IN("four"), TYPE("dtype", "INT32"))                   \
  NODE(name, "While", IN("x") IN(array) IN(array ":1"),                              \
       WHILE_ATTRS("DT_INT32, DT_RESOURCE, DT_FLOAT", "C", "B") lower)               \
  NODE(name "/all", "TensorArrayGatherV3", IN(array) IN("which") IN(name ":2"),      \
       TYPE("dtype", "INT32"))
static void test_tensor_arrays_of_the_step(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("C", ARRAY_STATE OUT("r", "BOOL"),
                       DEF("z", "Const", , INT32("0"))
                       BODY("p", "GreaterEqual", "INT32", "a", "z:output:0") RET("r", "p:z:0"))
      FUNCTION("B", ARRAY_STATE OUT("p", "INT32") OUT("u", "RESOURCE") OUT("g", "FLOAT")
               " is_stateful: true",
               DEF("one", "Const", , INT32("1")) BODY("d", "Sub", "INT32", "a", "one:output:0")
               BODY("sq", "Mul", "INT32", "a", "a")
               DEF("w", "TensorArrayWriteV3", IN("t") IN("a") IN("sq:z:0") IN("f"),
                   TYPE("T", "INT32"))
               RET("p", "d:z:0") RET("u", "t") RET("g", "w:flow_out:0")) END
      X("INT32") NODE("four", "Const", , INT32("4"))
      NODE("which", "Const", , TYPE("dtype", "INT32")
           " attr { key: 'value' value { tensor { dtype: DT_INT32 "
           "tensor_shape { dim { size: 4 } } int_val: [0, 1, 2, 3] } } }")
      ARRAY_WHILE("native", "t1", ) ARRAY_WHILE("lowered", "t2", LOWER));
  static const int32_t squares[] = {0, 1, 4, 9};
  for (int i = 0; i < 6; ++i) {
    TF_Tensor* all = functions_run(&f, i % 2 ? "lowered/all" : "native/all", 0, kit_int32(3), NULL);
    assert_memory_equal(TF_TensorData(all), squares, sizeof squares);
    TF_DeleteTensor(all);
  }
  functions_close(&f);
}

// ---- Recursion ----------------------------------------------------------------------------------

#define FACTORIAL                                                                            \
  UNARY("One", "c:output:0", DEF("c", "Const", , INT32("1")))                                \
  UNARY("More", "m:z:0",                                                                     \
        DEF("one", "Const", , INT32("1")) BODY("d", "Sub", "INT32", "a", "one:output:0")     \
        DEF("f", "Fact2", IN("d:z:0"), ) BODY("m", "Mul", "INT32", "a", "f:r:0"))            \
  UNARY("Fact2", "i:output:0",                                                               \
        DEF("one", "Const", , INT32("1")) BODY("p", "Greater", "INT32", "a", "one:output:0") \
        DEF("i", "If", IN("p:z:0") IN("a"), IF_ATTRS("More", "One")))
#define FACTORIAL_GRAPH LIBRARY FACTORIAL END X("INT32") NODE("fact", "Fact2", IN("x"), )

static void test_recursion(void** state) {
  functions_t f = functions_open(FACTORIAL_GRAPH);
  assert_int_equal(functions_int(&f, "fact", 5), 120);
  assert_int_equal(functions_int(&f, "fact", 0), 1);
  assert_int_equal(functions_int(&f, "fact", 12), 479001600);
  functions_int(&f, "fact", 40);  // overflows, and is deep
  functions_close(&f);
}

static void test_recursion_without_end(void** state) {
  functions_t f = functions_open(
      LIBRARY UNARY("Never", "n:z:0", DEF("f", "Never", IN("a"), )
                    BODY("n", "AddV2", "INT32", "f:r:0", "a"))
      UNARY("Ping", "f:r:0", DEF("f", "Pong", IN("a"), ))
      UNARY("Pong", "f:output:0", DEF("f", "PartitionedCall", IN("a"), TYPES("Tin", "DT_INT32")
                                      TYPES("Tout", "DT_INT32") FUNC("f", "Ping")))
      FACTORIAL END X("INT32") NODE("never", "Never", IN("x"), ) NODE("ping", "Ping", IN("x"), )
      NODE("fact", "Fact2", IN("x"), ) NODE("neg", "Neg", IN("x"), TYPE("T", "INT32")));
  static const char* const names[] = {"never", "ping", "fact"};
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(functions_try(&f, names[i], kit_int32(100000000), 0), TF_RESOURCE_EXHAUSTED);
    // The first call beyond the limit is refused, not a later one.
    assert_non_null(strstr(TF_Message(f.status), "nested 501 deep, must be at most 500"));
    assert_int_equal(functions_int(&f, "neg", 1), -1);
    assert_int_equal(functions_int(&f, "fact", 6), 720);
  }
  functions_close(&f);
}

typedef struct shared_s {
  functions_t* f;
  int32_t number;
  _Atomic(int)* failures;
} shared_t;

static void* compute_factorials(void* data) {
  static const int32_t expected[] = {1, 1, 2, 6, 24, 120, 720, 5040};
  shared_t* shared = data;
  functions_t own = *shared->f;
  own.status = TF_NewStatus();
  TF_Output feed = functions_output(&own, "x", 0), fetch = functions_output(&own, "fact", 0);
  for (int32_t i = 0; i < 40; ++i) {
    int32_t n = (i + shared->number) % 8;
    TF_Tensor* value = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof n);
    TF_Tensor* result = NULL;
    memcpy(TF_TensorData(value), &n, sizeof n);
    TF_SessionRun(own.session, NULL, &feed, &value, 1, &fetch, &result, 1, NULL, 0, NULL,
                  own.status);
    bool right = result && *(const int32_t*)TF_TensorData(result) == expected[n];
    if (!right) ++*shared->failures;
    TF_DeleteTensor(value);
    TF_DeleteTensor(result);
  }
  TF_DeleteStatus(own.status);
  return NULL;
}

static void test_recursion_on_many_threads(void** state) {
  functions_t f = functions_open(FACTORIAL_GRAPH);
  pthread_t threads[8];
  shared_t shared[8];
  _Atomic(int) failures = 0;
  for (int i = 0; i < 8; ++i) {
    shared[i] = (shared_t){&f, i, &failures};
    assert_int_equal(pthread_create(&threads[i], NULL, compute_factorials, &shared[i]), 0);
  }
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(failures, 0);
  functions_close(&f);
}

// ---- Without end --------------------------------------------------------------------------------

#define FOREVER                                                            \
  LIBRARY FUNCTION("True", ARG("a", "INT32") OUT("r", "BOOL"),             \
                   DEF("z", "Const", , INT32("0"))                         \
                   BODY("p", "GreaterEqual", "INT32", "a", "z:output:0") RET("r", "p:z:0")) \
  UNARY("Same", "i:output:0", DEF("i", "Identity", IN("a"), TYPE("T", "INT32"))) END \
  X("INT32") NODE("native", "While", IN("x"), WHILE_ATTRS("DT_INT32", "True", "Same")) \
  NODE("lowered", "While", IN("x"), WHILE_ATTRS("DT_INT32", "True", "Same") LOWER)

static void test_a_while_without_end_meets_its_deadline(void** state) {
  functions_t f = functions_open(FOREVER);
  assert_int_equal(functions_try(&f, "native", kit_int32(1), 50), TF_DEADLINE_EXCEEDED);
  assert_int_equal(functions_try(&f, "lowered", kit_int32(1), 50), TF_DEADLINE_EXCEEDED);
  assert_int_equal(functions_int(&f, "native", -1), -1);
  assert_int_equal(functions_int(&f, "lowered", -1), -1);
  functions_close(&f);
}

typedef struct endless_s {
  functions_t* f;
  const char* name;
  TF_Code code;
} endless_t;

static void* run_endless(void* data) {
  endless_t* endless = data;
  endless->code = functions_try(endless->f, endless->name, kit_int32(1), 0);
  return NULL;
}

static void test_a_while_without_end_is_cancelled(void** state) {
  for (int i = 0; i < 2; ++i) {
    functions_t f = functions_open(FOREVER);
    endless_t endless = {&f, i ? "lowered" : "native", TF_OK};
    TF_Status* status = TF_NewStatus();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_endless, &endless), 0);
    usleep(50000);
    TF_CloseSession(f.session, status);
    kit_ok(status);
    pthread_join(thread, NULL);
    assert_int_equal(endless.code, TF_CANCELLED);
    TF_DeleteStatus(status);
    functions_close(&f);
  }
}

// What fails in a body is the step's status, and names the node.
static void test_failures_in_bodies(void** state) {
  functions_t f = functions_open(
      LIBRARY UNARY("Divide", "d:z:0", DEF("z", "Const", , INT32("0"))
                    BODY("zero", "Mul", "INT32", "a", "z:output:0")
                    BODY("d", "FloorDiv", "INT32", "a", "zero:z:0"))
      UNARY("Same", "a", )
      FUNCTION("C", ARG("a", "INT32") OUT("r", "BOOL"),
               DEF("z", "Const", , INT32("0")) BODY("p", "Greater", "INT32", "a", "z:output:0")
               RET("r", "p:z:0")) END
      X("INT32") NODE("zero", "Const", , INT32("0"))
      NODE("p", "Greater", IN("x") IN("zero"), TYPE("T", "INT32"))
      NODE("call", "Divide", IN("x"), )
      NODE("if", "If", IN("p") IN("x"), IF_ATTRS("Divide", "Same"))
      NODE("if_lowered", "If", IN("p") IN("x"), IF_ATTRS("Divide", "Same") LOWER)
      NODE("while", "While", IN("x"), WHILE_ATTRS("DT_INT32", "C", "Divide"))
      NODE("while_lowered", "While", IN("x"), WHILE_ATTRS("DT_INT32", "C", "Divide") LOWER));
  static const char* const names[] = {"call", "if", "if_lowered", "while", "while_lowered"};
  for (int i = 0; i < 5; ++i) {
    assert_int_equal(functions_try(&f, names[i], kit_int32(1), 0), TF_INVALID_ARGUMENT);
    assert_non_null(strstr(TF_Message(f.status), "ivision by zero"));
    if (i) assert_int_equal(functions_int(&f, names[i], -5), -5);
  }
  functions_close(&f);
}

// A branch that is lowered need not say what the arguments say; one that nobody defined is no op.
static void test_attributes_from_arguments(void** state) {
  functions_t f = functions_open(
      LIBRARY FUNCTION("Twice",
                       " input_arg { name: 'a' type_attr: 'T' } output_arg { name: 'r' type_attr: "
                       "'T' } attr { name: 'T' type: 'type' }",
                       DEF("s", "AddV2", IN("a") IN("a"),
                           " attr { key: 'T' value { placeholder: 'T' } }") RET("r", "s:z:0")) END
      X("INT32") NODE("zero", "Const", , INT32("0"))
      NODE("p", "Greater", IN("x") IN("zero"), TYPE("T", "INT32"))
      NODE("if", "If", IN("p") IN("x"), IF_ATTRS("Twice", "Twice") LOWER)
      NODE("lost", "If", IN("p") IN("x"), IF_ATTRS("Twice", "Nowhere") LOWER));
  assert_int_equal(functions_int(&f, "if", 3), 6);
  assert_int_equal(functions_try(&f, "lost", kit_int32(1), 0), TF_INVALID_ARGUMENT);
  assert_non_null(strstr(TF_Message(f.status), "Op type not registered 'Nowhere'"));
  functions_close(&f);
}

static void test_functions_with_integers_on_the_device(void** state) {
  functions_t f = functions_open(
      LIBRARY UNARY("Held", "a", " attr { key: 'experimental_ints_on_device' value { b: true } }")
      END X("INT32")
      NODE("call", "PartitionedCall", IN("x"),
           TYPES("Tin", "DT_INT32") TYPES("Tout", "DT_INT32") FUNC("f", "Held")));
  assert_int_equal(functions_try(&f, "call", kit_int32(1), 0), TF_UNIMPLEMENTED);
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test(test_##name)
      TEST(if),
      TEST(case),
      TEST(ifs_in_ifs),
      TEST(control_inputs_of_an_if),
      TEST(while),
      TEST(iterations_are_recorded),
      TEST(whiles_in_whiles),
      TEST(shapes_that_grow),
      TEST(nodes_after_loops_that_grow),
      TEST(tensor_arrays_of_the_step),
      TEST(recursion),
      TEST(recursion_without_end),
      TEST(recursion_on_many_threads),
      TEST(a_while_without_end_meets_its_deadline),
      TEST(a_while_without_end_is_cancelled),
      TEST(failures_in_bodies),
      TEST(attributes_from_arguments),
      TEST(functions_with_integers_on_the_device),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
