// Plans a program of _FusedElementwise for the shapes of its inputs; fused_plan_cpu.h says what a
// plan is, and fused_cpu.c runs it. The plan is made in this order, because each decision needs the
// one before it:
//
//   shapes of the steps ─▶ which steps are tiled ─▶ how their operands are read
//       ─▶ blocks of the work area ─▶ length of a tile ─▶ which reductions are done tile by tile
//
// Invariant: a plan does not change once it is made, so runs on several threads share it. A kernel
// keeps the plans for the last LEAT_FUSED_MAX_PLANS sets of shapes, and a step whose shapes are
// known plans and allocates nothing. The kernel's spinlock is held only while a plan is looked up
// or put among the kept ones, never while one is made. When there is no place, a plan that no run
// uses is replaced; when all are in use, the new plan serves its run alone and is freed after it.
#include "ops/math/fused_plan_cpu.h"

#include <string.h>

#include "base/checked.h"

#define MAX_TILE 4096
// The bytes of a tile's blocks. The elements that the program reads and writes in memory need as
// much again; with more, a first-level cache of 48 KiB would lose what the next step reads.
#define TILE_BYTES (20 << 10)
#define MAX_ROW 4096  // elements of a row that is repeated into blocks; longer ones are gathered
#define MAX_LAID 24   // operands that may be repeated into blocks of their own

// A plan in the making.
typedef struct making_s {
  leat_kernel_context_t* context;
  const leat_fused_t* fused;
  leat_fused_plan_t* plan;
  struct {
    int operand;  // of the program: an input, or |input_count| + a step
    leat_fused_operand_t place;
  } laid[MAX_LAID];
  int laid_count;
} making_t;

// The shape and dtype of an operand. A step's result is a tensor without data while planning.
static const leat_tensor_t* tensor_of(const making_t* m, int operand) {
  const int inputs = m->fused->input_count;
  return operand < inputs ? leat_kernel_input(m->context, operand)
                          : &m->plan->steps[operand - inputs].result;
}

// ---- Shapes -------------------------------------------------------------------------------------

// Computes the shapes of all steps, the number of elements of the largest, and which steps are
// tiled: those that compute and give that many elements.
static leat_status_t find_shapes(making_t* m) {
  const leat_fused_t* f = m->fused;
  leat_fused_plan_t* plan = m->plan;
  bool any_empty = false;
  for (int s = 0; s < f->step_count; ++s) {
    const leat_fused_step_t* step = &f->steps[s];
    const leat_tensor_t* operands[LEAT_ELEMENTWISE_MAX_INPUTS];
    leat_tensor_t* result = &plan->steps[s].result;
    if (!step->kernel.input_count) operands[0] = tensor_of(m, step->base);  // it reshapes
    for (int k = 0; k < step->kernel.input_count; ++k) {
      operands[k] = tensor_of(m, step->operands[k]);
    }
    LEAT_RETURN_IF_ERROR(leat_fused_step_shape(m->context, step, operands, &result->shape));
    result->dtype = step->output_type;
    if (step->reduction) continue;
    plan->count = LEAT_MAX(plan->count, result->shape.element_count);
    any_empty |= result->shape.element_count == 0;
  }
  // Broadcasting with an empty tensor is the only case in which a step gives fewer elements than
  // one of its operands has, so a program with an empty result has no tiled steps at all.
  for (int s = 0; s < f->step_count; ++s) {
    const leat_fused_step_t* step = &f->steps[s];
    plan->steps[s].is_tiled = !any_empty && !step->reduction && step->base >= f->input_count &&
                              plan->steps[s].result.shape.element_count == plan->count;
    plan->any_tiled |= plan->steps[s].is_tiled;
  }
  return leat_ok_status();
}

// ---- Operands -----------------------------------------------------------------------------------

// Whether |x| is a row: broadcast to |output|, its elements simply repeat one after the other,
// because its last dimensions are those of |output| and all others have size 1.
static bool is_row(const leat_shape_t* x, const leat_shape_t* output) {
  int64_t count = 1;
  if (x->element_count > MAX_ROW) return false;
  for (int d = 1; count < x->element_count; ++d) {
    if (leat_shape_dim(x, x->rank - d) != leat_shape_dim(output, output->rank - d)) return false;
    count *= leat_shape_dim(x, x->rank - d);
  }
  return true;
}

