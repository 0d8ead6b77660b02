// The kernel of ChooseFastestDataset, whose inputs are datasets with the same elements. For its
// first |experiments| elements the iterator asks all inputs, one after the other, measures how long
// each takes and gives what input 0 has answered. Then it stays with the input whose 90th
// percentile is smallest; of equal ones the last:
//
//     input 0   0 1 2 . . .          0, 1, 2: measured and given
//     input 1   0 1 2 3 4 5 ...      measured and dropped; faster, so that 3, 4, 5 ... are given
//
// A failure of input 0 is the element's; those of others are forgotten, since their elements are
// dropped. TensorFlow asks the inputs at the same time, on threads of their own. Here one pull asks
// one iterator at a time (ops/dataset/pull_cpu.h), and what one input costs does not slow another
// one down while it is measured. An input that answers PENDING is asked again when the pull runs
// again, and the clock goes on meanwhile.
#include "base/clock.h"
#include "formats/record/histogram.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

#define PERCENTILE 90.0

typedef struct fastest_s {
  leat_dataset_t base;
  int64_t experiments;
  int64_t cardinality;
} fastest_t;

typedef struct fastest_iterator_s {
  leat_iterator_t base;
  leat_iterator_t** inputs;
  leat_arena_t arena;            // of |times|
  leat_histogram_t* times;       // one for each input, of nanoseconds
  int64_t experiments;           // done
  int chosen;                    // an input, when all experiments are done
  int asked;                     // the input that is asked now, in an experiment
  int64_t begun_ns;              // when it was asked; 0: it was not yet
  leat_tensor_t* dropped;        // room for an element of another input than 0
  leat_tensor_t* element;        // what input 0 has answered in this experiment
  leat_poll_t answer;
  leat_status_t failure;
} fastest_iterator_t;

static leat_status_t fastest_start(leat_iterator_t* self) {
  fastest_iterator_t* it = (fastest_iterator_t*)self;
  const size_t count = (size_t)self->dataset->input_count;
  const size_t components = (size_t)self->dataset->spec->count;
  leat_arena_initialize(leat_allocator_system(), 0, &it->arena);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&it->arena, count, &it->times));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&it->arena, components, &it->dropped));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&it->arena, components, &it->element));
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_histogram_create(&it->arena, &it->times[i]));
  }
  return leat_iterator_create_all(self, &it->inputs);
}

static void fastest_stop(leat_iterator_t* self) {
  fastest_iterator_t* it = (fastest_iterator_t*)self;
  leat_iterator_free_all(self, it->inputs);
  if (it->element) leat_element_release(it->element, self->dataset->spec->count);
  leat_status_free(it->failure);
  leat_arena_deinitialize(&it->arena);
}

int leat_fastest_choose(const leat_histogram_t* times, int count) {
  LEAT_DCHECK(count > 0);
  int chosen = 0;
  double best = leat_histogram_percentile(&times[0], PERCENTILE);
  for (int i = 1; i < count; ++i) {
    const double time = leat_histogram_percentile(&times[i], PERCENTILE);
    if (time > best) continue;
    best = time;
    chosen = i;
  }
  return chosen;
}

// Asks the input |it->asked|, and notes its time and, of input 0, its answer. Fails only where the
// pull was stopped: the input is asked again by the next pull. The answer may be PENDING.
static leat_status_t ask(fastest_iterator_t* it, leat_pull_t* pull, leat_poll_t* out_poll) {
  const bool is_first = it->asked == 0;
  leat_tensor_t* to = is_first ? it->element : it->dropped;
  if (!it->begun_ns) it->begun_ns = leat_clock_now_ns();
  leat_status_t status = leat_iterator_next(it->inputs[it->asked], pull, to, out_poll);
  if (status && leat_pull_was_stopped(status)) return status;
  if (!status && *out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  leat_histogram_add(&it->times[it->asked], (double)(leat_clock_now_ns() - it->begun_ns));
  it->begun_ns = 0;
  if (is_first) {
    it->failure = status;
    it->answer = *out_poll;
  } else {
    if (!status && *out_poll == LEAT_POLL_ELEMENT) {
      leat_element_release(it->dropped, it->base.dataset->spec->count);
    }
    leat_status_free(status);
  }
  ++it->asked;
  *out_poll = LEAT_POLL_END;
  return leat_ok_status();
}

// Gives what input 0 has answered, when all inputs have.
static leat_status_t experiment(fastest_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  const leat_dataset_t* dataset = it->base.dataset;
  while (it->asked < dataset->input_count) {
    LEAT_RETURN_IF_ERROR(ask(it, pull, out_poll));
    if (*out_poll == LEAT_POLL_PENDING) return leat_ok_status();
  }
  LEAT_DCHECK(it->asked == dataset->input_count && !it->begun_ns);
  it->asked = 0;
  ++it->experiments;
  if (it->experiments == ((const fastest_t*)dataset)->experiments) {
    it->chosen = leat_fastest_choose(it->times, dataset->input_count);
  }
  leat_status_t failure = it->failure;
  it->failure = leat_ok_status();
  if (failure) return failure;
  *out_poll = it->answer;
  if (it->answer == LEAT_POLL_ELEMENT) leat_element_move(it->element, out, dataset->spec->count);
  return leat_ok_status();
}

static leat_status_t fastest_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                  leat_poll_t* out_poll) {
  fastest_iterator_t* it = (fastest_iterator_t*)self;
  if (it->experiments < ((const fastest_t*)self->dataset)->experiments) {
    return experiment(it, pull, out, out_poll);
  }
  return leat_iterator_next(it->inputs[it->chosen], pull, out, out_poll);
}

