// The metrics of eager/c_api_experimental.h: counters, gauges and samplers, each with up to four
// labels. All kinds are one data structure: a metric is a named list of cells, and a cell belongs
// to one combination of label values and has a number, a text and a distribution, of which each
// kind uses its own.
//
//     metrics ──▶ metric "name" ──▶ cell "a\1b\1" ──▶ cell "c\1d\1"
//
// The header declares about eighty functions, which differ mostly in types of handles that are only
// pointers. So each function is written once, with the types of this file, and the others are
// aliases of it (the end of this file). That is why this file does not include the header: its
// declarations would contradict these. The mutex guards the lists; a cell's own mutex or atomic
// guards its values, so that counting does not wait for other metrics. The cells of a metric live
// until it is deleted.
#include <float.h>
#include <string.h>

#include "capi/plugin/plugin.h"
#include "formats/generated/summary.h"
#include "formats/wire/encode.h"

typedef struct buckets_s {
  size_t count;
  double limits[];
} buckets_t;

typedef struct cell_s {
  struct cell_s* next;
  buckets_t* limits;    // those of the metric; NULL: no distribution
  // guards the fields below, but for |number| of counters and gauges, which is atomic
  leat_mutex_t mutex;
  _Atomic int64_t number;
  char* text;
  double min, max, sum, squares;
  double* counts;  // [limits->count]
  char labels[];   // the values of the labels, each followed by a byte 1
} cell_t;

typedef struct metric_s {
  struct metric_s* next;
  cell_t* cells;
  buckets_t* limits;
  char name[];
} metric_t;

// guards the list of metrics and their lists of cells
static leat_mutex_t metrics_mutex = {PTHREAD_MUTEX_INITIALIZER};
static metric_t* metrics;

// ---- Metrics ------------------------------------------------------------------------------------

static buckets_t* copy_buckets(const buckets_t* buckets) {
  size_t size = sizeof *buckets + buckets->count * sizeof(double);
  buckets_t* copy = leat_capi_allocate(size);
  if (copy) memcpy(copy, buckets, size);
  return copy;
}

// ALREADY_EXISTS where a metric of that name exists. The caller holds the mutex.
static leat_status_t add_metric(const char* name, const buckets_t* buckets, metric_t** out) {
  for (const metric_t* m = metrics; m; m = m->next) {
    if (strcmp(m->name, name) != 0) continue;
    return leat_make_status(LEAT_ALREADY_EXISTS,
                            "Another metric with the same name already exists: %s", name);
  }
  metric_t* metric = leat_capi_allocate(sizeof *metric + strlen(name) + 1);
  if (metric && buckets) metric->limits = copy_buckets(buckets);
  if (!metric || (buckets && !metric->limits)) {
    leat_allocator_free(leat_allocator_system(), metric);
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a metric ran out");
  }
  memcpy(metric->name, name, strlen(name));
  metric->next = metrics;
  metrics = *out = metric;
  return leat_ok_status();
}

static metric_t* new_sampler(const char* name, const buckets_t* buckets, TF_Status* status) {
  metric_t* metric = NULL;
  leat_status_t result = leat_make_status(LEAT_INVALID_ARGUMENT, "A metric must have a name");
  if (name && *name) {
    leat_status_free(result);
    leat_mutex_lock(&metrics_mutex);
    result = add_metric(name, buckets, &metric);
    leat_mutex_unlock(&metrics_mutex);
  }
  leat_capi_status_set(status, result);
  return metric;
}

static metric_t* new_metric(const char* name, TF_Status* status) {
  return new_sampler(name, NULL, status);
}

static void delete_metric(metric_t* metric) {
  if (!metric) return;
  leat_mutex_lock(&metrics_mutex);
  metric_t** link = &metrics;
  while (*link && *link != metric) link = &(*link)->next;
  if (*link) *link = metric->next;
  leat_mutex_unlock(&metrics_mutex);
  while (metric->cells) {
    cell_t* cell = metric->cells;
    metric->cells = cell->next;
    leat_mutex_deinitialize(&cell->mutex);
    leat_allocator_free(leat_allocator_system(), cell->text);
    leat_allocator_free(leat_allocator_system(), cell->counts);
    leat_allocator_free(leat_allocator_system(), cell);
  }
  leat_allocator_free(leat_allocator_system(), metric->limits);
  leat_allocator_free(leat_allocator_system(), metric);
}

