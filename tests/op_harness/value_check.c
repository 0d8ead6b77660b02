// Shape function against run, values against the reference, and errors. The kernel runs in several
// ways (kWays), which must agree: on borrowed inputs, which must not be changed; with a thread
// pool; on inputs that it may overwrite; and on inputs that do not lie at aligned addresses. Each
// case is built over constants, over placeholders with shapes and over placeholders without, and
// the shapes that were inferred each time must admit what came out. A case that expects an error
// must fail in all of these ways, when the node is built or when it runs, with its code and a part
// of its message.
#include <stdlib.h>
#include <string.h>

#include "op_harness/checks.h"
#include "op_harness/value.h"

static const leat_subject_way_t kWays[] = {
    {.name = "borrowed inputs"},
    {.name = "a pool", .with_pool = true},
    {.name = "overwritable inputs", .overwritable = true, .with_pool = true},
    {.name = "unaligned inputs", .unaligned = true},
};

// ---- Comparing ----------------------------------------------------------------------------------

static double tolerance_of(const leat_op_case_t* op_case, int dtype) {
  if (op_case->exact) return 0;
  double by_type = leat_case_tolerance(dtype);
  return op_case->tolerance > by_type ? op_case->tolerance : by_type;
}

static leat_status_t compare_numbers(const leat_op_case_t* op_case, const char* what, int index,
                                     const leat_tensor_t* actual, const double* expected) {
  int64_t count = actual->shape.element_count * leat_case_parts(actual->dtype);
  double tolerance = tolerance_of(op_case, actual->dtype);
  for (int64_t i = 0; i < count; ++i) {
    double number = leat_case_number(actual, i);
    if (leat_case_number_is_close(number, expected[i], tolerance)) continue;
    return leat_check_failed("%s %d (%s %s): number %lld is %.17g, must be %.17g", what, index,
                             leat_dtype_name(actual->dtype), LEAT_SHAPE_TEXT(&actual->shape),
                             (long long)i, number, expected[i]);
  }
  return leat_ok_status();
}

static leat_status_t compare_tensors(const leat_op_case_t* op_case, const char* what, int index,
                                     const leat_tensor_t* actual, const leat_tensor_t* expected) {
  if (actual->dtype != expected->dtype || !leat_shape_equal(&actual->shape, &expected->shape)) {
    return leat_check_failed("%s %d is %s %s, must be %s %s", what, index,
                             leat_dtype_name(actual->dtype), LEAT_SHAPE_TEXT(&actual->shape),
                             leat_dtype_name(expected->dtype), LEAT_SHAPE_TEXT(&expected->shape));
  }
  if (leat_case_parts(actual->dtype) == 0) {
    bool equal = leat_dtype_in(actual->dtype, LEAT_DTYPE_BIT(RESOURCE) | LEAT_DTYPE_BIT(VARIANT)) ||
                 leat_case_tensor_equal(actual, expected);
    return equal ? leat_ok_status() : leat_check_failed("%s %d has other strings", what, index);
  }
  double* numbers = leat_case_numbers(expected);
  leat_status_t status = compare_numbers(op_case, what, index, actual, numbers);
  free(numbers);
  return status;
}

static leat_status_t compare_literal(const leat_subject_t* subject, const char* what, int index,
                                     const leat_case_value_t* value,
                                     const leat_tensor_t* actual) {
  leat_tensor_t expected;
  LEAT_RETURN_IF_ERROR(
      leat_case_value_make(value, leat_subject_type(subject, value->dtype), 0, &expected));
  leat_status_t status = compare_tensors(subject->op_case, what, index, actual, &expected);
  leat_tensor_release(&expected);
  return status;
}

// ---- The reference ------------------------------------------------------------------------------

typedef struct expectation_s {
  int output_count;
  leat_tensor_t first[LEAT_CASE_MAX_OUTPUTS];   // of the first way
  double* numbers[LEAT_CASE_MAX_OUTPUTS];       // of the reference
} expectation_t;

static leat_status_t call_reference(const leat_subject_t* subject, expectation_t* e) {
  double* in[LEAT_CASE_MAX_VALUES];
  for (int i = 0; i < subject->input_count; ++i) in[i] = leat_case_numbers(&subject->inputs[i]);
  for (int o = 0; o < e->output_count; ++o) {
    int64_t count = e->first[o].shape.element_count * leat_case_parts(e->first[o].dtype);
    e->numbers[o] = calloc((size_t)count + 1, sizeof(double));
  }
  leat_reference_t reference = {.op_case = subject->op_case,
                                .input_count = subject->input_count,
                                .in = (const double* const*)in,
                                .inputs = subject->inputs,
                                .output_count = e->output_count,
                                .outputs = e->first,
                                .out = e->numbers};
  subject->op_case->reference(&reference);
  for (int i = 0; i < subject->input_count; ++i) free(in[i]);
  return leat_ok_status();
}

