// TF_SessionOptions: the options of a session, read from a serialized ConfigProto
// (session/session_config.c), and those that leat/inspect.h adds (placer, devices, costs). An
// option that makes the session impossible is not an error here but when the session is created, as
// in TensorFlow; until then its status is kept with the options. Reading a second ConfigProto
// starts from the defaults again and keeps only what other functions have set. A ConfigProto that
// cannot be read changes nothing.
#include <stdio.h>
#include <string.h>

#include "capi/handles.h"
#include "formats/generated/config.h"
#include "formats/generated/run_metadata.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "leat/inspect.h"
#include "tensorflow/c/c_api_experimental.h"

TF_SessionOptions* TF_NewSessionOptions(void) {
  void* memory = NULL;
  leat_status_t status =
      leat_allocator_allocate(leat_allocator_system(), sizeof(TF_SessionOptions), &memory);
  if (status) {
    leat_status_free(status);
    return NULL;
  }
  TF_SessionOptions* options = memory;
  options->options = leat_session_options_default();
  return options;
}

void TF_DeleteSessionOptions(TF_SessionOptions* options) {
  if (!options) return;
  leat_status_free(options->status);
  leat_costs_release(options->options.costs);
  leat_allocator_free(leat_allocator_system(), options->target);
  leat_allocator_free(leat_allocator_system(), options->config);
  leat_allocator_free(leat_allocator_system(), options);
}

void TF_SetTarget(TF_SessionOptions* options, const char* target) {
  leat_string_view_t text = leat_string_view_from(target);
  leat_allocator_free(leat_allocator_system(), options->target);
  leat_status_t status = leat_allocator_clone_string(leat_allocator_system(), text.data, text.size,
                                                     &options->target);
  if (status) options->target = NULL;
  options->status = leat_status_join(options->status, status);
}

// Reads a ConfigProto. The options change only when all of it could be read.
static leat_status_t set_config(TF_SessionOptions* options, leat_string_view_t bytes) {
  leat_status_t executor_status;
  char* copy;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_clone_string(leat_allocator_system(), bytes.data, bytes.size, &copy));
  leat_status_t status =
      leat_session_options_read(bytes, &options->options, &executor_status);
  if (status) {
    leat_allocator_free(leat_allocator_system(), copy);
    return status;
  }
  leat_allocator_free(leat_allocator_system(), options->config);
  options->config = copy;
  options->options.config = leat_string_view_make(copy, bytes.size);
  leat_status_free(options->status);
  options->status = executor_status;
  return leat_ok_status();
}

void TF_SetConfig(TF_SessionOptions* options, const void* proto, size_t proto_len,
                  TF_Status* status) {
  leat_capi_status_set(status, set_config(options, leat_string_view_make(proto, proto_len)));
}

// Appends the level of compilation (1 on, -1 off) to the configuration: of two messages, one behind
// the other, fields that are set in both take the later value.
static leat_status_t set_jit(TF_SessionOptions* options, bool enable) {
  leat_pb_optimizer_options_t optimizer = {.global_jit_level = enable ? 1 : -1};
  leat_pb_graph_options_t graph = {.optimizer_options = &optimizer};
  leat_pb_config_proto_t config = {.graph_options = &graph};
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_string_builder_append(&bytes, options->options.config);
  leat_status_t status = leat_message_encode(&leat_pb_config_proto_descriptor, &config, &bytes);
  if (!status) status = set_config(options, leat_string_builder_view(&bytes));
  leat_string_builder_deinitialize(&bytes);
  return status;
}

void TF_EnableXLACompilation(TF_SessionOptions* options, unsigned char enable) {
  options->status = leat_status_join(options->status, set_jit(options, enable != 0));
}

// ---- leat/inspect.h -----------------------------------------------------------------------------

static leat_status_t parse_placer(const char* name, leat_placer_kind_t* out_kind) {
  bool is_greedy = !strcmp(name, "greedy");
  if (!is_greedy && strcmp(name, "simple") != 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Setting the placer failed: name is '%s', must be simple or greedy",
                            name);
  }
  *out_kind = is_greedy ? LEAT_PLACER_GREEDY : LEAT_PLACER_SIMPLE;
  return leat_ok_status();
}

void leat_set_placer(TF_SessionOptions* options, const char* placer, TF_Status* status) {
  leat_capi_status_set(status, parse_placer(placer, &options->options.placer));
}

// Parses a list of devices such as "CPU:2,SIM:1".
static leat_status_t parse_devices(const char* text, leat_session_options_t* options) {
  leat_session_options_t parsed = *options;
  memset(parsed.device_counts, 0, sizeof parsed.device_counts);
  parsed.cpu_device_count = 0;
  for (const char* at = text; *at;) {
    char type[16];
    int count = 0, used = 0;
    // Nine digits fit an int. Of more digits sscanf would not say that they do not.
    if (sscanf(at, "%15[A-Za-z_]:%9d%n", type, &count, &used) != 2 || count <= 0 ||
        count > LEAT_SESSION_MAX_CPU_DEVICES || (at[used] && at[used] != ',')) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Setting the devices failed: '%s' must be TYPE:COUNT,... "
                              "(CPU:2,SIM:1)", text);
    }
    if (!strcmp(type, "CPU")) {
      parsed.cpu_device_count = count;
    } else {
      leat_session_options_count_devices(leat_string_view_from(type), count, &parsed);
    }
    at += used + (at[used] == ',');
  }
  *options = parsed;
  return leat_ok_status();
}

void leat_set_devices(TF_SessionOptions* options, const char* devices, TF_Status* status) {
  leat_capi_status_set(status, parse_devices(devices, &options->options));
}

// Makes costs of the statistics in a RunMetadata. The caller releases |*out_costs|, also after a
// failure.
static leat_status_t read_costs(const TF_Buffer* run_metadata, leat_costs_t** out_costs) {
  leat_arena_t arena;
  leat_pb_run_metadata_t metadata = {0};
  leat_arena_initialize(leat_allocator_system(), 4096, &arena);
  leat_status_t status = leat_message_decode(
      &leat_pb_run_metadata_descriptor,
      leat_string_view_make(run_metadata->data, run_metadata->length), &arena, NULL, &metadata);
  if (!status) status = leat_costs_create(leat_allocator_system(), NULL, out_costs);
  if (!status && metadata.step_stats) status = leat_costs_add_step(*out_costs, metadata.step_stats);
  leat_arena_deinitialize(&arena);
  return status;
}

void leat_set_costs(TF_SessionOptions* options, const TF_Buffer* run_metadata, TF_Status* status) {
  leat_costs_t* costs = NULL;
  leat_status_t error = read_costs(run_metadata, &costs);
  if (error) {
    leat_costs_release(costs);
  } else {
    leat_costs_release(options->options.costs);
    options->options.costs = costs;
  }
  leat_capi_status_set(status, error);
}
