// Profilers of plug-ins. A step that is traced is run between their start and stop, and what they
// then give as an XSpace becomes part of the step's statistics: a line of a plane is a device, and
// its events are nodes.
//
//   XPlane "stream executor" ─ XLine "kernels" ─ XEvent "MatMul", offset, duration
//     ▼
//   DeviceStepStats "/device:NPU:stream executor/kernels" ─ NodeExecStats "MatMul", start, end
//
// A profiler looks at a whole device and not at a step, so that one step at a time has them;
// another that is traced meanwhile goes without. A profiler that fails is told to the log and has
// no part in the step, which must not fail for the sake of being watched. The checks of the structs
// and their texts are TensorFlow's.
#include "capi/plugin/profiler.h"

#include "base/checked.h"
#include "base/log.h"
#include "capi/plugin/plugin_device.h"
#include "formats/generated/xplane.h"
#include "formats/wire/decode.h"

typedef struct profiler_s {
  struct profiler_s* next;
  bool has_started;  // and not failed since
  LEAT_ROOM_FOR(TP_Profiler, profiler);
  LEAT_ROOM_FOR(TP_ProfilerFns, fns);
} profiler_t;

static leat_mutex_t profilers_mutex = {PTHREAD_MUTEX_INITIALIZER};
static profiler_t* profilers;
static bool is_profiling;  // a step has them, or is to collect what they saw

// ---- Registration -------------------------------------------------------------------------------

static leat_status_t check(const TF_ProfilerRegistrationParams* params, const profiler_t* p) {
  const struct {
    bool is_set;
    const char *member, *name;
  } kMembers[] = {
      {params->destroy_profiler, "destroy_profiler", "TF_ProfilerRegistrationParams"},
      {params->destroy_profiler_fns, "destroy_profiler_fns", "TF_ProfilerRegistrationParams"},
      {p->profiler.device_type, "device_type", "TP_Profiler"},
      {p->fns.start, "start", "TP_ProfilerFns"},
      {p->fns.stop, "stop", "TP_ProfilerFns"},
      {p->fns.collect_data_xspace, "collect_data_xspace", "TP_ProfilerFns"},
  };
  LEAT_RETURN_IF_ERROR(leat_plugin_check_size(
      params->struct_size, TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE,
      "TF_ProfilerRegistrationParams", "TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE"));
  LEAT_RETURN_IF_ERROR(leat_plugin_check_size(p->profiler.struct_size, TP_PROFILER_STRUCT_SIZE,
                                              "TP_Profiler", "TP_PROFILER_STRUCT_SIZE"));
  LEAT_RETURN_IF_ERROR(leat_plugin_check_size(p->fns.struct_size, TP_PROFILER_FNS_STRUCT_SIZE,
                                              "TP_ProfilerFns", "TP_PROFILER_FNS_STRUCT_SIZE"));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kMembers); ++i) {
    LEAT_RETURN_IF_ERROR(leat_plugin_check_member(kMembers[i].is_set, kMembers[i].member,
                                                  kMembers[i].name));
  }
  return leat_plugin_check_type(p->profiler.device_type);
}

leat_status_t leat_plugin_profiler_register(leat_init_profiler_fn_t initialize) {
  TF_Status status = {0};
  profiler_t* p = leat_capi_allocate(sizeof *p);
  if (!p) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a profiler ran out");
  LEAT_ROOM_FOR(TF_ProfilerRegistrationParams, params) given = {
      .params = {.struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE,
                 .major_version = TP_MAJOR,
                 .minor_version = TP_MINOR,
                 .patch_version = TP_PATCH,
                 .profiler = &p->profiler,
                 .profiler_fns = &p->fns}};
  p->profiler.struct_size = TP_PROFILER_STRUCT_SIZE;
  p->fns.struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  initialize(&given.params, &status);
  leat_status_t result = leat_capi_status_take(&status);
  if (!result) result = check(&given.params, p);
  if (result) {
    leat_allocator_free(leat_allocator_system(), p);
    return result;
  }
  leat_mutex_lock(&profilers_mutex);
  p->next = profilers;
  profilers = p;
  leat_mutex_unlock(&profilers_mutex);
  return leat_ok_status();
}

// ---- A step -------------------------------------------------------------------------------------

// Takes what a profiler's function left. Returns whether it succeeded.
static bool succeeded(const profiler_t* p, const char* function, TF_Status* status) {
  leat_status_t result = leat_capi_status_take(status);
  if (result) {
    leat_log(LEAT_LOG_WARNING, "The profiler for devices of type %s failed in %s: %s",
             p->profiler.device_type, function, leat_status_message(result));
  }
  leat_status_free(result);
  return !result;
}

bool leat_plugin_profilers_start(void) {
  leat_mutex_lock(&profilers_mutex);
  const bool starts = profilers && !is_profiling;
  if (starts) is_profiling = true;
  for (profiler_t* p = profilers; p && starts; p = p->next) {
    TF_Status status = {0};
    p->fns.start(&p->profiler, &status);
    p->has_started = succeeded(p, "start", &status);
  }
  leat_mutex_unlock(&profilers_mutex);
  return starts;
}

void leat_plugin_profilers_stop(void) {
  leat_mutex_lock(&profilers_mutex);
  for (profiler_t* p = profilers; p; p = p->next) {
    TF_Status status = {0};
    if (!p->has_started) continue;
    p->fns.stop(&p->profiler, &status);
    p->has_started = succeeded(p, "stop", &status);
  }
  leat_mutex_unlock(&profilers_mutex);
}

