// Kernels of the datasets that select, repeat or join the elements of others and change nothing in
// them: take, skip, repeat, shard, concatenate and zip. Each is a small iterator that counts, over
// iterators of its inputs. An input may answer PENDING in the middle of their work
// (ops/dataset/pull_cpu.h), so that every count lives in the iterator.
//
// The ops with which TensorFlow tunes a pipeline (model, optimize, finalize, private thread pools,
// statistics) give their input dataset as it is: there is one pool of threads, and nothing to tune.
#include "kernel/handle.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef struct counted_s {
  leat_dataset_t base;
  int64_t count;
} counted_t;

typedef struct counter_s {
  leat_iterator_t base;
  // elements, or passes over the input, or inputs, so far: each kind says what it counts
  int64_t seen;
  bool produced;  // the input has given an element since it was opened
} counter_t;

static int64_t count_of(const leat_dataset_t* dataset) {
  return ((const counted_t*)dataset)->count;
}

#define COUNTED(label, noun)                                                                \
  {                                                                                         \
    .name = label, .dataset_bytes = sizeof(counted_t), .iterator_bytes = sizeof(counter_t), \
    .opens_input = true, .next = noun##_next, .cardinality = noun##_cardinality,            \
    .seek = noun##_seek                                                                     \
  }

// ---- Take, skip, repeat -------------------------------------------------------------------------

// A negative count takes everything. Behind the last element the input is freed, so that what it
// reads from is let go even if the iterator lives on.
static leat_status_t take_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  counter_t* it = (counter_t*)self;
  int64_t count = count_of(self->dataset);
  if (count >= 0 && it->seen >= count) {
    leat_iterator_free(self->input);
    self->input = NULL;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, out, out_poll));
  it->seen += *out_poll == LEAT_POLL_ELEMENT;
  return leat_ok_status();
}

static int64_t take_cardinality(const leat_dataset_t* self) {
  int64_t count = count_of(self), n = leat_dataset_cardinality(self->inputs[0]);
  if (n == LEAT_CARDINALITY_UNKNOWN) return n;
  if (n == LEAT_CARDINALITY_INFINITE) return count;
  return count == LEAT_CARDINALITY_INFINITE || n < count ? n : count;
}

// The input is opened again where the end has freed it.
static leat_status_t take_seek(leat_iterator_t* self, int64_t index) {
  if (!self->input) LEAT_RETURN_IF_ERROR(leat_iterator_open_input(self, self->dataset->inputs[0]));
  ((counter_t*)self)->seen = index;
  return leat_iterator_seek(self->input, index);
}

static const leat_dataset_kind_t kTake = COUNTED("Take", take);

// A negative count skips everything.
static leat_status_t skip_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  counter_t* it = (counter_t*)self;
  int64_t count = count_of(self->dataset);
  if (count < 0) return leat_ok_status();
  while (it->seen < count) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, out, out_poll));
    if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
    leat_element_release(out, self->dataset->spec->count);
    ++it->seen;
  }
  return leat_iterator_next(self->input, pull, out, out_poll);
}

static int64_t skip_cardinality(const leat_dataset_t* self) {
  int64_t count = count_of(self), n = leat_dataset_cardinality(self->inputs[0]);
  if (n < 0) return n;
  return count < 0 || n < count ? 0 : n - count;
}

// There is an element |index|, so that the sum is an index of the input.
static leat_status_t skip_seek(leat_iterator_t* self, int64_t index) {
  const int64_t count = count_of(self->dataset);
  ((counter_t*)self)->seen = count;
  return leat_iterator_seek(self->input, (int64_t)((uint64_t)count + (uint64_t)index));
}

static const leat_dataset_kind_t kSkip = COUNTED("Skip", skip);

// |seen| counts the passes that have ended; a negative count repeats for ever.
static leat_status_t repeat_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                 leat_poll_t* out_poll) {
  counter_t* it = (counter_t*)self;
  int64_t count = count_of(self->dataset);
  if (count == 0) return leat_ok_status();
  for (;;) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, out, out_poll));
    if (*out_poll == LEAT_POLL_ELEMENT) it->produced = true;
    if (*out_poll != LEAT_POLL_END) return leat_ok_status();
    // An empty input that is repeated for ever would never give an element, so that it ends here.
    if (count < 0 ? !it->produced : ++it->seen >= count) return leat_ok_status();
    it->produced = false;
    LEAT_RETURN_IF_ERROR(leat_iterator_open_input(self, self->dataset->inputs[0]));
  }
}

