// White paper, section 4.4: control flow. The graphs come as text, as a client would import them:
// nothing but nodes says what a loop is; macros write the nodes of a counting loop and of a
// variable that it carries. Statistics of a traced step tell how often a node ran, which is what
// the paper's sentences on skipping and iterating are about. That iterations run concurrently is
// shown by making each one wait until all others have come: with ten parallel iterations ten can
// meet, the eleventh ends in a deadline, and one at a time none ever meet. Gradients of control
// flow are in section_4_4_gradient_test.c.
#include "capi/function_kit.h"
#include "paper/partitions.h"

#define INTS TYPE("T", "INT32")
#define MERGE(name, a, b) \
  NODE(name, "Merge", IN(a) IN(b), INTS " attr { key: 'N' value { i: 2 } }")
#define ENTER(name, from, frame, constant)                                             \
  NODE(name, "Enter", IN(from), INTS " attr { key: 'frame_name' value { s: '" frame "' } }" \
       " attr { key: 'is_constant' value { b: " constant " } }" PARALLEL)
#define PARALLEL " attr { key: 'parallel_iterations' value { i: 10 } }"
// for (<p>i = 0; <p>i < <limit>; ++<p>i), where <p>more is the condition and <p>one waits for the
// iteration.
#define COUNT_TO(limit, zero, frame, p)                                             \
  ENTER(p "i0", zero, frame, "false") ENTER(p "n", limit, frame, "true")            \
  MERGE(p "i", p "i0", p "i2") NODE(p "less", "Less", IN(p "i") IN(p "n"), INTS)    \
  NODE(p "more", "LoopCond", IN(p "less"), "")                                      \
  NODE(p "is", "Switch", IN(p "i") IN(p "more"), INTS)                              \
  NODE(p "now", "Identity", IN(p "is:1"), INTS)                                     \
  NODE(p "one", "Const", IN("^" p "now"), INT32("1"))                               \
  NODE(p "i1", "AddV2", IN(p "now") IN(p "one"), INTS)                              \
  NODE(p "i2", "NextIteration", IN(p "i1"), INTS)
// A variable of the loop: |p|v, |p|v:1 of |p|vs in the body, |next|, and |p|y after the loop.
#define CARRY(from, frame, p, next)                                                      \
  ENTER(p "v0", from, frame, "false") MERGE(p "v", p "v0", p "v2")                       \
  NODE(p "vs", "Switch", IN(p "v") IN(p "more"), INTS)                                   \
  NODE(p "v2", "NextIteration", IN(next), INTS) NODE(p "y", "Exit", IN(p "vs"), INTS)
#define X NODE("x", "Placeholder", "", TYPE("dtype", "INT32"))

// How often the node ran in a step, by its statistics.
static int runs_of(functions_t* f, const char* fetch, const char* text) {
  TF_Output y = functions_output(f, fetch, 0);
  return paper_traced(f->session, &y, 1, text);
}

// "The Switch and Merge operators allow us to skip the execution of an entire subgraph based on the
// value of a boolean tensor."
static void paper_4_4__switch_and_merge_skip_a_subgraph(void** state) {
  functions_t f = functions_open(
      X NODE("v", "VarHandleOp", "", TYPE("dtype", "INT32")
             " attr { key: 'shape' value { shape {} } }")
      NODE("set", "AssignVariableOp", IN("v") IN("x"), TYPE("dtype", "INT32"))
      NODE("read", "ReadVariableOp", IN("v"), TYPE("dtype", "INT32"))
      NODE("zero", "Const", "", INT32("0"))
      NODE("positive", "Greater", IN("read") IN("zero"), INTS)
      NODE("s", "Switch", IN("read") IN("positive"), INTS)
      NODE("a", "Square", IN("s:1"), INTS) NODE("b", "Mul", IN("a") IN("a"), INTS)
      NODE("c", "Neg", IN("s"), INTS) MERGE("y", "b", "c"));
  static const struct { int x, y, ran_a, ran_c; } kCases[] = {{2, 16, 1, 0}, {-3, 3, 0, 1}};
  for (int i = 0; i < 2; ++i) {
    TF_Tensor* value = kit_int32(kCases[i].x);
    TF_Output x = functions_output(&f, "x", 0);
    const TF_Operation* set = functions_output(&f, "set", 0).oper;
    TF_SessionRun(f.session, NULL, &x, &value, 1, NULL, NULL, 0, &set, 1, NULL, f.status);
    kit_ok(f.status);
    TF_DeleteTensor(value);
    TF_Tensor* result = functions_run(&f, "y", 0, NULL, NULL);
    assert_int_equal(kit_int32_of(result), kCases[i].y);
    TF_DeleteTensor(result);
    assert_int_equal(runs_of(&f, "y", "a = Square("), kCases[i].ran_a);
    assert_int_equal(runs_of(&f, "y", "c = Neg("), kCases[i].ran_c);
  }
  functions_close(&f);
}

