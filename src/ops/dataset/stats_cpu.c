// Aggregators of statistics (ops/dataset/stats_cpu.h) and the kernels that make and read them.
// There are two kinds, as in TensorFlow. One keeps what it was told until StatsAggregatorSummary
// asks for it, again and again. The other one (|writes|) hands an event with the whole histogram to
// its writer of summaries whenever it is told something, and answers StatsAggregatorSummary with an
// empty message; before it has a writer it only counts.
//
// A handle names either kind. Which one it becomes, the first kernel that runs decides, since both
// have one resource kind.
#include "ops/dataset/stats_cpu.h"

#include "formats/record/histogram.h"
#include "formats/wire/encode.h"
#include "kernel/handle.h"
#include "ops/kernel_rows.h"
#include "ops/summary/summary_writer_cpu.h"

enum { VALUE_SCALAR = 2, VALUE_HISTOGRAM = 5 };  // the fields in Summary.Value

// A histogram of what was added, or the number that was set last.
typedef struct tagged_s {
  leat_string_view_t tag;
  bool is_scalar;
  float scalar;
  leat_histogram_t histogram;
} tagged_t;

typedef struct aggregator_s {
  leat_resource_t resource;
  bool writes;
  leat_mutex_t mutex;       // guards the fields below
  leat_resource_t* writer;  // of summaries; NULL: none
  leat_arena_t arena;       // of the histograms
  tagged_t** tags;          // in the order in which they were first told of
  size_t count, room;
} aggregator_t;

static void aggregator_destroy(leat_resource_t* resource) {
  aggregator_t* aggregator = (aggregator_t*)resource;
  if (aggregator->writer) leat_resource_release(aggregator->writer);
  leat_arena_deinitialize(&aggregator->arena);
  leat_allocator_free(leat_allocator_system(), aggregator->tags);
  leat_mutex_deinitialize(&aggregator->mutex);
  leat_allocator_free(leat_allocator_system(), aggregator);
}

static const leat_resource_kind_t kAggregator = {.name = "StatsAggregator",
                                                 .destroy = aggregator_destroy};

// What is kept of |name|, which is made where it is new. A tag may be a histogram and a scalar. The
// lock is held.
static leat_status_t find_tag(aggregator_t* aggregator, leat_string_view_t name, bool is_scalar,
                              tagged_t** out_tagged) {
  tagged_t* tagged;
  for (size_t i = 0; i < aggregator->count; ++i) {
    if (aggregator->tags[i]->is_scalar != is_scalar) continue;
    if (!leat_string_view_equal(aggregator->tags[i]->tag, name)) continue;
    *out_tagged = aggregator->tags[i];
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), aggregator->count + 1, &aggregator->tags,
                                 &aggregator->room));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&aggregator->arena, 1, &tagged));
  tagged->is_scalar = is_scalar;
  if (!is_scalar) {
    LEAT_RETURN_IF_ERROR(leat_histogram_create(&aggregator->arena, &tagged->histogram));
  }
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&aggregator->arena, name, &tagged->tag));
  aggregator->tags[aggregator->count++] = tagged;
  *out_tagged = tagged;
  return leat_ok_status();
}

// Makes the values of a Summary, |count| of those in |tags|, in |arena|. The lock is held.
static leat_status_t make_summary(tagged_t* const* tags, size_t count, leat_arena_t* arena,
                                  leat_pb_summary_t* out_summary) {
  leat_pb_summary_value_t* values;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count, &values));
  for (size_t i = 0; i < count; ++i) {
    leat_pb_histogram_proto_t* histogram;
    values[i] = (leat_pb_summary_value_t){.tag = tags[i]->tag,
                                          .simple_value = tags[i]->scalar,
                                          .value_case = VALUE_SCALAR};
    if (tags[i]->is_scalar) continue;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &histogram));
    LEAT_RETURN_IF_ERROR(leat_histogram_to_proto(&tags[i]->histogram, arena, histogram));
    values[i] = (leat_pb_summary_value_t){
        .tag = tags[i]->tag, .histo = histogram, .value_case = VALUE_HISTOGRAM};
  }
  *out_summary = (leat_pb_summary_t){.value = {.items = values, .count = count}};
  return leat_ok_status();
}