// Chooses the blocks into which a scalar or row is repeated; those of an earlier step that has the
// same operand, if there is one. A row takes two adjacent blocks, so that a tile may begin anywhere
// in it. False when MAX_LAID operands have blocks already.
static bool choose_block(making_t* m, int operand, leat_fused_operand_t* out_place) {
  leat_fused_plan_t* plan = m->plan;
  for (int i = 0; i < m->laid_count; ++i) {
    if (m->laid[i].operand != operand) continue;
    *out_place = m->laid[i].place;
    out_place->is_laid = true;
    return true;
  }
  if (m->laid_count == MAX_LAID) return false;
  const bool is_scalar = tensor_of(m, operand)->shape.element_count == 1;
  out_place->source = is_scalar ? LEAT_FUSED_SCALAR : LEAT_FUSED_ROW;
  out_place->block = plan->block_count;
  plan->block_count += is_scalar ? 1 : 2;
  m->laid[m->laid_count].operand = operand;
  m->laid[m->laid_count++].place = *out_place;
  return true;
}

// Chooses how operand |k| of the tiled step |s| is read.
static void choose_source(making_t* m, int s, int k) {
  const leat_fused_step_t* step = &m->fused->steps[s];
  const int from = step->operands[k] - m->fused->input_count;
  leat_fused_plan_t* plan = m->plan;
  leat_fused_operand_t* operand = &plan->steps[s].operands[k];
  const leat_shape_t* shape = &tensor_of(m, step->operands[k])->shape;
  if (leat_fused_repeats(step->elementwise)) {
    operand->source = LEAT_FUSED_GATHERED;  // BroadcastTo: straight into the step's result
  } else if (from >= 0 && plan->steps[from].is_tiled) {
    operand->source = LEAT_FUSED_STEP;
  } else if (shape->element_count == plan->count) {
    operand->source = LEAT_FUSED_WHOLE;
  } else if (!is_row(shape, &plan->steps[s].result.shape) ||
             !choose_block(m, step->operands[k], operand)) {
    operand->source = LEAT_FUSED_GATHERED;
    plan->gathered_count = LEAT_MAX(plan->gathered_count, k + 1);
  }
}

// Prepares the broadcast by which step |s| copies elements of its operands into blocks.
static leat_status_t plan_gather(making_t* m, int s) {
  const leat_fused_step_t* step = &m->fused->steps[s];
  leat_fused_plan_step_t* planned = &m->plan->steps[s];
  const leat_shape_t* shapes[LEAT_ELEMENTWISE_MAX_INPUTS];
  const int count = step->kernel.input_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&m->plan->arena, 1, &planned->gather));
  for (int k = 0; k < count; ++k) shapes[k] = &tensor_of(m, step->operands[k])->shape;
  leat_broadcast_plan(shapes, count, &planned->result.shape, planned->gather);
  return leat_ok_status();
}

// Sets the length of a tile whose blocks take |bytes|: a multiple of 64 elements, so that the
// pieces of each tile begin at a cache line.
static void set_tile(making_t* m, int64_t bytes) {
  leat_fused_plan_t* plan = m->plan;
  LEAT_DCHECK(bytes <= LEAT_FUSED_WORK_BYTES);
  plan->block_bytes = bytes / plan->block_count & ~INT64_C(63);
  plan->tile = plan->block_bytes / m->fused->element_bytes;
  plan->tile = LEAT_MIN(plan->tile < 64 ? plan->tile : plan->tile & ~INT64_C(63), MAX_TILE);
}

// Chooses how the operands of the tiled steps are read, and from the number of blocks the length of
// a tile.
static leat_status_t plan_tiles(making_t* m) {
  const leat_fused_t* f = m->fused;
  leat_fused_plan_t* plan = m->plan;
  plan->block_count = f->block_count;
  for (int s = 0; s < f->step_count; ++s) {
    bool does_gather = false;
    for (int k = 0; plan->steps[s].is_tiled && k < f->steps[s].kernel.input_count; ++k) {
      const leat_fused_operand_t* operand = &plan->steps[s].operands[k];
      choose_source(m, s, k);
      does_gather |= operand->source >= LEAT_FUSED_ROW && !operand->is_laid;
    }
    if (does_gather) LEAT_RETURN_IF_ERROR(plan_gather(m, s));
  }
  plan->block_count = LEAT_MAX(plan->block_count + plan->gathered_count, 1);
  set_tile(m, TILE_BYTES);
  return leat_ok_status();
}

