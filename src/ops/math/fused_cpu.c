// CPU kernel of _FusedElementwise: it interprets a program of elementwise steps and reductions
// (fused.h) over tiles. A tile is a stretch of consecutive elements, short enough for all
// intermediate results to stay in the first-level cache. All steps run over the first tile, then
// all over the second, and so on, so that an intermediate result is written to the cache and read
// from it, and only the outputs of the node go to memory:
//
//   x ─┬─▶ Mul ─▶ [block] ─▶ Exp ─▶ y      [block]: in the work area, on the stack of the shard
//   s ─┘ (repeated)
//
// Which steps run by tiles, how long a tile is and where operands come from is decided in a plan
// (fused_plan_cpu.c), which depends on the shapes alone. A run has three phases:
//
// - Steps that give fewer elements than the largest one (scalars, usually) run whole, before the
//   tiles. They cannot depend on a tiled step, because a step gives at least as many elements as
//   each of its operands.
// - Tiled steps run, in shards on several threads. A reduction of whole rows that fit a tile takes
//   part; a longer row is reduced in parts of a fixed length, whose accumulators are combined in
//   order at the end, so that a result does not depend on the number of threads.
// - The other reductions run afterwards, over operands that the tiled steps have written to memory.
//
// A fault such as an integer division by zero does not stop the loops. It is noted with its step,
// and the run then fails with the name of the node that this step was before fusion.
#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/math/elementwise_cpu.h"
#include "ops/math/fused_plan_cpu.h"

#define MAX_OPERANDS LEAT_ELEMENTWISE_MAX_INPUTS

typedef struct run_s {
  leat_kernel_context_t* context;
  const leat_fused_t* fused;
  const leat_fused_plan_t* plan;
  // The result of each step: an output of the node, an item of |own|, or, for a step whose result
  // exists only tile by tile, the plan's tensor, which has a shape but no data.
  const leat_tensor_t* values[LEAT_FUSED_MAX_STEPS];
  // Temporary tensors: results of steps that run whole or that a later reduction reads from memory,
  // reshaped views, and the accumulators of reductions whose rows are reduced in parts.
  leat_tensor_t own[LEAT_FUSED_MAX_STEPS];
  _Atomic(int) fault;  // of the last step that had one: (step + 1) << 8 | its faults; 0: none
} run_t;

// The tensor of a program's operand: an input of the node, or the result of a step.
static const leat_tensor_t* value_of(const run_t* r, int operand) {
  const int inputs = r->fused->input_count;
  return operand < inputs ? leat_kernel_input(r->context, operand) : r->values[operand - inputs];
}

static const leat_tensor_t* operand_tensor(const run_t* r, const leat_fused_step_t* step, int k) {
  return value_of(r, step->operands[k]);
}

// ---- Memory -------------------------------------------------------------------------------------

// Allocates a temporary tensor for the result of step |s|.
static leat_status_t allocate_own(run_t* r, int s) {
  const leat_tensor_t* result = &r->plan->steps[s].result;
  r->values[s] = &r->own[s];
  return leat_kernel_allocate_temporary(r->context, result->dtype, &result->shape, &r->own[s]);
}

// Allocates one accumulator for each part of each row that reduction |s| reduces in parts.
static leat_status_t allocate_partials(run_t* r, int s) {
  const int64_t count =
      leat_fused_plan_partials(r->plan) * r->plan->steps[s].result.shape.element_count;
  const leat_shape_t shape =
      leat_shape_vector(count * r->fused->steps[s].reduction->reducer.accumulator_bytes);
  return leat_kernel_allocate_temporary(r->context, LEAT_DTYPE_UINT8, &shape, &r->own[s]);
}

// Gives every step the memory that the plan says, before any step runs.
static leat_status_t allocate(run_t* r) {
  const leat_fused_t* f = r->fused;
  for (int s = 0; s < f->step_count; ++s) {
    const leat_fused_step_t* step = &f->steps[s];
    const leat_fused_plan_step_t* planned = &r->plan->steps[s];
    leat_tensor_t* tensor;
    r->values[s] = &planned->result;
    if (step->output >= 0) {
      // A step that runs whole must not overwrite an input, since it runs before the tiled steps,
      // which may read that input although they come earlier in the program.
      const bool may_forward = planned->is_tiled && !step->reduction;
      LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(
          r->context, may_forward ? step->forwardable : 0, step->output, &planned->result.shape,
          &tensor));
      r->values[s] = tensor;
    } else if (planned->is_kept || (!planned->is_tiled && step->elementwise)) {
      LEAT_RETURN_IF_ERROR(allocate_own(r, s));
    }
    if (planned->is_tiled && step->reduction && r->plan->long_row) {
      LEAT_RETURN_IF_ERROR(allocate_partials(r, s));
    }
  }
  return leat_ok_status();
}

