// The ops of staging areas: tuples kept between steps, taken in order (Stage) or by key (MapStage).
// An area has no handle; it is found by the container and the name that its ops share.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t scalar_shape(leat_inference_t* c) { return leat_shape_scalar_output(c); }

#define LIMITS "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; "
#define NAMES "; container: string = ''; shared_name: string = ''"
#define SOME_TYPES LIMITS "dtypes: list(type) >= 1" NAMES
#define ANY_TYPES LIMITS "dtypes: list(type)" NAMES

#define STAGE(op_name, op_inputs, op_outputs, op_attrs, op_shape, words) \
  {.name = op_name,                                                      \
   .inputs = op_inputs,                                                  \
   .outputs = op_outputs,                                                \
   .attrs = op_attrs,                                                    \
   .flags = LEAT_OP_STATEFUL,                                            \
   .shape = op_shape,                                                    \
   .gradient = leat_gradient_none,                                       \
   .doc = words}

#define MAP_STAGES(prefix, which)                                                                \
  STAGE(prefix "Stage", "key: int64; indices: int32; values: fake_dtypes", NULL,                 \
        LIMITS "dtypes: list(type); fake_dtypes: list(type) >= 1" NAMES, leat_shape_none,        \
        "Keeps components of the tuple of a key."),                                              \
      STAGE(prefix "Peek", "key: int64; indices: int32", "values: dtypes", SOME_TYPES,           \
            leat_shape_unknown, "Components of the tuple of a key, which stays; waits for it."), \
      STAGE(prefix "Unstage", "key: int64; indices: int32", "values: dtypes", SOME_TYPES,        \
            leat_shape_unknown, "Takes components of the tuple of a key; waits for it."),        \
      STAGE(prefix "UnstageNoKey", "indices: int32", "key: int64; values: dtypes", SOME_TYPES,   \
            leat_shape_unknown, "Takes components of " which " tuple; waits for one."),          \
      STAGE(prefix "Size", NULL, "size: int32", ANY_TYPES, scalar_shape,                         \
            "How many tuples are complete."),                                                    \
      STAGE(prefix "IncompleteSize", NULL, "size: int32", ANY_TYPES, scalar_shape,               \
            "How many tuples lack a component."),                                                \
      STAGE(prefix "Clear", NULL, NULL, ANY_TYPES, leat_shape_none, "Forgets all tuples.")

const leat_op_row_t leat_staging_ops[] = {
    STAGE("Stage", "values: dtypes", NULL, SOME_TYPES, leat_shape_none,
          "Keeps a tuple aside; waits while the area is full."),
    STAGE("Unstage", NULL, "values: dtypes", SOME_TYPES, leat_shape_unknown,
          "Takes the oldest tuple; waits for one."),
    STAGE("StagePeek", "index: int32", "values: dtypes", SOME_TYPES, leat_shape_unknown,
          "The tuple at a place, which stays; waits for it."),
    STAGE("StageSize", NULL, "size: int32", ANY_TYPES, scalar_shape, "How many tuples there are."),
    STAGE("StageClear", NULL, NULL, ANY_TYPES, leat_shape_none, "Forgets all tuples."),
    LEAT_OP_ROWS_END,
};

const leat_op_row_t leat_map_stage_ops[] = {
    MAP_STAGES("Map", "some"),
    MAP_STAGES("OrderedMap", "the smallest key's"),
    LEAT_OP_ROWS_END,
};