static int64_t repeat_cardinality(const leat_dataset_t* self) {
  int64_t count = count_of(self), n = leat_dataset_cardinality(self->inputs[0]);
  if (count < 0) return n == 0 ? 0 : LEAT_CARDINALITY_INFINITE;
  if (count == 0) return 0;
  return n < 0 ? n : (int64_t)((uint64_t)count * (uint64_t)n);
}

#define repeat_seek NULL
static const leat_dataset_kind_t kRepeat = COUNTED("Repeat", repeat);
#undef repeat_seek

static leat_status_t make_counted(leat_kernel_context_t* c, const leat_dataset_kind_t* kind) {
  int64_t count;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "count", &count));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, kind, &dataset));
  ((counted_t*)dataset)->count = count;
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t take__cpu(leat_kernel_context_t* c) { return make_counted(c, &kTake); }
static leat_status_t skip__cpu(leat_kernel_context_t* c) { return make_counted(c, &kSkip); }
static leat_status_t repeat__cpu(leat_kernel_context_t* c) { return make_counted(c, &kRepeat); }

// ---- Shards -------------------------------------------------------------------------------------

typedef struct shard_s {
  leat_dataset_t base;
  int64_t count, index;
  bool require_non_empty;
} shard_t;

// |seen| counts the elements of all shards; this shard gives those whose number modulo |count| is
// its index. Where no shard may be empty, the first one is kept until all others have theirs.
typedef struct shard_iterator_s {
  leat_iterator_t base;
  int64_t seen;
  leat_tensor_t* first;  // [components]; NULL: it is not kept
  bool has_first;
} shard_iterator_t;

static leat_status_t shard_start(leat_iterator_t* self) {
  shard_iterator_t* it = (shard_iterator_t*)self;
  if (!((const shard_t*)self->dataset)->require_non_empty) return leat_ok_status();
  return LEAT_ALLOCATE(leat_allocator_system(), (size_t)self->dataset->spec->count + 1,
                       &it->first);
}

static void shard_stop(leat_iterator_t* self) {
  shard_iterator_t* it = (shard_iterator_t*)self;
  if (it->has_first) leat_element_release(it->first, self->dataset->spec->count);
  leat_allocator_free(leat_allocator_system(), it->first);
}

static leat_status_t shard_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  shard_iterator_t* it = (shard_iterator_t*)self;
  const shard_t* shard = (const shard_t*)self->dataset;
  const int components = self->dataset->spec->count;
  for (;;) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, out, out_poll));
    if (*out_poll == LEAT_POLL_END && it->has_first) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Could not apply FILE based sharding: the dataset has %lld elements, "
                              "must have at least as many as there are shards: %lld",
                              (long long)it->seen, (long long)shard->count);
    }
    if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
    const bool is_own = it->seen++ % shard->count == shard->index;
    const bool waits = it->first && it->seen < shard->count;  // for the others' first ones
    if (is_own && !waits) return leat_ok_status();
    if (is_own) leat_element_move(out, it->first, components);
    else leat_element_release(out, components);
    it->has_first |= is_own;
    if (it->has_first && !waits) {
      leat_element_move(it->first, out, components);
      it->has_first = false;
      return leat_ok_status();
    }
  }
}

static int64_t shard_cardinality(const leat_dataset_t* self) {
  const shard_t* shard = (const shard_t*)self;
  int64_t n = leat_dataset_cardinality(self->inputs[0]);
  return n < 0 ? n : n / shard->count + (shard->index < n % shard->count);
}

static leat_status_t shard_seek(leat_iterator_t* self, int64_t index) {
  const shard_t* shard = (const shard_t*)self->dataset;
  const uint64_t place = (uint64_t)index * (uint64_t)shard->count + (uint64_t)shard->index;
  ((shard_iterator_t*)self)->seen = (int64_t)place;
  return leat_iterator_seek(self->input, (int64_t)place);
}