static void release_expectation(expectation_t* e) {
  for (int o = 0; o < e->output_count; ++o) {
    leat_tensor_release(&e->first[o]);
    free(e->numbers[o]);
  }
}

// ---- One way ------------------------------------------------------------------------------------

static leat_status_t compare_output(const leat_subject_t* subject, const expectation_t* e, int o,
                                    const leat_tensor_t* actual) {
  const leat_op_case_t* c = subject->op_case;
  if (e->numbers[o] && leat_case_parts(actual->dtype) > 0) {
    LEAT_RETURN_IF_ERROR(compare_numbers(c, "output", o, actual, e->numbers[o]));
  }
  if (o < LEAT_CASE_MAX_VALUES && c->expected[o].dtype) {
    LEAT_RETURN_IF_ERROR(compare_literal(subject, "output", o, &c->expected[o], actual));
  }
  return compare_tensors(c, "output", o, actual, &e->first[o]);
}

static leat_status_t check_inputs_kept(const leat_subject_t* subject, const leat_slot_t* slots,
                                       const leat_tensor_t* before) {
  for (int i = 0; i < subject->input_count; ++i) {
    const leat_case_value_t* after = &subject->op_case->after[i];
    if (subject->op_case->inputs[i].role == LEAT_CASE_VALUE) {
      if (!leat_case_tensor_equal(&subject->inputs[i], &before[i])) {
        return leat_check_failed("input %d was written", i);
      }
    } else if (after->dtype) {
      leat_tensor_t value = {0};
      if (!leat_subject_variable(subject, i, slots, &value)) {
        return leat_check_failed("variable %d has no value", i);
      }
      leat_status_t status = compare_literal(subject, "variable", i, after, &value);
      leat_tensor_release(&value);
      LEAT_RETURN_IF_ERROR(status);
    }
  }
  return leat_ok_status();
}

static leat_status_t read_output(const leat_kernel_t* kernel, int index, leat_slot_t* slot,
                                 leat_tensor_t* out_value) {
  *out_value = (leat_tensor_t){0};
  if (slot->ref) {
    leat_cell_read(slot->ref, out_value);
  } else {
    *out_value = leat_tensor_share(&slot->tensor);
  }
  if (!slot->alive) return leat_ok_status();
  int dtype = leat_dtype_base(kernel->output_types[index]);
  if (out_value->dtype == dtype || (slot->ref && out_value->dtype == 0)) return leat_ok_status();
  return leat_check_failed("output %d is %s, must be %s", index, leat_dtype_name(out_value->dtype),
                           leat_dtype_name(dtype));
}

// Keeps the outputs of the first way, whose shapes the reference needs, and compares those of every
// way with the reference, with the numbers of the case and with the first way's.
static leat_status_t take_outputs(const leat_subject_t* subject, const leat_kernel_t* kernel,
                                  leat_slot_t* slots, bool is_first, expectation_t* e) {
  if (is_first) e->output_count = kernel->output_count;
  leat_status_t status = leat_ok_status();
  for (int o = 0; o < kernel->output_count && !status && is_first; ++o) {
    status = read_output(kernel, o, &slots[o], &e->first[o]);
  }
  if (!status && is_first && subject->op_case->reference) status = call_reference(subject, e);
  for (int o = 0; o < kernel->output_count && !status; ++o) {
    leat_tensor_t value;
    status = read_output(kernel, o, &slots[o], &value);
    if (!status) status = compare_output(subject, e, o, &value);
    leat_tensor_release(&value);
  }
  return status;
}

// Runs the kernel once, with inputs and threads as |way| says, and leaves nothing of the run
// behind.
static leat_status_t run_way(const leat_subject_t* subject, const leat_kernel_t* kernel,
                             const leat_subject_way_t* way, const leat_tensor_t* before,
                             bool is_first, expectation_t* e) {
  leat_slot_t slots[LEAT_CASE_MAX_VALUES];
  leat_slot_t outputs[LEAT_CASE_MAX_OUTPUTS];
  if (kernel->output_count > LEAT_CASE_MAX_OUTPUTS) return leat_check_failed("too many outputs");
  LEAT_RETURN_IF_ERROR(leat_subject_make_slots(subject, way, slots));
  leat_status_t status = leat_subject_run(subject, kernel, way, slots, outputs);
  if (!status) {
    status = check_inputs_kept(subject, slots, before);
    if (!status) status = take_outputs(subject, kernel, outputs, is_first, e);
    for (int o = 0; o < kernel->output_count; ++o) leat_slot_release(&outputs[o]);
  }
  leat_subject_free_slots(subject, slots);
  return leat_status_annotate(status, "with %s", way->name);
}

