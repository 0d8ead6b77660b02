// Kernels of DataServiceDataset in its four versions: the dataset of the elements that the workers
// of tf.data's service make. Making the dataset asks the dispatcher, first for its configuration,
// then for what is known of the dataset and for how its elements are compressed, so that the kernel
// is asynchronous and holds no thread meanwhile:
//
//   compute ─▶ GetDataServiceConfig ─▶ GetDataServiceMetadata ─▶ DisableCompressionAtRuntime ─▶
//   done
//
// Compressed elements come as one variant each, and a parallel map of the node's uncompress_fn
// stands above the dataset, where the node asks for it. Each iterator is a client of its own
// (ops/dataset/data_service_client_cpu.h) and reads the next pass, of which the first is 1:
// TensorFlow counts passes in the resource at the last input, which is always a dummy, and so each
// dataset counts its own.
#include "base/checked.h"
#include "formats/generated/data_service.h"
#include "formats/wire/decode.h"
#include "ops/dataset/data_service_asking_cpu.h"
#include "ops/dataset/data_service_client_cpu.h"
#include "ops/dataset/data_service_task_cpu.h"
#include "ops/kernel_rows.h"

#define DEFAULT_REFRESH_MS 1000
#define LONGEST_REFRESH_MS (INT64_MAX / 1000000 / 4)

typedef struct service_dataset_s {
  leat_dataset_t base;
  leat_service_job_t job;  // texts lie in |arena|
  leat_arena_t arena;
  int64_t input_cardinality;  // of the dataset that a worker makes
  _Atomic(int64_t) passes;    // that have begun; clients of one job share those of one number
} service_dataset_t;

typedef struct service_iterator_s {
  leat_iterator_t base;
  leat_service_client_t* client;
} service_iterator_t;

static bool is_static(int sharding_policy) {
  return sharding_policy >= LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_FILE &&
         sharding_policy <= LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_HINT;
}

// ---- The dataset --------------------------------------------------------------------------------

static void service_destroy(leat_dataset_t* self) {
  leat_arena_deinitialize(&((service_dataset_t*)self)->arena);
}

// Workers in this process, which alone can be read by LOCAL, are not known to kernels.
static leat_status_t check_target(const leat_service_job_t* job) {
  if (job->target_workers != LEAT_PB_TARGET_WORKERS_TARGET_WORKERS_LOCAL) return leat_ok_status();
  if (is_static(job->sharding_policy)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Static sharding policy <%d> requires local tf.data workers, but no "
                            "local worker is found.",
                            job->sharding_policy);
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Local reads require local tf.data workers, but no local worker is "
                          "found.");
}

static leat_status_t check_trainer(const service_dataset_t* dataset, int64_t repetition) {
  const leat_service_job_t* job = &dataset->job;
  if (!job->has_trainer) return leat_ok_status();
  if (!job->name.size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Cross-trainer caching requires named jobs. Got empty `job_name`.");
  }
  if (dataset->input_cardinality != LEAT_CARDINALITY_INFINITE) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Cross-trainer caching requires the input dataset to be infinite. Got "
                            "input with cardinality %lld",
                            (long long)dataset->input_cardinality);
  }
  if (repetition > 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Cross-trainer caching requires infinite datasets and disallows "
                            "multiple repetitions of the same dataset. Got repetition %lld",
                            (long long)repetition);
  }
  if (job->consumer_count < 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Cross-trainer caching does not support coordinated reads. Got number of "
                          "coordinated consumers: %lld",
                          (long long)job->consumer_count);
}

static leat_status_t service_start(leat_iterator_t* self) {
  service_dataset_t* dataset = (service_dataset_t*)self->dataset;
  const int64_t repetition =
      1 + atomic_fetch_add_explicit(&dataset->passes, 1, memory_order_relaxed);
  LEAT_RETURN_IF_ERROR(check_target(&dataset->job));
  LEAT_RETURN_IF_ERROR(check_trainer(dataset, repetition));
  return leat_service_client_create(self->dataset, &dataset->job, repetition,
                                    &((service_iterator_t*)self)->client);
}

static leat_status_t service_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                  leat_poll_t* out_poll) {
  return leat_service_client_take(((service_iterator_t*)self)->client, pull, out, out_poll);
}

