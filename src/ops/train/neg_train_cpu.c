// The CPU kernel of NegTrain: one step of gradient descent for each example of a batch, by negative
// sampling. A word has two vectors, one as an example (a row of w_in) and one as a label (a row of
// w_out). The vectors of an example and its label shall have a large product, those of the example
// and of some drawn words a small one:
//
//   label       loss -log sigmoid(x), x = in . out       out += lr sigmoid(-x) in
//   drawn word  loss -log sigmoid(-x)                    out -= lr sigmoid(x) in
//
// and the example's own vector moves by the sum of what its partners gave. The examples are worked
// on one after the other, since each changes rows that the next may read; both variables are locked
// for the whole batch, and an index out of range is found before the first row changes. Words are
// drawn with probabilities that grow with the power 3/4 of how often they occur. TensorFlow seeds
// this op from the operating system whatever the graph says, and so is it here.
#include <math.h>

#include "base/checked.h"
#include "kernel/resource.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/random/unigram_cpu.h"
#include "ops/state/update_cpu.h"

typedef struct neg_train_s {
  leat_fixed_unigrams_t* unigrams;
  int64_t sample_count;  // drawn words for each example; fits 32 bits
} neg_train_t;

static leat_status_t neg_train_create(leat_kernel_creation_t* c, void* memory) {
  neg_train_t* state = memory;
  const leat_attr_value_t* counts;
  float* weights;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "num_negative_samples", &state->sample_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "vocab_count", &counts));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), counts->count, &weights));
  for (uint32_t i = 0; i < counts->count; ++i) weights[i] = powf((float)counts->ints[i], 0.75f);
  leat_status_t status = leat_fixed_unigrams_of(weights, counts->count, &state->unigrams);
  leat_allocator_free(leat_allocator_system(), weights);
  return status;
}

static void neg_train_destroy(void* memory) {
  leat_fixed_unigrams_free(((neg_train_t*)memory)->unigrams);
}

// ---- Checks -------------------------------------------------------------------------------------

static leat_status_t check_variables(leat_kernel_context_t* c, const leat_update_cells_t* cells) {
  const neg_train_t* state = leat_kernel_state(c);
  const int64_t words = leat_fixed_unigrams_count(state->unigrams);
  for (int i = 0; i < 2; ++i) {
    if (cells->cells[i]->tensor.dtype) continue;
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "Attempting to use uninitialized value %s", cells->cells[i]->name);
  }
  const leat_shape_t* in = &cells->cells[0]->tensor.shape;
  const leat_shape_t* out = &cells->cells[1]->tensor.shape;
  if (in->rank != 2) {
    return leat_kernel_invalid(c, "w_in has shape %s, must be a matrix", LEAT_SHAPE_TEXT(in));
  }
  if (!leat_shape_equal(in, out)) {
    return leat_kernel_invalid(c, "w_out has shape %s, must be that of w_in, %s",
                               LEAT_SHAPE_TEXT(out), LEAT_SHAPE_TEXT(in));
  }
  if (leat_shape_dim(in, 0) == words) return leat_ok_status();
  return leat_kernel_invalid(c, "w_in has %lld rows, must have one for each of the %lld words of "
                             "vocab_count",
                             (long long)leat_shape_dim(in, 0), (long long)words);
}

// Checks that input |index| is a vector of words.
static leat_status_t check_words(leat_kernel_context_t* c, int index, const char* name) {
  const neg_train_t* state = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, index);
  const int64_t words = leat_fixed_unigrams_count(state->unigrams);
  if (input->shape.rank != 1) {
    return leat_kernel_invalid(c, "%s has shape %s, must be a vector", name,
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    const int32_t word = leat_tensor_data(input, const int32_t)[i];
    if (word >= 0 && word < words) continue;
    return leat_kernel_invalid(c, "%s[%lld] = %d is not in [0, %lld)", name, (long long)i, word,
                               (long long)words);
  }
  return leat_ok_status();
}