static const leat_dataset_kind_t kShard = {.name = "Shard",
                                           .dataset_bytes = sizeof(shard_t),
                                           .iterator_bytes = sizeof(shard_iterator_t),
                                           .opens_input = true,
                                           .start = shard_start,
                                           .next = shard_next,
                                           .cardinality = shard_cardinality,
                                           .stop = shard_stop,
                                           .seek = shard_seek};

static leat_status_t shard_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(leat_element_metadata_create(c, state));
  return leat_kernel_attr_bool(c, "require_non_empty", state);
}

// Sets output 0 to shard |index| of |count| of the dataset at input 0.
static leat_status_t set_shard(leat_kernel_context_t* c, int64_t count, int64_t index,
                               bool require_non_empty) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kShard, &dataset));
  shard_t* shard = (shard_t*)dataset;
  shard->count = count;
  shard->index = index;
  shard->require_non_empty = require_non_empty;
  return leat_dataset_set_output(c, dataset);
}

// Stands for the number of shards until the policy HINT of AutoShardDataset sets it.
#define SHARD_HINT (-1)

static leat_status_t shard__cpu(leat_kernel_context_t* c) {
  int64_t count, index;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "num_shards", &count));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 2, "index", &index));
  if (count == SHARD_HINT) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "num_shards is -1, SHARD_HINT, must be a number of shards: no "
                             "AutoShardDataset whose policy is HINT has set it");
  }
  if (count <= 0 || index < 0 || index >= count) {
    return leat_kernel_invalid(c, "shard is %lld of %lld, must be one of those there are",
                               (long long)index, (long long)count);
  }
  return set_shard(c, count, index, *(const bool*)leat_kernel_state(c));
}

// ---- Ops that give their input ------------------------------------------------------------------

static leat_status_t pass__cpu(leat_kernel_context_t* c) {
  leat_dataset_t* input;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  leat_kernel_pass_input(c, 0, 0);
  return leat_ok_status();
}

// The number of threads at input 1, of which 0 means as many as there are, bounds nothing here.
static leat_status_t pass_with_threads(leat_kernel_context_t* c, const char* name) {
  int64_t count;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, name, &count));
  if (count < 0) {
    return leat_kernel_invalid(c, "`%s` is %lld, must be >= 0", name, (long long)count);
  }
  return pass__cpu(c);
}

static leat_status_t private_threads__cpu(leat_kernel_context_t* c) {
  return pass_with_threads(c, "num_threads");
}

static leat_status_t most_threads__cpu(leat_kernel_context_t* c) {
  return pass_with_threads(c, "max_intra_op_parallelism");
}

static leat_status_t check_not_negative(const leat_kernel_creation_t* c, const char* name) {
  int64_t value;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, name, &value));
  if (value >= 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s is %lld, must be >= 0", name,
                          (long long)value);
}

// The budgets of the tuning; 0 means what the machine has.
static leat_status_t model_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(check_not_negative(c, "cpu_budget"));
  return check_not_negative(c, "ram_budget");
}

// A wrapped dataset cannot be read before it is unwrapped.
static leat_status_t wrap__cpu(leat_kernel_context_t* c) {
  leat_dataset_t* dataset;
  leat_tensor_t wrapped;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  leat_dataset_retain(dataset);
  LEAT_RETURN_IF_ERROR(leat_dataset_to_wrapped(dataset, &wrapped));
  leat_kernel_set_output(c, 0, wrapped);
  return leat_ok_status();
}

static leat_status_t unwrap__cpu(leat_kernel_context_t* c) {
  leat_dataset_t* dataset;
  leat_tensor_t tensor;
  LEAT_RETURN_IF_ERROR(leat_dataset_of_wrapped(leat_kernel_input(c, 0), &dataset));
  leat_dataset_retain(dataset);
  LEAT_RETURN_IF_ERROR(leat_dataset_to_tensor(dataset, &tensor));
  leat_kernel_set_output(c, 0, tensor);
  return leat_ok_status();
}