static void service_stop(leat_iterator_t* self) {
  leat_service_client_stop(((service_iterator_t*)self)->client);
}

// Reads together never end. Shards of a dataset without an end may have none, or no elements.
static int64_t service_cardinality(const leat_dataset_t* self) {
  const service_dataset_t* dataset = (const service_dataset_t*)self;
  const int policy = dataset->job.sharding_policy;
  const bool keeps_infinity = policy == LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_OFF ||
                              policy == LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_DYNAMIC ||
                              policy == LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_DATA;
  if (dataset->job.consumer_index >= 0) return LEAT_CARDINALITY_INFINITE;
  if (dataset->input_cardinality == 0) return 0;
  if (dataset->input_cardinality == LEAT_CARDINALITY_INFINITE && keeps_infinity) {
    return LEAT_CARDINALITY_INFINITE;
  }
  return LEAT_CARDINALITY_UNKNOWN;
}

static const leat_dataset_kind_t kService = {.name = "DataServiceV4",
                                             .dataset_bytes = sizeof(service_dataset_t),
                                             .iterator_bytes = sizeof(service_iterator_t),
                                             .destroy = service_destroy,
                                             .start = service_start,
                                             .next = service_next,
                                             .stop = service_stop,
                                             .cardinality = service_cardinality};

// ---- The node -----------------------------------------------------------------------------------

typedef struct service_state_s {
  leat_dataset_function_t function;  // uncompress_fn; the spec is that of the node's elements
  leat_service_job_t job;            // what attributes say of it; texts lie in |arena|
  leat_arena_t arena;
  bool has_arena;
  bool uncompresses;
} service_state_t;

static void destroy_state(void* data) {
  service_state_t* state = data;
  if (state->has_arena) leat_arena_deinitialize(&state->arena);
  leat_dataset_function_destroy(&state->function);
}

static leat_status_t read_target(leat_string_view_t text, int32_t* out_target) {
  static const struct {
    const char* word;
    int32_t target;
  } kTargets[] = {{"", LEAT_PB_TARGET_WORKERS_TARGET_WORKERS_AUTO},
                  {"AUTO", LEAT_PB_TARGET_WORKERS_TARGET_WORKERS_AUTO},
                  {"ANY", LEAT_PB_TARGET_WORKERS_TARGET_WORKERS_ANY},
                  {"LOCAL", LEAT_PB_TARGET_WORKERS_TARGET_WORKERS_LOCAL}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTargets); ++i) {
    *out_target = kTargets[i].target;
    if (leat_service_word_is(text, kTargets[i].word)) return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Unrecognized target workers: %.*s",
                          LEAT_SV_ARG(text));
}

static leat_status_t read_trainer(leat_string_view_t text, leat_arena_t* arena,
                                  leat_service_job_t* job) {
  leat_pb_cross_trainer_cache_options_t options;
  job->has_trainer = text.size > 0;
  if (!text.size) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_status_annotate(leat_message_decode(&leat_pb_cross_trainer_cache_options_descriptor,
                                               text, arena, NULL, &options),
                           "attribute 'cross_trainer_cache_options'"));
  return leat_arena_copy_string(arena, options.trainer_id, &job->trainer_id);
}

static leat_status_t read_attrs(leat_kernel_creation_t* c, service_state_t* state) {
  leat_service_job_t* job = &state->job;
  leat_string_view_t target, transfer, trainer;
  int64_t refresh_ms;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "task_refresh_interval_hint_ms", &refresh_ms));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "target_workers", &target));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "data_transfer_protocol", &transfer));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "cross_trainer_cache_options", &trainer));
  if (refresh_ms == LEAT_DATASET_AUTOTUNE) refresh_ms = DEFAULT_REFRESH_MS;
  job->refresh_ns = LEAT_MIN(LEAT_MAX(refresh_ms, 1), LONGEST_REFRESH_MS) * 1000000;
  LEAT_RETURN_IF_ERROR(read_target(target, &job->target_workers));
  LEAT_RETURN_IF_ERROR(read_trainer(trainer, &state->arena, job));
  if (!transfer.size) transfer = LEAT_SV("grpc");
  return leat_arena_copy_string(&state->arena, transfer, &job->transfer);
}