// ---- Cells --------------------------------------------------------------------------------------

static cell_t* new_cell(metric_t* metric, leat_string_view_t labels) {
  cell_t* cell = leat_capi_allocate(sizeof *cell + labels.size + 1);
  if (!cell) return NULL;
  if (metric->limits) {
    cell->limits = metric->limits;
    cell->counts = leat_capi_allocate(metric->limits->count * sizeof(double));
    if (!cell->counts) {
      leat_allocator_free(leat_allocator_system(), cell);
      return NULL;
    }
  }
  if (labels.size > 0) memcpy(cell->labels, labels.data, labels.size);
  leat_mutex_initialize(&cell->mutex);
  cell->next = metric->cells;
  return metric->cells = cell;
}

// Finds the cell of a metric for the values of the labels, or makes it. NULL without memory.
static cell_t* find_cell(metric_t* metric, int count, const char* const* values) {
  leat_string_builder_t key;
  if (!metric) return NULL;
  leat_string_builder_initialize(leat_allocator_system(), &key);
  for (int i = 0; i < count; ++i) {
    leat_string_builder_append(&key, leat_string_view_from(values[i] ? values[i] : ""));
    leat_string_builder_append_char(&key, 1);
  }
  leat_string_view_t labels = leat_string_builder_view(&key);
  leat_mutex_lock(&metrics_mutex);
  cell_t* cell = metric->cells;
  while (cell && !leat_string_view_equals(labels, cell->labels)) cell = cell->next;
  if (!cell && !key.status) cell = new_cell(metric, labels);
  leat_mutex_unlock(&metrics_mutex);
  leat_string_builder_deinitialize(&key);
  return cell;
}

static cell_t* get_cell_0(metric_t* metric) { return find_cell(metric, 0, NULL); }
static cell_t* get_cell_1(metric_t* metric, const char* a) { return find_cell(metric, 1, &a); }
static cell_t* get_cell_2(metric_t* metric, const char* a, const char* b) {
  return find_cell(metric, 2, (const char* const[]){a, b});
}
static cell_t* get_cell_3(metric_t* metric, const char* a, const char* b, const char* c) {
  return find_cell(metric, 3, (const char* const[]){a, b, c});
}
static cell_t* get_cell_4(metric_t* metric, const char* a, const char* b, const char* c,
                          const char* d) {
  return find_cell(metric, 4, (const char* const[]){a, b, c, d});
}

static void set_number(cell_t* cell, int64_t value) { atomic_store(&cell->number, value); }
static int64_t get_number(cell_t* cell) { return atomic_load(&cell->number); }

#define EXPORT TF_CAPI_EXPORT
EXPORT void TFE_MonitoringCounterCellIncrementBy(cell_t* cell, int64_t value) {
  atomic_fetch_add(&cell->number, value);
}

EXPORT void TFE_MonitoringBoolGaugeCellSet(cell_t* cell, bool value) { set_number(cell, value); }
EXPORT bool TFE_MonitoringBoolGaugeCellValue(cell_t* cell) { return get_number(cell) != 0; }

EXPORT void TFE_MonitoringStringGaugeCellSet(cell_t* cell, const char* value) {
  char* copy = NULL;
  leat_string_view_t text = leat_string_view_from(value ? value : "");
  leat_status_free(
      leat_allocator_clone_string(leat_allocator_system(), text.data, text.size, &copy));
  leat_mutex_lock(&cell->mutex);
  char* former = cell->text;
  cell->text = copy;
  leat_mutex_unlock(&cell->mutex);
  leat_allocator_free(leat_allocator_system(), former);
}

EXPORT void TFE_MonitoringStringGaugeCellValue(cell_t* cell, TF_Buffer* buf) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_mutex_lock(&cell->mutex);
  leat_string_builder_append(&text, leat_string_view_from(cell->text ? cell->text : ""));
  leat_mutex_unlock(&cell->mutex);
  leat_status_free(leat_capi_buffer_take(&text, buf));
}

