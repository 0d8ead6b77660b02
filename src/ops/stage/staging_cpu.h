// The base of both kinds of staging areas, which are buffers between the parts of a pipeline (Stage
// and Unstage in order, MapStage by key): how a node names its area, the limits of an area, and the
// wait queue of its calls. The nodes of one container and shared name share an area. An area is a
// reference-counted resource; its calls may come from any thread and wait without blocking one.
#ifndef LEAT_OPS_STAGE_STAGING_CPU_H_
#define LEAT_OPS_STAGE_STAGING_CPU_H_

#include "base/arena.h"
#include "kernel/kernel.h"
#include "kernel/wait_queue.h"

// What an area may hold. A call that would exceed a limit waits until others have taken enough.
typedef struct leat_stage_limits_s {
  int64_t capacity;      // tuples; 0: unbounded
  int64_t memory_bytes;  // 0: unbounded
} leat_stage_limits_t;

// The attributes of a node that name its area; the state of the node's kernel. The strings lie in
// |arena|.
typedef struct leat_stage_name_s {
  leat_arena_t arena;
  leat_string_view_t container;
  leat_string_view_t name;
  leat_stage_limits_t limits;
  int width;  // components of a tuple
} leat_stage_name_t;

// The base with which the struct of each kind of area begins.
typedef struct leat_stage_area_s {
  leat_resource_t resource;
  leat_wait_queue_t wait_queue;
  leat_stage_limits_t limits;
  int width;
  int64_t bytes;  // of the tuples, under the wait queue's lock
} leat_stage_area_t;
// Allocates |area_bytes| of zeros and initializes the base in them, with one reference. |kind|'s
// destroy function must end with leat_stage_area_free. RESOURCE_EXHAUSTED without memory.
LEAT_MUST_USE leat_status_t leat_stage_area_create(const leat_stage_name_t* name,
                                                   const leat_resource_kind_t* kind,
                                                   size_t area_bytes, void** out_area);
// Ends the base and frees the area's memory. The kind's own destroy function releases the tuples
// first.
void leat_stage_area_free(leat_stage_area_t* area);

// Reads the attributes. |prefix| is put before the name, so that areas of different kinds do not
// meet.
LEAT_MUST_USE leat_status_t leat_stage_name_initialize(leat_kernel_creation_t* c,
                                                       const char* prefix,
                                                       leat_stage_name_t* out_name);
// Frees the strings; a zeroed name is allowed.
void leat_stage_name_deinitialize(leat_stage_name_t* name);
// The bytes of |width| tensors together.
int64_t leat_stage_bytes(const leat_tensor_t* tuple, int width);
// Whether |bytes| more fit into an area that holds |count| tuples and |used_bytes|. A |count| of -1
// passes any capacity.
bool leat_stage_has_room(const leat_stage_limits_t* limits, int64_t count, int64_t used_bytes,
                         int64_t bytes);
// RESOURCE_EXHAUSTED when |bytes| would not fit even into an empty area, so that a call that could
// never be served fails instead of waiting forever.
LEAT_MUST_USE leat_status_t leat_stage_check_bytes(const leat_stage_limits_t* limits,
                                                   int64_t bytes);

#endif  // LEAT_OPS_STAGE_STAGING_CPU_H_
