// CPU kernels of the decoders of connectionist temporal classification (CTC; Graves et al., 2006).
//
//   inputs [times, batch, classes] float or double, sequence_length [batch] int32
//     -> decoded_indices, decoded_values, decoded_shape (a sparse matrix for each path),
//        log_probability [batch, paths]
//
// A network gives a score for each class at each time, where one class is the blank. A path is one
// class for each time; the labels of a path are its classes without blanks and, if repeats are
// merged, without a class that follows itself. The greedy decoder takes the best class at each
// time.
//
// The beam search looks for the labels whose paths have the largest summed probability. It keeps
// the |width| most probable prefixes of label sequences. The prefixes form a tree: a node is a
// label, and the labels on the way from the root to it are the prefix.
//
//         root ─ a ─ b        leaves of the beam: "a", "ab", "b", each with
//           └─── b            log P(paths so far that end in a blank) and log P(those that do not)
//
// Both probabilities are needed because "a" followed by another "a" is a longer prefix only if a
// blank lies between them. A prefix that falls out of the beam stays in the tree and may come back.
// Sequences of a batch are decoded one after another; all arithmetic is in double.
#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/nn/ctc_cpu.h"
#include "ops/sparse/entries_cpu.h"

typedef struct decoder_state_s {
  bool merges;           // drop a label that follows itself
  int64_t width;        // beam search
  int64_t path_count;   // beam search: "top_paths"; greedy decoder: 1
  int64_t blank_index;  // greedy decoder; the beam search's blank is the last class
} decoder_state_t;

static leat_status_t greedy_create(leat_kernel_creation_t* c, void* memory) {
  decoder_state_t* state = memory;
  state->path_count = 1;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "blank_index", &state->blank_index));
  return leat_kernel_attr_bool(c, "merge_repeated", &state->merges);
}

static leat_status_t beam_create(leat_kernel_creation_t* c, void* memory) {
  decoder_state_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "beam_width", &state->width));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "top_paths", &state->path_count));
  return leat_kernel_attr_bool(c, "merge_repeated", &state->merges);
}

// ---- Labels found -------------------------------------------------------------------------------

typedef struct labels_s {
  int32_t* items;
  int64_t count;
} labels_t;

typedef struct decoder_s {
  const decoder_state_t* state;
  const leat_tensor_t* inputs;  // [times, batch, classes]
  const int32_t* lengths;
  int64_t batch, classes;
  leat_tensor_t* scores;  // [batch, paths]
  labels_t* labels;       // [batch, paths]
  leat_arena_t* arena;
} decoder_t;

// The score of class |k| at time |t| of sequence |b|.
static double read(const decoder_t* d, int64_t t, int64_t b, int64_t k) {
  return leat_ctc_read(d->inputs, (t * d->batch + b) * d->classes + k);
}

static leat_status_t check_inputs(const leat_kernel_context_t* c) {
  const leat_shape_t* inputs = &leat_kernel_input(c, 0)->shape;
  const leat_tensor_t* lengths = leat_kernel_input(c, 1);
  if (inputs->rank != 3 || inputs->element_count == 0 || lengths->shape.rank != 1 ||
      leat_shape_dim(inputs, 2) >= INT32_MAX) {
    return leat_kernel_invalid(c,
                               "inputs and sequence_length have shapes %s and %s, must be "
                               "[times, batch, classes], not empty, and [batch]",
                               LEAT_SHAPE_TEXT(inputs), LEAT_SHAPE_TEXT(&lengths->shape));
  }
  bool fits = lengths->shape.element_count == leat_shape_dim(inputs, 1);
  for (int64_t b = 0; fits && b < lengths->shape.element_count; ++b) {
    fits = leat_tensor_data(lengths, const int32_t)[b] <= leat_shape_dim(inputs, 0);
  }
  if (fits) return leat_ok_status();
  return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                           "sequence_length has shape %s, must be [%lld] and at most %lld",
                           LEAT_SHAPE_TEXT(&lengths->shape), (long long)leat_shape_dim(inputs, 1),
                           (long long)leat_shape_dim(inputs, 0));
}