// ---- Distributions ------------------------------------------------------------------------------

// The limits are scale * growth_factor^i, i < bucket_count, and then the largest double, so that
// every value has a bucket.
EXPORT buckets_t* TFE_MonitoringNewExponentialBuckets(double scale, double growth_factor,
                                                      int bucket_count) {
  if (bucket_count <= 0 || bucket_count > 1 << 20) return NULL;
  size_t count = (size_t)bucket_count + 1;
  buckets_t* buckets = leat_capi_allocate(sizeof *buckets + count * sizeof(double));
  if (!buckets) return NULL;
  buckets->count = count;
  for (size_t i = 0; i + 1 < count; ++i, scale *= growth_factor) buckets->limits[i] = scale;
  buckets->limits[count - 1] = DBL_MAX;
  return buckets;
}

EXPORT void TFE_MonitoringDeleteBuckets(buckets_t* buckets) {
  leat_allocator_free(leat_allocator_system(), buckets);
}

EXPORT void TFE_MonitoringSamplerCellAdd(cell_t* cell, double value) {
  if (!cell->limits) return;
  size_t bucket = 0;
  while (bucket + 1 < cell->limits->count && !(value < cell->limits->limits[bucket])) ++bucket;
  leat_mutex_lock(&cell->mutex);
  bool first = cell->number == 0;
  cell->number += 1;
  cell->counts[bucket] += 1;
  if (first || value < cell->min) cell->min = value;
  if (first || value > cell->max) cell->max = value;
  cell->sum += value;
  cell->squares += value * value;
  leat_mutex_unlock(&cell->mutex);
}

EXPORT void TFE_MonitoringSamplerCellValue(cell_t* cell, TF_Buffer* buf) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_mutex_lock(&cell->mutex);
  leat_pb_histogram_proto_t histogram = {.min = cell->min,
                                         .max = cell->max,
                                         .num = (double)cell->number,
                                         .sum = cell->sum,
                                         .sum_squares = cell->squares};
  if (cell->limits) {
    histogram.bucket_limit = (leat_pb_double_list_t){cell->limits->limits, cell->limits->count};
    histogram.bucket = (leat_pb_double_list_t){cell->counts, cell->limits->count};
  }
  leat_status_t status =
      leat_message_encode(&leat_pb_histogram_proto_descriptor, &histogram, &bytes);
  leat_mutex_unlock(&cell->mutex);
  if (!status) status = leat_capi_buffer_take(&bytes, buf);
  else leat_string_builder_deinitialize(&bytes);
  leat_status_free(status);
}

// ---- Readers ------------------------------------------------------------------------------------

// Reads a counter by its name: how far its cells have counted since the reader was made. Nobody
// deletes readers, so that they stay in a list of the process.
typedef struct reader_s {
  struct reader_s* next;
  char* name;
  size_t count;
  struct {
    const cell_t* cell;
    int64_t number;
  } before[];
} reader_t;

static reader_t* readers;  // guarded by |metrics_mutex|

// The cells of the metric of that name; NULL: it has none. The caller holds the mutex.
static const cell_t* cells_of(const char* name) {
  const metric_t* metric = metrics;
  while (metric && strcmp(metric->name, name) != 0) metric = metric->next;
  return metric ? metric->cells : NULL;
}

// The caller holds the mutex.
static reader_t* make_reader(const char* name) {
  size_t count = 0, length = strlen(name) + 1;
  for (const cell_t* c = cells_of(name); c; c = c->next) ++count;
  size_t size = sizeof(reader_t) + count * sizeof(((reader_t*)NULL)->before[0]);
  char* memory = leat_capi_allocate(size + length);
  reader_t* reader = (reader_t*)memory;
  if (!reader) return NULL;
  for (const cell_t* c = cells_of(name); c; c = c->next) {
    reader->before[reader->count].cell = c;
    reader->before[reader->count++].number = atomic_load(&c->number);
  }
  reader->name = memory + size;
  memcpy(reader->name, name, length);
  reader->next = readers;
  return readers = reader;
}

