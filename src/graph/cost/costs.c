// The table of measurements: one array of measures and one map from keys to places in it. A time
// has the key "CPU\nnode", because the same node is faster elsewhere; the size of output 2 has the
// key "2\nnode". No device type is a number and no node name holds a newline, so the keys cannot
// collide.
//
//   step_stats --gather--> measure.step (sum of times, largest size) --settle--> .kept, .most
//
// A step is added in two walks, because a node may run many times in it and be listed as often: the
// first walk gathers what the step took of each thing, and the second lets that count once. Kept
// values follow an exponential average with weight 1/4. A lookup walks the chain of base tables and
// locks one at a time. A node whose key does not fit KEY_BYTES is not measured.
#include "graph/cost/cost.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/map.h"
#include "base/sync.h"
#include "formats/generated/step_stats.h"

#define NOTHING (-1)  // no value yet

// One time in nanoseconds, or one size in bytes.
typedef struct measure_s {
  int64_t kept;  // the average that placements use, or NOTHING
  int64_t most;  // the largest of all steps, or NOTHING
  int64_t step;  // what the step that is being added took so far, or NOTHING
  // Where the measure is a size, these are the type and the shape of the largest value.
  int dtype;
  int rank, capacity;  // dimensions in |dims|, and room
  int64_t* dims;
} measure_t;

struct leat_costs_s {
  leat_reference_count_t references;
  leat_allocator_t* allocator;
  leat_costs_t* base;        // retained; may be NULL
  leat_mutex_t mutex;        // guards all fields below
  leat_arena_t arena;        // keys and dims
  leat_string_map_t places;  // key -> index in |measures|
  measure_t* measures;
  size_t count, capacity;
};

leat_status_t leat_costs_create(leat_allocator_t* allocator, leat_costs_t* base,
                                leat_costs_t** out_costs) {
  leat_costs_t* costs;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &costs));
  costs->references = 1;
  costs->allocator = allocator;
  costs->base = base;
  leat_costs_retain(base);
  leat_mutex_initialize(&costs->mutex);
  leat_arena_initialize(allocator, 0, &costs->arena);
  leat_string_map_initialize(allocator, &costs->places);
  *out_costs = costs;
  return leat_ok_status();
}

void leat_costs_retain(leat_costs_t* costs) {
  if (costs) leat_reference_count_retain(&costs->references);
}

void leat_costs_release(leat_costs_t* costs) {
  if (!costs || !leat_reference_count_release(&costs->references)) return;
  leat_costs_release(costs->base);
  leat_string_map_deinitialize(&costs->places);
  leat_arena_deinitialize(&costs->arena);
  leat_allocator_free(costs->allocator, costs->measures);
  leat_mutex_deinitialize(&costs->mutex);
  leat_allocator_free(costs->allocator, costs);
}

// ---- Keys ---------------------------------------------------------------------------------------

// A longer key is replaced by the empty one, which is never measured.
#define KEY_BYTES 512
typedef struct cost_key_s { char text[KEY_BYTES]; } cost_key_t;

static leat_string_view_t view(const cost_key_t* key, int size) {
  return leat_string_view_make(key->text, size > 0 && size < KEY_BYTES ? (size_t)size : 0);
}

static leat_string_view_t time_key(leat_string_view_t device_type, leat_string_view_t node,
                                   cost_key_t* key) {
  return view(key, snprintf(key->text, KEY_BYTES, "%.*s\n%.*s", LEAT_SV_ARG(device_type),
                            LEAT_SV_ARG(node)));
}

static leat_string_view_t size_key(int output, leat_string_view_t node, cost_key_t* key) {
  return view(key, snprintf(key->text, KEY_BYTES, "%d\n%.*s", output, LEAT_SV_ARG(node)));
}

// NULL: nothing was measured. Called with the mutex held.
static measure_t* find(const leat_costs_t* costs, leat_string_view_t key) {
  uint64_t place;
  if (key.size == 0 || !leat_string_map_get(&costs->places, key, &place)) return NULL;
  LEAT_DCHECK(place < costs->count);
  return &costs->measures[place];
}

static bool get(leat_costs_t* costs, leat_string_view_t key, int64_t* out_value) {
  bool known = false;
  for (; costs && !known; costs = costs->base) {
    leat_mutex_lock(&costs->mutex);
    const measure_t* measure = find(costs, key);
    known = measure != NULL;
    if (known) *out_value = measure->kept;
    leat_mutex_unlock(&costs->mutex);
  }
  return known;
}

bool leat_costs_time(leat_costs_t* costs, leat_string_view_t node, leat_string_view_t device_type,
                     int64_t* out_ns) {
  cost_key_t key;
  return get(costs, time_key(device_type, node, &key), out_ns);
}

bool leat_costs_size(leat_costs_t* costs, leat_string_view_t node, int output,
                     int64_t* out_bytes) {
  cost_key_t key;
  return get(costs, size_key(output, node, &key), out_bytes);
}

int64_t leat_costs_most_ns(leat_costs_t* costs, leat_string_view_t node,
                           leat_string_view_t device_type) {
  cost_key_t key;
  leat_mutex_lock(&costs->mutex);
  const measure_t* measure = find(costs, time_key(device_type, node, &key));
  int64_t most = measure ? measure->most : 0;
  leat_mutex_unlock(&costs->mutex);
  return most;
}

leat_status_t leat_costs_largest(leat_costs_t* costs, leat_string_view_t node, int output,
                                 leat_arena_t* arena, leat_costs_value_t* out_value) {
  cost_key_t key;
  leat_status_t status = leat_ok_status();
  *out_value = (leat_costs_value_t){.shape = leat_partial_shape_unknown()};
  leat_mutex_lock(&costs->mutex);
  const measure_t* measure = find(costs, size_key(output, node, &key));
  if (measure) {
    out_value->bytes = measure->most;
    out_value->dtype = measure->dtype;
    status = leat_partial_shape_create(measure->rank, measure->dims, arena, &out_value->shape);
  }
  leat_mutex_unlock(&costs->mutex);
  return status;
}

