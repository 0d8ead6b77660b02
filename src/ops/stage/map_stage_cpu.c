// CPU kernels of staging areas by key (MapStage, OrderedMapStage). A call may stage only some
// components of a key's tuple. Such a tuple stands in the map of incomplete ones until all its
// components are there, and then moves to the map of complete ones:
//
//   MapStage(key, some components) ─▶ incomplete ─┐ the last component came
//   MapStage(key, all components)  ───────────────┴▶ complete ─▶ MapPeek, MapUnstage(key)
//                                                             ─▶ MapUnstageNoKey: any (or smallest)
//
// Only calls that stage a whole tuple wait for the capacity, which counts complete tuples. Calls
// with some components do not, since others may be waiting for the tuple that they complete. The
// limit of memory holds for both. An unstage may take some components and leave the others; the
// tuple is removed with its last component. An area whose ops are OrderedMap... gives the smallest
// key first, any other the tuple that was completed first. The calls wait in the wait queue of the
// area, whose lock also guards the maps.
#include "kernel/handle.h"
#include "kernel/tuple.h"
#include "ops/kernel_rows.h"
#include "ops/queue/tuple_map_cpu.h"
#include "ops/stage/staging_cpu.h"

typedef struct area_s {
  leat_stage_area_t base;
  // Under the wait queue's lock.
  leat_tuple_map_t complete;
  leat_tuple_map_t incomplete;
} area_t;

static void area_destroy(leat_resource_t* resource) {
  area_t* area = (area_t*)resource;
  leat_tuple_map_deinitialize(&area->complete);
  leat_tuple_map_deinitialize(&area->incomplete);
  leat_stage_area_free(&area->base);
}

static const leat_resource_kind_t kAreaKind = {.name = "MapStage", .destroy = area_destroy};

typedef struct stage_s {
  leat_stage_name_t name;
  bool ordered;
} stage_t;

static leat_status_t map_create(leat_kernel_creation_t* c, void* state) {
  return leat_stage_name_initialize(c, "", &((stage_t*)state)->name);
}

static leat_status_t ordered_create(leat_kernel_creation_t* c, void* state) {
  ((stage_t*)state)->ordered = true;
  return leat_stage_name_initialize(c, "ordered:", &((stage_t*)state)->name);
}

static void stage_destroy(void* state) {
  leat_stage_name_deinitialize(&((stage_t*)state)->name);
}

static leat_status_t make_area(void* data, leat_resource_t** out_resource) {
  const stage_t* stage = data;
  const int width = stage->name.width;
  area_t* area;
  LEAT_RETURN_IF_ERROR(
      leat_stage_area_create(&stage->name, &kAreaKind, sizeof *area, (void**)&area));
  leat_tuple_map_initialize(width, stage->ordered, &area->complete);
  leat_tuple_map_initialize(width, false, &area->incomplete);
  *out_resource = &area->base.resource;
  return leat_ok_status();
}

static leat_status_t find_area(leat_kernel_context_t* c, area_t** out_area) {
  stage_t* stage = leat_kernel_state(c);
  return leat_resource_manager_find_or_make(c->services->resources, stage->name.container,
                                            stage->name.name, &kAreaKind, make_area, stage,
                                            (leat_resource_t**)out_area);
}

// ---- Calls --------------------------------------------------------------------------------------

typedef enum { CALL_STAGE, CALL_PEEK, CALL_UNSTAGE, CALL_UNSTAGE_ANY } call_t;

typedef struct map_attempt_s {
  leat_attempt_t base;
  area_t* area;
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  call_t call;
  int64_t key;
  const int32_t* indices;  // of the components, ascending; borrowed from the kernel's input
  int count;               // of indices and of values
  leat_tuple_t values;     // put in or taken out, by place in |indices|
  int64_t bytes;
} map_attempt_t;

static leat_passage_t fail(map_attempt_t* a, leat_status_t status) {
  a->base.status = status;
  return LEAT_PASSAGE_DONE;
}

static leat_string_view_t key_view(const int64_t* key) {
  return leat_string_view_make((const char*)key, sizeof *key);
}

static leat_status_t check_index(const map_attempt_t* a, int index) {
  if (index >= 0 && index < a->area->base.width) return leat_ok_status();
  return leat_kernel_invalid(a->context, "Index '%d' for key '%lld' was out of bounds '%d'.", index,
                             (long long)a->key, a->area->base.width);
}