// "The Enter, Leave, and NextIteration operators allow us to express iteration."
static void paper_4_4__enter_leave_and_next_iteration_iterate(void** state) {
  functions_t f = functions_open(X NODE("zero", "Const", "", INT32("0"))
                                 NODE("first", "Const", "", INT32("1"))
                                 COUNT_TO("x", "zero", "loop", "")
                                 NODE("product", "Mul", IN("vs:1") IN("i1"), INTS)
                                 CARRY("first", "loop", "", "product"));
  static const int kFactorials[] = {1, 1, 2, 6, 24, 120, 720};
  for (int n = 0; n < 7; ++n) assert_int_equal(functions_int(&f, "y", n), kFactorials[n]);
  functions_close(&f);
}

// "Each iteration of a loop is uniquely identified by a tag, and its execution state is represented
// by a frame": of a loop in a loop, every iteration has iterations of its own.
static void paper_4_4__iterations_have_tags_and_frames(void** state) {
  functions_t f = functions_open(X NODE("zero", "Const", "", INT32("0"))
                                 COUNT_TO("x", "zero", "outer", "")
                                 NODE("none", "Sub", IN("i1") IN("i1"), INTS)
                                 COUNT_TO("i1", "none", "inner", "in/")
                                 NODE("in/sum", "AddV2", IN("in/vs:1") IN("in/i1"), INTS)
                                 CARRY("vs:1", "inner", "in/", "in/sum")
                                 CARRY("zero", "outer", "", "in/y"));
  for (int n = 0; n < 8; ++n) {  // 1 + (1 + 2) + (1 + 2 + 3) ...
    assert_int_equal(functions_int(&f, "y", n), n * (n + 1) * (n + 2) / 6);
  }
  functions_close(&f);
}

// "An input can enter an iteration whenever it becomes available; thus, multiple iterations can be
// executed concurrently." Every iteration puts its number into a queue; the first one waits for all
// of them.
#define RENDEZVOUS \
  X NODE("zero", "Const", "", INT32("0"))                                                 \
  NODE("q", "FIFOQueueV2", "", " attr { key: 'component_types' value { list { type: "     \
       "DT_INT32 } } } attr { key: 'shapes' value { list { shape {} } } }")               \
  COUNT_TO("x", "zero", "loop", "")                                                       \
  NODE("queue", "Enter", IN("q"), TYPE("T", "RESOURCE")                                   \
       " attr { key: 'frame_name' value { s: 'loop' } }"                                  \
       " attr { key: 'is_constant' value { b: true } }" PARALLEL)                         \
  ENTER("nothing", "zero", "loop", "true")                                                \
  NODE("put", "QueueEnqueueV2", IN("queue") IN("i1"),                                     \
       TYPES("Tcomponents", "DT_INT32"))                                                  \
  NODE("is_first", "Equal", IN("now") IN("nothing"), INTS)                                \
  NODE("count", "Select", IN("is_first") IN("n") IN("nothing"), INTS)                     \
  NODE("take", "QueueDequeueManyV2", IN("queue") IN("count"),                             \
       TYPES("component_types", "DT_INT32"))                                              \
  NODE("axis", "Const", IN("^now"), INT32("0"))                                           \
  NODE("sum", "Sum", IN("take") IN("axis"), INTS TYPE("Tidx", "INT32"))                   \
  NODE("total", "AddV2", IN("vs:1") IN("sum") IN("^put"), INTS)                           \
  CARRY("zero", "loop", "", "total")

