// Definitions of the datasets that measure several ways of making the same elements and go on with
// the fastest. The ways are datasets, or functions that make a dataset of the input. Which one is
// chosen must not be seen in the elements; how the measuring goes is told in
// fastest_dataset_cpu.c and branch_dataset_cpu.c.
#include "graph/inference/inference.h"
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_fastest_dataset_ops[] = {
    {.name = "ChooseFastestDataset",
     .inputs = "input_datasets: N * variant",
     .outputs = "handle: variant",
     .attrs = "N: int >= 2; num_experiments: int; " LEAT_ELEMENT_ATTRS,
     .shape = leat_shape_scalar_output,
     .doc = "The elements of the dataset that gives them fastest, of several with the same ones."},
    {.name = "ChooseFastestBranchDataset",
     .inputs = "input_dataset: variant; ratio_numerator: int64; ratio_denominator: int64; "
               "other_arguments: Targuments",
     .outputs = "handle: variant",
     .attrs = "Targuments: list(type) >= 0; num_elements_per_branch: int >= 1; "
              "branches: list(func) >= 1; other_arguments_lengths: list(int) >= "
              "1; " LEAT_ELEMENT_ATTRS,
     .shape = leat_shape_scalar_output,
     .doc = "The elements that the fastest of several functions makes of a dataset."},
    LEAT_OP_ROWS_END,
};