// Moves the values into the tuple of |entry|, all or none: each place must be empty.
static leat_status_t fill_entry(map_attempt_t* a, leat_tuple_entry_t* entry) {
  leat_tensor_t* values = leat_tuple_items(&a->values);
  for (int i = 0; i < a->count; ++i) {
    LEAT_RETURN_IF_ERROR(check_index(a, a->indices[i]));
    if (entry->tuple[a->indices[i]].dtype) {
      return leat_kernel_invalid(a->context,
                                 "The tensor for index '%d' for key '%lld' was already "
                                 "initialized '%d'.",
                                 a->indices[i], (long long)a->key, a->area->base.width);
    }
  }
  for (int i = 0; i < a->count; ++i) entry->tuple[a->indices[i]] = leat_tensor_move(&values[i]);
  a->area->base.bytes += a->bytes;
  return leat_ok_status();
}

// Moves |tuple| into the map of complete tuples and counts its |bytes|. As in TensorFlow, a key
// that is there already keeps its tuple, without an error. The new tuple is then dropped and,
// unlike there, not counted: no unstage would ever take its bytes off again, and the area would
// fill up.
static leat_status_t add_complete(map_attempt_t* a, leat_tensor_t* tuple, int64_t bytes) {
  area_t* area = a->area;
  leat_string_view_t key = key_view(&a->key);
  if (leat_tuple_map_find(&area->complete, key)) return leat_ok_status();
  leat_tuple_entry_t* entry;
  LEAT_RETURN_IF_ERROR(leat_tuple_map_add(&area->complete, key, a->key, &entry));
  for (int i = 0; i < area->base.width; ++i) entry->tuple[i] = leat_tensor_move(&tuple[i]);
  area->base.bytes += bytes;
  return leat_ok_status();
}

// Stages some components of a tuple, which moves to the complete ones when none is missing.
static leat_status_t stage_part(map_attempt_t* a) {
  area_t* area = a->area;
  leat_tuple_entry_t* entry = leat_tuple_map_find(&area->incomplete, key_view(&a->key));
  bool is_new = !entry;
  if (is_new) {
    LEAT_RETURN_IF_ERROR(leat_tuple_map_add(&area->incomplete, key_view(&a->key), a->key, &entry));
  }
  leat_status_t status = fill_entry(a, entry);
  if (status && is_new) leat_tuple_map_remove(&area->incomplete, entry);
  if (status) return status;
  for (int i = 0; i < area->base.width; ++i) {
    if (!entry->tuple[i].dtype) return leat_ok_status();
  }
  int64_t bytes = leat_stage_bytes(entry->tuple, area->base.width);
  status = add_complete(a, entry->tuple, bytes);
  area->base.bytes -= bytes;  // those of the incomplete tuple, which ends here
  leat_tuple_map_remove(&area->incomplete, entry);
  return status;
}

static leat_passage_t attempt_stage(leat_attempt_t* self) {
  map_attempt_t* a = (map_attempt_t*)self;
  area_t* area = a->area;
  bool whole = a->count == area->base.width;
  int64_t count = whole ? area->complete.count : -1;
  if (!leat_stage_has_room(&area->base.limits, count, area->base.bytes, a->bytes)) {
    return LEAT_PASSAGE_WAITS;
  }
  if (!whole) return fail(a, stage_part(a));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < a->count && !status; ++i) status = check_index(a, a->indices[i]);
  if (!status) status = add_complete(a, leat_tuple_items(&a->values), a->bytes);
  return fail(a, status);
}

// Checks that the components at |a->indices| are in |entry| and are what the node's outputs take.
static leat_status_t check_values(const map_attempt_t* a, const leat_tuple_entry_t* entry) {
  const leat_kernel_context_t* c = a->context;
  int first = a->call == CALL_UNSTAGE_ANY;  // output 0 is then the key
  if (a->count != c->kernel->output_count - first) {
    return leat_kernel_invalid(c, "output/values size mismatch: %d vs. %d",
                               c->kernel->output_count - first, a->count);
  }
  for (int i = 0; i < a->count; ++i) {
    LEAT_RETURN_IF_ERROR(check_index(a, a->indices[i]));
    int32_t dtype = entry->tuple[a->indices[i]].dtype;
    if (!dtype) {
      return leat_kernel_invalid(c, "Tensor at index '%d' for key '%lld' has already been removed.",
                                 a->indices[i], (long long)entry->number);
    }
    if (dtype != (int32_t)leat_dtype_base(c->kernel->output_types[first + i])) {
      return leat_kernel_invalid(c, "value %d is %s, must be %s", i, leat_dtype_name(dtype),
                                 leat_dtype_name(c->kernel->output_types[first + i]));
    }
  }
  return leat_ok_status();
}

