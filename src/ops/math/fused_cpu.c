// The CPU kernel of _FusedElementwise, the op into which the optimizer fuses elementwise nodes. It
// is an interpreter that works tile by tile: it runs every step over one tile (at most MAX_TILE
// elements, so few that all intermediate results stay in the first-level cache), then every step
// over the next. Only what others read is written to memory.
//
//   x ─┬─▶ Mul ─▶ [block] ─▶ Exp ─▶ y      [block]: in the work area, on the stack of the shard
//   s ─┘ (repeated)
//
// A step whose result is smaller than the largest one (usually a scalar) runs whole, before the
// tiles. A reduction over rows that fit into a tile is computed in the tile. Longer rows fold each
// tile into an accumulator of the row's part where the reducer can resume; otherwise they are
// reduced after the tiles, from memory. Invariant: no result depends on the number of threads, for
// shards own whole rows, or whole parts of long rows that are merged in order. The program is built
// by ops/math/fused_create_cpu.c.
#include <string.h>

#include "base/checked.h"
#include "base/sync.h"
#include "ops/kernel_rows.h"
#include "ops/math/elementwise_cpu.h"
#include "ops/math/fused_cpu.h"

#define WORK_BYTES (40 << 10)  // what is read and written shares a cache of 48 or 32 KiB with it
#define MAX_TILE 4096
#define MAX_ROW 4096           // elements; a longer repeated operand is gathered for each tile
#define MAX_LAID 24  // tensors that are expanded into a block once for all tiles of a shard
#define MAX_OPERANDS LEAT_ELEMENTWISE_MAX_INPUTS

// Where a tiled step finds the elements of an operand for one tile.
typedef enum source_e {
  SOURCE_WHOLE,     // a tensor with as many elements as the largest step: read in place
  SOURCE_STEP,      // the result of another tiled step
  SOURCE_SCALAR,    // one element, repeated once into a block
  SOURCE_ROW,       // a row, repeated once into two blocks: a tile and one row more
  SOURCE_GATHERED,  // copied into a block for each tile
} source_t;

typedef struct operand_s {
  source_t source;
  const leat_tensor_t* tensor;  // for SOURCE_STEP only its shape is used
  int block;                    // that it is expanded into, or the first of two; not if gathered
  bool is_laid;                 // an earlier step has expanded the tensor into this block
} operand_t;

typedef struct run_s {
  leat_kernel_context_t* context;
  const leat_fused_t* fused;
  const leat_tensor_t* values[LEAT_FUSED_MAX_STEPS];  // the node's outputs, or |own|
  // Steps that are no outputs: their shapes, and memory where needed; parts of long rows.
  leat_tensor_t own[LEAT_FUSED_MAX_STEPS];
  bool is_tiled[LEAT_FUSED_MAX_STEPS];
  operand_t operands[LEAT_FUSED_MAX_STEPS][MAX_OPERANDS];
  leat_broadcast_t* plans;  // of the steps that gather; step s has plan |plan_of[s]|, or none (-1)
  int16_t plan_of[LEAT_FUSED_MAX_STEPS];
  int64_t count;            // elements of the largest step
  int64_t reduced_row;      // tiles and shards hold a whole number of rows of this length
  int64_t long_row;         // of rows that are reduced in parts of many tiles; 0: there are none
  int64_t tile, block_bytes;
  const operand_t* laid[MAX_LAID];
  int laid_count;
  int block_count, gathered_count;  // the last |gathered_count| blocks serve gathered operands
  _Atomic(int) fault;       // (step + 1) << 8 | faults of the last step that failed; 0: none did
} run_t;

static const leat_tensor_t* value_of(const run_t* r, int operand) {
  const int inputs = r->fused->input_count;
  return operand < inputs ? leat_kernel_input(r->context, operand) : r->values[operand - inputs];
}

static const leat_tensor_t* operand_tensor(const run_t* r, const leat_fused_step_t* step, int k) {
  return value_of(r, step->operands[k]);
}

// ---- Shapes -------------------------------------------------------------------------------------

static leat_status_t find_step_shape(const run_t* r, const leat_fused_step_t* step,
                                     leat_shape_t* out_shape) {
  const leat_tensor_t* operands[MAX_OPERANDS];
  // A Reshape has no operands in its kernel; its shape is checked against its base.
  if (!step->kernel.input_count) operands[0] = value_of(r, step->base);
  for (int k = 0; k < step->kernel.input_count; ++k) operands[k] = operand_tensor(r, step, k);
  return leat_fused_step_shape(r->context, step, operands, out_shape);
}

