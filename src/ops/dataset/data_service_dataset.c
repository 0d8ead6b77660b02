// Definitions of the ops of tf.data's service: datasets that are registered with a dispatcher, made
// by workers in other processes, and read from there. The versions of DataServiceDataset differ in
// what they say of the dataset: since the second there are consumers that read together, since the
// third the op itself uncompresses elements, and since the fourth a dataset's id is a text.
#include "ops/dataset/dataset_shape.h"
#include "ops/op_rows.h"

#define READING_ATTRS                                                             \
  "task_refresh_interval_hint_ms: int = -1; " LEAT_ELEMENT_ATTRS                  \
  "; data_transfer_protocol: string = ''; target_workers: string = 'AUTO'; "
#define TRAINER_ATTR "cross_trainer_cache_options: string = ''"
#define UNCOMPRESS_ATTRS "uncompress: bool = false; uncompress_fn: func; "
#define JOB_INPUTS "processing_mode: string; address: string; protocol: string; job_name: string; "
#define CONSUMER_INPUTS "consumer_index: int64; num_consumers: int64; "
#define LAST_INPUTS "max_outstanding_requests: int64; iteration_counter: resource"

#define REGISTRATION_INPUTS "dataset: variant; address: string; protocol: string"

#define READING(op, id, consumers, uncompress)                     \
  {.name = op,                                                     \
   .inputs = "dataset_id: " id "; " JOB_INPUTS consumers LAST_INPUTS, \
   .outputs = "handle: variant",                                   \
   .attrs = READING_ATTRS uncompress TRAINER_ATTR,                 \
   .shape = leat_shape_scalar_output,                              \
   .doc = "The elements of a dataset that workers of a service make."}

const leat_op_row_t leat_data_service_dataset_ops[] = {
    READING("DataServiceDataset", "int64", "", ""),
    READING("DataServiceDatasetV2", "int64", CONSUMER_INPUTS, ""),
    READING("DataServiceDatasetV3", "int64", CONSUMER_INPUTS, UNCOMPRESS_ATTRS),
    READING("DataServiceDatasetV4", "string", CONSUMER_INPUTS, UNCOMPRESS_ATTRS),
    {.name = "RegisterDataset",
     .inputs = REGISTRATION_INPUTS,
     .outputs = "dataset_id: int64",
     .attrs = "external_state_policy: int; element_spec: string = ''" LEAT_METADATA_ATTR,
     .flags = LEAT_OP_NEVER_FOLD,
     .shape = leat_shape_scalar_output,
     .doc = "Gives a dataset to a service."},
    {.name = "RegisterDatasetV2",
     .inputs = REGISTRATION_INPUTS,
     .outputs = "dataset_id: string",
     .attrs = "external_state_policy: int; element_spec: string = ''; requested_dataset_id: string "
              "= ''" LEAT_METADATA_ATTR,
     .flags = LEAT_OP_NEVER_FOLD,
     .shape = leat_shape_scalar_output,
     .doc = "Gives a dataset to a service."},
    {.name = "DistributedSave",
     .inputs = "dataset: variant; directory: string; address: string",
     .attrs = "metadata: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .doc = "Lets the workers of a service write the elements of a dataset into files."},
    LEAT_OP_ROWS_END,
};
