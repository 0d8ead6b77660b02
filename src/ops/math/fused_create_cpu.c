// Builds the program of a _FusedElementwise kernel from the node's attributes: which loop each step
// runs, in which block of the work area its pieces lie, and from which step on an input may be
// overwritten. The attributes may come from a graph that somebody wrote by hand, so every step's
// types are checked against its op's declaration as if it were a node of its own: no program can
// make a loop read memory that is not there.
//
// Blocks are assigned like registers: a block is taken from the step that writes it until the last
// step that reads it, and the lowest free one is used next. A step may write over a block that it
// reads last when the elements have one size, because a loop may write over its inputs. The program
// is immutable after creation; fused_cpu.c interprets it.
#include <string.h>

#include "base/checked.h"
#include "ops/family.h"
#include "ops/math/fused_plan_cpu.h"

// The op families whose kernels are elementwise or reduce: only these can be steps.
#define SOURCES(X)                                                                          \
  X(binary) X(cast) X(compare) X(complex) X(reduction) X(relu) X(select) X(special) X(unary)
#define MAX_ATTRS 8  // attributes of an op at most
SOURCES(LEAT_OP_TABLE_DECLARE)
SOURCES(LEAT_KERNEL_TABLE_DECLARE)
static const leat_op_row_t* const kOps[] = {SOURCES(LEAT_OP_TABLE)};
static const leat_kernel_row_t* const kKernels[] = {SOURCES(LEAT_KERNEL_TABLE)};

static bool is_step(const leat_kernel_row_t* row) {
  return (row->access && row->access < LEAT_ACCESS_SUM) ||
         row->access == LEAT_ACCESS_REDUCTION;
}

// Finds the kernel of a step by its op; NULL if there is none. Several kernels of one op differ in
// their type constraints, which types_fit replaces, and in |create| only by type, so that the first
// one serves.
static const leat_kernel_row_t* find_kernel(leat_string_view_t op) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kKernels); ++i) {
    for (const leat_kernel_row_t* row = kKernels[i]; row->op; ++row) {
      if (is_step(row) && leat_string_view_equals(op, row->op)) return row;
    }
  }
  return NULL;
}

static const leat_op_row_t* find_op(leat_string_view_t op) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kOps); ++i) {
    for (const leat_op_row_t* row = kOps[i]; row->name; ++row) {
      if (leat_string_view_equals(op, row->name)) return row;
    }
  }
  return NULL;
}

static leat_status_t unfit(const leat_kernel_creation_t* c, leat_string_view_t op,
                           const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (%s): step %.*s is %s, must be an "
                          "elementwise op with the operands and types that it declares",
                          LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op, LEAT_SV_ARG(op),
                          what);
}

// true when |dtype| fits |argument|. The first argument that uses a type attribute fixes its value
// in |attr_types|; all others must agree.
static bool admits(const leat_op_t* op, const leat_op_argument_t* argument, int dtype,
                   uint8_t* attr_types) {
  if (argument->source == LEAT_TYPE_FIXED) return (int)argument->dtype == dtype;
  const int attr = argument->type_attr;
  if (argument->source != LEAT_TYPE_FROM_ATTR || attr >= MAX_ATTRS) return false;
  const leat_dtype_set_t allowed = op->attrs[attr].allowed_types;
  if (!attr_types[attr]) attr_types[attr] = (uint8_t)dtype;
  return attr_types[attr] == dtype && (!allowed || leat_dtype_in(dtype, allowed));
}

static bool types_fit(const leat_fused_step_t* step, const leat_op_t* op, uint8_t* attr_types) {
  for (int k = 0; k < op->input_count; ++k) {
    if (!admits(op, &op->inputs[k], step->input_types[k], attr_types)) return false;
  }
  return admits(op, &op->outputs[0], step->output_type, attr_types) &&
         !leat_dtype_in(step->output_type, LEAT_DTYPES_OBJECT);
}

// Creates the kernel of a step as if it were a node with the types |attr_types|, with |keep_dims|
// where the op has that attribute, and defaults for all other attributes.
static leat_status_t create_kernel(const leat_kernel_creation_t* c, const uint8_t* attr_types,
                                   bool keep_dims, leat_arena_t* arena, leat_fused_step_t* step) {
  const leat_op_t* op = step->kernel.op;
  leat_kernel_creation_t creation = *c;
  leat_attr_t* attrs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)op->attr_count + 1, &attrs));
  for (int i = 0; i < op->attr_count; ++i) {
    attrs[i] = (leat_attr_t){op->attrs[i].name, op->attrs[i].default_value};
    if (op->attrs[i].kind == LEAT_ATTR_TYPE) {
      attrs[i].value = (leat_attr_value_t){.kind = LEAT_ATTR_TYPE, .type = attr_types[i]};
    }
    if (leat_string_view_equals(attrs[i].name, "keep_dims")) attrs[i].value.b = keep_dims;
  }
  creation.kernel = &step->kernel;
  creation.attrs = attrs;
  creation.attr_count = op->attr_count;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate(arena, step->kernel.row->state_bytes, &step->kernel.state));
  memset(step->kernel.state, 0, step->kernel.row->state_bytes);
  if (step->kernel.row->access == LEAT_ACCESS_REDUCTION) {
    step->reduction = step->kernel.state;
  } else {
    step->elementwise = step->kernel.state;
  }
  return step->kernel.row->create(&creation, step->kernel.state);
}

