// CPU kernels of non-maximum suppression, which object detectors use: of boxes that overlap, only
// those with the best scores are kept.
//
//   boxes [count, 4], scores [count], max_output_size -> selected_indices, the best first
//
// The candidates lie in a heap by score. The best one is taken out and compared with the boxes that
// have been selected so far. If it overlaps one of them by more than a threshold it is dropped,
// else it is selected. With soft suppression (Bodla et al., "Soft-NMS", 2017) an overlap lowers the
// score instead, and the candidate goes back to the heap with the lower score. A candidate
// remembers how many selected boxes it was compared with, so no pair is compared twice.
//
// Overlap is the area of the intersection divided by that of the union, or a matrix that is given.
// Values of half are rounded to half after each operation, as in TensorFlow, whose results would
// otherwise differ where scores are close. The loop is sequential by nature and runs on one thread;
// it looks at the step's deadline now and then.
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "kernel/step_check.h"
#include "ops/image/box_cpu.h"
#include "ops/kernel_rows.h"

typedef struct options_s {
  bool pads;
  float iou_threshold;  // an attribute of the first version, an input of the others
} options_t;

typedef struct candidate_s {
  float score;
  int32_t box;
  int32_t compared;  // how many of the selected boxes it was compared with
} candidate_t;

typedef struct suppression_s {
  bool is_half;
  const leat_tensor_t* boxes;  // [count, 4], or overlaps [count, count] if has_overlaps
  bool has_overlaps;
  int64_t count;
  int64_t most;  // boxes to select at most
  float threshold, least_score, sigma;
  candidate_t* heap;
  int64_t heap_count;
  int32_t* selected;
  float* scores;  // the scores of |selected|
  int64_t selected_count;
} suppression_t;

static float number_at(const leat_tensor_t* tensor, int64_t index) {
  return tensor->dtype == LEAT_DTYPE_HALF
             ? leat_half_to_float(leat_tensor_data(tensor, const uint16_t)[index])
             : leat_tensor_data(tensor, const float)[index];
}

// Rounds |x| to the type of the inputs, in which TensorFlow compares scores.
static float rounded(const suppression_t* s, float x) {
  return s->is_half ? leat_half_to_float(leat_half_from_float(x)) : x;
}

// ---- Overlaps -----------------------------------------------------------------------------------

static leat_box_t box_at(const suppression_t* s, int64_t index) {
  float corners[4];
  for (int i = 0; i < 4; ++i) corners[i] = number_at(s->boxes, 4 * index + i);
  return leat_box_between(corners);
}

// The overlap of boxes |i| and |k|: intersection over union.
static float overlap(const suppression_t* s, int64_t i, int64_t k) {
  if (s->has_overlaps) return number_at(s->boxes, i * s->count + k);
  return leat_box_overlap(box_at(s, i), box_at(s, k));
}

// ---- The heap -----------------------------------------------------------------------------------

// Orders candidates by score; where scores are equal the box with the smaller index comes first.
static bool is_before(candidate_t a, candidate_t b) {
  return a.score > b.score || (a.score == b.score && a.box < b.box);
}

static void push(suppression_t* s, candidate_t candidate) {
  int64_t at = s->heap_count++;
  for (int64_t parent; at > 0; at = parent) {
    parent = (at - 1) / 2;
    if (!is_before(candidate, s->heap[parent])) break;
    s->heap[at] = s->heap[parent];
  }
  s->heap[at] = candidate;
}

static candidate_t pop(suppression_t* s) {
  candidate_t first = s->heap[0], last = s->heap[--s->heap_count];
  int64_t at = 0;
  for (int64_t child; (child = 2 * at + 1) < s->heap_count; at = child) {
    if (child + 1 < s->heap_count && is_before(s->heap[child + 1], s->heap[child])) ++child;
    if (!is_before(s->heap[child], last)) break;
    s->heap[at] = s->heap[child];
  }
  s->heap[at] = last;
  return first;
}

// ---- Selection ----------------------------------------------------------------------------------

// The factor by which an overlap of |similarity| with a selected box lowers a score. Without soft
// suppression it is 1 up to the threshold (but NaN for an overlap of minus infinity, as exp(0 *
// similarity) is in TensorFlow), and 0 above it or for a similarity that is NaN.
static float weigh(const suppression_t* s, float similarity) {
  if (!(s->sigma > 0)) return similarity <= s->threshold ? 1 + 0 * similarity : 0;
  float scale = rounded(s, -0.5f / s->sigma);
  return rounded(s, expf(rounded(s, rounded(s, scale * similarity) * similarity)));
}

