// Meshes and clouds of points, as TensorBoard's plugin mesh answers for them. A mesh is up to three
// series of tensors, [samples, count, 3] each: where its vertices are, which three of them are a
// face, and which colours they have. The metadata of a series says which mesh it belongs to.
#include <stdlib.h>

#include "board/api.h"
#include "board/json_writer.h"
#include "board/tensor_list.h"
#include "formats/generated/mesh.h"
#include "formats/wire/decode.h"

enum { MESH_VERTEX = 1, MESH_FACE = 2, MESH_COLOR = 3 };
#define CONTENT_MEMORY_BYTES ((uint64_t)1 << 20)

// A series of the mesh that is asked for.
typedef struct mesh_part_s {
  leat_string_view_t tag;
  leat_pb_mesh_plugin_data_t data;
} mesh_part_t;

typedef struct mesh_part_list_s {
  mesh_part_t* items;
  size_t count;
} mesh_part_list_t;

// Reads the metadata of |series|; false where it is none.
static leat_status_t read_part(const board_series_t* series, leat_arena_t* arena,
                               mesh_part_t* out_part, bool* out_is_part) {
  leat_decode_limits_t limits = {.max_memory_bytes = CONTENT_MEMORY_BYTES};
  leat_string_view_t content;
  *out_is_part = false;
  if (strcmp(series->plugin, "mesh") || series->form != BOARD_FORM_VALUE) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, series->content, &content));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(
      arena, leat_string_view_make(series->tag, series->tag_size), &out_part->tag));
  leat_status_t status = leat_message_decode(&leat_pb_mesh_plugin_data_descriptor, content, arena,
                                             &limits, &out_part->data);
  if (leat_status_code(status) == LEAT_RESOURCE_EXHAUSTED) return status;
  *out_is_part = !status;
  leat_status_free(status);
  return leat_ok_status();
}

// The parts of the run's meshes, in the order of the run's series.
static leat_status_t read_parts(board_run_t* run, leat_arena_t* arena,
                                mesh_part_list_t* out_parts) {
  leat_status_t status = leat_ok_status();
  *out_parts = (mesh_part_list_t){0};
  board_run_lock(run);
  for (size_t i = 0; i < run->series_count && !status; ++i) {
    mesh_part_t part, *added;
    bool is_part;
    status = read_part(run->series[i], arena, &part, &is_part);
    if (status || !is_part) continue;
    status = leat_message_list_append(arena, out_parts, sizeof *added, (void**)&added);
    if (!status) *added = part;
  }
  leat_mutex_unlock(&run->lock);
  return status;
}

// ---- The index ----------------------------------------------------------------------------------
// Prints each mesh once, with the samples that its first part states.
static leat_status_t print_run(board_run_t* run, leat_arena_t* arena, bool* inout_follows,
                               leat_string_builder_t* out) {
  mesh_part_list_t parts;
  leat_string_map_t seen;
  leat_status_t status = leat_ok_status();
  LEAT_RETURN_IF_ERROR(read_parts(run, arena, &parts));
  if (!parts.count) return leat_ok_status();
  if (*inout_follows) leat_string_builder_append_char(out, ',');
  *inout_follows = true;
  board_json_string(out, leat_string_view_from(run->name));
  leat_string_builder_append(out, LEAT_SV(":{"));
  leat_string_map_initialize(leat_allocator_system(), &seen);
  for (size_t i = 0; i < parts.count && !status; ++i) {
    const leat_pb_mesh_plugin_data_t* data = &parts.items[i].data;
    bool is_new;
    status = leat_string_map_insert(&seen, data->name, 0, NULL, &is_new);
    if (status || !is_new) continue;
    if (seen.count > 1) leat_string_builder_append_char(out, ',');
    board_json_string(out, data->name);
    leat_string_builder_print(out, ":{\"samples\":%d}",
                              data->shape.count ? data->shape.items[0] : 0);
  }
  leat_string_map_deinitialize(&seen);
  leat_string_builder_append_char(out, '}');
  return status;
}

leat_status_t board_api_mesh_tags(board_api_t* api, const board_request_t* request,
                                  board_response_t* response) {
  board_run_t** runs;
  size_t count;
  bool follows = false;
  leat_status_t status = leat_ok_status();
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  leat_string_builder_append_char(&response->body, '{');
  for (size_t i = 0; i < count && !status; ++i) {
    status = print_run(runs[i], request->arena, &follows, &response->body);
  }
  leat_string_builder_append_char(&response->body, '}');
  leat_allocator_free(leat_allocator_system(), runs);
  return status;
}

// ---- The points of a mesh -----------------------------------------------------------------------
typedef struct point_s {
  const mesh_part_t* part;
  int64_t step;
  double wall_time;
} point_t;

typedef struct point_list_s {
  point_t* items;
  size_t count;
} point_list_t;

static int compare_points(const void* a, const void* b) {
  const point_t *x = a, *y = b;
  if (x->step != y->step) return x->step < y->step ? -1 : 1;
  return x->part->data.content_type - y->part->data.content_type;
}