static leat_status_t find_shapes(run_t* r) {
  bool any_empty = false;
  for (int s = 0; s < r->fused->step_count; ++s) {
    const leat_fused_step_t* step = &r->fused->steps[s];
    LEAT_RETURN_IF_ERROR(find_step_shape(r, step, &r->own[s].shape));
    r->own[s].dtype = step->output_type;
    r->values[s] = &r->own[s];
    if (step->reduction) continue;
    const int64_t count = r->own[s].shape.element_count;
    r->count = LEAT_MAX(r->count, count);
    any_empty |= count == 0;
  }
  // What reads a tiled result is at least as large, unless tensors are empty.
  for (int s = 0; s < r->fused->step_count; ++s) {
    const leat_fused_step_t* step = &r->fused->steps[s];
    r->is_tiled[s] = !any_empty && r->own[s].shape.element_count == r->count &&
                     step->base >= r->fused->input_count && !step->reduction;
  }
  return leat_ok_status();
}

// ---- Memory -------------------------------------------------------------------------------------

static leat_status_t allocate_own(run_t* r, int s) {
  leat_shape_t shape = r->own[s].shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(
      r->context, r->fused->steps[s].output_type, &shape, &r->own[s]));
  leat_shape_release(&shape);
  return leat_ok_status();
}

static leat_status_t allocate(run_t* r) {
  const leat_fused_t* f = r->fused;
  for (int s = 0; s < f->step_count; ++s) {
    const leat_fused_step_t* step = &f->steps[s];
    leat_tensor_t* tensor;
    if (step->output >= 0) {
      // A step that runs whole must not overwrite its inputs: the tiles, later, may read them.
      LEAT_RETURN_IF_ERROR(leat_kernel_forward_any_or_allocate(
          r->context, r->is_tiled[s] ? step->forwardable : 0, step->output, &r->own[s].shape,
          &tensor));
      r->values[s] = tensor;
    } else if (!r->is_tiled[s] && step->elementwise) {
      LEAT_RETURN_IF_ERROR(allocate_own(r, s));
    }
  }
  return leat_ok_status();
}

// Makes own[s] the operand of the Reshape step |s| under the step's shape; they share the bytes.
static leat_status_t share_reshaped(run_t* r, int s) {
  leat_shape_release(&r->own[s].shape);
  const leat_fused_step_t* step = &r->fused->steps[s];
  return leat_tensor_reshape(value_of(r, step->base), &step->shape, &r->own[s]);
}

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

// Runs reduction step |s| over an operand that lies in memory.
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

// true when |x| has the last dimensions of |output| alone, and repeats periodically along it.
static bool is_row(const leat_shape_t* x, const leat_shape_t* output) {
  int64_t count = 1;
  if (x->element_count > MAX_ROW) return false;
  for (int d = 1; count < x->element_count; ++d) {
    if (leat_shape_dim(x, x->rank - d) != leat_shape_dim(output, output->rank - d)) return false;
    count *= leat_shape_dim(x, x->rank - d);
  }
  return true;
}

// Finds a block for a scalar or row, perhaps that of an earlier operand; false when |laid| is full.
static bool choose_block(run_t* r, operand_t* operand) {
  for (int i = 0; i < r->laid_count; ++i) {
    if (r->laid[i]->tensor != operand->tensor) continue;
    *operand = *r->laid[i];
    operand->is_laid = true;
    return true;
  }
  if (r->laid_count == MAX_LAID) return false;
  operand->source = operand->tensor->shape.element_count == 1 ? SOURCE_SCALAR : SOURCE_ROW;
  operand->block = r->block_count;
  r->block_count += operand->source == SOURCE_ROW ? 2 : 1;
  r->laid[r->laid_count++] = operand;
  return true;
}

// Decides where step |s| finds operand |k|. A BroadcastTo gathers straight into its own target.
static void choose_source(run_t* r, int s, int k) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  const int from = step->operands[k] - r->fused->input_count;
  operand_t* operand = &r->operands[s][k];
  operand->tensor = operand_tensor(r, step, k);
  operand->is_laid = false;
  if (leat_fused_repeats(step->elementwise)) {
    operand->source = SOURCE_GATHERED;  // into the step's own block
  } else if (from >= 0 && r->is_tiled[from]) {
    operand->source = SOURCE_STEP;
  } else if (operand->tensor->shape.element_count == r->count) {
    operand->source = SOURCE_WHOLE;
  } else if (!is_row(&operand->tensor->shape, &r->values[s]->shape) ||
             !choose_block(r, operand)) {
    operand->source = SOURCE_GATHERED;
    r->gathered_count = LEAT_MAX(r->gathered_count, k + 1);
  }
}

