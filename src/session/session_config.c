// Reads a serialized ConfigProto into the options of a session. ConfigProto is TensorFlow's; what
// this library does not have is read and ignored, and what it has under another name is translated:
// the meta-optimizer's switches select passes of src/optimize, and executor_type selects the
// executor. The configuration may come from a program, with TF_SetConfig, or from a client on
// another machine, with CreateSession. Reading one starts from the defaults and keeps only what is
// no part of a configuration: the placer and the measured costs.
#include <string.h>

#include "base/checked.h"
#include "formats/generated/config.h"
#include "formats/wire/decode.h"
#include "session/session.h"

// Reads the executor. "" and "DEFAULT" leave the choice to the session.
static leat_status_t read_executor(leat_string_view_t name, leat_executor_kind_t* inout_kind) {
  static const struct {
    const char* name;
    leat_executor_kind_t kind;
  } kinds[] = {
      {"SEQUENCE", LEAT_EXECUTOR_SEQUENCE},
      {"LINEAR", LEAT_EXECUTOR_SEQUENCE},
      {"SINGLE_THREADED_EXECUTOR", LEAT_EXECUTOR_SEQUENCE},
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
                          "SEQUENCE, LINEAR, SINGLE_THREADED_EXECUTOR or DATAFLOW",
                          LEAT_SV_ARG(name));
}

// Types that are not registered are ignored later, as in TensorFlow ("GPU" without a GPU).
void leat_session_options_count_devices(leat_string_view_t type, int count,
                                        leat_session_options_t* options) {
  for (int i = 0; i < LEAT_SESSION_DEVICE_TYPES; ++i) {
    leat_device_count_t* entry = &options->device_counts[i];
    if (entry->type[0] || type.size >= sizeof entry->type) continue;
    memcpy(entry->type, type.data, type.size);
    entry->count = LEAT_MIN(count, LEAT_SESSION_MAX_ACCELERATORS);
    return;
  }
}

static leat_status_t read_device_count(const leat_pb_config_proto_t* config,
                                       leat_session_options_t* options) {
  for (size_t i = 0; i < config->device_count.count; ++i) {
    const leat_pb_config_proto_device_count_entry_t* entry = &config->device_count.items[i];
    if (entry->value < 0) continue;
    if (!leat_string_view_equals(entry->key, "CPU")) {
      leat_session_options_count_devices(entry->key, entry->value, options);
      continue;
    }
    if (entry->value == 0) continue;
    if (entry->value > LEAT_SESSION_MAX_CPU_DEVICES) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Setting the configuration failed: device_count[\"CPU\"] is %d, must "
                              "be <= %d", entry->value, LEAT_SESSION_MAX_CPU_DEVICES);
    }
    options->cpu_device_count = entry->value;
  }
  return leat_ok_status();
}

// Devices of plug-ins are chosen by options of their own, not by those of GPUs, as in TensorFlow.
static leat_status_t read_device_options(const leat_pb_config_proto_t* config,
                                         leat_session_options_t* options) {
  const leat_pb_gpu_options_t* given = config->pluggable_device_options;
  if (!given) return leat_ok_status();
  if (given->visible_device_list.size >= sizeof options->visible_devices) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Setting the configuration failed: visible_device_list has %zu bytes, "
                            "must have at most %zu",
                            given->visible_device_list.size, sizeof options->visible_devices - 1);
  }
  if (given->visible_device_list.size > 0) {
    memcpy(options->visible_devices, given->visible_device_list.data,
           given->visible_device_list.size);
  }
  options->device_memory_fraction = given->per_process_gpu_memory_fraction;
  return leat_ok_status();
}

