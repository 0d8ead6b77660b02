// Gradients against central differences in double. The op is a function of its floating inputs, and
// dC/dy is fed with random numbers, so that every output counts and no two elements can be
// confused. Twice means: the gradients, too, are differentiated, with respect to the inputs and to
// dC/dy. All of it is done once with the shapes known and once with placeholders without shape,
// because gradient functions add other nodes then. Of a large input only some elements are varied
// (MOST_PROBES), each by a step in proportion to its size.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op_harness/checks.h"
#include "op_harness/value.h"

#if defined(LEAT_HAVE_GRADIENTS)
#include "gradient/gradient.h"

#define MOST_VARIABLES (LEAT_CASE_MAX_VALUES + LEAT_CASE_MAX_OUTPUTS)
#define MOST_PROBES 24  // elements of one input that are varied

// Ys as functions of variables: all double, all fed.
typedef struct function_s {
  leat_graph_t* graph;
  leat_fixture_t* fixture;
  int variable_count;
  leat_output_t variables[MOST_VARIABLES];
  leat_tensor_t values[MOST_VARIABLES];
  int y_count;
  leat_output_t ys[MOST_VARIABLES];
} function_t;

static leat_status_t evaluate(const function_t* f, const leat_fixture_plan_t* plan,
                              leat_tensor_t* out_values) {
  leat_fixture_feed_t feeds[MOST_VARIABLES];
  for (int i = 0; i < f->variable_count; ++i) {
    feeds[i] = (leat_fixture_feed_t){f->variables[i].node, &f->values[i]};
  }
  return leat_fixture_plan_run(plan, feeds, f->variable_count, out_values);
}

static void release_all(leat_tensor_t* tensors, int count) {
  for (int i = 0; i < count; ++i) leat_tensor_release(&tensors[i]);
}

static leat_status_t evaluate_once(const function_t* f, const leat_output_t* fetches, int count,
                                   leat_tensor_t* out_values) {
  leat_fixture_plan_t plan;
  leat_status_t status =
      leat_fixture_plan_initialize(f->fixture, f->graph, fetches, count, &plan);
  if (!status) status = evaluate(f, &plan, out_values);
  leat_fixture_plan_deinitialize(&plan);
  return status;
}

// ---- Adding gradients ---------------------------------------------------------------------------

// A placeholder of |like|'s shape (or of none), given random numbers: a new variable.
static leat_status_t add_variable(function_t* f, const leat_tensor_t* like, bool unknown,
                                  uint64_t seed) {
  if (f->variable_count == MOST_VARIABLES) return leat_check_failed("too many variables");
  leat_builder_t builder = {.graph = f->graph};
  leat_partial_shape_t shape =
      unknown ? leat_partial_shape_unknown() : leat_partial_shape_of(&like->shape);
  leat_output_t output =
      leat_build(&builder, "Placeholder", LEAT_NO_INPUTS,
                 LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_DOUBLE), LEAT_SHAPE("shape", shape)));
  LEAT_RETURN_IF_ERROR(builder.status);
  leat_tensor_t* value = &f->values[f->variable_count];
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_DOUBLE,
                                            &like->shape, value));
  for (int64_t i = 0; i < like->shape.element_count; ++i) {
    leat_tensor_data(value, double)[i] =
        0.5 + (double)((uint64_t)(i + 1) * (seed * 2 + 1) * 2654435761u % 1000) / 1000;
  }
  f->variables[f->variable_count++] = output;
  return leat_ok_status();
}

// |out_gradients| [variable_count before the call]: dense, or none.
static leat_status_t add_gradients(function_t* f, bool unknown, uint64_t seed, int* out_first_dy,
                                   leat_output_t* out_gradients) {
  leat_tensor_t ys[MOST_VARIABLES];
  leat_gradient_value_t gradients[MOST_VARIABLES];
  int x_count = f->variable_count;
  LEAT_RETURN_IF_ERROR(evaluate_once(f, f->ys, f->y_count, ys));
  *out_first_dy = x_count;
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < f->y_count && !status; ++i) {
    status = add_variable(f, &ys[i], unknown, seed + (uint64_t)i);
  }
  release_all(ys, f->y_count);
  LEAT_RETURN_IF_ERROR(status);
  leat_gradient_spec_t spec = {.ys = f->ys, .y_count = f->y_count, .xs = f->variables,
                               .x_count = x_count, .grad_ys = f->variables + x_count,
                               .prefix = LEAT_SV("gradients")};
  LEAT_RETURN_IF_ERROR(leat_add_gradients(f->graph, &spec, gradients));
  leat_builder_t builder = {.graph = f->graph};
  for (int i = 0; i < x_count; ++i) {
    out_gradients[i] = leat_output_exists(gradients[i].dense)
                           ? leat_gradient_value_to_dense(&builder, gradients[i])
                           : LEAT_OUTPUT_NONE;
  }
  return builder.status;
}

