// What eager ops did: RunMetadata, and lines that say where each op runs. While a context collects,
// each op that is executed is an event, and so is each node of the functions that it calls, because
// a call passes its collector on to the steps that it makes. An export takes the collection out and
// leaves an empty one; an op that is under way then ends in the one that it began with, which is
// gone with its last user.
#include "base/log.h"
#include "capi/eager/eager.h"
#include "formats/generated/run_metadata.h"
#include "trace/collector.h"

struct leat_eager_collection_s {
  leat_reference_count_t references;
  leat_step_collector_t collector;
};

static leat_eager_collection_t* create(void) {
  leat_eager_collection_t* collection = leat_capi_allocate(sizeof *collection);
  if (!collection) return NULL;
  collection->references = 1;
  leat_step_collector_initialize(leat_allocator_system(), &collection->collector);
  return collection;
}

void leat_eager_collection_release(leat_eager_collection_t* collection) {
  if (!collection || !leat_reference_count_release(&collection->references)) return;
  leat_step_collector_deinitialize(&collection->collector);
  leat_allocator_free(leat_allocator_system(), collection);
}

// Puts |next| in the place of the context's collection, which it returns; either may be NULL.
static leat_eager_collection_t* exchange(TFE_Context* context, leat_eager_collection_t* next) {
  leat_mutex_lock(&context->mutex);
  leat_eager_collection_t* former = context->collection;
  context->collection = next;
  atomic_store(&context->collects, next != NULL);
  leat_mutex_unlock(&context->mutex);
  return former;
}

void TFE_ContextEnableRunMetadata(TFE_Context* ctx) {
  if (!atomic_load(&ctx->collects)) leat_eager_collection_release(exchange(ctx, create()));
}

void TFE_ContextDisableRunMetadata(TFE_Context* ctx) {
  leat_eager_collection_release(exchange(ctx, NULL));
}

// Encodes what was collected, while no op under way can add to it.
static leat_status_t encode(leat_step_collector_t* collector, leat_string_builder_t* bytes) {
  leat_pb_step_stats_t stats;
  leat_mutex_lock(&collector->mutex);
  leat_status_t status = leat_step_stats_describe(collector, leat_trace_no_inputs, NULL, &stats);
  if (!status) status = leat_run_metadata_encode(&stats, NULL, bytes);
  leat_mutex_unlock(&collector->mutex);
  return status;
}

static leat_status_t export_metadata(TFE_Context* context, TF_Buffer* buffer) {
  LEAT_RETURN_IF_ERROR(leat_capi_buffer_check_empty(buffer));
  bool collects = atomic_load(&context->collects);
  leat_eager_collection_t* collection = exchange(context, collects ? create() : NULL);
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_ok_status();
  if (collection) status = encode(&collection->collector, &bytes);
  if (!status) status = leat_capi_buffer_take(&bytes, buffer);
  leat_string_builder_deinitialize(&bytes);
  leat_eager_collection_release(collection);
  return status;
}

void TFE_ContextExportRunMetadata(TFE_Context* ctx, TF_Buffer* buf, TF_Status* status) {
  leat_capi_status_set(status, export_metadata(ctx, buf));
}

// TensorFlow keeps names of executed ops only in its other runtime (TFE_ContextOptionsSetTfrt), and
// answers with none in this one.
void TFE_GetExecutedOpNames(TFE_Context* ctx, TF_Buffer* buf, TF_Status* status) {
  leat_string_builder_t none;
  leat_string_builder_initialize(leat_allocator_system(), &none);
  leat_status_t result = leat_capi_buffer_check_empty(buf);
  if (!result) result = leat_capi_buffer_take(&none, buf);
  leat_capi_status_set(status, result);
}

// ---- While an op runs ---------------------------------------------------------------------------

leat_eager_event_t leat_eager_event_begin(const TFE_Op* op) {
  TFE_Context* context = op->context;
  leat_eager_event_t event = {0};
  if (LEAT_UNLIKELY(atomic_load_explicit(&context->logs_placement, memory_order_relaxed))) {
    leat_log(LEAT_LOG_WARNING, "Executing op %.*s in device %.*s", LEAT_SV_ARG(op->op->name),
             LEAT_SV_ARG(context->device->name));
  }
  if (LEAT_LIKELY(!atomic_load_explicit(&context->collects, memory_order_relaxed))) return event;
  leat_mutex_lock(&context->mutex);
  event.collection = context->collection;
  if (event.collection) leat_reference_count_retain(&event.collection->references);
  leat_mutex_unlock(&context->mutex);
  if (event.collection) event.collector = &event.collection->collector;
  event.start_ns = leat_step_collector_now();
  return event;
}

void leat_eager_event_end(const leat_eager_event_t* event, const TFE_Op* op,
                          const leat_kernel_t* kernel, const leat_tensor_t* outputs) {
  if (LEAT_LIKELY(!event->collection)) return;
  leat_step_collector_add(event->collector, op->context->device->name, kernel->node_name,
                          op->op->name, event->start_ns, outputs, kernel->output_count,
                          sizeof *outputs);
  leat_eager_collection_release(event->collection);
}

void TFE_ContextSetLogDevicePlacement(TFE_Context* ctx, unsigned char enable, TF_Status* status) {
  atomic_store(&ctx->logs_placement, enable != 0);
  leat_capi_status_set(status, leat_ok_status());
}
