// The kernel of ComputeBatchSize: how many rows the elements of a dataset have, as far as the ops
// tell that it was made by; -1 where they do not. What makes batches says their size, even of a
// last batch that is smaller. What joins datasets has the size that all of its inputs have, and
// what only selects, orders or remembers elements that of its input. After all other ops nothing
// is known. Which ops are which is TensorFlow's list, so that a dataset that is batched in another
// way, by ParallelBatchDataset, has no size here either.
#include <ctype.h>

#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

enum { UNKNOWN = -1, MOST_VISITS = 100000 };

typedef enum size_rule_e { SIZE_IS_OWN, SIZE_OF_ALL, SIZE_OF_INPUT } size_rule_t;

// By the op's name without its version.
static const struct {
  const char* op;
  size_rule_t rule;
} kRules[] = {
    {"BatchDataset", SIZE_IS_OWN},
    {"PaddedBatchDataset", SIZE_IS_OWN},
    {"MapAndBatchDataset", SIZE_IS_OWN},
    {"ExperimentalMapAndBatchDataset", SIZE_IS_OWN},
    {"ConcatenateDataset", SIZE_OF_ALL},
    {"ZipDataset", SIZE_OF_ALL},
    {"AssertCardinalityDataset", SIZE_OF_INPUT},
    {"AutoShardDataset", SIZE_OF_INPUT},
    {"CacheDataset", SIZE_OF_INPUT},
    {"FilterDataset", SIZE_OF_INPUT},
    {"OptionsDataset", SIZE_OF_INPUT},
    {"ParseExampleDataset", SIZE_OF_INPUT},
    {"PrefetchDataset", SIZE_OF_INPUT},
    {"RepeatDataset", SIZE_OF_INPUT},
    {"ShardDataset", SIZE_OF_INPUT},
    {"ShuffleAndRepeatDataset", SIZE_OF_INPUT},
    {"ShuffleDataset", SIZE_OF_INPUT},
    {"SkipDataset", SIZE_OF_INPUT},
    {"TakeDataset", SIZE_OF_INPUT},
};

// |op| without a "V2" or the like at its end.
static leat_string_view_t without_version(leat_string_view_t op) {
  size_t size = op.size;
  while (size && isdigit((unsigned char)op.data[size - 1])) --size;
  return size < op.size && size && op.data[size - 1] == 'V'
             ? leat_string_view_make(op.data, size - 1)
             : op;
}

static int64_t size_of(const leat_dataset_t* dataset, int* inout_visits);

static int64_t size_of_all(const leat_dataset_t* dataset, int* inout_visits) {
  const int64_t size = size_of(dataset->inputs[0], inout_visits);
  for (int i = 1; i < dataset->input_count; ++i) {
    if (size_of(dataset->inputs[i], inout_visits) != size) return UNKNOWN;
  }
  return size;
}

// A dataset may stand below another in more ways than can be visited, and then nothing is known.
static int64_t size_of(const leat_dataset_t* dataset, int* inout_visits) {
  if (++*inout_visits > MOST_VISITS || !dataset->node.op) return UNKNOWN;
  const leat_string_view_t op = without_version(dataset->node.op->name);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kRules); ++i) {
    if (!leat_string_view_equals(op, kRules[i].op)) continue;
    if (kRules[i].rule == SIZE_IS_OWN) return leat_batch_dataset_size(dataset);
    if (dataset->input_count == 0) return UNKNOWN;
    if (kRules[i].rule == SIZE_OF_ALL) return size_of_all(dataset, inout_visits);
    return size_of(dataset->inputs[0], inout_visits);
  }
  return UNKNOWN;
}

static leat_status_t batch_size__cpu(leat_kernel_context_t* c) {
  const leat_shape_t scalar = leat_shape_scalar();
  int visits = 0;
  leat_dataset_t* dataset;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  const int64_t size = size_of(dataset, &visits);
  *leat_tensor_data(output, int64_t) = visits > MOST_VISITS ? UNKNOWN : size;
  return leat_ok_status();
}

const leat_kernel_row_t leat_batch_size_kernels_cpu[] = {
    {.op = "ComputeBatchSize", .device_type = "CPU", .compute = batch_size__cpu},
    LEAT_KERNEL_ROWS_END,
};
