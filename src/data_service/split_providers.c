// Splits are numbers from a start to a stop by a step: those of a range itself, and the indices of
// rows of tensors. What the sources' nodes read is computed once, when the iteration begins; as it
// may be any graph of a client, it is given a minute.
#include "data_service/split_providers.h"

#include <inttypes.h>

#include "data_service/dataset_sources.h"
#include "data_service/element_source.h"

#define PATIENCE_MS 60000

typedef struct provider_s {
  int64_t start, stop, step, next, repetition;
} provider_t;

struct leat_split_providers_s {
  size_t count;
  provider_t items[];
};

// How many inputs of the source's node say what its splits are.
static size_t count_inputs(const leat_dataset_source_t* source) {
  static const size_t kCounts[] = {
      [LEAT_SOURCE_NUMBERS] = 3, [LEAT_SOURCE_ROWS] = 1, [LEAT_SOURCE_TENSORS] = 0};
  const size_t wanted = kCounts[source->kind];
  return source->inputs->count < wanted ? 0 : wanted;
}

static leat_status_t read_number(const leat_tensor_t* tensor, int64_t* out_number) {
  if (tensor->dtype != LEAT_DTYPE_INT64 || tensor->shape.rank != 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Sharding a dataset failed: a number of a range is %s of rank %d, must "
                            "be a scalar of int64",
                            leat_dtype_name(tensor->dtype), tensor->shape.rank);
  }
  *out_number = *(const int64_t*)tensor->data;
  return leat_ok_status();
}

// |values| are those of the inputs that are counted above.
static leat_status_t make_provider(const leat_dataset_source_t* source,
                                   const leat_tensor_t* values, provider_t* out_provider) {
  provider_t p = {.start = 0, .stop = 1, .step = 1};
  if (source->kind == LEAT_SOURCE_NUMBERS && count_inputs(source)) {
    LEAT_RETURN_IF_ERROR(read_number(&values[0], &p.start));
    LEAT_RETURN_IF_ERROR(read_number(&values[1], &p.stop));
    LEAT_RETURN_IF_ERROR(read_number(&values[2], &p.step));
  } else if (source->kind == LEAT_SOURCE_ROWS && count_inputs(source)) {
    p.stop = values->shape.rank ? leat_shape_dim(&values->shape, 0) : 0;
  }
  if (p.step == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Sharding a dataset failed: the step of a range is 0, must not be");
  }
  p.next = p.start;
  *out_provider = p;
  return leat_ok_status();
}

static leat_status_t make_providers(const leat_dataset_sources_t* sources,
                                    const leat_tensor_t* values,
                                    leat_split_providers_t** out_providers) {
  leat_split_providers_t* providers;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), sizeof *providers + sources->count * sizeof providers->items[0],
      (void**)&providers));
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < sources->count && !status; ++i) {
    status = make_provider(&sources->items[i], values, &providers->items[i]);
    values += count_inputs(&sources->items[i]);
  }
  providers->count = sources->count;
  if (status) {
    leat_split_providers_free(providers);
    return status;
  }
  *out_providers = providers;
  return leat_ok_status();
}

// Computes what the sources read, and makes the providers of that.
static leat_status_t evaluate(const leat_runtime_t* runtime, leat_dataset_graph_t* graph,
                              const leat_dataset_sources_t* sources,
                              leat_split_providers_t** out_providers) {
  leat_pb_string_list_t names = {0};
  leat_tensor_t* values;
  size_t count = 0;
  for (size_t i = 0; i < sources->count; ++i) count += count_inputs(&sources->items[i]);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, count, &names.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&graph->arena, count, &values));
  for (size_t i = 0; i < sources->count; ++i) {
    for (size_t k = 0; k < count_inputs(&sources->items[i]); ++k) {
      names.items[names.count++] = sources->items[i].inputs->items[k];
    }
  }
  LEAT_RETURN_IF_ERROR(
      leat_dataset_graph_evaluate(runtime, graph, &names, PATIENCE_MS, values));
  leat_status_t status = make_providers(sources, values, out_providers);
  for (size_t i = 0; i < count; ++i) leat_tensor_release(&values[i]);
  return status;
}

leat_status_t leat_split_providers_create(const leat_runtime_t* runtime, leat_string_view_t bytes,
                                          leat_split_providers_t** out_providers) {
  leat_dataset_graph_t graph;
  leat_dataset_sources_t* sources;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &sources));
  leat_status_t status = leat_dataset_graph_initialize(bytes, &graph);
  if (!status) {
    status = leat_dataset_graph_prepare(&graph);
    if (!status) status = leat_dataset_graph_find_sources(&graph, runtime->ops, false, sources);
    if (!status) status = evaluate(runtime, &graph, sources, out_providers);
    leat_dataset_graph_deinitialize(&graph);
  }
  leat_allocator_free(leat_allocator_system(), sources);
  return status;
}

void leat_split_providers_free(leat_split_providers_t* providers) {
  leat_allocator_free(leat_allocator_system(), providers);
}

size_t leat_split_providers_count(const leat_split_providers_t* providers) {
  return providers->count;
}

static void begin_pass(provider_t* provider, int64_t repetition) {
  provider->repetition = repetition;
  provider->next = provider->start;
}

leat_status_t leat_split_providers_next(leat_split_providers_t* providers, int64_t index,
                                        int64_t repetition, int64_t* out_split,
                                        bool* out_at_end) {
  if (index < 0 || (uint64_t)index >= providers->count || repetition < 0 ||
      repetition == INT64_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Getting a split failed: split_provider_index is %" PRId64
                            " and repetition %" PRId64 ", must be one of %zu sources and >= 0",
                            index, repetition, providers->count);
  }
  provider_t* p = &providers->items[index];
  *out_at_end = repetition < p->repetition;
  if (*out_at_end) return leat_ok_status();
  if (repetition > p->repetition) begin_pass(p, repetition);
  *out_at_end = p->step > 0 ? p->next >= p->stop : p->next <= p->stop;
  if (*out_at_end) {
    begin_pass(p, repetition + 1);
    return leat_ok_status();
  }
  *out_split = p->next;
  if (__builtin_add_overflow(p->next, p->step, &p->next)) p->next = p->stop;
  return leat_ok_status();
}

// Whether |next| lies before the end of a pass.
static bool has_split(const provider_t* p, int64_t next) {
  return p->step > 0 ? next >= p->start && next < p->stop : next <= p->start && next > p->stop;
}

leat_status_t leat_split_providers_seek(leat_split_providers_t* providers, size_t index,
                                        const leat_split_position_t* position) {
  provider_t* p = index < providers->count ? &providers->items[index] : NULL;
  int64_t last = 0;
  // The last split that was given out must be one of a pass; the next one may be its end.
  const bool has_last =
      p && position->count >= 0 && position->repetition >= 0 &&
      (!position->count || (!__builtin_mul_overflow(position->count - 1, p->step, &last) &&
                            !__builtin_add_overflow(last, p->start, &last) && has_split(p, last)));
  if (!has_last) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "Restoring the splits of source %zu failed: %" PRId64 " were given out "
                            "in pass %" PRId64 ", must be one of %zu sources and have so many",
                            index, position->count, position->repetition, providers->count);
  }
  begin_pass(p, position->repetition);
  if (position->count && __builtin_add_overflow(last, p->step, &p->next)) p->next = p->stop;
  return leat_ok_status();
}