// Makes the result of a Reshape: the same bytes under the step's shape.
static leat_status_t share_reshaped(run_t* r, int s) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  r->values[s] = &r->own[s];
  return leat_tensor_reshape(value_of(r, step->base), &step->shape, &r->own[s]);
}

// Runs a BroadcastTo step whole.
static void repeat_whole(const run_t* r, int s) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  const leat_tensor_t *operand = operand_tensor(r, step, 0), *target = r->values[s];
  const leat_shape_t* shape = &operand->shape;
  leat_broadcast_t plan;
  if (!target->shape.element_count) return;
  leat_broadcast_plan(&shape, 1, &target->shape, &plan);
  leat_elementwise_gather(step->elementwise, &plan, 0, operand->data, 0,
                          target->shape.element_count, target->data);
}

// Runs a reduction whole, over an operand that lies in memory.
static leat_status_t reduce(const run_t* r, int s) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  const leat_shape_t* shape = &operand_tensor(r, step, 0)->shape;
  const int base = leat_fused_base(r->fused, step->operands[0]);
  leat_kernel_context_t c = leat_fused_step_context(r->context, step);
  bool reduced[LEAT_SHAPE_MAX_RANK];
  leat_tensor_t input;
  LEAT_RETURN_IF_ERROR(leat_tensor_reshape(value_of(r, base), shape, &input));
  leat_fused_mark_reduced(step, shape->rank, reduced);
  leat_status_t status =
      leat_reduction_run(&c, step->reduction, &input, reduced, (leat_tensor_t*)r->values[s]);
  leat_tensor_release(&input);
  return status;
}

// Runs a step that is not tiled, over complete tensors.
static leat_status_t run_whole(run_t* r, int s) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  const leat_tensor_t* operands[MAX_OPERANDS];
  if (!step->elementwise) return share_reshaped(r, s);
  if (leat_fused_repeats(step->elementwise)) {
    repeat_whole(r, s);
    return leat_ok_status();
  }
  for (int k = 0; k < step->kernel.input_count; ++k) operands[k] = operand_tensor(r, step, k);
  leat_kernel_context_t c = leat_fused_step_context(r->context, step);
  return leat_elementwise_run(&c, step->elementwise, operands, (leat_tensor_t*)r->values[s]);
}

// ---- Tiles --------------------------------------------------------------------------------------

// The cursor of a shard in one tiled step: for each operand the address of its piece for the
// current tile, and how the address moves. The addresses are advanced after a tile and not just
// before the next one: a loop may load two of them with one vector instruction, which would stall
// if they had only just been stored one by one.
typedef struct walk_s {
  const leat_elementwise_t* elementwise;
  const leat_fused_plan_step_t* planned;
  const leat_tensor_t* operands[MAX_OPERANDS];
  const void* pieces[MAX_OPERANDS];  // where the operands' elements for this tile begin
  char* blocks[MAX_OPERANDS];        // the work area's blocks for operands that are repeated
  char* target;                      // where the result's elements for this tile go
  int64_t strides[MAX_OPERANDS], target_stride;  // bytes from one tile to the next
  uint8_t gathered;  // bit k: operand k is copied into its block anew for each tile
  uint8_t rows;      // bit k: the block holds a repeated row, in which each tile has its own start
  uint8_t count;     // the number of operands
  int step;
  const leat_reduction_state_t* reduction;  // NULL for an elementwise step
  int64_t terms;                            // elements of a row that is reduced
} walk_t;

// Where an array's elements lie as tiles go by: the address of element 0 and the bytes from one
// element to the next. For a block of the work area the latter is 0, since each tile uses the same
// bytes.
typedef struct lane_s {
  char* data;
  int64_t bytes;
} lane_t;