static uint8_t operand_type(const leat_kernel_creation_t* c, const leat_fused_t* f,
                            int64_t operand) {
  return operand < f->input_count ? c->kernel->input_types[operand]
                                  : f->steps[operand - f->input_count].output_type;
}

// Creates an elementwise or reduction step. |keep_dims| is a reduction's; its axes are an attribute
// of the program, not an operand, but the op declares an input for them, of int32 here.
static leat_status_t create_step(leat_kernel_creation_t* c, const leat_fused_program_t* p, int s,
                                 const int64_t* operands, bool keep_dims, leat_fused_t* f) {
  leat_fused_step_t* step = &f->steps[s];
  leat_op_t* op;
  const leat_op_row_t* op_row = find_op(p->ops[s]);
  const leat_kernel_row_t* row = find_kernel(p->ops[s]);
  if (!op_row || !row) return unfit(c, p->ops[s], "no such op");
  LEAT_RETURN_IF_ERROR(leat_op_parse(op_row, &f->arena, &op));
  const bool reduces = row->access == LEAT_ACCESS_REDUCTION;
  const int arity = op->input_count - reduces;
  if (arity != p->arities[s] || op->output_count != 1) {
    return unfit(c, p->ops[s], "given another number of operands");
  }
  for (int k = 0; k < arity; ++k) {
    step->operands[k] = (int16_t)operands[k];
    step->input_types[k] = operand_type(c, f, operands[k]);
  }
  if (reduces) step->input_types[arity] = LEAT_DTYPE_INT32;
  step->output_type = (uint8_t)p->types[s];
  uint8_t attr_types[MAX_ATTRS] = {0};
  if (!types_fit(step, op, attr_types)) return unfit(c, p->ops[s], "given other types");
  step->kernel = (leat_kernel_t){.row = row,
                                 .op = op,
                                 .device = c->kernel->device,
                                 .input_types = step->input_types,
                                 .output_types = &step->output_type,
                                 .input_count = arity,
                                 .output_count = 1,
                                 .contract = op_row->contract};
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&f->arena, p->names[s], &step->kernel.node_name));
  return create_kernel(c, attr_types, keep_dims, &f->arena, step);
}

static leat_status_t create_reshape(leat_kernel_creation_t* c, const leat_fused_program_t* p, int s,
                                    int64_t operand, leat_partial_shape_t shape, leat_fused_t* f) {
  leat_fused_step_t* step = &f->steps[s];
  step->base = (int16_t)leat_fused_base(f, (int)operand);
  step->output_type = operand_type(c, f, operand);
  if (p->types[s] != step->output_type) return unfit(c, p->ops[s], "given another type");
  return leat_shape_create(shape.rank, shape.dims, &step->shape);
}

// Creates a BroadcastTo step as if there were an elementwise kernel without a loop.
static leat_status_t create_repeat(leat_kernel_creation_t* c, const leat_fused_program_t* p, int s,
                                   int64_t operand, leat_partial_shape_t shape, leat_fused_t* f) {
  leat_fused_step_t* step = &f->steps[s];
  leat_elementwise_t* elementwise;
  LEAT_RETURN_IF_ERROR(create_reshape(c, p, s, operand, shape, f));
  if (leat_dtype_in(step->output_type, LEAT_DTYPES_OBJECT)) {
    return unfit(c, p->ops[s], "given objects");
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&f->arena, 1, &elementwise));
  const uint8_t size = (uint8_t)leat_dtype_size(step->output_type);
  *elementwise = (leat_elementwise_t){
      .cost_ns = 0.2f, .input_count = 1, .input_size = {size}, .output_size = size};
  step->elementwise = elementwise;
  step->base = (int16_t)(f->input_count + s);
  step->operands[0] = (int16_t)operand;
  step->kernel = *c->kernel;
  step->kernel.state = NULL;
  step->kernel.input_count = step->kernel.output_count = 1;
  return leat_arena_copy_string(&f->arena, p->names[s], &step->kernel.node_name);
}

// Finds the last step that reads each value (the inputs, then the steps' results); -1: none does.
static void find_last_readers(const leat_fused_t* f, int16_t* out_last) {
  for (int v = 0; v < f->input_count + f->step_count; ++v) out_last[v] = -1;
  for (int s = 0; s < f->step_count; ++s) {
    const leat_fused_step_t* step = &f->steps[s];
    for (int k = 0; k < step->kernel.input_count; ++k) {
      out_last[leat_fused_base(f, step->operands[k])] = (int16_t)s;
    }
  }
}

