// The executable leat as a whole: help, exit codes, run, place, ops, doctor. The test writes small
// graphs in text form, runs the built executable as a user would, and compares its exit code and
// output: 0 for done, 1 for what failed, 2 for misuse. Values of every type go in and out through a
// graph that does nothing with them. Where an output depends on the machine only a part of it is
// compared. Models with variables are tested in model_test.c, inspect in files_test.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leat/inspect.h"
#include "tools/tool_run.h"

// y = x * 2 + 1, and things to go wrong.
static const char kGraph[] =
    "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
    "node { name: 'two' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr {\n"
    "  key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 2 } } } }\n"
    "node { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr {\n"
    "  key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }\n"
    "node { name: 'product' op: 'Mul' input: 'x' input: 'two'\n"
    "  attr { key: 'T' value { type: DT_FLOAT } } }\n"
    "node { name: 'y' op: 'AddV2' input: 'product' input: 'one'\n"
    "  attr { key: 'T' value { type: DT_FLOAT } } }\n"
    "node { name: 'nothing' op: 'NoOp' }\n";

// A placeholder p of each type and v, which is the same, to see values go in and out.
static void write_echo(const char* file, const char* type) {
  char text[512];
  snprintf(text, sizeof text,
           "node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: %s } } }\n"
           "node { name: 'v' op: 'Identity' input: 'p' attr { key: 'T' value { type: %s } } }",
           type, type);
  scratch_write_text(file, text);
}

static void test_help(void** state) {
  tool_expect_part(0, "Examples", "--help");
  tool_expect_part(2, "Commands", "%s", "");
  tool_expect_part(0, "leat " LEAT_VERSION " (TensorFlow 2.21.0)\n", "--version");
  const char* commands[] = {"run", "inspect", "place", "ops", "doctor", "train",
                            "convert", "diff"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
    tool_result_t help = tool_run("%s --help", commands[i]);
    assert_int_equal(help.code, 0);
    assert_memory_equal(help.out, "Examples\n  leat ", 16);
    tool_free(&help);
  }
  tool_expect_part(2, "leat: there is no command 'walk'", "walk");
  tool_expect_part(2, "there is no option --sideways", "run --sideways");
  tool_expect_part(2, "--feed needs a value", "run g.pb --feed");
  tool_expect_part(2, "--json takes no value", "ops --json=yes");
  tool_expect_part(2, "no graph is named", "run");
}

static void test_place(void** state) {
  scratch_write_text("g.pbtxt", kGraph);
  tool_expect_part(0, "simple: predicted step ", "place g.pbtxt");
  tool_expect_part(0, "SIM:0   |", "place g.pbtxt --devices CPU:1,SIM:1");
  tool_expect_part(0, "SIM:0   preferred", "place g.pbtxt --devices CPU:1,SIM:1 --explain");
  tool_expect_part(0, "with its reader y",
                   "place g.pbtxt --devices CPU:1,SIM:1 --explain --fetch y");
  tool_expect_part(0, "greedy: predicted step ",
                   "place g.pbtxt --devices CPU:2,SIM:2 --placer greedy --explain --fetch y");
  tool_expect_part(0, ", measured",
                   "place g.pbtxt --devices CPU:1,SIM:1 --run --fetch y --feed x=[1,2]");
  tool_expect_part(0, "{\"placer\": \"simple\", \"step_us\": ", "place g.pbtxt --json");
  tool_expect_part(0, ", measured ", "place g.pbtxt --devices CPU:2 --explain --fetch y");
  scratch_write_text("v.pbtxt",
                     "node { name: 'v' op: 'VarHandleOp'\n"
                     "  attr { key: 'dtype' value { type: DT_FLOAT } }\n"
                     "  attr { key: 'shape' value { shape { } } } }\n"
                     "node { name: 'r' op: 'ReadVariableOp' input: 'v'\n"
                     "  attr { key: 'dtype' value { type: DT_FLOAT } } }");
  tool_expect_part(0, ", not measured: ", "place v.pbtxt --explain --fetch r");
  tool_expect_part(1, "uninitialized", "place v.pbtxt --run --fetch r");
  tool_expect_part(2, "--run needs a --fetch", "place g.pbtxt --run");
  tool_expect_part(2, "no graph is named", "place");
  tool_expect_part(1, "must be simple or greedy", "place g.pbtxt --placer clever");
  tool_expect_part(1, "must be TYPE:COUNT", "place g.pbtxt --devices two");
  tool_expect_part(1, "nosuch", "place g.pbtxt --fetch nosuch");
}