static leat_status_t create_state(leat_kernel_creation_t* c, void* data) {
  service_state_t* state = data;
  leat_arena_initialize(leat_allocator_system(), 256, &state->arena);
  state->has_arena = true;
  state->function.preserves_cardinality = true;
  return read_attrs(c, state);
}

static leat_status_t create_early_state(leat_kernel_creation_t* c, void* data) {
  LEAT_RETURN_IF_ERROR(
      leat_element_spec_of_attrs(c, "output_types", &((service_state_t*)data)->function.spec));
  return create_state(c, data);
}

static leat_status_t create_uncompressing_state(leat_kernel_creation_t* c, void* data) {
  service_state_t* state = data;
  LEAT_RETURN_IF_ERROR(leat_dataset_function_create(c, "uncompress_fn", &state->function));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "uncompress", &state->uncompresses));
  return create_state(c, data);
}

// ---- Inputs -------------------------------------------------------------------------------------

static leat_status_t read_mode(leat_string_view_t text, leat_arena_t* arena, int32_t* out_policy) {
  leat_pb_processing_mode_def_t mode = {0};
  if (leat_string_view_equals(text, "parallel_epochs")) {
    mode.sharding_policy = LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_OFF;
  } else if (leat_string_view_equals(text, "distributed_epoch")) {
    mode.sharding_policy = LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_DYNAMIC;
  } else {
    LEAT_RETURN_IF_ERROR(leat_status_annotate(
        leat_message_decode(&leat_pb_processing_mode_def_descriptor, text, arena, NULL, &mode),
        "Failed to parse ProcessingModeDef from string: %.*s", LEAT_SV_ARG(text)));
  }
  *out_policy = mode.sharding_policy;
  return leat_ok_status();
}

// The first three versions take a number.
static leat_status_t read_dataset_id(const leat_kernel_context_t* c, leat_arena_t* arena,
                                     leat_string_view_t* out_id) {
  int64_t number;
  if (leat_kernel_input(c, 0)->dtype == LEAT_DTYPE_STRING) {
    return leat_dataset_string_input(c, 0, "dataset_id", out_id);
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 0, "dataset_id", &number));
  return leat_arena_print(arena, out_id, "%lld", (long long)number);
}

static leat_status_t read_consumers(leat_kernel_context_t* c, leat_service_job_t* job) {
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 5, "consumer_index", &job->consumer_index));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 6, "num_consumers", &job->consumer_count));
  job->consumer_index = LEAT_MAX(job->consumer_index, -1);
  job->consumer_count = LEAT_MAX(job->consumer_count, -1);
  const bool is_right = job->consumer_count < 0
                            ? job->consumer_index < 0
                            : job->consumer_index >= 0 && job->consumer_index < job->consumer_count;
  if (is_right) return leat_ok_status();
  return leat_kernel_invalid(c,
                             "consumer_index is %lld, must be at least 0 and less than "
                             "num_consumers, which is %lld",
                             (long long)job->consumer_index, (long long)job->consumer_count);
}

// Reads what the inputs say of the job, beside what attributes say. Texts are views of the inputs
// or lie in |arena|.
static leat_status_t read_job(leat_kernel_context_t* c, leat_arena_t* arena,
                              leat_service_job_t* out_job) {
  leat_string_view_t mode;
  leat_service_job_t* job = out_job;
  const int count = leat_kernel_input_count(c);
  *job = ((const service_state_t*)leat_kernel_state(c))->job;
  job->consumer_index = job->consumer_count = -1;
  LEAT_RETURN_IF_ERROR(read_dataset_id(c, arena, &job->dataset_id));
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "processing_mode", &mode));
  LEAT_RETURN_IF_ERROR(read_mode(mode, arena, &job->sharding_policy));
  LEAT_RETURN_IF_ERROR(leat_service_read_address(c, 2, 3, &job->address));
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 4, "job_name", &job->name));
  if (count > 7) LEAT_RETURN_IF_ERROR(read_consumers(c, job));
  LEAT_RETURN_IF_ERROR(
      leat_dataset_int_input(c, count - 2, "max_outstanding_requests", &job->max_outstanding));
  if (job->max_outstanding > 0 || job->max_outstanding == LEAT_DATASET_AUTOTUNE) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "max_outstanding_requests must be positive or %d",
                             LEAT_DATASET_AUTOTUNE);
}