// Where the result of step |s| lies: in memory, or in a block of the work area |area|.
static lane_t step_lane(const run_t* r, int s, char* area) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  void* data = r->values[s]->data;
  if (data) return (lane_t){data, step->elementwise->output_size};
  return (lane_t){area + step->block * r->plan->block_bytes, 0};
}

// Where operand |k| of step |s| lies.
static lane_t operand_lane(const run_t* r, int s, int k, char* area) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  const leat_fused_operand_t* operand = &r->plan->steps[s].operands[k];
  if (operand->source == LEAT_FUSED_WHOLE) {
    return (lane_t){operand_tensor(r, step, k)->data, step->elementwise->input_size[k]};
  }
  if (operand->source == LEAT_FUSED_STEP) {
    const int base = leat_fused_base(r->fused, step->operands[k]);
    return step_lane(r, base - r->fused->input_count, area);
  }
  const int block = operand->source == LEAT_FUSED_GATHERED
                        ? r->plan->block_count - r->plan->gathered_count + k
                        : operand->block;
  return (lane_t){area + block * r->plan->block_bytes, 0};
}

// Copies |n| elements of operand |k| from element |index| of the broadcast result on into its
// block; those of a BroadcastTo step go straight to the step's target.
static void gather(const walk_t* walk, int k, int64_t index, int64_t n) {
  const leat_elementwise_t* e = walk->elementwise;
  leat_elementwise_gather(e, walk->planned->gather, k, walk->operands[k]->data, index, n,
                          leat_fused_repeats(e) ? walk->target : walk->blocks[k]);
}

// Prepares operand |k| for a shard that runs elements |begin| to |end|. Scalars and short rows are
// repeated into their blocks here, once for all tiles, unless an earlier step with the same operand
// has done so (|is_laid|). For other operands that must be broadcast, a bit asks for a copy at each
// tile.
static void begin_operand(const run_t* r, walk_t* walk, int k, int64_t begin, int64_t end) {
  const leat_fused_operand_t* operand = &walk->planned->operands[k];
  const leat_tensor_t* tensor = walk->operands[k];
  const int64_t row = tensor->shape.element_count, tile = r->plan->tile;
  const int64_t length = LEAT_MIN(tile, end - begin);
  const uint8_t bit = (uint8_t)(1 << k);
  if (operand->source == LEAT_FUSED_SCALAR && !operand->is_laid) {
    leat_elementwise_repeat(walk->elementwise, k, tensor->data, length, walk->blocks[k]);
  } else if (operand->source == LEAT_FUSED_ROW && row <= tile) {
    walk->rows |= bit;
    if (!operand->is_laid) gather(walk, k, 0, LEAT_MIN(tile + row, r->plan->count));
  } else if (operand->source >= LEAT_FUSED_ROW && !operand->is_laid) {
    walk->gathered |= bit;
  }
}

// Starts the accumulator of the part of a long row that begins at element |begin|, and returns its
// address.
static char* begin_partial(const run_t* r, int s, int64_t begin) {
  const leat_reducer_t* reducer = &r->fused->steps[s].reduction->reducer;
  const int64_t partial = begin % r->plan->long_row / LEAT_REDUCTION_MAX_ROW;
  const int64_t place = partial * r->values[s]->shape.element_count + begin / r->plan->long_row;
  char* accumulator = (char*)r->own[s].data + place * reducer->accumulator_bytes;
  leat_reducer_start(reducer, accumulator, 1);
  return accumulator;
}

// Prepares the cursor of a reduction. Its target is the result of the first row, or the accumulator
// of the part that this shard reduces.
static void begin_reduction(const run_t* r, int s, int64_t begin, char* area, walk_t* out_walk) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  const int base = leat_fused_base(r->fused, step->operands[0]) - r->fused->input_count;
  const lane_t lane = step_lane(r, base, area);
  const int64_t tile = r->plan->tile;
  const int64_t terms = leat_fused_plan_terms(r->plan, s);
  const int64_t bytes = step->reduction->reducer.element_bytes;
  *out_walk = (walk_t){.pieces = {lane.data + begin * lane.bytes},
                       .strides = {tile * lane.bytes},
                       .target = (char*)r->values[s]->data + begin / terms * bytes,
                       .target_stride = tile / terms * bytes,
                       .count = 1,
                       .step = s,
                       .reduction = step->reduction,
                       .terms = terms};
  if (r->plan->long_row) {
    out_walk->target = begin_partial(r, s, begin);
    out_walk->target_stride = 0;
  }
}

