// A member of a collective runs chains of hops (kernel/collective_program.h); this is the work of
// one hop on its chunk: copies, merges, quotients. kernel/collective.c calls leat_collective_work
// when both halves of an exchange are in this process and for hops that need no other half,
// kernel/collective_remote.c when bytes have come from another process. The mutex of the rounds is
// free meanwhile: until a hop is settled, its chain and the offer that it takes are in no table, so
// nobody else finds them. The loops over elements are those of device/cpu/combine.h, which write
// into their first operand (+ stands for any merge):
//
//   MERGE         chunk = chunk + peer's      in place
//   MERGE_BEHIND  chunk = peer's + chunk      in a block on the stack, which is copied back
//
// Both orders exist because all members must end with the same bits, so both members of a pair
// merge in the order of their ranks. A comparison drops a NaN in its second operand, therefore
// minimum and maximum copy these NaNs afterwards; whether a NaN survives would else depend on who
// holds it. The quotient has two runs of elements as operands too, so an array on the stack is
// filled with the group's size once for each chunk and used again and again.
#include "base/checked.h"
#include "device/cpu/half.h"
#include "kernel/collective_program.h"

#define DIVISOR_BYTES 1024
#define BLOCK_BYTES 4096

// The number |n| as an element of |dtype|, one of those that reductions take.
static void write_number(int dtype, int32_t n, void* element) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: *(float*)element = (float)n; break;
    case LEAT_DTYPE_DOUBLE: *(double*)element = n; break;
    case LEAT_DTYPE_INT32: *(int32_t*)element = n; break;
    case LEAT_DTYPE_INT64: *(int64_t*)element = n; break;
    case LEAT_DTYPE_HALF: *(uint16_t*)element = leat_half_from_float((float)n); break;
    case LEAT_DTYPE_BFLOAT16: *(uint16_t*)element = leat_bfloat16_from_float((float)n); break;
    default: LEAT_DCHECK(false);
  }
}

static void divide(const leat_chain_t* chain, const leat_collective_call_t* call) {
  int64_t divisors[DIVISOR_BYTES / sizeof(int64_t)];
  const int64_t element = (int64_t)leat_dtype_size(call->dtype);
  const int64_t room = (int64_t)sizeof divisors / element;
  leat_combine_fn_t quotient = leat_combine_find(LEAT_COMBINE_DIV, call->dtype);
  for (int64_t i = 0; i < room; ++i) {
    write_number(call->dtype, call->group_size, (char*)divisors + i * element);
  }
  for (int64_t i = 0; i < chain->count; i += room) {
    quotient(chain->bytes + i * element, divisors, LEAT_MIN(room, chain->count - i));
  }
}

// Copies the NaNs in |from|, which the comparison in a minimum or maximum drops.
static void keep_nans(int dtype, void* to, const void* from, int64_t count) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT:
      for (int64_t i = 0; i < count; ++i) {
        const float x = ((const float*)from)[i];
        if (x != x) ((float*)to)[i] = x;
      }
      break;
    case LEAT_DTYPE_DOUBLE:
      for (int64_t i = 0; i < count; ++i) {
        const double x = ((const double*)from)[i];
        if (x != x) ((double*)to)[i] = x;
      }
      break;
    case LEAT_DTYPE_HALF:
    case LEAT_DTYPE_BFLOAT16: {
      const uint16_t infinity = dtype == LEAT_DTYPE_HALF ? 0x7c00 : 0x7f80;
      for (int64_t i = 0; i < count; ++i) {
        const uint16_t x = ((const uint16_t*)from)[i];
        if ((x & 0x7fff) > infinity) ((uint16_t*)to)[i] = x;
      }
      break;
    }
    default: break;  // integers
  }
}

static void merge(const leat_collective_call_t* call, void* to, const void* from, int64_t count) {
  leat_combine_find(call->merge, call->dtype)(to, from, count);
  if (call->merge == LEAT_COMBINE_MIN || call->merge == LEAT_COMBINE_MAX) {
    keep_nans(call->dtype, to, from, count);
  }
}

// |to| becomes |from| merged with |to|: the other way round than |merge|.
static void merge_behind(const leat_collective_call_t* call, char* to, const char* from,
                         int64_t count) {
  int64_t block[BLOCK_BYTES / sizeof(int64_t)];
  const int64_t element = (int64_t)leat_dtype_size(call->dtype);
  const int64_t room = (int64_t)sizeof block / element;
  for (int64_t i = 0; i < count; i += room) {
    const int64_t part = LEAT_MIN(room, count - i);
    memcpy(block, from + i * element, (size_t)(part * element));
    merge(call, block, to + i * element, part);
    memcpy(to + i * element, block, (size_t)(part * element));
  }
}

void leat_collective_work(const leat_chain_t* chain, const leat_collective_call_t* call) {
  const leat_chain_t* source = chain->source ? chain->source->chain : NULL;
  const size_t bytes = (size_t)chain->count * leat_dtype_size(call->dtype);
  switch (chain->next->kind) {
    case LEAT_HOP_TAKE: memcpy(chain->bytes, source->bytes, bytes); break;
    case LEAT_HOP_MERGE: merge(call, chain->bytes, source->bytes, chain->count); break;
    case LEAT_HOP_MERGE_BEHIND:
      merge_behind(call, chain->bytes, source->bytes, chain->count);
      break;
    case LEAT_HOP_DIVIDE: divide(chain, call); break;
    case LEAT_HOP_KEEP: memcpy(call->kept, chain->bytes, bytes); break;
    case LEAT_HOP_OFFER: LEAT_DCHECK(false);
  }
}