// TensorFlow gives a session one pool of threads for its nodes, or the pools that the configuration
// lists, of which RunOptions choose one. Leat has one pool for everything; what it takes from the
// configuration is how many of its threads the nodes of a step may keep busy.
static leat_status_t read_inter_op_threads(const leat_pb_config_proto_t* config,
                                           leat_session_options_t* options) {
  const leat_pb_thread_pool_option_proto_list_t* pools = &config->session_inter_op_thread_pool;
  options->inter_op_threads = config->inter_op_parallelism_threads;
  if (pools->count > LEAT_SESSION_INTER_OP_POOLS) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Setting the configuration failed: session_inter_op_thread_pool has "
                            "%zu items, must have at most %d",
                            pools->count, LEAT_SESSION_INTER_OP_POOLS);
  }
  options->inter_op_pool_count = (int)pools->count;
  for (size_t i = 0; i < pools->count; ++i) {
    options->inter_op_pools[i] = pools->items[i].num_threads;
  }
  if (pools->count) options->inter_op_threads = options->inter_op_pools[0];
  return leat_ok_status();
}

// Whether the list of optimizers, which names all that run, has one of the two names.
static bool is_named(const leat_pb_rewriter_config_t* rewriter, const char* name,
                     const char* option) {
  for (size_t k = 0; k < rewriter->optimizers.count; ++k) {
    const leat_string_view_t item = rewriter->optimizers.items[k];
    if (leat_string_view_equals(item, name) || leat_string_view_equals(item, option)) return true;
  }
  return false;
}

// Whether an optimizer of TensorFlow's runs: by the list, if there is one, else by its toggle.
static bool is_on(const leat_pb_rewriter_config_t* rewriter, const char* name, const char* option,
                  int toggle) {
  return rewriter->optimizers.count ? is_named(rewriter, name, option)
                                    : toggle != LEAT_PB_REWRITER_CONFIG_TOGGLE_OFF;
}

// Selects passes by the names and switches of TensorFlow's meta-optimizer.
static uint32_t meta_optimizer_passes(const leat_pb_rewriter_config_t* rewriter) {
  if (!rewriter) return leat_passes_of_option(NULL);
  if (rewriter->disable_meta_optimizer) return 0;
  const struct {
    const char *name, *option;  // in the list of optimizers; in the message, and in the list too
    int toggle;
  } kSwitches[] = {
      {"constfold", "constant_folding", rewriter->constant_folding},
      {"arithmetic", "arithmetic_optimization", rewriter->arithmetic_optimization},
      {"dependency", "dependency_optimization", rewriter->dependency_optimization},
      {"common_subgraph_elimination", "common_subgraph_elimination",
       rewriter->common_subgraph_elimination},
      {"remap", "remapping", rewriter->remapping},
  };
  // The list of optimizers does not name those of plug-ins.
  const bool plugins = rewriter->use_plugin_optimizers != LEAT_PB_REWRITER_CONFIG_TOGGLE_OFF;
  uint32_t passes = plugins ? LEAT_PASS_BIT_PLUGIN : 0;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kSwitches); ++i) {
    if (is_on(rewriter, kSwitches[i].name, kSwitches[i].option, kSwitches[i].toggle)) {
      passes |= leat_passes_of_option(kSwitches[i].option);
    }
  }
  return passes;
}

// TensorFlow's optimizer of shapes simplifies what computes them. Here that follows from plans for
// the shapes that are fed.
static bool specializes(const leat_pb_rewriter_config_t* rewriter) {
  return !rewriter || (!rewriter->disable_meta_optimizer &&
                       is_on(rewriter, "shape", "shape_optimization",
                             rewriter->shape_optimization));
}

