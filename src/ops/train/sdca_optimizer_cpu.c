// The CPU kernel of SdcaOptimizer and SdcaOptimizerV2: one pass of stochastic dual coordinate
// ascent over a batch of examples. For each example, in random order:
//
//   wx     = the prediction by (weights + delta * partitions), each weight shrunk by l1 / l2
//   dual   = the best dual variable of the example alone (sdca_loss_cpu.c)
//   delta += features * (dual - the former dual) * the example's weight / l2
//
// The weights themselves do not change: the outputs are the deltas, which the client adds, and the
// examples' state (dual, primal loss, dual loss, weight).
//
// Features come in groups. A dense group is a matrix with a row for each example. A sparse group is
// a list of (example, feature) in the order of the examples, and its weights are those of the
// features that sparse_indices lists. Before the pass each feature is replaced by the place of its
// weight, so that the pass looks nothing up. As in TensorFlow a group's entries end for good at the
// first one that is out of order.
//
// An example sees the deltas of all before it. TensorFlow shares the examples among threads that
// overwrite each other's deltas; here one thread goes through them, so that the result follows from
// the order alone. With deterministic ops the order is the same in every step.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/sort.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/train/sdca_loss_cpu.h"
#include "ops/train/sdca_order_cpu.h"

typedef struct sdca_state_s {
  const leat_sdca_loss_t* loss;
  bool is_adaptive;
  int64_t sparse_count, valued_count, dense_count;  // of groups; the first |valued| have values
  int64_t partitions;
  double l2, shrinkage;
} sdca_state_t;

static leat_status_t create_attrs(leat_kernel_creation_t* c, sdca_state_t* state) {
  leat_string_view_t loss;
  int64_t iterations;
  float l1, l2;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "loss_type", &loss));
  state->loss = leat_sdca_loss_find(loss);
  LEAT_DCHECK(state->loss);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_sparse_features", &state->sparse_count));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_attr_int(c, "num_sparse_features_with_values", &state->valued_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_dense_features", &state->dense_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "num_loss_partitions", &state->partitions));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "num_inner_iterations", &iterations));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "l1", &l1));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "l2", &l2));
  state->l2 = l2;
  state->shrinkage = l1 / l2;
  if (state->sparse_count + state->dense_count > 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Requires at least one feature to train.");
}

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  sdca_state_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "adaptative", &state->is_adaptive));
  return create_attrs(c, state);
}

static leat_status_t create_v2(leat_kernel_creation_t* c, void* memory) {
  sdca_state_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "adaptive", &state->is_adaptive));
  return create_attrs(c, state);
}

// A group of features with its weights.
typedef struct sdca_group_s {
  int64_t width;         // how many weights it has
  const float* weights;  // [width]
  float* deltas;         // [width]
  // Of a dense group: [examples, width] features. Of a sparse one: the features of its entries;
  // NULL: all are 1.
  const float* values;
  // Of a sparse group: [examples + 1] where the entries of each example begin, and [entries] the
  // place of each entry's weight.
  int64_t* begins;
  int64_t* places;
} sdca_group_t;

// A pass over the examples.
typedef struct sdca_pass_s {
  const sdca_state_t* state;
  sdca_group_t* groups;  // [sparse, then dense]
  int64_t example_count;
  const float* labels;
  const float* weights;
  float (*example_states)[4];
  double* norms;       // [examples] the squared norms of the features
  int64_t* order;      // [examples] the example whose turn it is
  leat_step_pace_t pace;
} sdca_pass_t;

// ---- Reading the inputs -------------------------------------------------------------------------

// The number of the first input of each argument.
typedef struct sdca_inputs_s {
  int examples, features, values, dense, weights, labels, indices, sparse_weights, dense_weights,
      states;
} sdca_inputs_t;