// ---- Rows that are reduced ----------------------------------------------------------------------

// Whether step |s| reduces the result of a tiled step.
static bool reduces_tiles(const making_t* m, int s) {
  const leat_fused_step_t* step = &m->fused->steps[s];
  const int from = step->operands[0] - m->fused->input_count;
  return step->reduction && from >= 0 && m->plan->steps[from].is_tiled;
}

// Whether the reduction can also reduce a row in parts.
static bool resumes(const making_t* m, int s) {
  return reduces_tiles(m, s) && m->fused->steps[s].reduction->reducer.resumes;
}

// The elements of the fewest rows whose total is a multiple of 16, if that is at most |most|: then
// the pieces of every tile begin at a cache line again.
static int64_t whole_rows(int64_t row, int64_t most) {
  while (row % 16 && 2 * row <= most) row *= 2;
  return row;
}

// Chooses the rows that are reduced tile by tile: the longest that fit a tile or, when none does,
// the longest that can be reduced in parts. Both at once would need tiles of two lengths.
static void choose_rows(making_t* m) {
  leat_fused_plan_t* plan = m->plan;
  bool is_short = false;
  for (int s = 0; s < m->fused->step_count; ++s) {
    is_short |= reduces_tiles(m, s) && leat_fused_plan_terms(plan, s) > plan->tile;
  }
  // A row that is reduced whole is worth a longer tile, which then misses the first-level cache.
  if (is_short) set_tile(m, LEAT_FUSED_WORK_BYTES);
  const int64_t tile = plan->tile - plan->tile % LEAT_REDUCTION_PIECE;
  for (int s = 0; s < m->fused->step_count; ++s) {
    if (!reduces_tiles(m, s)) continue;
    const int64_t terms = leat_fused_plan_terms(plan, s);
    if (terms <= plan->tile) plan->reduced_row = LEAT_MAX(plan->reduced_row, terms);
    if (terms > plan->tile && tile && resumes(m, s)) {
      plan->long_row = LEAT_MAX(plan->long_row, terms);
    }
  }
  if (plan->reduced_row > 1) plan->long_row = 0;
  plan->tile =
      plan->long_row ? tile : plan->tile - plan->tile % whole_rows(plan->reduced_row, plan->tile);
}

// Decides which reductions are done tile by tile, and has the operands of the others written to
// memory.
static void plan_rows(making_t* m) {
  const leat_fused_t* f = m->fused;
  leat_fused_plan_t* plan = m->plan;
  choose_rows(m);
  for (int s = 0; s < f->step_count; ++s) {
    if (!reduces_tiles(m, s)) continue;
    const int64_t terms = leat_fused_plan_terms(plan, s);
    plan->steps[s].is_tiled = plan->long_row ? terms == plan->long_row && resumes(m, s)
                                             : terms > 1 && plan->reduced_row % terms == 0;
    const int base = leat_fused_base(f, f->steps[s].operands[0]) - f->input_count;
    if (!plan->steps[s].is_tiled && f->steps[base].output < 0) plan->steps[base].is_kept = true;
  }
}

// Sums the time for one element, from which the thread pool computes the size of a shard.
static void add_costs(making_t* m) {
  for (int s = 0; s < m->fused->step_count; ++s) {
    const leat_fused_step_t* step = &m->fused->steps[s];
    if (!m->plan->steps[s].is_tiled) continue;
    if (step->elementwise) m->plan->cost_ns += (double)step->elementwise->cost_ns;
    if (step->reduction) m->plan->cost_ns += LEAT_REDUCTION_COST_NS;
  }
}

// ---- The plans of a kernel ----------------------------------------------------------------------

static void free_plan(leat_fused_plan_t* plan) {
  const leat_fused_t* f = plan->fused;
  leat_allocator_t* allocator = plan->arena.allocator;
  for (int i = 0; plan->inputs && i < f->input_count; ++i) {
    leat_shape_release((leat_shape_t*)&plan->inputs[i]);
  }
  for (int s = 0; plan->steps && s < f->step_count; ++s) {
    leat_shape_release(&plan->steps[s].result.shape);
  }
  leat_arena_deinitialize(&plan->arena);
  leat_allocator_free(allocator, plan);
}

