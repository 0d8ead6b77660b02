// Definitions of the datasets' ops under the names that they had in TensorFlow 1.13 and 1.14, while
// they were experiments. Graphs of that time have them. They lack attributes that came later; their
// kernels are those of the ops without "Experimental", beside whose rows they stand. The family's
// list names this source behind those of the ops themselves.
#include "ops/op_rows.h"

// The op |noun| under its former name. |missing| are the attributes that it did not have.
#define FORMER(noun, missing)            \
  {.name = "Experimental" noun,          \
   .alias_of = noun,                     \
   .without = missing,                   \
   .doc = noun " under its former name."}

const leat_op_row_t leat_experimental_dataset_ops[] = {
    FORMER("AssertNextDataset", NULL),
    FORMER("AutoShardDataset", "num_replicas"),
    FORMER("BytesProducedStatsDataset", NULL),
    FORMER("CSVDataset", NULL),
    FORMER("ChooseFastestDataset", NULL),
    FORMER("DatasetCardinality", "cardinality_options"),
    FORMER("DatasetToTFRecord", NULL),
    FORMER("DenseToSparseBatchDataset", NULL),
    FORMER("DirectedInterleaveDataset", "stop_on_empty_dataset"),
    FORMER("GroupByReducerDataset", NULL),
    FORMER("GroupByWindowDataset", "metadata"),
    FORMER("IgnoreErrorsDataset", NULL),
    FORMER("IteratorGetDevice", NULL),
    FORMER("LMDBDataset", NULL),
    FORMER("LatencyStatsDataset", NULL),
    FORMER("MapAndBatchDataset", "metadata"),
    FORMER("MatchingFilesDataset", NULL),
    FORMER("MaxIntraOpParallelismDataset", NULL),
    FORMER("NonSerializableDataset", NULL),
    FORMER("ParallelInterleaveDataset", "metadata"),
    FORMER("ParseExampleDataset", "ragged_keys ragged_value_types ragged_split_types"),
    FORMER("PrivateThreadPoolDataset", NULL),
    FORMER("RandomDataset", "metadata"),
    FORMER("RebatchDataset", NULL),
    FORMER("ScanDataset", "use_default_device metadata"),
    FORMER("SetStatsAggregatorDataset", NULL),
    FORMER("SleepDataset", NULL),
    FORMER("SlidingWindowDataset", "drop_remainder"),
    FORMER("SqlDataset", NULL),
    FORMER("StatsAggregatorHandle", NULL),
    FORMER("StatsAggregatorSummary", NULL),
    FORMER("TakeWhileDataset", "metadata"),
    FORMER("ThreadPoolDataset", NULL),
    FORMER("ThreadPoolHandle", NULL),
    FORMER("UnbatchDataset", "metadata"),
    FORMER("UniqueDataset", "metadata"),
    LEAT_OP_ROWS_END,
};
