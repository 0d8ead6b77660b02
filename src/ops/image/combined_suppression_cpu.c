// CPU kernel of CombinedNonMaxSuppression, the last stage of detectors that score every box for
// every class:
//
//   boxes [batch, count, classes or 1, 4], scores [batch, count, classes] -> the best boxes of each
//   image [batch, n, 4], their scores and classes [batch, n], and how many there are [batch]
//
// For each class of an image its boxes above the score threshold are sorted by score, and a box is
// dropped when it overlaps a better one of its class too much. Of what is left of all classes the
// best boxes are the output, padded with zeros. Images are shared among threads; each has memory of
// its own.
#include <stdlib.h>

#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/image/box_cpu.h"
#include "ops/kernel_rows.h"

typedef struct options_s {
  bool pads_per_class, clips;
} options_t;

// A box for a class. |box| counts within the image.
typedef struct candidate_s {
  float score;
  int32_t class_index;
  int64_t box;
} candidate_t;

typedef struct job_s {
  options_t options;
  int64_t batch, count, classes;
  int64_t box_classes;  // 1: all classes have the same boxes
  int64_t per_class, total;
  float overlap_limit, least_score;
  const float *boxes, *scores;
  candidate_t* memory;  // [batch, 2 of a class and what all classes keep]
  int64_t kept_capacity;
  float *out_boxes, *out_scores, *out_classes;  // zeroed
  int32_t* out_counts;
} job_t;

// By falling score, then by class and box, so that the order does not depend on the sort.
static int compare(const void* x, const void* y) {
  const candidate_t *a = x, *b = y;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  if (a->class_index != b->class_index) return a->class_index < b->class_index ? -1 : 1;
  return a->box < b->box ? -1 : a->box > b->box;
}

static const float* corners_of(const job_t* job, int64_t image, const candidate_t* candidate) {
  const int64_t place = job->box_classes == 1 ? 0 : candidate->class_index;
  return job->boxes +
         4 * ((image * job->count + candidate->box) * job->box_classes + place);
}

// Selects boxes of one class of an image into |kept|; gives their number. |sorted| has room for all
// boxes.
static int64_t select_class(const job_t* job, int64_t image, int32_t class_index,
                            candidate_t* sorted, candidate_t* kept) {
  int64_t candidates = 0, selected = 0;
  const float* scores = job->scores + image * job->count * job->classes + class_index;
  for (int64_t box = 0; box < job->count; ++box) {
    const float score = scores[box * job->classes];
    if (score > job->least_score) sorted[candidates++] = (candidate_t){score, class_index, box};
  }
  qsort(sorted, (size_t)candidates, sizeof *sorted, compare);
  for (int64_t i = 0; i < candidates && selected < job->per_class; ++i) {
    if (i % 64 == 0 && leat_step_loop_is_over()) break;
    const leat_box_t box = leat_box_between(corners_of(job, image, &sorted[i]));
    bool is_kept = true;
    for (int64_t k = selected; k-- > 0 && is_kept;) {
      const leat_box_t other = leat_box_between(corners_of(job, image, &kept[k]));
      is_kept = !(leat_box_overlap(box, other) > job->overlap_limit);
    }
    if (is_kept) kept[selected++] = sorted[i];
  }
  return selected;
}

static float clipped(const job_t* job, float x) {
  return job->options.clips ? leat_box_larger(leat_box_smaller(x, 1), 0) : x;
}

static void suppress_images(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  for (int64_t image = begin; image < end; ++image) {
    candidate_t* sorted = job->memory + image * (job->count + job->kept_capacity);
    candidate_t* kept = sorted + job->count;
    int64_t count = 0;
    for (int64_t i = 0; i < job->classes; ++i) {
      count += select_class(job, image, (int32_t)i, sorted, kept + count);
    }
    qsort(kept, (size_t)count, sizeof *kept, compare);
    count = LEAT_MIN(count, job->total);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = image * job->total + i;
      const float* corners = corners_of(job, image, &kept[i]);
      for (int k = 0; k < 4; ++k) job->out_boxes[4 * at + k] = clipped(job, corners[k]);
      job->out_scores[at] = kept[i].score;
      job->out_classes[at] = (float)kept[i].class_index;
    }
    job->out_counts[image] = (int32_t)count;
  }
}

// ---- Inputs and outputs -------------------------------------------------------------------------

static leat_status_t read_sizes(const leat_kernel_context_t* c, job_t* job) {
  const leat_shape_t *boxes = &leat_kernel_input(c, 0)->shape,
                     *scores = &leat_kernel_input(c, 1)->shape;
  if (boxes->rank != 4 || scores->rank != 3) {
    return leat_kernel_invalid(c, "boxes must be 4-D and scores 3-D, got shapes %s and %s",
                               LEAT_SHAPE_TEXT(boxes), LEAT_SHAPE_TEXT(scores));
  }
  const int64_t *box = leat_shape_dims(boxes), *score = leat_shape_dims(scores);
  if (box[0] != score[0] || box[1] != score[1] || box[3] != 4 ||
      (box[2] != 1 && box[2] != score[2]) || score[2] > INT32_MAX) {
    return leat_kernel_invalid(c, "boxes and scores have incompatible shapes %s and %s",
                               LEAT_SHAPE_TEXT(boxes), LEAT_SHAPE_TEXT(scores));
  }
  job->batch = box[0];
  job->count = box[1];
  job->box_classes = box[2];
  job->classes = score[2];
  return leat_ok_status();
}

