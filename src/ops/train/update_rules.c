// The rewrite rules that move what scales or clips a gradient into the update that reads it
// (_FusedApply, _FusedResourceApply; optimizer.c). The kernel applies these steps, its prologue, to
// blocks of the gradient that are in the processor's cache (optimizer_cpu.c). The pass "prologues"
// applies the rules (optimize/rules.c), one step each time, from the update backwards:
//
//   g ─▶ Mul(g, s) ─▶ RealDiv(_, n) ─▶ ApplyAdam     becomes     g, s, n ─▶ _FusedApply
//                                                                prologue = [Mul, RealDiv]
//
// So gradients that are clipped by their norm, by the norm of all gradients or by value, averaged,
// or freed of a loss scale need no memory between the product and the update. The operand that is
// not the gradient must be known to have one element. Results are bit for bit those of the separate
// ops, since each step rounds as its op does.
#include <string.h>

#include "graph/rewrite_rule.h"
#include "ops/op_rows.h"

#define MAX_STEPS 4  // of a prologue, as the kernel allows (LEAT_PROLOGUE_MAX_STEPS)

// The ops with a fused form: all that update every element of a variable, but for AdagradDA, one of
// whose scalars is an int64.
#define UPDATES(X)                                                                             \
  X("GradientDescent") "|" X("ProximalGradientDescent") "|" X("Adadelta") "|" X("Adagrad") "|" \
  X("AdagradV2") "|" X("ProximalAdagrad") "|" X("Ftrl") "|" X("FtrlV2") "|" \
  X("Momentum") "|" X("Adam") "|" X("AdaMax") "|" X("RMSProp") "|" X("CenteredRMSProp") "|"    \
  X("AddSign") "|" X("PowerSign")
#define BY_REFERENCE(op) "Apply" op
#define BY_HANDLE(op) "ResourceApply" op
#define ONLY_BY_HANDLE "ResourceApplyKerasMomentum|ResourceApplyAdamWithAmsgrad"

static bool is_fused(const leat_node_t* update) {
  return leat_node_attr(update, LEAT_SV("prologue")) != NULL;
}

// ---- The inputs of an update --------------------------------------------------------------------

static bool is_variable(const leat_op_argument_t* input) {
  return input->is_ref ||
         (input->source == LEAT_TYPE_FIXED && input->dtype == LEAT_DTYPE_RESOURCE);
}

// The input that is the gradient; -1: there is none.
static int gradient_of(const leat_node_t* update) {
  if (is_fused(update)) {
    return update->input_count - (int)leat_node_attr_int(update, "N", 0) - 1;
  }
  for (int i = 0; i < update->op->input_count; ++i) {
    const leat_string_view_t name = update->op->inputs[i].name;
    if (leat_string_view_equals(name, "grad") || leat_string_view_equals(name, "delta")) return i;
  }
  return -1;
}

// ---- Matching -----------------------------------------------------------------------------------

// Whether an array of |shape| has one element and broadcasts to |value| without changing its shape.
static bool is_scalar_for(leat_partial_shape_t shape, leat_partial_shape_t value) {
  if (shape.rank < 0 || (shape.rank > 0 && shape.rank > value.rank)) return false;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] != 1) return false;
  }
  return true;
}

// A step that goes into the update: which operand of the producer the gradient is, where the update
// reads it then, and what lies between it and the producer.
typedef struct step_s {
  int operand;
  leat_output_t gradient;
  leat_rewrite_way_t way;
} step_t;

// Whether the op in front of the update can become a step of its prologue: one operand is the
// gradient, and the other has a single element. A division counts only with the gradient on the
// left.
static bool find_step(const leat_rewrite_match_t* m, step_t* out_step) {
  const leat_node_t *op = leat_rewrite_producer(m), *update = leat_rewrite_root(m);
  const bool divides = leat_string_view_equals(op->op->name, "RealDiv");
  for (int operand = 0; operand <= !divides; ++operand) {
    const leat_output_t gradient = op->inputs[operand], scalar = op->inputs[1 - operand];
    *out_step = (step_t){.operand = operand, .gradient = gradient};
    if (!is_scalar_for(leat_graph_output_shape(m->graph, scalar),
                       leat_graph_output_shape(m->graph, gradient))) {
      continue;
    }
    // Past Reshapes the update reads another shape than the producer does.
    if (!m->is_reshaped ||
        leat_rewrite_find_shape(m, leat_graph_output_shape(m->graph, update->inputs[m->side]),
                                &out_step->way, &out_step->gradient)) {
      return true;
    }
  }
  return false;
}

static bool has_step(const leat_rewrite_match_t* m) {
  const leat_node_t* update = leat_rewrite_root(m);
  step_t step;
  return leat_node_attr_int(update, "N", 0) < MAX_STEPS && find_step(m, &step);
}

// ---- Making -------------------------------------------------------------------------------------

// The fused update that is made: lists in the order of its inputs.
typedef struct fused_s {
  leat_output_t *inputs, *args;
  leat_string_view_t update, prologue[MAX_STEPS];
  int64_t sides[MAX_STEPS];
  int variables, scalars, steps;
  bool flag;
} fused_t;

