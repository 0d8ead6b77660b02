// The kernel of ChooseFastestBranchDataset. Each branch is a function that makes a dataset of a
// dataset. The iterator gives the first |per_branch| elements from the dataset of branch 0, the
// next |per_branch| from that of branch 1, and so on; it measures how long each element takes, but
// for the first of a branch, and gives all others from the branch whose 90th percentile is
// smallest; of equal ones the last:
//
//     input   | feed of branch 0 | feed of branch 1 | ... | the rest, for the fastest branch |
//                     │ function 0       │ function 1             │ its function
//     given   | per_branch       | per_branch       | ... | all others                       |
//
// What a branch reads is a feed, a dataset of elements of the one input. Of a feed an iterator can
// be made once, since the elements are not there a second time. The feed of an experiment holds the
// elements that the branch may read, |per_branch| * ratio of them, which the iterator takes from
// the input before the branch begins; what the branch has left is put before the next feed. So a
// branch that makes elements ahead (ops/dataset/ahead_cpu.h), whose work may go on when the
// iterator has left the branch, never touches the input beside another one. The last feed owns the
// iterator of the input.
#include "base/checked.h"
#include "base/clock.h"
#include "formats/record/histogram.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

// ---- Feeds --------------------------------------------------------------------------------------

// What a feed's dataset and the iterator that fills it share.
typedef struct feed_s {
  leat_reference_count_t references;
  leat_mutex_t mutex;  // guards the fields below
  bool was_opened;     // an iterator was made
  bool is_closed;      // the experiment is over, and what is left was taken back
  leat_tensor_t* tensors;  // element by element, each with all its components
  size_t room;
  int components;
  int64_t count, next;     // elements in |tensors|, and the first that was not read
  leat_iterator_t* input;  // read behind them, by the iterator that is made; NULL: nothing
} feed_t;

static leat_status_t feed_create(int components, feed_t** out_feed) {
  feed_t* feed;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &feed));
  feed->references = 1;
  leat_mutex_initialize(&feed->mutex);
  feed->components = components;
  *out_feed = feed;
  return leat_ok_status();
}

static void feed_release(feed_t* feed) {
  if (!feed || !leat_reference_count_release(&feed->references)) return;
  for (int64_t i = feed->next * feed->components; i < feed->count * feed->components; ++i) {
    leat_tensor_release(&feed->tensors[i]);
  }
  leat_allocator_free(leat_allocator_system(), feed->tensors);
  leat_iterator_free(feed->input);
  leat_mutex_deinitialize(&feed->mutex);
  leat_allocator_free(leat_allocator_system(), feed);
}

// Makes room for |count| more elements.
static leat_status_t feed_reserve(feed_t* feed, int64_t count) {
  return LEAT_GROW(leat_allocator_system(),
                   (size_t)(feed->count + count) * (size_t)feed->components, &feed->tensors,
                   &feed->room);
}

// Appends an element, for which there is room, and moves it in. No branch reads the feed yet.
static void feed_add(feed_t* feed, leat_tensor_t* element) {
  leat_element_move(element, feed->tensors + feed->count++ * feed->components, feed->components);
}

// Moves the elements that |from| has left to |to|, and closes |from|. Without memory for them, they
// stay in |from|.
static leat_status_t feed_take_back(feed_t* from, feed_t* to) {
  leat_mutex_lock(&from->mutex);
  from->is_closed = true;
  leat_status_t status = feed_reserve(to, from->count - from->next);
  while (from->next < from->count && !status) {
    feed_add(to, from->tensors + from->next++ * from->components);
  }
  leat_mutex_unlock(&from->mutex);
  return status;
}

// Takes the next element of those in memory; false: there is none.
static bool feed_take(feed_t* feed, leat_tensor_t* out) {
  leat_mutex_lock(&feed->mutex);
  const bool is_there = !feed->is_closed && feed->next < feed->count;
  if (is_there) {
    leat_element_move(feed->tensors + feed->next++ * feed->components, out, feed->components);
  }
  leat_mutex_unlock(&feed->mutex);
  return is_there;
}

typedef struct feed_dataset_s {
  leat_dataset_t base;
  feed_t* feed;
} feed_dataset_t;

static feed_t* feed_of(const leat_iterator_t* it) {
  return ((const feed_dataset_t*)it->dataset)->feed;
}

static void feed_destroy(leat_dataset_t* self) { feed_release(((feed_dataset_t*)self)->feed); }