static leat_status_t check_inputs(leat_kernel_context_t* c) {
  const leat_shape_t* examples = &leat_kernel_input(c, 2)->shape;
  const leat_shape_t* labels = &leat_kernel_input(c, 3)->shape;
  const leat_shape_t* rate = &leat_kernel_input(c, 4)->shape;
  LEAT_RETURN_IF_ERROR(check_words(c, 2, "examples"));
  LEAT_RETURN_IF_ERROR(check_words(c, 3, "labels"));
  if (!leat_shape_equal(examples, labels)) {
    return leat_kernel_invalid(c, "labels has shape %s, must be that of examples, %s",
                               LEAT_SHAPE_TEXT(labels), LEAT_SHAPE_TEXT(examples));
  }
  if (rate->rank == 0) return leat_ok_status();
  return leat_kernel_invalid(c, "lr has shape %s, must be a scalar", LEAT_SHAPE_TEXT(rate));
}

// ---- Training -----------------------------------------------------------------------------------

typedef struct training_s {
  float *in, *out;  // [words, dims]
  float* change;    // [dims] of the example's vector, summed
  int64_t dims;
  float rate;
} training_t;

// Moves the vectors of |example| and |partner| toward each other where |is_label|, else apart.
static void pull(const training_t* t, int32_t example, int64_t partner, bool is_label) {
  const float* in = t->in + example * t->dims;
  float* out = t->out + partner * t->dims;
  float dot = 0;
  for (int64_t k = 0; k < t->dims; ++k) dot += in[k] * out[k];
  const float slope = is_label ? 1 / (expf(dot) + 1) : -(1 / (expf(-dot) + 1));
  const float step = slope * t->rate;
  for (int64_t k = 0; k < t->dims; ++k) {
    t->change[k] += out[k] * step;
    out[k] += in[k] * step;
  }
}

// Moves the vector of |example| by what its partners gave.
static void add_change(const training_t* t, int32_t example) {
  float* in = t->in + example * t->dims;
  for (int64_t k = 0; k < t->dims; ++k) in[k] += t->change[k];
}

static leat_status_t train(leat_kernel_context_t* c, const training_t* t) {
  const neg_train_t* state = leat_kernel_state(c);
  const int32_t* examples = leat_tensor_data(leat_kernel_input(c, 2), const int32_t);
  const int32_t* labels = leat_tensor_data(leat_kernel_input(c, 3), const int32_t);
  leat_word_stream_t stream = {.philox =
                                   leat_philox_make(leat_random_seed(), leat_random_seed())};
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t i = 0; i < leat_kernel_input(c, 2)->shape.element_count; ++i) {
    memset(t->change, 0, (size_t)t->dims * sizeof *t->change);
    pull(t, examples[i], labels[i], true);
    for (int64_t k = 0; k < state->sample_count; ++k) {
      const int64_t word = leat_fixed_unigrams_draw(state->unigrams, &stream);
      if (word != labels[i]) pull(t, examples[i], word, false);
      LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 20 + (double)t->dims));
    }
    add_change(t, examples[i]);
  }
  return leat_ok_status();
}

// Trains with the variables locked.
static leat_status_t train_locked(leat_kernel_context_t* c, const leat_update_cells_t* cells) {
  LEAT_RETURN_IF_ERROR(check_variables(c, cells));
  LEAT_RETURN_IF_ERROR(check_inputs(c));
  for (int i = 0; i < 2; ++i) {
    LEAT_RETURN_IF_ERROR(leat_cell_make_exclusive(cells->cells[i], c->services->memory));
  }
  training_t t = {.in = cells->cells[0]->tensor.data,
                  .out = cells->cells[1]->tensor.data,
                  .dims = leat_shape_dim(&cells->cells[0]->tensor.shape, 1),
                  .rate = *leat_tensor_data(leat_kernel_input(c, 4), const float)};
  const leat_shape_t vector = leat_shape_vector(t.dims);
  leat_tensor_t change;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &vector, &change));
  t.change = change.data;
  leat_status_t status = train(c, &t);
  leat_tensor_release(&change);
  return status;
}

static leat_status_t neg_train__cpu(leat_kernel_context_t* c) {
  leat_update_cells_t cells;
  LEAT_RETURN_IF_ERROR(leat_update_lock(c, 2, &cells));
  leat_status_t status = train_locked(c, &cells);
  leat_update_unlock(&cells);
  return status;
}

const leat_kernel_row_t leat_neg_train_kernels_cpu[] = {
    LEAT_CPU_KERNEL("NegTrain", NULL, neg_train_t, neg_train_create, neg_train__cpu,
                    .destroy = neg_train_destroy, .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
