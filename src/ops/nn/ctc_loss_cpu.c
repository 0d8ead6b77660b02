// CPU kernel of CTCLoss, connectionist temporal classification (Graves et al., 2006).
//
//   inputs [times, batch, classes], labels (a sparse matrix), sequence_length [batch]
//     -> loss [batch], gradient [times, batch, classes]
//
// The loss of a sequence is -log P, where P is the probability of all paths (one class for each
// time) that reduce to its labels. The labels l get a blank before each and one at the end; the
// result is called l' and has 2 |l| + 1 items. P is found by the forward-backward algorithm of the
// paper:
//
//   log_alpha(u, t)  log of the probability of all paths that are at l'[u] at time t, up to time t
//   log_beta(u, t)   log of the probability of all that go on from there to the end, after time t
//   log P = log of the sum over u of exp(log_alpha(u, t) + log_beta(u, t)), the same for every t
//
//   gradient(k, t) = y(k, t) - sum over u with l'[u] = k of exp(log_alpha + log_beta - log P)
//
// y is the softmax of the inputs. It lies in the gradient's tensor until the gradient takes its
// place there, so no further tensor is needed. Sums are in double and of logarithms, because
// probabilities of long sequences underflow. Sequences are independent and are shared among
// threads.
#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/nn/ctc_cpu.h"

typedef struct ctc_state_s {
  bool collapses;       // a label that follows itself in the input is dropped
  bool merges;          // a class that repeats without a blank between is one label
  bool ignores_longer;  // the loss is 0 where there are more labels than times
} ctc_state_t;

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  ctc_state_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "preprocess_collapse_repeated", &state->collapses));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "ctc_merge_repeated", &state->merges));
  return leat_kernel_attr_bool(c, "ignore_longer_outputs_than_inputs", &state->ignores_longer);
}

typedef struct ctc_s {
  const ctc_state_t* state;
  const leat_tensor_t* inputs;  // [times, batch, classes]
  const int32_t* lengths;       // [batch]
  int64_t times, batch, classes;
  leat_tensor_t *loss, *gradient;
  // What follows is in the arena of the call, but for |paths|, which is a temporary tensor.
  int64_t* first_labels;  // of sequence b: [first_labels[b], first_labels[b + 1])
  const int32_t* labels;
  int32_t** padded;  // l' of each sequence
  int64_t* padded_counts;
  double* paths;  // of each sequence: sums by class, log_alpha, log_beta
  int64_t path_stride;
} ctc_t;

// ---- Checks -------------------------------------------------------------------------------------

static leat_status_t check_shapes(const leat_kernel_context_t* c) {
  const leat_shape_t* inputs = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* indices = &leat_kernel_input(c, 1)->shape;
  const leat_shape_t* values = &leat_kernel_input(c, 2)->shape;
  const leat_shape_t* lengths = &leat_kernel_input(c, 3)->shape;
  bool fits = inputs->rank == 3 && indices->rank == 2 && leat_shape_dim(indices, 1) == 2 &&
              values->rank == 1 && lengths->rank == 1 &&
              leat_shape_dim(indices, 0) == values->element_count;
  if (fits && leat_shape_dim(inputs, 1) == 0) {
    return leat_kernel_invalid(c, "inputs have shape %s, batch_size must not be 0",
                               LEAT_SHAPE_TEXT(inputs));
  }
  if (!fits || inputs->element_count == 0 || leat_shape_dim(inputs, 2) > INT32_MAX ||
      leat_shape_dim(inputs, 1) != lengths->element_count) {
    return leat_kernel_invalid(
        c,
        "inputs, labels_indices, labels_values and sequence_length have shapes %s, %s, %s and "
        "%s, must be [times, batch, classes], [n, 2], [n] and [batch], none of them 0 but n",
        LEAT_SHAPE_TEXT(inputs), LEAT_SHAPE_TEXT(indices), LEAT_SHAPE_TEXT(values),
        LEAT_SHAPE_TEXT(lengths));
  }
  return leat_ok_status();
}

static leat_status_t check_lengths(const leat_kernel_context_t* c, const ctc_t* ctc) {
  for (int64_t b = 0; b < ctc->batch; ++b) {
    const int length = ctc->lengths[b];
    if (length < 0) return leat_kernel_invalid(c, "seq_len(%lld) < 0: %d", (long long)b, length);
    if (length > ctc->times) {
      return leat_kernel_invalid(c, "sequence_length(%lld) <= %lld must be, is %d", (long long)b,
                                 (long long)ctc->times, length);
    }
  }
  return leat_ok_status();
}