static sdca_inputs_t number_inputs(const sdca_state_t* state) {
  const int sparse = (int)state->sparse_count, dense = (int)state->dense_count;
  sdca_inputs_t in = {.examples = 0, .features = sparse, .values = 2 * sparse};
  in.dense = in.values + (int)state->valued_count;
  in.weights = in.dense + dense;
  in.labels = in.weights + 1;
  in.indices = in.labels + 1;
  in.sparse_weights = in.indices + sparse;
  in.dense_weights = in.sparse_weights + sparse;
  in.states = in.dense_weights + dense;
  return in;
}

static leat_status_t check_sparse_group(const leat_kernel_context_t* c, const sdca_inputs_t* in,
                                        int group) {
  const sdca_state_t* state = leat_kernel_state(c);
  const int64_t examples = leat_kernel_input(c, in->examples + group)->shape.element_count;
  const int64_t features = leat_kernel_input(c, in->features + group)->shape.element_count;
  const int64_t indices = leat_kernel_input(c, in->indices + group)->shape.element_count;
  const int64_t weights = leat_kernel_input(c, in->sparse_weights + group)->shape.element_count;
  if (examples != features) {
    return leat_kernel_invalid(c, "Found mismatched example_indices and feature_indices: group %d "
                               "has %lld and %lld of them", group, (long long)examples,
                               (long long)features);
  }
  if (indices > weights) {
    return leat_kernel_invalid(c, "sparse_indices %d has %lld elements, must have one for each of "
                               "%lld sparse_weights", group, (long long)indices,
                               (long long)weights);
  }
  if (group >= state->valued_count) return leat_ok_status();
  const int64_t values = leat_kernel_input(c, in->values + group)->shape.element_count;
  if (values >= features) return leat_ok_status();
  return leat_kernel_invalid(c, "sparse_feature_values %d has %lld elements, must have one for "
                             "each of %lld features", group, (long long)values,
                             (long long)features);
}

static leat_status_t check_dense_group(const leat_kernel_context_t* c, const sdca_inputs_t* in,
                                       int group, int64_t example_count) {
  const leat_shape_t* features = &leat_kernel_input(c, in->dense + group)->shape;
  const int64_t weights = leat_kernel_input(c, in->dense_weights + group)->shape.element_count;
  if (features->rank != 2) {
    return leat_kernel_invalid(c, "Dense features at index %d must be rank 2 but is rank %d", group,
                               features->rank);
  }
  const int64_t rows = leat_shape_dim(features, 0), columns = leat_shape_dim(features, 1);
  if (columns == 0 || columns > weights) {
    return leat_kernel_invalid(c, "More dense features than we have parameters for: %lld",
                               (long long)columns);
  }
  if (columns < weights || rows < example_count) {
    return leat_kernel_invalid(c, "dense_features %d is %s, must be [%lld, %lld]: a row for each "
                               "example, a column for each weight", group,
                               LEAT_SHAPE_TEXT(features), (long long)example_count,
                               (long long)weights);
  }
  return leat_ok_status();
}

static leat_status_t check_inputs(const leat_kernel_context_t* c, const sdca_inputs_t* in) {
  const sdca_state_t* state = leat_kernel_state(c);
  const int64_t examples = leat_kernel_input(c, in->weights)->shape.element_count;
  const int64_t labels = leat_kernel_input(c, in->labels)->shape.element_count;
  const leat_shape_t* states = &leat_kernel_input(c, in->states)->shape;
  if (examples >= INT32_MAX) {
    return leat_kernel_invalid(c, "Too many examples in a mini-batch: %lld > %d",
                               (long long)examples, INT32_MAX);
  }
  if (labels != examples) {
    return leat_kernel_invalid(c, "Expected %lld example labels but got %lld", (long long)examples,
                               (long long)labels);
  }
  for (int i = 0; i < state->sparse_count; ++i) {
    LEAT_RETURN_IF_ERROR(check_sparse_group(c, in, i));
  }
  for (int i = 0; i < state->dense_count; ++i) {
    LEAT_RETURN_IF_ERROR(check_dense_group(c, in, i, examples));
  }
  if (states->rank == 2 && leat_shape_dim(states, 0) == examples &&
      leat_shape_dim(states, 1) == 4) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "Expected shape [%lld,4] for example_state_data, got %s",
                             (long long)examples, LEAT_SHAPE_TEXT(states));
}