// Writes path |path| of all sequences as a sparse matrix [batch, longest] to outputs |path|,
// path_count + |path| and 2 path_count + |path|: indices, values and dense shape.
static leat_status_t set_path(leat_kernel_context_t* c, const decoder_t* d, int64_t path) {
  int paths = (int)d->state->path_count, first = (int)path;
  int64_t total = 0, most = 0, at = 0;
  for (int64_t b = 0; b < d->batch; ++b) {
    int64_t count = d->labels[b * paths + path].count;
    total += count;
    most = LEAT_MAX(most, count);
  }
  leat_shape_t pair = leat_shape_vector(2);
  leat_tensor_t *indices, *values, *dense;
  LEAT_RETURN_IF_ERROR(
      leat_entries_allocate(c, first, paths + first, total, 2, &indices, &values));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2 * paths + first, &pair, &dense));
  leat_tensor_data(dense, int64_t)[0] = d->batch;
  leat_tensor_data(dense, int64_t)[1] = most;
  for (int64_t b = 0; b < d->batch; ++b) {
    const labels_t* labels = &d->labels[b * paths + path];
    for (int64_t i = 0; i < labels->count; ++i, ++at) {
      leat_tensor_data(indices, int64_t)[2 * at] = b;
      leat_tensor_data(indices, int64_t)[2 * at + 1] = i;
      leat_tensor_data(values, int64_t)[at] = labels->items[i];
    }
  }
  return leat_ok_status();
}

// Decodes each sequence by |decode_sequence|, which fills d->labels and d->scores, and writes the
// outputs. |arena| holds the labels until then.
static leat_status_t decode(leat_kernel_context_t* c, leat_arena_t* arena,
                            leat_status_t (*decode_sequence)(leat_kernel_context_t* c, decoder_t* d,
                                                             int64_t b)) {
  const decoder_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* inputs = leat_kernel_input(c, 0);
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(check_inputs(c));
  decoder_t d = {.state = state,
                 .inputs = inputs,
                 .lengths = leat_kernel_input(c, 1)->data,
                 .batch = leat_shape_dim(&inputs->shape, 1),
                 .classes = leat_shape_dim(&inputs->shape, 2),
                 .arena = arena};
  const int64_t dims[] = {d.batch, state->path_count};
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, dims, &shape));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_output(c, 3 * (int)state->path_count, &shape, &d.scores));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)shape.element_count, &d.labels));
  for (int64_t b = 0; b < d.batch; ++b) LEAT_RETURN_IF_ERROR(decode_sequence(c, &d, b));
  for (int64_t p = 0; p < state->path_count; ++p) LEAT_RETURN_IF_ERROR(set_path(c, &d, p));
  return leat_ok_status();
}

static leat_status_t allocate_labels(leat_arena_t* arena, int64_t most, labels_t* out_labels) {
  *out_labels = (labels_t){0};
  return LEAT_NEW(arena, (size_t)LEAT_MAX(most, 1), &out_labels->items);
}

// ---- The likeliest class at each time -----------------------------------------------------------

// The greedy decoder of one sequence. Its score is minus the sum of the largest scores, as
// TensorFlow has it.
static leat_status_t decode_greedily(leat_kernel_context_t* c, decoder_t* d, int64_t b) {
  int64_t blank = d->state->blank_index + (d->state->blank_index < 0 ? d->classes : 0);
  labels_t* labels = &d->labels[b];
  int64_t before = -1;
  double score = 0;
  if (blank < 0 || blank >= d->classes) {
    return leat_kernel_invalid(c, "blank_index expected to be between -%lld and %lld but was %lld",
                               (long long)d->classes, (long long)d->classes - 1,
                               (long long)d->state->blank_index);
  }
  LEAT_RETURN_IF_ERROR(allocate_labels(d->arena, d->lengths[b], labels));
  for (int64_t t = 0; t < d->lengths[b]; ++t) {
    int64_t best = 0;
    for (int64_t k = 1; k < d->classes; ++k) {
      if (read(d, t, b, k) > read(d, t, b, best)) best = k;
    }
    score -= read(d, t, b, best);
    if (best != blank && !(d->state->merges && best == before)) {
      labels->items[labels->count++] = (int32_t)best;
    }
    before = best;
  }
  leat_ctc_write(d->scores, b, score);
  return leat_ok_status();
}

// ---- The beam -----------------------------------------------------------------------------------

// Logarithms of the probability of a prefix: of all its paths, of those that end in a blank, and
// of those that end in its last label.
typedef struct odds_s {
  double total, blank, label;
} odds_t;
static const odds_t kNoOdds = {-INFINITY, -INFINITY, -INFINITY};

typedef struct leaf_s {
  struct leaf_s* parent;  // NULL at the root
  struct leaf_s* first_child;
  struct leaf_s* sibling;
  int32_t label;
  odds_t before, now;  // after the time before, and after this one
} leaf_t;

typedef struct beam_s {
  leaf_t** leaves;    // ordered by now.total, the largest first
  leaf_t** branches;  // the leaves after the time before
  int64_t count, width;
  double* inputs;  // log probabilities of this time
  leat_step_pace_t pace;
} beam_t;