static void paper_4_4__iterations_run_concurrently(void** state) {
  functions_t f = functions_open_on(RENDEZVOUS, 1);
  assert_int_equal(functions_int(&f, "y", 6), 1 + 2 + 3 + 4 + 5 + 6);
  // Ten may run at once and no more: the first of eleven waits for one that has to wait for it.
  assert_int_equal(functions_int(&f, "y", 10), 10 * 11 / 2);
  assert_int_equal(functions_try(&f, "y", kit_int32(11), 100), TF_DEADLINE_EXCEEDED);
  functions_close(&f);
#undef PARALLEL
#define PARALLEL " attr { key: 'parallel_iterations' value { i: 1 } }"
  f = functions_open_on(RENDEZVOUS, 1);  // one at a time they never meet
  assert_int_equal(functions_try(&f, "y", kit_int32(6), 60), TF_DEADLINE_EXCEEDED);
  functions_close(&f);
}

// "High-level programming constructs such as if-conditionals and while-statements can be easily
// compiled into dataflow graphs with these control flow operators."
static void paper_4_4__while_statements_compile_to_these_operators(void** state) {
  functions_t f = functions_open(X);
  TF_Output x = functions_output(&f, "x", 0), y = {NULL, 0};
  TF_WhileParams loop = TF_NewWhile(f.graph, &x, 1, f.status);
  kit_ok(f.status);
  TF_Operation* limit = kit_const_int32(loop.cond_graph, "limit", 100);
  loop.cond_output =
      kit_out(kit_binary(loop.cond_graph, "Less", "less", loop.cond_inputs[0].oper, limit), 0);
  TF_Operation* v = loop.body_inputs[0].oper;
  loop.body_outputs[0] = kit_out(kit_binary(loop.body_graph, "AddV2", "twice", v, v), 0);
  loop.name = "loop";
  TF_FinishWhile(&loop, f.status, &y);
  kit_ok(f.status);
  static const char* const kOps[] = {"Enter", "Merge", "LoopCond", "Switch", "NextIteration",
                                     "Exit"};
  size_t position = 0;
  unsigned seen = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(f.graph, &position)) != NULL;) {
    for (int i = 0; i < 6; ++i) seen |= (unsigned)!strcmp(TF_OperationOpType(o), kOps[i]) << i;
  }
  assert_int_equal(seen, (1 << 6) - 1);
  TF_Tensor* result = kit_run(f.session, x, kit_int32(3), y);
  assert_int_equal(kit_int32_of(result), 192);
  TF_DeleteTensor(result);
  functions_close(&f);
}

// "... the graph is automatically rewritten to add control nodes to each partition. These nodes
// implement a small state machine that orchestrates the start and termination of each iteration":
// a body of which a part lies on a device that the condition does not see.
static void paper_4_4__loops_spread_over_devices(void** state) {
  functions_t f = functions_open_on(
      X NODE("zero", "Const", "", INT32("0")) COUNT_TO("x", "zero", "loop", "")
      NODE("square", "Square", IN("now"), INTS " device: '/device:CPU:1'")
      NODE("sum", "AddV2", IN("vs:1") IN("square"), INTS " device: '/device:CPU:0'")
      CARRY("zero", "loop", "", "sum"), 2);
  for (int n = 0; n < 20; n += 3) {
    assert_int_equal(functions_int(&f, "y", n), n * (n - 1) * (2 * n - 1) / 6);
  }
  paper_partitions_t partitions = paper_partitions_open(f.session, functions_output(&f, "y", 0));
  assert_int_equal(paper_partitions_crossings(&partitions), 0);
  assert_int_equal(paper_partitions_count(&partitions, "CPU:1", "Merge"), 1);
  assert_int_equal(paper_partitions_count(&partitions, "CPU:1", "NextIteration"), 1);
  // For each iteration, the value and one tiny message.
  assert_int_equal(paper_partitions_count(&partitions, "CPU:1", "_Recv"), 2);
  paper_partitions_close(&partitions);
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paper_4_4__switch_and_merge_skip_a_subgraph),
      cmocka_unit_test(paper_4_4__enter_leave_and_next_iteration_iterate),
      cmocka_unit_test(paper_4_4__iterations_have_tags_and_frames),
      cmocka_unit_test(paper_4_4__iterations_run_concurrently),
      cmocka_unit_test(paper_4_4__while_statements_compile_to_these_operators),
      cmocka_unit_test(paper_4_4__loops_spread_over_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