// ---- Memory -------------------------------------------------------------------------------------

// Makes output |output| the deltas of the weights at input |input|.
static leat_status_t allocate_deltas(leat_kernel_context_t* c, int input, int output,
                                     sdca_group_t* group) {
  const leat_tensor_t* weights = leat_kernel_input(c, input);
  leat_tensor_t* deltas;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, output, &weights->shape, &deltas));
  leat_tensor_fill_zero(deltas);
  group->width = weights->shape.element_count;
  group->weights = weights->data;
  group->deltas = deltas->data;
  return leat_ok_status();
}

// How many words of scratch memory a pass needs: the groups, norms and order, |begins| and |places|
// of each sparse group, and what finding places and the adaptive order work with in turn.
static leat_status_t count_words(const leat_kernel_context_t* c, const sdca_inputs_t* in,
                                 int64_t example_count, int64_t* out_words) {
  const sdca_state_t* state = leat_kernel_state(c);
  const int64_t group_words = sizeof(sdca_group_t) / sizeof(int64_t);
  int64_t words, scratch = 3 * example_count;
  int64_t group_count = state->sparse_count + state->dense_count;
  bool fits = leat_checked_multiply(group_count, group_words, &words) &&
              leat_checked_add(words, 2 * example_count, &words);
  for (int i = 0; i < state->sparse_count; ++i) {
    const int64_t entries = leat_kernel_input(c, in->features + i)->shape.element_count;
    const int64_t weights = leat_kernel_input(c, in->sparse_weights + i)->shape.element_count;
    fits = fits && leat_checked_add(words, example_count + 1, &words) &&
           leat_checked_add(words, entries, &words);
    scratch = LEAT_MAX(scratch, weights);
  }
  fits = fits && leat_checked_add(words, scratch, &words);
  if (!fits) return leat_kernel_invalid(c, "the features are too many for memory");
  *out_words = words;
  return leat_ok_status();
}

// ---- Sparse groups ------------------------------------------------------------------------------

// The order of the places in |indices|: by feature, and of equal ones the last first, since that is
// the one whose weight counts.
static bool is_feature_before(const void* context, const void* a, const void* b) {
  const int64_t *indices = context, x = *(const int64_t*)a, y = *(const int64_t*)b;
  return indices[x] != indices[y] ? indices[x] < indices[y] : x > y;
}

// The place of |feature| in |indices|, of which |order| [count] is the order; -1: it is not there.
static int64_t find_feature(const int64_t* indices, const int64_t* order, int64_t count,
                            int64_t feature) {
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (indices[order[middle]] < feature) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && indices[order[low]] == feature ? order[low] : -1;
}

// Sets |begins| and |places| of the sparse group |index|; |scratch| has room for its indices.
static leat_status_t place_entries(leat_kernel_context_t* c, const sdca_inputs_t* in, int index,
                                   int64_t* scratch, sdca_pass_t* pass) {
  sdca_group_t* group = &pass->groups[index];
  const leat_tensor_t* listed = leat_kernel_input(c, in->indices + index);
  const leat_tensor_t* entries = leat_kernel_input(c, in->features + index);
  const int64_t *examples = leat_kernel_input(c, in->examples + index)->data;
  const int64_t *features = entries->data, *indices = listed->data;
  const int64_t count = listed->shape.element_count, total = entries->shape.element_count;
  for (int64_t i = 0; i < count; ++i) scratch[i] = i;
  leat_sort(scratch, (size_t)count, sizeof(int64_t), is_feature_before, indices);
  int64_t end = 0;
  for (int64_t i = 0; i < pass->example_count; ++i) {
    for (group->begins[i] = end; end < total && examples[end] == i; ++end) {
      LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pass->pace, 50));
      group->places[end] = find_feature(indices, scratch, count, features[end]);
      if (group->places[end] < 0) {
        return leat_kernel_invalid(c, "Found sparse feature indices out of valid range: %lld",
                                   (long long)features[end]);
      }
    }
  }
  group->begins[pass->example_count] = end;
  return leat_ok_status();
}

