// CPU kernels of staging areas in order, and what both kinds of areas share (staging_cpu.h). An
// area is a ring of tuples behind a wait queue:
//
//   Stage ─▶ waits for room ─▶ [oldest ... newest] ─▶ waits for a tuple ─▶ Unstage
//                                StagePeek(i) waits until tuple i exists, and leaves it there
//
// Waiting calls are served in any order, not first come first served as in a queue: a peek at a far
// place must not hold up an unstage behind it, nor a large tuple a small one that still fits. The
// area is found by name in each run, and made by whichever op runs first. Its tuples and |bytes|
// are touched only with the wait queue's lock held.
#include "kernel/handle.h"
#include "kernel/tuple.h"
#include "ops/kernel_rows.h"
#include "ops/queue/tuple_store_cpu.h"
#include "ops/stage/staging_cpu.h"

typedef struct area_s {
  leat_stage_area_t base;
  leat_tuple_store_t store;  // under the wait queue's lock
} area_t;

static void area_destroy(leat_resource_t* resource) {
  leat_tuple_store_deinitialize(&((area_t*)resource)->store);
  leat_stage_area_free((leat_stage_area_t*)resource);
}

static const leat_resource_kind_t kAreaKind = {.name = "Stage", .destroy = area_destroy};

// ---- The area of a node -------------------------------------------------------------------------

leat_status_t leat_stage_name_initialize(leat_kernel_creation_t* c, const char* prefix,
                                         leat_stage_name_t* out_name) {
  const leat_attr_value_t* types;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "dtypes", &types));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "capacity", &out_name->limits.capacity));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "memory_limit", &out_name->limits.memory_bytes));
  out_name->width = (int)types->count;
  leat_string_view_t container, name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "container", &container));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "shared_name", &name));
  if (name.size == 0) name = c->kernel->node_name;
  leat_arena_initialize(c->allocator, 256, &out_name->arena);
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&out_name->arena, container, &out_name->container));
  return leat_arena_print(&out_name->arena, &out_name->name, "%s%.*s", prefix, LEAT_SV_ARG(name));
}

void leat_stage_name_deinitialize(leat_stage_name_t* name) {
  if (name->arena.allocator) leat_arena_deinitialize(&name->arena);
}

static leat_status_t stage_create(leat_kernel_creation_t* c, void* state) {
  return leat_stage_name_initialize(c, "", state);
}

static void stage_destroy(void* state) { leat_stage_name_deinitialize(state); }

leat_status_t leat_stage_area_create(const leat_stage_name_t* name,
                                     const leat_resource_kind_t* kind, size_t area_bytes,
                                     void** out_area) {
  leat_stage_area_t* area;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), area_bytes, (void**)&area));
  area->resource.kind = kind;
  area->resource.references = 1;
  area->limits = name->limits;
  area->width = name->width;
  leat_wait_queue_initialize(&area->resource, &area->wait_queue);
  area->wait_queue.any_order = true;
  *out_area = area;
  return leat_ok_status();
}

void leat_stage_area_free(leat_stage_area_t* area) {
  leat_wait_queue_deinitialize(&area->wait_queue);
  leat_allocator_free(leat_allocator_system(), area);
}

// Makes the area of the first op that asks for it; its limits hold for all ops of the name.
static leat_status_t make_area(void* data, leat_resource_t** out_resource) {
  const leat_stage_name_t* name = data;
  area_t* area;
  LEAT_RETURN_IF_ERROR(leat_stage_area_create(name, &kAreaKind, sizeof *area, (void**)&area));
  leat_tuple_store_initialize(name->width, false, &area->store);
  *out_resource = &area->base.resource;
  return leat_ok_status();
}

// Finds or makes the node's area and checks that its tuples are as wide as the node's.
static leat_status_t find_area(leat_kernel_context_t* c, area_t** out_area) {
  leat_stage_name_t* name = leat_kernel_state(c);
  LEAT_RETURN_IF_ERROR(leat_resource_manager_find_or_make(
      c->services->resources, name->container, name->name, &kAreaKind, make_area, name,
      (leat_resource_t**)out_area));
  if ((*out_area)->base.width == name->width) return leat_ok_status();
  leat_status_t status = leat_kernel_invalid(c, "Mismatch stage/unstage: %d vs. %d",
                                             (*out_area)->base.width, name->width);
  leat_resource_release(&(*out_area)->base.resource);
  return status;
}