static int64_t fastest_cardinality(const leat_dataset_t* self) {
  return ((const fastest_t*)self)->cardinality;
}

static const leat_dataset_kind_t kFastest = {.name = "ChooseFastest",
                                             .dataset_bytes = sizeof(fastest_t),
                                             .iterator_bytes = sizeof(fastest_iterator_t),
                                             .start = fastest_start,
                                             .next = fastest_next,
                                             .stop = fastest_stop,
                                             .cardinality = fastest_cardinality};

// ---- The kernel ---------------------------------------------------------------------------------

typedef struct fastest_node_s {
  leat_element_spec_t* spec;  // first, as leat_element_spec_state_destroy wants
  int64_t experiments;
} fastest_node_t;

static leat_status_t fastest_create(leat_kernel_creation_t* c, void* state) {
  fastest_node_t* node = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_experiments", &node->experiments));
  if (node->experiments < 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Kernel creation failed for node '%.*s' (%s): num_experiments is %lld, "
                            "must be at least 1",
                            LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op,
                            (long long)node->experiments);
  }
  return leat_element_spec_of_attrs(c, "output_types", &node->spec);
}

// Checks that all inputs may have the same elements, and finds how many they have.
static leat_status_t compare_inputs(leat_kernel_context_t* c, fastest_t* dataset) {
  const leat_dataset_t* first = dataset->base.inputs[0];
  int64_t known = LEAT_CARDINALITY_UNKNOWN;
  for (int i = 0; i < dataset->base.input_count; ++i) {
    leat_dataset_t* input = dataset->base.inputs[i];
    leat_status_t status = leat_element_spec_check(dataset->base.spec, input->spec);
    if (!status) status = leat_element_spec_check_shapes(first->spec, input->spec);
    if (status) return leat_status_annotate(status, "All inputs must have the same elements");
    const int64_t count = leat_dataset_cardinality(input);
    if (known == LEAT_CARDINALITY_UNKNOWN) known = count;
    if (count == known || count == LEAT_CARDINALITY_UNKNOWN) continue;
    return leat_kernel_invalid(c,
                               "All inputs to ChooseFastestDataset must have compatible "
                               "cardinalities: input %d has %lld, those before it have %lld",
                               i, (long long)count, (long long)known);
  }
  dataset->cardinality = known;
  return leat_ok_status();
}

static leat_status_t fastest__cpu(leat_kernel_context_t* c) {
  const fastest_node_t* node = leat_kernel_state(c);
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_all(
      c, &kFastest, leat_element_spec_retain(node->spec), &dataset));
  ((fastest_t*)dataset)->experiments = node->experiments;
  leat_status_t status = compare_inputs(c, (fastest_t*)dataset);
  if (!status) return leat_dataset_set_output(c, dataset);
  leat_dataset_release(dataset);
  return status;
}

#define KERNEL(name)                                                         \
  LEAT_CPU_KERNEL(name, NULL, fastest_node_t, fastest_create, fastest__cpu, \
                  .destroy = leat_element_spec_state_destroy)

const leat_kernel_row_t leat_fastest_dataset_kernels_cpu[] = {
    KERNEL("ChooseFastestDataset"),
    KERNEL("ExperimentalChooseFastestDataset"),
    LEAT_KERNEL_ROWS_END,
};