// TensorFlow's policies of sharing out. AUTO is DATA here, which also shares out what TensorFlow
// would share out by files: each worker gets other elements then, and all together get all.
enum { POLICY_OFF = -1, POLICY_AUTO, POLICY_FILE, POLICY_DATA, POLICY_HINT };

static leat_status_t policy_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_int(c, "auto_shard_policy", state);
}

// AutoShardDataset has an attribute that ExperimentalAutoShardDataset did not have yet.
static leat_status_t auto_shard_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(check_not_negative(c, "num_replicas"));
  return policy_create(c, state);
}

static leat_status_t auto_shard__cpu(leat_kernel_context_t* c) {
  const int64_t policy = *(const int64_t*)leat_kernel_state(c);
  int64_t count, index;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "num_workers", &count));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 2, "index", &index));
  if (count <= 0) return leat_kernel_invalid(c, "num_workers must be greater than zero.");
  if (index < 0 || index >= count) {
    return leat_kernel_invalid(c, "index must be between 0 and %lld", (long long)(count - 1));
  }
  if (policy < POLICY_OFF || policy > POLICY_HINT) {
    return leat_kernel_invalid(c, "auto_shard_policy is invalid.");
  }
  if (count == 1 || policy == POLICY_OFF || policy == POLICY_HINT) return pass__cpu(c);
  if (policy != POLICY_FILE) return set_shard(c, count, index, false);
  return leat_kernel_error(c, LEAT_UNIMPLEMENTED,
                           "auto_shard_policy is FILE, which this library does not have");
}

// ---- Concatenate --------------------------------------------------------------------------------

// |seen| counts the inputs that have ended.
static leat_status_t concatenate_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                      leat_poll_t* out_poll) {
  counter_t* it = (counter_t*)self;
  for (;;) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(self->input, pull, out, out_poll));
    if (*out_poll != LEAT_POLL_END || ++it->seen == self->dataset->input_count) {
      return leat_ok_status();
    }
    LEAT_RETURN_IF_ERROR(leat_iterator_open_input(self, self->dataset->inputs[it->seen]));
  }
}

static int64_t concatenate_cardinality(const leat_dataset_t* self) {
  int64_t a = leat_dataset_cardinality(self->inputs[0]);
  int64_t b = leat_dataset_cardinality(self->inputs[1]);
  if (a == LEAT_CARDINALITY_INFINITE || b == LEAT_CARDINALITY_INFINITE) {
    return LEAT_CARDINALITY_INFINITE;
  }
  return a < 0 || b < 0 ? LEAT_CARDINALITY_UNKNOWN : (int64_t)((uint64_t)a + (uint64_t)b);
}

static const leat_dataset_kind_t kConcatenate = {.name = "Concatenate",
                                                 .dataset_bytes = sizeof(leat_dataset_t),
                                                 .iterator_bytes = sizeof(counter_t),
                                                 .opens_input = true,
                                                 .next = concatenate_next,
                                                 .cardinality = concatenate_cardinality};

// Makes a dataset of kind |kind| over the datasets at all inputs and sets it as the output.
static leat_status_t set_of_inputs(leat_kernel_context_t* c, const leat_dataset_kind_t* kind,
                                   leat_element_spec_t* spec) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_all(c, kind, spec, &dataset));
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t concatenate__cpu(leat_kernel_context_t* c) {
  leat_dataset_t *first, *second;
  leat_element_spec_t* spec;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &first));
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 1), &second));
  LEAT_RETURN_IF_ERROR(leat_element_spec_common(first->spec, second->spec, &spec));
  return set_of_inputs(c, &kConcatenate, spec);
}

// ---- Zip ----------------------------------------------------------------------------------------

typedef struct zip_iterator_s {
  leat_iterator_t base;
  leat_iterator_t** inputs;
  leat_tensor_t* element;  // [components of all inputs], the element in progress
  int asked;             // inputs that have answered for this element
  int filled;            // tensors in |element|
  bool ends;             // an input has ended
  leat_status_t status;  // the first failure for this element
} zip_iterator_t;