// Prepares the cursors of all tiled steps, in program order, and returns how many there are.
static int begin_walks(const run_t* r, int64_t begin, int64_t end, char* area,
                       walk_t* out_walks) {
  int count = 0;
  for (int s = 0; s < r->fused->step_count; ++s) {
    const leat_fused_step_t* step = &r->fused->steps[s];
    if (!r->plan->steps[s].is_tiled) continue;
    if (step->reduction) begin_reduction(r, s, begin, area, &out_walks[count++]);
    if (!step->elementwise) continue;
    walk_t* walk = &out_walks[count++];
    const lane_t target = step_lane(r, s, area);
    *walk = (walk_t){.elementwise = step->elementwise,
                     .planned = &r->plan->steps[s],
                     .target = target.data + begin * target.bytes,
                     .target_stride = r->plan->tile * target.bytes,
                     .count = step->elementwise->input_count,
                     .step = s};
    for (int k = 0; k < walk->count; ++k) {
      const lane_t lane = operand_lane(r, s, k, area);
      walk->blocks[k] = lane.data;
      walk->pieces[k] = lane.data + begin * lane.bytes;
      walk->strides[k] = r->plan->tile * lane.bytes;
      walk->operands[k] = operand_tensor(r, step, k);
      begin_operand(r, walk, k, begin, end);
    }
  }
  return count;
}

// Brings the operands that must be broadcast into place for the tile that begins at |index|.
static void lay_tile(walk_t* walk, int64_t index, int64_t n) {
  for (int k = 0; k < walk->count; ++k) {
    if (walk->gathered >> k & 1) gather(walk, k, index, n);
    if (!(walk->rows >> k & 1)) continue;
    const int64_t row = walk->operands[k]->shape.element_count;
    walk->pieces[k] = walk->blocks[k] + index % row * walk->elementwise->input_size[k];
  }
}

// A tile holds whole rows, each of which has a result, or a piece of one part of a long row, which
// is added to that part's accumulator.
static void reduce_tile(const walk_t* walk, int64_t n) {
  if (walk->target_stride) {
    leat_reduction_reduce_rows(walk->reduction, walk->pieces[0], n / walk->terms, walk->terms,
                               walk->target);
  } else {
    leat_reducer_row(&walk->reduction->reducer, walk->pieces[0], n, walk->target);
  }
}

// Runs the step over the |n| elements of the current tile and returns its faults.
static int compute(const walk_t* walk, int64_t n) {
  if (leat_fused_repeats(walk->elementwise)) return LEAT_ELEMENTWISE_FINE;  // gather() wrote it
  if (LEAT_LIKELY(!walk->reduction)) {
    return leat_elementwise_piece(walk->elementwise, walk->pieces, walk->target, n);
  }
  reduce_tile(walk, n);
  return LEAT_ELEMENTWISE_FINE;
}

// Runs a step over one tile and moves its cursor to the next.
static int visit(walk_t* walk, int64_t index, int64_t n) {
  if (LEAT_UNLIKELY(walk->gathered | walk->rows)) lay_tile(walk, index, n);
  const int faults = compute(walk, n);
  for (int k = 0; k < walk->count; ++k) {
    walk->pieces[k] = (const char*)walk->pieces[k] + walk->strides[k];
  }
  walk->target += walk->target_stride;
  return faults;
}

// Runs all tiled steps over elements |begin| to |end|, tile by tile.
static void run_span(run_t* r, int64_t begin, int64_t end) {
  _Alignas(64) char area[LEAT_FUSED_WORK_BYTES];
  walk_t walks[LEAT_FUSED_MAX_STEPS];
  const int count = begin_walks(r, begin, end, area, walks);
  const int64_t tile = r->plan->tile;
  for (int64_t i = begin; i < end; i += tile) {
    const int64_t n = LEAT_MIN(tile, end - i);
    for (int w = 0; w < count; ++w) {
      const int faults = visit(&walks[w], i, n);
      if (LEAT_UNLIKELY(faults)) atomic_store(&r->fault, (walks[w].step + 1) << 8 | faults);
    }
  }
}

