// The op _FusedElementwise: its attributes, their checks and its shape function. The optimizer
// (optimize/fusion.c) fuses connected elementwise nodes into one such node, so that their
// intermediate results need not be written to memory. The attributes are parallel lists (one item
// per step, operand, shape or reduction), because a node has no nested attributes.
//
// Invariant: a program that leat_fused_program_read accepts can be run without further checks of
// its structure. Every operand is an input or an earlier step; every Reshape and BroadcastTo has
// one operand and a full shape; a reduction is a result of the node and no step's operand. Types
// are checked when the kernel is created, sizes when it runs.
#include "ops/math/fused.h"

#include "graph/inference/inference.h"
#include "ops/op_rows.h"

extern const leat_op_row_t leat_reduction_ops[];

static leat_status_t wrong(const char* field, int64_t value, const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "attribute %s is %lld, must be %s", field,
                          (long long)value, rule);
}

// Reads the list attribute |name|. |*inout_count| is the required length; with -1 it takes the
// list's.
static leat_status_t read_list(const leat_attr_t* attrs, int attr_count, const char* name,
                               int* inout_count, const void** out_items) {
  const leat_attr_value_t* value = leat_attr_find(attrs, attr_count, leat_string_view_from(name));
  const int count = value ? (int)value->count : 0;
  if (*inout_count >= 0 && count != *inout_count) {
    return wrong(name, count, "a list as long as those beside it");
  }
  *inout_count = count;
  *out_items = value ? value->items : NULL;
  return leat_ok_status();
}

bool leat_fused_step_reshapes(const leat_fused_program_t* program, int64_t step) {
  return leat_string_view_equal(program->ops[step], LEAT_OP_NAME_RESHAPE);
}

bool leat_fused_step_repeats(const leat_fused_program_t* program, int64_t step) {
  return leat_string_view_equal(program->ops[step], LEAT_OP_NAME_BROADCAST_TO);
}

static bool has_shape(const leat_fused_program_t* p, int64_t step) {
  return leat_fused_step_reshapes(p, step) || leat_fused_step_repeats(p, step);
}

bool leat_fused_step_reduces(const leat_fused_program_t* program, int64_t step) {
  for (const leat_op_row_t* row = leat_reduction_ops; row->name; ++row) {
    if (leat_string_view_equals(program->ops[step], row->name)) return true;
  }
  return false;
}

// Every Reshape and BroadcastTo has one operand and one full shape, and there are no other shapes.
static leat_status_t check_shapes(const leat_fused_program_t* p) {
  int shapes = 0;
  for (int s = 0; s < p->step_count; ++s) {
    if (!has_shape(p, s)) continue;
    if (p->arities[s] != 1) return wrong("arities", p->arities[s], "1 of a step with a shape");
    if (shapes >= p->shape_count || !leat_partial_shape_is_full(p->shapes[shapes])) {
      return wrong("shapes", shapes, "a known one for each step that has one");
    }
    ++shapes;
  }
  return shapes == p->shape_count
             ? leat_ok_status()
             : wrong("shapes", p->shape_count, "one for each step that has one");
}

static bool is_result(const leat_fused_program_t* p, int64_t step) {
  for (int i = 0; i < p->output_count; ++i) {
    if (p->results[i] == step) return true;
  }
  return false;
}

// Every reduction has one operand and at least one axis, is a result, and is nobody's operand.
static leat_status_t check_reductions(const leat_fused_program_t* p) {
  int count = 0;
  for (int s = 0; s < p->step_count; ++s) {
    if (!leat_fused_step_reduces(p, s)) continue;
    if (p->arities[s] != 1) return wrong("arities", p->arities[s], "1 of a reduction");
    if (!is_result(p, s)) return wrong("results", s, "there for a reduction");
    if (count >= p->reduction_count || p->axes[count] < 1) {
      return wrong("axes", count, "one or more for each reduction");
    }
    ++count;
  }
  if (count != p->reduction_count) return wrong("axes", count, "one for each reduction");
  for (int i = 0; i < p->operand_count; ++i) {
    if (p->operands[i] >= p->input_count &&
        leat_fused_step_reduces(p, p->operands[i] - p->input_count)) {
      return wrong("operands", p->operands[i], "no reduction");
    }
  }
  return leat_ok_status();
}

// The steps' operands are as many as the arities say, each an input or an earlier step.
static leat_status_t check_operands(const leat_fused_program_t* p) {
  int64_t operands = 0;
  if (p->step_count < 1 || p->step_count > LEAT_FUSED_MAX_STEPS) {
    return wrong("steps", p->step_count, "1 to 64 ops");
  }
  for (int s = 0; s < p->step_count; ++s) {
    if (p->arities[s] < 1 || p->arities[s] > LEAT_FUSED_MAX_OPERANDS) {
      return wrong("arities", p->arities[s], "1 to 3 operands");
    }
    for (int64_t k = 0; k < p->arities[s]; ++k, ++operands) {
      if (operands >= p->operand_count) return wrong("operands", operands, "one for each operand");
      const int64_t operand = p->operands[operands];
      if (operand < 0 || operand >= p->input_count + s) {
        return wrong("operands", operand, "an input or an earlier step");
      }
    }
  }
  return operands == p->operand_count ? leat_ok_status()
                                      : wrong("operands", operands, "one for each operand");
}

