// TF_SessionOptions: what a session is to be like, read from a ConfigProto.
#include <string.h>

#include "capi/handles.h"
#include "formats/decode.h"
#include "formats/generated/config.h"

#define MAX_CPU_DEVICES 4096
#define MAX_ACCELERATORS 64

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
  leat_allocator_free(leat_allocator_system(), options->target);
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

// "" and "DEFAULT" leave the choice to the session, as it does by itself.
static leat_status_t read_executor(leat_string_view_t name, leat_executor_kind_t* inout_kind) {
  static const struct {
    const char* name;
    leat_executor_kind_t kind;
  } kinds[] = {
      {"LINEAR", LEAT_EXECUTOR_LINEAR},
      {"SINGLE_THREADED_EXECUTOR", LEAT_EXECUTOR_LINEAR},
      {"DATAFLOW", LEAT_EXECUTOR_DATAFLOW},
  };
  if (name.size == 0 || leat_string_view_equals(name, "DEFAULT")) return leat_ok_status();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kinds); ++i) {
    if (!leat_string_view_equals(name, kinds[i].name)) continue;
    *inout_kind = kinds[i].kind;
    return leat_ok_status();
  }
  return leat_make_status(LEAT_NOT_FOUND,
                          "Creating a session failed: executor_type is '%.*s', must be DEFAULT, "
                          "LINEAR, SINGLE_THREADED_EXECUTOR or DATAFLOW",
                          LEAT_SV_ARG(name));
}

// Types that nobody has registered are passed over, as in TensorFlow ("GPU" without a GPU).
static void note_device_count(leat_string_view_t type, int count,
                              leat_session_options_t* options) {
  for (int i = 0; i < LEAT_SESSION_DEVICE_TYPES; ++i) {
    leat_device_count_t* entry = &options->device_counts[i];
    if (entry->count > 0 || type.size >= sizeof entry->type) continue;
    memcpy(entry->type, type.data, type.size);
    entry->count = count < MAX_ACCELERATORS ? count : MAX_ACCELERATORS;
    return;
  }
}

static leat_status_t read_device_count(const leat_pb_config_proto_t* config,
                                       leat_session_options_t* options) {
  for (size_t i = 0; i < config->device_count.count; ++i) {
    const leat_pb_config_proto_device_count_entry_t* entry = &config->device_count.items[i];
    if (entry->value <= 0) continue;
    if (!leat_string_view_equals(entry->key, "CPU")) {
      note_device_count(entry->key, entry->value, options);
      continue;
    }
    if (entry->value > MAX_CPU_DEVICES) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Setting the configuration failed: device_count[\"CPU\"] is %d, must "
                              "be <= %d", entry->value, MAX_CPU_DEVICES);
    }
    options->cpu_device_count = entry->value;
  }
  return leat_ok_status();
}

// TensorFlow rewrites graphs in two places, each with its switches: a pass is off when it is off in
// both.
static void read_graph_options(const leat_pb_graph_options_t* graph_options,
                               leat_session_options_t* options) {
  if (!graph_options) return;
  const leat_pb_rewriter_config_t* rewriter = graph_options->rewrite_options;
  const int off = LEAT_PB_REWRITER_CONFIG_TOGGLE_OFF;
  options->place_pruned_graph = graph_options->place_pruned_graph;
  if (!graph_options->optimizer_options || !rewriter ||
      graph_options->optimizer_options->opt_level != LEAT_PB_OPTIMIZER_OPTIONS_LEVEL_L0) {
    return;
  }
  options->optimize = !rewriter->disable_meta_optimizer;
  options->fold = options->optimize && rewriter->constant_folding != off;
}

static leat_status_t read_config(const leat_pb_config_proto_t* config,
                                 leat_session_options_t* out_options) {
  leat_session_options_t options = leat_session_options_default();
  LEAT_RETURN_IF_ERROR(read_device_count(config, &options));
  options.intra_op_threads = config->intra_op_parallelism_threads;
  options.use_per_session_threads = config->use_per_session_threads;
  options.allow_soft_placement = config->allow_soft_placement;
  options.log_device_placement = config->log_device_placement;
  read_graph_options(config->graph_options, &options);
  options.isolate_state = config->isolate_session_state;
  options.operation_timeout_ms = config->operation_timeout_in_ms;
  *out_options = options;
  return leat_ok_status();
}

static leat_status_t set_config(TF_SessionOptions* options, leat_string_view_t bytes) {
  leat_arena_t arena;
  leat_pb_config_proto_t config = {0};
  leat_session_options_t read = options->options;
  leat_arena_initialize(leat_allocator_system(), 4096, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_config_proto_descriptor, bytes, &arena, NULL, &config);
  if (status) {
    status = leat_status_annotate(status, "Unparseable ConfigProto");
  } else {
    status = read_config(&config, &read);
  }
  if (!status) {
    leat_string_view_t executor =
        config.experimental ? config.experimental->executor_type : LEAT_SV("");
    leat_status_free(options->status);
    // TensorFlow finds out when it makes the executor: the configuration is taken.
    options->status = read_executor(executor, &read.executor);
    options->options = read;
  }
  leat_arena_deinitialize(&arena);
  return status;
}

void TF_SetConfig(TF_SessionOptions* options, const void* proto, size_t proto_len,
                  TF_Status* status) {
  leat_capi_status_set(status, set_config(options, leat_string_view_make(proto, proto_len)));
}