// Moves the components at |a->indices| out of |entry|, or shares them for a peek. All or none:
// an unstage that fails leaves the tuple as it was, where TensorFlow's loses the components that it
// had taken before the one at which it fails.
static leat_status_t take_values(map_attempt_t* a, leat_tuple_entry_t* entry) {
  bool keeps = a->call == CALL_PEEK;
  leat_tensor_t* values = leat_tuple_items(&a->values);
  LEAT_RETURN_IF_ERROR(check_values(a, entry));
  for (int i = 0; i < a->count; ++i) {
    leat_tensor_t* value = &entry->tuple[a->indices[i]];
    values[i] = keeps ? leat_tensor_share(value) : leat_tensor_move(value);
  }
  return leat_ok_status();
}

static leat_passage_t attempt_take(leat_attempt_t* self) {
  map_attempt_t* a = (map_attempt_t*)self;
  area_t* area = a->area;
  leat_tuple_entry_t* entry = a->call == CALL_UNSTAGE_ANY
                                  ? leat_tuple_map_first(&area->complete)
                                  : leat_tuple_map_find(&area->complete, key_view(&a->key));
  if (!entry) return LEAT_PASSAGE_WAITS;
  leat_status_t status = take_values(a, entry);
  if (status || a->call == CALL_PEEK) return fail(a, status);
  a->key = entry->number;
  area->base.bytes -= leat_stage_bytes(leat_tuple_items(&a->values), a->count);
  bool is_empty = true;
  for (int i = 0; i < area->base.width; ++i) is_empty = is_empty && !entry->tuple[i].dtype;
  if (is_empty) leat_tuple_map_remove(&area->complete, entry);
  return LEAT_PASSAGE_DONE;
}

static leat_status_t set_outputs(map_attempt_t* a) {
  leat_kernel_context_t* c = a->context;
  leat_tensor_t* values = leat_tuple_items(&a->values);
  int first = a->call == CALL_UNSTAGE_ANY;
  if (first) {
    leat_tensor_t key;
    LEAT_RETURN_IF_ERROR(leat_tensor_scalar(LEAT_DTYPE_INT64, &a->key, &key));
    leat_kernel_set_output(c, 0, key);
  }
  for (int i = 0; i < a->count; ++i) {
    leat_kernel_set_output(c, first + i, leat_tensor_move(&values[i]));
  }
  return leat_ok_status();
}

static void finish_call(leat_attempt_t* self) {
  map_attempt_t* a = (map_attempt_t*)self;
  if (!self->status && a->call != CALL_STAGE) self->status = set_outputs(a);
  leat_tuple_deinitialize(&a->values, a->count);
  a->done(a->context, self->status);
}

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t read_key(const leat_kernel_context_t* c, int64_t* out_key) {
  const leat_tensor_t* key = leat_kernel_input(c, 0);
  if (key->shape.element_count != 1) {
    return leat_kernel_invalid(c, "key must be an int64 scalar, got tensor with shape: %s",
                               LEAT_SHAPE_TEXT(&key->shape));
  }
  *out_key = *leat_tensor_data(key, const int64_t);
  return leat_ok_status();
}

// Reads the indices of the components from |input|; they must be strictly ascending, which also
// excludes duplicates.
static leat_status_t read_indices(map_attempt_t* a, int input) {
  const leat_tensor_t* indices = leat_kernel_input(a->context, input);
  int64_t count = indices->shape.element_count;
  a->indices = leat_tensor_data(indices, const int32_t);
  if (count == 0) return leat_kernel_invalid(a->context, "Indices are empty");
  for (int64_t i = 0; i + 1 < count; ++i) {
    if (a->indices[i] >= a->indices[i + 1]) {
      return leat_kernel_invalid(a->context, "Indices are not strictly ordered");
    }
  }
  if (count > a->area->base.width) return check_index(a, a->area->base.width);
  a->count = (int)count;
  return leat_ok_status();
}