// The iterator takes the input over, if the feed has one.
static leat_status_t feed_start(leat_iterator_t* self) {
  feed_t* feed = feed_of(self);
  leat_mutex_lock(&feed->mutex);
  const bool is_second = feed->was_opened;
  feed->was_opened = true;
  if (!is_second) {
    self->input = feed->input;
    feed->input = NULL;
  }
  leat_mutex_unlock(&feed->mutex);
  if (!is_second) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "The branches of ChooseFastestBranchDataset must read their input once: "
                          "a second iterator over it was made.");
}

static leat_status_t feed_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  if (feed_take(feed_of(self), out)) {
    *out_poll = LEAT_POLL_ELEMENT;
    return leat_ok_status();
  }
  return self->input ? leat_iterator_next(self->input, pull, out, out_poll) : leat_ok_status();
}

static const leat_dataset_kind_t kFeed = {.name = "ChooseFastestBranchFeed",
                                          .dataset_bytes = sizeof(feed_dataset_t),
                                          .iterator_bytes = sizeof(leat_iterator_t),
                                          .destroy = feed_destroy,
                                          .start = feed_start,
                                          .next = feed_next,
                                          .cardinality = leat_dataset_unknown_cardinality};

// Makes the dataset of |feed|, which is retained, in a variant.
static leat_status_t feed_to_tensor(feed_t* feed, leat_element_spec_t* spec,
                                    leat_tensor_t* out_tensor) {
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(
      leat_dataset_create(&kFeed, leat_element_spec_retain(spec), 0, 0, &dataset));
  leat_reference_count_retain(&feed->references);
  ((feed_dataset_t*)dataset)->feed = feed;
  return leat_dataset_to_tensor(dataset, out_tensor);
}

// ---- The dataset --------------------------------------------------------------------------------

typedef struct branch_s {
  uint64_t function;
  int captured;  // of the dataset's tensors; those of earlier branches come first
} branch_t;

typedef struct branches_s {
  leat_dataset_t base;  // inputs[0] gives what the branches read
  branch_t* branches;   // [branch_count]
  int branch_count;
  int64_t per_branch;   // elements of an experiment
  int64_t fed;          // elements of the input in the feed of an experiment
  int64_t numerator, denominator;
} branches_t;

typedef struct branches_iterator_s {
  leat_iterator_t base;  // |input| is the iterator of the branch's dataset
  leat_iterator_t* source;       // over the dataset's input; NULL: the last feed has it
  bool source_ended;
  leat_application_t* calls;     // [branch_count] of the functions
  leat_arena_t arena;            // of |times|
  leat_histogram_t* times;       // [branch_count], of nanoseconds
  int branch;                    // whose experiment it is; the number of branches: all are over
  int64_t given;                 // elements of the experiment
  int64_t begun_ns;              // when the element was asked for; 0: it was not yet
  feed_t* feed;                  // of the experiment, or of the branch that was chosen
  leat_tensor_t* element;        // room for an element of the input
} branches_iterator_t;

static const branches_t* branches_of(const branches_iterator_t* it) {
  return (const branches_t*)it->base.dataset;
}

static leat_status_t branches_start(leat_iterator_t* self) {
  branches_iterator_t* it = (branches_iterator_t*)self;
  const branches_t* dataset = branches_of(it);
  const size_t count = (size_t)dataset->branch_count;
  const leat_tensor_t* captured = self->dataset->tensors;
  const leat_dataset_t* source = self->dataset->inputs[0];
  leat_arena_initialize(leat_allocator_system(), 0, &it->arena);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&it->arena, count, &it->times));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&it->arena, count, &it->calls));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&it->arena, (size_t)source->spec->count, &it->element));
  for (size_t i = 0; i < count; ++i) {
    const int own = dataset->branches[i].captured;
    LEAT_RETURN_IF_ERROR(leat_histogram_create(&it->arena, &it->times[i]));
    LEAT_RETURN_IF_ERROR(
        leat_application_initialize(self->draw_counts, 1, own, 1, &it->calls[i]));
    for (int k = 0; k < own; ++k) it->calls[i].arguments[1 + k] = *captured++;
  }
  return leat_iterator_create(self->dataset->inputs[0], self, &it->source);
}

static void branches_stop(leat_iterator_t* self) {
  branches_iterator_t* it = (branches_iterator_t*)self;
  for (int i = 0; it->calls && i < branches_of(it)->branch_count; ++i) {
    leat_application_deinitialize(&it->calls[i]);
  }
  leat_iterator_free(it->source);
  feed_release(it->feed);
  leat_arena_deinitialize(&it->arena);
}

static bool is_experiment(const branches_iterator_t* it) {
  return it->branch < branches_of(it)->branch_count;
}