// Selects the passes that save memory.
static void read_memory_options(const leat_pb_rewriter_config_t* rewriter,
                                leat_pass_options_t* options) {
  static const struct {
    int kind;
    uint32_t passes;
  } kKinds[] = {
      {LEAT_PB_REWRITER_CONFIG_MEM_OPT_TYPE_RECOMPUTATION_HEURISTICS, LEAT_PASS_BIT_RECOMPUTE},
      {LEAT_PB_REWRITER_CONFIG_MEM_OPT_TYPE_SWAPPING_HEURISTICS, LEAT_PASS_BIT_SWAP},
      {LEAT_PB_REWRITER_CONFIG_MEM_OPT_TYPE_HEURISTICS,
       LEAT_PASS_BIT_RECOMPUTE | LEAT_PASS_BIT_SWAP},
      {LEAT_PB_REWRITER_CONFIG_MEM_OPT_TYPE_MANUAL, LEAT_PASS_BIT_RECOMPUTE | LEAT_PASS_BIT_SWAP},
  };
  if (!rewriter || rewriter->disable_meta_optimizer) return;
  int kind = rewriter->memory_optimization;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kKinds); ++i) {
    if (kKinds[i].kind == kind) options->passes |= kKinds[i].passes;
  }
  options->memory_by_hand = kind == LEAT_PB_REWRITER_CONFIG_MEM_OPT_TYPE_MANUAL;
  leat_string_view_t scope = rewriter->memory_optimizer_target_node_name_scope;
  if (scope.size && scope.size < sizeof options->memory_scope) {
    memcpy(options->memory_scope, scope.data, scope.size);
  }
}

// TensorFlow optimizes graphs in two places, each with its own switches. Constant folding and
// common subexpression elimination are off only when they are off in both.
static void read_graph_options(const leat_pb_graph_options_t* graph_options,
                               leat_session_options_t* options) {
  if (!graph_options) return;
  const leat_pb_optimizer_options_t* optimizer = graph_options->optimizer_options;
  uint32_t* passes = &options->optimizer.passes;
  options->place_pruned_graph = graph_options->place_pruned_graph;
  options->build_cost_model = graph_options->build_cost_model;
  options->build_cost_model_after = graph_options->build_cost_model_after;
  *passes = meta_optimizer_passes(graph_options->rewrite_options);
  options->specialize = specializes(graph_options->rewrite_options);
  bool all = !optimizer || optimizer->opt_level != LEAT_PB_OPTIMIZER_OPTIONS_LEVEL_L0;
  if (all || optimizer->do_constant_folding) *passes |= LEAT_PASS_BIT_FOLD;
  if (all || optimizer->do_common_subexpression_elimination) *passes |= LEAT_PASS_BIT_CSE;
  if (optimizer) options->optimizer.fold_limit_bytes = optimizer->max_folded_constant_in_bytes;
  read_memory_options(graph_options->rewrite_options, &options->optimizer);
  if (graph_options->enable_recv_scheduling) *passes |= LEAT_PASS_BIT_RECV_SCHEDULE;
  if (graph_options->enable_bfloat16_sendrecv) *passes |= LEAT_PASS_BIT_COMPRESS;
}

// Reads the configuration over the defaults. Nothing changes where it is not valid.
static leat_status_t read_config(const leat_pb_config_proto_t* config,
                                 leat_session_options_t* inout_options) {
  leat_session_options_t options = leat_session_options_default();
  options.placer = inout_options->placer;  // set by functions other than TF_SetConfig, which stay
  options.costs = inout_options->costs;
  LEAT_RETURN_IF_ERROR(read_device_count(config, &options));
  LEAT_RETURN_IF_ERROR(read_device_options(config, &options));
  options.intra_op_threads = config->intra_op_parallelism_threads;
  LEAT_RETURN_IF_ERROR(read_inter_op_threads(config, &options));
  options.use_per_session_threads = config->use_per_session_threads;
  options.allow_soft_placement = config->allow_soft_placement;
  options.log_device_placement = config->log_device_placement;
  read_graph_options(config->graph_options, &options);
  options.isolate_state = config->isolate_session_state;
  options.operation_timeout_ms = config->operation_timeout_in_ms;
  *inout_options = options;
  return leat_ok_status();
}

leat_status_t leat_session_options_read(leat_string_view_t bytes,
                                        leat_session_options_t* inout_options,
                                        leat_status_t* out_executor_status) {
  leat_arena_t arena;
  leat_pb_config_proto_t config = {0};
  leat_session_options_t read = *inout_options;
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
    *out_executor_status = read_executor(executor, &read.executor);
    *inout_options = read;
  }
  leat_arena_deinitialize(&arena);
  return status;
}