// Refuses an example that has a feature of the sparse |group| twice. |last| has a word for each
// weight.
static leat_status_t check_entries_differ(leat_kernel_context_t* c, const sdca_pass_t* pass,
                                          const sdca_group_t* group, int64_t* last) {
  for (int64_t i = 0; i < group->width; ++i) last[i] = -1;
  for (int64_t i = 0; i < pass->example_count; ++i) {
    for (int64_t k = group->begins[i]; k < group->begins[i + 1]; ++k) {
      if (last[group->places[k]] == i) {
        return leat_kernel_invalid(c, "Duplicate index in sparse vector.");
      }
      last[group->places[k]] = i;
    }
  }
  return leat_ok_status();
}

// ---- One example --------------------------------------------------------------------------------

static double shrunk(double weight, double distance) {
  const double size = fabs(weight) - distance;
  return size > 0 ? copysign(size, weight) : 0;
}

// The same in float, where NaN stays NaN, as dense groups have it in TensorFlow.
static float shrunk_float(float weight, float distance) {
  const float size = fabsf(weight) - distance;
  const float sign = weight > 0 ? 1.0f : weight < 0 ? -1.0f : weight;
  return sign * (size < 0 ? 0 : size);
}

static double squared_norm(const sdca_pass_t* pass, int64_t example) {
  const sdca_state_t* state = pass->state;
  double sum = 0;
  for (int64_t g = 0; g < state->sparse_count; ++g) {
    const sdca_group_t* group = &pass->groups[g];
    for (int64_t k = group->begins[example]; k < group->begins[example + 1]; ++k) {
      const double value = group->values ? group->values[k] : 1.0;
      sum += value * value;
    }
  }
  for (int64_t g = 0; g < state->dense_count; ++g) {
    const sdca_group_t* group = &pass->groups[state->sparse_count + g];
    const float* row = group->values + example * group->width;
    float part = 0;
    for (int64_t k = 0; k < group->width; ++k) part += row[k] * row[k];
    sum += part;
  }
  return sum;
}

// The predictions for |example| by the weights as the step got them, and as they are by now.
static void predict(const sdca_pass_t* pass, int64_t example, double* out_former, double* out_wx) {
  const sdca_state_t* state = pass->state;
  const float partitions = (float)state->partitions, shrinkage = (float)state->shrinkage;
  double former = 0, wx = 0;
  for (int64_t g = 0; g < state->sparse_count; ++g) {
    const sdca_group_t* group = &pass->groups[g];
    for (int64_t k = group->begins[example]; k < group->begins[example + 1]; ++k) {
      const double value = group->values ? group->values[k] : 1.0;
      const float weight = group->weights[group->places[k]];
      const float now = weight + group->deltas[group->places[k]] * partitions;
      former += value * shrunk(weight, state->shrinkage);
      wx += value * shrunk(now, state->shrinkage);
    }
  }
  for (int64_t g = 0; g < state->dense_count; ++g) {
    const sdca_group_t* group = &pass->groups[state->sparse_count + g];
    const float* row = group->values + example * group->width;
    float former_part = 0, part = 0;
    for (int64_t k = 0; k < group->width; ++k) {
      const float now = group->weights[k] + group->deltas[k] * partitions;
      former_part += row[k] * shrunk_float(group->weights[k], shrinkage);
      part += row[k] * shrunk_float(now, shrinkage);
    }
    former += former_part;
    wx += part;
  }
  *out_former = former;
  *out_wx = wx;
}

// Adds |step| times the features of |example| to the deltas.
static void move_weights(const sdca_pass_t* pass, int64_t example, double step) {
  const sdca_state_t* state = pass->state;
  for (int64_t g = 0; g < state->sparse_count; ++g) {
    const sdca_group_t* group = &pass->groups[g];
    for (int64_t k = group->begins[example]; k < group->begins[example + 1]; ++k) {
      float* delta = &group->deltas[group->places[k]];
      *delta = (float)(*delta + (group->values ? group->values[k] : 1.0) * step);
    }
  }
  for (int64_t g = 0; g < state->dense_count; ++g) {
    const sdca_group_t* group = &pass->groups[state->sparse_count + g];
    const float* row = group->values + example * group->width;
    for (int64_t k = 0; k < group->width; ++k) group->deltas[k] += row[k] * (float)step;
  }
}

