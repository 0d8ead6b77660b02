// What the kernels of both kinds of staging areas share: which area a node means, and its limits.
#ifndef LEAT_OPS_STAGE_STAGING_CPU_H_
#define LEAT_OPS_STAGE_STAGING_CPU_H_

#include "base/arena.h"
#include "kernel/kernel.h"
#include "kernel/wait_queue.h"

typedef struct leat_stage_limits_s {
  int64_t capacity;      // tuples; 0: unbounded
  int64_t memory_bytes;  // 0: unbounded
} leat_stage_limits_t;

typedef struct leat_stage_name_s {
  leat_arena_t arena;
  leat_string_view_t container;
  leat_string_view_t name;
  leat_stage_limits_t limits;
  int width;  // components of a tuple
} leat_stage_name_t;

// What areas begin with.
typedef struct leat_stage_area_s {
  leat_resource_t resource;
  leat_wait_queue_t wait_queue;
  leat_stage_limits_t limits;
  int width;
  int64_t bytes;  // of the tuples, under the wait queue's lock
} leat_stage_area_t;
// An area of |area_bytes|, zeroed behind its beginning; |kind|'s destroy ends with the latter.
LEAT_MUST_USE leat_status_t leat_stage_area_create(const leat_stage_name_t* name,
                                                   const leat_resource_kind_t* kind,
                                                   size_t area_bytes, void** out_area);
void leat_stage_area_free(leat_stage_area_t* area);

// |prefix| goes before the name: areas of another sort are others.
LEAT_MUST_USE leat_status_t leat_stage_name_initialize(leat_kernel_creation_t* c,
                                                       const char* prefix,
                                                       leat_stage_name_t* out_name);
void leat_stage_name_deinitialize(leat_stage_name_t* name);
int64_t leat_stage_bytes(const leat_tensor_t* tuple, int width);
bool leat_stage_has_room(const leat_stage_limits_t* limits, int64_t count, int64_t used_bytes,
                         int64_t bytes);
// RESOURCE_EXHAUSTED when |bytes| could never find room.
LEAT_MUST_USE leat_status_t leat_stage_check_bytes(const leat_stage_limits_t* limits,
                                                   int64_t bytes);

#endif  // LEAT_OPS_STAGE_STAGING_CPU_H_
