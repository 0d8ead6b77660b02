// Distributions over classes for the candidate samplers, by weights of the classes.
//
// Fixed weights come from a file or an attribute and never change, so drawing should take constant
// time. The alias method (Walker 1974, Vose 1991) gives each of n classes a column of height 1 that
// is split between the class and one other class:
//
//   column of class 2:  | own = 0.4: class 2 | the rest: class 7 |
//
// A uniform class and a uniform height then name the class that is drawn. Making the columns takes
// linear time: columns that are not full are filled up from those that are too full.
//
// Learned weights grow by one for each true class, so columns would have to be made anew each time.
// They are the leaves of a binary tree of sums instead; drawing descends from the root, and
// counting adds one to each node on the way up, both in log2(n) steps.
//
// With num_shards above 1 the sampler draws from the classes of its shard only, which are every
// num_shards-th class.
#include "ops/random/unigram_cpu.h"

#include <limits.h>
#include <math.h>

#include "base/file_system.h"
#include "base/string_builder.h"

// ---- Fixed: the weights -------------------------------------------------------------------------

// One column of the alias method.
typedef struct column_s {
  float own;      // the part of the column that belongs to its class
  int32_t other;  // the class that the rest belongs to
} column_t;

struct leat_fixed_unigrams_s {
  int64_t count;
  float total;
  float* weights;
  column_t* columns;
};

// Reads weights of one shard into |unigrams|.
typedef struct weight_reader_s {
  leat_fixed_unigrams_t* unigrams;
  int64_t capacity;
  int64_t shard_count, shard;
  float distortion;
  int64_t word;  // the number of the next class, counted over all shards
} weight_reader_t;

static leat_status_t check_count(int64_t range, int64_t count) {
  if (count == range) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "range is %lld must be equal to weights size  %lld", (long long)range,
                          (long long)count);
}

static bool is_of_shard(const weight_reader_t* reader, int64_t word) {
  return word % reader->shard_count == reader->shard;
}

// Weights beyond the range are counted, so that the caller can tell how many there are, but not
// kept.
static void add_weight(weight_reader_t* reader, float weight) {
  leat_fixed_unigrams_t* u = reader->unigrams;
  u->total += weight;
  if (u->count < reader->capacity) u->weights[u->count] = weight;
  ++u->count;
}

// Adds the reserved classes of this shard, which have weight 0. As in TensorFlow, the classes after
// them are numbered from the number of this shard's reserved ones on.
static void add_reserved(weight_reader_t* reader, int64_t count) {
  int64_t own = 0;
  if (count > reader->shard) own = (count - reader->shard - 1) / reader->shard_count + 1;
  for (int64_t i = 0; i < own && i <= reader->capacity; ++i) add_weight(reader, 0);
  reader->word = reader->unigrams->count;
}

static leat_status_t add_attr(weight_reader_t* reader, const leat_attr_value_t* unigrams) {
  for (uint32_t i = 0; i < unigrams->count; ++i) {
    if (is_of_shard(reader, reader->word++)) {
      add_weight(reader, powf(unigrams->floats[i], reader->distortion));
    }
  }
  return leat_ok_status();
}

// Each line has fields separated by commas; the last field is the weight.
static leat_status_t add_lines(weight_reader_t* reader, leat_string_view_t text) {
  leat_string_view_t line;
  while (leat_string_view_take_line(&text, &line)) {
    size_t comma = leat_string_view_find_last(line, ',');
    double weight;
    if (!is_of_shard(reader, reader->word++)) continue;
    leat_string_view_t field =
        leat_string_view_from_index(line, comma == SIZE_MAX ? 0 : comma + 1);
    if (!leat_string_view_to_double(leat_string_view_trim(field), &weight)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Wrong vocabulary format at line: %.*s",
                              LEAT_SV_ARG(line));
    }
    add_weight(reader, powf((float)weight, reader->distortion));
  }
  return leat_ok_status();
}

static leat_status_t add_file(weight_reader_t* reader, leat_string_view_t path) {
  char *name, *text;
  size_t size;
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(leat_allocator_clone_string(allocator, path.data, path.size, &name));
  leat_status_t status =
      leat_file_read_all(leat_file_system_posix(), name, allocator, &text, &size);
  leat_allocator_free(allocator, name);
  if (status) return status;
  status = add_lines(reader, leat_string_view_make(text, size));
  leat_allocator_free(allocator, text);
  return status;
}