static leat_status_t zip_start(leat_iterator_t* self) {
  zip_iterator_t* it = (zip_iterator_t*)self;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)self->dataset->spec->count + 1, &it->element));
  return leat_iterator_create_all(self, &it->inputs);
}

static void zip_stop(leat_iterator_t* self) {
  zip_iterator_t* it = (zip_iterator_t*)self;
  leat_iterator_free_all(self, it->inputs);
  leat_element_release(it->element, it->filled);
  leat_status_free(it->status);
  leat_allocator_free(leat_allocator_system(), it->element);
}

// Asks every input for one element, also when one has failed or ended, so that all stay at the same
// position. An input that is PENDING is asked again on the next call.
static leat_status_t zip_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                              leat_poll_t* out_poll) {
  zip_iterator_t* it = (zip_iterator_t*)self;
  for (; it->asked < self->dataset->input_count; ++it->asked) {
    leat_iterator_t* input = it->inputs[it->asked];
    leat_tensor_t* components = it->element + it->filled;
    leat_status_t status = leat_iterator_next(input, pull, components, out_poll);
    if (!status && *out_poll == LEAT_POLL_PENDING) return leat_ok_status();
    if (!status && *out_poll == LEAT_POLL_ELEMENT) it->filled += input->dataset->spec->count;
    if (!status && *out_poll == LEAT_POLL_END) it->ends = true;
    it->status = leat_status_join(it->status, status);
  }
  leat_status_t status = it->status;
  *out_poll = it->ends ? LEAT_POLL_END : LEAT_POLL_ELEMENT;
  if (status || it->ends) {
    leat_element_release(it->element, it->filled);
  } else {
    leat_element_move(it->element, out, it->filled);
  }
  it->status = leat_ok_status();
  it->asked = it->filled = 0;
  return status;
}

static int64_t zip_cardinality(const leat_dataset_t* self) {
  int64_t least = LEAT_CARDINALITY_INFINITE;
  for (int i = 0; i < self->input_count; ++i) {
    int64_t n = leat_dataset_cardinality(self->inputs[i]);
    if (n == LEAT_CARDINALITY_UNKNOWN) return n;
    if (n >= 0 && (least < 0 || n < least)) least = n;
  }
  return least;
}

static leat_status_t zip_seek(leat_iterator_t* self, int64_t index) {
  zip_iterator_t* it = (zip_iterator_t*)self;
  it->ends = false;
  for (int i = 0; i < self->dataset->input_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_iterator_seek(it->inputs[i], index));
  }
  return leat_ok_status();
}

static const leat_dataset_kind_t kZip = {.name = "Zip",
                                         .dataset_bytes = sizeof(leat_dataset_t),
                                         .iterator_bytes = sizeof(zip_iterator_t),
                                         .start = zip_start,
                                         .next = zip_next,
                                         .stop = zip_stop,
                                         .cardinality = zip_cardinality,
                                         .seek = zip_seek};

// Makes the spec whose components are those of all inputs, |count| in all.
static leat_status_t joined_spec(const leat_kernel_context_t* c, int count,
                                 leat_element_spec_t** out_spec) {
  leat_dataset_t* input;
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(count, out_spec));
  leat_status_t status = leat_ok_status();
  int filled = 0;
  for (int i = 0; i < leat_kernel_input_count(c) && !status; ++i) {
    status = leat_dataset_of(leat_kernel_input(c, i), &input);
    for (int k = 0; !status && k < input->spec->count; ++k, ++filled) {
      status =
          leat_element_spec_set(*out_spec, filled, input->spec->types[k], input->spec->shapes[k]);
    }
  }
  if (status) leat_element_spec_release(*out_spec);
  return status;
}

static leat_status_t zip__cpu(leat_kernel_context_t* c) {
  leat_dataset_t* input;
  leat_element_spec_t* spec;
  int count = 0;
  for (int i = 0; i < leat_kernel_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, i), &input));
    if (input->spec->count > LEAT_MAX_COMPONENTS - count) {
      return leat_kernel_error(c, LEAT_RESOURCE_EXHAUSTED,
                               "elements have more than %d components, must have at most as many",
                               LEAT_MAX_COMPONENTS);
    }
    count += input->spec->count;
  }
  LEAT_RETURN_IF_ERROR(joined_spec(c, count, &spec));
  return set_of_inputs(c, &kZip, spec);
}