static void print_point(const point_t* point, leat_string_builder_t* out) {
  const leat_pb_mesh_plugin_data_t* data = &point->part->data;
  leat_string_builder_append(out, LEAT_SV("{\"wall_time\":"));
  board_json_float(out, point->wall_time);
  leat_string_builder_print(out, ",\"step\":%lld,\"content_type\":%d,\"components\":%u,\"config\":",
                            (long long)point->step, data->content_type, data->components);
  board_json_string(out, data->json_config);
  leat_string_builder_append(out, LEAT_SV(",\"data_shape\":["));
  for (size_t i = 0; i < data->shape.count; ++i) {
    leat_string_builder_print(out, i ? ",%d" : "%d", data->shape.items[i]);
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
}

// The parts of the mesh that the request names; none where it or its run does not exist.
static leat_status_t parts_of(board_api_t* api, const board_request_t* request,
                              board_run_t** out_run, leat_string_view_t* out_name,
                              mesh_part_list_t* out_parts) {
  *out_parts = (mesh_part_list_t){0};
  leat_status_t status = board_api_run_and_tag(api, request, out_run, out_name);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(status);
  return read_parts(*out_run, request->arena, out_parts);
}

leat_status_t board_api_meshes(board_api_t* api, const board_request_t* request,
                               board_response_t* response) {
  board_run_t* run;
  leat_string_view_t name;
  mesh_part_list_t parts;
  point_list_t points = {0};
  LEAT_RETURN_IF_ERROR(parts_of(api, request, &run, &name, &parts));
  for (size_t i = 0; i < parts.count; ++i) {
    const mesh_part_t* part = &parts.items[i];
    board_snapshot_t snapshot;
    if (!leat_string_view_equal(part->data.name, name)) continue;
    LEAT_RETURN_IF_ERROR(board_snapshot_take(run, part->tag, "mesh", BOARD_CLASS_TENSOR,
                                             request->arena, &snapshot));
    for (uint32_t k = 0; k < snapshot.count; ++k) {
      point_t* added;
      LEAT_RETURN_IF_ERROR(leat_message_list_append(request->arena, &points, sizeof *added,
                                                    (void**)&added));
      *added = (point_t){part, snapshot.steps[k], snapshot.wall_times[k]};
    }
  }
  if (points.count) qsort(points.items, points.count, sizeof *points.items, compare_points);
  leat_string_builder_append_char(&response->body, '[');
  for (size_t i = 0; i < points.count; ++i) {
    if (i) leat_string_builder_append_char(&response->body, ',');
    print_point(&points.items[i], &response->body);
  }
  leat_string_builder_append_char(&response->body, ']');
  return leat_ok_status();
}

// ---- Numbers ------------------------------------------------------------------------------------
// |number| in the range of a type, for numbers that a file may claim to be any.
static double clamp(double number, double low, double high) {
  return number >= low ? number <= high ? number : high : low;
}

// Appends the sample |sample| of a tensor: vertices as floats, faces as 32-bit integers, colours as
// bytes.
static leat_status_t put_sample(const board_tensor_list_t* list, int32_t content_type,
                                int64_t sample, leat_string_builder_t* out) {
  if (!list->numbers || !list->rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the value is no part of a mesh");
  }
  int64_t samples = list->dims[0];
  if (sample < 0) sample += samples;
  if (sample < 0 || sample >= samples) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "sample must be below %lld",
                            (long long)samples);
  }
  size_t count = list->count / (size_t)samples;
  const double* numbers = list->numbers + (size_t)sample * count;
  size_t item_bytes = content_type == MESH_COLOR ? 1 : 4;
  char* bytes = leat_string_builder_reserve(out, count * item_bytes);
  for (size_t i = 0; bytes && i < count; ++i) {
    float vertex = (float)numbers[i];
    int32_t face = (int32_t)clamp(numbers[i], INT32_MIN, INT32_MAX);
    uint8_t colour = (uint8_t)clamp(numbers[i], 0, 255);
    const void* from = content_type == MESH_VERTEX ? (void*)&vertex
                       : content_type == MESH_FACE ? (void*)&face
                                                   : (void*)&colour;
    memcpy(bytes + i * item_bytes, from, item_bytes);
  }
  return leat_ok_status();
}

leat_status_t board_api_mesh_data(board_api_t* api, const board_request_t* request,
                                  board_response_t* response) {
  static const char* const names[] = {"", "VERTEX", "FACE", "COLOR"};
  board_run_t* run;
  leat_string_view_t name, kind = {0};
  mesh_part_list_t parts;
  int64_t sample, step;
  int32_t content_type = 0;
  board_query_get(&request->query, "content_type", &kind);
  for (int32_t i = MESH_VERTEX; i <= MESH_COLOR; ++i) {
    if (leat_string_view_equals(kind, names[i])) content_type = i;
  }
  if (!content_type) return leat_make_status(LEAT_INVALID_ARGUMENT, "Bad content_type");
  LEAT_RETURN_IF_ERROR(board_api_int(request, "sample", 0, &sample));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "step", 0, &step));
  LEAT_RETURN_IF_ERROR(parts_of(api, request, &run, &name, &parts));
  response->content_type = "application/octet-stream";
  for (size_t i = 0; i < parts.count; ++i) {
    const mesh_part_t* part = &parts.items[i];
    board_snapshot_t snapshot;
    if (!leat_string_view_equal(part->data.name, name) ||
        part->data.content_type != content_type) {
      continue;
    }
    LEAT_RETURN_IF_ERROR(board_snapshot_take(run, part->tag, "mesh", BOARD_CLASS_TENSOR,
                                             request->arena, &snapshot));
    for (uint32_t k = 0; k < snapshot.count; ++k) {
      leat_pb_summary_value_t value;
      board_tensor_list_t list;
      if (snapshot.steps[k] != step) continue;
      LEAT_RETURN_IF_ERROR(board_snapshot_value(&snapshot, k, request->arena, &value));
      LEAT_RETURN_IF_ERROR(board_tensor_list_read(value.tensor, request->arena, &list));
      LEAT_RETURN_IF_ERROR(put_sample(&list, content_type, sample, &response->body));
    }
  }
  return leat_ok_status();
}