// Decides how operands are read, and the tile: all blocks together must fit into WORK_BYTES.
static leat_status_t plan_tiles(run_t* r) {
  const leat_fused_t* f = r->fused;
  int gathers = 0;
  r->block_count = f->block_count;
  for (int s = 0; s < f->step_count; ++s) {
    bool does_gather = false;
    for (int k = 0; r->is_tiled[s] && k < f->steps[s].kernel.input_count; ++k) {
      choose_source(r, s, k);
      does_gather |= r->operands[s][k].source >= SOURCE_ROW && !r->operands[s][k].is_laid;
    }
    r->plan_of[s] = (int16_t)(does_gather ? gathers++ : -1);
  }
  r->block_count = LEAT_MAX(r->block_count + r->gathered_count, 1);
  r->block_bytes = WORK_BYTES / r->block_count & ~INT64_C(63);
  r->tile = r->block_bytes / f->element_bytes;
  r->tile = LEAT_MIN(r->tile < 64 ? r->tile : r->tile & ~INT64_C(63), MAX_TILE);
  if (!gathers) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(leat_allocator_system(), (size_t)gathers,
                                                     sizeof *r->plans, (void**)&r->plans));
  for (int s = 0; s < f->step_count; ++s) {
    const leat_shape_t* shapes[MAX_OPERANDS];
    const int count = f->steps[s].kernel.input_count;
    if (r->plan_of[s] < 0) continue;
    for (int k = 0; k < count; ++k) shapes[k] = &r->operands[s][k].tensor->shape;
    leat_broadcast_plan(shapes, count, &r->values[s]->shape, &r->plans[r->plan_of[s]]);
  }
  return leat_ok_status();
}

static int64_t terms_of(const run_t* r, int s) {
  return r->count / r->values[s]->shape.element_count;
}

static bool reduces_tiles(const run_t* r, int s) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  const int from = step->operands[0] - r->fused->input_count;
  return step->reduction && from >= 0 && r->is_tiled[from];
}

// The elements of as many rows as let tiles begin at the start of a cache line, if they fit |most|.
static int64_t whole_rows(int64_t row, int64_t most) {
  while (row % 16 && 2 * row <= most) row *= 2;
  return row;
}

static bool resumes(const run_t* r, int s) {
  return reduces_tiles(r, s) && r->fused->steps[s].reduction->reducer.resumes;
}

static int64_t parts_of_row(const run_t* r) {
  return (r->long_row + LEAT_REDUCTION_MAX_ROW - 1) / LEAT_REDUCTION_MAX_ROW;
}

// Chooses the longest rows that fit a tile, else the longest that can be reduced in parts.
static void choose_rows(run_t* r) {
  const int64_t tile = r->tile - r->tile % LEAT_REDUCTION_PIECE;
  for (int s = 0; s < r->fused->step_count; ++s) {
    if (!reduces_tiles(r, s)) continue;
    const int64_t terms = terms_of(r, s);
    if (terms <= r->tile) r->reduced_row = LEAT_MAX(r->reduced_row, terms);
    if (terms > r->tile && tile && resumes(r, s)) r->long_row = LEAT_MAX(r->long_row, terms);
  }
  if (r->reduced_row > 1) r->long_row = 0;
  r->tile = r->long_row ? tile : r->tile - r->tile % whole_rows(r->reduced_row, r->tile);
}

// Gives reduction |s| of long rows its accumulators, [part][output].
static leat_status_t allocate_parts(run_t* r, int s) {
  const int64_t count = parts_of_row(r) * r->values[s]->shape.element_count;
  const leat_shape_t shape =
      leat_shape_vector(count * r->fused->steps[s].reduction->reducer.accumulator_bytes);
  leat_shape_release(&r->own[s].shape);
  return leat_kernel_allocate_temporary(r->context, LEAT_DTYPE_UINT8, &shape, &r->own[s]);
}