static leat_status_t run_ways(const leat_subject_t* subject, const leat_graph_t* graph,
                              int32_t node, expectation_t* e) {
  leat_tensor_t before[LEAT_CASE_MAX_VALUES] = {0};
  leat_fixture_kernel_t kernel;
  LEAT_RETURN_IF_ERROR(leat_fixture_kernel_make(subject->fixture, graph, node, &kernel));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < subject->input_count && !status; ++i) {
    status = leat_tensor_copy(leat_buffer_source_host(), &subject->inputs[i], &before[i]);
  }
  for (size_t w = 0; w < LEAT_ARRAY_SIZE(kWays) && !status; ++w) {
    status = run_way(subject, kernel.kernel, &kWays[w], before, w == 0, e);
  }
  for (int i = 0; i < subject->input_count; ++i) leat_tensor_release(&before[i]);
  leat_fixture_kernel_free(&kernel);
  return status;
}

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t check_shapes(const leat_graph_t* graph, int32_t node,
                                  const expectation_t* e) {
  for (int o = 0; o < e->output_count; ++o) {
    leat_partial_shape_t inferred = leat_graph_output_shape(graph, leat_node_output(node, o));
    if (e->first[o].dtype == 0 || leat_partial_shape_admits(inferred, &e->first[o].shape)) {
      continue;
    }
    return leat_check_failed("output %d has shape %s, the shape function says %s", o,
                             LEAT_SHAPE_TEXT(&e->first[o].shape),
                             LEAT_PARTIAL_SHAPE_TEXT(inferred));
  }
  return leat_ok_status();
}

static const char* const kSourceNames[] = {"constants", "shaped placeholders",
                                           "placeholders without shape"};

// Builds over |sources|; the values are run where they come first.
static leat_status_t check_over(const leat_subject_t* subject, leat_subject_sources_t sources,
                                bool is_first, expectation_t* e) {
  int32_t nodes[LEAT_CASE_MAX_VALUES];
  int32_t node = -1;
  leat_graph_t* graph = NULL;
  leat_status_t status = leat_subject_build(subject, sources, 0, &graph, nodes, &node);
  if (!status && is_first) status = run_ways(subject, graph, node, e);
  if (!status) status = check_shapes(graph, node, e);
  leat_graph_free(graph);
  return leat_status_annotate(status, "over %s", kSourceNames[sources]);
}

leat_status_t leat_check_values(const leat_subject_t* subject) {
  expectation_t e = {0};
  leat_status_t status = leat_ok_status();
  for (int s = 0; s < 3 && !status; ++s) {
    status = check_over(subject, (leat_subject_sources_t)s, s == 0, &e);
  }
  release_expectation(&e);
  return status;
}

// ---- Errors -------------------------------------------------------------------------------------

static leat_status_t judge_error(const leat_op_case_t* c, leat_status_t actual) {
  leat_status_t verdict = leat_ok_status();
  if (!actual) return leat_check_failed("it passed, must fail with %s",
                                        leat_status_code_name(c->code));
  if (leat_status_code(actual) != c->code) {
    verdict = leat_check_failed("it failed with %s (%s), must be %s",
                                leat_status_code_name(leat_status_code(actual)),
                                leat_status_message(actual), leat_status_code_name(c->code));
  } else if (c->message && !strstr(leat_status_message(actual), c->message)) {
    verdict = leat_check_failed("it says '%s', must say '%s'", leat_status_message(actual),
                                c->message);
  }
  leat_status_free(actual);
  return verdict;
}

static leat_status_t run_once(const leat_subject_t* subject, const leat_graph_t* graph,
                              int32_t node) {
  leat_fixture_kernel_t kernel;
  leat_slot_t slots[LEAT_CASE_MAX_VALUES];
  leat_slot_t outputs[LEAT_CASE_MAX_OUTPUTS];
  LEAT_RETURN_IF_ERROR(leat_fixture_kernel_make(subject->fixture, graph, node, &kernel));
  leat_status_t status = leat_subject_make_slots(subject, &kWays[0], slots);
  if (!status) {
    status = leat_subject_run(subject, kernel.kernel, &kWays[0], slots, outputs);
    for (int o = 0; !status && o < kernel.kernel->output_count; ++o) {
      leat_slot_release(&outputs[o]);
    }
    leat_subject_free_slots(subject, slots);
  }
  leat_fixture_kernel_free(&kernel);
  return status;
}

leat_status_t leat_check_error(const leat_subject_t* subject) {
  for (int s = 0; s < 3; ++s) {
    int32_t nodes[LEAT_CASE_MAX_VALUES];
    int32_t node = -1;
    leat_graph_t* graph = NULL;
    leat_status_t status =
        leat_subject_build(subject, (leat_subject_sources_t)s, 0, &graph, nodes, &node);
    if (!status) status = run_once(subject, graph, node);
    leat_graph_free(graph);
    LEAT_RETURN_IF_ERROR(leat_status_annotate(judge_error(subject->op_case, status), "over %s",
                                              kSourceNames[s]));
  }
  return leat_ok_status();
}