// Writes the event of |tagged|. The lock is held, so that events come in the order of their counts.
static leat_status_t write_event(const aggregator_t* aggregator, tagged_t* tagged, int64_t step) {
  leat_arena_t arena;
  leat_pb_summary_t summary;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = make_summary(&tagged, 1, &arena, &summary);
  if (!status) {
    const leat_pb_event_t event = {
        .step = step, .summary = &summary, .what_case = LEAT_EVENT_SUMMARY};
    status = leat_summary_writer_add(aggregator->writer, &event);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// ---- What iterators tell ------------------------------------------------------------------------

struct leat_stats_s {
  leat_reference_count_t references;
  aggregator_t* aggregator;
  leat_tensor_t prefix;  // a scalar string
};

leat_status_t leat_stats_create(const leat_kernel_context_t* c, int index,
                                leat_string_view_t prefix, leat_stats_t** out_stats) {
  leat_stats_t* stats;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &stats));
  stats->references = 1;
  leat_status_t status = leat_tensor_scalar_string(prefix, &stats->prefix);
  if (!status) {
    status = leat_handle_find(c, index, &kAggregator, (leat_resource_t**)&stats->aggregator);
  }
  if (!status) {
    *out_stats = stats;
  } else {
    leat_stats_release(stats);
  }
  return status;
}

void leat_stats_retain(leat_stats_t* stats) {
  if (stats) leat_reference_count_retain(&stats->references);
}

void leat_stats_release(leat_stats_t* stats) {
  if (!stats || !leat_reference_count_release(&stats->references)) return;
  if (stats->aggregator) leat_resource_release(&stats->aggregator->resource);
  leat_tensor_release(&stats->prefix);
  leat_allocator_free(leat_allocator_system(), stats);
}

static leat_status_t tell(aggregator_t* aggregator, leat_string_view_t name, bool is_scalar,
                          double value, int64_t step) {
  tagged_t* tagged;
  LEAT_RETURN_IF_ERROR(find_tag(aggregator, name, is_scalar, &tagged));
  if (is_scalar) {
    tagged->scalar = (float)value;
  } else {
    leat_histogram_add(&tagged->histogram, value);
  }
  return aggregator->writer ? write_event(aggregator, tagged, step) : leat_ok_status();
}

// Tells |value| under the prefix and |tag|.
static leat_status_t tell_prefixed(leat_stats_t* stats, leat_string_view_t tag, bool is_scalar,
                                   double value, int64_t step) {
  leat_string_builder_t name;
  const leat_string_view_t prefix = leat_tensor_string_at(&stats->prefix, 0);
  leat_string_builder_initialize(leat_allocator_system(), &name);
  if (prefix.size) {
    leat_string_builder_append(&name, prefix);
    leat_string_builder_append(&name, LEAT_SV("::"));
  }
  leat_string_builder_append(&name, tag);
  leat_status_t status = leat_status_clone(name.status);
  if (!status) {
    leat_mutex_lock(&stats->aggregator->mutex);
    status = tell(stats->aggregator, leat_string_builder_view(&name), is_scalar, value, step);
    leat_mutex_unlock(&stats->aggregator->mutex);
  }
  leat_string_builder_deinitialize(&name);
  return status;
}

leat_status_t leat_stats_add(leat_stats_t* stats, leat_string_view_t tag, double value,
                             int64_t step) {
  return stats ? tell_prefixed(stats, tag, false, value, step) : leat_ok_status();
}

leat_status_t leat_stats_set(leat_stats_t* stats, leat_string_view_t tag, double value,
                             int64_t step) {
  return stats ? tell_prefixed(stats, tag, true, value, step) : leat_ok_status();
}

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t handle_create(leat_kernel_creation_t* c, void* state) {
  return leat_handle_initialize(c, &kAggregator, true, state);
}

static void handle_destroy(void* state) { leat_handle_deinitialize(state); }