// Decides which reductions run in the tiles. What the other ones reduce gets memory.
static leat_status_t plan_rows(run_t* r) {
  const leat_fused_t* f = r->fused;
  choose_rows(r);
  for (int s = 0; s < f->step_count; ++s) {
    if (!reduces_tiles(r, s)) continue;
    const int64_t terms = terms_of(r, s);
    if (terms == r->long_row && resumes(r, s)) {
      r->is_tiled[s] = true;
      LEAT_RETURN_IF_ERROR(allocate_parts(r, s));
      continue;
    }
    r->is_tiled[s] = terms > 1 && r->reduced_row % terms == 0;
    const int base = leat_fused_base(f, f->steps[s].operands[0]) - f->input_count;
    if (r->is_tiled[s] || r->values[base]->data) continue;
    LEAT_RETURN_IF_ERROR(allocate_own(r, base));
  }
  return leat_ok_status();
}

// One tiled step as a shard goes through its tiles. The pointers for the next tile are computed
// right after each tile and not before the next: a loop that loads two neighbouring pointers at
// once then finds stores that have left the store buffer, and does not stall.
typedef struct walk_s {
  const leat_elementwise_t* elementwise;
  const void* pieces[MAX_OPERANDS];
  char* blocks[MAX_OPERANDS];  // the blocks into which they are expanded
  char* target;
  int64_t strides[MAX_OPERANDS], target_stride;  // bytes from one tile to the next
  uint8_t gathered;  // bit k: operand k is gathered for each tile
  uint8_t rows;      // bit k: operand k is a row; its piece begins at the tile's place in the row
  uint8_t count;     // operands
  int step;
  const leat_reduction_state_t* reduction;  // NULL for an elementwise step
  int64_t terms;                            // the number of terms of a row that is reduced
} walk_t;

// Where the first piece of an array lies; 0 bytes: every tile uses the same place, a block.
typedef struct lane_s {
  char* data;
  int64_t bytes;
} lane_t;

static lane_t step_lane(const run_t* r, int s, char* area) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  void* data = r->values[s]->data;
  if (data) return (lane_t){data, step->elementwise->output_size};
  return (lane_t){area + step->block * r->block_bytes, 0};
}

static lane_t operand_lane(const run_t* r, int s, int k, char* area) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  const operand_t* operand = &r->operands[s][k];
  if (operand->source == SOURCE_WHOLE) {
    return (lane_t){operand->tensor->data, step->elementwise->input_size[k]};
  }
  if (operand->source == SOURCE_STEP) {
    const int base = leat_fused_base(r->fused, step->operands[k]);
    return step_lane(r, base - r->fused->input_count, area);
  }
  const int block = operand->source == SOURCE_GATHERED
                        ? r->block_count - r->gathered_count + k
                        : operand->block;
  return (lane_t){area + block * r->block_bytes, 0};
}

static void gather(const run_t* r, const walk_t* walk, int k, int64_t index, int64_t n) {
  const leat_elementwise_t* e = walk->elementwise;
  leat_elementwise_gather(e, &r->plans[r->plan_of[walk->step]], k,
                          r->operands[walk->step][k].tensor->data, index, n,
                          leat_fused_repeats(e) ? walk->target : walk->blocks[k]);
}

// Begins the walk along operand |k|; a scalar or row is expanded into its block now.
static void begin_operand(const run_t* r, walk_t* walk, int k, int64_t begin, int64_t end) {
  const operand_t* operand = &r->operands[walk->step][k];
  const int64_t row = operand->tensor->shape.element_count;
  const int64_t length = LEAT_MIN(r->tile, end - begin);
  const uint8_t bit = (uint8_t)(1 << k);
  if (operand->source == SOURCE_SCALAR && !operand->is_laid) {
    leat_elementwise_repeat(walk->elementwise, k, operand->tensor->data, length, walk->blocks[k]);
  } else if (operand->source == SOURCE_ROW && row <= r->tile) {
    walk->rows |= bit;
    if (!operand->is_laid) gather(r, walk, k, 0, LEAT_MIN(r->tile + row, r->count));
  } else if (operand->source >= SOURCE_ROW && !operand->is_laid) {
    walk->gathered |= bit;
  }
}

// Resets the accumulator of the part of a long row that begins at element |begin|, and returns it.
static char* begin_part(const run_t* r, int s, int64_t begin) {
  const leat_reducer_t* reducer = &r->fused->steps[s].reduction->reducer;
  const int64_t part = begin % r->long_row / LEAT_REDUCTION_MAX_ROW;
  const int64_t place = part * r->values[s]->shape.element_count + begin / r->long_row;
  char* accumulator = (char*)r->own[s].data + place * reducer->accumulator_bytes;
  leat_reducer_start(reducer, accumulator, 1);
  return accumulator;
}

