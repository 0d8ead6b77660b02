// Definitions of the ops that keep statistics of datasets. An aggregator is a resource that
// gathers what the datasets below SetStatsAggregatorDataset tell of themselves:
//
//   aggregator <- StatsAggregatorHandle
//   SetStatsAggregatorDataset(LatencyStatsDataset(dataset, "tag"), aggregator, ...)
//   StatsAggregatorSummary(aggregator) -> a Summary
//
// The aggregator of StatsAggregatorHandleV2 keeps no Summary. It adds an event to the writer that
// StatsAggregatorSetSummaryWriter has given it, whenever it is told something. The kernels are in
// stats_cpu.c and stats_dataset_cpu.c.
#include "graph/inference/inference.h"
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

static leat_status_t tagged_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 1));
  return leat_shape_scalar_output(c);
}

#define HANDLE(op_name, what)                                     \
  {.name = op_name,                                               \
   .outputs = "handle: resource",                                 \
   .attrs = "container: string = ''; shared_name: string = ''",   \
   .shape = leat_shape_scalar_output,                             \
   .doc = what}

const leat_op_row_t leat_stats_dataset_ops[] = {
    HANDLE("StatsAggregatorHandle", "An aggregator of statistics, which can be asked for them."),
    HANDLE("StatsAggregatorHandleV2", "An aggregator of statistics, which writes them as events."),
    {.name = "StatsAggregatorSetSummaryWriter",
     .inputs = "stats_aggregator: resource; summary: resource",
     .shape = leat_shape_none,
     .doc = "Where an aggregator writes its events."},
    {.name = "StatsAggregatorSummary",
     .inputs = "iterator: resource",
     .outputs = "summary: string",
     .shape = leat_shape_scalar_output,
     .doc = "What an aggregator was told, as an encoded Summary."},
    {.name = "SetStatsAggregatorDataset",
     .inputs = "input_dataset: variant; stats_aggregator: resource; tag: string; "
               "counter_prefix: string",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS,
     .shape = leat_shape_scalar_output,
     .doc = "The elements, while the datasets below tell an aggregator their statistics."},
    {.name = "LatencyStatsDataset",
     .inputs = "input_dataset: variant; tag: string",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS,
     .shape = tagged_shape,
     .doc = "The elements; it tells how many microseconds each takes."},
    {.name = "BytesProducedStatsDataset",
     .inputs = "input_dataset: variant; tag: string",
     .outputs = "handle: variant",
     .attrs = LEAT_ELEMENT_ATTRS,
     .shape = tagged_shape,
     .doc = "The elements; it tells how many bytes each has."},
    LEAT_OP_ROWS_END,
};