// ---- Differences --------------------------------------------------------------------------------

// The sum of dC/dy * y.
static leat_status_t cost(const function_t* f, const leat_fixture_plan_t* plan, int first_dy,
                          double* out_cost) {
  leat_tensor_t ys[MOST_VARIABLES];
  LEAT_RETURN_IF_ERROR(evaluate(f, plan, ys));
  long double sum = 0;
  for (int y = 0; y < f->y_count; ++y) {
    const double* dy = leat_tensor_data(&f->values[first_dy + y], const double);
    for (int64_t i = 0; i < ys[y].shape.element_count; ++i) {
      sum += (long double)dy[i] * leat_tensor_data(&ys[y], const double)[i];
    }
  }
  release_all(ys, f->y_count);
  *out_cost = (double)sum;
  return leat_ok_status();
}

// The slope of the cost by a central difference. |element| is changed in place and put back.
static leat_status_t difference(const function_t* f, const leat_fixture_plan_t* plan, int first_dy,
                                double* element, double* out_slope) {
  double before = *element, above = 0, below = 0;
  double step = 1e-6 * fmax(1, fabs(before));
  *element = before + step;
  leat_status_t status = cost(f, plan, first_dy, &above);
  *element = before - step;
  if (!status) status = cost(f, plan, first_dy, &below);
  *element = before;
  *out_slope = (above - below) / (2 * step);
  return status;
}

static leat_status_t compare_variable(const function_t* f, const leat_fixture_plan_t* plan,
                                      int first_dy, int x, const leat_tensor_t* gradient,
                                      double tolerance) {
  const leat_tensor_t* value = &f->values[x];
  int64_t count = value->shape.element_count;
  if (gradient->dtype && !leat_shape_equal(&gradient->shape, &value->shape)) {
    return leat_check_failed("gradient %d has shape %s, must be %s", x,
                             LEAT_SHAPE_TEXT(&gradient->shape), LEAT_SHAPE_TEXT(&value->shape));
  }
  int64_t stride = count / MOST_PROBES + 1;
  for (int64_t i = 0; i < count; i += stride) {
    double slope = 0;
    LEAT_RETURN_IF_ERROR(
        difference(f, plan, first_dy, &leat_tensor_data(value, double)[i], &slope));
    double analytic = gradient->dtype ? leat_tensor_data(gradient, const double)[i] : 0;
    if (!(fabs(analytic - slope) <= tolerance * fmax(1, fmax(fabs(slope), fabs(analytic))))) {
      return leat_check_failed("gradient %d, number %lld is %.12g, by differences %.12g", x,
                               (long long)i, analytic, slope);
    }
  }
  return leat_ok_status();
}

// Checks |gradients| (dense or none, one for each of the first |x_count| variables).
static leat_status_t compare(const function_t* f, int first_dy, const leat_output_t* gradients,
                             int x_count, double tolerance) {
  leat_output_t fetches[MOST_VARIABLES];
  leat_tensor_t values[MOST_VARIABLES];
  int fetch_count = 0;
  for (int x = 0; x < x_count; ++x) {
    if (leat_output_exists(gradients[x])) fetches[fetch_count++] = gradients[x];
  }
  LEAT_RETURN_IF_ERROR(leat_status_annotate(evaluate_once(f, fetches, fetch_count, values),
                                            "running the gradient"));
  leat_fixture_plan_t plan;
  leat_status_t status =
      leat_fixture_plan_initialize(f->fixture, f->graph, f->ys, f->y_count, &plan);
  for (int x = 0, k = 0; x < x_count && !status; ++x) {
    const leat_tensor_t none = {0};
    const leat_tensor_t* gradient = leat_output_exists(gradients[x]) ? &values[k++] : &none;
    status = compare_variable(f, &plan, first_dy, x, gradient, tolerance);
  }
  leat_fixture_plan_deinitialize(&plan);
  release_all(values, fetch_count);
  return status;
}