// Makes the next feed, which begins with what the last one has left.
static leat_status_t make_feed(branches_iterator_t* it) {
  feed_t* feed;
  LEAT_RETURN_IF_ERROR(feed_create(it->base.dataset->inputs[0]->spec->count, &feed));
  leat_status_t status = it->feed ? feed_take_back(it->feed, feed) : leat_ok_status();
  if (status) {
    feed_release(feed);
    return status;
  }
  feed_release(it->feed);
  it->feed = feed;
  return leat_ok_status();
}

// Takes elements from the input until the feed of an experiment has as many as it may have, or the
// input has ended. The answer is PENDING where the input waits.
static leat_status_t fill_feed(branches_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  while (!it->source_ended && it->feed->count < branches_of(it)->fed) {
    LEAT_RETURN_IF_ERROR(feed_reserve(it->feed, 1));
    LEAT_RETURN_IF_ERROR(leat_iterator_next(it->source, pull, it->element, out_poll));
    if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
    it->source_ended = *out_poll == LEAT_POLL_END;
    if (!it->source_ended) feed_add(it->feed, it->element);
  }
  *out_poll = LEAT_POLL_END;
  return leat_ok_status();
}

// Starts the call of the current branch, or of the fastest one, with a feed. The answer is PENDING.
static leat_status_t start_branch(branches_iterator_t* it, leat_pull_t* pull,
                                  leat_poll_t* out_poll) {
  const branches_t* dataset = branches_of(it);
  const bool measures = is_experiment(it);
  if (!it->feed) LEAT_RETURN_IF_ERROR(make_feed(it));
  if (measures) {
    LEAT_RETURN_IF_ERROR(fill_feed(it, pull, out_poll));
    if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  } else if (it->source) {
    it->feed->input = it->source;
    it->source = NULL;
  }
  const int branch =
      measures ? it->branch : leat_fastest_choose(it->times, dataset->branch_count);
  leat_application_t* call = &it->calls[branch];
  LEAT_RETURN_IF_ERROR(feed_to_tensor(it->feed, it->base.dataset->inputs[0]->spec,
                                      call->arguments));
  *out_poll = LEAT_POLL_PENDING;
  leat_application_start(call, pull, dataset->branches[branch].function);
  return leat_ok_status();
}

// Opens the dataset that a branch has returned, if a call is under way.
static leat_status_t take_branch(branches_iterator_t* it, leat_pull_t* pull) {
  for (int i = 0; i < branches_of(it)->branch_count; ++i) {
    leat_application_t* call = &it->calls[i];
    if (!call->pending) continue;
    leat_status_t status = leat_iterator_open_returned(&it->base, call, pull, &it->base.input);
    leat_application_release_element(call);
    return status;
  }
  return leat_ok_status();
}

// Goes on to the next branch when this one has given its elements. Where there is no memory for
// another feed, the next element fails, and the one after it tries again.
static leat_status_t end_experiment(branches_iterator_t* it) {
  LEAT_RETURN_IF_ERROR(make_feed(it));
  leat_iterator_free(it->base.input);
  it->base.input = NULL;
  it->given = 0;
  ++it->branch;
  return leat_ok_status();
}