static leat_status_t train_example(leat_kernel_context_t* c, const sdca_pass_t* pass,
                                   int64_t example) {
  const sdca_state_t* state = pass->state;
  const leat_sdca_loss_t* loss = state->loss;
  float* example_state = pass->example_states[example];
  float label = pass->labels[example];
  if (!loss->read_label(&label)) {
    return leat_kernel_invalid(c, "%s Found example with label: %g", loss->label_rule, label);
  }
  double former;
  leat_sdca_point_t p = {
      .label = label,
      .weight = pass->weights[example],
      .dual = example_state[0],
      .curvature = (double)state->partitions * (pass->norms[example] / state->l2)};
  predict(pass, example, &former, &p.wx);
  const double dual = loss->updated_dual(&p);
  move_weights(pass, example, (dual - p.dual) * p.weight / state->l2);
  example_state[0] = (float)dual;
  example_state[1] = (float)loss->primal_loss(former, label, p.weight);
  example_state[2] = (float)loss->dual_loss(p.dual, label, p.weight);
  example_state[3] = (float)p.weight;
  return leat_ok_status();
}

// ---- The pass -----------------------------------------------------------------------------------

// About how long an example takes, for the checks whether the step shall end.
static double cost_of(const sdca_pass_t* pass, int64_t example) {
  const sdca_state_t* state = pass->state;
  double cost = 200;
  for (int64_t g = 0; g < state->sparse_count; ++g) {
    cost += 10.0 * (double)(pass->groups[g].begins[example + 1] - pass->groups[g].begins[example]);
  }
  for (int64_t g = 0; g < state->dense_count; ++g) {
    cost += 3.0 * (double)pass->groups[state->sparse_count + g].width;
  }
  return cost;
}

// The more an example's dual variable is off, and the larger its features are, the more a step with
// it gains (Csiba, Qu and Richtarik, "Stochastic dual coordinate ascent with adaptive
// probabilities", 2015).
static float chance_of(const sdca_pass_t* pass, int64_t example) {
  const sdca_state_t* state = pass->state;
  float label = pass->labels[example];
  if (!state->loss->read_label(&label)) return 0;  // the pass will refuse it
  double former, wx;
  predict(pass, example, &former, &wx);
  const double off = pass->example_states[example][0] + state->loss->derivative(wx, label);
  const double chance = pass->weights[example] * fabs(off) *
                        sqrt(pass->norms[example] + state->l2 * state->loss->smoothness);
  return chance > 0 ? (float)LEAT_MIN(chance, 1e30) : 0;
}

static leat_status_t order_adaptively(sdca_pass_t* pass, leat_philox_t philox, int64_t* scratch) {
  const int64_t count = pass->example_count;
  leat_sdca_draw_t draw = {.sums = (double*)scratch, .rest = scratch + count};
  draw.chances = (float*)(scratch + 2 * count);
  draw.taken = (int32_t*)(draw.chances + count);
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pass->pace, cost_of(pass, i)));
    draw.chances[i] = chance_of(pass, i);
  }
  return leat_sdca_draw_order(philox, &draw, &pass->pace, pass->order, count);
}

// Lays the arrays of |pass| and its groups out in |words|, and returns the scratch behind them.
static int64_t* lay_out(const leat_kernel_context_t* c, const sdca_inputs_t* in, int64_t* words,
                        sdca_pass_t* pass) {
  const sdca_state_t* state = pass->state;
  const int64_t group_count = state->sparse_count + state->dense_count;
  pass->groups = (sdca_group_t*)words;
  memset(pass->groups, 0, (size_t)group_count * sizeof(sdca_group_t));
  words = (int64_t*)(pass->groups + group_count);
  pass->norms = (double*)words;
  pass->order = words += pass->example_count;
  words += pass->example_count;
  for (int i = 0; i < state->sparse_count; ++i) {
    pass->groups[i].begins = words;
    pass->groups[i].places = words += pass->example_count + 1;
    words += leat_kernel_input(c, in->features + i)->shape.element_count;
  }
  return words;
}