// ---- Pools of threads ---------------------------------------------------------------------------

typedef struct threads_s {
  leat_resource_t resource;
} threads_t;

static void threads_destroy(leat_resource_t* resource) {
  leat_allocator_free(leat_allocator_system(), resource);
}

static const leat_resource_kind_t kThreads = {.name = "ThreadPool", .destroy = threads_destroy};

static leat_status_t threads_make(void* data, leat_resource_t** out_resource) {
  threads_t* threads;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &threads));
  threads->resource.kind = &kThreads;
  threads->resource.references = 1;
  *out_resource = &threads->resource;
  return leat_ok_status();
}

static leat_status_t threads_create(leat_kernel_creation_t* c, void* state) {
  int64_t count;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_threads", &count));
  if (count < 0) return leat_make_status(LEAT_INVALID_ARGUMENT, "`num_threads` must be >= 0");
  return leat_handle_initialize(c, &kThreads, false, state);
}

static void threads_state_destroy(void* state) { leat_handle_deinitialize(state); }

static leat_status_t threads__cpu(leat_kernel_context_t* c) {
  const leat_handle_t* handle = leat_kernel_state(c);
  leat_resource_t* threads;
  LEAT_RETURN_IF_ERROR(leat_handle_find_or_make(c, handle, &kThreads, threads_make, NULL,
                                                &threads));
  leat_resource_release(threads);
  leat_handle_set_output(c, handle);
  return leat_ok_status();
}

// The pool must exist.
static leat_status_t in_threads__cpu(leat_kernel_context_t* c) {
  leat_resource_t* threads;
  LEAT_RETURN_IF_ERROR(leat_handle_find(c, 1, &kThreads, &threads));
  leat_resource_release(threads);
  return pass__cpu(c);
}

#define KERNEL(name, how) LEAT_DATASET_KERNEL(name, how##__cpu)
#define THREADS(name)                                                   \
  LEAT_CPU_KERNEL(name, NULL, leat_handle_t, threads_create, threads__cpu, \
                  .destroy = threads_state_destroy)

const leat_kernel_row_t leat_sequence_dataset_kernels_cpu[] = {
    KERNEL("TakeDataset", take),
    KERNEL("SkipDataset", skip),
    KERNEL("RepeatDataset", repeat),
    {.op = "ShardDataset",
     .device_type = "CPU",
     .create = shard_create,
     .state_bytes = sizeof(bool),
     .compute = shard__cpu},
    LEAT_CPU_KERNEL("AutoShardDataset", NULL, int64_t, auto_shard_create, auto_shard__cpu),
    LEAT_CPU_KERNEL("ExperimentalAutoShardDataset", NULL, int64_t, policy_create, auto_shard__cpu),
    KERNEL("ConcatenateDataset", concatenate),
    KERNEL("ZipDataset", zip),
    KERNEL("MaxIntraOpParallelismDataset", most_threads),
    KERNEL("ExperimentalMaxIntraOpParallelismDataset", most_threads),
    KERNEL("PrivateThreadPoolDataset", private_threads),
    KERNEL("ExperimentalPrivateThreadPoolDataset", private_threads),
    KERNEL("WrapDatasetVariant", wrap),
    KERNEL("UnwrapDatasetVariant", unwrap),
    THREADS("ThreadPoolHandle"),
    THREADS("ExperimentalThreadPoolHandle"),
    KERNEL("ThreadPoolDataset", in_threads),
    KERNEL("ExperimentalThreadPoolDataset", in_threads),
    KERNEL("NonSerializableDataset", pass),
    KERNEL("ExperimentalNonSerializableDataset", pass),
    {.op = "ModelDataset", .device_type = "CPU", .create = model_create, .compute = pass__cpu},
    KERNEL("FinalizeDataset", pass),
    KERNEL("RewriteDataset", pass),
    KERNEL("OptimizeDataset", pass),
    KERNEL("OptimizeDatasetV2", pass),
    LEAT_KERNEL_ROWS_END,
};