static leat_status_t branches_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                   leat_poll_t* out_poll) {
  branches_iterator_t* it = (branches_iterator_t*)self;
  if (it->given >= branches_of(it)->per_branch) LEAT_RETURN_IF_ERROR(end_experiment(it));
  LEAT_RETURN_IF_ERROR(take_branch(it, pull));
  if (!self->input) return start_branch(it, pull, out_poll);
  if (!is_experiment(it)) return leat_iterator_next(self->input, pull, out, out_poll);
  if (!it->begun_ns) it->begun_ns = leat_clock_now_ns();
  leat_status_t status = leat_iterator_next(self->input, pull, out, out_poll);
  if (status && leat_pull_was_stopped(status)) return status;
  if (!status && *out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  // The first element of a branch takes what it costs to begin.
  if (it->given > 0) {
    leat_histogram_add(&it->times[it->branch], (double)(leat_clock_now_ns() - it->begun_ns));
  }
  it->begun_ns = 0;
  ++it->given;
  return status;
}

static void branches_destroy(leat_dataset_t* self) {
  leat_allocator_free(leat_allocator_system(), ((branches_t*)self)->branches);
}

// TensorFlow multiplies by the ratio, although this is elements of the input to one of the output,
// and its callers rely on what it says.
static int64_t branches_cardinality(const leat_dataset_t* self) {
  const branches_t* dataset = (const branches_t*)self;
  const int64_t count = leat_dataset_cardinality(self->inputs[0]);
  if (count < 0) return count;
  return (int64_t)((double)count * (double)dataset->numerator / (double)dataset->denominator);
}

static const leat_dataset_kind_t kBranches = {.name = "ChooseFastestBranch",
                                              .dataset_bytes = sizeof(branches_t),
                                              .iterator_bytes = sizeof(branches_iterator_t),
                                              .destroy = branches_destroy,
                                              .start = branches_start,
                                              .next = branches_next,
                                              .stop = branches_stop,
                                              .cardinality = branches_cardinality};

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct branches_node_s {
  leat_element_spec_t* spec;
  leat_callee_t* callees;  // [count]
  int* captured;           // [count]
  int count;
  int64_t per_branch;
} branches_node_t;

static void branches_node_destroy(void* state) {
  branches_node_t* node = state;
  leat_element_spec_release(node->spec);
  leat_allocator_free(leat_allocator_system(), node->callees);
  leat_allocator_free(leat_allocator_system(), node->captured);
}

// Reads how many of other_arguments each branch has captured: together they must be all.
static leat_status_t read_lengths(leat_kernel_creation_t* c, branches_node_t* node) {
  const leat_attr_value_t *lengths, *types;
  int64_t total = 0;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "other_arguments_lengths", &lengths));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "Targuments", &types));
  if (lengths->count != (uint32_t)node->count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "branches and other_arguments_lengths must have the same length.");
  }
  for (int i = 0; i < node->count; ++i) {
    const int64_t length = lengths->ints[i];
    if (length < 0 || length > (int64_t)types->count - total) {
      total = -1;
      break;
    }
    node->captured[i] = (int)length;
    total += length;
  }
  if (total == (int64_t)types->count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Kernel creation failed for node '%.*s' (%s): other_arguments_lengths "
                          "must be numbers >= 0 whose sum is that of other_arguments, %u",
                          LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op, types->count);
}

static leat_status_t branches_create(leat_kernel_creation_t* c, void* state) {
  branches_node_t* node = state;
  const leat_attr_value_t* branches;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "branches", &branches));
  node->count = (int)branches->count;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)node->count, &node->callees));
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)node->count, &node->captured));
  for (int i = 0; i < node->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_callee_initialize(c, "branches", i, &node->callees[i]));
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_elements_per_branch", &node->per_branch));
  LEAT_RETURN_IF_ERROR(read_lengths(c, node));
  return leat_element_spec_of_attrs(c, "output_types", &node->spec);
}

// Reads the ratio and sets how many elements an experiment reads: per_branch * ratio.
static leat_status_t read_ratio(leat_kernel_context_t* c, branches_t* dataset) {
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "ratio_numerator", &dataset->numerator));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 2, "ratio_denominator", &dataset->denominator));
  if (dataset->numerator <= 0) {
    return leat_kernel_invalid(c, "`ratio_numerator` must be greater than zero.");
  }
  if (dataset->denominator <= 0) {
    return leat_kernel_invalid(c, "`ratio_denominator` must be greater than zero.");
  }
  if (dataset->per_branch % dataset->denominator) {
    return leat_kernel_invalid(
        c, "`num_elements_per_branch` must be divisible by `ratio_denominator`.");
  }
  if (leat_checked_multiply(dataset->per_branch / dataset->denominator, dataset->numerator,
                            &dataset->fed)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "num_elements_per_branch is %lld and the ratio %lld, their product "
                             "must fit 64 bits",
                             (long long)dataset->per_branch, (long long)dataset->numerator);
}

static leat_status_t set_branches(leat_kernel_context_t* c, branches_t* dataset) {
  const branches_node_t* node = leat_kernel_state(c);
  dataset->per_branch = node->per_branch;
  dataset->branch_count = node->count;
  LEAT_RETURN_IF_ERROR(read_ratio(c, dataset));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)node->count,
                                     &dataset->branches));
  for (int i = 0; i < node->count; ++i) {
    dataset->branches[i].captured = node->captured[i];
    LEAT_RETURN_IF_ERROR(leat_callee_find(c, &node->callees[i], &dataset->branches[i].function));
  }
  return leat_dataset_keep_inputs(c, 3, 0, dataset->base.tensor_count, &dataset->base);
}

static leat_status_t branches__cpu(leat_kernel_context_t* c) {
  const branches_node_t* node = leat_kernel_state(c);
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&kBranches, leat_element_spec_retain(node->spec),
                                                input, leat_kernel_input_count(c) - 3, &dataset));
  leat_status_t status = set_branches(c, (branches_t*)dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

const leat_kernel_row_t leat_branch_dataset_kernels_cpu[] = {
    LEAT_CPU_KERNEL("ChooseFastestBranchDataset", NULL, branches_node_t, branches_create,
                    branches__cpu, .destroy = branches_node_destroy),
    LEAT_KERNEL_ROWS_END,
};