static leat_status_t read_groups(leat_kernel_context_t* c, const sdca_inputs_t* in,
                                 int64_t* scratch, sdca_pass_t* pass) {
  const sdca_state_t* state = pass->state;
  const int sparse_count = (int)state->sparse_count;
  for (int i = 0; i < sparse_count; ++i) {
    sdca_group_t* group = &pass->groups[i];
    LEAT_RETURN_IF_ERROR(allocate_deltas(c, in->sparse_weights + i, 1 + i, group));
    if (i < state->valued_count) group->values = leat_kernel_input(c, in->values + i)->data;
    LEAT_RETURN_IF_ERROR(place_entries(c, in, i, scratch, pass));
    LEAT_RETURN_IF_ERROR(check_entries_differ(c, pass, group, scratch));
  }
  for (int i = 0; i < state->dense_count; ++i) {
    sdca_group_t* group = &pass->groups[sparse_count + i];
    LEAT_RETURN_IF_ERROR(
        allocate_deltas(c, in->dense_weights + i, 1 + sparse_count + i, group));
    group->values = leat_kernel_input(c, in->dense + i)->data;
  }
  return leat_ok_status();
}

static leat_status_t run_pass(leat_kernel_context_t* c, int64_t* scratch, sdca_pass_t* pass) {
  const int64_t count = pass->example_count;
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pass->pace, cost_of(pass, i) / 4));
    pass->norms[i] = squared_norm(pass, i);
  }
  const leat_philox_t philox =
      leat_philox_make(c->services->deterministic ? 0 : leat_random_seed(), 0);
  if (pass->state->is_adaptive) {
    LEAT_RETURN_IF_ERROR(order_adaptively(pass, philox, scratch));
  } else {
    leat_sdca_shuffle_order(philox, pass->order, count);
  }
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pass->pace, cost_of(pass, pass->order[i])));
    LEAT_RETURN_IF_ERROR(train_example(c, pass, pass->order[i]));
  }
  return leat_ok_status();
}

static leat_status_t optimize__cpu(leat_kernel_context_t* c) {
  const sdca_state_t* state = leat_kernel_state(c);
  const sdca_inputs_t in = number_inputs(state);
  LEAT_RETURN_IF_ERROR(check_inputs(c, &in));
  const leat_tensor_t* given = leat_kernel_input(c, in.states);
  sdca_pass_t pass = {.state = state,
                      .example_count = leat_shape_dim(&given->shape, 0),
                      .labels = leat_kernel_input(c, in.labels)->data,
                      .weights = leat_kernel_input(c, in.weights)->data,
                      .pace = leat_step_pace_of(c)};
  leat_tensor_t *states, memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, in.states, 0, &given->shape, &states));
  if (states->data != given->data) memcpy(states->data, given->data, leat_tensor_size_bytes(given));
  pass.example_states = states->data;
  int64_t word_count = 0;
  LEAT_RETURN_IF_ERROR(count_words(c, &in, pass.example_count, &word_count));
  const leat_shape_t shape = leat_shape_vector(word_count);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &shape, &memory));
  int64_t* scratch = lay_out(c, &in, memory.data, &pass);
  leat_status_t status = read_groups(c, &in, scratch, &pass);
  if (!status) status = run_pass(c, scratch, &pass);
  leat_tensor_release(&memory);
  return status;
}

const leat_kernel_row_t leat_sdca_optimizer_kernels_cpu[] = {
    LEAT_CPU_KERNEL("SdcaOptimizer", NULL, sdca_state_t, create, optimize__cpu,
                    .expensive = true),
    LEAT_CPU_KERNEL("SdcaOptimizerV2", NULL, sdca_state_t, create_v2, optimize__cpu,
                    .expensive = true),
    LEAT_KERNEL_ROWS_END,
};