// ---- Making the dataset -------------------------------------------------------------------------

typedef struct making_s {
  leat_service_asking_t asking;
  leat_service_job_t job;  // texts are views of the inputs or lie in |arena|
  leat_arena_t arena;
  int64_t input_cardinality;
  bool uncompresses;
} making_t;

static void finish(making_t* making, leat_status_t status) {
  leat_arena_deinitialize(&making->arena);
  leat_service_asking_finish(&making->asking, status);
}

// Copies the texts of |from| for as long as the dataset lives.
static leat_status_t copy_job(const leat_service_job_t* from, leat_arena_t* arena,
                              leat_service_job_t* job) {
  *job = *from;
  leat_string_view_t* const texts[] = {&job->dataset_id, &job->address, &job->name, &job->transfer,
                                       &job->trainer_id};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(texts); ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, *texts[i], texts[i]));
  }
  return leat_ok_status();
}

static leat_status_t make_spec(const making_t* making, leat_element_spec_t** out_spec) {
  const service_state_t* state = leat_kernel_state(making->asking.context);
  if (making->uncompresses) return leat_element_spec_of_scalar(LEAT_DTYPE_VARIANT, out_spec);
  *out_spec = leat_element_spec_retain(state->function.spec);
  return leat_ok_status();
}

static leat_status_t make_dataset(const making_t* making, leat_dataset_t** out_dataset) {
  leat_element_spec_t* spec;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(make_spec(making, &spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kService, spec, 0, 0, &dataset));
  service_dataset_t* service = (service_dataset_t*)dataset;
  leat_arena_initialize(leat_allocator_system(), 256, &service->arena);
  service->input_cardinality = making->input_cardinality;
  leat_status_t status = copy_job(&making->job, &service->arena, &service->job);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  *out_dataset = dataset;
  return leat_ok_status();
}

// Makes the dataset and, where the node asks for it, the one that uncompresses its elements.
static leat_status_t set_output(const making_t* making) {
  leat_kernel_context_t* c = making->asking.context;
  const service_state_t* state = leat_kernel_state(c);
  leat_dataset_t *dataset, *map;
  LEAT_RETURN_IF_ERROR(make_dataset(making, &dataset));
  if (!making->uncompresses) return leat_dataset_set_output(c, dataset);
  leat_status_t status =
      leat_parallel_map_create(c, dataset, state->function.spec, 0, LEAT_DATASET_AUTOTUNE, &map);
  leat_dataset_release(dataset);
  return status ? status : leat_dataset_set_output(c, map);
}

static void on_compression(void* data, leat_status_t status, leat_string_view_t answer) {
  making_t* making = data;
  leat_pb_disable_compression_at_runtime_response_t response;
  leat_arena_t arena;
  status = leat_service_decode(&leat_pb_disable_compression_at_runtime_response_descriptor, status,
                               answer, &arena, &response);
  if (!status) {
    making->uncompresses = !response.compression_disabled_at_runtime;
    status = set_output(making);
  }
  leat_arena_deinitialize(&arena);
  finish(making, status);
}

// Another client may have found that compressing does not pay; this one never says so.
static void ask_compression(making_t* making) {
  static const leat_service_question_t method = {
      "/tensorflow.data.DispatcherService/DisableCompressionAtRuntime",
      "Failed to disable compression at runtime",
      &leat_pb_disable_compression_at_runtime_request_descriptor};
  const leat_pb_disable_compression_at_runtime_request_t request = {.dataset_id =
                                                                        making->job.dataset_id};
  leat_service_ask(&making->asking, &method, &request, on_compression);
}

static leat_status_t read_metadata(making_t* making,
                                   const leat_pb_data_service_metadata_t* metadata) {
  enum {
    UNSPECIFIED = LEAT_PB_DATA_SERVICE_METADATA_COMPRESSION_COMPRESSION_UNSPECIFIED,
    OFF = LEAT_PB_DATA_SERVICE_METADATA_COMPRESSION_COMPRESSION_OFF
  };
  const service_state_t* state = leat_kernel_state(making->asking.context);
  const int compression = metadata ? metadata->compression : UNSPECIFIED;
  making->input_cardinality = metadata ? metadata->cardinality : 0;
  if (state->uncompresses && compression == UNSPECIFIED) {
    return leat_make_status(LEAT_INTERNAL,
                            "Got invalid compression COMPRESSION_UNSPECIFIED for dataset %.*s. A "
                            "proper compression should be registered in `register_dataset`.",
                            LEAT_SV_ARG(making->job.dataset_id));
  }
  making->uncompresses = state->uncompresses && compression != OFF;
  return leat_ok_status();
}