// Results are different steps, none of which is a Reshape.
static leat_status_t check_results(const leat_fused_program_t* p) {
  for (int i = 0; i < p->output_count; ++i) {
    if (p->results[i] < 0 || p->results[i] >= p->step_count ||
        leat_fused_step_reshapes(p, p->results[i])) {
      return wrong("results", p->results[i], "a step that computes");
    }
    for (int k = 0; k < i; ++k) {
      if (p->results[k] == p->results[i]) return wrong("results", p->results[i], "given once");
    }
  }
  return leat_ok_status();
}

static leat_status_t check(const leat_fused_program_t* p) {
  LEAT_RETURN_IF_ERROR(check_operands(p));
  LEAT_RETURN_IF_ERROR(check_results(p));
  LEAT_RETURN_IF_ERROR(check_shapes(p));
  return check_reductions(p);
}

leat_status_t leat_fused_program_read(const leat_attr_t* attrs, int attr_count, int input_count,
                                      leat_fused_program_t* out_program) {
  leat_fused_program_t* p = out_program;
  *p = (leat_fused_program_t){.input_count = input_count, .operand_count = -1, .output_count = -1};
  p->step_count = p->shape_count = p->reduction_count = -1;
  const struct {
    const char* name;
    int* count;
    const void** items;
  } lists[] = {
      {"steps", &p->step_count, (const void**)&p->ops},
      {"names", &p->step_count, (const void**)&p->names},
      {"types", &p->step_count, (const void**)&p->types},
      {"arities", &p->step_count, (const void**)&p->arities},
      {"operands", &p->operand_count, (const void**)&p->operands},
      {"results", &p->output_count, (const void**)&p->results},
      {"shapes", &p->shape_count, (const void**)&p->shapes},
      {"axes", &p->reduction_count, (const void**)&p->axes},
      {"keep_dims", &p->reduction_count, (const void**)&p->keep_dims},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(lists); ++i) {
    LEAT_RETURN_IF_ERROR(
        read_list(attrs, attr_count, lists[i].name, lists[i].count, lists[i].items));
  }
  return check(p);
}

// The shape of |x| without its last |axes| axes, or with 1 in their place.
static leat_status_t reduced_shape(leat_inference_t* c, leat_partial_shape_t x, int64_t axes,
                                   bool keep_dims, leat_partial_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  *out_shape = leat_partial_shape_unknown();
  if (x.rank < 0) return leat_ok_status();
  if (axes > x.rank) return wrong("axes", axes, "as many as the operand has");
  for (int d = 0; d < x.rank; ++d) dims[d] = d < x.rank - axes ? x.dims[d] : 1;
  return leat_inference_make(c, keep_dims ? x.rank : x.rank - (int)axes, dims, out_shape);
}

// Infers each step's shape in order: the stated one of a Reshape or BroadcastTo, else the shape to
// which the operands broadcast, less the reduced axes of a reduction.
static leat_status_t fused_shape(leat_inference_t* c) {
  leat_fused_program_t p;
  leat_partial_shape_t shapes[LEAT_FUSED_MAX_STEPS];
  LEAT_RETURN_IF_ERROR(
      leat_fused_program_read(c->node->attrs, c->node->attr_count, c->node->input_count, &p));
  if (p.output_count != c->node->output_count) {
    return wrong("results", p.output_count, "as many as Tout has types");
  }
  const int64_t* operand = p.operands;
  const leat_partial_shape_t* stated = p.shapes;
  int reductions = 0;
  for (int s = 0; s < p.step_count; ++s) {
    if (has_shape(&p, s)) {
      shapes[s] = *stated++;
      ++operand;
      continue;
    }
    for (int64_t k = 0; k < p.arities[s]; ++k, ++operand) {
      leat_partial_shape_t shape = *operand < p.input_count
                                       ? leat_inference_input(c, (int)*operand)
                                       : shapes[*operand - p.input_count];
      if (k > 0) LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, shapes[s], shape, &shape));
      shapes[s] = shape;
    }
    if (leat_fused_step_reduces(&p, s)) {
      const int i = reductions++;
      LEAT_RETURN_IF_ERROR(reduced_shape(c, shapes[s], p.axes[i], p.keep_dims[i], &shapes[s]));
    }
  }
  for (int i = 0; i < p.output_count; ++i) {
    leat_inference_set_output(c, i, shapes[p.results[i]]);
  }
  return leat_ok_status();
}

const leat_op_row_t leat_fused_ops[] = {
    {.name = "_FusedElementwise",
     .cost = LEAT_COST_FUNCTION,
     .inputs = "inputs: Tin",
     .outputs = "outputs: Tout",
     .attrs = "Tin: list(type) >= 1; Tout: list(type) >= 1; steps: list(string) >= 1; "
              "names: list(string) >= 1; types: list(type) >= 1; arities: list(int) >= 1; "
              "operands: list(int) >= 1; results: list(int) >= 1; "
              "shapes: list(shape) >= 0 = []; axes: list(int) >= 0 = []; "
              "keep_dims: list(bool) >= 0 = []",
     .shape = fused_shape,
     .doc = "Elementwise ops, one after the other, that read the inputs and each other; rows of "
            "what they give may be reduced."},
    LEAT_OP_ROWS_END,
};