// Multiplies the candidate's score by the factor for each selected box with which it has not been
// compared, the one selected last first. Gives false when a box suppresses the candidate
// altogether.
static bool lower_score(const suppression_t* s, candidate_t* candidate) {
  for (int64_t i = s->selected_count; i-- > candidate->compared;) {
    float similarity = rounded(s, overlap(s, candidate->box, s->selected[i]));
    candidate->score = rounded(s, candidate->score * weigh(s, similarity));
    if (!(s->sigma > 0) && similarity > s->threshold) return false;
    if (candidate->score <= s->least_score) break;
  }
  candidate->compared = (int32_t)s->selected_count;
  return true;
}

// Takes candidates from the heap until enough are selected or none is left. A candidate whose score
// fell goes back if the score is still above the least one; NaN is above nothing. The loop ends,
// because a candidate that comes out again is either selected, its score being unchanged, or has
// been compared with a box that was selected meanwhile. A candidate is compared with up to all
// selected boxes, so looking at the clock costs little beside that.
static leat_status_t select_boxes(const leat_kernel_context_t* c, suppression_t* s) {
  for (int64_t i = 0; s->selected_count < s->most && s->heap_count; ++i) {
    if (i % 64 == 0) LEAT_RETURN_IF_ERROR(leat_step_check(c->services, true));
    candidate_t candidate = pop(s);
    float before = candidate.score;
    if (!lower_score(s, &candidate)) continue;
    if (candidate.score != before) {
      if (candidate.score > s->least_score) push(s, candidate);
      continue;
    }
    s->scores[s->selected_count] = candidate.score;
    s->selected[s->selected_count++] = candidate.box;
  }
  return leat_ok_status();
}

// ---- Inputs and outputs -------------------------------------------------------------------------

static leat_status_t read_scalar(const leat_kernel_context_t* c, int input, const char* what,
                                 float* out_value) {
  const leat_tensor_t* tensor = leat_kernel_input(c, input);
  if (tensor->shape.rank != 0) {
    return leat_kernel_invalid(c, "%s must be 0-D, got shape %s", what,
                               LEAT_SHAPE_TEXT(&tensor->shape));
  }
  *out_value = number_at(tensor, 0);
  return leat_ok_status();
}

// Reads and checks the inputs that all versions have: boxes or overlaps, scores and the number of
// outputs.
static leat_status_t read_boxes(const leat_kernel_context_t* c, suppression_t* s) {
  const leat_tensor_t *scores = leat_kernel_input(c, 1), *most = leat_kernel_input(c, 2);
  s->boxes = leat_kernel_input(c, 0);
  s->is_half = scores->dtype == LEAT_DTYPE_HALF;
  if (s->boxes->shape.rank != 2) {
    return leat_kernel_invalid(c, "boxes must be 2-D, got shape %s",
                               LEAT_SHAPE_TEXT(&s->boxes->shape));
  }
  s->count = leat_shape_dim(&s->boxes->shape, 0);
  if (leat_shape_dim(&s->boxes->shape, 1) != (s->has_overlaps ? s->count : 4)) {
    return leat_kernel_invalid(c,
                               s->has_overlaps ? "overlaps must be square, got shape %s"
                                               : "boxes must have 4 columns, got shape %s",
                               LEAT_SHAPE_TEXT(&s->boxes->shape));
  }
  if (scores->shape.rank != 1 || scores->shape.element_count != s->count) {
    return leat_kernel_invalid(c, "scores has incompatible shape %s, must be one for each of %lld",
                               LEAT_SHAPE_TEXT(&scores->shape), (long long)s->count);
  }
  if (most->shape.rank != 0) {
    return leat_kernel_invalid(c, "max_output_size must be 0-D, got shape %s",
                               LEAT_SHAPE_TEXT(&most->shape));
  }
  s->most = leat_tensor_index_at(most, 0);
  if (s->most < 0) return leat_kernel_invalid(c, "output size must be non-negative");
  if (s->count > INT32_MAX) return leat_kernel_invalid(c, "boxes are too many: over 2^31");
  return leat_ok_status();
}