// Nanoseconds: a look at a prefix and one label, and the move of a leaf by one place.
#define COST_OF_LABEL 5.0
#define COST_OF_MOVE 1.0

// Puts |leaf| into the beam in order of now.total; a leaf that equals others comes after them. When
// the beam is full the last leaf falls out, and its |now| is cleared to say so.
static leat_status_t push(beam_t* beam, leaf_t* leaf) {
  int64_t at = beam->count;
  if (beam->count < beam->width) {
    ++beam->count;
  } else {
    beam->leaves[--at]->now = kNoOdds;
  }
  for (; at > 0 && beam->leaves[at - 1]->now.total < leaf->now.total; --at) {
    beam->leaves[at] = beam->leaves[at - 1];
  }
  beam->leaves[at] = leaf;
  return leat_step_pace_count(&beam->pace, COST_OF_MOVE * (double)(beam->count - at));
}

// Says whether a prefix with log probability |total| would have a place in the beam.
static bool is_candidate(const beam_t* beam, double total) {
  return total > -INFINITY &&
         (beam->count < beam->width || total > beam->leaves[beam->count - 1]->now.total);
}

// Writes the log softmax of the scores at time |t| to |out|.
static void normalize_inputs(const decoder_t* d, int64_t t, int64_t b, double* out) {
  double largest = -INFINITY, sum = 0;
  for (int64_t k = 0; k < d->classes; ++k) largest = fmax(largest, read(d, t, b, k));
  for (int64_t k = 0; k < d->classes; ++k) sum += exp(read(d, t, b, k) - largest);
  double shift = largest + log(sum);
  for (int64_t k = 0; k < d->classes; ++k) out[k] = read(d, t, b, k) - shift;
}

// Updates a prefix that does not grow at this time: its paths go on with a blank, or with its last
// label once more. Paths of its parent that take this prefix's label at this time are added too, if
// the parent is still in the beam.
static leat_status_t stay(beam_t* beam, leaf_t* leaf, double blank_input) {
  const leaf_t* parent = leaf->parent;
  if (parent) {
    if (parent->now.total != -INFINITY) {
      double grown = leaf->label == parent->label ? parent->before.blank : parent->before.total;
      leaf->now.label = leat_ctc_add_logs(leaf->now.label, grown);
    }
    leaf->now.label += beam->inputs[leaf->label];
  }
  leaf->now.blank = leaf->before.total + blank_input;
  leaf->now.total = leat_ctc_add_logs(leaf->now.blank, leaf->now.label);
  return push(beam, leaf);
}

// |*out_passed| is how many children are not the one that is sought.
static leaf_t* find_child(const leaf_t* parent, int32_t label, int64_t* out_passed) {
  leaf_t* child = parent->first_child;
  *out_passed = 0;
  for (; child && child->label != label; child = child->sibling) ++*out_passed;
  return child;
}

static leat_status_t add_child(leat_arena_t* arena, leaf_t* parent, int32_t label,
                               leaf_t** out_child) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, out_child));
  **out_child = (leaf_t){.parent = parent,
                         .sibling = parent->first_child,
                         .label = label,
                         .before = kNoOdds};
  parent->first_child = *out_child;
  return leat_ok_status();
}

// Adds to the beam the prefixes that are one label longer than |leaf|, as far as they are probable
// enough. A child that fell out of the beam during this very step and does not come back here loses
// its |before| as well, so that it cannot grow later in the step. TensorFlow does the same.
static leat_status_t grow(leat_arena_t* arena, beam_t* beam, leaf_t* leaf, int64_t label_count) {
  for (int32_t label = 0; label < label_count; ++label) {
    double before = label == leaf->label ? leaf->before.blank : leaf->before.total;
    double total = beam->inputs[label] + before;
    int64_t passed;
    leaf_t* child = find_child(leaf, label, &passed);
    LEAT_RETURN_IF_ERROR(
        leat_step_pace_count(&beam->pace, COST_OF_LABEL * (double)(1 + passed)));
    if (child && child->now.total != -INFINITY) continue;  // it is in the beam already
    if (!is_candidate(beam, total)) {
      if (child) child->before = kNoOdds;
      continue;
    }
    if (!child) LEAT_RETURN_IF_ERROR(add_child(arena, leaf, label, &child));
    child->now = (odds_t){.total = total, .blank = -INFINITY, .label = total};
    LEAT_RETURN_IF_ERROR(push(beam, child));
  }
  return leat_ok_status();
}