// Checks that the entries of the labels come in order and none twice, and notes where those of each
// sequence begin.
static leat_status_t group_labels(const leat_kernel_context_t* c, ctc_t* ctc) {
  const leat_tensor_t* indices = leat_kernel_input(c, 1);
  const int64_t* pairs = indices->data;
  int64_t count = leat_shape_dim(&indices->shape, 0), b = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t* pair = pairs + 2 * i;
    bool ordered = i == 0 || pair[0] > pair[-2] || (pair[0] == pair[-2] && pair[1] > pair[-1]);
    if (!ordered || pair[0] < 0 || pair[0] >= ctc->batch || pair[1] < 0) {
      return leat_kernel_invalid(c,
                                 "label SparseTensor is not valid: indices[%lld] is [%lld, "
                                 "%lld], must be of the batch of %lld and after the one before",
                                 (long long)i, (long long)pair[0], (long long)pair[1],
                                 (long long)ctc->batch);
    }
    while (b <= pair[0]) ctc->first_labels[b++] = i;
  }
  while (b <= ctc->batch) ctc->first_labels[b++] = count;
  return leat_ok_status();
}

// ---- Labels with blanks -------------------------------------------------------------------------

// Fills l' of sequence |b|. A label that is not a class (or is the blank) ends its sequence: only
// such labels may follow it.
static leat_status_t pad_labels(const leat_kernel_context_t* c, ctc_t* ctc, int64_t b) {
  const int32_t* labels = ctc->labels + ctc->first_labels[b];
  int64_t count = ctc->first_labels[b + 1] - ctc->first_labels[b];
  int32_t blank = (int32_t)ctc->classes - 1, *padded = ctc->padded[b];
  bool ended = false;
  for (int64_t i = 0; i < count; ++i) {
    if (i && ctc->state->collapses && labels[i] == labels[i - 1]) continue;
    bool is_null = labels[i] >= blank;
    if (labels[i] < 0 || (ended && !is_null)) {
      return leat_kernel_invalid(c, "label %lld of sequence %lld is %d, must be %s", (long long)i,
                                 (long long)b, labels[i],
                                 ended ? "null after a null label" : "nonnegative");
    }
    ended = ended || is_null;
    if (is_null) continue;
    *padded++ = blank;
    *padded++ = labels[i];
  }
  *padded++ = blank;
  ctc->padded_counts[b] = padded - ctc->padded[b];
  return leat_ok_status();
}

// Allocates and fills l' of sequence |b|, after the checks that TensorFlow makes of its length.
static leat_status_t pad_sequence(const leat_kernel_context_t* c, leat_arena_t* arena, ctc_t* ctc,
                                  int64_t b) {
  int64_t count = ctc->first_labels[b + 1] - ctc->first_labels[b];
  if (count == 0) {
    return leat_kernel_invalid(c, "Labels length is zero in batch %lld", (long long)b);
  }
  if (!ctc->state->ignores_longer && count > ctc->lengths[b]) {
    return leat_kernel_invalid(c,
                               "Not enough time for target transition sequence (required: "
                               "%lld, available: %d) in batch %lld; "
                               "ignore_longer_outputs_than_inputs leaves it out",
                               (long long)count, ctc->lengths[b], (long long)b);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 2 * (size_t)count + 1, &ctc->padded[b]));
  return pad_labels(c, ctc, b);
}

// ---- Paths --------------------------------------------------------------------------------------

typedef struct sequence_s {
  const ctc_t* ctc;
  const int32_t* labels;  // l'
  int64_t count, times, b;
  double *alpha, *beta;  // log_alpha and log_beta [times, count]
  double* class_sums;    // [classes]
} sequence_t;

// The index of the first class of this sequence at time |t|, in inputs and gradient.
static int64_t row_at(const sequence_t* s, int64_t t) {
  return (t * s->ctc->batch + s->b) * s->ctc->classes;
}

static double log_softmax_at(const sequence_t* s, int64_t u, int64_t t) {
  return log(leat_ctc_read(s->ctc->gradient, row_at(s, t) + s->labels[u]));
}

