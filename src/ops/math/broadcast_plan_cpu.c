// Builds the plan of a broadcast (broadcast_plan_cpu.h) and moves a place through it as an odometer
// does: the innermost coordinate advances, and a full one carries into the next.
#include "ops/math/broadcast_plan_cpu.h"

// The size of |shape| along dimension |d| of an output of rank |rank|; 1 where |shape| has no such
// dimension.
static int64_t aligned_dim(const leat_shape_t* shape, int rank, int d) {
  int own = d - (rank - shape->rank);
  return own < 0 ? 1 : leat_shape_dim(shape, own);
}

// A mask in which bit k says that operand k is repeated along output dimension |d|.
static unsigned repeated_mask(const leat_shape_t* const inputs[], int count, int rank, int d) {
  unsigned mask = 0;
  for (int k = 0; k < count; ++k) mask |= (unsigned)(aligned_dim(inputs[k], rank, d) == 1) << k;
  return mask;
}

void leat_broadcast_plan(const leat_shape_t* const inputs[], int count, const leat_shape_t* output,
                         leat_broadcast_t* out_plan) {
  uint8_t masks[LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < output->rank; ++d) {
    // Dimensions of size 1 are dropped; a dimension joins the one before it when the same operands
    // are repeated along both.
    int64_t size = leat_shape_dim(output, d);
    if (size == 1) continue;
    unsigned mask = repeated_mask(inputs, count, output->rank, d);
    if (rank && masks[rank - 1] == mask) {
      out_plan->dims[rank - 1] *= size;
    } else {
      masks[rank] = (uint8_t)mask;
      out_plan->dims[rank++] = size;
    }
  }
  if (rank == 0) {
    masks[0] = 0;
    out_plan->dims[rank++] = 1;
  }
  out_plan->rank = rank;
  out_plan->count = count;
  for (int k = 0; k < count; ++k) {
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; --d) {
      bool is_repeated = masks[d] >> k & 1;
      out_plan->strides[k][d] = is_repeated ? 0 : stride;
      if (!is_repeated) stride *= out_plan->dims[d];
    }
  }
}

void leat_broadcast_seek(const leat_broadcast_t* plan, int64_t index,
                         leat_broadcast_place_t* out_place) {
  for (int k = 0; k < plan->count; ++k) out_place->offsets[k] = 0;
  for (int d = plan->rank - 1; d >= 0; --d) {
    int64_t coordinate = index % plan->dims[d];
    index /= plan->dims[d];
    out_place->coordinates[d] = coordinate;
    for (int k = 0; k < plan->count; ++k) {
      out_place->offsets[k] += coordinate * plan->strides[k][d];
    }
  }
}

void leat_broadcast_advance(const leat_broadcast_t* plan, int64_t n,
                            leat_broadcast_place_t* inout_place) {
  int d = plan->rank - 1;
  inout_place->coordinates[d] += n;
  for (int k = 0; k < plan->count; ++k) inout_place->offsets[k] += n * plan->strides[k][d];
  while (inout_place->coordinates[d] == plan->dims[d] && d > 0) {
    for (int k = 0; k < plan->count; ++k) {
      inout_place->offsets[k] += plan->strides[k][d - 1] - plan->dims[d] * plan->strides[k][d];
    }
    inout_place->coordinates[d] = 0;
    ++inout_place->coordinates[--d];
  }
}