// ---- What they saw ------------------------------------------------------------------------------

static leat_string_view_t name_of(const leat_pb_x_plane_t* plane, int64_t metadata_id) {
  for (size_t i = 0; i < plane->event_metadata.count; ++i) {
    const leat_pb_x_plane_event_metadata_entry_t* entry = &plane->event_metadata.items[i];
    if (entry->key != metadata_id || !entry->value) continue;
    return entry->value->display_name.size ? entry->value->display_name : entry->value->name;
  }
  return LEAT_SV("unknown");
}

// Makes |out_node| of an event that lies at a time. One that only counts is left at the line's.
static void describe_event(const leat_pb_x_plane_t* plane, const leat_pb_x_line_t* line,
                           const leat_pb_x_event_t* event, leat_pb_node_exec_stats_t* out_node) {
  const int64_t start_ns = line->timestamp_ns + event->offset_ps / 1000;
  const int64_t duration_ns = event->duration_ps / 1000;
  *out_node = (leat_pb_node_exec_stats_t){.node_name = name_of(plane, event->metadata_id),
                                          .all_start_micros = start_ns / 1000,
                                          .op_end_rel_micros = duration_ns / 1000,
                                          .all_end_rel_micros = duration_ns / 1000,
                                          .all_start_nanos = start_ns,
                                          .op_end_rel_nanos = duration_ns,
                                          .all_end_rel_nanos = duration_ns};
  out_node->timeline_label = out_node->node_name;
}

// Makes |device|, zeroed, of a line.
static leat_status_t describe_line(const profiler_t* p, const leat_pb_x_plane_t* plane,
                                   const leat_pb_x_line_t* line, leat_arena_t* arena,
                                   leat_pb_device_step_stats_t* device) {
  leat_string_view_t name = line->display_name.size ? line->display_name : line->name;
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &device->device, "/device:%s:%.*s/%.*s",
                                        p->profiler.device_type, LEAT_SV_ARG(plane->name),
                                        LEAT_SV_ARG(name)));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, line->events.count + 1, &device->node_stats.items));
  device->node_stats.count = line->events.count;
  for (size_t i = 0; i < line->events.count; ++i) {
    describe_event(plane, line, &line->events.items[i], &device->node_stats.items[i]);
  }
  return leat_ok_status();
}

// Makes room in |stats| for |count| devices more.
static leat_status_t grow(leat_arena_t* arena, size_t count, leat_pb_step_stats_t* stats) {
  leat_pb_device_step_stats_t* items = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, stats->dev_stats.count + count, &items));
  for (size_t i = 0; i < stats->dev_stats.count; ++i) items[i] = stats->dev_stats.items[i];
  stats->dev_stats.items = items;
  return leat_ok_status();
}

// Reads the XSpace, which must live as long as the arena.
static leat_status_t add_space(const profiler_t* p, leat_string_view_t bytes, leat_arena_t* arena,
                               leat_pb_step_stats_t* stats) {
  leat_pb_x_space_t space = {.planes = {NULL, 0}};
  LEAT_RETURN_IF_ERROR(
      leat_message_decode(&leat_pb_x_space_descriptor, bytes, arena, NULL, &space));
  for (size_t i = 0; i < space.planes.count; ++i) {
    const leat_pb_x_plane_t* plane = &space.planes.items[i];
    LEAT_RETURN_IF_ERROR(grow(arena, plane->lines.count, stats));
    for (size_t k = 0; k < plane->lines.count; ++k) {
      LEAT_RETURN_IF_ERROR(describe_line(p, plane, &plane->lines.items[k], arena,
                                         &stats->dev_stats.items[stats->dev_stats.count]));
      ++stats->dev_stats.count;
    }
  }
  return leat_ok_status();
}

static leat_status_t collect(const profiler_t* p, leat_arena_t* arena,
                             leat_pb_step_stats_t* stats) {
  TF_Status status = {0};
  size_t size = 0;
  void* bytes = NULL;
  p->fns.collect_data_xspace(&p->profiler, NULL, &size, &status);
  if (!succeeded(p, "collect_data_xspace", &status) || size == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, size, &bytes));
  const size_t room = size;
  p->fns.collect_data_xspace(&p->profiler, bytes, &size, &status);
  if (!succeeded(p, "collect_data_xspace", &status)) return leat_ok_status();
  leat_status_t result =
      add_space(p, leat_string_view_make(bytes, LEAT_MIN(size, room)), arena, stats);
  if (leat_status_code(result) == LEAT_RESOURCE_EXHAUSTED) return result;
  if (result) {
    leat_log(LEAT_LOG_WARNING, "The profiler for devices of type %s gave no XSpace: %s",
             p->profiler.device_type, leat_status_message(result));
  }
  leat_status_free(result);
  return leat_ok_status();
}

leat_status_t leat_plugin_profilers_collect(leat_arena_t* arena, leat_pb_step_stats_t* stats) {
  leat_status_t status = leat_ok_status();
  leat_mutex_lock(&profilers_mutex);
  for (profiler_t* p = profilers; p; p = p->next) {
    if (!status && p->has_started) status = collect(p, arena, stats);
    p->has_started = false;
  }
  is_profiling = false;
  leat_mutex_unlock(&profilers_mutex);
  return status;
}