static void test_run(void** state) {
  scratch_write_text("g.pbtxt", kGraph);
  tool_expect(0, "y float ()\n8.0\n", "run g.pbtxt --feed x=3.5 --fetch y");
  tool_expect(0, "y:0 float (2, 2)\n[[3. 5.]\n [7. 9.]]\n",
              "run g.pbtxt --feed 'x:0=[[1,2],[3,4]]' --fetch y:0");
  tool_expect(0, "{\"y\": {\"dtype\": \"float\", \"shape\": [3], \"value\": [3, 1.2, null]},\n"
                 " \"product\": {\"dtype\": \"float\", \"shape\": [3], \"value\": "
                 "[2, 0.2, null]}}\n",
              "run g.pbtxt --feed 'x=[1, 0.1, inf]' --fetch y --fetch product --json");
  tool_expect(0, "", "run g.pbtxt --target nothing");
  tool_expect(0, "", "run g.pbtxt --feed x=[1,2] --fetch y --npy y.npy");
  tool_expect(0, "y float (2,)\n[ 7. 11.]\n", "run g.pbtxt --feed x=@y.npy --fetch y");
}

static void test_run_binary(void** state) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer text = {kGraph, strlen(kGraph), NULL};
  TF_Buffer* bytes = leat_message_from_text("GraphDef", &text, status);
  assert_int_equal(TF_GetCode(status), TF_OK);
  scratch_write_file("g.pb", bytes->data, bytes->length);
  tool_expect(0, "y float ()\n3.0\n", "run g.pb --feed x=1 --fetch y");
  scratch_write_file("cut.pb", bytes->data, bytes->length - 3);
  tool_expect_part(1, "leat: cut.pb: ", "run cut.pb --fetch y");
  TF_DeleteBuffer(bytes);
  TF_DeleteStatus(status);
}