// Moves the beam from time |t| - 1 to time |t| of sequence |b|. First all prefixes stay, then those
// grow whose probability before this time would still find a place in the beam.
static leat_status_t step(const decoder_t* d, leat_arena_t* arena, beam_t* beam, int64_t t,
                          int64_t b) {
  int64_t count = beam->count, blank = d->classes - 1;
  leaf_t** branches = beam->leaves;
  beam->leaves = beam->branches;
  beam->branches = branches;
  beam->count = 0;
  normalize_inputs(d, t, b, beam->inputs);
  for (int64_t i = 0; i < count; ++i) branches[i]->before = branches[i]->now;
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(stay(beam, branches[i], beam->inputs[blank]));
  }
  for (int64_t i = 0; i < count; ++i) {
    if (!is_candidate(beam, branches[i]->before.total)) continue;
    LEAT_RETURN_IF_ERROR(grow(arena, beam, branches[i], blank));
  }
  return leat_ok_status();
}

// Collects the labels on the way from |leaf| up to the root, so they are written from the end. With
// state->merges a label that equals the one after it is left out.
static leat_status_t read_labels(const decoder_t* d, const leaf_t* leaf, labels_t* out_labels) {
  int64_t depth = 0, count = 0;
  for (const leaf_t* l = leaf; l->parent; l = l->parent) ++depth;
  LEAT_RETURN_IF_ERROR(allocate_labels(d->arena, depth, out_labels));
  int32_t* end = out_labels->items + depth;
  int32_t later = -1;
  for (; leaf->parent; leaf = leaf->parent) {
    if (!d->state->merges || leaf->label != later) *(end - ++count) = leaf->label;
    later = leaf->label;
  }
  out_labels->items = end - count;
  out_labels->count = count;
  return leat_ok_status();
}

// The beam search of sequence |b|. |arena| holds the tree, which is freed after each sequence.
static leat_status_t search(leat_kernel_context_t* c, decoder_t* d, leat_arena_t* arena,
                            int64_t b) {
  int64_t paths = d->state->path_count;
  beam_t beam = {.width = d->state->width, .count = 1, .pace = leat_step_pace_of(c)};
  leaf_t root = {.label = -1, .before = kNoOdds, .now = {0, 0, -INFINITY}};
  size_t width = (size_t)beam.width;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, width, &beam.leaves));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, width, &beam.branches));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)d->classes, &beam.inputs));
  beam.leaves[0] = &root;
  for (int64_t t = 0; t < d->lengths[b]; ++t) {
    LEAT_RETURN_IF_ERROR(step(d, arena, &beam, t, b));
  }
  if (paths > beam.count) {
    return leat_kernel_invalid(c, "top_paths is %lld: requested more paths than the beam width, of "
                               "which %lld are there",
                               (long long)paths, (long long)beam.count);
  }
  for (int64_t p = 0; p < paths; ++p) {
    LEAT_RETURN_IF_ERROR(read_labels(d, beam.leaves[p], &d->labels[b * paths + p]));
    leat_ctc_write(d->scores, b * paths + p, beam.leaves[p]->now.total);
  }
  return leat_ok_status();
}

static leat_status_t decode_by_beam(leat_kernel_context_t* c, decoder_t* d, int64_t b) {
  leat_arena_t tree;
  leat_arena_initialize(leat_allocator_system(), 0, &tree);
  leat_status_t status = search(c, d, &tree, b);
  leat_arena_deinitialize(&tree);
  return status;
}

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t run(leat_kernel_context_t* c,
                         leat_status_t (*decode_sequence)(leat_kernel_context_t* c, decoder_t* d,
                                                          int64_t b)) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = decode(c, &arena, decode_sequence);
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t ctc_beam_search_decoder__cpu(leat_kernel_context_t* c) {
  return run(c, decode_by_beam);
}

static leat_status_t ctc_greedy_decoder__cpu(leat_kernel_context_t* c) {
  return run(c, decode_greedily);
}

const leat_kernel_row_t leat_ctc_decoder_kernels_cpu[] = {
    {.op = "CTCBeamSearchDecoder",
     .device_type = "CPU",
     .constraints = "T: float, double",
     .create = beam_create,
     .state_bytes = sizeof(decoder_state_t),
     .compute = ctc_beam_search_decoder__cpu,
     .expensive = true},
    {.op = "CTCGreedyDecoder",
     .device_type = "CPU",
     .constraints = "T: float, double",
     .create = greedy_create,
     .state_bytes = sizeof(decoder_state_t),
     .compute = ctc_greedy_decoder__cpu},
    LEAT_KERNEL_ROWS_END,
};
