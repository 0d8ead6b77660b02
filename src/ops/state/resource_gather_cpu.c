// The CPU kernels of ResourceGather and ResourceGatherNd. The variable stays locked while slices
// are taken of it. The other way, to share its value and unlock it, would be worse: an update that
// finds the value shared copies all of it, and such variables are often huge tables.
#include "ops/array/types.h"
#include "ops/index/gather_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/state/update_cpu.h"

typedef struct gather_s {
  int64_t batch_dims;
} gather_t;

static leat_status_t gather_create(leat_kernel_creation_t* c, void* state) {
  gather_t* gather = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "batch_dims", &gather->batch_dims));
  if (gather->batch_dims >= 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (ResourceGather): batch_dims is %lld, "
                          "must not be negative",
                          LEAT_SV_ARG(c->kernel->node_name), (long long)gather->batch_dims);
}

// Checks that the variable has a value of the output's type and of at least |min_rank|.
static leat_status_t check_params(leat_kernel_context_t* c, const leat_tensor_t* params,
                                  int64_t min_rank) {
  int wanted = c->kernel->output_types[0];
  if (!params->dtype) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "Attempting to use uninitialized variables");
  }
  if (params->dtype != wanted || params->shape.rank < min_rank) {
    return leat_kernel_invalid(c, "the variable is %s %s, must be %s of rank %lld or more",
                               leat_dtype_name(params->dtype), LEAT_SHAPE_TEXT(&params->shape),
                               leat_dtype_name(wanted), (long long)min_rank);
  }
  return leat_ok_status();
}

static leat_status_t gather__cpu(leat_kernel_context_t* c) {
  const gather_t* gather = leat_kernel_state(c);
  leat_update_cells_t cells;
  LEAT_RETURN_IF_ERROR(leat_update_lock(c, 1, &cells));
  const leat_tensor_t* params = &cells.cells[0]->tensor;
  leat_status_t status = check_params(c, params, gather->batch_dims + 1);
  if (!status) {
    status = leat_gather_take(c, params, leat_kernel_input(c, 1), (int)gather->batch_dims,
                              gather->batch_dims);
  }
  leat_update_unlock(&cells);
  return status;
}

static leat_status_t gather_nd__cpu(leat_kernel_context_t* c) {
  leat_update_cells_t cells;
  LEAT_RETURN_IF_ERROR(leat_update_lock(c, 1, &cells));
  const leat_tensor_t* params = &cells.cells[0]->tensor;
  leat_status_t status = check_params(c, params, 1);
  if (!status) {
    status = leat_gather_nd_take(c, params, leat_kernel_input(c, 1), LEAT_BAD_INDICES_FAIL);
  }
  leat_update_unlock(&cells);
  return status;
}

const leat_kernel_row_t leat_resource_gather_kernels_cpu[] = {
    {.op = "ResourceGather",
     .device_type = "CPU",
     .constraints = "dtype: " LEAT_TYPES_ALL ", qint8, qint32, quint8",
     .create = gather_create,
     .state_bytes = sizeof(gather_t),
     .access = LEAT_ACCESS_GATHER,
     .compute = gather__cpu},
    {.op = "ResourceGatherNd",
     .device_type = "CPU",
     .constraints = "dtype: " LEAT_TYPES_ALL,
     .compute = gather_nd__cpu},
    LEAT_KERNEL_ROWS_END,
};