// ---- Waiting ------------------------------------------------------------------------------------

// One call of Stage, Unstage or StagePeek, while it is tried or waits.
typedef struct stage_attempt_s {
  leat_attempt_t base;
  area_t* area;
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_tuple_t tuple;
  int64_t bytes;
  int64_t index;  // of a peek
} stage_attempt_t;

int64_t leat_stage_bytes(const leat_tensor_t* tuple, int width) {
  int64_t bytes = 0;
  for (int i = 0; i < width; ++i) bytes += (int64_t)leat_tensor_size_bytes(&tuple[i]);
  return bytes;
}

// A limit of 0 or less is none.
bool leat_stage_has_room(const leat_stage_limits_t* limits, int64_t count, int64_t used_bytes,
                         int64_t bytes) {
  if (limits->capacity > 0 && count >= limits->capacity) return false;
  return limits->memory_bytes <= 0 || used_bytes + bytes <= limits->memory_bytes;
}

leat_status_t leat_stage_check_bytes(const leat_stage_limits_t* limits, int64_t bytes) {
  if (limits->memory_bytes <= 0 || bytes <= limits->memory_bytes) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "Attempted to insert tensors with combined size of '%lld' bytes into "
                          "Staging Area with a memory limit of '%lld'.",
                          (long long)bytes, (long long)limits->memory_bytes);
}

// The three attempts run with the wait queue's lock held. LEAT_PASSAGE_WAITS leaves the call in its
// line until another call has changed the area.
static leat_passage_t attempt_stage(leat_attempt_t* self) {
  stage_attempt_t* a = (stage_attempt_t*)self;
  area_t* area = a->area;
  if (!leat_stage_has_room(&area->base.limits, area->store.count, area->base.bytes, a->bytes)) {
    return LEAT_PASSAGE_WAITS;
  }
  self->status = leat_tuple_store_reserve(&area->store);
  if (self->status) return LEAT_PASSAGE_DONE;
  leat_tuple_store_push_back(&area->store, leat_tuple_items(&a->tuple));
  area->base.bytes += a->bytes;
  return LEAT_PASSAGE_DONE;
}

static leat_passage_t attempt_unstage(leat_attempt_t* self) {
  stage_attempt_t* a = (stage_attempt_t*)self;
  area_t* area = a->area;
  if (area->store.count == 0) return LEAT_PASSAGE_WAITS;
  leat_tensor_t* tuple = leat_tuple_items(&a->tuple);
  leat_tuple_store_pop_front(&area->store, tuple);
  area->base.bytes -= leat_stage_bytes(tuple, area->base.width);
  return LEAT_PASSAGE_DONE;
}

static leat_passage_t attempt_peek(leat_attempt_t* self) {
  stage_attempt_t* a = (stage_attempt_t*)self;
  area_t* area = a->area;
  if (a->index >= area->store.count) return LEAT_PASSAGE_WAITS;
  const leat_tensor_t* row = leat_tuple_store_row(&area->store, a->index);
  leat_tensor_t* tuple = leat_tuple_items(&a->tuple);
  for (int i = 0; i < area->base.width; ++i) tuple[i] = leat_tensor_share(&row[i]);
  return LEAT_PASSAGE_DONE;
}

// Runs with the lock free. A Stage has no outputs; what is left in |tuple| is released.
static void finish_stage(leat_attempt_t* self) {
  stage_attempt_t* a = (stage_attempt_t*)self;
  int width = a->area->base.width;
  leat_kernel_context_t* c = a->context;
  leat_tensor_t* tuple = leat_tuple_items(&a->tuple);
  for (int i = 0; !self->status && i < c->kernel->output_count; ++i) {
    leat_kernel_set_output(c, i, leat_tensor_move(&tuple[i]));
  }
  leat_tuple_deinitialize(&a->tuple, width);
  a->done(c, self->status);
}