// A shard of whole rows.
static void run_rows(void* data, int64_t begin, int64_t end) {
  run_t* r = data;
  run_span(r, begin * r->plan->reduced_row, end * r->plan->reduced_row);
}

// A shard of parts of long rows, numbered row by row.
static void run_partials(void* data, int64_t begin, int64_t end) {
  run_t* r = data;
  const int64_t count = leat_fused_plan_partials(r->plan), long_row = r->plan->long_row;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = i / count * long_row, first = i % count * LEAT_REDUCTION_MAX_ROW;
    run_span(r, row + first, row + LEAT_MIN(first + LEAT_REDUCTION_MAX_ROW, long_row));
  }
}

// ---- The kernel ---------------------------------------------------------------------------------

// Runs the tiled steps on as many threads as pay. The shards of a long row are its parts, whose
// boundaries follow from the row's length alone.
static void run_shards(run_t* r) {
  const leat_fused_plan_t* plan = r->plan;
  if (!plan->long_row) {
    leat_kernel_parallel_for(r->context, plan->count / plan->reduced_row,
                             plan->cost_ns * (double)plan->reduced_row, run_rows, r);
    return;
  }
  const int64_t count = leat_fused_plan_partials(plan);
  const int64_t partial = LEAT_MIN(plan->long_row, LEAT_REDUCTION_MAX_ROW);
  leat_kernel_parallel_for(r->context, plan->count / plan->long_row * count,
                           plan->cost_ns * (double)partial, run_partials, r);
  for (int s = 0; s < r->fused->step_count; ++s) {
    const leat_reduction_state_t* reduction = r->fused->steps[s].reduction;
    if (!plan->steps[s].is_tiled || !reduction) continue;
    leat_reduction_finish_partials(reduction, r->own[s].data, count,
                                   r->values[s]->shape.element_count, plan->long_row,
                                   r->values[s]->data);
  }
}

static leat_status_t run_tiles(run_t* r) {
  run_shards(r);
  const int fault = atomic_load_explicit(&r->fault, memory_order_relaxed);
  if (LEAT_LIKELY(!fault)) return leat_ok_status();
  const leat_fused_step_t* step = &r->fused->steps[(fault >> 8) - 1];
  const leat_kernel_context_t c = leat_fused_step_context(r->context, step);
  return leat_elementwise_fault_status(&c, fault & 0xff);
}

static leat_status_t run(run_t* r) {
  const leat_fused_t* f = r->fused;
  const leat_fused_plan_step_t* planned = r->plan->steps;
  LEAT_RETURN_IF_ERROR(allocate(r));
  for (int s = 0; s < f->step_count; ++s) {
    if (!planned[s].is_tiled && !f->steps[s].reduction) LEAT_RETURN_IF_ERROR(run_whole(r, s));
  }
  if (r->plan->any_tiled) LEAT_RETURN_IF_ERROR(run_tiles(r));
  for (int s = 0; s < f->step_count; ++s) {
    if (!planned[s].is_tiled && f->steps[s].reduction) LEAT_RETURN_IF_ERROR(reduce(r, s));
  }
  return leat_ok_status();
}

static leat_status_t fused_elementwise__cpu(leat_kernel_context_t* c) {
  const leat_fused_t* f = leat_kernel_state(c);
  run_t r;
  r.context = c;
  r.fused = f;
  LEAT_RETURN_IF_ERROR(leat_fused_plan_take(c, &r.plan));
  atomic_init(&r.fault, 0);
  for (int s = 0; s < f->step_count; ++s) r.own[s] = (leat_tensor_t){0};
  leat_status_t status = run(&r);
  for (int s = 0; s < f->step_count; ++s) leat_tensor_release(&r.own[s]);
  leat_fused_plan_return(r.plan);
  return status;
}

const leat_kernel_row_t leat_fused_kernels_cpu[] = {
    {.op = "_FusedElementwise",
     .device_type = "CPU",
     .create = leat_fused_create,
     .destroy = leat_fused_destroy,
     .state_bytes = sizeof(leat_fused_t),
     .compute = fused_elementwise__cpu},
    LEAT_KERNEL_ROWS_END,
};