// Writes the softmax of the inputs at time |t| to the gradient's tensor.
static void take_softmax(const sequence_t* s, int64_t t) {
  const ctc_t* ctc = s->ctc;
  int64_t row = row_at(s, t);
  double largest = -INFINITY, sum = 0;
  for (int64_t k = 0; k < ctc->classes; ++k)
    largest = fmax(largest, leat_ctc_read(ctc->inputs, row + k));
  for (int64_t k = 0; k < ctc->classes; ++k) {
    s->class_sums[k] = exp(leat_ctc_read(ctc->inputs, row + k) - largest);
    sum += s->class_sums[k];
  }
  for (int64_t k = 0; k < ctc->classes; ++k) {
    leat_ctc_write(ctc->gradient, row + k, s->class_sums[k] / sum);
  }
}

static bool is_blank(const sequence_t* s, int64_t u) {
  return s->labels[u] == (int32_t)s->ctc->classes - 1;
}

// Says whether a path may be at l'[u] at two successive times: at a blank always, at a label if
// repeats are merged.
static bool may_stay(const sequence_t* s, int64_t u) {
  return s->ctc->state->merges || is_blank(s, u);
}

// Says whether a path may go from l'[u] to l'[u + 2] without the blank between. It may not where
// both are the same label and repeats are merged, since then they would be one.
static bool may_leap(const sequence_t* s, int64_t u) {
  return u + 2 < s->count && !is_blank(s, u) &&
         !(s->ctc->state->merges && s->labels[u] == s->labels[u + 2]);
}

// The labels that a path can be at, at time |t|, are [first_at, end_at): it moves by at most two
// items at a time, began at one of the first two, and must still reach one of the last two.
static int64_t first_at(const sequence_t* s, int64_t t) {
  return LEAT_MAX(0, s->count - 2 * (s->times - t));
}

static int64_t end_at(const sequence_t* s, int64_t t) { return LEAT_MIN(s->count, 2 * (t + 1)); }

// A sequence may be long, so the loops over its times look now and then whether the step is to end.
// What is then left out nobody reads.
static bool is_over(int64_t t) { return t % 16 == 0 && leat_step_loop_is_over(); }

static void go_forward(const sequence_t* s) {
  for (int64_t i = 0; i < s->count * s->times; ++i) s->alpha[i] = -INFINITY;
  for (int64_t u = 0; u < LEAT_MIN(2, s->count); ++u) s->alpha[u] = log_softmax_at(s, u, 0);
  for (int64_t t = 1; t < s->times && !is_over(t); ++t) {
    const double* before = s->alpha + (t - 1) * s->count;
    for (int64_t u = first_at(s, t); u < end_at(s, t); ++u) {
      double sum = may_stay(s, u) ? before[u] : -INFINITY;
      if (u > 0) sum = leat_ctc_add_logs(sum, before[u - 1]);
      if (u > 1 && may_leap(s, u - 2)) sum = leat_ctc_add_logs(sum, before[u - 2]);
      s->alpha[t * s->count + u] = log_softmax_at(s, u, t) + sum;
    }
  }
}

static void go_backward(const sequence_t* s) {
  for (int64_t i = 0; i < s->count * s->times; ++i) s->beta[i] = -INFINITY;
  double* last = s->beta + (s->times - 1) * s->count;
  for (int64_t u = LEAT_MAX(0, s->count - 2); u < s->count; ++u) last[u] = 0;
  for (int64_t t = s->times - 2; t >= 0 && !is_over(t); --t) {
    const double* after = s->beta + (t + 1) * s->count;
    for (int64_t u = first_at(s, t); u < end_at(s, t); ++u) {
      double sum = -INFINITY;
      for (int64_t step = 0; step < 3 && u + step < s->count; ++step) {
        if ((step == 0 && !may_stay(s, u)) || (step == 2 && !may_leap(s, u))) continue;
        sum = leat_ctc_add_logs(sum, after[u + step] + log_softmax_at(s, u + step, t + 1));
      }
      s->beta[t * s->count + u] = sum;
    }
  }
}

// Turns the softmax in the gradient's tensor into the gradient. If no path leads to the labels, P
// is 0 and the softmax stays, as in TensorFlow.
static void take_gradient(const sequence_t* s, double log_probability) {
  const ctc_t* ctc = s->ctc;
  for (int64_t t = 0; t < s->times && log_probability != -INFINITY && !is_over(t); ++t) {
    for (int64_t k = 0; k < ctc->classes; ++k) s->class_sums[k] = -INFINITY;
    for (int64_t u = 0; u < s->count; ++u) {
      double* sum = &s->class_sums[s->labels[u]];
      *sum = leat_ctc_add_logs(*sum, s->alpha[t * s->count + u] + s->beta[t * s->count + u]);
    }
    for (int64_t k = 0; k < ctc->classes; ++k) {
      int64_t at = row_at(s, t) + k;
      leat_ctc_write(ctc->gradient, at,
                     leat_ctc_read(ctc->gradient, at) - exp(s->class_sums[k] - log_probability));
    }
  }
}