// Prepares a call and lets it enter |line| with |attempt|. When that fails, the kernel ends here.
static void enter(leat_kernel_context_t* c, leat_kernel_done_fn_t done, leat_line_t line,
                  leat_passage_t (*attempt)(leat_attempt_t* self), int64_t index) {
  stage_attempt_t a = {.base = leat_attempt_of(c, sizeof(stage_attempt_t)),
                       .context = c,
                       .done = done,
                       .index = index};
  a.base.attempt = attempt;
  a.base.finish = finish_stage;
  leat_status_t status = find_area(c, &a.area);
  if (status) {
    done(c, status);
    return;
  }
  area_t* area = a.area;
  int width = area->base.width;
  if (line == LEAT_LINE_IN) {
    status = leat_tuple_keep_inputs(c, 0, width, &a.tuple);
    if (!status) {
      a.bytes = leat_stage_bytes(leat_tuple_items(&a.tuple), width);
      status = leat_stage_check_bytes(&area->base.limits, a.bytes);
      if (status) leat_tuple_deinitialize(&a.tuple, width);
    }
  } else {
    status = leat_tuple_initialize(width, &a.tuple);
  }
  if (status) {
    done(c, status);
  } else {
    leat_wait_queue_enter(&area->base.wait_queue, line, &a.base);
  }
  leat_resource_release(&area->base.resource);
}

static void stage__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  enter(c, done, LEAT_LINE_IN, attempt_stage, 0);
}

static void unstage__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  enter(c, done, LEAT_LINE_OUT, attempt_unstage, 0);
}

static void peek__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  const leat_tensor_t* index = leat_kernel_input(c, 0);
  if (index->shape.rank != 0) {
    done(c, leat_kernel_invalid(c, "index must be scalar"));
    return;
  }
  int64_t place = *leat_tensor_data(index, const int32_t);
  if (place < 0) {
    done(c, leat_kernel_invalid(c, "index is %lld, must be >= 0", (long long)place));
    return;
  }
  enter(c, done, LEAT_LINE_OUT, attempt_peek, place);
}

// ---- The rest -----------------------------------------------------------------------------------

static leat_status_t size__cpu(leat_kernel_context_t* c) {
  area_t* area;
  LEAT_RETURN_IF_ERROR(find_area(c, &area));
  leat_mutex_lock(&area->base.wait_queue.mutex);
  int64_t size = area->store.count;
  leat_mutex_unlock(&area->base.wait_queue.mutex);
  leat_resource_release(&area->base.resource);
  return leat_kernel_set_output_int32(c, 0, size);
}

// Runs with the lock held; calls that wait for room try again after it.
static void clear(void* data) {
  area_t* area = data;
  int width = area->base.width;
  leat_tuple_store_deinitialize(&area->store);
  leat_tuple_store_initialize(width, false, &area->store);
  area->base.bytes = 0;
}

static leat_status_t clear__cpu(leat_kernel_context_t* c) {
  area_t* area;
  LEAT_RETURN_IF_ERROR(find_area(c, &area));
  leat_wait_queue_change(&area->base.wait_queue, clear, area, 0);
  leat_resource_release(&area->base.resource);
  return leat_ok_status();
}

#define STAGE_STATE                                                                         \
  .device_type = "CPU", .create = stage_create, .destroy = stage_destroy,                   \
  .state_bytes = sizeof(leat_stage_name_t)

const leat_kernel_row_t leat_staging_kernels_cpu[] = {
    {.op = "Stage", STAGE_STATE, .compute_async = stage__cpu},
    {.op = "Unstage", STAGE_STATE, .compute_async = unstage__cpu},
    {.op = "StagePeek", STAGE_STATE, .compute_async = peek__cpu},
    {.op = "StageSize", STAGE_STATE, .compute = size__cpu},
    {.op = "StageClear", STAGE_STATE, .compute = clear__cpu},
    LEAT_KERNEL_ROWS_END,
};