// ---- Adding a step ------------------------------------------------------------------------------

// |*out_measure| is NULL only for the empty key. Called with the mutex held; a measure moves when
// another one is added.
static leat_status_t find_or_add(leat_costs_t* costs, leat_string_view_t key,
                                 measure_t** out_measure) {
  *out_measure = find(costs, key);
  if (*out_measure || key.size == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(costs->allocator, costs->count + 1, &costs->measures, &costs->capacity));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&costs->arena, key, &key));
  LEAT_RETURN_IF_ERROR(leat_string_map_set(&costs->places, key, costs->count));
  *out_measure = &costs->measures[costs->count++];
  **out_measure = (measure_t){.kept = NOTHING, .most = NOTHING, .step = NOTHING};
  return leat_ok_status();
}

// Remembers type and shape of the value that is the largest so far.
static leat_status_t note_shape(leat_costs_t* costs, measure_t* measure,
                                const leat_pb_tensor_description_t* tensor) {
  const leat_pb_tensor_shape_proto_t* shape = tensor->shape;
  int rank = shape ? (int)shape->dim.count : 0;
  if (rank > measure->capacity) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&costs->arena, (size_t)rank, &measure->dims));
    measure->capacity = rank;
  }
  measure->rank = rank;
  measure->dtype = tensor->dtype;
  for (int i = 0; i < rank; ++i) measure->dims[i] = shape->dim.items[i].size;
  return leat_ok_status();
}

static leat_status_t gather_output(leat_costs_t* costs, leat_string_view_t node,
                                   const leat_pb_node_output_t* output) {
  const leat_pb_tensor_description_t* tensor = output->tensor_description;
  cost_key_t key;
  measure_t* size;
  if (!tensor || !tensor->allocation_description) return leat_ok_status();
  int64_t bytes = tensor->allocation_description->requested_bytes;
  // Sizes come from clients too. A negative one is none, and an entry without a value would hide
  // what the base tables know.
  if (bytes < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(find_or_add(costs, size_key(output->slot, node, &key), &size));
  if (!size) return leat_ok_status();
  size->step = LEAT_MAX(size->step, bytes);
  if (bytes <= size->most) return leat_ok_status();
  size->most = bytes;
  return note_shape(costs, size, tensor);
}

// The time of one run; older RunMetadata has microseconds only. Numbers of a client that make no
// time count as 0.
static int64_t time_of(const leat_pb_node_exec_stats_t* node) {
  int64_t time_ns, time_us;
  if (__builtin_sub_overflow(node->op_end_rel_nanos, node->op_start_rel_nanos, &time_ns)) return 0;
  if (time_ns) return LEAT_MAX(time_ns, 0);
  if (__builtin_sub_overflow(node->op_end_rel_micros, node->op_start_rel_micros, &time_us) ||
      !leat_checked_multiply(time_us, INT64_C(1000), &time_ns)) {
    return 0;
  }
  return LEAT_MAX(time_ns, 0);
}

static leat_status_t gather_node(leat_costs_t* costs, leat_string_view_t device_type,
                                 const leat_pb_node_exec_stats_t* node) {
  cost_key_t key;
  measure_t* time;
  LEAT_RETURN_IF_ERROR(
      find_or_add(costs, time_key(device_type, node->node_name, &key), &time));
  if (time) time->step = LEAT_MAX(time->step, 0) + time_of(node);
  for (size_t i = 0; i < node->output.count; ++i) {
    LEAT_RETURN_IF_ERROR(gather_output(costs, node->node_name, &node->output.items[i]));
  }
  return leat_ok_status();
}

// Lets what the step took of one thing count.
static void settle(measure_t* measure) {
  LEAT_DCHECK(measure->step >= NOTHING);
  if (measure->step == NOTHING) return;
  measure->most = LEAT_MAX(measure->most, measure->step);
  measure->kept = measure->kept == NOTHING
                      ? measure->step
                      : measure->kept + (measure->step - measure->kept) / 4;
  measure->step = NOTHING;
}

// The device type in a device's name: "CPU" of "/job:worker/device:CPU:0".
static leat_string_view_t type_of(leat_string_view_t device) {
  const char kLabel[] = "device:";
  size_t length = sizeof kLabel - 1;
  for (size_t i = 0; i + length < device.size; ++i) {
    if (memcmp(device.data + i, kLabel, length) != 0) continue;
    leat_string_view_t type = leat_string_view_from_index(device, i + length);
    size_t end = leat_string_view_find(type, ':');
    if (end != SIZE_MAX) type.size = end;
    return type;
  }
  return LEAT_SV("CPU");
}

static leat_status_t gather(leat_costs_t* costs, const leat_pb_step_stats_t* stats) {
  for (size_t d = 0; d < stats->dev_stats.count; ++d) {
    const leat_pb_device_step_stats_t* device = &stats->dev_stats.items[d];
    for (size_t i = 0; i < device->node_stats.count; ++i) {
      LEAT_RETURN_IF_ERROR(
          gather_node(costs, type_of(device->device), &device->node_stats.items[i]));
    }
  }
  return leat_ok_status();
}

leat_status_t leat_costs_add_step(leat_costs_t* costs, const leat_pb_step_stats_t* stats) {
  leat_mutex_lock(&costs->mutex);
  leat_status_t status = gather(costs, stats);
  for (size_t i = 0; i < costs->count; ++i) settle(&costs->measures[i]);
  leat_mutex_unlock(&costs->mutex);
  return status;
}