static leat_status_t make(void* data, leat_resource_t** out_resource) {
  aggregator_t* aggregator;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &aggregator));
  aggregator->resource.kind = &kAggregator;
  aggregator->resource.references = 1;
  aggregator->writes = *(const bool*)data;
  leat_mutex_initialize(&aggregator->mutex);
  leat_arena_initialize(leat_allocator_system(), 0, &aggregator->arena);
  *out_resource = &aggregator->resource;
  return leat_ok_status();
}

static leat_status_t set_handle(leat_kernel_context_t* c, bool writes) {
  const leat_handle_t* handle = leat_kernel_state(c);
  leat_resource_t* aggregator;
  LEAT_RETURN_IF_ERROR(
      leat_handle_find_or_make(c, handle, &kAggregator, make, &writes, &aggregator));
  leat_resource_release(aggregator);
  leat_handle_set_output(c, handle);
  return leat_ok_status();
}

static leat_status_t handle__cpu(leat_kernel_context_t* c) { return set_handle(c, false); }
static leat_status_t handle_v2__cpu(leat_kernel_context_t* c) { return set_handle(c, true); }

static leat_status_t encode(aggregator_t* aggregator, leat_string_builder_t* out_bytes) {
  leat_arena_t arena;
  leat_pb_summary_t summary;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_mutex_lock(&aggregator->mutex);
  leat_status_t status = make_summary(aggregator->tags, aggregator->writes ? 0 : aggregator->count,
                                      &arena, &summary);
  if (!status) status = leat_message_encode(&leat_pb_summary_descriptor, &summary, out_bytes);
  leat_mutex_unlock(&aggregator->mutex);
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t summary__cpu(leat_kernel_context_t* c) {
  const leat_shape_t scalar = leat_shape_scalar();
  aggregator_t* aggregator;
  leat_tensor_t* output;
  leat_string_builder_t bytes;
  LEAT_RETURN_IF_ERROR(leat_handle_find(c, 0, &kAggregator, (leat_resource_t**)&aggregator));
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = encode(aggregator, &bytes);
  leat_resource_release(&aggregator->resource);
  if (!status) status = leat_kernel_allocate_output(c, 0, &scalar, &output);
  if (!status) status = leat_tensor_set_string(output, 0, leat_string_builder_view(&bytes));
  leat_string_builder_deinitialize(&bytes);
  return status;
}

// An aggregator that keeps its statistics has no use for a writer, and ignores it, as TensorFlow's
// does.
static leat_status_t set_writer__cpu(leat_kernel_context_t* c) {
  aggregator_t* aggregator;
  leat_resource_t* writer;
  LEAT_RETURN_IF_ERROR(leat_summary_writer_find(c, 1, &writer));
  leat_status_t status = leat_handle_find(c, 0, &kAggregator, (leat_resource_t**)&aggregator);
  if (status) {
    leat_resource_release(writer);
    return status;
  }
  if (aggregator->writes) {
    leat_mutex_lock(&aggregator->mutex);
    leat_resource_t* former = aggregator->writer;
    aggregator->writer = writer;
    leat_mutex_unlock(&aggregator->mutex);
    writer = former;
  }
  if (writer) leat_resource_release(writer);
  leat_resource_release(&aggregator->resource);
  return leat_ok_status();
}

#define HANDLE(name, function) \
  LEAT_CPU_KERNEL(name, NULL, leat_handle_t, handle_create, function, .destroy = handle_destroy)

const leat_kernel_row_t leat_stats_kernels_cpu[] = {
    HANDLE("StatsAggregatorHandle", handle__cpu),
    HANDLE("ExperimentalStatsAggregatorHandle", handle__cpu),
    HANDLE("StatsAggregatorHandleV2", handle_v2__cpu),
    {.op = "StatsAggregatorSummary", .device_type = "CPU", .compute = summary__cpu},
    {.op = "ExperimentalStatsAggregatorSummary", .device_type = "CPU", .compute = summary__cpu},
    {.op = "StatsAggregatorSetSummaryWriter", .device_type = "CPU", .compute = set_writer__cpu},
    LEAT_KERNEL_ROWS_END,
};