static leat_status_t read_weights(leat_kernel_creation_t* c, weight_reader_t* reader) {
  const leat_attr_value_t* unigrams;
  leat_string_view_t path;
  int64_t reserved;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "unigrams", &unigrams));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "vocab_file", &path));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "distortion", &reader->distortion));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_reserved_ids", &reserved));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_shards", &reader->shard_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "shard", &reader->shard));
  if ((path.size == 0) == (unigrams->count == 0)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, path.size == 0
                                ? "Must provide either vocab_file or unigrams."
                                : "Must only provide one of vocab_file and unigrams.");
  }
  add_reserved(reader, reserved);
  return path.size ? add_file(reader, path) : add_attr(reader, unigrams);
}

// ---- Fixed: the columns -------------------------------------------------------------------------

// Makes the columns. parts[i] is the height that class i needs in all, 1 on average. A column below
// 1 is filled up from one that is 1 or more, until one of the two lists is empty. |parts|, |low|
// and |high| have room for one item for each class.
static void pair_columns(leat_fixed_unigrams_t* u, double* parts, int32_t* low, int32_t* high) {
  int64_t low_count = 0, high_count = 0, count = u->count;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += u->weights[i];
  for (int64_t i = 0; i < count; ++i) {
    parts[i] = (double)(u->weights[i] * (float)count) / sum;
    int32_t* target = parts[i] < 1 ? &low[low_count++] : &high[high_count++];
    *target = (int32_t)i;
  }
  while (low_count && high_count) {
    int32_t poor = low[--low_count], rich = high[--high_count];
    u->columns[poor].other = rich;
    parts[rich] -= 1 - parts[poor];
    int32_t* target = parts[rich] < 1 ? &low[low_count++] : &high[high_count++];
    *target = rich;
  }
  for (int64_t i = 0; i < count; ++i) u->columns[i].own = (float)parts[i];
  // What is left is full, except for rounding errors.
  for (int64_t i = 0; i < low_count; ++i) u->columns[low[i]] = (column_t){1, low[i]};
  for (int64_t i = 0; i < high_count; ++i) u->columns[high[i]] = (column_t){1, high[i]};
}

static leat_status_t make_columns(leat_fixed_unigrams_t* u) {
  leat_allocator_t* allocator = leat_allocator_system();
  size_t count = (size_t)u->count;
  double* parts = NULL;
  int32_t* lists = NULL;
  leat_status_t status = LEAT_ALLOCATE(allocator, count, &u->columns);
  if (!status) {
    status = LEAT_ALLOCATE(allocator, count, &parts);
  }
  if (!status) {
    status = LEAT_ALLOCATE(allocator, 2 * count, &lists);
  }
  if (!status) pair_columns(u, parts, lists, lists + count);
  leat_allocator_free(allocator, lists);
  leat_allocator_free(allocator, parts);
  return status;
}

// On failure the caller still frees *out_unigrams, which is set first.
leat_status_t leat_fixed_unigrams_create(leat_kernel_creation_t* c, int64_t range,
                                         leat_fixed_unigrams_t** out_unigrams) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_fixed_unigrams_t* u;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &u));
  *out_unigrams = u;
  if (range > INT32_MAX) return check_count(range, 0);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, (size_t)range, &u->weights));
  weight_reader_t reader = {.unigrams = u, .capacity = range};
  LEAT_RETURN_IF_ERROR(read_weights(c, &reader));
  LEAT_RETURN_IF_ERROR(check_count(range, u->count));
  return make_columns(u);
}

leat_status_t leat_fixed_unigrams_of(const float* weights, int64_t count,
                                     leat_fixed_unigrams_t** out_unigrams) {
  leat_fixed_unigrams_t* u;
  LEAT_DCHECK(count <= INT32_MAX);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &u));
  *out_unigrams = u;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)count, &u->weights));
  weight_reader_t reader = {.unigrams = u, .capacity = count};
  for (int64_t i = 0; i < count; ++i) add_weight(&reader, weights[i]);
  return make_columns(u);
}

void leat_fixed_unigrams_free(leat_fixed_unigrams_t* unigrams) {
  if (!unigrams) return;
  leat_allocator_free(leat_allocator_system(), unigrams->weights);
  leat_allocator_free(leat_allocator_system(), unigrams->columns);
  leat_allocator_free(leat_allocator_system(), unigrams);
}

int64_t leat_fixed_unigrams_draw(const leat_fixed_unigrams_t* unigrams,
                                 leat_word_stream_t* stream) {
  float part = leat_word_stream_fraction(stream);
  int64_t class = leat_word_stream_below(stream, (uint32_t)unigrams->count);
  const column_t* column = &unigrams->columns[class];
  return part < column->own ? class : column->other;
}