// Keeps the values (inputs 2 and later), because the call may outlast the kernel's inputs.
static leat_status_t read_values(map_attempt_t* a) {
  int given = a->context->kernel->input_count - 2;
  if (given != a->count) {
    return leat_kernel_invalid(a->context, "there are %d values for %d indices, must be one each",
                               given, a->count);
  }
  LEAT_RETURN_IF_ERROR(leat_tuple_keep_inputs(a->context, 2, a->count, &a->values));
  a->bytes = leat_stage_bytes(leat_tuple_items(&a->values), a->count);
  leat_status_t status = leat_stage_check_bytes(&a->area->base.limits, a->bytes);
  if (status) leat_tuple_deinitialize(&a->values, a->count);
  return status;
}

// Finds the area, reads the inputs that |call| has, and lets the call enter the wait queue.
static void enter(leat_kernel_context_t* c, leat_kernel_done_fn_t done, call_t call) {
  map_attempt_t a = {.base = leat_attempt_of(c, sizeof(map_attempt_t)),
                     .context = c,
                     .done = done,
                     .call = call};
  bool stages = call == CALL_STAGE;
  a.base.attempt = stages ? attempt_stage : attempt_take;
  a.base.finish = finish_call;
  leat_status_t status = find_area(c, &a.area);
  if (status) {
    done(c, status);
    return;
  }
  area_t* area = a.area;
  if (call != CALL_UNSTAGE_ANY) status = read_key(c, &a.key);
  if (!status) status = read_indices(&a, call == CALL_UNSTAGE_ANY ? 0 : 1);
  if (!status) status = stages ? read_values(&a) : leat_tuple_initialize(a.count, &a.values);
  if (status) {
    done(c, status);
  } else {
    leat_wait_queue_enter(&area->base.wait_queue, stages ? LEAT_LINE_IN : LEAT_LINE_OUT, &a.base);
  }
  leat_resource_release(&area->base.resource);
}

static void stage__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  enter(c, done, CALL_STAGE);
}

static void peek__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  enter(c, done, CALL_PEEK);
}

static void unstage__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  enter(c, done, CALL_UNSTAGE);
}

static void unstage_any__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  enter(c, done, CALL_UNSTAGE_ANY);
}

static leat_status_t output_count(leat_kernel_context_t* c, bool complete) {
  area_t* area;
  LEAT_RETURN_IF_ERROR(find_area(c, &area));
  leat_mutex_lock(&area->base.wait_queue.mutex);
  int64_t count = complete ? area->complete.count : area->incomplete.count;
  leat_mutex_unlock(&area->base.wait_queue.mutex);
  leat_resource_release(&area->base.resource);
  return leat_kernel_set_output_int32(c, 0, count);
}

static leat_status_t size__cpu(leat_kernel_context_t* c) { return output_count(c, true); }

static leat_status_t incomplete_size__cpu(leat_kernel_context_t* c) {
  return output_count(c, false);
}

static void clear(void* data) {
  area_t* area = data;
  leat_tuple_map_clear(&area->complete);
  leat_tuple_map_clear(&area->incomplete);
  area->base.bytes = 0;
}

static leat_status_t clear__cpu(leat_kernel_context_t* c) {
  area_t* area;
  LEAT_RETURN_IF_ERROR(find_area(c, &area));
  leat_wait_queue_change(&area->base.wait_queue, clear, area, 0);
  leat_resource_release(&area->base.resource);
  return leat_ok_status();
}

#define MAP_STATE(create_fn)                                               \
  .device_type = "CPU", .create = create_fn, .destroy = stage_destroy,     \
  .state_bytes = sizeof(stage_t)

#define MAP_KERNELS(prefix, create_fn)                                                          \
  {.op = prefix "Stage", MAP_STATE(create_fn), .compute_async = stage__cpu},                    \
  {.op = prefix "Peek", MAP_STATE(create_fn), .compute_async = peek__cpu},                      \
  {.op = prefix "Unstage", MAP_STATE(create_fn), .compute_async = unstage__cpu},                \
  {.op = prefix "UnstageNoKey", MAP_STATE(create_fn), .compute_async = unstage_any__cpu},       \
  {.op = prefix "Size", MAP_STATE(create_fn), .compute = size__cpu},                            \
  {.op = prefix "IncompleteSize", MAP_STATE(create_fn), .compute = incomplete_size__cpu},       \
  {                                                                                             \
    .op = prefix "Clear", MAP_STATE(create_fn), .compute = clear__cpu                           \
  }

const leat_kernel_row_t leat_map_stage_kernels_cpu[] = {
    MAP_KERNELS("Map", map_create),
    MAP_KERNELS("OrderedMap", ordered_create),
    LEAT_KERNEL_ROWS_END,
};