// Gives each step that is no output a block, free until the last step that reads it has run.
// Invariant: bit i of |taken| is set while a later step reads block i.
static void assign_blocks(leat_fused_t* f, const int16_t* last_of_steps) {
  uint64_t taken = 0;
  for (int s = 0; s < f->step_count; ++s) {
    leat_fused_step_t* step = &f->steps[s];
    uint64_t ended = 0, reusable = 0;
    const bool takes_block = step->elementwise && step->output < 0;
    for (int k = 0; k < step->kernel.input_count; ++k) {
      const int from = leat_fused_base(f, step->operands[k]) - f->input_count;
      if (from < 0 || f->steps[from].output >= 0 || last_of_steps[from] != s) continue;
      const uint64_t bit = UINT64_C(1) << f->steps[from].block;
      ended |= bit;
      if (takes_block &&
          f->steps[from].elementwise->output_size == step->elementwise->output_size) {
        reusable |= bit;
      }
    }
    if (takes_block) {
      const uint64_t block = ~(taken & ~reusable);
      step->block = (int16_t)__builtin_ctzll(block);
      f->block_count = LEAT_MAX(f->block_count, step->block + 1);
    }
    taken &= ~ended;
    if (takes_block && last_of_steps[s] >= 0) taken |= UINT64_C(1) << step->block;
  }
}

// Marks the inputs that no step after |s| reads, of the first 64.
static void find_forwardable(leat_fused_t* f, const int16_t* last_of_inputs) {
  for (int s = 0; s < f->step_count; ++s) {
    for (int i = 0; i < LEAT_MIN(f->input_count, 64); ++i) {
      if (last_of_inputs[i] <= s) f->steps[s].forwardable |= UINT64_C(1) << i;
    }
  }
}

static int64_t largest_element(const leat_elementwise_t* e) {
  int64_t bytes = e->output_size;
  for (int k = 0; k < e->input_count; ++k) bytes = LEAT_MAX(bytes, e->input_size[k]);
  return bytes;
}

// Builds the steps in order: a step reads only inputs and earlier steps, which have types by then.
static leat_status_t create_steps(leat_kernel_creation_t* c, leat_fused_t* f) {
  leat_fused_program_t p;
  LEAT_RETURN_IF_ERROR(
      leat_fused_program_read(c->attrs, c->attr_count, c->kernel->input_count, &p));
  if (p.output_count != c->kernel->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "attribute results has %d items, must be %d",
                            p.output_count, c->kernel->output_count);
  }
  f->input_count = p.input_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&f->arena, (size_t)p.step_count, &f->steps));
  memset(f->steps, 0, (size_t)p.step_count * sizeof *f->steps);
  f->step_count = p.step_count;
  const int64_t* operands = p.operands;
  int shapes = 0, reductions = 0;
  for (int s = 0; s < p.step_count; operands += p.arities[s++]) {
    leat_fused_step_t* step = &f->steps[s];
    step->output = -1;
    step->base = (int16_t)(p.input_count + s);
    if (leat_fused_step_reshapes(&p, s)) {
      LEAT_RETURN_IF_ERROR(create_reshape(c, &p, s, *operands, p.shapes[shapes++], f));
    } else if (leat_fused_step_repeats(&p, s)) {
      LEAT_RETURN_IF_ERROR(create_repeat(c, &p, s, *operands, p.shapes[shapes++], f));
    } else if (leat_fused_step_reduces(&p, s)) {
      step->axes = p.axes[reductions];
      LEAT_RETURN_IF_ERROR(create_step(c, &p, s, operands, p.keep_dims[reductions++], f));
    } else {
      LEAT_RETURN_IF_ERROR(create_step(c, &p, s, operands, false, f));
    }
    if (step->elementwise) {
      f->element_bytes = LEAT_MAX(f->element_bytes, largest_element(step->elementwise));
    }
  }
  for (int i = 0; i < p.output_count; ++i) {
    if (p.types[p.results[i]] != c->kernel->output_types[i]) {
      return unfit(c, p.ops[p.results[i]], "an output of another type");
    }
    f->steps[p.results[i]].output = (int16_t)i;
  }
  return leat_ok_status();
}

leat_status_t leat_fused_create(leat_kernel_creation_t* c, void* state) {
  leat_fused_t* f = state;
  int16_t* last;
  leat_arena_initialize(c->allocator, 0, &f->arena);
  LEAT_RETURN_IF_ERROR(create_steps(c, f));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&f->arena, (size_t)(f->input_count + f->step_count), &last));
  find_last_readers(f, last);
  assign_blocks(f, last + f->input_count);
  find_forwardable(f, last);
  return leat_ok_status();
}

void leat_fused_destroy(void* state) {
  leat_fused_t* f = state;
  leat_fused_plans_free(&f->plans);
  for (int s = 0; s < f->step_count; ++s) {
    const leat_kernel_t* kernel = &f->steps[s].kernel;
    if (kernel->state && kernel->row->destroy) kernel->row->destroy(kernel->state);
    leat_shape_release(&f->steps[s].shape);
  }
  leat_arena_deinitialize(&f->arena);
}