float leat_fixed_unigrams_probability(const leat_fixed_unigrams_t* unigrams, int64_t value) {
  return unigrams->weights[value] / unigrams->total;
}

int64_t leat_fixed_unigrams_possible(const leat_fixed_unigrams_t* unigrams) {
  int64_t possible = 0;
  for (int64_t i = 0; i < unigrams->count; ++i) possible += unigrams->weights[i] > 0;
  return possible;
}

int64_t leat_fixed_unigrams_count(const leat_fixed_unigrams_t* unigrams) {
  return unigrams->count;
}

// ---- Learned ------------------------------------------------------------------------------------

static void learned_destroy(leat_resource_t* resource) {
  leat_mutex_deinitialize(&((leat_learned_unigrams_t*)resource)->mutex);
  leat_allocator_free(leat_allocator_system(), resource);
}

static const leat_resource_kind_t kLearnedKind = {.name = "LearnedUnigrams",
                                                  .destroy = learned_destroy};

// Each class begins with weight 1. All sums fit in 32 bits because the range does and counting
// stops.
static leat_status_t make_learned(void* data, leat_resource_t** out_resource) {
  int64_t range = *(const int64_t*)data, leaf_count = 1;
  while (leaf_count < range) leaf_count *= 2;
  leat_learned_unigrams_t* u;
  size_t bytes = sizeof *u + 2 * (size_t)leaf_count * sizeof(int32_t);
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), bytes, (void**)&u));
  u->resource.kind = &kLearnedKind;
  atomic_init(&u->resource.references, 1);
  leat_mutex_initialize(&u->mutex);
  u->range = range;
  u->leaf_count = leaf_count;
  for (int64_t i = 0; i < range; ++i) u->weights[leaf_count + i] = 1;
  for (int64_t i = leaf_count - 1; i > 0; --i) {
    u->weights[i] = u->weights[2 * i] + u->weights[2 * i + 1];
  }
  *out_resource = &u->resource;
  return leat_ok_status();
}

leat_status_t leat_learned_unigrams_open(leat_kernel_creation_t* c, int64_t range,
                                         leat_learned_unigrams_t** out_unigrams) {
  leat_resource_t* resource = NULL;
  if (range >= INT32_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Create failed for node '%.*s' (%s): range_max is %lld, must be below "
                            "2^31 - 1",
                            LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op,
                            (long long)range);
  }
  if (!c->session_resources) {
    LEAT_RETURN_IF_ERROR(make_learned(&range, &resource));
  } else {
    // The range is part of the name, because nodes of two function bodies may have the same name.
    leat_string_builder_t name;
    leat_string_builder_initialize(leat_allocator_system(), &name);
    leat_string_builder_print(&name, "%lld;%.*s", (long long)range,
                              LEAT_SV_ARG(c->kernel->node_name));
    leat_status_t status = leat_status_clone(name.status);
    if (!status) {
      status = leat_resource_manager_find_or_make(c->session_resources, LEAT_SV(""),
                                                  leat_string_builder_view(&name), &kLearnedKind,
                                                  make_learned, &range, &resource);
    }
    leat_string_builder_deinitialize(&name);
    LEAT_RETURN_IF_ERROR(status);
  }
  *out_unigrams = (leat_learned_unigrams_t*)resource;
  return leat_ok_status();
}

int64_t leat_learned_unigrams_draw(const leat_learned_unigrams_t* unigrams,
                                   leat_word_stream_t* stream) {
  const int32_t* weights = unigrams->weights;
  int32_t position = (int32_t)leat_word_stream_below(stream, (uint32_t)weights[1]);
  int64_t node = 1;
  while (node < unigrams->leaf_count) {
    node *= 2;
    if (position >= weights[node]) position -= weights[node++];
  }
  return node - unigrams->leaf_count;
}

float leat_learned_unigrams_probability(const leat_learned_unigrams_t* unigrams, int64_t value) {
  return (float)unigrams->weights[unigrams->leaf_count + value] / (float)unigrams->weights[1];
}

void leat_learned_unigrams_count(leat_learned_unigrams_t* unigrams, const int64_t* values,
                                 int64_t count) {
  for (int64_t i = 0; i < count && unigrams->weights[1] < INT32_MAX; ++i) {
    for (int64_t node = unigrams->leaf_count + values[i]; node; node /= 2) {
      ++unigrams->weights[node];
    }
  }
}
