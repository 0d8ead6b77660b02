// The ops of collectives: values that several devices make together (kernel/collective.h). Of most
// there are two forms. In the first the group of devices, its size and the number of the collective
// in it are attributes, so that a node always takes part in the same one; in the second they are
// inputs. The third form takes the group from a communicator, which its members made before. None
// of them has a gradient.
#include "graph/graph.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

#define SUMMED "{bfloat16, float, half, double, int32, int64}"
#define GATHERED "{float, half, double, int32, int64}"
#define SENT "{bool, float, half, double, int32, int64}"
#define MERGES "{'Min', 'Max', 'Mul', 'Add'}"
#define KEY_INPUTS "group_size: int32; group_key: int32; instance_key: int32"
#define KEY_ATTRS "group_size: int; group_key: int; instance_key: int; "
#define TOKENS "; ordering_token: Nordering_token * resource"
#define HOW "communication_hint: string = 'auto'; timeout_seconds: float = 0"
#define TOKEN_ATTRS "; is_stateless: bool = false; Nordering_token: int >= 0 = 0"
#define MERGE_ATTRS "merge_op: " MERGES "; final_op: {'Id', 'Div'}; "

// The shape of input 0 with another first dimension: |factor| times as large, or unknown (-1).
static leat_status_t set_rows(leat_inference_t* c, int64_t factor) {
  leat_partial_shape_t input = leat_inference_input(c, 0);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 1));
  if (input.rank < 0) return leat_shape_unknown(c);
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  memcpy(dims, input.dims, (size_t)input.rank * sizeof *dims);
  dims[0] = -1;
  if (factor >= 0) LEAT_RETURN_IF_ERROR(leat_inference_multiply(input.dims[0], factor, &dims[0]));
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, input.rank, dims, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

static leat_status_t gather_shape(leat_inference_t* c) {
  return set_rows(c, leat_node_attr_int(c->node, "group_size", -1));
}

static leat_status_t rows_shape(leat_inference_t* c) { return set_rows(c, -1); }

static leat_status_t receive_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 3, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t assign_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 0, NULL, &scalar));
  leat_inference_set_output(c, 0, scalar);
  leat_inference_set_output(c, 1, scalar);
  return leat_ok_status();
}

#define COLLECTIVE(op, ins, outs, types, shape_fn, text)              \
  {.name = op,                                                        \
   .inputs = ins,                                                     \
   .outputs = outs,                                                   \
   .attrs = types,                                                    \
   .flags = LEAT_OP_STATEFUL | LEAT_OP_DISTRIBUTED_COMMUNICATION,     \
   .shape = shape_fn,                                                 \
   .doc = text}

const leat_op_row_t leat_collective_ops[] = {
    COLLECTIVE("CollectiveReduce", "input: T", "data: T",
               "T: " SUMMED "; " KEY_ATTRS MERGE_ATTRS
               "subdiv_offsets: list(int); wait_for: list(int) = []; " HOW,
               leat_shape_unchanged, "The inputs of all members of a group, merged."),
    COLLECTIVE("CollectiveReduceV2", "input: T; " KEY_INPUTS TOKENS, "data: T",
               "T: " SUMMED "; " MERGE_ATTRS HOW TOKEN_ATTRS "; max_subdivs_per_device: int = -1",
               leat_shape_unchanged, "The inputs of all members of a group, merged."),
    COLLECTIVE("CollectiveReduceV3", "input: T; communicator: resource; group_assignment: int32",
               "data: T", "T: " SUMMED "; reduction: " MERGES "; timeout_seconds: float = 0",
               leat_shape_unchanged, "The inputs of all members of a communicator, merged."),
    COLLECTIVE("CollectiveReduceScatterV2", "input: T; " KEY_INPUTS TOKENS, "data: T",
               "T: " SUMMED "; " MERGE_ATTRS HOW TOKEN_ATTRS "; max_subdivs_per_device: int = -1",
               rows_shape, "The member's share of the rows of all members' inputs, merged."),
    COLLECTIVE("CollectiveGather", "input: T", "data: T",
               "T: " GATHERED "; " KEY_ATTRS "shape: shape; " HOW, gather_shape,
               "The rows of all members' inputs, by rank."),
    COLLECTIVE("CollectiveGatherV2", "input: T; " KEY_INPUTS TOKENS, "data: T",
               "T: " GATHERED "; " HOW TOKEN_ATTRS, rows_shape,
               "The rows of all members' inputs, by rank."),
    COLLECTIVE("CollectiveBcastSend", "input: T", "data: T",
               "T: " SENT "; " KEY_ATTRS "shape: shape; " HOW, leat_shape_from_attr,
               "Sends the input to the other members of a group, and passes it on."),
    COLLECTIVE("CollectiveBcastSendV2", "input: T; " KEY_INPUTS, "data: T", "T: " SENT "; " HOW,
               leat_shape_unchanged,
               "Sends the input to the other members of a group, and passes it on."),
    COLLECTIVE("CollectiveBcastRecv", "", "data: T",
               "T: " SENT "; " KEY_ATTRS "shape: shape; " HOW, leat_shape_from_attr,
               "Receives what another member of a group sends to all."),
    COLLECTIVE("CollectiveBcastRecvV2", KEY_INPUTS "; shape: Tshape", "data: T",
               "T: " SENT "; Tshape: {int32, int64} = int32; " HOW, receive_shape,
               "Receives what another member of a group sends to all."),
    COLLECTIVE("CollectiveAllToAllV2", "input: T; " KEY_INPUTS TOKENS, "data: T",
               "T: " SUMMED "; " HOW TOKEN_ATTRS, leat_shape_unchanged,
               "Row i of each member's input, by rank, where i is the rank of this member."),
    COLLECTIVE("CollectiveAllToAllV3", "input: T; communicator: resource; group_assignment: int32",
               "data: T", "T: " SUMMED "; timeout_seconds: float = 0", leat_shape_unchanged,
               "Row i of each member's input, by rank, where i is the rank of this member."),
    COLLECTIVE("CollectiveInitializeCommunicator",
               "group_key: int32; rank: int32; group_size: int32", "communicator: resource", HOW,
               leat_shape_scalar_output, "Joins a group of devices, with a rank in it."),
    COLLECTIVE("CollectiveAssignGroupV2",
               "group_assignment: int32; device_index: int32; base_key: int32",
               "group_size: int32; group_key: int32", "", assign_shape,
               "The key and size of the group, a row of an assignment, that a device is in."),
    LEAT_OP_ROWS_END,
};
