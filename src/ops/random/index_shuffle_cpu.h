// The CPU kernel of RandomIndexShuffle, whose row is in the table of shuffle_cpu.c.
#ifndef LEAT_OPS_RANDOM_INDEX_SHUFFLE_CPU_H_
#define LEAT_OPS_RANDOM_INDEX_SHUFFLE_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_index_shuffle_s {
  int64_t rounds;
} leat_index_shuffle_t;
LEAT_MUST_USE leat_status_t leat_index_shuffle_create(leat_kernel_creation_t* c, void* state);
LEAT_MUST_USE leat_status_t leat_index_shuffle__cpu(leat_kernel_context_t* c);

#endif  // LEAT_OPS_RANDOM_INDEX_SHUFFLE_CPU_H_