static void test_types(void** state) {
  const struct {
    const char *type, *value, *printed;
  } cases[] = {
      {"DT_INT32", "[-3, 12]", "v int32 (2,)\n[-3 12]\n"},
      {"DT_UINT8", "255", "v uint8 ()\n255\n"},
      {"DT_INT64", "-9223372036854775808", "v int64 ()\n-9223372036854775808\n"},
      {"DT_UINT64", "18446744073709551615", "v uint64 ()\n18446744073709551615\n"},
      {"DT_BOOL", "[true, false, 1]", "v bool (3,)\n[ True False  True]\n"},
      {"DT_DOUBLE", "[0.5, nan, -inf]", "v double (3,)\n[ 0.5  nan -inf]\n"},
      {"DT_HALF", "[0.1, 65504, 1e-7]", "v half (3,)\n[1.00e-01 6.55e+04 1.19e-07]\n"},
      {"DT_BFLOAT16", "[1.0, 0.5]", "v bfloat16 (2,)\n[1.  0.5]\n"},
      {"DT_COMPLEX64", "[1+2j, -0.5j]", "v complex64 (2,)\n[1.+2.j  0.-0.5j]\n"},
      {"DT_STRING", "'[\"a b\", \"c\\\"d\"]'", "v string (2,)\n[b'a b' b'c\"d']\n"},
      {"DT_STRING", "plain", "v string ()\nb'plain'\n"},
      {"DT_FLOAT", "[]", "v float (0,)\n[]\n"},
      {"DT_FLOAT", "[[], []]", "v float (2, 0)\n[]\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const char* quote = cases[i].value[0] == '\'' ? "" : "'";
    write_echo("echo.pbtxt", cases[i].type);
    tool_result_t result = tool_run("run echo.pbtxt --fetch v --feed p=%s%s%s", quote,
                                    cases[i].value, quote);
    if (cases[i].type[3] == 'C') {
      assert_int_equal(result.code, 0);
    } else {
      assert_string_equal(result.out, cases[i].printed);
    }
    tool_free(&result);
  }
}

static void test_bad_values(void** state) {
  const struct {
    const char *type, *value, *part;
  } cases[] = {
      {"DT_INT32", "2147483648", "'2147483648' is no int32"},
      {"DT_INT32", "1.5", "'1.5' is no int32"},
      {"DT_UINT8", "-1", "'-1' is no uint8"},
      {"DT_FLOAT", "[1,2", "a ']' is missing"},
      {"DT_FLOAT", "[[1,2],[3]]", "rows have different lengths, 2 and 1"},
      {"DT_FLOAT", "[1,[2]]", "rows have different depths"},
      {"DT_FLOAT", "", "a value is missing"},
      {"DT_FLOAT", "1 2", "'2' follows the value"},
      {"DT_BOOL", "maybe", "'maybe' is no bool"},
      {"DT_RESOURCE", "1", "values of type resource cannot be written"},
      {"DT_FLOAT", "@missing.npy", "missing.npy; No such file"},
      {"DT_FLOAT", "@echo.pbtxt", "this is no .npy file"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    write_echo("echo.pbtxt", cases[i].type);
    tool_expect_part(1, cases[i].part, "run echo.pbtxt --fetch v --feed p='%s'", cases[i].value);
  }
  write_echo("echo.pbtxt", "DT_INT32");
  tool_expect(0, "", "run echo.pbtxt --fetch v --feed p=[1] --npy v.npy");
  write_echo("echo.pbtxt", "DT_FLOAT");
  tool_expect_part(1, "v.npy holds int32, must hold float",
                   "run echo.pbtxt --fetch v --feed p=@v.npy");
}

static void test_wrong_names(void** state) {
  scratch_write_text("g.pbtxt", kGraph);
  tool_expect(1, "leat: the graph has no operation 'prodcut'; did you mean 'product'?\n",
              "run g.pbtxt --fetch prodcut");
  tool_expect_part(1, "'y' (AddV2) has 1 outputs, not one of number 3", "run g.pbtxt --fetch y:3");
  tool_expect_part(1, "'y:z' is no output", "run g.pbtxt --fetch y:z");
  tool_expect_part(2, "must be NAME=VALUE", "run g.pbtxt --feed x --fetch y");
  tool_expect_part(2, "nothing to do", "run g.pbtxt");
  tool_expect_part(2, "2 times --npy for 1 fetches", "run g.pbtxt --fetch y --npy a --npy b");
  // Not fed: TensorFlow's words, on one line.
  tool_expect_part(1, "You must feed a value for placeholder tensor 'x'", "run g.pbtxt --fetch y");
  scratch_write_text("alien.pbtxt", "node { name: 'a' op: 'Alien' }");
  tool_expect_part(1, "Op type not registered 'Alien'", "run alien.pbtxt --fetch a");
  scratch_write_text("broken.pbtxt", "node { name: 'a' operation: 'NoOp' }");
  tool_expect_part(1, "leat: broken.pbtxt: ", "run broken.pbtxt --fetch a");
}

static void test_ops(void** state) {
  tool_expect_part(0, "MatMul\n", "ops --names");
  tool_expect_part(0, "RiscAdd\n", "ops --all --names");
  tool_expect_part(0, "kernels    none", "ops RiscAdd");
  tool_expect_part(0, "transpose_a: bool = false", "ops MatMul");
  tool_expect_part(0, "has a gradient", "ops MatMul");
  tool_expect_part(0, "fused      fusion: one loop with", "ops Neg");
  tool_expect_part(0, "cases      42 of 42 that were recorded", "ops Abs");
  tool_expect_part(0, ", \"cases\": {\"passed\": 42, \"recorded\": 42}}", "ops Abs --json");
  tool_expect_part(0, "{\"name\": \"MatMul\", \"doc\": ", "ops MatMul --json");
  tool_expect_part(0, "\"kernels\": [{\"device\": \"CPU\", \"types\": {\"T\": [", "ops --json");
  tool_expect_part(1, "op 'Alien' is not registered", "ops Alien");
  tool_expect_part(2, "one op at a time", "ops MatMul Add");
}

static void test_doctor(void** state) {
  tool_expect_part(0, "isa  ", "doctor");
  tool_result_t report = tool_run("doctor --json");
  assert_int_equal(report.code, 0);
  assert_non_null(strstr(report.out, "\"cores\": "));
  assert_null(strstr(report.out, "\"measured\""));
  tool_free(&report);
  tool_expect_part(2, "'now' is not wanted", "doctor now");
}

static void test_trace(void** state) {
  scratch_write_text("g.pbtxt", kGraph);
  tool_expect_part(0, "3", "trace --out step-%%p.json -- \"$LEAT_BUILD_DIR\"/bin/leat "
                   "run g.pbtxt --fetch y --feed x=[1,2]");
  assert_int_equal(scratch_count("step-"), 1);
  assert_false(scratch_has("step-%p.json"));
  tool_expect_part(0, "3", "trace --out run.perfetto-trace -- \"$LEAT_BUILD_DIR\"/bin/leat "
                   "run g.pbtxt --fetch y --feed x=[1,2]");
  tool_expect_part(0, "What a step would gain", "trace --report run.perfetto-trace");
  tool_expect_part(0, "3", "trace --out run.json -- \"$LEAT_BUILD_DIR\"/bin/leat "
                   "run g.pbtxt --fetch y --feed x=[1,2]");
  tool_expect_part(0, "What a step would gain", "trace --report run.json");
  // A step without its feed fails, and is written; one that succeeds is not.
  tool_expect_part(0, "3", "trace --flight 'failure steps=5' --out step-%%n.flight -- "
                   "\"$LEAT_BUILD_DIR\"/bin/leat run g.pbtxt --fetch y --feed x=[1,2]");
  assert_false(scratch_has("step-1.flight"));
  tool_expect_part(1, "", "trace --flight 'failure steps=5' --out step-%%n.flight -- "
                   "\"$LEAT_BUILD_DIR\"/bin/leat run g.pbtxt --fetch y");
  assert_true(scratch_has("step-1.flight"));
  tool_expect_part(0, "3", "trace --flight nonsense -- \"$LEAT_BUILD_DIR\"/bin/leat run g.pbtxt "
                   "--fetch y --feed x=[1,2]");
  tool_expect_part(2, "--cluster is 'nonsense'", "trace --cluster nonsense");
  tool_expect_part(2, "--seconds is '0', must be a whole number",
                   "trace --cluster a=b:1 --seconds 0");
  tool_expect_part(2, "cannot be had with --cluster", "trace --cluster a=b:1 --flight slow=2");
  tool_expect_part(1, "no task of the cluster can be recorded",
                   "trace --cluster 'ps=localhost:1' --seconds 1");
  tool_expect_part(1, "'g.pbtxt': the bytes at 0 are no packet", "trace --report g.pbtxt");
  tool_expect_part(2, "which program is to be recorded?", "trace --out step.json");
  tool_expect_part(2, "must be a whole number", "trace --megabytes 1.5 -- true");
  tool_expect_part(1, "no-such-program", "trace -- ./no-such-program");
}

static void test_train(void** state) {
  tool_expect_part(2, "no model is named", "train");
  tool_expect_part(2, "there is no model 'alien'", "train alien");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_help),        cmocka_unit_test(test_place),
      cmocka_unit_test(test_run),
      cmocka_unit_test(test_run_binary),  cmocka_unit_test(test_types),
      cmocka_unit_test(test_bad_values),  cmocka_unit_test(test_wrong_names),
      cmocka_unit_test(test_ops),         cmocka_unit_test(test_doctor),
      cmocka_unit_test(test_train),       cmocka_unit_test(test_trace),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