// The thresholds are inputs from the second version on; an input that an op lacks has its default.
static leat_status_t read_limits(const leat_kernel_context_t* c, suppression_t* s) {
  int inputs = leat_kernel_input_count(c);
  s->threshold = ((const options_t*)leat_kernel_state(c))->iou_threshold;
  s->least_score = s->is_half ? -65504 : -FLT_MAX;
  if (inputs > 3) LEAT_RETURN_IF_ERROR(read_scalar(c, 3, "iou_threshold", &s->threshold));
  if (!s->has_overlaps && !(s->threshold >= 0 && s->threshold <= 1)) {
    return leat_kernel_invalid(c, "iou_threshold must be in [0, 1]");
  }
  if (inputs > 4) LEAT_RETURN_IF_ERROR(read_scalar(c, 4, "score_threshold", &s->least_score));
  if (inputs > 5) LEAT_RETURN_IF_ERROR(read_scalar(c, 5, "soft_nms_sigma", &s->sigma));
  if (!(s->sigma >= 0)) {
    return leat_kernel_invalid(c, "soft_nms_sigma is %g, must be >= 0", (double)s->sigma);
  }
  s->threshold = rounded(s, s->threshold);
  s->least_score = rounded(s, s->least_score);
  return leat_ok_status();
}

// Writes the indices and, for ops that have these outputs, the scores and the number of boxes.
static leat_status_t write_outputs(leat_kernel_context_t* c, const suppression_t* s) {
  bool pads = ((const options_t*)leat_kernel_state(c))->pads;
  leat_shape_t shape = leat_shape_vector(pads ? s->most : s->selected_count);
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  int outputs = c->kernel->output_count;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  leat_tensor_fill_zero(output);
  for (int64_t i = 0; i < s->selected_count; ++i) {
    leat_tensor_data(output, int32_t)[i] = s->selected[i];
  }
  if (outputs == 3) {
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &shape, &output));
    leat_tensor_fill_zero(output);
    for (int64_t i = 0; i < s->selected_count; ++i) {
      if (s->is_half) {
        leat_tensor_data(output, uint16_t)[i] = leat_half_from_float(s->scores[i]);
      } else {
        leat_tensor_data(output, float)[i] = s->scores[i];
      }
    }
  }
  if (outputs == 1) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, outputs - 1, &scalar, &output));
  *leat_tensor_data(output, int32_t) = (int32_t)s->selected_count;
  return leat_ok_status();
}

// The kernel of all versions. One block of memory holds the heap, the selected boxes and their
// scores.
static leat_status_t suppress(leat_kernel_context_t* c, bool has_overlaps) {
  suppression_t s = {.has_overlaps = has_overlaps};
  LEAT_RETURN_IF_ERROR(read_boxes(c, &s));
  LEAT_RETURN_IF_ERROR(read_limits(c, &s));
  size_t count = (size_t)s.count + 1;
  void* memory;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      leat_allocator_system(), count, sizeof(candidate_t) + sizeof(int32_t) + sizeof(float),
      &memory));
  s.heap = memory;
  s.selected = (int32_t*)(s.heap + count);
  s.scores = (float*)(s.selected + count);
  for (int64_t i = 0; i < s.count; ++i) {
    float score = number_at(leat_kernel_input(c, 1), i);
    if (score > s.least_score) push(&s, (candidate_t){score, (int32_t)i, 0});
  }
  leat_status_t status = select_boxes(c, &s);
  if (!status) status = write_outputs(c, &s);
  leat_allocator_free(leat_allocator_system(), memory);
  return status;
}

static leat_status_t boxes__cpu(leat_kernel_context_t* c) { return suppress(c, false); }
static leat_status_t overlaps__cpu(leat_kernel_context_t* c) { return suppress(c, true); }

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  options_t* options = memory;
  const leat_op_t* op = c->kernel->op;
  if (leat_op_find_attr(op, LEAT_SV("iou_threshold")) >= 0) {
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "iou_threshold", &options->iou_threshold));
  }
  if (leat_op_find_attr(op, LEAT_SV("pad_to_max_output_size")) < 0) return leat_ok_status();
  return leat_kernel_attr_bool(c, "pad_to_max_output_size", &options->pads);
}

#define ROW(op_name, types, fn)                          \
  LEAT_CPU_KERNEL(op_name, types, options_t, create, fn)
#define TYPES "T: float, half"

const leat_kernel_row_t leat_suppression_kernels_cpu[] = {
    ROW("NonMaxSuppression", NULL, boxes__cpu),
    ROW("NonMaxSuppressionV2", TYPES, boxes__cpu),
    ROW("NonMaxSuppressionV3", TYPES, boxes__cpu),
    ROW("NonMaxSuppressionV4", TYPES, boxes__cpu),
    ROW("NonMaxSuppressionV5", TYPES, boxes__cpu),
    ROW("NonMaxSuppressionWithOverlaps", NULL, overlaps__cpu),
    LEAT_KERNEL_ROWS_END,
};