static leat_status_t fill_plan(making_t* m) {
  const leat_fused_t* f = m->fused;
  leat_fused_plan_t* plan = m->plan;
  leat_shape_t* inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&plan->arena, (size_t)f->input_count + 1, &inputs));
  for (int i = 0; i < f->input_count; ++i) {
    inputs[i] = leat_shape_retain(&leat_kernel_input(m->context, i)->shape);
  }
  plan->inputs = inputs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&plan->arena, (size_t)f->step_count, &plan->steps));
  LEAT_RETURN_IF_ERROR(find_shapes(m));
  if (!plan->any_tiled) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(plan_tiles(m));
  plan_rows(m);
  add_costs(m);
  return leat_ok_status();
}

static leat_status_t make_plan(leat_kernel_context_t* c, leat_fused_plan_t** out_plan) {
  const leat_fused_t* f = leat_kernel_state(c);
  leat_allocator_t* allocator = f->arena.allocator;
  making_t m = {.context = c, .fused = f};
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &m.plan));
  leat_arena_initialize(allocator, 4096, &m.plan->arena);
  m.plan->fused = f;
  m.plan->reduced_row = 1;
  leat_status_t status = fill_plan(&m);
  if (status) {
    free_plan(m.plan);
    return status;
  }
  *out_plan = m.plan;
  return status;
}

// Whether |plan| was made for the shapes of the inputs of |c|.
static bool fits(const leat_fused_plan_t* plan, const leat_kernel_context_t* c) {
  for (int i = 0; i < plan->fused->input_count; ++i) {
    if (!leat_shape_equal(&plan->inputs[i], &leat_kernel_input(c, i)->shape)) return false;
  }
  return true;
}

// Puts |plan| among the kernel's plans, in an empty place or in that of a plan without users, which
// is returned for the caller to free. When every place is in use, |plan| stays out.
static leat_fused_plan_t* share_plan(leat_fused_plans_t* plans, leat_fused_plan_t* plan) {
  leat_fused_plan_t* old = NULL;
  leat_spinlock_lock(&plans->lock);
  for (int tries = 0; tries < LEAT_FUSED_MAX_PLANS && !plan->is_shared; ++tries) {
    const int at = plans->oldest++ % LEAT_FUSED_MAX_PLANS;
    old = plans->items[at];
    if (old && atomic_load_explicit(&old->users, memory_order_acquire)) continue;
    plans->items[at] = plan;
    plan->is_shared = true;
  }
  leat_spinlock_unlock(&plans->lock);
  return plan->is_shared ? old : NULL;
}

leat_status_t leat_fused_plan_take(leat_kernel_context_t* c, const leat_fused_plan_t** out_plan) {
  leat_fused_t* f = leat_kernel_state(c);
  leat_fused_plans_t* plans = &f->plans;
  leat_fused_plan_t* plan = NULL;
  leat_spinlock_lock(&plans->lock);
  for (int i = 0; i < LEAT_FUSED_MAX_PLANS && plans->items[i]; ++i) {
    if (!fits(plans->items[i], c)) continue;
    plan = plans->items[i];
    atomic_fetch_add_explicit(&plan->users, 1, memory_order_relaxed);
    break;
  }
  leat_spinlock_unlock(&plans->lock);
  if (LEAT_UNLIKELY(!plan)) {
    LEAT_RETURN_IF_ERROR(make_plan(c, &plan));
    atomic_init(&plan->users, 1);
    leat_fused_plan_t* old = share_plan(plans, plan);
    if (old) free_plan(old);
  }
  *out_plan = plan;
  return leat_ok_status();
}

void leat_fused_plan_return(const leat_fused_plan_t* plan) {
  leat_fused_plan_t* own = (leat_fused_plan_t*)plan;
  if (LEAT_UNLIKELY(!own->is_shared)) {
    free_plan(own);
    return;
  }
  // Release, so that all reads of the plan by this run come before its freeing by a thread that has
  // seen no users (with acquire, in share_plan).
  atomic_fetch_sub_explicit(&own->users, 1, memory_order_release);
}

void leat_fused_plans_free(leat_fused_plans_t* plans) {
  for (int i = 0; i < LEAT_FUSED_MAX_PLANS; ++i) {
    if (plans->items[i]) free_plan(plans->items[i]);
  }
}
