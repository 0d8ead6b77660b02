// Definitions of the datasets that call a function for each element: map, filter, take-while and
// scan; those whose function returns a dataset for each element (flat map and interleave); and
// those that parse batches of serialized Example messages into tensors, which is a map with a
// function of the library's own.
//
// A function's captured tensors are inputs of the op ("other_arguments"). They live as long as the
// dataset, which holds references to them. The parallel forms promise the same elements; whether
// in the same order says the attribute "deterministic" or "sloppy". The kernels are in
// map_dataset_cpu.c, scan_dataset_cpu.c, interleave_dataset_cpu.c and parse_dataset_cpu.c, those of
// the parallel forms in parallel_map_dataset_cpu.c and parallel_interleave_dataset_cpu.c.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

// The two forms of the parser differ in how they say whether order matters.
#define TYPES "list({float, int64, string}) >= 0"
#define PARSE_ROW(op_name, order)                                                                 \
  {.name = op_name,                                                                               \
   .inputs = "input_dataset: variant; num_parallel_calls: int64; dense_defaults: Tdense",         \
   .outputs = "handle: variant",                                                                  \
   .attrs = "sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; sparse_types: " TYPES \
            "; Tdense: " TYPES "; dense_shapes: list(shape) >= 0; " LEAT_ELEMENT_ATTRS "; " order \
            "; ragged_keys: list(string) >= 0 = []; ragged_value_types: " TYPES                   \
            " = []; ragged_split_types: list({int32, int64}) >= 0 = []",                          \
   .shape = leat_shape_scalar_output,                                                             \
   .doc = "The wanted features of batches of Example messages, by name."}

const leat_op_row_t leat_map_dataset_ops[] = {
    {.name = "MapDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
              "; use_inter_op_parallelism: bool = true; preserve_cardinality: bool = false; "
              "force_synchronous: bool = false" LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "A function of each element."},
    {.name = "IndexFlatMapDataset",
     .inputs = "input_dataset: variant; map_func_other_args: Tmap_func_args; "
               "index_map_func_other_args: Tindex_map_func_args; output_cardinality: int64",
     .outputs = "handle: variant",
     .attrs = "map_func: func; index_map_func: func; Tmap_func_args: list(type) >= 0; "
              "Tindex_map_func_args: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "The rows of what a function makes of each element, found by their indices."},
    {.name = "ParallelMapDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments; num_parallel_calls: int32",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
              "; use_inter_op_parallelism: bool = true; sloppy: bool = false; "
              "preserve_cardinality: bool = false" LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "A function of each element, called for several at once."},
    {.name = "ParallelMapDatasetV2",
     .inputs = "input_dataset: variant; other_arguments: Targuments; num_parallel_calls: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
              "; use_inter_op_parallelism: bool = true; deterministic: string = 'default'; "
              "preserve_cardinality: bool = false; use_unbounded_threadpool: bool = "
              "false" LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "ParallelMapDataset that says whether order matters."},
    {.name = "FilterDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs =
         "predicate: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "The elements for which a function says true."},
    {.name = "ParallelFilterDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments; num_parallel_calls: int64",
     .outputs = "handle: variant",
     .attrs = "predicate: func; deterministic: string = 'default'; Targuments: list(type) >= "
              "0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "FilterDataset that calls for several elements at once."},
    {.name = "TakeWhileDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs =
         "predicate: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "The elements before the first for which a function says false."},
    // A function that carries a state from element to element.
    {.name = "ScanDataset",
     .inputs = "input_dataset: variant; initial_state: Tstate; other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs =
         "f: func; Tstate: list(type) >= 1; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
         "; preserve_cardinality: bool = false; use_default_device: bool = true" LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "A function of a state and each element."},
    // Functions that return a dataset for each element.
    {.name = "FlatMapDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "The elements of the datasets that a function makes, one after the other."},
    {.name = "InterleaveDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
               "block_length: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "Elements of the datasets that a function makes, in turns."},
    {.name = "ParallelInterleaveDatasetV2",
     .inputs = "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
               "block_length: int64; num_parallel_calls: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS
              "; sloppy: bool = false" LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "InterleaveDataset that reads several datasets at once."},
    {.name = "ParallelInterleaveDatasetV3",
     .inputs = "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
               "block_length: int64; num_parallel_calls: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; deterministic: string = 'default'; Targuments: list(type) >= "
              "0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "ParallelInterleaveDatasetV2 that says whether order matters."},
    {.name = "ParallelInterleaveDatasetV4",
     .inputs = "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
               "block_length: int64; buffer_output_elements: int64; prefetch_input_elements: "
               "int64; num_parallel_calls: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; deterministic: string = 'default'; Targuments: list(type) >= "
              "0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "ParallelInterleaveDatasetV3 with sizes of its buffers."},
    {.name = "ParallelInterleaveDataset",
     .inputs = "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
               "block_length: int64; sloppy: bool; buffer_output_elements: int64; "
               "prefetch_input_elements: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; Targuments: list(type) >= 0; " LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "InterleaveDataset that reads all datasets of the cycle at once."},
    {.name = "LegacyParallelInterleaveDatasetV2",
     .inputs = "input_dataset: variant; other_arguments: Targuments; cycle_length: int64; "
               "block_length: int64; buffer_output_elements: int64; prefetch_input_elements: int64",
     .outputs = "handle: variant",
     .attrs = "f: func; deterministic: string = 'default'; Targuments: list(type) >= 0; "
              LEAT_ELEMENT_ATTRS LEAT_METADATA_ATTR,
     .shape = leat_shape_scalar_output,
     .doc = "ParallelInterleaveDataset that says whether order matters."},
    PARSE_ROW("ParseExampleDataset", "sloppy: bool = false"),
    PARSE_ROW("ParseExampleDatasetV2", "deterministic: string = 'default'"),
    LEAT_OP_ROWS_END,
};