static leat_status_t read_limits(const leat_kernel_context_t* c, job_t* job) {
  static const char* const kNames[] = {"max_output_size_per_class", "max_total_size",
                                       "iou_threshold", "score_threshold"};
  for (int i = 2; i < 6; ++i) {
    if (leat_kernel_input(c, i)->shape.rank == 0) continue;
    return leat_kernel_invalid(c, "%s must be 0-D, got shape %s", kNames[i - 2],
                               LEAT_SHAPE_TEXT(&leat_kernel_input(c, i)->shape));
  }
  job->per_class = leat_tensor_index_at(leat_kernel_input(c, 2), 0);
  job->total = leat_tensor_index_at(leat_kernel_input(c, 3), 0);
  job->overlap_limit = *leat_tensor_data(leat_kernel_input(c, 4), const float);
  job->least_score = *leat_tensor_data(leat_kernel_input(c, 5), const float);
  if (job->per_class <= 0 || job->total <= 0) {
    return leat_kernel_invalid(c, "max_output_size_per_class is %lld and max_total_size %lld, must "
                               "be > 0", (long long)job->per_class, (long long)job->total);
  }
  if (!(job->overlap_limit >= 0 && job->overlap_limit <= 1)) {
    return leat_kernel_invalid(c, "iou_threshold is %g, must be in [0, 1]",
                               (double)job->overlap_limit);
  }
  int64_t most;
  if (job->options.pads_per_class && leat_checked_multiply(job->per_class, job->classes, &most)) {
    job->total = LEAT_MIN(job->total, most);
  }
  return leat_ok_status();
}

static leat_status_t allocate_outputs(leat_kernel_context_t* c, job_t* job) {
  const int64_t dims[] = {job->batch, job->total, 4};
  static const int kRanks[] = {3, 2, 2, 1};
  for (int i = 0; i < 4; ++i) {
    leat_tensor_t* output;
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, i, kRanks[i], dims, &output));
    leat_tensor_fill_zero(output);
  }
  job->out_boxes = leat_kernel_output(c, 0)->data;
  job->out_scores = leat_kernel_output(c, 1)->data;
  job->out_classes = leat_kernel_output(c, 2)->data;
  job->out_counts = leat_kernel_output(c, 3)->data;
  return leat_ok_status();
}

// Memory for the candidates of a class, and for what all classes of an image keep.
static leat_status_t allocate_candidates(leat_kernel_context_t* c, job_t* job,
                                         leat_tensor_t* out_memory) {
  int64_t bytes;
  if (!leat_checked_multiply(LEAT_MIN(job->count, job->per_class), job->classes,
                             &job->kept_capacity) ||
      !leat_checked_add(job->kept_capacity, job->count, &bytes) ||
      !leat_checked_multiply(bytes, job->batch, &bytes) ||
      !leat_checked_multiply(bytes, (int64_t)sizeof(candidate_t), &bytes)) {
    return leat_kernel_invalid(c, "boxes are too many, got shape %s",
                               LEAT_SHAPE_TEXT(&leat_kernel_input(c, 0)->shape));
  }
  const leat_shape_t shape = leat_shape_vector(bytes);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_UINT8, &shape, out_memory));
  job->memory = out_memory->data;
  return leat_ok_status();
}

static leat_status_t combined__cpu(leat_kernel_context_t* c) {
  job_t job = {.options = *(const options_t*)leat_kernel_state(c),
               .boxes = leat_kernel_input(c, 0)->data,
               .scores = leat_kernel_input(c, 1)->data};
  leat_tensor_t memory;
  LEAT_RETURN_IF_ERROR(read_sizes(c, &job));
  LEAT_RETURN_IF_ERROR(read_limits(c, &job));
  LEAT_RETURN_IF_ERROR(allocate_candidates(c, &job, &memory));
  leat_status_t status = allocate_outputs(c, &job);
  if (!status) {
    leat_kernel_parallel_for(c, job.batch, 100 + 50 * (double)job.count * (double)job.classes,
                             suppress_images, &job);
  }
  leat_tensor_release(&memory);
  return status;
}

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  options_t* options = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "pad_per_class", &options->pads_per_class));
  return leat_kernel_attr_bool(c, "clip_boxes", &options->clips);
}

const leat_kernel_row_t leat_combined_suppression_kernels_cpu[] = {
    LEAT_CPU_KERNEL("CombinedNonMaxSuppression", NULL, options_t, create, combined__cpu),
    LEAT_KERNEL_ROWS_END,
};