// Begins the walk of a reduction, into the output or the accumulator of a long row's part.
static void begin_reduction(const run_t* r, int s, int64_t begin, char* area, walk_t* out_walk) {
  const leat_fused_step_t* step = &r->fused->steps[s];
  const int base = leat_fused_base(r->fused, step->operands[0]) - r->fused->input_count;
  const lane_t lane = step_lane(r, base, area);
  const int64_t terms = terms_of(r, s), bytes = step->reduction->reducer.element_bytes;
  *out_walk = (walk_t){.pieces = {lane.data + begin * lane.bytes},
                       .strides = {r->tile * lane.bytes},
                       .target = (char*)r->values[s]->data + begin / terms * bytes,
                       .target_stride = r->tile / terms * bytes,
                       .count = 1,
                       .step = s,
                       .reduction = step->reduction,
                       .terms = terms};
  if (r->long_row) {
    out_walk->target = begin_part(r, s, begin);
    out_walk->target_stride = 0;
  }
}

// Begins the walks of all tiled steps, in their order; returns how many there are.
static int begin_walks(const run_t* r, int64_t begin, int64_t end, char* area,
                       walk_t* out_walks) {
  int count = 0;
  for (int s = 0; s < r->fused->step_count; ++s) {
    const leat_fused_step_t* step = &r->fused->steps[s];
    if (!r->is_tiled[s]) continue;
    if (step->reduction) begin_reduction(r, s, begin, area, &out_walks[count++]);
    if (!step->elementwise) continue;
    walk_t* walk = &out_walks[count++];
    const lane_t target = step_lane(r, s, area);
    *walk = (walk_t){.elementwise = step->elementwise,
                     .target = target.data + begin * target.bytes,
                     .target_stride = r->tile * target.bytes,
                     .count = step->elementwise->input_count,
                     .step = s};
    for (int k = 0; k < walk->count; ++k) {
      const lane_t lane = operand_lane(r, s, k, area);
      walk->blocks[k] = lane.data;
      walk->pieces[k] = lane.data + begin * lane.bytes;
      walk->strides[k] = r->tile * lane.bytes;
      begin_operand(r, walk, k, begin, end);
    }
  }
  return count;
}

// Brings the operands to the tile from |index| on: gathers, or finds the place in a row.
static void lay_tile(const run_t* r, walk_t* walk, int64_t index, int64_t n) {
  for (int k = 0; k < walk->count; ++k) {
    const int64_t row = r->operands[walk->step][k].tensor->shape.element_count;
    if (walk->gathered >> k & 1) gather(r, walk, k, index, n);
    if (!(walk->rows >> k & 1)) continue;
    walk->pieces[k] = walk->blocks[k] + index % row * walk->elementwise->input_size[k];
  }
}

// Reduces whole rows or, when the target does not move, a piece of a long row.
static void reduce_tile(const walk_t* walk, int64_t n) {
  if (walk->target_stride) {
    leat_reduction_reduce_rows(walk->reduction, walk->pieces[0], n / walk->terms, walk->terms,
                               walk->target);
  } else {  // it is part of a row
    leat_reducer_row(&walk->reduction->reducer, walk->pieces[0], n, walk->target);
  }
}

static int compute(const walk_t* walk, int64_t n) {
  if (leat_fused_repeats(walk->elementwise)) return LEAT_ELEMENTWISE_FINE;
  if (LEAT_LIKELY(!walk->reduction)) {
    return leat_elementwise_piece(walk->elementwise, walk->pieces, walk->target, n);
  }
  reduce_tile(walk, n);
  return LEAT_ELEMENTWISE_FINE;
}

static int visit(const run_t* r, walk_t* walk, int64_t index, int64_t n) {
  if (LEAT_UNLIKELY(walk->gathered | walk->rows)) lay_tile(r, walk, index, n);
  const int faults = compute(walk, n);
  for (int k = 0; k < walk->count; ++k) {
    walk->pieces[k] = (const char*)walk->pieces[k] + walk->strides[k];
  }
  walk->target += walk->target_stride;
  return faults;
}

// Runs all tiled steps over elements [begin, end), on any thread of the pool.
static void run_span(run_t* r, int64_t begin, int64_t end) {
  _Alignas(64) char area[WORK_BYTES];
  walk_t walks[LEAT_FUSED_MAX_STEPS];
  const int count = begin_walks(r, begin, end, area, walks);
  for (int64_t i = begin; i < end; i += r->tile) {
    const int64_t n = LEAT_MIN(r->tile, end - i);
    for (int w = 0; w < count; ++w) {
      const int faults = visit(r, &walks[w], i, n);
      if (LEAT_UNLIKELY(faults)) atomic_store(&r->fault, (walks[w].step + 1) << 8 | faults);
    }
  }
}