static void on_metadata(void* data, leat_status_t status, leat_string_view_t answer) {
  making_t* making = data;
  leat_pb_get_data_service_metadata_response_t response;
  leat_arena_t arena;
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    status = leat_make_status(LEAT_NOT_FOUND,
                              "Dataset id %.*s not found. It must be registered with "
                              "`register_dataset` before calling `from_dataset_id`.",
                              LEAT_SV_ARG(making->job.dataset_id));
  }
  status = leat_service_decode(&leat_pb_get_data_service_metadata_response_descriptor, status,
                               answer, &arena, &response);
  if (!status) status = read_metadata(making, response.metadata);
  leat_arena_deinitialize(&arena);
  if (!status && making->uncompresses) {
    ask_compression(making);
    return;
  }
  if (!status) status = set_output(making);
  finish(making, status);
}

static void ask_metadata(making_t* making) {
  static const leat_service_question_t method = {
      "/tensorflow.data.DispatcherService/GetDataServiceMetadata",
      "Failed to get data service metadata", &leat_pb_get_data_service_metadata_request_descriptor};
  const leat_pb_get_data_service_metadata_request_t request = {.dataset_id =
                                                                   making->job.dataset_id};
  leat_service_ask(&making->asking, &method, &request, on_metadata);
}

// A client beside its worker reads the static shard of that worker alone.
static void on_config(void* data, leat_status_t status, leat_string_view_t answer) {
  making_t* making = data;
  leat_service_job_t* job = &making->job;
  leat_pb_get_data_service_config_response_t response;
  leat_arena_t arena;
  status = leat_service_decode(&leat_pb_get_data_service_config_response_descriptor, status, answer,
                               &arena, &response);
  if (!status && response.config && is_static(job->sharding_policy) &&
      response.config->deployment_mode == LEAT_PB_DEPLOYMENT_MODE_DEPLOYMENT_MODE_COLOCATED &&
      job->target_workers == LEAT_PB_TARGET_WORKERS_TARGET_WORKERS_AUTO) {
    job->target_workers = LEAT_PB_TARGET_WORKERS_TARGET_WORKERS_LOCAL;
  }
  leat_arena_deinitialize(&arena);
  if (status) {
    finish(making, status);
  } else {
    ask_metadata(making);
  }
}

static void data_service__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  static const leat_service_question_t method = {
      "/tensorflow.data.DispatcherService/GetDataServiceConfig",
      "Failed to get data service config", NULL};
  making_t* making;
  leat_arena_t arena;
  leat_service_job_t job;
  leat_arena_initialize(leat_allocator_system(), 256, &arena);
  leat_status_t status = read_job(c, &arena, &job);
  if (!status) {
    status = leat_service_asking_begin(c, done, job.address, sizeof *making,
                                       (leat_service_asking_t**)&making);
  }
  if (status) {
    leat_arena_deinitialize(&arena);
    done(c, status);
    return;
  }
  making->job = job;
  making->arena = arena;
  leat_service_ask(&making->asking, &method, NULL, on_config);
}

#define KERNEL(name, make_state)           \
  {.op = name,                             \
   .device_type = "CPU",                   \
   .create = make_state,                   \
   .destroy = destroy_state,               \
   .state_bytes = sizeof(service_state_t), \
   .compute_async = data_service__cpu}

const leat_kernel_row_t leat_data_service_dataset_kernels_cpu[] = {
    KERNEL("DataServiceDataset", create_early_state),
    KERNEL("DataServiceDatasetV2", create_early_state),
    KERNEL("DataServiceDatasetV3", create_uncompressing_state),
    KERNEL("DataServiceDatasetV4", create_uncompressing_state),
    LEAT_KERNEL_ROWS_END,
};
