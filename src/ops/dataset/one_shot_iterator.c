// Definition of OneShotIterator, whose dataset is returned by a function.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_one_shot_iterator_ops[] = {
    {.name = "OneShotIterator",
     .outputs = "handle: resource",
     .attrs = "dataset_factory: func; " LEAT_ELEMENT_ATTRS
              "; container: string = ''; shared_name: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "An iterator over the dataset that a function makes, once."},
    LEAT_OP_ROWS_END,
};