// What the plain |update| has: its variables, then its scalars in order, then the gradient.
static void read_plain(int gradient, const leat_node_t* update, fused_t* f) {
  static const char* const kFlags[] = {"use_nesterov", "update_slots", "multiply_linear_by_lr"};
  f->update = update->op->name;
  for (int i = 0; i < update->input_count; ++i) {
    if (is_variable(&update->op->inputs[i])) f->inputs[f->variables++] = update->inputs[i];
  }
  for (int i = 0; i < update->input_count; ++i) {
    if (i == gradient || is_variable(&update->op->inputs[i])) continue;
    f->inputs[f->variables + f->scalars++] = update->inputs[i];
  }
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFlags); ++i) {
    f->flag |= leat_node_attr_bool(update, kFlags[i], false);
  }
}

// What a fused |update| has already.
static void read_fused(int gradient, const leat_node_t* update, fused_t* f) {
  f->update = leat_node_attr_string(update, "update");
  f->variables = (int)leat_node_attr_int(update, "V", 0);
  f->scalars = gradient - f->variables;
  f->steps = (int)leat_node_attr_int(update, "N", 0);
  f->flag = leat_node_attr_bool(update, "flag", false);
  memcpy(f->inputs, update->inputs, (size_t)gradient * sizeof *f->inputs);
  const leat_attr_value_t* ops = leat_node_attr(update, LEAT_SV("prologue"));
  const leat_attr_value_t* sides = leat_node_attr(update, LEAT_SV("sides"));
  LEAT_DCHECK(ops->count == (uint32_t)f->steps && sides->count == ops->count);
  // The step that is found comes before those.
  for (int i = 0; i < f->steps; ++i) {
    f->prologue[1 + i] = ops->strings[i];
    f->sides[1 + i] = sides->ints[i];
    f->args[1 + i] = update->inputs[gradient + 1 + i];
  }
}

// Adds the fused update that |f| describes.
static leat_status_t add_fused(leat_rewrite_match_t* m, const fused_t* f, leat_output_t* out_by) {
  const leat_node_t* update = leat_rewrite_root(m);
  const int type = leat_graph_output_type(m->graph, update->inputs[m->side]);
  const leat_attr_t attrs[] = {
      LEAT_STRING("update", f->update),
      LEAT_INT("V", f->variables),
      LEAT_INT("S", f->scalars),
      LEAT_INT("N", f->steps),
      LEAT_LIST("prologue", STRING, f->steps, strings, f->prologue),
      LEAT_LIST("sides", INT, f->steps, ints, f->sides),
      LEAT_BOOL("flag", f->flag),
      LEAT_TYPE("T", type),
      LEAT_BOOL("use_locking", leat_node_attr_bool(update, "use_locking", false))};
  leat_node_spec_t spec = {.inputs = f->inputs,
                           .input_count = f->variables + f->scalars + 1 + f->steps,
                           .attrs = attrs,
                           .attr_count = LEAT_ARRAY_SIZE(attrs)};
  return m->add(m, update->op->has_ref_inputs ? "_FusedApply" : "_FusedResourceApply", &spec,
                out_by);
}

// Moves one op into the update's prologue. The new step comes first, because its op stood in front
// of those that are there already.
static leat_status_t take_step(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_node_t *update = leat_rewrite_root(m), *op = leat_rewrite_producer(m);
  leat_output_t args[MAX_STEPS];
  fused_t f = {.args = args};
  step_t step;
  const bool found = find_step(m, &step);
  LEAT_DCHECK(found);
  if (!found) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(m->arena, (size_t)update->input_count + 1, &f.inputs));
  if (is_fused(update)) {
    read_fused(m->side, update, &f);
  } else {
    read_plain(m->side, update, &f);
  }
  // A product has the gradient on the left, wherever it stood.
  f.sides[0] = leat_string_view_equals(op->op->name, "Mul") ? 0 : step.operand;
  f.prologue[0] = op->op->name;
  args[0] = op->inputs[1 - step.operand];
  ++f.steps;
  const int gradient = f.variables + f.scalars;
  f.inputs[gradient] = step.gradient;
  memcpy(&f.inputs[gradient + 1], args, (size_t)f.steps * sizeof *args);
  LEAT_RETURN_IF_ERROR(leat_rewrite_bypass(m, &step.way));
  return add_fused(m, &f, out_by);
}

const leat_rewrite_rule_t leat_update_rules[] = {
    {.name = "update_prologue",
     .phase = LEAT_REWRITE_PROLOGUE,
     .root = UPDATES(BY_REFERENCE) "|" UPDATES(BY_HANDLE) "|" ONLY_BY_HANDLE
             "|_FusedApply|_FusedResourceApply",
     .producer = "Mul|RealDiv|Minimum|Maximum",
     .input = gradient_of,
     .passes_reshapes = true,
     .has_effects = true,
     .applies = has_step,
     .make = take_step,
     .doc = "an update scales and clips its gradient by itself"},
    LEAT_REWRITE_RULES_END,
};