static void run_rows(void* data, int64_t begin, int64_t end) {
  run_t* r = data;
  run_span(r, begin * r->reduced_row, end * r->reduced_row);
}

static void run_parts(void* data, int64_t begin, int64_t end) {
  run_t* r = data;
  const int64_t count = parts_of_row(r);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = i / count * r->long_row, first = i % count * LEAT_REDUCTION_MAX_ROW;
    run_span(r, row + first, row + LEAT_MIN(first + LEAT_REDUCTION_MAX_ROW, r->long_row));
  }
}

// ---- The kernel ---------------------------------------------------------------------------------

// Cuts the elements into shards of whole rows, or of parts of long rows that are merged later.
static void run_shards(run_t* r, double cost_ns) {
  if (!r->long_row) {
    leat_kernel_parallel_for(r->context, r->count / r->reduced_row,
                             cost_ns * (double)r->reduced_row, run_rows, r);
    return;
  }
  const int64_t count = parts_of_row(r), part = LEAT_MIN(r->long_row, LEAT_REDUCTION_MAX_ROW);
  leat_kernel_parallel_for(r->context, r->count / r->long_row * count, cost_ns * (double)part,
                           run_parts, r);
  for (int s = 0; s < r->fused->step_count; ++s) {
    const leat_reduction_state_t* reduction = r->fused->steps[s].reduction;
    if (!r->is_tiled[s] || !reduction) continue;
    leat_reduction_finish_parts(reduction, r->own[s].data, count, r->values[s]->shape.element_count,
                                r->long_row, r->values[s]->data);
  }
}

static leat_status_t run_tiles(run_t* r) {
  LEAT_RETURN_IF_ERROR(plan_tiles(r));
  LEAT_RETURN_IF_ERROR(plan_rows(r));
  double cost_ns = 0;
  for (int s = 0; s < r->fused->step_count; ++s) {
    const leat_fused_step_t* step = &r->fused->steps[s];
    if (!r->is_tiled[s]) continue;
    if (step->elementwise) cost_ns += (double)step->elementwise->cost_ns;
    if (step->reduction) cost_ns += LEAT_REDUCTION_COST_NS;
  }
  run_shards(r, cost_ns);
  const int fault = atomic_load_explicit(&r->fault, memory_order_relaxed);
  if (LEAT_LIKELY(!fault)) return leat_ok_status();
  const leat_fused_step_t* step = &r->fused->steps[(fault >> 8) - 1];
  const leat_kernel_context_t c = leat_fused_step_context(r->context, step);
  return leat_elementwise_fault_status(&c, fault & 0xff);
}

// Runs the program in the order that makes it correct: small steps, tiles, reductions from memory.
static leat_status_t run(run_t* r) {
  const leat_fused_t* f = r->fused;
  bool any_tiled = false;
  LEAT_RETURN_IF_ERROR(find_shapes(r));
  LEAT_RETURN_IF_ERROR(allocate(r));
  for (int s = 0; s < f->step_count; ++s) {
    any_tiled |= r->is_tiled[s];
    if (!r->is_tiled[s] && !f->steps[s].reduction) LEAT_RETURN_IF_ERROR(run_whole(r, s));
  }
  if (any_tiled) LEAT_RETURN_IF_ERROR(run_tiles(r));
  for (int s = 0; s < f->step_count; ++s) {
    if (!r->is_tiled[s] && f->steps[s].reduction) LEAT_RETURN_IF_ERROR(reduce(r, s));
  }
  return leat_ok_status();
}

static leat_status_t fused_elementwise__cpu(leat_kernel_context_t* c) {
  const leat_fused_t* f = leat_kernel_state(c);
  run_t r;
  r.context = c;
  r.fused = f;
  r.plans = NULL;
  r.count = 0;
  r.reduced_row = 1;
  r.long_row = 0;
  r.laid_count = r.gathered_count = 0;
  atomic_init(&r.fault, 0);
  for (int s = 0; s < f->step_count; ++s) r.own[s] = (leat_tensor_t){0};
  leat_status_t status = run(&r);
  leat_allocator_free(leat_allocator_system(), r.plans);
  for (int s = 0; s < f->step_count; ++s) leat_tensor_release(&r.own[s]);
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