EXPORT reader_t* TFE_MonitoringNewCounterReader(const char* name) {
  leat_mutex_lock(&metrics_mutex);
  reader_t* reader = make_reader(name);
  leat_mutex_unlock(&metrics_mutex);
  return reader;
}

// How far the cell with these labels has counted; 0 where there is none.
static int64_t read_counter(const reader_t* reader, leat_string_view_t labels) {
  leat_mutex_lock(&metrics_mutex);
  const cell_t* cell = cells_of(reader->name);
  while (cell && !leat_string_view_equals(labels, cell->labels)) cell = cell->next;
  int64_t change = cell ? atomic_load(&cell->number) : 0;
  for (size_t i = 0; cell && i < reader->count; ++i) {
    if (reader->before[i].cell == cell) change -= reader->before[i].number;
  }
  leat_mutex_unlock(&metrics_mutex);
  return change;
}

EXPORT int64_t TFE_MonitoringReadCounter0(reader_t* cell_reader) {
  return read_counter(cell_reader, LEAT_SV(""));
}

EXPORT int64_t TFE_MonitoringReadCounter1(reader_t* cell_reader, const char* label_value) {
  leat_string_builder_t labels;
  leat_string_builder_initialize(leat_allocator_system(), &labels);
  leat_string_builder_append(&labels, leat_string_view_from(label_value));
  leat_string_builder_append_char(&labels, 1);
  int64_t change =
      labels.status ? 0 : read_counter(cell_reader, leat_string_builder_view(&labels));
  leat_string_builder_deinitialize(&labels);
  return change;
}

// ---- The other names of these functions ---------------------------------------------------------

#define NAME(result, name, function, ...) \
  EXPORT result TFE_Monitoring##name(__VA_ARGS__) __attribute__((alias(#function)));
#define METRIC(metric, labels)                                                         \
  NAME(metric_t*, New##metric, new_metric, const char* name, TF_Status* status)        \
  NAME(void, Delete##metric, delete_metric, metric_t* metric_)                         \
  METRIC_CELL(metric, labels)
#define METRIC_CELL(metric, labels) METRIC_CELL_##labels(GetCell##metric)
#define METRIC_CELL_0(name) NAME(cell_t*, name, get_cell_0, metric_t* metric_)
#define METRIC_CELL_1(name) NAME(cell_t*, name, get_cell_1, metric_t* metric_, const char* a)
#define METRIC_CELL_2(name) \
  NAME(cell_t*, name, get_cell_2, metric_t* metric_, const char* a, const char* b)
#define METRICS(kind) METRIC(kind##0, 0) METRIC(kind##1, 1) METRIC(kind##2, 2)
METRICS(Counter)
METRICS(IntGauge)
METRICS(BoolGauge)
METRICS(StringGauge)
NAME(metric_t*, NewStringGauge3, new_metric, const char* name, TF_Status* status)
NAME(metric_t*, NewStringGauge4, new_metric, const char* name, TF_Status* status)
NAME(void, DeleteStringGauge3, delete_metric, metric_t* metric)
NAME(void, DeleteStringGauge4, delete_metric, metric_t* metric)
NAME(cell_t*, GetCellStringGauge3, get_cell_3, metric_t* metric, const char* a, const char* b,
     const char* c)
NAME(cell_t*, GetCellStringGauge4, get_cell_4, metric_t* metric, const char* a, const char* b,
     const char* c, const char* d)
#define SAMPLER(metric, labels)                                                                \
  NAME(metric_t*, New##metric, new_sampler, const char* name, const buckets_t* buckets,        \
       TF_Status* status)                                                                      \
  NAME(void, Delete##metric, delete_metric, metric_t* metric_)                                 \
  METRIC_CELL(metric, labels)
SAMPLER(Sampler0, 0)
SAMPLER(Sampler1, 1)
SAMPLER(Sampler2, 2)
NAME(void, IntGaugeCellSet, set_number, cell_t* cell, int64_t value)
NAME(int64_t, IntGaugeCellValue, get_number, cell_t* cell)
NAME(int64_t, CounterCellValue, get_number, cell_t* cell)