// ---- A case -------------------------------------------------------------------------------------

// The gradients become the function, and their gradients are compared with differences in turn.
static leat_status_t check_twice(function_t* f, bool unknown, const leat_output_t* gradients,
                                 int x_count, double tolerance) {
  leat_output_t second[MOST_VARIABLES];
  int first_dy = 0;
  f->y_count = 0;
  for (int x = 0; x < x_count; ++x) {
    if (leat_output_exists(gradients[x])) f->ys[f->y_count++] = gradients[x];
  }
  int before = f->variable_count;
  LEAT_RETURN_IF_ERROR(add_gradients(f, unknown, 77, &first_dy, second));
  return compare(f, first_dy, second, before, tolerance);
}

static leat_status_t check_function(function_t* f, const leat_op_case_t* c, bool unknown) {
  leat_output_t gradients[MOST_VARIABLES];
  double tolerance = c->gradient_tolerance > 0 ? c->gradient_tolerance : 1e-5;
  int x_count = f->variable_count;
  int first_dy = 0;
  LEAT_RETURN_IF_ERROR(add_gradients(f, unknown, 7, &first_dy, gradients));
  LEAT_RETURN_IF_ERROR(compare(f, first_dy, gradients, x_count, tolerance));
  if (c->gradient != LEAT_GRADIENT_TWICE) return leat_ok_status();
  return leat_status_annotate(check_twice(f, unknown, gradients, x_count, tolerance),
                              "second order");
}

static leat_status_t make_function(const leat_subject_t* subject, bool unknown, function_t* f) {
  int32_t sources[LEAT_CASE_MAX_VALUES];
  int32_t node = -1;
  uint32_t constants = subject->op_case->constant_inputs;
  for (int i = 0; i < subject->input_count; ++i) {
    if (subject->inputs[i].dtype != LEAT_DTYPE_DOUBLE) constants |= UINT32_C(1) << i;
  }
  LEAT_RETURN_IF_ERROR(leat_subject_build(subject,
                                          unknown ? LEAT_SOURCES_UNKNOWN : LEAT_SOURCES_SHAPED,
                                          constants, &f->graph, sources, &node));
  for (int i = 0; i < subject->input_count; ++i) {
    if (constants >> i & 1) continue;
    leat_tensor_t* value = &f->values[f->variable_count];
    LEAT_RETURN_IF_ERROR(
        leat_tensor_copy(leat_buffer_source_host(), &subject->inputs[i], value));
    f->variables[f->variable_count++] = leat_node_output(sources[i], 0);
  }
  const leat_node_t* op = leat_graph_node(f->graph, node);
  for (int o = 0; o < op->output_count && f->y_count < LEAT_CASE_MAX_OUTPUTS; ++o) {
    if (op->output_types[o] == LEAT_DTYPE_DOUBLE) f->ys[f->y_count++] = leat_node_output(node, o);
  }
  bool is_function = f->variable_count > 0 && f->y_count > 0;
  return is_function ? leat_ok_status() : leat_check_failed("it has no double input or output");
}

leat_status_t leat_check_gradient(const leat_subject_t* subject) {
  leat_status_t status = leat_ok_status();
  for (int unknown = 0; unknown < 2 && !status; ++unknown) {
    function_t f = {.fixture = subject->fixture};
    status = make_function(subject, unknown, &f);
    if (!status) status = check_function(&f, subject->op_case, unknown);
    release_all(f.values, f.variable_count);
    leat_graph_free(f.graph);
    status = leat_status_annotate(status, "gradient over %s shapes",
                                  unknown ? "unknown" : "known");
  }
  return status;
}

#else

leat_status_t leat_check_gradient(const leat_subject_t* subject) {
  return leat_check_failed("the build has no gradients (src/gradient/)");
}

#endif