// Computes loss and gradient of sequences [begin, end). A sequence of length 0, or one that is
// ignored because its labels are longer, has loss 0 and gradient 0.
static void run_sequences(void* data, int64_t begin, int64_t end) {
  const ctc_t* ctc = data;
  for (int64_t b = begin; b < end; ++b) {
    int64_t label_count = ctc->first_labels[b + 1] - ctc->first_labels[b];
    bool is_longer = label_count > ctc->lengths[b];
    leat_ctc_write(ctc->loss, b, 0);
    if (ctc->lengths[b] == 0 || (ctc->state->ignores_longer && is_longer)) continue;
    sequence_t s = {.ctc = ctc,
                    .labels = ctc->padded[b],
                    .count = ctc->padded_counts[b],
                    .times = ctc->lengths[b],
                    .b = b,
                    .class_sums = ctc->paths + b * ctc->path_stride};
    s.alpha = s.class_sums + ctc->classes;
    s.beta = s.alpha + s.count * s.times;
    for (int64_t t = 0; t < s.times && !is_over(t); ++t) take_softmax(&s, t);
    go_forward(&s);
    go_backward(&s);
    double sum = -INFINITY;
    for (int64_t u = 0; u < s.count; ++u) sum = leat_ctc_add_logs(sum, s.alpha[u] + s.beta[u]);
    leat_ctc_write(ctc->loss, b, -sum);
    take_gradient(&s, sum);
  }
}

// ---- The kernel ---------------------------------------------------------------------------------

// Checks the labels and finds how much memory a sequence needs at most.
static leat_status_t prepare(leat_kernel_context_t* c, leat_arena_t* arena, ctc_t* ctc) {
  size_t batch = (size_t)ctc->batch;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, batch + 1, &ctc->first_labels));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, batch, &ctc->padded));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, batch, &ctc->padded_counts));
  LEAT_RETURN_IF_ERROR(check_lengths(c, ctc));
  LEAT_RETURN_IF_ERROR(group_labels(c, ctc));
  int64_t most = 0;
  for (int64_t b = 0; b < ctc->batch; ++b) {
    LEAT_RETURN_IF_ERROR(pad_sequence(c, arena, ctc, b));
    most = LEAT_MAX(most, 2 * ctc->padded_counts[b] * ctc->lengths[b]);
  }
  ctc->path_stride = most + ctc->classes;
  return leat_ok_status();
}

static leat_status_t run(leat_kernel_context_t* c, leat_arena_t* arena) {
  const leat_tensor_t* inputs = leat_kernel_input(c, 0);
  LEAT_RETURN_IF_ERROR(check_shapes(c));
  ctc_t ctc = {.state = leat_kernel_state(c),
               .inputs = inputs,
               .lengths = leat_kernel_input(c, 3)->data,
               .times = leat_shape_dim(&inputs->shape, 0),
               .batch = leat_shape_dim(&inputs->shape, 1),
               .classes = leat_shape_dim(&inputs->shape, 2),
               .labels = leat_kernel_input(c, 2)->data};
  LEAT_RETURN_IF_ERROR(prepare(c, arena, &ctc));
  leat_tensor_t paths;
  leat_shape_t shape, batch = leat_shape_vector(ctc.batch);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &batch, &ctc.loss));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &inputs->shape, &ctc.gradient));
  leat_tensor_fill_zero(ctc.gradient);
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (const int64_t[]){ctc.batch, ctc.path_stride}, &shape));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_DOUBLE, &shape, &paths));
  ctc.paths = paths.data;
  leat_kernel_parallel_for(c, ctc.batch, 50.0 * (double)ctc.path_stride, run_sequences, &ctc);
  leat_tensor_release(&paths);
  return leat_ok_status();
}

static leat_status_t ctc_loss__cpu(leat_kernel_context_t* c) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = run(c, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_kernel_row_t leat_ctc_loss_kernels_cpu[] = {
    {.op = "CTCLoss",
     .device_type = "CPU",
     .constraints = "T: float, double",
     .create = create,
     .state_bytes = sizeof(ctc_state_t),
     .compute = ctc_loss__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
